#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/budget.h"

namespace headlight::text {

/// A part of a parsed chat template, in the subset of Jinja that such templates use.
struct TemplateNode {
  enum class Kind : unsigned char {
    // Statements.
    Block,  ///< parts in their order
    Text,   ///< `text`
    Output,
    If,         ///< condition, block, block otherwise
    For,        ///< targets, list, condition or an empty block, block, block where the list is empty
    Set,        ///< target, value or block
    With,       ///< targets and values in turn, then a block
    Filtered,   ///< value with filters of the name that follows, and the block that this name has the text of
    Macro,      ///< `text`: its name; parameters, block, which of varargs, kwargs and caller the block names
    CallBlock,  ///< a call, and the macro that is its caller
    Break,
    Continue,
    Unknown,  ///< `text`: a tag that only Jinja knows
    // Expressions.
    Literal,  ///< `value`
    Name,     ///< `text`
    List,
    Tuple,
    Dict,       ///< keys and values in turn
    Attribute,  ///< `text` of parts[0]
    Item,       ///< parts[1] of parts[0]
    Slice,      ///< of parts[0]: begin, end, step
    Call,       ///< parts[0] with arguments
    Filter,     ///< `text` of parts[0] with arguments
    Test,       ///< a test `text` of parts[0] with arguments
    Named,      ///< an argument or a parameter `text` and its value
    Unary,      ///< `text`: not, -, +
    Binary,     ///< `text`: and, or, ~, …
    Compare,    ///< a value, and Named ones: a sign and the value that is compared by it with the one before
    Choice,     ///< condition, value, other value
  };
  Kind kind = Kind::Block;
  std::string text = {};
  std::vector<TemplateNode> parts = {};
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string> value = nullptr;
  std::size_t line = 1;
  unsigned depth = 0;  ///< of the expressions inside of it
};

/// Parses a template as transformers sets Jinja up: trim_blocks, lstrip_blocks, loop controls, {% generation %} without
/// effect. Throws Error "line N: …" for what has no form. Filters, tests and tags of unknown names are errors of the run
/// that comes to them.
TemplateNode parse_template(std::string_view source, Budget& budget);

/// A token of a template: text between tags, or a word, number, string or sign inside of one.
struct TemplateToken {
  enum class Kind : unsigned char { Text, BlockBegin, BlockEnd, OutputBegin, OutputEnd, Name, Number, String, Sign, End };
  Kind kind = Kind::End;
  std::string text = {};  ///< of a string its content
  std::size_t line = 1;
};

/// The tokens of a template, comments left out and white space removed as tags and trim_blocks, lstrip_blocks say; the last
/// is End. Throws Error "line N: …".
std::vector<TemplateToken> split_template(std::string_view source);

/// Reads the expressions of a template, token by token.
class TemplateExpressions {
 public:
  using Node = TemplateNode;
  using Kind = TemplateNode::Kind;

  TemplateExpressions(std::string_view source, Budget& budget) : tokens_(split_template(source)), budget_(budget) {}

 protected:
  /// Keeps templates from overflowing the stack.
  struct Depth {
    explicit Depth(TemplateExpressions& of);
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    TemplateExpressions& parser;
  };

  const TemplateToken& now() const { return tokens_[at_]; }
  const TemplateToken& ahead() const;
  std::string_view next_text() const { return ahead().text; }
  [[noreturn]] void fail(std::string_view reason) const;
  TemplateToken take();
  bool is(std::string_view word) const;
  bool take_if(std::string_view word);
  void expect(std::string_view word);
  std::string name();
  template <typename... Parts>
  Node node(Kind kind, std::string text = {}, Parts&&... parts) const {
    budget_.spend(Budget::kNode);
    Node made{.kind = kind, .text = std::move(text), .line = now().line};
    (add(made, std::forward<Parts>(parts)), ...);
    return made;
  }
  void add(Node& parent, Node part) const;

  Node expression();
  /// Parses operators that bind tighter than the rows before this one; 0: all but "a if b else c".
  Node operation(std::size_t row);
  Node postfix(Node value);
  Node primary();
  /// Filters and tests that follow a value; the first without its sign where it begins with a filter.
  Node filtered(Node value, bool begins_with_filter = false);
  /// Expressions between commas up to the sign that ends them, a tuple where there is any comma.
  Node tuple(Node first);

  std::vector<std::string> specials_;  ///< of varargs, kwargs and caller those that were read, in their order

 private:
  Node negation();
  Node comparison();
  Node signed_value();
  bool begins_argument() const;
  void arguments(Node& call);
  Node subscript(Node value);
  Node number(const TemplateToken& token) const;
  Node bracket();
  Node all_until(Kind kind, std::string_view end);

  std::vector<TemplateToken> tokens_;
  Budget& budget_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
};

}  // namespace headlight::text
