#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace headlight::text {

/// A part of a parsed chat template, in the subset of Jinja that such templates use.
struct TemplateNode {
  enum class Kind : unsigned char {
    // Statements.
    Block,  ///< parts in their order
    Text,   ///< `text`
    Output,
    If,     ///< condition, block, block otherwise
    For,    ///< targets, list, condition, block, block where the list is empty
    Set,    ///< target, value or block
    Macro,  ///< `text`: its name; parameters, block
    Break,
    Continue,
    // Expressions.
    Literal,  ///< `value`
    Name,     ///< `text`
    List,
    Dict,       ///< keys and values in turn
    Attribute,  ///< `text` of parts[0]
    Item,       ///< parts[1] of parts[0]
    Slice,      ///< of parts[0]: begin, end, step
    Call,       ///< parts[0] with arguments
    Filter,     ///< `text` of parts[0] with arguments
    Test,       ///< likewise
    Named,      ///< an argument or a parameter `text` and its value
    Unary,      ///< `text`: not, -, +
    Binary,     ///< `text`: and, or, in, ==, ~, …
    Choice,     ///< condition, value, other value
  };
  Kind kind = Kind::Block;
  std::string text = {};
  std::vector<TemplateNode> parts = {};
  nlohmann::ordered_json value = {};
  std::size_t line = 1;
  unsigned depth = 0;  ///< of the expressions inside of it
};

/// Parses a template as transformers sets Jinja up: trim_blocks, lstrip_blocks, loop controls, {% generation %} without
/// effect. Throws Error "line N: …" for what isn't in the subset, so that a template is refused before it is used.
TemplateNode parse_template(std::string_view source);

/// The filters and tests that a run knows.
bool is_template_filter(std::string_view name);
bool is_template_test(std::string_view name);

}  // namespace headlight::text
