#include <algorithm>

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

}  // namespace headlight::attention
