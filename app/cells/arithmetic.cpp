#include "app/cells/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "app/cells/stage_text.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr std::size_t kMaxTerms = 8;
constexpr std::uint32_t kNumberCharacters = 9;  // three decimals up to "−1234.567"
constexpr const char* kOnTheirWay = "…";

/// A factor of a product: negative ones in parentheses.
std::string write_factor(double value) {
  return value < 0.0 ? fmt::format("({})", write_number(value)) : write_number(value);
}

/// Row `index` of a linear layer's weight [out, in].
std::vector<float> weight_row(const model::Linear& linear, std::uint32_t index) {
  std::vector<float> row(linear.in());
  linear.weight.read(index, 1, row);
  return row;
}

/// The KV head that a head reads.
std::uint32_t kv_head(const model::AttentionConfig& config, std::uint32_t head) {
  return head / std::max(config.heads / std::max(config.kv_head_count(), 1U), 1U);
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

/// Cells of Q, K, V and Output: a row of the matrix before it times a row of W, plus b.
void explain_projection(Arithmetic& arithmetic, const model::Linear& linear, std::uint32_t out,
                        const NumberSource::Numbers& x) {
  arithmetic.numbers = kOnTheirWay;
  if (!x || out >= linear.out()) return;
  const std::optional<float> bias = linear.has_bias() ? std::optional(number_at(linear.bias, out)) : std::nullopt;
  set_sum(arithmetic, products(*x, weight_row(linear, out)), bias);
}

/// The operations on a head's queries or keys between projection and scores; empty without any.
std::string turned_by(const model::AttentionLayer& layer, Stage stage) {
  if (stage == Stage::V) return {};
  const bool has_norm = stage == Stage::Q ? layer.weights->query_norm.has_value() : layer.weights->key_norm.has_value();
  const bool is_rotated = layer.config.rotary.has_value();
  if (has_norm && is_rotated) return "normed over the head's width, then rotated by the token's position";
  if (has_norm) return "normed over the head's width";
  return is_rotated ? "rotated by the token's position (RoPE), which mixes pairs of its components" : "";
}

void explain_input_projection(const CellQuestion& question, Arithmetic& arithmetic, NumberSource& numbers) {
  const Stage stage = question.stage;
  const char letter = stage == Stage::Q ? 'Q' : stage == Stage::K ? 'K' : 'V';
  const BlockGeometry& geometry = question.geometry;
  if (!question.layer || !question.layer->weights) {
    arithmetic.note = fmt::format("{} is given as numbers: nothing is projected.", letter);
    return;
  }
  const model::AttentionWeights& weights = *question.layer->weights;
  const model::Linear& linear = stage == Stage::Q ? weights.query : stage == Stage::K ? weights.key : weights.value;
  const std::uint32_t width = stage == Stage::V ? geometry.shape.d_v : geometry.shape.d_k;
  const bool reads_x = stage == Stage::Q || geometry.is_self;
  // Several heads may share one KV head.
  const std::uint32_t head = stage == Stage::Q ? geometry.head : kv_head(question.layer->config, geometry.head);
  const std::string turn = turned_by(*question.layer, stage);
  // As the matrix is drawn: the head's columns, counted from 0.
  const std::string columns = turn.empty() ? fmt::format(":,{}", question.column) : fmt::format(":,0…{}", width - 1);
  arithmetic.formula = fmt::format("{}{} · W_{}[{}]{}", reads_x ? "x" : "memory", subscript(question.row), letter, columns,
                                   linear.has_bias() ? " + b" : "");
  if (!turn.empty()) {
    arithmetic.formula += fmt::format(", then [{}]", question.column);
    arithmetic.note = fmt::format("The projected vector is {}: this number is no single sum of products.", turn);
    return;
  }
  if (!reads_x) {
    arithmetic.note = "The memory is the other sequence: the encoder's output, or the second text's token vectors.";
  }
  explain_projection(arithmetic, linear, head * width + question.column,
                     reads_x ? numbers.row(Stage::X, question.row) : numbers.memory(question.row));
}

void explain_scores(const CellQuestion& question, Arithmetic& arithmetic, NumberSource& numbers) {
  arithmetic.formula = fmt::format("q{}·k{}", subscript(question.row), subscript(question.column));
  arithmetic.numbers = kOnTheirWay;
  const NumberSource::Numbers query = numbers.row(Stage::Q, question.row);
  const NumberSource::Numbers key = numbers.row(Stage::K, question.column);
  if (query && key) set_sum(arithmetic, products(*query, *key), std::nullopt);
}

void explain_bias(const CellQuestion& question, const std::optional<float>& score, Arithmetic& arithmetic) {
  arithmetic.formula += " + bias";
  if (score && arithmetic.result && question.layer->config.softcap == 0.0F && question.score_expression.empty()) {
    const double bias = double{*arithmetic.result} - question.painted_bias -
                        double{*score} * double{question.layer->config.scale.factor(question.geometry.shape.d_k)};
    arithmetic.numbers += fmt::format(" + {}", write_factor(bias));
  }
  arithmetic.note = "The bias depends on head and distance alone (relative positions).";
}

void explain_scaled(const CellQuestion& question, Arithmetic& arithmetic, NumberSource& numbers) {
  const model::Scale scale = question.layer ? question.layer->config.scale : model::Scale{};
  const std::uint32_t d_k = question.geometry.shape.d_k;
  const std::string cell = fmt::format("scores[{},{}]", question.row, question.column);
  const std::optional<float> score = numbers.value(Stage::Scores, question.row, question.column);
  const std::string number = score ? write_number(double{*score}) : kOnTheirWay;
  switch (scale.kind) {
    case model::Scale::Kind::InverseSqrtKey:
      arithmetic.formula = cell + " / √dₖ";
      arithmetic.numbers = fmt::format("{} / √{}", number, d_k);
      break;
    case model::Scale::Kind::Value:
      arithmetic.formula = "scale · " + cell;
      arithmetic.numbers =
          fmt::format("{} · {}", write_number(double{scale.value}), score ? write_factor(double{*score}) : number);
      break;
    case model::Scale::Kind::None:
      arithmetic.formula = cell;
      arithmetic.note = "This attention doesn't scale its scores.";
      break;
  }
  if (!question.layer) return;
  const model::AttentionConfig& config = question.layer->config;
  if (config.softcap > 0.0F) {
    const std::string cap = write_number(double{config.softcap});
    arithmetic.formula = fmt::format("{} · tanh({} / {})", cap, arithmetic.formula, cap);
    arithmetic.numbers = fmt::format("{} · tanh({} / {})", cap, arithmetic.numbers, cap);
  }
  if (config.position_bias) explain_bias(question, score, arithmetic);
  if (question.painted_bias != 0.0) {
    arithmetic.formula += " + painted bias";
    const double bias = question.painted_bias;
    arithmetic.numbers += fmt::format(" {} {}", bias < 0.0 ? "\u2212" : "+", write_number(std::abs(bias)));
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

void explain_output(const CellQuestion& question, Arithmetic& arithmetic, NumberSource& numbers) {
  if (!question.layer || !question.layer->weights || !question.layer->weights->output) return;
  const model::Linear& linear = *question.layer->weights->output;
  arithmetic.formula =
      fmt::format("merged{} · W_O[:,{}]{}", subscript(question.row), question.column, linear.has_bias() ? " + b" : "");
  explain_projection(arithmetic, linear, question.column, numbers.row(Stage::Merged, question.row));
}

}  // namespace

std::string write_number(double value) { return view::format_number(static_cast<float>(value), kNumberCharacters); }

std::vector<Product> products(std::span<const float> left, std::span<const float> right) {
  std::vector<Product> terms(std::min(left.size(), right.size()));
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = {.left = left[i], .right = right[i]};
  return terms;
}

std::vector<std::size_t> largest_first(std::span<const Product> terms) {
  std::vector<std::size_t> order(terms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return std::abs(terms[a].value()) > std::abs(terms[b].value()); });
  return order;
}

std::string write_sum(std::span<const Product> terms, std::optional<float> constant, std::size_t max_terms) {
  std::vector<std::size_t> shown = largest_first(terms);
  const bool is_shortened = terms.size() > max_terms;
  if (is_shortened) shown.resize(max_terms);
  std::string text;
  for (const std::size_t index : shown) {
    const Product& term = terms[index];
    if (!text.empty()) text += " + ";
    const std::string left = text.empty() ? write_number(double{term.left}) : write_factor(double{term.left});
    text += left + "·" + write_factor(double{term.right});
  }
  if (is_shortened) {
    const std::size_t hidden = terms.size() - max_terms;
    text += fmt::format(" + … {} more {}", hidden, hidden == 1 ? "term" : "terms");
  }
  if (constant) {
    const double bias = double{*constant};
    text += text.empty() ? write_number(bias) : fmt::format(" {} {}", bias < 0.0 ? "−" : "+", write_number(std::abs(bias)));
  }
  return text.empty() ? "0" : text;
}

std::string write_all(const Arithmetic& arithmetic) {
  std::string text = arithmetic.cell;
  if (!arithmetic.formula.empty()) text += " = " + arithmetic.formula;
  const std::optional<float> constant = arithmetic.has_constant ? std::optional(arithmetic.constant) : std::nullopt;
  const std::string numbers =
      arithmetic.terms.empty() ? arithmetic.numbers : write_sum(arithmetic.terms, constant, arithmetic.terms.size());
  if (!numbers.empty()) text += " = " + numbers;
  if (arithmetic.result) text += " = " + write_number(double{*arithmetic.result});
  if (!arithmetic.note.empty()) text += "\n" + arithmetic.note;
  return text;
}

std::string dropout_note(float factor) {
  const std::string what =
      factor == 0.0F ? std::string("Dropout drops this weight")
                     : fmt::format("Dropout keeps this weight, times 1 / (1 − p) = {}", write_number(double{factor}));
  return what + ": the row's weights no longer add up to 1, only their mean over many seeds does.";
}

Arithmetic explain_cell(const CellQuestion& question, NumberSource& numbers) {
  static constexpr const char* kNames[] = {"X",      "Q",       "K",    "V",      "scores", "scaled",
                                           "masked", "weights", "head", "merged", "output"};
  const Stage stage = question.stage;
  Arithmetic arithmetic;
  arithmetic.cell = fmt::format("{}[{},{}]", kNames[static_cast<std::size_t>(stage)], question.row, question.column);
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
  switch (stage) {
    case Stage::X:
      arithmetic.note = question.layer && question.layer->norms.before
                            ? "One number of the vector that enters this layer, behind its norm."
                            : "One number of the vector that enters this layer.";
      break;
    case Stage::Q:
    case Stage::K:
    case Stage::V:
      explain_input_projection(question, arithmetic, numbers);
      break;
    case Stage::Scores:
      explain_scores(question, arithmetic, numbers);
      break;
    case Stage::Scaled:
      explain_scaled(question, arithmetic, numbers);
      break;
    case Stage::Masked:
      explain_masked(question, arithmetic);
      break;
    case Stage::Weights:
      explain_weights(question, arithmetic, numbers);
      break;
    case Stage::Heads:
      explain_heads(question, arithmetic, numbers);
      break;
    case Stage::Merged:
      explain_merged(question, arithmetic);
      break;
    case Stage::Output:
      explain_output(question, arithmetic, numbers);
      break;
  }
  return arithmetic;
}

}  // namespace headlight::app
