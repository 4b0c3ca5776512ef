#include "app/widgets/cells/score_chain.h"

#include <tuple>

#include "app/widgets/cells/stage_text.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr std::size_t kMaxProducts = 3;

/// Adds lines one after the other; each takes the value of the one before.
class ChainWriter {
 public:
  ChainWriter(const CellQuestion& question, ScoreChain& chain) : question_(question), chain_(chain) {}

  void add_sum() {
    ChainLine line{.name = "sum of the products",
                   .formula = fmt::format("q{}·k{} = Σᵢ qᵢ·kᵢ", subscript(question_.row), subscript(question_.column))};
    if (!chain_.products.empty()) {
      double sum = 0.0;
      for (const Product& product : chain_.products) sum += product.value();
      line.numbers = write_sum(chain_.products, std::nullopt, kMaxProducts);
      line.value = sum;
    }
    add(std::move(line));
  }

  void add_distance(Stage stage, const std::optional<float>& number) {
    const bool is_of_query = stage == Stage::ContentPosition;
    ChainLine line{.name = is_of_query ? "content to position" : "position to content",
                   .formula = fmt::format("sum + {}{}·r(i − j)", is_of_query ? "q" : "k",
                                          subscript(is_of_query ? question_.row : question_.column)),
                   .note = "The product with the vector of the distance."};
    if (value_ && number) {
      line.numbers = write_number(*value_) + write_added(double{*number});
      line.value = *value_ + double{*number};
    }
    add(std::move(line));
  }

  void add_scale(const model::Scale& scale, std::uint32_t d_k) {
    using Kind = model::Scale::Kind;
    // The factor is in double, as 1/√d_k rounded to float32 is off by up to 6e-8 of the score.
    const bool is_root = scale.kind == Kind::InverseSqrtKey, is_none = scale.kind == Kind::None;
    const double factor = is_root ? 1.0 / std::sqrt(static_cast<double>(d_k)) : double{scale.factor(d_k)};
    then("scale",
         is_root   ? "sum / √dₖ"
         : is_none ? "sum"
                   : "scale · sum",
         is_none ? "This attention doesn't scale its scores." : "", [&](double sum) {
           const std::string numbers = is_root   ? fmt::format("{} / √{}", write_number(sum), d_k)
                                       : is_none ? std::string()
                                                 : write_number(double{scale.value}) + " · " + write_factor(sum);
           return std::pair(numbers, sum * factor);
         });
  }

  void add_softcap(double cap) {
    then("soft cap", "cap · tanh(scaled / cap)", {}, [&](double scaled) {
      const std::string written = write_number(cap);
      return std::pair(fmt::format("{} · tanh({} / {})", written, write_number(scaled), written),
                       cap * std::tanh(scaled / cap));
    });
  }

  void add_bias(double bias, model::PositionBias::Kind kind) {
    if (kind == model::PositionBias::Kind::KeySlopes) {
      return add_to_score("position bias", "score + slope · key / √dₖ",
                          fmt::format("ALiBi of head {} at key {} of the line; slope and product in bfloat16.",
                                      question_.geometry.head, question_.column - question_.first_key),
                          bias);
    }
    const bool is_slope = kind == model::PositionBias::Kind::Slopes;
    const std::int64_t distance = std::int64_t{question_.column} - std::int64_t{question_.row};
    add_to_score("position bias", is_slope ? "score + slope · (key − query)" : "score + bias(key − query)",
                 fmt::format("{} of head {} at distance {}{}.", is_slope ? "ALiBi" : "The learned bias",
                             question_.geometry.head, distance < 0 ? "−" : "", std::abs(distance)),
                 bias);
  }

  /// Adds the captured bias. `scaled`: the score with the bias, which is as exact as that.
  void add_captured_bias(double scaled) {
    if (value_) add_to_score("captured bias", "score + bias", std::string(kCapturedBiasNote), scaled - *value_);
  }

