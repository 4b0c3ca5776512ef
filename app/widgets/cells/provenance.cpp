#include "app/widgets/cells/provenance.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/shapes/quantities/stage_words.h"
#include "app/state/dropout_settings.h"
#include "app/state/state_names.h"
#include "app/widgets/cells/cell_sources.h"
#include "app/widgets/cells/other_numbers.h"
#include "app/widgets/cells/stage_text.h"

namespace headlight::app {
namespace {

using attention::LayerWeight, attention::Stage;

/// Returns "weights are stored as F16 and kept as float32 on the device; …": in which precision the run computes.
std::string precision_text(const EngineResult& result, const model::Parameter* weight) {
  const bool is_half = result.inputs && precision_of(result.inputs->source) == inference::Precision::F16;
  const std::string kept = fmt::format("kept as {} on the device", is_half ? "float16" : "float32");
  std::string arithmetic = "arithmetic and sums in float32";
  if (weight == nullptr || weight->is_empty()) return arithmetic;
  return fmt::format("weights are stored as {}, {}; {}", to_string(weight->type()), kept, arithmetic);
}

class ProvenanceBuilder {
 public:
  ProvenanceBuilder(const EngineResult& result, const NumberRef& number) : result_(result), number_(number) {}

  Provenance build() {
    const std::optional<QuantityId> id = find_quantity(number_.of);
    const OtherNumber* other = find_other_number(number_.of);
    const auto shape = result_.shapes.find(number_.block);
    const bool is_known = result_.network && shape != result_.shapes.end() && (id || other);
    told_.title = id ? quantity(*id).title : other ? std::string(other->title) : number_.of;
    if (!is_known) return std::move(told_);
    shape_ = shape->second;
    layer_ = &result_.network->layer(number_.block);
    for (const auto& [name, text] : number_.notes) add(name, text);
    const bool is_captured = result_.capture != nullptr, is_metric = number_.of == kHeadMetricNumber;
    if (id) {
      is_captured ? tell_captured(quantity(*id)) : tell_quantity(quantity(*id));
    } else if (is_metric || other->finding != Finding::None || !is_captured) {
      tell_other(*other);
    }
    if (is_captured) return std::move(told_);
    if (is_metric) add_weights(Stage::Weights, false);
    if (other && other->finding != Finding::None) add_finding_weights(*other);
    add("precision", precision_text(result_, first_weight_));
    add("run", fmt::format("forward pass {} on {}", result_.run, result_.device));
    return std::move(told_);
  }

 private:
  void add(std::string name, std::string text) { told_.lines.push_back({std::move(name), std::move(text)}); }

  /// Adds the place: "layer 0, head 3 (KV head 1), encoder self-attention".
  void name_place(bool has_head) {
    std::string text = fmt::format("layer {}", number_.block.layer.value);
    if (has_head) text += fmt::format(", head {}", number_.head);
    if (has_head && shape_.kv_heads != shape_.heads) text += fmt::format(" (KV head {})", number_.head / shape_.group());
    text += fmt::format(", {}", kind_name(result_, number_.block.kind));
    if (shape_.batch > 1) text += fmt::format(", line {}", number_.batch + 1);
    add("of", text);
  }

  /// Returns "query 4 “the”".
  std::string named(std::string_view axis, const model::TokenBatch& tokens, std::uint32_t index) const {
    return fmt::format("{} {}{}", axis, index, tokens.quoted(number_.batch, index));
  }
  std::string index_text(Axis axis, std::uint32_t index) const {
    if (axis == Axis::Feature) return fmt::format("component {}", index);
    if (axis == Axis::Expert) return fmt::format("expert {}", index);
    if (!result_.input) return fmt::format("token {}", index);
    const bool is_key = axis == Axis::Key || axis == Axis::KeyToken;
    const model::TokenBatch& tokens =
        is_key ? result_.input->keys(number_.block.kind) : result_.input->queries(number_.block.kind);
    return named(to_string(axis), tokens, index);
  }

