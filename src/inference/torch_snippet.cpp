#include "inference/torch_snippet.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "attention/expression.h"
#include "core/error.h"
#include "core/tensor.h"
#include "inference/notebook_edits.h"

namespace headlight::inference {
namespace {

using model::BlockKind;

constexpr std::string_view kFunctions = R"(import torch
from torch.nn import functional as F

torch.set_printoptions(precision=6, sci_mode=False, linewidth=160)


def heads(x, count):  # [batch, tokens, count * d] to [batch, count, tokens, d]
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def attend(name, q, k, v, scale, mask, fill, bias=0.0):  # a row without any visible key has no weights
    scores = (q @ k.transpose(-2, -1) * scale + bias).masked_fill(~mask, fill)
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    print(f"{name}: Q\n{q}\nK\n{k}\nV\n{v}\nweights\n{weights}\n")
    return weights @ v


)";

/// "decoder_1_cross_w_q": a name for Python.
std::string python_name(std::string name) {
  std::ranges::replace(name, '.', '_');
  return name;
}

void expect_plain(bool is_plain, std::string_view part) {
  if (!is_plain) throw Error("{} can't be written as a PyTorch snippet", part);
}

class SnippetWriter {
 public:
  SnippetWriter(const model::Network& network, const model::ModelInput& input, const attention::MaskSet& masks)
      : network_(network), input_(input), masks_(masks) {}

  std::string write() {
    write_matrices();
    write_stack_input("x", "", network_.source_embedding.get(), input_.source);
    const model::Layers& layers = *network_.layers;
    const bool is_single = layers.encoder.size() == 1 && layers.decoder.empty();
    expect_plain(!layers.encoder_norm && !layers.decoder_norm, "a norm after the last layer");
    for (std::uint32_t i = 0; i < layers.encoder.size(); ++i) {
      write_layer(layers.encoder[i], {.kind = BlockKind::EncoderSelf, .layer = {i}},
                  is_single ? "" : fmt::format("encoder.{}.", i), "x", "x");
    }
    std::string last = "x";
    if (!layers.decoder.empty()) {
      write_stack_input("y", "target_", network_.target_embedding.get(), *input_.target);
      last = "y";
    }
    for (std::uint32_t i = 0; i < layers.decoder.size(); ++i) {
      const model::DecoderLayer& layer = layers.decoder[i];
      if (layer.self) {
        write_layer(*layer.self, {.kind = BlockKind::DecoderSelf, .layer = {i}}, fmt::format("decoder.{}.self.", i), "y",
                    "y");
      }
      write_layer(layer.cross, {.kind = BlockKind::Cross, .layer = {i}}, fmt::format("decoder.{}.cross.", i), "y", "x");
    }
    line("print(f\"output\\n{{{}}}\")", last);
    if (layers.unembedding) {
      line("print(f\"logits\\n{{F.linear({}, unembedding{})}}\")", last,
           layers.unembedding->linear.has_bias() ? ", unembedding_bias" : "");
    }
    return std::move(text_);
  }

 private:
  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    text_ += fmt::format(format, std::forward<Values>(values)...) + '\n';
  }

  void write_tensor(const std::string& name, const Tensor& tensor, const Shape& shape) {
    const std::string reshape = shape == tensor.shape ? "" : fmt::format(".reshape({})", fmt::join(shape, ", "));
    line("{} = torch.tensor({}, dtype=torch.float32){}", python_name(name), tensor_text(tensor), reshape);
  }

  void write_matrices() {
    std::vector<NotebookMatrix> matrices = notebook_matrices(network_, input_);
    std::size_t count = 0;
    for (NotebookMatrix& matrix : matrices) {
      if (matrix.name.ends_with("positions")) {  // those of the tokens are enough
        const model::TokenBatch& tokens = matrix.name == "positions" ? input_.source : *input_.target;
        Tensor& table = matrix.tensor;
        table.shape[0] = std::min(table.shape[0], tokens.length);
        table.values.resize(element_count(table.shape));
      }
      count += matrix.tensor.values.size();
    }
    if (count > kMaxSnippetNumbers) {
      throw Error("its {} numbers are more than a snippet takes ({}); export the weights instead (--stages w_q,w_k,w_v,w_o)",
                  count, kMaxSnippetNumbers);
    }
    for (const NotebookMatrix& matrix : matrices) {
      const Tensor* given = matrix.name == "x" ? &input_.source.vectors : nullptr;
      if (input_.qkv && matrix.name == "q") given = &input_.qkv->query;
      if (input_.qkv && matrix.name == "k") given = &input_.qkv->key;
      if (input_.qkv && matrix.name == "v") given = &input_.qkv->value;
      write_tensor(matrix.name, matrix.tensor, given != nullptr ? given->shape : matrix.tensor.shape);
    }
    text_ += '\n';
  }

