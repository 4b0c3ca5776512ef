#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attention/expression_tree.h"

namespace headlight::attention {
namespace {

using Kind = ExpressionToken::Kind;

/// The operands that an operator takes: numbers of one type, whole numbers of one type, bools, or two of any type
/// alike.
enum class Takes : std::uint8_t { Numbers, Integers, Bools, Alike };

struct BinaryOperator {
  std::string_view sign;
  int precedence;  ///< larger binds tighter
  Operation operation;
  Takes takes;
  bool is_question = false;  ///< the result is a bool
  bool is_swapped = false;   ///< a > b is b < a
};
/// Precedences are those of the GLSL specification 4.50, section 5.1.
constexpr std::array kBinary{
    BinaryOperator{"||", 1, Operation::Or, Takes::Bools, true},
    BinaryOperator{"^^", 2, Operation::NotEqual, Takes::Bools, true},
    BinaryOperator{"&&", 3, Operation::And, Takes::Bools, true},
    BinaryOperator{"|", 4, Operation::BitOr, Takes::Integers},
    BinaryOperator{"^", 5, Operation::BitXor, Takes::Integers},
    BinaryOperator{"&", 6, Operation::BitAnd, Takes::Integers},
    BinaryOperator{"==", 7, Operation::Equal, Takes::Alike, true},
    BinaryOperator{"!=", 7, Operation::NotEqual, Takes::Alike, true},
    BinaryOperator{"<", 8, Operation::Less, Takes::Numbers, true},
    BinaryOperator{"<=", 8, Operation::LessEqual, Takes::Numbers, true},
    BinaryOperator{">", 8, Operation::Less, Takes::Numbers, true, true},
    BinaryOperator{">=", 8, Operation::LessEqual, Takes::Numbers, true, true},
    BinaryOperator{"<<", 9, Operation::ShiftLeft, Takes::Integers},
    BinaryOperator{">>", 9, Operation::ShiftRight, Takes::Integers},
    BinaryOperator{"+", 10, Operation::Add, Takes::Numbers},
    BinaryOperator{"-", 10, Operation::Subtract, Takes::Numbers},
    BinaryOperator{"*", 11, Operation::Multiply, Takes::Numbers},
    BinaryOperator{"/", 11, Operation::Divide, Takes::Numbers},
    BinaryOperator{"%", 11, Operation::Modulo, Takes::Integers},
};

/// A parsed part: its node, and where it begins in the text.
struct Part {
  std::uint16_t node = 0;
  std::uint32_t column = 1;
};

class Parser {
 public:
  Parser(std::string_view text, ExpressionUse use) : tokens_(expression_tokens(text)), use_(use) {}

  ExpressionTree tree() {
    const Part result = ternary();
    if (!is_end()) refuse(now(), quoted(now().text) + " isn't expected here: an operator or the end is");
    finish(result);
    return std::move(tree_);
  }

 private:
  /// Counts what is inside of what, so that no text exhausts the stack.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > Expression::kDeepest)
        refuse(parser_.now(), fmt::format("more than {} parts are inside of each other", Expression::kDeepest));
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] static void refuse(std::uint32_t column, std::string message) {
    throw ExpressionRefusal{{column, std::move(message)}};
  }
  [[noreturn]] static void refuse(const ExpressionToken& token, std::string message) {
    refuse(token.column, std::move(message));
  }