  /// Adds the lines of a capture's number: it is the file's own, or follows from the file's queries and keys.
  void tell_captured(const Quantity& shown) {
    const Quantity& base = shown.base ? quantity(*shown.base) : shown;
    name_place(base.scope == Scope::Head);
    add("cell", index_text(base.rows, number_.row) + ", " + index_text(base.columns, number_.column));
    const auto block = std::ranges::find(result_.capture->blocks(), number_.block, &capture::CapturedBlock::ref);
    if (block == result_.capture->blocks().end()) return;
    const auto array = [](const std::shared_ptr<const capture::Numbers>& numbers) {
      return fmt::format("{} {}", numbers->name(), headlight::to_string(numbers->shape()));
    };
    const std::string file = utf8(result_.capture->path().filename());
    std::string from =
        block->weights ? array(block->weights) : fmt::format("{} and {}", array(block->queries), array(block->keys));
    const bool is_mixed = base.stage == Stage::Heads || base.stage == Stage::Merged;
    if (base.stage == Stage::Q && block->queries) from = array(block->queries);
    if (base.stage == Stage::K && block->keys) from = array(block->keys);
    if (base.stage == Stage::V && block->values) from = array(block->values);
    if (is_mixed && block->values) from += fmt::format("{} {}", block->weights ? " and" : ",", array(block->values));
    add("from", fmt::format("{}, {}", from, file));
    std::string computed = "nothing computes it: it is as it was saved";
    if (is_mixed) computed = "sum of values by their weights, in double on the host";
    if (!block->weights && !is_mixed) {
      computed = "read as it was saved";
      if (attention::is_map(base.stage)) computed = "q\u00b7k, in double on the host";
      if (base.stage >= Stage::Scaled && attention::is_map(base.stage))
        computed = "q\u00b7k / \u221Ad_k, in double on the host";
      if (base.stage == Stage::Weights) computed = "softmax(q\u00b7k\u1d40 / \u221Ad_k), in double on the host";
    }
    const bool is_mean = base.scope == Scope::Kind || base.id == "mean-layer";
    if (is_mean) computed += "; the mean over heads is added up in double on the host";
    if (shown.base) computed += "; the baseline capture's number is subtracted";
    add("computed by", computed);
    add_pooling(base);
  }

  void tell_quantity(const Quantity& shown) {
    const Quantity& base = shown.base ? quantity(*shown.base) : shown;
    name_place(base.scope == Scope::Head);
    add("cell", index_text(base.rows, number_.row) + ", " + index_text(base.columns, number_.column));
    const bool is_norm = base.id.starts_with("norms");
    const bool is_mean = base.scope == Scope::Kind || base.id == "mean-layer" || base.id == "norms-layer";
    const attention::MaskSpec* mask = result_.inputs ? &result_.inputs->masks[number_.block.kind] : nullptr;
    const auto pattern = is_mean ? std::nullopt : pattern_of_head();
    add("formula",
        shown.formula({.block = number_.block, .layer = layer_, .head = number_.head, .mask = mask, .pattern = pattern}));
    if (mask && mask->score_expression && base.stage >= Stage::Scaled) {
      add("score expression", mask->score_expression.text());
    }
    if (mask && !is_mean && attention::is_map(base.stage) && base.stage >= Stage::Scaled) add_paint(*mask, pattern);
    if (mask && mask->mask_expression && base.stage >= Stage::Masked) add("mask expression", mask->mask_expression.text());
    const StageWords& words = words_of(base.stage);
    std::string computed(words.computed);
    if (is_norm) computed += "; times the length of v\u00b7W_O, in double on the host, once for each key";
    if (is_mean) computed += "; the mean over heads is added up in double on the host";
    if (shown.base && !shown.is_of_baseline) computed += "; the baseline's number is subtracted";
    add("computed by", computed);
    add("from", std::string(words.from) + (is_norm ? ", the key's row of V, and W_O" : ""));
    const float gain = gain_of_head();
    if (gain != 1.0F && (base.stage == Stage::Heads || is_norm)) add("head's gain", fmt::format("{:.4g}", gain));
    if (pattern)
      add("head's pattern", fmt::format("replaced by the {} one, within the mask", attention::to_string(pattern->kind)));
    if (!is_mean && base.stage == Stage::Weights) add_dropout();
    if (!is_mean) add_weights(base.stage, is_norm);
    add_pooling(base);
  }

