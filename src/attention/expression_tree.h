#pragma once

#include <array>

#include "attention/expression.h"

namespace headlight::attention {

// The parser makes this tree from a text; the evaluator and the writer of GLSL walk it.

enum class ValueType : std::uint8_t { Bool, Int, Uint, Float };
/// Returns "bool", "int", "uint" or "float".
std::string_view to_string(ValueType type);

/// A word, number or sign of an expression.
struct ExpressionToken {
  enum class Kind : std::uint8_t { Word, Number, Sign, End };
  Kind kind = Kind::End;
  std::string_view text;            ///< as typed; of the end: empty
  std::uint32_t column = 1;         ///< from 1
  ValueType type = ValueType::Int;  ///< of a number
  double number = 0.0;
};

/// Thrown by the parser's functions and caught by parse_expression().
struct ExpressionRefusal {
  ExpressionError error;
};

/// A word of the text for a message, in quotation marks; of a long one the middle becomes "…".
std::string quoted(std::string_view word);

/// The tokens of a text, the end included. Throws ExpressionRefusal at what isn't one. Views are of `text`.
std::vector<ExpressionToken> expression_tokens(std::string_view text);

/// Names of the language.
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
struct ExpressionCell {
  const ExpressionMap& map;
  std::uint32_t query = 0, key = 0;
  double score = 0.0;
};
struct ExpressionName {
  std::string_view name;  ///< "q", "k", "layer", …: as it is typed
  std::string_view glsl;
  double (*value)(const ExpressionCell& cell) = nullptr;
};
/// [Name]
std::span<const ExpressionName> expression_names();

/// The operations of nodes. The parser has converted operands of several types: both sides of an operation have one
/// type.
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

/// Numbers of one type; integers and bools are whole numbers in a double, which holds all 32 bits of them.
struct Operands {
  ValueType type = ValueType::Float;  ///< of the result
  double a = 0.0, b = 0.0, c = 0.0;
};
struct OperationForm {
  std::string_view glsl;  ///< with a, b and c for its arguments
  double (*value)(const Operands& of) = nullptr;
};
/// Returns the form of an operation from Negate on.
const OperationForm& form_of(Operation operation);
double convert(ValueType to, ValueType from, double value);

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
  /// The type that the arguments are converted to: true for Float, false for their common number type.
  bool is_float_only = true;
  std::optional<Operation> operation = {};  ///< none: the parser makes it of others
};
const ExpressionFunction* find_function(std::string_view name);
/// Returns "abs, ceil, clamp, …" for messages.
std::string function_list();

inline constexpr double kMaxScore = 1e30;

}  // namespace headlight::attention
