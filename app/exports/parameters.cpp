#include "app/exports/parameters.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/atomic_file.h"
#include "export/csv.h"
#include "export/json.h"

namespace headlight::app {
namespace {

using model::AttentionLayer;
using model::Linear;
using model::Norm;
using model::Parameter;

const Parameter* weight_of(const Linear* linear) { return linear ? &linear->weight : nullptr; }
const Parameter* bias_of(const Linear* linear) { return linear && linear->has_bias() ? &linear->bias : nullptr; }
const Parameter* weight_of(const std::optional<Norm>& norm) { return norm ? &norm->weight : nullptr; }
const Parameter* bias_of(const std::optional<Norm>& norm) { return norm && !norm->bias.is_empty() ? &norm->bias : nullptr; }

const Linear* query(const AttentionLayer& layer) { return layer.weights ? &layer.weights->query : nullptr; }
const Linear* key(const AttentionLayer& layer) { return layer.weights ? &layer.weights->key : nullptr; }
const Linear* value(const AttentionLayer& layer) { return layer.weights ? &layer.weights->value : nullptr; }
const Linear* output(const AttentionLayer& layer) {
  return layer.weights && layer.weights->output ? &*layer.weights->output : nullptr;
}
const Linear* ffn_in(const AttentionLayer& layer) { return layer.feed_forward ? &layer.feed_forward->in : nullptr; }
const Linear* ffn_gate(const AttentionLayer& layer) {
  return layer.feed_forward && layer.feed_forward->gate ? &*layer.feed_forward->gate : nullptr;
}
const Linear* ffn_out(const AttentionLayer& layer) { return layer.feed_forward ? &layer.feed_forward->out : nullptr; }
const std::optional<Norm>& no_norm() {
  static const std::optional<Norm> kNone;
  return kNone;
}
const std::optional<Norm>& query_norm(const AttentionLayer& layer) {
  return layer.weights ? layer.weights->query_norm : no_norm();
}
const std::optional<Norm>& key_norm(const AttentionLayer& layer) {
  return layer.weights ? layer.weights->key_norm : no_norm();
}

/// A weight that every layer may have. Rows of w_q, w_k and w_v are [head][d].
struct LayerParameter {
  const char* name;
  const Parameter* (*find)(const AttentionLayer&);
};

constexpr std::array kLayerParameters = {
    LayerParameter{"w_q", [](const AttentionLayer& layer) { return weight_of(query(layer)); }},
    LayerParameter{"w_k", [](const AttentionLayer& layer) { return weight_of(key(layer)); }},
    LayerParameter{"w_v", [](const AttentionLayer& layer) { return weight_of(value(layer)); }},
    LayerParameter{"w_o", [](const AttentionLayer& layer) { return weight_of(output(layer)); }},
    LayerParameter{"b_q", [](const AttentionLayer& layer) { return bias_of(query(layer)); }},
    LayerParameter{"b_k", [](const AttentionLayer& layer) { return bias_of(key(layer)); }},
    LayerParameter{"b_v", [](const AttentionLayer& layer) { return bias_of(value(layer)); }},
    LayerParameter{"b_o", [](const AttentionLayer& layer) { return bias_of(output(layer)); }},
    LayerParameter{"ffn_in", [](const AttentionLayer& layer) { return weight_of(ffn_in(layer)); }},
    LayerParameter{"ffn_in_bias", [](const AttentionLayer& layer) { return bias_of(ffn_in(layer)); }},
    LayerParameter{"ffn_gate", [](const AttentionLayer& layer) { return weight_of(ffn_gate(layer)); }},
    LayerParameter{"ffn_gate_bias", [](const AttentionLayer& layer) { return bias_of(ffn_gate(layer)); }},
    LayerParameter{"ffn_out", [](const AttentionLayer& layer) { return weight_of(ffn_out(layer)); }},
    LayerParameter{"ffn_out_bias", [](const AttentionLayer& layer) { return bias_of(ffn_out(layer)); }},
    LayerParameter{"norm_q", [](const AttentionLayer& layer) { return weight_of(query_norm(layer)); }},
    LayerParameter{"norm_k", [](const AttentionLayer& layer) { return weight_of(key_norm(layer)); }},
    LayerParameter{"norm_before_attention", [](const AttentionLayer& layer) { return weight_of(layer.norms.before); }},
    LayerParameter{"norm_before_attention_bias", [](const AttentionLayer& layer) { return bias_of(layer.norms.before); }},
    LayerParameter{"norm_inside_attention", [](const AttentionLayer& layer) { return weight_of(layer.norms.inside); }},
    LayerParameter{"norm_inside_attention_bias", [](const AttentionLayer& layer) { return bias_of(layer.norms.inside); }},
    LayerParameter{"norm_after_attention", [](const AttentionLayer& layer) { return weight_of(layer.norms.after); }},
    LayerParameter{"norm_after_attention_bias", [](const AttentionLayer& layer) { return bias_of(layer.norms.after); }},
    LayerParameter{"norm_before_ffn",
                   [](const AttentionLayer& layer) { return weight_of(layer.feed_forward_norms.before); }},
    LayerParameter{"norm_before_ffn_bias",
                   [](const AttentionLayer& layer) { return bias_of(layer.feed_forward_norms.before); }},
    LayerParameter{"norm_inside_ffn",
                   [](const AttentionLayer& layer) { return weight_of(layer.feed_forward_norms.inside); }},
    LayerParameter{"norm_inside_ffn_bias",
                   [](const AttentionLayer& layer) { return bias_of(layer.feed_forward_norms.inside); }},
    LayerParameter{"norm_after_ffn", [](const AttentionLayer& layer) { return weight_of(layer.feed_forward_norms.after); }},
    LayerParameter{"norm_after_ffn_bias",
                   [](const AttentionLayer& layer) { return bias_of(layer.feed_forward_norms.after); }}};

/// Of the whole network, by the stack that the attention belongs to.
constexpr std::array<const char*, 4> kWholeParameters = {"norm_final", "norm_final_bias", "embedding", "positions"};

std::vector<std::string> axes_of(const Parameter& parameter) {
  return parameter.shape().size() == 2 ? std::vector<std::string>{"output", "input"} : std::vector<std::string>{"output"};
}

/// The rows of a table for the tokens [batch · token]; rows of padding are 0.
Parameter rows_of(const Parameter& table, std::span<const std::uint32_t> rows) {
  const std::uint32_t width = table.axis(1);
  Tensor result({static_cast<std::uint32_t>(rows.size()), width});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < table.axis(0)) table.read(rows[i], 1, std::span(result.values).subspan(i * width, width));
  }
  return result;
}