  /// x or y: the token vectors of a stack, where its input has no vectors.
  void write_stack_input(const std::string& name, const std::string& prefix, const model::Embedding* embedding,
                         const model::TokenBatch& tokens) {
    if (embedding == nullptr) return;
    expect_plain(!embedding->norm && !embedding->projection && embedding->types.is_empty(), "this embedding");
    expect_plain(tokens.starts.empty() && tokens.positions.empty() && embedding->position_offset == 0,
                 "padding on the left");
    std::vector<std::string> rows;
    for (std::uint32_t item = 0; item < tokens.batch; ++item) {
      const auto ids = std::span(tokens.ids).subspan(std::size_t{item} * tokens.length, tokens.length);
      expect_plain(std::ranges::find(ids, model::kPaddingId) == ids.end(), "padding without a vector");
      rows.push_back(fmt::format("[{}]", fmt::join(ids, ", ")));
    }
    const std::string scale = embedding->scale == 1.0F ? "" : fmt::format(" * {}", embedding->scale);
    line("{} = {}embedding[torch.tensor([{}])]{}{}", name, prefix, fmt::join(rows, ", "), scale,
         embedding->positions.is_empty() ? "" : " + " + prefix + "positions");
  }

  /// `from`: the stack whose tokens are the keys.
  void write_layer(const model::AttentionLayer& layer, model::BlockRef block, const std::string& prefix,
                   const std::string& stack, const std::string& from) {
    const model::AttentionConfig& config = layer.config;
    const std::string place = python_name(prefix);
    expect_plain(
        config.softcap == 0.0F && !config.rotary && !config.position_bias && !config.distances && !layer.is_parallel,
        "rotary positions, position biases and capped scores");
    expect_plain(config.kv_head_count() == config.heads, "shared keys and values");
    line("# {} attention, layer {}", model::to_string(block.kind), block.layer.value);
    if (layer.weights) {
      expect_plain(!layer.weights->query_norm && !layer.weights->key_norm, "normed queries");
      write_projection("q", place, layer.weights->query, stack, config.heads);
      write_projection("k", place, layer.weights->key, from, config.heads);
      write_projection("v", place, layer.weights->value, from, config.heads);
    }
    const std::string bias = write_mask(attention::in_layer(masks_[block.kind], config), block, config.heads);
    line("a = attend(\"{} layer {}\", q, k, v, {}, mask, {}{})", model::to_string(block.kind), block.layer.value,
         config.scale.factor(config.d_k), fill_of(block), bias);
    line("a = a{}", config.merge == model::MergeOrder::Concatenate
                        ? std::string(".transpose(1, 2).flatten(2)")
                        : fmt::format(".reshape(a.shape[0], a.shape[2], {})", config.heads * config.d_v));
    if (layer.weights && layer.weights->output)
      line("a = {}", linear("a", place + "w_o", place + "b_o", *layer.weights->output));
    write_branch("a", stack, place + "norm_after_attention", layer.norms);
    expect_plain(!layer.experts, "a mixture of experts");
    if (!layer.feed_forward) return;
    const model::FeedForward& feed_forward = *layer.feed_forward;
    expect_plain(!feed_forward.gate && feed_forward.activation == model::Activation::Relu, "this feed-forward");
    line("f = F.relu({})", linear(stack, place + "ffn_in", place + "ffn_in_bias", feed_forward.in));
    line("f = {}", linear("f", place + "ffn_out", place + "ffn_out_bias", feed_forward.out));
    write_branch("f", stack, place + "norm_after_ffn", layer.feed_forward_norms);
  }

  static std::string linear(std::string_view of, const std::string& weight, const std::string& bias,
                            const model::Linear& linear) {
    return fmt::format("F.linear({}, {}{})", of, weight, linear.has_bias() ? ", " + bias : "");
  }

  void write_projection(std::string_view name, const std::string& place, const model::Linear& weights,
                        const std::string& stack, std::uint32_t heads) {
    const std::string suffix(name);
    line("{} = heads({}, {})", name, linear(stack, place + "w_" + suffix, place + "b_" + suffix, weights), heads);
  }

