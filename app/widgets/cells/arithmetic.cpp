#include "app/widgets/cells/arithmetic.h"

#include <numeric>

#include "app/shapes/quantities/formulas.h"
#include "app/shapes/quantities/stage_words.h"
#include "app/widgets/cells/stage_text.h"

namespace headlight::app {
namespace {

using attention::LayerNode, attention::LayerOperation, attention::Stage;

constexpr std::size_t kMaxTerms = 8;

/// Returns row `index` of a linear layer's weight [out, in].
std::vector<float> weight_row(const model::Linear& linear, std::uint32_t index) {
  std::vector<float> row(linear.in());
  linear.weight.read(index, 1, row);
  return row;
}

float number_at(const model::Parameter& vector, std::uint32_t index) {
  float number = 0.0F;
  vector.read(index, 1, {&number, 1});
  return number;
}

void set_sum(Arithmetic& arithmetic, std::vector<Product> terms, std::optional<float> constant) {
  arithmetic.terms = std::move(terms);
  arithmetic.constant = constant.value_or(0.0F);
  arithmetic.has_constant = constant.has_value();
  arithmetic.numbers = write_sum(arithmetic.terms, constant, kMaxTerms);
}

/// Returns the operations on a head's queries or keys between projection and scores; empty without any.
std::string turned_by(const model::AttentionLayer& layer, const LayerNode& node) {
  const bool is_rotated = layer.config.rotary && node.stage != Stage::V;
  if (!node.norm && !is_rotated) return {};
  std::string turned;
  const auto then = [&](std::string_view what) { turned += fmt::format("{}{}", turned.empty() ? "" : ", then ", what); };
  if (node.norm)
    then(node.norm->spans_heads ? "normed over all heads of the token together" : "normed over the head's width");
  if (layer.config.clip > 0.0F) then(fmt::format("cut to ±{:.4g}", layer.config.clip));
  if (is_rotated && node.norm) then("rotated by the token's position");
  if (is_rotated && !node.norm) then("rotated by the token's position (RoPE), which mixes pairs of its components");
  return turned;
}

/// Returns a row of a stage, before its number: "x" of x₂, "merged".
std::string row_name(Stage stage) {
  return stage == Stage::X ? "x" : std::string(stage == Stage::Merged ? to_string(stage) : words_of(stage).symbol);
}

void explain_linear(const CellQuestion& question, const LayerNode& node, Arithmetic& arithmetic, NumberSource& numbers) {
  if (node.linear == nullptr) return;
  const bool is_projection = node.stage <= Stage::V;
  const std::string turn = is_projection ? turned_by(*question.layer, node) : "";
  const model::HeadWeight weight = attention::columns_of(*question.layer, *node.weight, question.geometry.head);
  // The formula names columns as the matrix is drawn: the head's own, counted from 0.
  const std::string columns = turn.empty() ? fmt::format(":,{}", question.column) : fmt::format(":,0…{}", weight.count - 1);
  arithmetic.formula =
      fmt::format("{}{} · W_{}[{}]{}", node.reads_memory ? "memory" : row_name(node.inputs()[0]), subscript(question.row),
                  letter_of(*node.weight), columns, node.linear->has_bias() ? " + b" : "");
  if (!turn.empty()) {
    arithmetic.formula += fmt::format(", then [{}]", question.column);
    arithmetic.note = fmt::format("The projected vector is {}: this number is no single sum of products.", turn);
    return;
  }
  if (node.reads_memory) {
    arithmetic.note = "The memory is the other sequence: the encoder's output, or the second text's token vectors.";
  }
  explain_projection(arithmetic, *node.linear, weight.first + question.column,
                     node.reads_memory ? numbers.memory(question.row) : numbers.row(node.inputs()[0], question.row));
  const float clip = question.layer->config.clip;
  if (clip == 0.0F || !is_projection) return;
  arithmetic.formula = fmt::format("clip({}, ±{:.4g})", arithmetic.formula, clip);
  arithmetic.numbers = fmt::format("clip({}, ±{:.4g})", arithmetic.numbers, clip);
}

void explain_scores(const CellQuestion& question, Arithmetic& arithmetic, NumberSource& numbers) {
  arithmetic.formula = fmt::format("q{}·k{}", subscript(question.row), subscript(question.column));
  arithmetic.numbers = kOnTheirWay;
  const NumberSource::Numbers query = numbers.row(Stage::Q, question.row);
  const NumberSource::Numbers key = numbers.row(Stage::K, question.column);
  if (query && key) set_sum(arithmetic, products(*query, *key), std::nullopt);
}

void explain_bias(const CellQuestion& question, const std::optional<double>& score, Arithmetic& arithmetic,
                  std::string note) {
  arithmetic.formula += " + bias";
  if (score && arithmetic.result && question.layer->config.softcap == 0.0F && question.score_expression.empty()) {
    const double bias = double{*arithmetic.result} - question.painted_bias -
                        *score * double{question.layer->config.scale.factor(question.geometry.shape.d_k)};
    arithmetic.numbers += fmt::format(" + {}", write_factor(bias));
  }
  arithmetic.note = std::move(note);
}

void explain_distance(const CellQuestion& question, const LayerNode& node, Arithmetic& arithmetic) {
  const bool is_of_query = node.inputs()[0] == Stage::Q;
  const std::int64_t distance = std::int64_t{question.row} - std::int64_t{question.column};
  arithmetic.formula = fmt::format("{}[{}] · r({}{})", is_of_query ? "Q" : "K", is_of_query ? question.row : question.column,
                                   distance < 0 ? "−" : "", std::abs(distance));
  arithmetic.note = "r is the vector of the distance from the key to the query, in this layer and head.";
}

/// The raw score with what distances add to it: as a formula, and the numbers as far as they are known.
struct RawScore {
  std::string formula, numbers;
  std::optional<double> sum;
};
RawScore raw_score(const CellQuestion& question, const LayerNode& node, NumberSource& numbers) {
  RawScore raw;
  raw.sum = 0.0;
  for (const Stage stage : node.inputs()) {
    const std::optional<float> value = numbers.value(stage, question.row, question.column);
    raw.formula +=
        fmt::format("{}{}[{},{}]", raw.formula.empty() ? "" : " + ", to_string(stage), question.row, question.column);
    raw.sum = value && raw.sum ? std::optional(*raw.sum + double{*value}) : std::nullopt;
    raw.numbers += !value                ? std::string(kOnTheirWay)
                   : raw.numbers.empty() ? write_number(double{*value})
                                         : write_added(double{*value});
  }
  if (node.inputs().size() == 1) return raw;
  raw.formula = "(" + raw.formula + ")";
  raw.numbers = "(" + raw.numbers + ")";
  return raw;
}

void explain_scaled(const CellQuestion& question, const LayerNode& node, Arithmetic& arithmetic, NumberSource& numbers) {
  const model::Scale scale = question.layer ? question.layer->config.scale : model::Scale{};
  const auto [cell, number, score] = raw_score(question, node, numbers);
  const bool is_sum = cell.front() == '(';
  if (scale.kind == model::Scale::Kind::InverseSqrtKey) {
    arithmetic.formula = cell + " / √dₖ";
    arithmetic.numbers = fmt::format("{} / √{}", number, question.geometry.shape.d_k);
  } else if (scale.kind == model::Scale::Kind::Value) {
    arithmetic.formula = "scale · " + cell;
    arithmetic.numbers = write_number(double{scale.value}) + " · " + (score && !is_sum ? write_factor(*score) : number);
  } else {
    arithmetic.formula = cell;
    arithmetic.note = "This attention doesn't scale its scores.";
  }
  if (!question.layer) return;
  const model::AttentionConfig& config = question.layer->config;
  if (config.softcap > 0.0F) {
    const std::string cap = write_number(double{config.softcap});
    arithmetic.formula = fmt::format("{} · tanh({} / {})", cap, arithmetic.formula, cap);
    arithmetic.numbers = fmt::format("{} · tanh({} / {})", cap, arithmetic.numbers, cap);
  }
  if (config.position_bias)
    explain_bias(question, score, arithmetic, "The bias depends on the head and on positions alone.");
  if (question.has_captured_bias) explain_bias(question, score, arithmetic, std::string(kCapturedBiasNote));
  if (question.painted_bias != 0.0) {
    arithmetic.formula += " + painted bias";
    arithmetic.numbers += write_added(question.painted_bias);
    arithmetic.note = "The bias was painted onto this cell.";
  }
  if (question.score_expression.empty()) return;
  arithmetic.formula = fmt::format("{}, score = {}", question.score_expression, arithmetic.formula);
  arithmetic.numbers.clear();
  arithmetic.note = "The score expression that was typed changes the scaled score.";
}

void explain_masked(const CellQuestion& question, Arithmetic& arithmetic) {
  if (question.mask_reason.empty()) {
    arithmetic.formula = fmt::format("scaled[{},{}]", question.row, question.column);
    arithmetic.note = "Visible: the scaled score stays.";
  } else {
    arithmetic.formula = "fill";
    arithmetic.note = fmt::format("Masked by {}: the score becomes {}.", question.mask_reason, fill_text(question.fill));
  }
}

void explain_weights(const CellQuestion& question, Arithmetic& arithmetic, NumberSource& numbers) {
  const std::uint32_t row = question.row;
  arithmetic.formula = fmt::format("exp(masked[{},{}] − m) / l", row, question.column);
  arithmetic.numbers = kOnTheirWay;
  const std::optional<NumberSource::Softmax> softmax = numbers.softmax(row);
  const std::optional<float> score = numbers.value(Stage::Masked, row, question.column);
  if (!softmax || !score) return;
  if (!(softmax->sum > 0.0F)) {
    arithmetic.formula.clear();
    arithmetic.numbers.clear();
    arithmetic.note = fmt::format("Query {} sees no key, so its row has no weights; they are shown as 0.", row);
    return;
  }
  const double max = double{softmax->max};
  const std::string shift = max < 0.0 ? fmt::format("+ {}", write_number(-max)) : fmt::format("− {}", write_number(max));
  arithmetic.numbers =
      fmt::format("exp({} {}) / {}", write_number(double{*score}), shift, write_number(double{softmax->sum}));
  arithmetic.note = fmt::format("m = {} is the row's largest masked score, l = Σⱼ exp(masked[{},j] − m) = {}.",
                                write_number(max), row, write_number(double{softmax->sum}));
  if (!question.mask_reason.empty()) arithmetic.note += fmt::format(" Masked by {}.", question.mask_reason);
  if (!question.dropout_factor) return;
  arithmetic.numbers += fmt::format(" · {}", write_number(double{*question.dropout_factor}));
  arithmetic.note += " " + dropout_note(*question.dropout_factor);
}

void explain_heads(const CellQuestion& question, Arithmetic& arithmetic, NumberSource& numbers) {
  arithmetic.formula = fmt::format("Σⱼ weights[{},j]·V[j,{}]", question.row, question.column);
  arithmetic.numbers = kOnTheirWay;
  const NumberSource::Numbers weights = numbers.row(Stage::Weights, question.row);
  const NumberSource::Numbers values = numbers.column(Stage::V, question.column);
  if (weights && values) set_sum(arithmetic, products(*weights, *values), std::nullopt);
}

void explain_merged(const CellQuestion& question, Arithmetic& arithmetic) {
  const MergedOrigin origin = origin_of_merged(question.geometry, question.row, question.column);
  arithmetic.formula = fmt::format("head{}[{},{}]", subscript(origin.head), origin.token, origin.dimension);
  arithmetic.note = question.geometry.merge == model::MergeOrder::Concatenate
                        ? "A copy: the heads are concatenated."
                        : "A copy: [head, token, d_v] is reshaped without a transpose, so a row mixes tokens of one head.";
}

/// Explains a norm over a row of its input: (x − mean) / √(variance + ε) · γ + β, or x / √(mean square + ε) · γ.
void explain_norm(const CellQuestion& question, const LayerNode& node, Arithmetic& arithmetic, NumberSource& numbers) {
  if (node.norm == nullptr) return;
  const model::Norm& norm = *node.norm;
  const Stage input = node.inputs()[0];
  const bool is_layer = norm.kind == model::Norm::Kind::Layer;
  const std::string x = fmt::format("{}[{},{}]", words_of(input).symbol, question.row, question.column);
  const bool has_bias = !norm.bias.is_empty();
  arithmetic.formula = fmt::format("{}{}{}", is_layer ? fmt::format("({} − mean) / σ", x) : x + " / rms",
                                   norm.is_plain ? "" : " · γ", has_bias ? " + β" : "");
  arithmetic.numbers = kOnTheirWay;
  const NumberSource::Numbers row = numbers.row(input, question.row);
  if (!row || question.column >= row->size()) return;
  const double count = static_cast<double>(row->size());
  double mean = 0.0, squares = 0.0;
  if (is_layer) mean = std::accumulate(row->begin(), row->end(), 0.0) / count;
  for (const float value : *row) squares += (double{value} - mean) * (double{value} - mean);
  const double spread = std::sqrt(squares / count + double{norm.epsilon});
  const double gain = norm.is_plain ? 1.0 : double{number_at(norm.weight, question.column)} + double{norm.weight_offset};
  const std::string value = write_number(double{(*row)[question.column]});
  arithmetic.numbers = is_layer ? fmt::format("({} − {}) / {}", value, write_factor(mean), write_number(spread))
                                : fmt::format("{} / {}", value, write_number(spread));
  if (!norm.is_plain) arithmetic.numbers += " · " + write_factor(gain);
  if (has_bias) arithmetic.numbers += write_added(double{number_at(norm.bias, question.column)});
  arithmetic.note =
      is_layer
          ? fmt::format("mean and σ = √(variance + {:g}) are of all {} components of the row.", norm.epsilon, row->size())
          : fmt::format("rms = √(mean of squares + {:g}) over all {} components of the row.", norm.epsilon, row->size());
}

/// Explains x + branch, which may be normed or scaled first.
void explain_addition(const CellQuestion& question, const LayerNode& node, Arithmetic& arithmetic, NumberSource& numbers) {
  if (!question.layer) return;
  const Stage left = node.inputs()[0], right = node.inputs()[1];
  const auto name = [&](Stage stage) {
    return fmt::format("{}[{},{}]", words_of(stage).symbol, question.row, question.column);
  };
  const std::optional<float> a = numbers.value(left, question.row, question.column);
  if (node.norm) {
    arithmetic.formula = fmt::format("{} + norm({})[{}]", name(left), words_of(right).symbol, question.column);
    if (a && arithmetic.result)
      arithmetic.numbers = write_number(double{*a}) + write_added(double{*arithmetic.result} - double{*a});
    arithmetic.note = "The branch's output is normed before it is added: the norm reads all components of the token's row.";
    return;
  }
  const bool is_scaled = node.factor != 1.0F;
  arithmetic.formula = fmt::format("{} + {}{}", name(left), is_scaled ? "scale · " : "", name(right));
  const std::optional<float> b = numbers.value(right, question.row, question.column);
  arithmetic.numbers = kOnTheirWay;
  if (!a || !b) return;
  arithmetic.numbers = write_number(double{*a});
  if (is_scaled) {
    arithmetic.numbers += fmt::format(" + {} · {}", write_number(double{node.factor}), write_factor(double{*b}));
  } else {
    arithmetic.numbers += write_added(double{*b});
  }
}

void explain_activation(const CellQuestion& question, const LayerNode& node, Arithmetic& arithmetic, NumberSource& numbers) {
  if (!question.layer) return;
  const char* activation = formulas::activation_name(question.layer->feed_forward->activation);
  const Stage inside = node.inputs().front(), last = node.inputs().back();
  const auto name = [&](Stage stage) {
    return fmt::format("{}[{},{}]", words_of(stage).symbol, question.row, question.column);
  };
  arithmetic.formula = fmt::format("{}({})", activation, name(inside));
  if (last != inside) arithmetic.formula += " · " + name(last);
  const std::optional<float> value = numbers.value(inside, question.row, question.column);
  const std::optional<float> other = numbers.value(last, question.row, question.column);
  arithmetic.numbers = kOnTheirWay;
  if (!value || !other) return;
  arithmetic.numbers = fmt::format("{}({})", activation, write_number(double{*value}));
  if (last != inside) arithmetic.numbers += " · " + write_factor(double{*other});
}

/// Explains a cell that nothing of the layer computes: it is the residual stream, a bare layer's input, or Q, K and V that
/// were given.
void explain_given(const LayerNode& node, Arithmetic& arithmetic) {
  if (node.stage == Stage::Residual) {
    arithmetic.note = "One number of the residual stream: the token's vector and what all layers before have added to it.";
  } else if (node.stage == Stage::X) {
    arithmetic.note = "One number of the vector that enters this layer.";
  } else {
    arithmetic.note = fmt::format("{} is given as numbers: nothing is projected.", words_of(node.stage).symbol);
  }
}

/// Explains the cell as its operation makes it.
void explain(const CellQuestion& question, const LayerNode& node, Arithmetic& arithmetic, NumberSource& numbers) {
  switch (node.operation) {
    case LayerOperation::Given:
    case LayerOperation::Same:
      return explain_given(node, arithmetic);
    case LayerOperation::Norm:
      return explain_norm(question, node, arithmetic, numbers);
    case LayerOperation::Linear:
      return explain_linear(question, node, arithmetic, numbers);
    case LayerOperation::Dot:
      return explain_scores(question, arithmetic, numbers);
    case LayerOperation::Distance:
      return explain_distance(question, node, arithmetic);
    case LayerOperation::Scale:
      return explain_scaled(question, node, arithmetic, numbers);
    case LayerOperation::Mask:
      return explain_masked(question, arithmetic);
    case LayerOperation::Softmax:
      return explain_weights(question, arithmetic, numbers);
    case LayerOperation::Mix:
      return explain_heads(question, arithmetic, numbers);
    case LayerOperation::Merge:
      return explain_merged(question, arithmetic);
    case LayerOperation::Add:
      return explain_addition(question, node, arithmetic, numbers);
    case LayerOperation::Activate:
      return explain_activation(question, node, arithmetic, numbers);
    case LayerOperation::Route:
      return explain_gates(question, node, arithmetic, numbers);
    case LayerOperation::Experts:
      return explain_experts(question, node, arithmetic, numbers);
  }
}

/// Returns "scores", "head", "n": what cells of a stage are called.
std::string_view cell_name(Stage stage) {
  if (stage == Stage::Heads) return "head";
  return stage >= Stage::Scores && stage <= Stage::Output ? to_string(stage) : words_of(stage).symbol;
}

}  // namespace

void explain_projection(Arithmetic& arithmetic, const model::Linear& linear, std::uint32_t out,
                        const NumberSource::Numbers& x) {
  arithmetic.numbers = kOnTheirWay;
  if (!x || out >= linear.out()) return;
  const std::optional<float> bias = linear.has_bias() ? std::optional(number_at(linear.bias, out)) : std::nullopt;
  set_sum(arithmetic, products(*x, weight_row(linear, out)), bias);
}

CellQuestion with_captured_mask(CellQuestion question, NumberSource& numbers) {
  if (!question.has_captured_bias || !question.mask_reason.empty()) return question;
  const std::optional<float> masked = numbers.value(Stage::Masked, question.row, question.column);
  if (masked && std::isinf(*masked) && *masked < 0.0F) question.mask_reason = "the captured bias";
  return question;
}

Arithmetic explain_cell(const CellQuestion& asked, NumberSource& numbers) {
  const CellQuestion question = with_captured_mask(asked, numbers);
  const Stage stage = question.stage;
  Arithmetic arithmetic;
  arithmetic.cell = fmt::format("{}[{},{}]", cell_name(stage), question.row, question.column);
  arithmetic.result = numbers.value(stage, question.row, question.column);
  if (question.is_uniform && (stage == Stage::Q || stage == Stage::Scaled)) {
    arithmetic.note = "The head's pattern is uniform: its queries are 0, and so are all scores.";
    return arithmetic;
  }
  if (question.painted_weight && stage == Stage::Scaled) {
    const double weight = *question.painted_weight;
    arithmetic.formula = weight > 0.0 ? "ln(painted weight)" : "";
    arithmetic.numbers = weight > 0.0 ? fmt::format("ln {}", write_number(weight)) : "";
    arithmetic.note =
        "The row's pattern was painted: softmax makes each weight the painted one, divided by the sum of those visible.";
    return arithmetic;
  }
  const model::BlockKind kind = question.geometry.is_self ? model::BlockKind::EncoderSelf : model::BlockKind::Cross;
  const attention::LayerGraph graph(question.geometry.shape, kind, question.layer);
  if (const LayerNode* node = graph.find(stage)) explain(question, *node, arithmetic, numbers);
  return arithmetic;
}

}  // namespace headlight::app
