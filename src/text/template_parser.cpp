#include <algorithm>
#include <array>
#include <charconv>

#include "core/error.h"
#include "text/template_lexer.h"
#include "text/template_syntax.h"

namespace headlight::text {
namespace {

using Node = TemplateNode;

/// Operators from the loosest to the tightest. "not" and comparisons are at kComparisons.
constexpr std::array<std::array<std::string_view, 4>, 6> kOperators = {
    {{"or"}, {"and"}, {}, {"+", "-"}, {"~"}, {"*", "/", "//", "%"}}};
constexpr std::size_t kComparisons = 2;
constexpr std::array<std::string_view, 6> kCompare = {"==", "!=", "<", "<=", ">", ">="};
constexpr unsigned kDeepest = 200;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(split_template(source)) {}

  Node parse() {
    Node whole = block();
    if (now().kind != TemplateToken::Kind::End) fail(fmt::format("{{% {} %}} ends nothing", next_text()));
    return whole;
  }

 private:
  const TemplateToken& now() const { return tokens_[at_]; }
  const TemplateToken& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  std::string_view next_text() const { return ahead().text; }
  [[noreturn]] void fail(std::string_view reason) const { throw Error("line {}: {}", now().line, reason); }

  TemplateToken take() {
    TemplateToken token = now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(std::string_view word) const {
    return (now().kind == TemplateToken::Kind::Name || now().kind == TemplateToken::Kind::Sign) && now().text == word;
  }
  bool take_if(std::string_view word) {
    const bool found = is(word);
    if (found) take();
    return found;
  }
  void expect(std::string_view word) {
    if (!take_if(word)) fail(fmt::format("\"{}\" is missing", word));
  }
  std::string name() {
    if (now().kind != TemplateToken::Kind::Name) fail("a name is missing");
    return take().text;
  }
  void expect_kind(TemplateToken::Kind kind) {
    if (now().kind != kind) fail("the tag has more than it can have");
    take();
  }
  Node node(Node::Kind kind, std::string text = {}, std::vector<Node> parts = {}) const {
    Node made{.kind = kind, .text = std::move(text), .parts = {}, .value = {}, .line = now().line};
    for (Node& part : parts) add(made, std::move(part));
    return made;
  }
  void add(Node& parent, Node part) const {
    parent.depth = std::max(parent.depth, part.depth + 1);
    if (parent.depth > kDeepest) fail("the template is nested too deeply");
    parent.parts.push_back(std::move(part));
  }

  /// Keeps templates from overflowing the stack.
  struct Depth {
    explicit Depth(Parser& of) : parser(of) {
      if (++parser.depth_ > kDeepest) parser.fail("the template is nested too deeply");
    }
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Parser& parser;
  };

  /// Statements up to {% else %}, {% elif %} or the end of a block, which stay.
  Node block() {
    const Depth depth(*this);
    Node all = node(Node::Kind::Block);
    while (now().kind != TemplateToken::Kind::End) {
      if (now().kind == TemplateToken::Kind::Text) {
        all.parts.push_back(node(Node::Kind::Text, now().text));
        take();
      } else if (now().kind == TemplateToken::Kind::OutputBegin) {
        take();
        all.parts.push_back(node(Node::Kind::Output, {}, {expression()}));
        expect_kind(TemplateToken::Kind::OutputEnd);
      } else if (next_text().starts_with("end") || next_text() == "else" || next_text() == "elif") {
        return all;
      } else {
        take();
        all.parts.push_back(statement());
      }
    }
    return all;
  }

  void end_block() { expect_kind(TemplateToken::Kind::BlockEnd); }
  void end_tag(std::string_view word) {
    if (now().kind != TemplateToken::Kind::BlockBegin || next_text() != word)
      fail(fmt::format("{{% {} %}} is missing", word));
    take();
    take();
    end_block();
  }

  Node statement() {
    const std::string word = name();
    if (word == "if") return conditional();
    if (word == "for") return loop();
    if (word == "set") return assignment();
    if (word == "macro") return macro();
    if (word == "generation") {
      end_block();
      Node body = block();
      end_tag("endgeneration");
      return body;
    }
    if (word == "break" || word == "continue") {
      if (loops_ == 0) fail(fmt::format("{{% {} %}} is outside of a loop", word));
      end_block();
      return node(word == "break" ? Node::Kind::Break : Node::Kind::Continue);
    }
    fail(fmt::format("Headlight doesn't know the tag {{% {} %}}", word));
  }

  Node conditional() {
    const Depth depth(*this);
    Node result = node(Node::Kind::If, {}, {expression()});
    end_block();
    result.parts.push_back(block());
    if (now().kind == TemplateToken::Kind::BlockBegin && next_text() == "elif") {
      take();
      take();
      result.parts.push_back(conditional());
      return result;
    }
    result.parts.push_back(otherwise());
    end_tag("endif");
    return result;
  }

  Node otherwise() {
    if (now().kind != TemplateToken::Kind::BlockBegin || next_text() != "else") return node(Node::Kind::Block);
    take();
    take();
    end_block();
    return block();
  }

  /// Names between commas; parentheses around them change nothing.
  Node targets() {
    Node list = node(Node::Kind::List);
    const bool has_brackets = take_if("(");
    do {
      Node target = node(Node::Kind::Name, name());
      while (take_if(".")) target = node(Node::Kind::Attribute, name(), {std::move(target)});
      list.parts.push_back(std::move(target));
    } while (take_if(","));
    if (has_brackets) expect(")");
    return list;
  }

  Node loop() {
    Node result = node(Node::Kind::For, {}, {targets()});
    expect("in");
    result.parts.push_back(operation(0));
    Node condition = node(Node::Kind::Literal);
    condition.value = true;
    if (take_if("if")) condition = expression();
    result.parts.push_back(std::move(condition));
    if (is("recursive")) fail("Headlight doesn't know recursive loops");
    end_block();
    ++loops_;
    result.parts.push_back(block());
    --loops_;
    result.parts.push_back(otherwise());
    end_tag("endfor");
    return result;
  }

  Node assignment() {
    Node result = node(Node::Kind::Set, {}, {targets()});
    if (take_if("=")) {
      Node value = expression();
      if (is(",")) {
        value = node(Node::Kind::List, {}, {std::move(value)});
        while (take_if(",")) add(value, expression());
      }
      result.parts.push_back(std::move(value));
      end_block();
      return result;
    }
    end_block();
    result.parts.push_back(block());
    end_tag("endset");
    return result;
  }

  Node macro() {
    Node result = node(Node::Kind::Macro, name());
    Node parameters = node(Node::Kind::List);
    expect("(");
    while (!take_if(")")) {
      Node parameter = node(Node::Kind::Named, name());
      if (take_if("=")) parameter.parts.push_back(expression());
      parameters.parts.push_back(std::move(parameter));
      if (!is(")")) expect(",");
    }
    end_block();
    result.parts.push_back(std::move(parameters));
    result.parts.push_back(block());
    end_tag("endmacro");
    return result;
  }

  Node expression() {
    const Depth depth(*this);
    Node value = operation(0);
    while (take_if("if")) {
      Node choice = node(Node::Kind::Choice, {}, {operation(0), std::move(value)});
      add(choice, take_if("else") ? expression() : node(Node::Kind::Name, "undefined value"));
      value = std::move(choice);
    }
    return value;
  }

  Node operation(std::size_t row) {
    if (row == kComparisons) return negation();
    if (row == kOperators.size()) return unary();
    Node left = operation(row + 1);
    for (;;) {
      const auto found =
          std::ranges::find_if(kOperators[row], [&](std::string_view sign) { return !sign.empty() && is(sign); });
      if (found == kOperators[row].end()) return left;
      std::string sign = take().text;
      left = node(Node::Kind::Binary, std::move(sign), {std::move(left), operation(row + 1)});
    }
  }

  Node negation() {
    const Depth depth(*this);
    if (!take_if("not")) return comparison();
    return node(Node::Kind::Unary, "not", {negation()});
  }

  /// a < b == c is (a < b) and (b == c).
  Node comparison() {
    Node left = operation(kComparisons + 1);
    Node all = node(Node::Kind::Block);
    for (;;) {
      const bool is_negated = is("not") && next_text() == "in";
      if (is_negated) take();
      const bool compares = is("in") || std::ranges::find(kCompare, now().text) != kCompare.end();
      if (!compares || (now().kind != TemplateToken::Kind::Sign && !is("in"))) break;
      const std::string sign = take().text;
      Node right = operation(kComparisons + 1);
      Node one = node(Node::Kind::Binary, sign, {left, right});
      if (is_negated) one = node(Node::Kind::Unary, "not", {std::move(one)});
      all =
          all.kind == Node::Kind::Block ? std::move(one) : node(Node::Kind::Binary, "and", {std::move(all), std::move(one)});
      left = std::move(right);
    }
    return all.kind == Node::Kind::Block ? left : all;
  }

  Node unary() { return filtered(signed_value()); }

  Node signed_value() {
    const Depth depth(*this);
    for (const std::string_view sign : {"-", "+"}) {
      if (take_if(sign)) return node(Node::Kind::Unary, std::string(sign), {signed_value()});
    }
    return postfix(primary());
  }

  Node filtered(Node value) {
    for (;;) {
      if (take_if("|")) {
        value = node(Node::Kind::Filter, name(), {std::move(value)});
        if (!is_template_filter(value.text)) fail(fmt::format("Headlight doesn't know the filter \"{}\"", value.text));
        if (take_if("(")) arguments(value);
      } else if (is("is")) {
        take();
        const bool is_negated = take_if("not");
        Node test = node(Node::Kind::Test, name(), {std::move(value)});
        if (!is_template_test(test.text)) fail(fmt::format("Headlight doesn't know the test \"{}\"", test.text));
        if (take_if("(")) {
          arguments(test);
        } else if (begins_argument()) {
          add(test, postfix(primary()));
        }
        value = is_negated ? node(Node::Kind::Unary, "not", {std::move(test)}) : std::move(test);
      } else {
        return value;
      }
    }
  }

  /// Of a test without brackets, as in "x is equalto 3".
  bool begins_argument() const {
    const TemplateToken::Kind kind = now().kind;
    if (kind == TemplateToken::Kind::Number || kind == TemplateToken::Kind::String || is("[")) return true;
    constexpr std::array<std::string_view, 6> kWords = {"and", "or", "not", "if", "else", "is"};
    return kind == TemplateToken::Kind::Name && now().text != "in" && std::ranges::find(kWords, now().text) == kWords.end();
  }

  /// After "(", up to ")".
  void arguments(Node& call) {
    while (!take_if(")")) {
      if (now().kind == TemplateToken::Kind::Name && ahead().text == "=" && ahead().kind == TemplateToken::Kind::Sign) {
        Node named = node(Node::Kind::Named, name());
        take();
        add(named, expression());
        add(call, std::move(named));
      } else {
        add(call, expression());
      }
      if (!is(")")) expect(",");
    }
  }

  Node postfix(Node value) {
    for (;;) {
      if (take_if(".")) {
        value = node(Node::Kind::Attribute, now().kind == TemplateToken::Kind::Number ? take().text : name(),
                     {std::move(value)});
      } else if (take_if("(")) {
        value = node(Node::Kind::Call, {}, {std::move(value)});
        arguments(value);
      } else if (take_if("[")) {
        value = subscript(std::move(value));
      } else {
        return value;
      }
    }
  }

  Node subscript(Node value) {
    std::vector<Node> parts;
    Node none = node(Node::Kind::Literal);
    bool is_slice = false;
    parts.push_back(is(":") ? none : expression());
    while (take_if(":")) {
      is_slice = true;
      parts.push_back(is(":") || is("]") ? none : expression());
    }
    expect("]");
    if (!is_slice) return node(Node::Kind::Item, {}, {std::move(value), std::move(parts.front())});
    parts.resize(3, none);
    return node(Node::Kind::Slice, {}, {std::move(value), std::move(parts[0]), std::move(parts[1]), std::move(parts[2])});
  }

  Node primary() {
    const TemplateToken token = take();
    Node literal = node(Node::Kind::Literal);
    if (token.kind == TemplateToken::Kind::String) {
      std::string content = token.text;
      while (now().kind == TemplateToken::Kind::String) content += take().text;
      literal.value = std::move(content);
      return literal;
    }
    if (token.kind == TemplateToken::Kind::Number) return number(token, std::move(literal));
    if (token.kind == TemplateToken::Kind::Name) {
      const std::string& word = token.text;
      if (word == "true" || word == "True" || word == "false" || word == "False") {
        literal.value = word.front() == 't' || word.front() == 'T';
      } else if (word != "none" && word != "None") {
        return node(Node::Kind::Name, word);
      }
      return literal;
    }
    if (token.text == "(" && token.kind == TemplateToken::Kind::Sign) return bracket();
    if (token.text == "[" && token.kind == TemplateToken::Kind::Sign) return list();
    if (token.text == "{" && token.kind == TemplateToken::Kind::Sign) return dictionary();
    throw Error("line {}: an expression is missing", token.line);
  }

  Node number(const TemplateToken& token, Node literal) const {
    std::string digits = token.text;
    std::erase(digits, '_');
    const bool is_whole = digits.find('.') == std::string::npos;
    std::int64_t whole = 0;
    double real = 0.0;
    const char* end = digits.data() + digits.size();
    const auto result = is_whole ? std::from_chars(digits.data(), end, whole) : std::from_chars(digits.data(), end, real);
    if (result.ec != std::errc()) throw Error("line {}: the number {} is too large", token.line, digits);
    literal.value = is_whole ? nlohmann::ordered_json(whole) : nlohmann::ordered_json(real);
    return literal;
  }

  Node bracket() {
    Node value = node(Node::Kind::List);
    bool is_list = is(")");
    while (!take_if(")")) {
      add(value, expression());
      if (is(")")) continue;
      expect(",");
      is_list = true;
    }
    return is_list ? value : std::move(value.parts.front());
  }

  Node list() {
    Node value = node(Node::Kind::List);
    while (!take_if("]")) {
      add(value, expression());
      if (!is("]")) expect(",");
    }
    return value;
  }

  Node dictionary() {
    Node value = node(Node::Kind::Dict);
    while (!take_if("}")) {
      add(value, expression());
      expect(":");
      add(value, expression());
      if (!is("}")) expect(",");
    }
    return value;
  }

  std::vector<TemplateToken> tokens_;
  std::size_t at_ = 0;
  unsigned depth_ = 0, loops_ = 0;
};

}  // namespace

TemplateNode parse_template(std::string_view source) { return Parser(source).parse(); }

}  // namespace headlight::text