  void add_dropout() {
    const auto plan = result_.inputs ? weight_dropout(result_.inputs->settings, number_.block) : std::nullopt;
    if (!plan) return;
    if (!number_.is_exact()) return add("dropout", "of each cell, before they are pooled");
    const float factor = plan->factor_of(number_.batch, number_.head, number_.row, number_.column);
    add("dropout", factor == 0.0F ? "dropped: 0" : fmt::format("kept, times {:.6g}", factor));
  }

  /// Adds what was painted onto the cell; nothing where the number stands for several cells.
  void add_paint(const attention::MaskSpec& mask, const std::optional<attention::ReplacementPattern>& pattern) {
    if (!number_.is_exact()) return;
    const attention::Cell cell{.query = number_.row, .key = number_.column};
    if (pattern && pattern->weights.has_row(cell.query)) {
      const float weight = pattern->weights.state(cell).value_or(0.0F);
      return add("painted weight", fmt::format("{:.6g}, divided by the sum of those that the row's mask shows", weight));
    }
    if (pattern == attention::FixedPattern::Uniform) return;  // every score is 0
    const float bias = mask.bias(number_.block.layer.value, number_.batch, number_.head, cell);
    if (bias != 0.0F) add("painted bias", fmt::format("{:+.6g}, added to the score", bias));
  }

  float gain_of_head() const {
    if (!result_.inputs) return 1.0F;
    const auto found = result_.inputs->gains.find({number_.block, number_.head});
    return found == result_.inputs->gains.end() ? 1.0F : found->second;
  }

  /// Returns the pattern that takes the place of the head's own.
  std::optional<attention::ReplacementPattern> pattern_of_head() const {
    if (!result_.inputs) return std::nullopt;
    const auto found = result_.inputs->patterns.find({number_.block, number_.head});
    return found == result_.inputs->patterns.end() ? std::nullopt : std::optional(found->second);
  }

  void add_pooling(const Quantity& shown) {
    if (number_.is_exact()) return add("exact or pooled", "exact: one cell");
    const bool is_weight = shown.stage == Stage::Weights;
    const bool is_largest = is_weight && number_.pooling == attention::Pooling::Max;
    const char* of = shown.stage == Stage::Masked ? "the mean of the visible ones" : "the mean";
    add("exact or pooled", fmt::format("{} of {} × {} cells, each of them evaluated", is_largest ? "the largest" : of,
                                       number_.pool, number_.column_pool()));
  }

  void add_linear(std::string name, const model::Linear& linear, std::uint32_t first, std::uint32_t count) {
    if (first_weight_ == nullptr) first_weight_ = &linear.weight;
    add(std::move(name), weight_origin(result_, linear.weight, first, count));
    if (linear.has_bias()) add("bias", weight_origin(result_, linear.bias, first, count));
  }
  void add_norm(const char* name, const model::Norm* norm) {
    if (norm != nullptr && !norm->is_plain && !norm->weight.is_empty())
      add(name, weight_origin(result_, norm->weight, 0, norm->weight.axis(0)));
  }

