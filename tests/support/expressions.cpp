#include "support/expressions.h"

#include <array>

#include "attention/expression.h"

namespace headlight::test {
namespace {

constexpr std::array<std::string_view, 66> kPieces = {
    "q",      "k",     "layer",     "head",      "n_layers", "n_heads", "n_q",   "n_k",   "id_q",    "id_k",    "type_q",
    "type_k", "score", "segment_q", "segment_k", "0",        "1",       "2u",    "0.5",   "3.0e2",   "0x1f",    "true",
    "abs(",   "min(",  "max(",      "clamp(",    "mod(",     "floor(",  "exp(",  "log(",  "sqrt(",   "pow(",    "sin(",
    "sign(",  "mix(",  "step(",     "tanh(",     "int(",     "float(",  "uint(", "bool(", ")",       ")",       ",",
    "(",      "+",     "-",         "*",         "/",        "%",       "<",     "<=",    "==",      "!=",      "&&",
    "||",     "!",     "?",         ":",         "&",        "<<",      "~",     "^^",    "slider(", "a, 0, 1", "for"};

std::string any_pieces(Random& random) {
  std::string text;
  for (std::uint32_t count = random.between(1, 30); count > 0; --count) {
    text += std::string(kPieces.at(random.below(kPieces.size()))) + (random.chance(0.7) ? " " : "");
  }
  return text;
}

/// An expression of this type that can be accepted, `depth` operations deep at most.
std::string of_numbers(Random& random, std::uint32_t depth) {
  if (depth == 0 || random.chance(0.15)) {
    return std::string(random.pick<std::string_view>({"q", "k", "head", "layer", "n_k", "n_heads", "id_k", "1", "7", "2u",
                                                      "0.25", "3.5", "-2", "slider(a, -1, 2, 0.5)"}));
  }
  const std::string a = of_numbers(random, depth - 1), b = of_numbers(random, depth - 1);
  switch (random.below(8)) {
    case 0:
      return random.pick<std::string_view>({"abs", "floor", "ceil", "round", "exp", "log", "sqrt", "sign", "tanh", "float"})
                 .data() +
             ("(" + a + ")");
    case 1:
      return random.pick<std::string_view>({"min", "max", "mod", "pow", "step"}).data() + ("(" + a + ", " + b + ")");
    case 2:
      return "(" + a + " < " + b + " ? " + a + " : " + b + ")";
    case 3:
      return "(int(" + a + ") % int(" + b + "))";
    case 4:
      return "(int(" + a + ") " + random.pick<const char*>({"&", "|", "^", "<<", ">>"}) + " int(" + b + "))";
    case 5:
      return "mix(" + a + ", " + b + ", 0.25)";
    default:
      return "(" + a + " " + random.pick<const char*>({"+", "-", "*", "/"}) + " " + b + ")";
  }
}

}  // namespace

std::string random_expression(Random& random) {
  if (random.chance(0.4)) return any_pieces(random);
  const auto presets = attention::expression_presets();
  std::string text = random.chance(0.5) ? std::string(presets[random.below(static_cast<std::uint32_t>(presets.size()))].text)
                                        : of_numbers(random, random.between(1, 5)) + (random.chance(0.5) ? " < q" : "");
  for (std::uint32_t changes = random.below(4); changes > 0; --changes) {
    const std::size_t at = random.below(static_cast<std::uint32_t>(text.size() + 1));
    switch (random.below(3)) {
      case 0:
        text.insert(at, kPieces.at(random.below(kPieces.size())));
        break;
      case 1:
        text.erase(at, random.below(6));
        break;
      default:
        text.insert(at, 1, static_cast<char>(random.below(256)));
    }
  }
  return text;
}

}  // namespace headlight::test
