#pragma once

#include "text/template_lexer.h"
#include "text/template_syntax.h"

namespace headlight::text {

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
