#include "text/canonical_form.h"

#include <algorithm>
#include <array>
#include <optional>

#include <utf8proc.h>

namespace headlight::text {
namespace {

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

}  // namespace

std::vector<Change> to_canonical_form(std::string_view text, CanonicalForm form) {
  const bool compatible = form == CanonicalForm::Nfkc || form == CanonicalForm::Nfkd;
  const std::vector<Part> parts = decompose(text, compatible);
  if (form == CanonicalForm::Nfc || form == CanonicalForm::Nfkc) return recompose(parts);
  std::vector<Change> changes;
  changes.reserve(parts.size());
  for (const Part& part : parts) changes.push_back({part.code_point, part.change});
  return changes;
}

}  // namespace headlight::text