/// The embedding rows of a side's tokens, all lines one after the other; empty where there are none.
Parameter embedded(const model::Embedding* embedding, const model::TokenBatch& tokens, bool of_positions) {
  const Parameter* table = embedding == nullptr ? nullptr : of_positions ? &embedding->positions : &embedding->table;
  if (table == nullptr || table->is_empty() || tokens.ids.empty()) return {};
  if (!of_positions) return rows_of(*table, tokens.ids);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    for (std::uint32_t token = 0; token < tokens.length; ++token)
      rows.push_back(tokens.position(item, token) + embedding->position_offset);
  }
  return rows_of(*table, rows);
}

/// Of the stack whose tokens are the block's queries.
Parameter whole_parameter(std::string_view name, const model::Network& network, const model::ModelInput& input,
                          model::BlockKind kind) {
  const bool is_encoder = kind == model::BlockKind::EncoderSelf;
  const std::optional<Norm>& norm = is_encoder ? network.layers->encoder_norm : network.layers->decoder_norm;
  if (name.starts_with("norm_final")) {
    const Parameter* found = name == "norm_final" ? weight_of(norm) : bias_of(norm);
    return found == nullptr ? Parameter() : *found;
  }
  const model::Embedding* embedding = (is_encoder ? network.source_embedding : network.target_embedding).get();
  return embedded(embedding, is_encoder ? input.source : *input.target, name == "positions");
}

}  // namespace

std::vector<std::string> parameter_names() {
  std::vector<std::string> names;
  for (const LayerParameter& one : kLayerParameters) names.emplace_back(one.name);
  names.insert(names.end(), kWholeParameters.begin(), kWholeParameters.end());
  return names;
}

