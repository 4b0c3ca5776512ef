#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "attention/expression_tree.h"

namespace headlight::attention {

namespace {

constexpr ExpressionFunction of_floats(std::string_view name, Operation operation, std::uint32_t arguments = 1) {
  return {.name = name, .arguments = arguments, .operation = operation};
}
constexpr ExpressionFunction of_numbers(std::string_view name, std::uint32_t arguments, std::optional<Operation> operation) {
  return {.name = name, .arguments = arguments, .is_float_only = false, .operation = operation};
}

/// The functions of the language, sorted by name.
constexpr std::array kFunctions{of_numbers("abs", 1, Operation::Absolute),
                                of_floats("ceil", Operation::Ceiling),
                                of_numbers("clamp", 3, std::nullopt),
                                of_floats("cos", Operation::Cosine),
                                of_floats("exp", Operation::Exp),
                                of_floats("exp2", Operation::Exp2),
                                of_floats("floor", Operation::Floor),
                                of_floats("log", Operation::Log),
                                of_floats("log2", Operation::Log2),
                                of_numbers("max", 2, Operation::Larger),
                                of_numbers("min", 2, Operation::Smaller),
                                ExpressionFunction{.name = "mix", .arguments = 3},
                                of_floats("mod", Operation::Modulo, 2),
                                of_floats("pow", Operation::Power, 2),
                                ExpressionFunction{.name = "round"},
                                of_numbers("sign", 1, Operation::Sign),
                                of_floats("sin", Operation::Sine),
                                of_floats("sqrt", Operation::SquareRoot),
                                ExpressionFunction{.name = "step", .arguments = 2},
                                of_floats("tanh", Operation::Tanh)};

}  // namespace

std::string_view to_string(ValueType type) {
  static constexpr std::array<std::string_view, 4> kTypes{"bool", "int", "uint", "float"};
  return kTypes.at(static_cast<std::size_t>(type));
}

const ExpressionFunction* find_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &ExpressionFunction::name);
  return found == kFunctions.end() ? nullptr : &*found;
}

std::string function_list() {
  std::string list;
  for (const ExpressionFunction& function : kFunctions) {
    if (!list.empty()) list += ", ";
    list += function.name;
  }
  return list;
}

