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

}  // namespace headlight::text