  /// The residual and the norm after a branch; a branch without norms is the layer's output.
  void write_branch(std::string_view branch, const std::string& stack, const std::string& norm,
                    const model::BranchNorms& norms) {
    expect_plain(!norms.before && !norms.inside, "a norm before a branch");
    if (!norms.after) return line("{} = {}", stack, branch);
    expect_plain(norms.after->kind == model::Norm::Kind::Layer && norms.after->weight_offset == 0.0F, "this norm");
    line("{0} = F.layer_norm({0} + {1}, ({2},), {3}, {4}, {5})", stack, branch, norms.after->weight.axis(0), norm,
         norms.after->bias.is_empty() ? std::string("None") : norm + "_bias", norms.after->epsilon);
  }

  std::string fill_of(model::BlockRef block) const {
    return fmt::format("float(\"{}\")", attention::to_string(masks_[block.kind].fill));
  }

  /// Writes `mask` and, where cells have biases, `bias`; returns the argument for it.
  std::string write_mask(const attention::MaskSpec& mask, model::BlockRef block, std::uint32_t heads) {
    expect_plain(!mask.score_expression, "a score formula");
    const model::TokenBatch &queries = input_.queries(block.kind), &keys = input_.keys(block.kind);
    std::vector<std::uint8_t> visible;
    Tensor bias(Shape{queries.batch, heads, queries.length, keys.length});
    std::size_t at = 0;
    for (std::uint32_t item = 0; item < queries.batch; ++item) {
      for (std::uint32_t head = 0; head < heads; ++head) {
        const attention::ExpressionMap map{.layer = block.layer.value,
                                           .layers = static_cast<std::uint32_t>(layers_of(block.kind)),
                                           .head = head,
                                           .heads = heads,
                                           .queries = queries.length,
                                           .keys = keys.length,
                                           .tokens = tokens_of(queries, keys, item)};
        const attention::KeyRange real{keys.start(item), keys.end(item)};
        for (std::uint32_t query = 0; query < queries.length; ++query) {
          for (std::uint32_t key = 0; key < keys.length; ++key, ++at) {
            visible.push_back(mask.is_visible(map, item, {query, key}, real) ? 1 : 0);
            bias.values[at] = mask.bias(block.layer.value, item, head, {query, key});
          }
        }
      }
    }
    write_visible(visible, queries, heads, keys.length);
    if (mask.biases.empty()) return "";
    write_tensor("bias", bias, bias.shape);
    return ", bias";
  }

  std::size_t layers_of(BlockKind kind) const {
    return kind == BlockKind::EncoderSelf ? network_.layers->encoder.size() : network_.layers->decoder.size();
  }

  static attention::ExpressionTokens tokens_of(const model::TokenBatch& queries, const model::TokenBatch& keys,
                                               std::uint32_t item) {
    const auto ids = [&](const model::TokenBatch& tokens) -> std::span<const std::uint32_t> {
      if (tokens.ids.empty()) return {};
      return std::span(tokens.ids).subspan(std::size_t{item} * tokens.length, tokens.length);
    };
    return {.query_ids = ids(queries), .key_ids = ids(keys)};
  }

  /// One matrix where all maps have the same.
  void write_visible(const std::vector<std::uint8_t>& visible, const model::TokenBatch& queries, std::uint32_t heads,
                     std::uint32_t keys) {
    const std::size_t map = std::size_t{queries.length} * keys;
    bool is_same = true;
    for (std::size_t i = map; i < visible.size(); ++i) is_same = is_same && visible[i] == visible[i % map];
    if (is_same && std::ranges::find(visible, 0) == visible.end()) {
      line("mask = torch.ones({}, {}, dtype=torch.bool)", queries.length, keys);
      return;
    }
    Tensor numbers(is_same ? Shape{queries.length, keys} : Shape{queries.batch, heads, queries.length, keys});
    std::copy_n(visible.begin(), numbers.values.size(), numbers.values.begin());
    line("mask = torch.tensor({}) == 1", tensor_text(numbers));
  }

  const model::Network& network_;
  const model::ModelInput& input_;
  const attention::MaskSet& masks_;
  std::string text_;
};

}  // namespace

std::string torch_snippet(std::string_view title, std::string_view remark, const model::Network& network,
                          const model::ModelInput& input, const attention::MaskSet& masks) {
  std::string text = fmt::format("# {}\n", title);
  if (!remark.empty()) text += fmt::format("# {}\n", remark);
  text += kFunctions;
  return text + SnippetWriter(network, input, masks).write();
}

}  // namespace headlight::inference
