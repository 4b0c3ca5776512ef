#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attention/expression.h"

namespace headlight::attention {

// What the parser makes of a text; the evaluator and the writer of GLSL walk it.

enum class ValueType : std::uint8_t { Bool, Int, Uint, Float };
/// "bool", "int", "uint", "float".
std::string_view to_string(ValueType type);

/// Names of the language, in the order of expression_names().
enum class Name : std::uint8_t {
  Query,
  Key,
  Layer,
  Head,
  Layers,
  Heads,
  Queries,
  Keys,
  QueryId,
  KeyId,
  QueryType,
  KeyType,
  QuerySegment,
  KeySegment,
  Score,
};
inline constexpr std::size_t kExpressionNames = 15;
/// "q", "k", "layer", …: as they are typed.
const std::array<std::string_view, kExpressionNames>& expression_names();

/// Where operands have several types the parser has converted them: both sides of an operation are of one type.
enum class Operation : std::uint8_t {
  Literal,
  Name,
  Slider,
  Convert,  ///< to the node's type
  Negate,
  Not,         ///< of a bool
  Complement,  ///< of the bits
  Add,
  Subtract,
  Multiply,
  Divide,
  Modulo,
  ShiftLeft,
  ShiftRight,
  BitAnd,
  BitOr,
  BitXor,
  And,
  Or,
  Less,
  LessEqual,
  Equal,
  NotEqual,
  Choose,  ///< a ? b : c
  Absolute,
  Sign,
  Smaller,
  Larger,
  Floor,
  Ceiling,
  Exp,
  Exp2,
  Log,
  Log2,
  SquareRoot,
  Power,
  Sine,
  Cosine,
  Tanh,
};

/// One operation. Its arguments come before it in the tree.
struct ExpressionNode {
  Operation operation = Operation::Literal;
  ValueType type = ValueType::Float;
  std::array<std::uint16_t, 3> arguments = {};  ///< indices of nodes, as many as the operation has
  double literal = 0.0;
  std::uint8_t index = 0;  ///< of a Name or of a slider
};

struct ExpressionTree {
  std::vector<ExpressionNode> nodes;  ///< the last one is the result
  std::vector<Slider> sliders;

  bool uses(Name name) const;
};

/// A function of the language.
struct ExpressionFunction {
  std::string_view name;
  std::uint32_t arguments = 1;
  /// Of which types its arguments are converted to: Float alone, or the common number type of what they are.
  bool is_float_only = true;
  std::optional<Operation> operation = {};  ///< none: the parser makes it of others
};
const ExpressionFunction* find_function(std::string_view name);
/// "abs, ceil, clamp, …": for messages.
std::string function_list();

/// The limits of a float32 that exp and pow stay within: ln and log2 of its largest and smallest normal numbers.
inline constexpr double kLeastExponent = -87.0, kMostExponent = 88.0, kLeastExponent2 = -126.0, kMostExponent2 = 127.0;
inline constexpr double kMostAngle = 1048576.0;     ///< sin and cos beyond are those of this; in lib/sine.glsl, too
inline constexpr double kLeastLogarithm = 1.2e-38;  ///< what log(0) is the logarithm of
inline constexpr double kMostScore = 1e30;

}  // namespace headlight::attention
