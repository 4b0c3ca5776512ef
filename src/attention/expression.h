#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headlight::attention {

/// The use of an expression: a mask's is a bool (may the query see the key?), a score's is a number that replaces it.
enum class ExpressionUse : std::uint8_t { Mask, Score };

/// The reason why a text can't be accepted, and its place.
struct ExpressionError {
  std::uint32_t column = 1;  ///< of the first character in question, counted from 1
  std::string message;       ///< one printable line without the column
};
/// Returns "column 3: 'sore' is unknown; …".
std::string to_string(const ExpressionError& error);

/// A number that the user changes while looking: declared in the text as slider(name, from, to) or
/// slider(name, from, to, start).
struct Slider {
  std::string name;
  float from = 0.0f, to = 1.0f;
  float start = 0.5f;  ///< its value until it is changed; the middle where the text doesn't say

  bool operator==(const Slider&) const = default;
};
/// Values of sliders by name; a slider that isn't listed has its start value.
using SliderValues = std::map<std::string, float, std::less<>>;
float value_of(const Slider& slider, const SliderValues& values);

/// The properties of tokens that expressions read, [query] and [key]: ids, token types, and which document of its line
/// a token belongs to. An empty list stands for zeros.
struct ExpressionTokens {
  std::span<const std::uint32_t> query_ids = {}, key_ids = {};
  std::span<const std::uint32_t> query_types = {}, key_types = {};
  std::span<const std::uint32_t> query_segments = {}, key_segments = {};
};

/// The values that an expression's names stand for in one map of a batch item, beside the cell and its score.
struct ExpressionMap {
  std::uint32_t layer = 0, layers = 1, head = 0, heads = 1, queries = 0, keys = 0;
  ExpressionTokens tokens = {};
};

/// The values that an expression reads beside the cell and its score.
struct ExpressionNeeds {
  bool layer = false, head = false;
  bool text_length = false;  ///< n_q or n_k
  bool ids = false, types = false, segments = false;
};

struct ExpressionTree;

/// A formula of GLSL that the user typed: an expression over int, uint, float and bool without assignments, loops, arrays
/// and user-defined functions. So each value is computed in a bounded number of steps, and no text can do anything but
/// compute it. An immutable value; copies share what was parsed.
///
/// Results that GLSL leaves undefined are defined here: dividing by 0 gives 0; a % b and mod(a, b) have the sign of b;
/// integers wrap; shifts count modulo 32; sqrt and pow of negative numbers are those of 0, log those of 1.2e-38; exp
/// and pow stay within float32; sin and cos of numbers beyond ±1,048,576 are those of that number; numbers in the text
/// and of sliders below 1.2e-38, which a device may take for 0, are 0.
class Expression {
 public:
  static constexpr std::size_t kLongest = 1000;  ///< characters
  static constexpr std::size_t kMaxNodes = 256;  ///< operations, names and numbers
  static constexpr std::size_t kDeepest = 100;   ///< parentheses, calls and operators inside of each other
  static constexpr std::size_t kMaxSliders = 8;

  /// None: a mask that hides nothing, a score that stays what it is.
  Expression() = default;

  explicit operator bool() const { return tree_ != nullptr; }
  const std::string& text() const { return text_; }
  std::span<const Slider> sliders() const;
  ExpressionNeeds needs() const;

  /// A mask: does the query see the key? True without an expression. In double precision.
  bool shows(const ExpressionMap& map, std::uint32_t query, std::uint32_t key, const SliderValues& values) const;
  /// A score: what becomes of it, between −1e30 and 1e30. `score` without an expression.
  double score(const ExpressionMap& map, std::uint32_t query, std::uint32_t key, double score,
               const SliderValues& values) const;

  /// Equal texts are equal expressions.
  bool operator==(const Expression& other) const { return text_ == other.text_; }

 private:
  friend std::variant<Expression, ExpressionError> parse_expression(std::string_view, ExpressionUse);
  friend class ExpressionWriter;

  std::string text_;
  std::shared_ptr<const ExpressionTree> tree_;
};

/// A text of blanks alone is no expression. Accepts ASCII only, at most kLongest characters.
std::variant<Expression, ExpressionError> parse_expression(std::string_view text, ExpressionUse use);

/// An expression of the literature, to begin with.
struct ExpressionPreset {
  std::string_view name;  ///< "ALiBi"
  ExpressionUse use = ExpressionUse::Mask;
  std::string_view text;
  std::string_view help;          ///< one sentence: what it does, and whose it is
  bool needs_later_keys = false;  ///< it says by itself which later keys a query sees, so that the causal rule is in its way
};

std::span<const ExpressionPreset> expression_presets();

}  // namespace headlight::attention
