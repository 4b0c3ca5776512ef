#include "text/template_syntax.h"

namespace headlight::text {
namespace {

using TokenKind = TemplateToken::Kind;

class Parser : TemplateExpressions {
 public:
  using TemplateExpressions::TemplateExpressions;

  Node parse() {
    Node whole = block();
    if (now().kind != TokenKind::End) fail(fmt::format("{{% {} %}} ends nothing", next_text()));
    return whole;
  }

 private:
  bool is_tag(std::string_view word) const { return now().kind == TokenKind::BlockBegin && next_text() == word; }
  void end_block() {
    if (now().kind != TokenKind::BlockEnd && now().kind != TokenKind::OutputEnd) fail("the tag has more than it can have");
    take();
  }

  /// Statements up to {% else %}, {% elif %} or the end of a block, which stay.
  Node block() {
    const Depth depth(*this);
    Node all = node(Kind::Block);
    while (now().kind != TokenKind::End) {
      if (now().kind == TokenKind::Text) {
        all.parts.push_back(node(Kind::Text, now().text));
        take();
      } else if (now().kind == TokenKind::OutputBegin) {
        take();
        all.parts.push_back(node(Kind::Output, {}, tuple(expression())));
        end_block();
      } else if (next_text().starts_with("end") || next_text() == "else" || next_text() == "elif") {
        return all;
      } else {
        take();
        all.parts.push_back(statement());
      }
    }
    return all;
  }

  /// Parses the statements after the beginning of a tag, and the tag's end.
  Node body(const std::string& word) {
    end_block();
    Node all = block();
    end_tag(word);
    return all;
  }

  void end_tag(const std::string& word) {
    if (!is_tag("end" + word)) fail(fmt::format("{{% end{} %}} is missing", word));
    take();
    take();
    if (word == "block" && now().kind == TokenKind::Name) take();
    end_block();
  }

  Node statement() {
    const std::string word = name();
    if (word == "if") return conditional();
    if (word == "for") return loop();
    if (word == "set") return assignment();
    if (word == "with") return with();
    if (word == "filter") {
      Node value = filtered(node(Kind::Name), true);
      return node(Kind::Output, {}, node(Kind::Filtered, {}, std::move(value), body(word)));
    }
    if (word == "macro") {
      std::string called = name();
      return macro(word, std::move(called), parameters());
    }
    if (word == "call") {
      Node given = is("(") ? parameters() : node(Kind::List), call = postfix(primary());
      if (call.kind != Kind::Call) fail("{% call %} has no call");
      return node(Kind::CallBlock, {}, std::move(call), macro(word, "caller", std::move(given)));
    }
    if (word == "generation") return body(word);
    if (word == "block") {
      static_cast<void>(name());
      return body(word);
    }
    if (word == "break" || word == "continue") {
      if (loops_ == 0) fail(fmt::format("{{% {} %}} is outside of a loop", word));
      end_block();
      return node(word == "break" ? Kind::Break : Kind::Continue);
    }
    while (now().kind != TokenKind::BlockEnd) take();
    end_block();
    return node(Kind::Unknown, word);
  }

  Node conditional() {
    const Depth depth(*this);
    Node result = node(Kind::If, {}, tuple(expression()));
    end_block();
    result.parts.push_back(block());
    if (is_tag("elif")) {
      take();
      take();
      result.parts.push_back(conditional());
      return result;
    }
    result.parts.push_back(otherwise());
    end_tag("if");
    return result;
  }

  Node otherwise() {
    if (!is_tag("else")) return node(Kind::Block);
    take();
    take();
    end_block();
    return block();
  }

  /// Names between commas, in parentheses or not, are a tuple.
  Node targets() {
    const Depth depth(*this);
    const auto one = [&] {
      if (take_if("(")) {
        Node inner = targets();
        expect(")");
        return inner;
      }
      Node target = node(Kind::Name, name());
      while (take_if(".")) target = node(Kind::Attribute, name(), std::move(target));
      return target;
    };
    Node first = one();
    if (!is(",")) return first;
    Node all = node(Kind::Tuple, {}, std::move(first));
    while (take_if(",") && !is("in") && !is("=")) add(all, one());
    return all;
  }

  Node loop() {
    Node result = node(Kind::For, {}, targets());
    expect("in");
    result.parts.push_back(tuple(operation(0)));
    result.parts.push_back(take_if("if") ? expression() : node(Kind::Block));
    if (is("recursive")) fail("Headlight doesn't know recursive loops");
    end_block();
    ++loops_;
    result.parts.push_back(block());
    --loops_;
    result.parts.push_back(otherwise());
    end_tag("for");
    return result;
  }

  Node assignment() {
    Node result = node(Kind::Set, {}, targets());
    if (take_if("=")) {
      result.parts.push_back(tuple(expression()));
      end_block();
    } else {
      // The filters of the block's text, which has no name that templates could use.
      Node value = filtered(node(Kind::Name));
      Node text = body("set");
      result.parts.push_back(value.kind == Kind::Name ? std::move(text)
                                                      : node(Kind::Filtered, {}, std::move(value), std::move(text)));
    }
    return result;
  }

  Node with() {
    Node result = node(Kind::With);
    while (now().kind != TokenKind::BlockEnd) {
      result.parts.push_back(node(Kind::Name, name()));
      expect("=");
      result.parts.push_back(expression());
      if (now().kind != TokenKind::BlockEnd) expect(",");
    }
    result.parts.push_back(body("with"));
    return result;
  }

  Node parameters() {
    Node all = node(Kind::List);
    expect("(");
    while (!take_if(")")) {
      Node parameter = node(Kind::Named, name());
      if (take_if("=")) parameter.parts.push_back(expression());
      all.parts.push_back(std::move(parameter));
      if (!is(")")) expect(",");
    }
    return all;
  }

  Node macro(const std::string& word, std::string called, Node given) {
    const std::size_t before = specials_.size();
    Node content = body(word), used = node(Kind::List);
    for (std::size_t i = before; i < specials_.size(); ++i) used.parts.push_back(node(Kind::Name, specials_[i]));
    return node(Kind::Macro, std::move(called), std::move(given), std::move(content), std::move(used));
  }

  unsigned loops_ = 0;
};

}  // namespace

TemplateNode parse_template(std::string_view source, Budget& budget) { return Parser(source, budget).parse(); }

}  // namespace headlight::text
