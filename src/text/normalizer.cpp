#include "text/stages.h"

#include <utf8proc.h>
#include <algorithm>
#include <array>
#include <optional>

#include "text/byte_alphabet.h"
#include "text/json_node.h"
#include "text/precompiled_map.h"

namespace headlight::text {
namespace {

enum class CanonicalForm { Nfc, Nfd, Nfkc, Nfkd };

struct Part {
  char32_t code_point = 0;
  int change = 0;
  int combining_class = 0;
};

int combining_class(char32_t c) {
  return c < 0x300 ? 0 : utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

/// Decomposed, each run of marks in canonical order.
std::vector<Part> decompose(std::string_view text, bool compatible) {
  std::vector<Part> parts;
  parts.reserve(text.size());
  std::size_t run = 0;  // start of the marks that aren't in order yet
  const auto order = [&] {
    std::stable_sort(parts.begin() + static_cast<std::ptrdiff_t>(run), parts.end(),
                     [](const Part& a, const Part& b) { return a.combining_class < b.combining_class; });
  };
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  std::array<utf8proc_int32_t, 32> decomposed{};  // the longest decomposition has 18 characters
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    utf8proc_ssize_t count = 1;
    decomposed[0] = static_cast<utf8proc_int32_t>(c);
    if (c >= 0x80) {
      int boundary = 0;
      count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), decomposed.data(), decomposed.size(),
                                      static_cast<utf8proc_option_t>(options), &boundary);
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      const auto part = static_cast<char32_t>(decomposed[static_cast<std::size_t>(i)]);
      const int of = combining_class(part);
      if (of == 0) {
        order();
        run = parts.size();
      }
      parts.push_back({part, i == 0 ? 0 : 1, of});
      if (of == 0) run = parts.size();
    }
  }
  order();
  return parts;
}

/// The primary composite of two characters.
std::optional<char32_t> compose(char32_t first, char32_t second) {
  if (second < 0x300) return std::nullopt;  // no composite ends in a character below the combining marks
  std::array<utf8proc_int32_t, 2> pair = {static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second)};
  constexpr int kOptions = UTF8PROC_COMPOSE | UTF8PROC_STABLE;
  if (utf8proc_normalize_utf32(pair.data(), 2, static_cast<utf8proc_option_t>(kOptions)) != 1) return std::nullopt;
  return static_cast<char32_t>(pair[0]);
}

std::vector<Change> recompose(const std::vector<Part>& parts) {
  std::vector<Change> changes;
  changes.reserve(parts.size());
  std::optional<Change> starter;  // may still compose with later characters
  std::vector<Change> marks;      // marks after it that didn't compose
  constexpr int kNoClass = -1;    // below all combining classes
  int last_class = kNoClass;      // of the last mark
  const auto flush_starter = [&] {
    if (starter) changes.push_back(*starter);
    starter.reset();
  };
  for (const Part& part : parts) {
    const Change change{part.code_point, part.change};
    if (!starter) {
      if (part.combining_class != 0) {
        changes.push_back(change);
      } else {
        starter = change;
      }
      continue;
    }
    const bool blocked = last_class >= part.combining_class;
    const std::optional<char32_t> joined = blocked ? std::nullopt : compose(starter->code_point, part.code_point);
    if (joined) {
      starter = Change{*joined, starter->change + part.change - 1};
    } else if (part.combining_class == 0) {
      flush_starter();
      changes.insert(changes.end(), marks.begin(), marks.end());
      marks.clear();
      last_class = kNoClass;
      starter = change;
    } else {
      marks.push_back(change);
      last_class = part.combining_class;
    }
  }
  flush_starter();
  changes.insert(changes.end(), marks.begin(), marks.end());
  return changes;
}

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

/// A text's Unicode normalization form (UAX #15): a composed character replaces all its parts, the parts of a decomposed one
/// are inserted after the first.
template <CanonicalForm kForm>
void to_form(NormalizedText& text) {
  if (is_ascii(text.text())) return;
  constexpr bool kIsCompatible = kForm == CanonicalForm::Nfkc || kForm == CanonicalForm::Nfkd;
  const std::vector<Part> parts = decompose(text.text(), kIsCompatible);
  if constexpr (kForm == CanonicalForm::Nfc || kForm == CanonicalForm::Nfkc) return text.transform(recompose(parts));
  std::vector<Change> changes;
  changes.reserve(parts.size());
  for (const Part& part : parts) changes.push_back({part.code_point, part.change});
  text.transform(changes);
}

void lowercase(NormalizedText& text) {
  std::vector<Change> changes;
  changes.reserve(text.text().size());
  std::u32string lower;
  bool differs = false;
  for (std::size_t at = 0; at < text.text().size();) {
    const char32_t c = next_code_point(text.text(), at);
    lower.clear();
    append_lower_case(lower, c);
    for (std::size_t i = 0; i < lower.size(); ++i) changes.push_back({lower[i], i == 0 ? 0 : 1});
    differs = differs || lower.size() != 1 || lower[0] != c;
  }
  if (differs) text.transform(changes);
}

/// The blocks that BERT's original tokenizer treats as Chinese.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

