#include "attention/expression.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "attention/expression_tree.h"

namespace headlight::attention {
namespace {

/// Of one cell. Integers and bools are whole numbers in a double, which holds all 32 bits of them.
class Evaluation {
 public:
  Evaluation(const ExpressionTree& tree, const ExpressionMap& map, const SliderValues& sliders)
      : tree_(tree), map_(map), sliders_(sliders) {}

  double result(std::uint32_t query, std::uint32_t key, double score) {
    query_ = query;
    key_ = key;
    score_ = score;
    for (std::size_t at = 0; at < tree_.nodes.size(); ++at) values_[at] = value(tree_.nodes[at]);
    return values_[tree_.nodes.size() - 1];
  }

 private:
  double argument(const ExpressionNode& node, std::size_t index) const { return values_[node.arguments.at(index)]; }

  double name(Name name) const;
  double value(const ExpressionNode& node) const;
  double of_numbers(const ExpressionNode& node, double a, double b) const;

  const ExpressionTree& tree_;
  const ExpressionMap& map_;
  const SliderValues& sliders_;
  std::uint32_t query_ = 0, key_ = 0;
  double score_ = 0.0;
  std::array<double, Expression::kMostNodes> values_ = {};
};

/// As 32 bits hold it.
double wrapped(ValueType type, std::int64_t value) {
  const auto bits = static_cast<std::uint32_t>(value);
  return type == ValueType::Uint ? static_cast<double>(bits) : static_cast<double>(static_cast<std::int32_t>(bits));
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }
std::uint32_t bits_of(double value) { return static_cast<std::uint32_t>(whole(value)); }

double convert(ValueType to, ValueType from, double value) {
  if (to == ValueType::Bool) return value != 0.0 ? 1.0 : 0.0;
  if (to == ValueType::Float) return value;
  if (from != ValueType::Float) return wrapped(to, whole(value));
  // The largest numbers of a float32 below 2³¹ and 2³².
  const double least = to == ValueType::Int ? -2147483520.0 : 0.0, most = to == ValueType::Int ? 2147483520.0 : 4294967040.0;
  return std::isnan(value) ? 0.0 : std::trunc(std::clamp(value, least, most));
}

double divide(ValueType type, double a, double b) {
  if (b == 0.0) return 0.0;
  return type == ValueType::Float ? a / b : wrapped(type, whole(a) / whole(b));
}

double modulo(ValueType type, double a, double b) {
  if (b == 0.0) return 0.0;
  if (type == ValueType::Float) return a - b * std::floor(a / b);
  const std::int64_t rest = whole(a) % whole(b);
  return static_cast<double>(rest != 0 && (rest < 0) != (b < 0.0) ? rest + whole(b) : rest);
}

double power(double x, double y) {
  if (!(x > 0.0)) return y == 0.0 ? 1.0 : 0.0;
  return std::exp2(std::clamp(y * std::log2(x), kLeastExponent2, kMostExponent2));
}

double item(std::span<const std::uint32_t> of_tokens, std::uint32_t token) {
  return token < of_tokens.size() ? wrapped(ValueType::Int, of_tokens[token]) : 0.0;
}

double Evaluation::name(Name name) const {
  switch (name) {
    case Name::Query:
      return query_;
    case Name::Key:
      return key_;
    case Name::Layer:
      return map_.layer;
    case Name::Head:
      return map_.head;
    case Name::Layers:
      return map_.layers;
    case Name::Heads:
      return map_.heads;
    case Name::Queries:
      return map_.queries;
    case Name::Keys:
      return map_.keys;
    case Name::QueryId:
      return item(map_.tokens.query_ids, query_);
    case Name::KeyId:
      return item(map_.tokens.key_ids, key_);
    case Name::QueryType:
      return item(map_.tokens.query_types, query_);
    case Name::KeyType:
      return item(map_.tokens.key_types, key_);
    case Name::QuerySegment:
      return item(map_.tokens.query_segments, query_);
    case Name::KeySegment:
      return item(map_.tokens.key_segments, key_);
    case Name::Score:
      break;
  }
  return score_;
}

/// Operations on one or two numbers of the same type.
double Evaluation::of_numbers(const ExpressionNode& node, double a, double b) const {
  const bool is_float = node.type == ValueType::Float;
  switch (node.operation) {
    case Operation::Negate:
      return is_float ? -a : wrapped(node.type, -whole(a));
    case Operation::Add:
      return is_float ? a + b : wrapped(node.type, whole(a) + whole(b));
    case Operation::Subtract:
      return is_float ? a - b : wrapped(node.type, whole(a) - whole(b));
    case Operation::Multiply:  // the low bits alone: the product of two uints is more than 64 bits with a sign hold
      return is_float ? a * b : wrapped(node.type, static_cast<std::int64_t>(std::uint64_t{bits_of(a)} * bits_of(b)));
    case Operation::Divide:
      return divide(node.type, a, b);
    case Operation::Modulo:
      return modulo(node.type, a, b);
    case Operation::Complement:
      return wrapped(node.type, ~whole(a));
    case Operation::ShiftLeft:
      return wrapped(node.type, std::int64_t{bits_of(a)} << (bits_of(b) & 31u));
    case Operation::ShiftRight:
      return wrapped(node.type, whole(a) >> (bits_of(b) & 31u));
    case Operation::BitAnd:
      return wrapped(node.type, whole(a) & whole(b));
    case Operation::BitOr:
      return wrapped(node.type, whole(a) | whole(b));
    case Operation::BitXor:
      return wrapped(node.type, whole(a) ^ whole(b));
    case Operation::Absolute:
      return is_float ? std::abs(a) : wrapped(node.type, std::abs(whole(a)));
    case Operation::Sign:
      return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : 0.0;
    case Operation::Smaller:
      return b < a ? b : a;
    case Operation::Larger:
      return a < b ? b : a;
    default:
      return 0.0;
  }
}

double Evaluation::value(const ExpressionNode& node) const {
  const double a = argument(node, 0), b = argument(node, 1);  // node 0 where the operation has fewer
  const auto truth = [](bool is_true) { return is_true ? 1.0 : 0.0; };
  switch (node.operation) {
    case Operation::Literal:
      return node.literal;
    case Operation::Name:
      return name(static_cast<Name>(node.index));
    case Operation::Slider:
      return static_cast<double>(value_of(tree_.sliders[node.index], sliders_));
    case Operation::Convert:
      return convert(node.type, tree_.nodes[node.arguments[0]].type, a);
    case Operation::Not:
      return truth(a == 0.0);
    case Operation::And:
      return truth(a != 0.0 && b != 0.0);
    case Operation::Or:
      return truth(a != 0.0 || b != 0.0);
    case Operation::Less:
      return truth(a < b);
    case Operation::LessEqual:
      return truth(a <= b);
    case Operation::Equal:
      return truth(a == b);
    case Operation::NotEqual:
      return truth(a != b);
    case Operation::Choose:
      return a != 0.0 ? b : argument(node, 2);
    case Operation::Floor:
      return std::floor(a);
    case Operation::Ceiling:
      return std::ceil(a);
    case Operation::Exp:
      return std::exp(std::clamp(a, kLeastExponent, kMostExponent));
    case Operation::Exp2:
      return std::exp2(std::clamp(a, kLeastExponent2, kMostExponent2));
    case Operation::Log:
      return std::log(std::max(a, kLeastLogarithm));
    case Operation::Log2:
      return std::log2(std::max(a, kLeastLogarithm));
    case Operation::SquareRoot:
      return std::sqrt(std::max(a, 0.0));
    case Operation::Power:
      return power(a, b);
    case Operation::Sine:
      return std::sin(std::clamp(a, -kMostAngle, kMostAngle));
    case Operation::Cosine:
      return std::cos(std::clamp(a, -kMostAngle, kMostAngle));
    case Operation::Tanh:
      return std::tanh(a);
    default:
      return of_numbers(node, a, b);
  }
}

}  // namespace

std::string to_string(const ExpressionError& error) { return fmt::format("column {}: {}", error.column, error.message); }

float value_of(const Slider& slider, const SliderValues& values) {
  const auto found = values.find(slider.name);
  const float value = found == values.end() ? slider.start : std::clamp(found->second, slider.from, slider.to);
  return std::abs(value) < std::numeric_limits<float>::min() ? 0.0f : value;  // as numbers in the text
}

bool ExpressionTree::uses(Name name) const {
  return std::ranges::any_of(nodes, [&](const ExpressionNode& node) {
    return node.operation == Operation::Name && node.index == static_cast<std::uint8_t>(name);
  });
}

std::span<const Slider> Expression::sliders() const {
  return tree_ ? std::span<const Slider>(tree_->sliders) : std::span<const Slider>();
}

ExpressionNeeds Expression::needs() const {
  if (!tree_) return {};
  return {.layer = tree_->uses(Name::Layer),
          .head = tree_->uses(Name::Head),
          .text_length = tree_->uses(Name::Queries) || tree_->uses(Name::Keys),
          .ids = tree_->uses(Name::QueryId) || tree_->uses(Name::KeyId),
          .types = tree_->uses(Name::QueryType) || tree_->uses(Name::KeyType),
          .segments = tree_->uses(Name::QuerySegment) || tree_->uses(Name::KeySegment)};
}

bool Expression::shows(const ExpressionMap& map, std::uint32_t query, std::uint32_t key, const SliderValues& values) const {
  return !tree_ || Evaluation(*tree_, map, values).result(query, key, 0.0) != 0.0;
}

double Expression::score(const ExpressionMap& map, std::uint32_t query, std::uint32_t key, double score,
                         const SliderValues& values) const {
  if (!tree_) return score;
  return std::clamp(Evaluation(*tree_, map, values).result(query, key, score), -kMostScore, kMostScore);
}

}  // namespace headlight::attention
