#include "text/template_syntax.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace headlight::text {
namespace {

/// Operators from the loosest to the tightest. "not" and comparisons are at kComparisons.
constexpr std::array<std::array<std::string_view, 4>, 6> kOperators = {
    {{"or"}, {"and"}, {}, {"+", "-"}, {"~"}, {"*", "/", "//", "%"}}};
constexpr std::size_t kComparisons = 2;
constexpr std::array<std::string_view, 7> kCompare = {"==", "!=", "<", "<=", ">", ">=", "in"};
constexpr std::array<std::string_view, 3> kSpecials = {"varargs", "kwargs", "caller"};
constexpr unsigned kDeepest = 200;

using TokenKind = TemplateToken::Kind;

}  // namespace

using Node = TemplateNode;

TemplateExpressions::Depth::Depth(TemplateExpressions& of) : parser(of) {
  if (++parser.depth_ > kDeepest) parser.fail("the template is nested too deeply");
}

const TemplateToken& TemplateExpressions::ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }

void TemplateExpressions::fail(std::string_view reason) const { throw Error("line {}: {}", now().line, reason); }

TemplateToken TemplateExpressions::take() {
  TemplateToken token = now();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TemplateExpressions::is(std::string_view word) const {
  return (now().kind == TokenKind::Name || now().kind == TokenKind::Sign) && now().text == word;
}

bool TemplateExpressions::take_if(std::string_view word) {
  const bool found = is(word);
  if (found) take();
  return found;
}

void TemplateExpressions::expect(std::string_view word) {
  if (!take_if(word)) fail(fmt::format("\"{}\" is missing", word));
}

std::string TemplateExpressions::name() {
  if (now().kind != TokenKind::Name) fail("a name is missing");
  return take().text;
}

void TemplateExpressions::add(Node& parent, Node part) const {
  parent.depth = std::max(parent.depth, part.depth + 1);
  if (parent.depth > kDeepest) fail("the template is nested too deeply");
  parent.parts.push_back(std::move(part));
}

Node TemplateExpressions::expression() {
  const Depth depth(*this);
  Node value = operation(0);
  while (take_if("if")) {
    Node choice = node(Kind::Choice, {}, operation(0), std::move(value));
    add(choice, take_if("else") ? expression() : node(Kind::Name, "undefined value"));
    value = std::move(choice);
  }
  return value;
}

Node TemplateExpressions::operation(std::size_t row) {
  if (row == kComparisons) return negation();
  if (row == kOperators.size()) return filtered(signed_value());
  Node left = operation(row + 1);
  for (;;) {
    const auto found =
        std::ranges::find_if(kOperators[row], [&](std::string_view sign) { return !sign.empty() && is(sign); });
    if (found == kOperators[row].end()) return left;
    std::string sign = take().text;
    left = node(Kind::Binary, std::move(sign), std::move(left), operation(row + 1));
  }
}

Node TemplateExpressions::negation() {
  const Depth depth(*this);
  if (!take_if("not")) return comparison();
  return node(Kind::Unary, "not", negation());
}

Node TemplateExpressions::comparison() {
  Node all = node(Kind::Compare, {}, operation(kComparisons + 1));
  for (;;) {
    const bool is_negated = is("not") && next_text() == "in";
    if (!is_negated && std::ranges::none_of(kCompare, [&](std::string_view sign) { return is(sign); })) break;
    if (is_negated) take();
    std::string sign = (is_negated ? "not " : "") + take().text;
    add(all, node(Kind::Named, std::move(sign), operation(kComparisons + 1)));
  }
  if (all.parts.size() > 1) return all;
  Node only = std::move(all.parts.front());
  return only;
}

Node TemplateExpressions::signed_value() {
  const Depth depth(*this);
  for (const std::string_view sign : {"-", "+"}) {
    if (take_if(sign)) return node(Kind::Unary, std::string(sign), signed_value());
  }
  return postfix(primary());
}

Node TemplateExpressions::filtered(Node value, bool begins_with_filter) {
  for (;;) {
    if (std::exchange(begins_with_filter, false) || take_if("|")) {
      value = node(Kind::Filter, name(), std::move(value));
      if (take_if("(")) arguments(value);
    } else if (take_if("is")) {
      const bool is_negated = take_if("not");
      Node test = node(Kind::Test, name(), std::move(value));
      if (take_if("("))
        arguments(test);
      else if (begins_argument())
        add(test, postfix(primary()));
      value = is_negated ? node(Kind::Unary, "not", std::move(test)) : std::move(test);
    } else {
      return value;
    }
  }
}

/// The argument of a test without brackets, as in "x is equalto 3".
bool TemplateExpressions::begins_argument() const {
  if (now().kind == TokenKind::Number || now().kind == TokenKind::String || is("[") || is("{")) return true;
  constexpr std::array<std::string_view, 7> kWords = {"and", "or", "not", "if", "else", "is", "in"};
  return now().kind == TokenKind::Name && std::ranges::find(kWords, now().text) == kWords.end();
}

/// Parses arguments after "(", up to ")".
void TemplateExpressions::arguments(Node& call) {
  while (!take_if(")")) {
    if (now().kind == TokenKind::Name && ahead().kind == TokenKind::Sign && next_text() == "=") {
      Node named = node(Kind::Named, take().text);
      take();
      add(named, expression());
      add(call, std::move(named));
    } else {
      add(call, expression());
    }
    if (!is(")")) expect(",");
  }
}

Node TemplateExpressions::postfix(Node value) {
  for (;;) {
    if (take_if(".")) {
      value = now().kind == TokenKind::Number ? node(Kind::Item, {}, std::move(value), number(take()))
                                              : node(Kind::Attribute, name(), std::move(value));
    } else if (take_if("(")) {
      value = node(Kind::Call, {}, std::move(value));
      arguments(value);
    } else if (take_if("[")) {
      value = subscript(std::move(value));
    } else {
      return value;
    }
  }
}

Node TemplateExpressions::subscript(Node value) {
  Node slice = node(Kind::Item, {}, std::move(value));
  const auto bound = [&] { add(slice, is(":") || is("]") ? node(Kind::Literal) : expression()); };
  bound();
  while (take_if(":")) {
    slice.kind = Kind::Slice;
    bound();
  }
  expect("]");
  while (slice.kind == Kind::Slice && slice.parts.size() < 4) add(slice, node(Kind::Literal));
  return slice;
}

Node TemplateExpressions::primary() {
  const TemplateToken token = take();
  if (token.kind == TokenKind::String) {
    std::string content = token.text;
    while (now().kind == TokenKind::String) content += take().text;
    return node(Kind::Text, std::move(content));
  }
  if (token.kind == TokenKind::Number) return number(token);
  if (token.kind == TokenKind::Name) {
    const std::string& word = token.text;
    if (std::ranges::find(kSpecials, word) != kSpecials.end()) specials_.push_back(word);
    Node literal = node(Kind::Literal);
    if (word == "true" || word == "True" || word == "false" || word == "False")
      literal.value = word.front() == 't' || word.front() == 'T';
    else if (word != "none" && word != "None")
      return node(Kind::Name, word);
    return literal;
  }
  if (token.text == "(" && token.kind == TokenKind::Sign) return bracket();
  if (token.text == "[" && token.kind == TokenKind::Sign) return all_until(Kind::List, "]");
  if (token.text == "{" && token.kind == TokenKind::Sign) return all_until(Kind::Dict, "}");
  throw Error("line {}: an expression is missing", token.line);
}

Node TemplateExpressions::number(const TemplateToken& token) const {
  Node literal = node(Kind::Literal);
  std::string digits = token.text;
  std::erase(digits, '_');
  const char* end = digits.data() + digits.size();
  const bool is_whole = digits.find_first_of(".eE") == std::string::npos;
  const auto result = is_whole ? std::from_chars(digits.data(), end, literal.value.emplace<std::int64_t>())
                               : std::from_chars(digits.data(), end, literal.value.emplace<double>());
  if (result.ec != std::errc()) throw Error("line {}: the number {} is too large", token.line, digits);
  return literal;
}

Node TemplateExpressions::bracket() {
  if (take_if(")")) return node(Kind::Tuple);
  Node value = tuple(expression());
  expect(")");
  return value;
}

Node TemplateExpressions::tuple(Node first) {
  if (!is(",")) return first;
  Node all = node(Kind::Tuple, {}, std::move(first));
  while (take_if(",") && !is(")") && now().kind != TokenKind::BlockEnd && now().kind != TokenKind::OutputEnd)
    add(all, expression());
  return all;
}

Node TemplateExpressions::all_until(Kind kind, std::string_view end) {
  Node all = node(kind);
  while (!take_if(end)) {
    add(all, expression());
    if (kind == Kind::Dict) {
      expect(":");
      add(all, expression());
    }
    if (!is(end)) expect(",");
  }
  return all;
}

}  // namespace headlight::text