  void add_expression() {
    ChainLine line{.name = "score expression",
                   .formula = question_.score_expression,
                   .note = "What was typed, with the line above as score."};
    if (value_ && question_.expressed) line.value = question_.expressed(*value_);
    add(std::move(line));
  }

  void add_painted_bias() {
    add_to_score("painted bias", "score + bias", "What the brush put onto this cell.", question_.painted_bias);
  }

  void add_painted_weight(double weight) {
    const bool is_painted = weight > 0.0;
    add({.name = "painted pattern",
         .formula = "ln(painted weight)",
         .numbers = is_painted ? fmt::format("ln {}", write_number(weight)) : "",
         .value = is_painted ? std::log(weight) : 0.0,
         .note = is_painted ? "The row's pattern was painted: its scores don't count."
                            : "The row's pattern was painted, without this key."});
  }

  void add_mask() {
    if (question_.mask_reason.empty()) {
      return add(
          {.name = "mask", .formula = "score", .value = value_, .note = "The query may see this key: the score stays."});
    }
    add({.name = "mask",
         .formula = "fill",
         .value = double{attention::fill_value(question_.fill)},
         .note = fmt::format("Masked by {}: the score becomes {}.", question_.mask_reason, fill_text(question_.fill))});
  }

  void add_softmax(const std::optional<NumberSource::Softmax>& softmax) {
    const bool has_weights = softmax && softmax->sum > 0.0F;
    ChainLine largest{.name = "m", .formula = "maxⱼ score", .note = "The largest score of the query's row."};
    ChainLine sum{.name = "l",
                  .formula = question_.has_sink ? "exp(sink − m) + Σⱼ exp(score − m)" : "Σⱼ exp(score − m)",
                  .note = "What the row's exponentials add up to."};
    ChainLine weight{.name = "weight", .formula = "exp(score − m) / l"};
    if (softmax) {
      largest.value = double{softmax->max};
      sum.value = double{softmax->sum};
    }
    if (has_weights && value_) {
      weight.numbers = fmt::format("exp({}{}) / {}", write_number(*value_), write_added(-double{softmax->max}),
                                   write_number(double{softmax->sum}));
      weight.value = std::exp(*value_ - double{softmax->max}) / double{softmax->sum};
    } else if (softmax && !has_weights) {
      weight.value = 0.0;
      weight.note = "This query sees no key, so its row has no weights; they are shown as 0.";
    }
    add(std::move(largest));
    add(std::move(sum));
    add(std::move(weight));
    if (question_.dropout_factor) add_dropout(*question_.dropout_factor);
    chain_.weight = value_;
  }

  void add_dropout(float factor) {
    then("dropout", "weight · factor", dropout_note(factor), [&](double weight) {
      return std::pair(write_number(weight) + " · " + write_number(double{factor}), weight * double{factor});
    });
  }

  std::optional<double> value() const { return value_; }

 private:
  void add(ChainLine line) {
    value_ = line.value;
    chain_.lines.push_back(std::move(line));
  }

  /// Adds a line that follows from the one before it; `next` makes its numbers and its value from that one's.
  template <typename Next>
  void then(std::string name, std::string formula, std::string note, const Next& next) {
    ChainLine line{.name = std::move(name), .formula = std::move(formula), .note = std::move(note)};
    if (value_) std::tie(line.numbers, line.value) = next(*value_);
    add(std::move(line));
  }

  void add_to_score(std::string name, std::string formula, std::string note, double bias) {
    then(std::move(name), std::move(formula), std::move(note),
         [&](double score) { return std::pair(write_number(score) + write_added(bias), score + bias); });
  }

  const CellQuestion& question_;
  ScoreChain& chain_;
  std::optional<double> value_;
};

}  // namespace

std::optional<double> position_bias(const CellQuestion& question, const model::Layers* layers) {
  if (!question.layer || !question.layer->config.position_bias || !layers) return std::nullopt;
  const std::uint32_t index = *question.layer->config.position_bias;
  if (index >= layers->position_biases.size()) return std::nullopt;
  return layers->position_biases[index].of_cell(question.geometry.head, question.row, question.column, question.first_key);
}