  /// Adds the weights that the stage is made with; for components alone the one of the cell.
  void add_weights(Stage stage, bool is_norm) {
    if (!attention::is_of_stream(stage) && !layer_->weights) return add("weight", "none: Q, K and V are given");
    const bool is_map = attention::is_map(stage), is_of_cell = !is_map && !layer_->config.rotary;
    if (is_map) {
      add_weight("weight W_Q", LayerWeight::Query, false);
      add_weight("weight W_K", LayerWeight::Key, false);
    }
    if (stage == Stage::Heads || is_norm) add_weight("weight W_V", LayerWeight::Value, is_of_cell && !is_norm);
    if (is_norm) add_output();
    const attention::LayerGraph graph(shape_, number_.block.kind, layer_);
    const attention::LayerNode* node = graph.find(stage);
    if (node == nullptr) return;
    if (node->operation == attention::LayerOperation::Norm) return add_norm("norm", node->norm);
    if (node->linear == nullptr) return;
    add_weight(fmt::format("weight W_{}", letter_of(*node->weight)), *node->weight, is_of_cell);
    add_norm(stage == Stage::Q ? "norm of queries" : "norm of keys", node->norm);
  }

  /// Adds a weight's column of the cell; for W_Q, W_K and W_V the head's columns, or the one of the cell's component.
  void add_weight(std::string name, LayerWeight weight, bool is_of_cell) {
    const model::HeadWeight columns = attention::columns_of(*layer_, weight, number_.head);
    if (columns.linear == nullptr) return;
    const bool is_one = weight > LayerWeight::Value || (is_of_cell && number_.column < columns.count);
    add_linear(std::move(name), *columns.linear, columns.first + (is_one ? number_.column : 0), is_one ? 1 : columns.count);
  }

  void add_output() {
    const auto& output = layer_->weights->output;
    if (output) add_linear("weight W_O", *output, 0, output->out());
  }

  /// Returns which cell of its matrix the number is, which prediction, or which metric of the head; empty: none of these.
  std::string cell_text(const OtherNumber& other) const {
    const bool is_of_prediction = other.finding == Finding::Prediction || other.finding == Finding::Effect;
    if (is_of_prediction && number_.column == kNoToken) return "the whole text";
    if (is_of_prediction && !result_.input) return {};
    const auto of_vocabulary = [&](const std::string& position) {
      return fmt::format("{}, token {} of the vocabulary", position, number_.column);
    };
    if (is_of_prediction) {
      return of_vocabulary(
          named("token", result_.input->target ? *result_.input->target : result_.input->source, number_.row));
    }
    if (other.id.starts_with("logit")) return of_vocabulary(index_text(Axis::Query, number_.row));
    if (other.finding == Finding::None) {
      return index_text(other.rows, number_.row) + ", " + index_text(other.columns, number_.column);
    }
    if (other.columns == Axis::KeyToken) {
      return index_text(Axis::Query, number_.row) + ", " + index_text(Axis::Key, number_.column);
    }
    return other.finding == Finding::Flow ? index_text(Axis::Query, number_.row) : std::string();
  }

  /// Adds a line about how much of the run the number covers.
  void add_coverage(bool is_metric) {
    // A view that samples says so in a note itself, as it knows how much it sampled.
    const bool is_sampled = std::ranges::any_of(number_.notes, [](const auto& note) { return note.first == kSampledNote; });
    if (!is_metric && !is_sampled) add("exact or pooled", "exact: one number");
    if (!is_metric) return;
    const Analysed* answer = result_.analysed(HeadMetricsQuestion{.kind = number_.block.kind, .batch = number_.batch});
    const auto* found = answer ? answer->as<HeadMetricsFound>() : nullptr;
    if (found == nullptr) return;
    const bool is_whole = found->measured_queries >= found->queries;
    add(std::string(kSampledNote), is_whole ? fmt::format("exact: all {} queries", found->queries)
                                            : fmt::format("{} of {} queries", found->measured_queries, found->queries));
  }