void space_out_chinese(NormalizedText& text) {
  std::vector<Change> changes;
  changes.reserve(text.text().size());
  bool differs = false;
  for (std::size_t at = 0; at < text.text().size();) {
    const char32_t c = next_code_point(text.text(), at);
    if (is_chinese(c)) {
      changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
      differs = true;
    } else {
      changes.push_back({c, 0});
    }
  }
  if (differs) text.transform(changes);
}

void clean(NormalizedText& text) {
  const auto is_tab_or_newline = [](char32_t c) { return c == '\t' || c == '\n' || c == '\r'; };
  text.filter([&](char32_t c) { return c != 0 && c != 0xFFFD && (is_tab_or_newline(c) || !is_other(c)); });
  text.map([](char32_t c) { return is_white_space(c) ? U' ' : c; });
}

bool is_dropped_by_nmt(char32_t c) {
  return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

bool is_space_to_nmt(char32_t c) {
  return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

void strip(NormalizedText& text, bool left, bool right) {
  const std::string& content = text.text();
  std::size_t begin = 0;
  std::size_t end = content.size();
  while (left && begin < end) {
    std::size_t after = begin;
    if (!is_white_space(next_code_point(content, after))) break;
    begin = after;
  }
  while (right && end > begin) {
    std::size_t before = end;
    if (!is_white_space(previous_code_point(content, before))) break;
    end = before;
  }
  if (begin == 0 && end == content.size()) return;
  std::vector<Change> changes;
  for (std::size_t at = begin; at < end;) changes.push_back({next_code_point(content, at), 0});
  text.transform(changes, count_code_points(std::string_view(content).substr(0, begin)));
}

Normalizer read_bert(const JsonNode& node) {
  const bool cleans_text = node.boolean_or("clean_text", true);  // drops controls, replaces white space by spaces
  const bool spaces_out = node.boolean_or("handle_chinese_chars", true);
  const bool lowercases = node.boolean_or("lowercase", true);
  const bool strips_accents = node.boolean_or("strip_accents", lowercases);
  return [=](NormalizedText& text) {
    if (cleans_text) clean(text);
    if (spaces_out) space_out_chinese(text);
    if (strips_accents) {
      to_form<CanonicalForm::Nfd>(text);
      text.filter([](char32_t c) { return !is_nonspacing_mark(c); });
    }
    if (lowercases) lowercase(text);
  };
}

Normalizer read_precompiled(const JsonNode& node) {
  const JsonNode map = node.at("precompiled_charsmap");
  const std::optional<std::string> bytes = decode_base64(map.string());
  if (!bytes) map.fail("isn't base64");
  return build_at(map, [&] { return make_precompiled_normalizer(*bytes); });
}

Normalizer read_replace(const JsonNode& node) {
  return [pattern = node.at("pattern").pattern(), content = node.at("content").string()](NormalizedText& text) {
    if (!text.is_empty()) text.replace(pattern.find_all(text.text()), content);
  };
}

/// A stage without settings.
template <void (*kRewrite)(NormalizedText& text)>
Normalizer always(const JsonNode& /*node*/) {
  return kRewrite;
}

/// Drops every mark (general category M).
void strip_accents(NormalizedText& text) {
  text.filter([](char32_t c) { return !is_mark(c); });
}

/// SentencePiece's rules of NMT: drops controls, replaces unusual spaces by a space.
void apply_nmt(NormalizedText& text) {
  text.filter([](char32_t c) { return !is_dropped_by_nmt(c); });
  text.map([](char32_t c) { return is_space_to_nmt(c) ? U' ' : c; });
}

constexpr StageKind<Normalizer> kNormalizers[] = {
    {"BertNormalizer", read_bert},
    {"NFC", always<to_form<CanonicalForm::Nfc>>},
    {"NFD", always<to_form<CanonicalForm::Nfd>>},
    {"NFKC", always<to_form<CanonicalForm::Nfkc>>},
    {"NFKD", always<to_form<CanonicalForm::Nfkd>>},
    {"Lowercase", always<lowercase>},
    {"StripAccents", always<strip_accents>},
    {"Strip",
     [](const JsonNode& node) -> Normalizer {
       return [left = node.boolean_or("strip_left", true),
               right = node.boolean_or("strip_right", true)](NormalizedText& text) { strip(text, left, right); };
     }},
    {"Replace", read_replace},
    {"Prepend",
     [](const JsonNode& node) -> Normalizer {
       return [prefix = node.at("prepend").string()](NormalizedText& text) { text.prepend(prefix); };
     }},
    {"Nmt", always<apply_nmt>},
    {"Precompiled", read_precompiled},
    {"ByteLevel", always<to_byte_letters>},
    {"Sequence",
     [](const JsonNode& node) { return make_normalizer_sequence(read_stages(node.at("normalizers"), read_normalizer)); }}};

}  // namespace

Normalizer read_normalizer(const JsonNode& node) { return read_stage(node, kNormalizers, "normalizer"); }

Normalizer make_precompiled_normalizer(std::string_view map) {
  return [map = PrecompiledMap(map)](NormalizedText& text) { map.apply(text); };
}

Normalizer make_normalizer_sequence(std::vector<Normalizer> normalizers) {
  return [normalizers = std::move(normalizers)](NormalizedText& text) {
    for (const Normalizer& normalizer : normalizers) normalizer(text);
  };
}

}  // namespace headlight::text