  const ExpressionToken& now() const { return tokens_[at_]; }
  bool is_end() const { return now().kind == Kind::End; }
  bool is_sign(std::string_view sign) const { return now().kind == Kind::Sign && now().text == sign; }
  bool take(std::string_view sign) {
    if (!is_sign(sign)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view sign, std::string_view why) {
    if (take(sign)) return;
    if (is_end()) refuse(now(), fmt::format("'{}' is missing at the end: {}", sign, why));
    refuse(now(), fmt::format("'{}' is expected before {}: {}", sign, quoted(now().text), why));
  }

  ValueType type(const Part& part) const { return tree_.nodes[part.node].type; }

  Part add(std::uint32_t column, const ExpressionNode& node) {
    if (tree_.nodes.size() == Expression::kMaxNodes)
      refuse(column, fmt::format("an expression has at most {} operations, names and numbers", Expression::kMaxNodes));
    tree_.nodes.push_back(node);
    return {static_cast<std::uint16_t>(tree_.nodes.size() - 1), column};
  }
  Part literal(std::uint32_t column, ValueType type, double value) {
    return add(column, {.operation = Operation::Literal, .type = type, .literal = value});
  }
  Part operation(std::uint32_t column, Operation operation, ValueType type, const Part& a, const Part& b = {},
                 const Part& c = {}) {
    return add(column, {.operation = operation, .type = type, .arguments = {a.node, b.node, c.node}});
  }
  Part converted(const Part& part, ValueType to) {
    return type(part) == to ? part : operation(part.column, Operation::Convert, to, part);
  }

  void need_number(const Part& part, std::string_view whose) const {
    if (type(part) == ValueType::Bool)
      refuse(part.column, fmt::format("{} needs a number, and this is a bool; float(…) makes it 0 or 1", whose));
  }
  void need_bool(const Part& part, std::string_view whose) const {
    if (type(part) != ValueType::Bool)
      refuse(part.column,
             fmt::format("{} needs a bool, and this is {}; compare it with something", whose, to_string(type(part))));
  }
  /// Numbers of two types become those of the one that holds more: int, uint, float, as GLSL converts them.
  void make_alike(Part& a, Part& b) {
    const ValueType both = std::max(type(a), type(b));
    a = converted(a, both);
    b = converted(b, both);
  }

  void finish(const Part& result) {
    if (use_ == ExpressionUse::Mask) {
      if (type(result) != ValueType::Bool)
        refuse(result.column,
               fmt::format("a mask needs a bool, and this is {}; compare it, as in k <= q", to_string(type(result))));
    } else {
      need_number(result, "a score");
    }
    const Part last = converted(result, use_ == ExpressionUse::Mask ? ValueType::Bool : ValueType::Float);
    if (last.node + 1u != tree_.nodes.size()) operation(last.column, Operation::Convert, type(last), last);
  }

  Part ternary() {
    const Level level(*this);
    Part condition = binary(1);
    if (!take("?")) return condition;
    need_bool(condition, "'?'");
    Part yes = ternary();
    expect(":", "a ? b : c needs both values");
    Part no = ternary();
    if ((type(yes) == ValueType::Bool) != (type(no) == ValueType::Bool))
      refuse(no.column, fmt::format("one value of '? :' is {}, the other {}", to_string(type(yes)), to_string(type(no))));
    make_alike(yes, no);
    return operation(condition.column, Operation::Choose, type(yes), condition, yes, no);
  }

  const BinaryOperator* binary_operator() const {
    if (now().kind != Kind::Sign) return nullptr;
    const auto found = std::ranges::find(kBinary, now().text, &BinaryOperator::sign);
    return found == kBinary.end() ? nullptr : &*found;
  }

  /// Operators of this precedence and of tighter ones, from left to right.
  Part binary(int least) {
    Part left = unary();
    for (const BinaryOperator* found = binary_operator(); found != nullptr && found->precedence >= least;
         found = binary_operator()) {
      ++at_;
      const Part right = binary(found->precedence + 1);
      left = join(*found, left, right);
    }
    return left;
  }

  Part join(const BinaryOperator& sign, Part left, Part right) {
    const std::string whose = fmt::format("'{}'", sign.sign);
    const std::uint32_t column = left.column;
    const bool are_bools = type(left) == ValueType::Bool && type(right) == ValueType::Bool;
    if (sign.takes == Takes::Bools) {
      need_bool(left, whose);
      need_bool(right, whose);
    } else if (!(sign.takes == Takes::Alike && are_bools)) {
      need_number(left, whose);
      need_number(right, whose);
    }
    if (sign.takes == Takes::Integers) {
      for (const Part& part : {left, right}) {
        if (type(part) != ValueType::Float) continue;
        const std::string_view advice = sign.sign == "%" ? "mod(a, b) takes floats" : "int(…) makes it one";
        refuse(part.column, fmt::format("{} needs whole numbers, and this is float; {}", whose, advice));
      }
    }
    make_alike(left, right);
    if (sign.is_swapped) std::swap(left, right);
    return operation(column, sign.operation, sign.is_question ? ValueType::Bool : type(left), left, right);
  }

  Part unary() {
    const Level level(*this);
    const std::uint32_t column = now().column;
    if (take("!")) {
      const Part operand = unary();
      need_bool(operand, "'!'");
      return operation(column, Operation::Not, ValueType::Bool, operand);
    }
    for (const std::string_view sign : {"-", "+", "~"}) {
      if (!take(sign)) continue;
      const Part operand = unary();
      need_number(operand, fmt::format("'{}'", sign));
      if (sign == "+") return {operand.node, column};
      if (sign == "-") return operation(column, Operation::Negate, type(operand), operand);
      if (type(operand) == ValueType::Float) refuse(operand.column, "'~' needs a whole number, and this is float");
      return operation(column, Operation::Complement, type(operand), operand);
    }
    return primary();
  }

  Part primary() {
    const ExpressionToken token = now();
    if (token.kind == Kind::End) refuse(token, at_ == 0 ? "there is nothing to compute" : "a value is missing at the end");
    ++at_;
    if (token.kind == Kind::Number) return literal(token.column, token.type, token.number);
    if (token.kind == Kind::Word) return word(token);
    if (token.text != "(") refuse(token, "a value is expected before " + quoted(token.text));
    Part inside = ternary();
    expect(")", "a parenthesis is open");
    inside.column = token.column;
    return inside;
  }

  Part word(const ExpressionToken& token) {
    const std::string_view text = token.text;
    if (text == "true" || text == "false") return literal(token.column, ValueType::Bool, text == "true" ? 1.0 : 0.0);
    if (text == "slider") return declare_slider(token);
    for (const ValueType to : {ValueType::Bool, ValueType::Int, ValueType::Uint, ValueType::Float}) {
      if (text == to_string(to)) return converted(arguments(token, 1).front(), to);
    }
    if (const ExpressionFunction* function = find_function(text)) return call(token, *function);
    const std::span<const ExpressionName> names = expression_names();
    if (const auto found = std::ranges::find(names, text, &ExpressionName::name); found != names.end()) {
      const auto name = static_cast<Name>(found - names.begin());
      if (name == Name::Score && use_ == ExpressionUse::Mask)
        refuse(token, "a mask can't depend on the score; q, k, head, layer and the tokens are known");
      return add(token.column, {.operation = Operation::Name,
                                .type = name == Name::Score ? ValueType::Float : ValueType::Int,
                                .index = static_cast<std::uint8_t>(name)});
    }
    if (const auto slider = std::ranges::find(tree_.sliders, text, &Slider::name); slider != tree_.sliders.end())
      return slider_value(token.column, static_cast<std::size_t>(slider - tree_.sliders.begin()));
    refuse_word(token);
  }

  [[noreturn]] void refuse_word(const ExpressionToken& token) const {
    static constexpr std::array<std::string_view, 12> kStatements = {
        "if", "else", "for", "while", "do", "return", "switch", "break", "const", "void", "discard", "struct"};
    if (std::ranges::find(kStatements, token.text) != kStatements.end())
      refuse(token, fmt::format("'{}' belongs to statements, but this is one expression; a ? b : c chooses", token.text));
    if (is_sign("("))
      refuse(token, fmt::format("there is no function {}; there are {}", quoted(token.text), function_list()));
    std::vector<std::string_view> names;
    for (const ExpressionName& name : expression_names()) names.push_back(name.name);
    if (use_ == ExpressionUse::Mask) names.pop_back();  // the score
    refuse(token, fmt::format("{} is unknown; there are {}", quoted(token.text), fmt::join(names, ", ")));
  }

  std::vector<Part> arguments(const ExpressionToken& name, std::uint32_t count) {
    expect("(", fmt::format("{} is a function of {} value{}", name.text, count, count == 1 ? "" : "s"));
    std::vector<Part> parts;
    do {
      if (parts.empty() && is_sign(")")) break;
      parts.push_back(ternary());
    } while (take(","));
    if (parts.size() != count)
      refuse(name, fmt::format("{} takes {} value{}, not {}", name.text, count, count == 1 ? "" : "s", parts.size()));
    expect(")", fmt::format("the parenthesis of {} is open", name.text));
    return parts;
  }

  Part call(const ExpressionToken& name, const ExpressionFunction& function) {
    std::vector<Part> parts = arguments(name, function.arguments);
    const std::uint32_t column = name.column;
    if (function.name == "mix" && type(parts[2]) == ValueType::Bool) {  // the bool chooses the second value
      need_number(parts[0], function.name);
      need_number(parts[1], function.name);
      make_alike(parts[0], parts[1]);
      return operation(column, Operation::Choose, type(parts[0]), parts[2], parts[1], parts[0]);
    }
    ValueType common = function.is_float_only ? ValueType::Float : ValueType::Int;
    for (const Part& part : parts) {
      need_number(part, function.name);
      common = std::max(common, type(part));
    }
    if (common == ValueType::Uint && function.arguments == 1) common = ValueType::Float;  // a uint has no sign
    for (Part& part : parts) part = converted(part, common);
    if (function.operation) {
      return operation(column, *function.operation, common, parts[0], parts.size() > 1 ? parts[1] : Part{});
    }
    if (function.name == "clamp") {
      const Part least = operation(column, Operation::Larger, common, parts[0], parts[1]);
      return operation(column, Operation::Smaller, common, least, parts[2]);
    }
    if (function.name == "round") {
      const Part shifted = operation(column, Operation::Add, common, parts[0], literal(column, common, 0.5));
      return operation(column, Operation::Floor, common, shifted);
    }
    if (function.name == "step") {
      const Part is_below = operation(column, Operation::Less, ValueType::Bool, parts[1], parts[0]);
      const Part zero = literal(column, common, 0.0);
      return operation(column, Operation::Choose, common, is_below, zero, literal(column, common, 1.0));
    }
    const Part rest = operation(column, Operation::Subtract, common, literal(column, common, 1.0), parts[2]);  // mix
    const Part first = operation(column, Operation::Multiply, common, parts[0], rest);
    return operation(column, Operation::Add, common, first,
                     operation(column, Operation::Multiply, common, parts[1], parts[2]));
  }

  Part slider_value(std::uint32_t column, std::size_t index) {
    return add(column,
               {.operation = Operation::Slider, .type = ValueType::Float, .index = static_cast<std::uint8_t>(index)});
  }

  float slider_number(std::string_view what) {
    const ExpressionToken first = now();
    const bool is_negative = take("-");
    if (now().kind != Kind::Number)
      refuse(first, fmt::format("{} of a slider is a number, as in slider(strength, 0, 2)", what));
    const double number = now().number;
    ++at_;
    return static_cast<float>(is_negative ? -number : number);
  }

  /// slider(name, from, to) or slider(name, from, to, start).
  Part declare_slider(const ExpressionToken& word) {
    expect("(", "a slider is slider(name, from, to)");
    const ExpressionToken name = now();
    if (name.kind != Kind::Word) refuse(name, "a slider needs a name first, as in slider(strength, 0, 2)");
    ++at_;
    Slider slider{.name = std::string(name.text)};
    const std::span<const ExpressionName> names = expression_names();
    if (std::ranges::find(names, name.text, &ExpressionName::name) != names.end() || find_function(name.text) != nullptr ||
        is_reserved(name.text))
      refuse(name, fmt::format("'{}' means something else; call the slider another name", name.text));
    if (name.text.size() > kLongestSliderName)
      refuse(name, fmt::format("a slider's name has at most {} letters", kLongestSliderName));
    expect(",", "a slider is slider(name, from, to)");
    const std::uint32_t limits = now().column;
    slider.from = slider_number("the least value");
    expect(",", "a slider is slider(name, from, to)");
    slider.to = slider_number("the largest value");
    if (!(slider.from < slider.to)) refuse(limits, "a slider goes from a smaller to a larger number");
    slider.start = slider.from / 2.0f + slider.to / 2.0f;
    if (const std::uint32_t column = now().column + 1; take(",")) {
      slider.start = slider_number("the start");
      if (!(slider.start >= slider.from && slider.start <= slider.to))
        refuse(column, "a slider starts between its least and its largest value");
    }
    expect(")", "the parenthesis of slider is open");
    const auto known = std::ranges::find(tree_.sliders, slider.name, &Slider::name);
    if (known != tree_.sliders.end() && *known != slider)
      refuse(name, fmt::format("the slider {} is declared twice with different numbers", quoted(name.text)));
    if (known == tree_.sliders.end()) {
      if (tree_.sliders.size() == Expression::kMaxSliders)
        refuse(word, fmt::format("an expression has at most {} sliders", Expression::kMaxSliders));
      tree_.sliders.push_back(slider);
    }
    const auto at = std::ranges::find(tree_.sliders, slider.name, &Slider::name);
    return slider_value(word.column, static_cast<std::size_t>(at - tree_.sliders.begin()));
  }

  static bool is_reserved(std::string_view word) {
    static constexpr std::array<std::string_view, 7> kReserved = {"slider", "true", "false", "bool", "int", "uint", "float"};
    return std::ranges::find(kReserved, word) != kReserved.end();
  }

  static constexpr std::size_t kLongestSliderName = 24;

  std::vector<ExpressionToken> tokens_;
  std::size_t at_ = 0, depth_ = 0;
  ExpressionUse use_;
  ExpressionTree tree_;
};

}  // namespace

std::variant<Expression, ExpressionError> parse_expression(std::string_view text, ExpressionUse use) {
  if (text.find_first_not_of(" \t\n") == std::string_view::npos) return Expression();
  if (text.size() > Expression::kLongest)
    return ExpressionError{static_cast<std::uint32_t>(Expression::kLongest + 1),
                           fmt::format("an expression has at most {} characters", Expression::kLongest)};
  try {
    Expression expression;
    expression.tree_ = std::make_shared<const ExpressionTree>(Parser(text, use).tree());
    expression.text_ = text;
    return expression;
  } catch (const ExpressionRefusal& refusal) {
    return refusal.error;
  }
}

}  // namespace headlight::attention