  void tell_other(const OtherNumber& other) {
    const bool is_metric = other.id == kHeadMetricNumber;
    if (other.id.starts_with("logit")) {
      std::string of = other.id == kLogitOther ? "the whole model" : "the last layer";
      if (other.id == kLogitPart) of = fmt::format("layer {}", number_.block.layer.value);
      if (other.id == kLogitHead) of = fmt::format("layer {}, head {}", number_.block.layer.value, number_.head);
      add("of", of);
    } else if (other.finding != Finding::Prediction) {
      name_place(other.has_head);
    }
    if (is_metric) {
      const auto metric = static_cast<evaluation::HeadMetric>(number_.column);
      add("metric", std::string(enum_name<evaluation::HeadMetric>(kHeadMetricNames, metric)));
    } else if (std::string cell = cell_text(other); !cell.empty()) {
      add("cell", std::move(cell));
    }
    add("computed by", std::string(other.computed));
    if (!other.from.empty()) add("from", std::string(other.from));
    if (!is_metric && other.finding == Finding::None) add_other_weights(other);
    add_coverage(is_metric);
  }

  void add_finding_weights(const OtherNumber& other) {
    if (other.finding == Finding::Prediction || other.finding == Finding::Effect) add_unembedding();
    if (other.finding == Finding::Attention) add_weights(Stage::Weights, false);
    if (!layer_->weights || (other.finding != Finding::Flow && other.finding != Finding::Circuit)) return;
    const model::AttentionWeights& weights = *layer_->weights;
    if (other.id == kMlpShare) {
      if (layer_->feed_forward) add_linear("weight", layer_->feed_forward->out, 0, layer_->feed_forward->out.out());
      return;
    }
    if (other.id == kComposition) {
      add_weight("weight W_Q", LayerWeight::Query, false);
      add_weight("weight W_K", LayerWeight::Key, false);
    }
    // An edge of the flow stands for the values of all heads, a circuit for those of this one.
    if (other.has_head) {
      add_weight("weight W_V", LayerWeight::Value, false);
    } else {
      add_linear("weight W_V", weights.value, 0, weights.value.out());
    }
    add_output();
  }

  /// Adds the predicted token's row of the unembedding, or all of them, and the norm in front of it.
  void add_unembedding() {
    const auto& unembedding = result_.network->layers->unembedding;
    const bool is_of_all = number_.column == kNoToken;
    if (!unembedding || (!is_of_all && number_.column >= unembedding->linear.out())) return;
    add_linear("weight", unembedding->linear, is_of_all ? 0 : number_.column, is_of_all ? unembedding->linear.out() : 1);
    const bool is_decoder = !result_.network->layers->decoder.empty();
    const auto& norm = is_decoder ? result_.network->layers->decoder_norm : result_.network->layers->encoder_norm;
    if (norm) add_norm("final norm", &*norm);
  }

  void add_other_weights(const OtherNumber& other) {
    if (other.id.starts_with("logit")) {
      if (other.id == kLogitHead && layer_->weights) add_output();
      return add_unembedding();
    }
    const auto weight = std::ranges::find(kWeightNumbers, other.id);
    if (weight == kWeightNumbers.end()) return;
    add_weight("weight", static_cast<LayerWeight>(weight - kWeightNumbers.begin()), true);
  }

  const EngineResult& result_;
  const NumberRef& number_;
  Provenance told_;
  inference::BlockShape shape_;
  const model::AttentionLayer* layer_ = nullptr;
  const model::Parameter* first_weight_ = nullptr;
};

}  // namespace

Provenance provenance_of(const EngineResult& result, const NumberRef& number) {
  return ProvenanceBuilder(result, number).build();
}

std::string write_provenance(const Provenance& provenance, const std::string& value) {
  std::string text = provenance.title;
  if (!value.empty()) text += " = " + value;
  for (const Provenance::Line& line : provenance.lines) text += fmt::format("\n{}: {}", line.name, line.text);
  return text + "\n";
}

}  // namespace headlight::app
