#include "attention/expression_glsl.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include <fmt/format.h>

#include "attention/expression_tree.h"

namespace headlight::attention {
namespace {

// Words of shaders/lib/expression.glsl, in their order.
constexpr std::uint32_t kQueryIds = 5, kKeyIds = 6, kQueryTypes = 7, kKeyTypes = 8, kQuerySegments = 9, kKeySegments = 10,
                        kSliders = 14;

std::string literal(const ExpressionNode& node) {
  switch (node.type) {
    case ValueType::Bool:
      return node.literal != 0.0 ? "true" : "false";
    case ValueType::Int:
      return fmt::format("{}", static_cast<std::int64_t>(node.literal));
    case ValueType::Uint:
      return fmt::format("{}u", static_cast<std::int64_t>(node.literal));
    case ValueType::Float:
      break;
  }
  const std::string digits = fmt::format("{:.9g}", node.literal);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

std::string conversion(ValueType to, ValueType from, std::uint16_t argument) {
  const bool is_bounded = from == ValueType::Float && (to == ValueType::Int || to == ValueType::Uint);
  return fmt::format("{}{}(v{})", is_bounded ? "expression_" : "", to_string(to), argument);
}

/// A letter that stands alone in a form is an argument.
std::string filled(std::string_view form, const ExpressionNode& node) {
  const auto is_letter = [&](std::size_t at) {
    return at < form.size() && ((form[at] >= 'a' && form[at] <= 'z') || form[at] == '_');
  };
  std::string text;
  for (std::size_t at = 0; at < form.size(); ++at) {
    const bool is_argument = is_letter(at) && !is_letter(at + 1) && (at == 0 || !is_letter(at - 1)) && form[at] <= 'c';
    if (is_argument) {
      text += fmt::format("v{}", node.arguments.at(static_cast<std::size_t>(form[at] - 'a')));
    } else {
      text += form[at];
    }
  }
  return text;
}

}  // namespace

/// One statement for each node, so that the text needs no parentheses and no driver's parser goes deep.
class ExpressionWriter {
 public:
  /// The function's body.
  static std::string statements(const Expression& expression, std::size_t first_slider) {
    std::string body;
    const std::vector<ExpressionNode>& nodes = expression.tree_->nodes;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const ExpressionNode& node = nodes[at];
      // Without `precise`, the kernel of attention and that of its cells could get different bits.
      body += fmt::format("  {}{} v{} = {};\n", node.type == ValueType::Float ? "precise " : "", to_string(node.type), at,
                          value(nodes, node, first_slider));
    }
    return body;
  }
  static std::size_t result(const Expression& expression) { return expression.tree_->nodes.size() - 1; }

 private:
  static std::string value(const std::vector<ExpressionNode>& nodes, const ExpressionNode& node, std::size_t first_slider) {
    switch (node.operation) {
      case Operation::Literal:
        return literal(node);
      case Operation::Name:
        return std::string(expression_names()[node.index].glsl);
      case Operation::Slider:
        return fmt::format("uintBitsToFloat(MASK_WORDS(at + {}u))", kSliders + first_slider + node.index);
      case Operation::Convert:
        return conversion(node.type, nodes[node.arguments[0]].type, node.arguments[0]);
      default:
        return filled(form_of(node.operation).glsl, node);
    }
  }
};

std::string expressions_glsl(const Expression& mask, const Expression& score, const CellWords& cells) {
  std::string text = fmt::format(
      "const bool kHasMaskExpression = {};\nconst bool kHasScoreExpression = {};\nconst bool kHasPaint = {};\n"
      "const bool kHasDocuments = {};\nconst bool kHasDropout = {};\n",
      static_cast<bool>(mask), static_cast<bool>(score), cells.paint_at != 0, cells.documents_at != 0,
      cells.dropout_at != 0);
  text += "bool expression_shows(uint at, uint item, uint head, uint query, uint key) {\n";
  if (mask) text += ExpressionWriter::statements(mask, 0);
  text += mask ? fmt::format("  return v{};\n}}\n", ExpressionWriter::result(mask)) : "  return true;\n}\n";
  text += "float expression_score(float score, uint at, uint item, uint head, uint query, uint key) {\n";
  if (score) text += ExpressionWriter::statements(score, mask.sliders().size());
  text += score ? fmt::format("  return expression_bounded(v{});\n}}\n", ExpressionWriter::result(score))
                : "  return score;\n}\n";
  return text;
}

void append_expression_words(std::vector<std::uint32_t>& words, const Expression& mask, const Expression& score,
                             const SliderValues& sliders, const ExpressionMap& block, const CellWords& cells) {
  const ExpressionNeeds of_mask = mask.needs(), of_score = score.needs();
  const std::size_t at = words.size();
  words.insert(words.end(), {block.layer, block.layers, block.heads, block.queries, block.keys, 0, 0, 0, 0, 0, 0,
                             cells.paint_at, cells.documents_at, cells.dropout_at});
  for (const Expression* expression : {&mask, &score}) {
    for (const Slider& slider : expression->sliders()) {
      words.push_back(std::bit_cast<std::uint32_t>(value_of(slider, sliders)));
    }
  }
  const auto append = [&](std::uint32_t word, bool is_needed, std::span<const std::uint32_t> of_tokens) {
    if (!is_needed || of_tokens.empty()) return;
    words[at + word] = static_cast<std::uint32_t>(words.size());
    std::ranges::copy(of_tokens, std::back_inserter(words));  // GCC 14 reports an overflow inside of insert()
  };
  const bool needs_ids = of_mask.ids || of_score.ids, needs_types = of_mask.types || of_score.types;
  const bool needs_segments = of_mask.segments || of_score.segments;
  append(kQueryIds, needs_ids, block.tokens.query_ids);
  append(kKeyIds, needs_ids, block.tokens.key_ids);
  append(kQueryTypes, needs_types, block.tokens.query_types);
  append(kKeyTypes, needs_types, block.tokens.key_types);
  append(kQuerySegments, needs_segments, block.tokens.query_segments);
  append(kKeySegments, needs_segments, block.tokens.key_segments);
}

}  // namespace headlight::attention
