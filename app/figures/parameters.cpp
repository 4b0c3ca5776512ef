#include "app/figures/arrays.h"

#include "export/csv.h"

namespace headlight::app {
namespace {

using model::AttentionLayer;
using model::AttentionWeights;
using model::BranchNorms;
using model::FeedForward;
using model::Norm;
using model::Parameter;

/// A linear layer or a norm of a layer, null where it has none: its weight and its bias.
struct Parameters {
  const Parameter* weight = nullptr;
  const Parameter* bias = nullptr;
};
template <typename Of>
Parameters parameters_of(const Of& of) {
  return {.weight = &of.weight, .bias = of.bias.is_empty() ? nullptr : &of.bias};
}
template <typename Of>
Parameters parameters_of(const std::optional<Of>& of) {
  return of ? parameters_of(*of) : Parameters();
}

/// What a layer's attention or feed-forward has at this member.
template <auto whole, auto member>
Parameters of_layer(const AttentionLayer& layer) {
  return layer.*whole ? parameters_of((*(layer.*whole)).*member) : Parameters();
}
template <auto norms, auto member>
Parameters of_norm(const AttentionLayer& layer) {
  return parameters_of((layer.*norms).*member);
}

/// What every layer may have. Rows of w_q, w_k and w_v are [head][d].
struct LayerPart {
  std::string_view weight, bias;  ///< their names; empty: it has none that is written
  Parameters (*find)(const AttentionLayer&);
};

constexpr auto kAttention = &AttentionLayer::weights;
constexpr auto kFfn = &AttentionLayer::feed_forward;
constexpr auto kExperts = &AttentionLayer::experts;
constexpr auto kAttentionNorms = &AttentionLayer::norms, kFfnNorms = &AttentionLayer::feed_forward_norms;
constexpr auto kLayerParts = std::to_array<LayerPart>(
    {{"w_q", "b_q", of_layer<kAttention, &AttentionWeights::query>},
     {"w_k", "b_k", of_layer<kAttention, &AttentionWeights::key>},
     {"w_v", "b_v", of_layer<kAttention, &AttentionWeights::value>},
     {"w_o", "b_o", of_layer<kAttention, &AttentionWeights::output>},
     {"ffn_in_weight", "ffn_in_bias", of_layer<kFfn, &FeedForward::in>},
     {"ffn_gate_weight", "ffn_gate_bias", of_layer<kFfn, &FeedForward::gate>},
     {"ffn_out_weight", "ffn_out_bias", of_layer<kFfn, &FeedForward::out>},
     {"router_weight", "router_bias", of_layer<kExperts, &model::Experts::router>},
     {"norm_q", "norm_q_bias", of_layer<kAttention, &AttentionWeights::query_norm>},
     {"norm_k", "norm_k_bias", of_layer<kAttention, &AttentionWeights::key_norm>},
     {"norm_before_attention", "norm_before_attention_bias", of_norm<kAttentionNorms, &BranchNorms::before>},
     {"norm_inside_attention", "norm_inside_attention_bias", of_norm<kAttentionNorms, &BranchNorms::inside>},
     {"norm_after_attention", "norm_after_attention_bias", of_norm<kAttentionNorms, &BranchNorms::after>},
     {"norm_before_ffn", "norm_before_ffn_bias", of_norm<kFfnNorms, &BranchNorms::before>},
     {"norm_inside_ffn", "norm_inside_ffn_bias", of_norm<kFfnNorms, &BranchNorms::inside>},
     {"norm_after_ffn", "norm_after_ffn_bias", of_norm<kFfnNorms, &BranchNorms::after>}});

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
    const Parameter* found = name == "norm_final" ? parameters_of(norm).weight : parameters_of(norm).bias;
    return found == nullptr ? Parameter() : *found;
  }
  const model::Embedding* embedding = (is_encoder ? network.source_embedding : network.target_embedding).get();
  return embedded(embedding, is_encoder ? input.source : *input.target, name == "positions");
}

}  // namespace

std::vector<std::string> parameter_names() {
  std::vector<std::string> names;
  for (const LayerPart& part : kLayerParts) {
    names.emplace_back(part.weight);
    if (!part.bias.empty()) names.emplace_back(part.bias);
  }
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
      const auto* part =
          std::ranges::find_if(kLayerParts, [&](const LayerPart& one) { return name == one.weight || name == one.bias; });
      if (part == kLayerParts.end()) {
        // Both attentions of a decoder belong to one stack.
        const bool is_listed = of_kind.kind == model::BlockKind::Cross && network.layers->decoder.front().self;
        if (is_listed) continue;
        const Parameter found = whole_parameter(name, network, input, of_kind.kind);
        if (!found.is_empty()) written.values.push_back(found);
      } else {
        for (const model::BlockRef block : of_kind.layers) {
          const auto [weight, bias] = part->find(network.layer(block));
          const Parameter* found = name == part->weight ? weight : bias;
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
                    .read = [values = parameter.values](
                                std::size_t part,
                                std::string& bytes) { exporting::append_numbers(values.at(part).tensor().values, bytes); }},
          .axes = std::move(axes)};
}

void write_parameter(const WrittenParameter& parameter, std::size_t index, const std::filesystem::path& path) {
  const Tensor tensor = parameter.values.at(index).tensor();
  const bool is_matrix = tensor.shape.size() == 2;
  MatrixText text(path, {.row_name = parameter.axes.front(),
                         .column_name = is_matrix ? parameter.axes.back() : std::string(),
                         .rows = exporting::index_names(tensor.shape.front()),
                         .columns = exporting::index_names(is_matrix ? tensor.shape.back() : 1)});
  text.append(tensor.values);
  text.finish();
}

}  // namespace headlight::app