std::vector<std::string> parameters_of_word(const std::string& word) {
  std::vector<std::string> names = parameter_names();
  const bool is_group = word == "ffn_*" || word == "norm_*";
  std::erase_if(names, [&](const std::string& name) {
    return is_group ? !name.starts_with(std::string_view(word).substr(0, word.size() - 1)) : name != word;
  });
  return names;
}

std::vector<WrittenParameter> written_parameters(const std::vector<std::string>& names, const model::Network& network,
                                                 const model::ModelInput& input, std::span<const ExportBlocks> blocks,
                                                 std::vector<std::string>& notes) {
  std::vector<WrittenParameter> result;
  for (const ExportBlocks& of_kind : blocks) {
    for (const std::string& name : names) {
      WrittenParameter written{.name = of_kind.prefix + name, .axes = {}, .layers = {}, .values = {}};
      const auto layer_parameter = std::ranges::find(kLayerParameters, name, &LayerParameter::name);
      if (layer_parameter == kLayerParameters.end()) {
        // Both attentions of a decoder belong to one stack.
        const bool is_listed = of_kind.kind == model::BlockKind::Cross && network.layers->decoder.front().self;
        if (is_listed) continue;
        const Parameter found = whole_parameter(name, network, input, of_kind.kind);
        if (!found.is_empty()) written.values.push_back(found);
      } else {
        for (const model::BlockRef block : of_kind.layers) {
          const Parameter* found = layer_parameter->find(network.layer(block));
          if (found == nullptr) continue;
          written.layers.push_back(block.layer.value);
          written.values.push_back(*found);
        }
      }
      if (written.values.empty()) {
        notes.push_back(fmt::format("{} is left out: this network has none", written.name));
        continue;
      }
      const bool is_of_tokens = name == "embedding" || name == "positions";
      written.axes = is_of_tokens ? std::vector<std::string>{"token", "feature"} : axes_of(written.values.front());
      const auto has_other_shape = [&](const Parameter& one) { return one.shape() != written.values.front().shape(); };
      if (std::ranges::any_of(written.values, has_other_shape)) {
        notes.push_back(
            fmt::format("{} is left out: layers have it in different shapes; choose some with --layers", written.name));
        continue;
      }
      result.push_back(std::move(written));
    }
  }
  return result;
}

NumberArray parameter_array(const WrittenParameter& parameter) {
  Shape shape = parameter.values.front().shape();
  std::vector<std::string> axes = parameter.axes;
  if (!parameter.layers.empty()) {
    shape.insert(shape.begin(), static_cast<std::uint32_t>(parameter.values.size()));
    axes.insert(axes.begin(), "layer");
  }
  return {.array = {.name = parameter.name,
                    .shape = std::move(shape),
                    .parts = parameter.values.size(),
                    .read =
                        [values = parameter.values](std::size_t part, std::string& bytes) {
                          const Tensor tensor = values.at(part).tensor();
                          bytes.append(reinterpret_cast<const char*>(tensor.values.data()),
                                       tensor.values.size() * sizeof(float));
                        }},
          .axes = std::move(axes)};
}

void write_parameter(const WrittenParameter& parameter, std::size_t index, bool as_json, const std::filesystem::path& path) {
  const Tensor tensor = parameter.values.at(index).tensor();
  AtomicFile file(path);
  if (as_json) {
    exporting::Json head = {{"stage", parameter.name}, {"axes", parameter.axes}};
    if (!parameter.layers.empty()) head["layer"] = parameter.layers.at(index);
    exporting::JsonTensorWriter writer(exporting::sink_of(file), head, tensor.shape);
    writer.append(tensor.values);
    writer.finish();
  } else {
    const std::uint32_t columns = tensor.shape.size() == 2 ? tensor.shape[1] : 1;
    const std::string corner = parameter.axes.size() == 2 ? parameter.axes[0] + "/" + parameter.axes[1] : parameter.axes[0];
    exporting::CsvWriter writer(exporting::sink_of(file), corner, exporting::index_names(columns));
    for (std::uint32_t row = 0; row < tensor.shape[0]; ++row) {
      writer.append_row(fmt::format("{}", row), std::span(tensor.values).subspan(std::size_t{row} * columns, columns));
    }
  }
  file.finish();
}

}  // namespace headlight::app