ScoreChain explain_score(const CellQuestion& asked, const model::Layers* layers, NumberSource& numbers) {
  const CellQuestion question = with_captured_mask(asked, numbers);
  ScoreChain chain;
  const NumberSource::Numbers query = numbers.row(Stage::Q, question.row);
  const NumberSource::Numbers key = numbers.row(Stage::K, question.column);
  if (query && key) chain.products = products(*query, *key);
  chain.evaluated = numbers.value(Stage::Scaled, question.row, question.column);
  chain.evaluated_weight = numbers.value(Stage::Weights, question.row, question.column);
  const model::AttentionConfig config = question.layer ? question.layer->config : model::AttentionConfig{};
  ChainWriter writer(question, chain);
  writer.add_sum();
  for (const Stage stage : {Stage::ContentPosition, Stage::PositionContent}) {
    if (question.geometry.shape.extent(stage))
      writer.add_distance(stage, numbers.value(stage, question.row, question.column));
  }
  writer.add_scale(config.scale, question.geometry.shape.d_k);
  if (config.softcap > 0.0F) writer.add_softcap(double{config.softcap});
  if (const std::optional<double> bias = position_bias(question, layers)) {
    writer.add_bias(*bias, layers->position_biases[*config.position_bias].kind);
  }
  if (question.has_captured_bias && chain.evaluated) writer.add_captured_bias(double{*chain.evaluated});
  if (!question.score_expression.empty()) writer.add_expression();
  if (question.painted_bias != 0.0) writer.add_painted_bias();
  if (question.painted_weight) writer.add_painted_weight(*question.painted_weight);
  chain.score = writer.value();
  writer.add_mask();
  writer.add_softmax(numbers.softmax(question.row));
  return chain;
}

std::vector<float> before_rotation(const model::Rotary& rotary, std::span<const float> rotated, std::uint32_t position,
                                   std::uint32_t length) {
  std::vector<float> vector(rotated.begin(), rotated.end());
  const std::vector<double> frequencies = rotary.frequencies(length);
  const double factor = rotary.factor(length);
  const std::size_t half = std::min<std::size_t>(rotary.dimensions / 2, frequencies.size());
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t first = rotary.is_interleaved ? 2 * i : i;
    const std::size_t second = rotary.is_interleaved ? 2 * i + 1 : i + half;
    if (second >= vector.size()) break;
    const double angle = static_cast<double>(position) * frequencies[i];
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    const double x = static_cast<double>(rotated[first]);
    const double y = static_cast<double>(rotated[second]);
    vector[first] = static_cast<float>((x * cosine + y * sine) / factor);
    vector[second] = static_cast<float>((y * cosine - x * sine) / factor);
  }
  return vector;
}

std::optional<std::uint32_t> rotation_partner(const model::Rotary& rotary, std::uint32_t component) {
  if (component >= rotary.dimensions) return std::nullopt;
  if (rotary.is_interleaved) return component ^ 1U;
  const std::uint32_t half = rotary.dimensions / 2;
  return component < half ? component + half : component - half;
}

Table score_table(const ScoreChain& chain, const std::string& query, const std::string& key) {
  Table table = named_columns({"part", "q", "k", "value", "text"});
  const auto put = [&](const std::string& part, CellNumber value, const std::string& text) {
    table.put(part, CellNumber(), CellNumber(), value, text);
  };
  put("query", {}, query);
  put("key", {}, key);
  for (std::size_t i = 0; i < chain.products.size(); ++i) {
    const Product& product = chain.products[i];
    table.put(fmt::format("component {}", i), product.left, product.right, product.value(), "q\u00B7k");
  }
  for (const ChainLine& line : chain.lines) put(line.name, line.value, line.formula);
  return table;
}

}  // namespace headlight::app