namespace {

// Within what a float32 holds: exp and pow, by ln and log2 of its largest and smallest normal numbers; what log(0) is the
// logarithm of; and sin and cos beyond kMaxAngle are those of it, in lib/sine.glsl, too.
constexpr double kMinExponent = -87.0, kMaxExponent = 88.0, kMinExponent2 = -126.0, kMaxExponent2 = 127.0;
constexpr double kMinLogarithm = 1.2e-38, kMaxAngle = 1048576.0;

/// Returns the value that the low 32 bits hold.
double wrapped(ValueType type, std::int64_t value) {
  const auto bits = static_cast<std::uint32_t>(value);
  return type == ValueType::Uint ? static_cast<double>(bits) : static_cast<double>(static_cast<std::int32_t>(bits));
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }
std::uint32_t bits_of(double value) { return static_cast<std::uint32_t>(whole(value)); }
double truth(bool is_true) { return is_true ? 1.0 : 0.0; }

double item(std::span<const std::uint32_t> of_tokens, std::uint32_t token) {
  return token < of_tokens.size() ? wrapped(ValueType::Int, of_tokens[token]) : 0.0;
}

/// `of_floats` and `of_integers` take a and b.
template <typename Floats, typename Integers>
double joined(const Operands& of, Floats of_floats, Integers of_integers) {
  return of.type == ValueType::Float ? of_floats(of.a, of.b) : wrapped(of.type, of_integers(whole(of.a), whole(of.b)));
}
template <typename Join>
double joined(const Operands& of, Join join) {
  return joined(of, join, join);
}

double multiply(const Operands& of) {  // the low bits alone: the product of two uints is more than 64 bits with a sign hold
  if (of.type == ValueType::Float) return of.a * of.b;
  return wrapped(of.type, static_cast<std::int64_t>(std::uint64_t{bits_of(of.a)} * bits_of(of.b)));
}

double modulo(const Operands& of) {
  if (of.b == 0.0) return 0.0;
  if (of.type == ValueType::Float) return of.a - of.b * std::floor(of.a / of.b);
  const std::int64_t divisor = whole(of.b), rest = whole(of.a) % divisor;
  return static_cast<double>(rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest);
}

double power(const Operands& of) {
  if (!(of.a > 0.0)) return of.b == 0.0 ? 1.0 : 0.0;
  return std::exp2(std::clamp(of.b * std::log2(of.a), kMinExponent2, kMaxExponent2));
}

double bounded_angle(double angle) { return std::clamp(angle, -kMaxAngle, kMaxAngle); }

constexpr std::array kOperationForms{
    OperationForm{"-a", [](const Operands& o) { return joined(o, [](auto a, auto) { return -a; }); }},
    OperationForm{"!a", [](const Operands& o) { return truth(o.a == 0.0); }},
    OperationForm{"~a", [](const Operands& o) { return wrapped(o.type, ~whole(o.a)); }},
    OperationForm{"a + b", [](const Operands& o) { return joined(o, std::plus()); }},
    OperationForm{"a - b", [](const Operands& o) { return joined(o, std::minus()); }},
    OperationForm{"a * b", multiply},
    OperationForm{"expression_divide(a, b)", [](const Operands& o) { return o.b == 0.0 ? 0.0 : joined(o, std::divides()); }},
    OperationForm{"expression_modulo(a, b)", modulo},
    OperationForm{"a << (int(b) & 31)",
                  [](const Operands& o) { return wrapped(o.type, std::int64_t{bits_of(o.a)} << (bits_of(o.b) & 31u)); }},
    OperationForm{"a >> (int(b) & 31)",
                  [](const Operands& o) { return wrapped(o.type, whole(o.a) >> (bits_of(o.b) & 31u)); }},
    OperationForm{"a & b", [](const Operands& o) { return wrapped(o.type, whole(o.a) & whole(o.b)); }},
    OperationForm{"a | b", [](const Operands& o) { return wrapped(o.type, whole(o.a) | whole(o.b)); }},
    OperationForm{"a ^ b", [](const Operands& o) { return wrapped(o.type, whole(o.a) ^ whole(o.b)); }},
    OperationForm{"a && b", [](const Operands& o) { return truth(o.a != 0.0 && o.b != 0.0); }},
    OperationForm{"a || b", [](const Operands& o) { return truth(o.a != 0.0 || o.b != 0.0); }},
    OperationForm{"a < b", [](const Operands& o) { return truth(o.a < o.b); }},
    OperationForm{"a <= b", [](const Operands& o) { return truth(o.a <= o.b); }},
    OperationForm{"a == b", [](const Operands& o) { return truth(o.a == o.b); }},
    OperationForm{"a != b", [](const Operands& o) { return truth(o.a != o.b); }},
    OperationForm{"a ? b : c", [](const Operands& o) { return o.a != 0.0 ? o.b : o.c; }},
    OperationForm{"abs(a)", [](const Operands& o) { return joined(o, [](auto a, auto) { return std::abs(a); }); }},
    OperationForm{"sign(a)", [](const Operands& o) { return truth(o.a > 0.0) - truth(o.a < 0.0); }},
    OperationForm{"min(a, b)", [](const Operands& o) { return o.b < o.a ? o.b : o.a; }},
    OperationForm{"max(a, b)", [](const Operands& o) { return o.a < o.b ? o.b : o.a; }},
    OperationForm{"floor(a)", [](const Operands& o) { return std::floor(o.a); }},
    OperationForm{"ceil(a)", [](const Operands& o) { return std::ceil(o.a); }},
    OperationForm{"expression_exp(a)",
                  [](const Operands& o) { return std::exp(std::clamp(o.a, kMinExponent, kMaxExponent)); }},
    OperationForm{"expression_exp2(a)",
                  [](const Operands& o) { return std::exp2(std::clamp(o.a, kMinExponent2, kMaxExponent2)); }},
    OperationForm{"expression_log(a)", [](const Operands& o) { return std::log(std::max(o.a, kMinLogarithm)); }},
    OperationForm{"expression_log2(a)", [](const Operands& o) { return std::log2(std::max(o.a, kMinLogarithm)); }},
    OperationForm{"sqrt(max(a, 0.0))", [](const Operands& o) { return std::sqrt(std::max(o.a, 0.0)); }},
    OperationForm{"expression_power(a, b)", power},
    OperationForm{"exact_sin(a)", [](const Operands& o) { return std::sin(bounded_angle(o.a)); }},
    OperationForm{"exact_cos(a)", [](const Operands& o) { return std::cos(bounded_angle(o.a)); }},
    OperationForm{"safe_tanh(a)", [](const Operands& o) { return std::tanh(o.a); }},
};

// MASK_WORDS as append_expression_words() writes them.
constexpr std::array kExpressionNames{
    ExpressionName{"q", "int(query)", [](const ExpressionCell& at) { return static_cast<double>(at.query); }},
    ExpressionName{"k", "int(key)", [](const ExpressionCell& at) { return static_cast<double>(at.key); }},
    ExpressionName{"layer", "int(MASK_WORDS(at + 0u))",
                   [](const ExpressionCell& at) { return static_cast<double>(at.map.layer); }},
    ExpressionName{"head", "int(head)", [](const ExpressionCell& at) { return static_cast<double>(at.map.head); }},
    ExpressionName{"n_layers", "int(MASK_WORDS(at + 1u))",
                   [](const ExpressionCell& at) { return static_cast<double>(at.map.layers); }},
    ExpressionName{"n_heads", "int(MASK_WORDS(at + 2u))",
                   [](const ExpressionCell& at) { return static_cast<double>(at.map.heads); }},
    ExpressionName{"n_q", "int(MASK_WORDS(at + 3u))",
                   [](const ExpressionCell& at) { return static_cast<double>(at.map.queries); }},
    ExpressionName{"n_k", "int(MASK_WORDS(at + 4u))",
                   [](const ExpressionCell& at) { return static_cast<double>(at.map.keys); }},
    ExpressionName{"id_q", "expression_token(at, 5u, 3u, item, query)",
                   [](const ExpressionCell& at) { return item(at.map.tokens.query_ids, at.query); }},
    ExpressionName{"id_k", "expression_token(at, 6u, 4u, item, key)",
                   [](const ExpressionCell& at) { return item(at.map.tokens.key_ids, at.key); }},
    ExpressionName{"type_q", "expression_token(at, 7u, 3u, item, query)",
                   [](const ExpressionCell& at) { return item(at.map.tokens.query_types, at.query); }},
    ExpressionName{"type_k", "expression_token(at, 8u, 4u, item, key)",
                   [](const ExpressionCell& at) { return item(at.map.tokens.key_types, at.key); }},
    ExpressionName{"segment_q", "expression_token(at, 9u, 3u, item, query)",
                   [](const ExpressionCell& at) { return item(at.map.tokens.query_segments, at.query); }},
    ExpressionName{"segment_k", "expression_token(at, 10u, 4u, item, key)",
                   [](const ExpressionCell& at) { return item(at.map.tokens.key_segments, at.key); }},
    ExpressionName{"score", "score", [](const ExpressionCell& at) { return at.score; }},
};

constexpr auto kFirstForm = static_cast<std::size_t>(Operation::Negate);
static_assert(kOperationForms.size() == static_cast<std::size_t>(Operation::Tanh) + 1 - kFirstForm);
static_assert(kExpressionNames.size() == static_cast<std::size_t>(Name::Score) + 1);

}  // namespace

std::span<const ExpressionName> expression_names() { return kExpressionNames; }

const OperationForm& form_of(Operation operation) {
  return kOperationForms.at(static_cast<std::size_t>(operation) - kFirstForm);
}

double convert(ValueType to, ValueType from, double value) {
  if (to == ValueType::Bool) return truth(value != 0.0);
  if (to == ValueType::Float) return value;
  if (from != ValueType::Float) return wrapped(to, whole(value));
  // The largest numbers of a float32 below 2³¹ and 2³².
  const double least = to == ValueType::Int ? -2147483520.0 : 0.0, most = to == ValueType::Int ? 2147483520.0 : 4294967040.0;
  return std::isnan(value) ? 0.0 : std::trunc(std::clamp(value, least, most));
}

}  // namespace headlight::attention
