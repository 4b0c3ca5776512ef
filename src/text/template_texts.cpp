#include <utf8proc.h>
#include <algorithm>

#include "text/template_functions.h"
#include "text/unicode.h"

// Filters and methods of texts.
namespace headlight::text {
namespace {

using Value = TemplateValue;
using Call = TemplateCall;

Value made_of(const std::vector<TemplateText>& parts, TemplateHeap& heap, bool is_tuple = false) {
  TemplateValues values;
  for (const TemplateText part : parts) values.push_back({part});
  return heap.list(std::move(values), is_tuple);
}

/// str() of the value, which lives as long as the heap.
TemplateText subject(const Call& call) {
  return call.value.is_text() ? call.value.text() : call.heap.text(call.text()).text();
}

/// `detail`: the ends.
Value strip(const Call& call) {
  return {stripped(subject(call), call[0], call.detail != "right", call.detail != "left", call.heap)};
}

Value replaced(const Call& call) {
  const TemplateText text = subject(call), from = text_of(call[0]), to = text_of(call[1]);
  std::int64_t count = number_or(call[2], -1);
  std::string result;
  std::size_t at = 0;
  for (; count != 0; --count) {
    const std::size_t found = find_text(text, from, at, call.heap);
    if (found == std::string::npos) break;
    const std::size_t step = from.empty() ? (found < text.size() ? character_length(text, found) : 1) : 0;
    call.heap.spend(to.size() + found - at + 1);
    result.append(text, at, found - at).append(to);
    if (from.empty() && found < text.size()) result.append(text, found, step);
    at = found + from.size() + step;
    if (at > text.size()) break;
  }
  if (at < text.size()) result.append(text, at);
  return call.heap.text(std::move(result));
}

bool has_case(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
}

/// Letters in upper or lower case; `detail`: all of them upper, the text's first, or the first of each word, as Jinja's
/// filter splits words, at spaces, hyphens and brackets, or as Python's method does, at what has no case.
Value cased(const Call& call) {
  std::string result;
  bool begins = true;
  const TemplateText text = subject(call);
  const bool is_python = call.detail == "Python", is_filter = call.detail == "Jinja", all = call.detail == "all";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t before = at;
    const char32_t c = next_code_point(text, at);
    if (!begins && !all)
      result += lower_cased(text.substr(before, at - before));
    else if (c == U'ß')
      result += all || is_filter ? "SS" : "Ss";
    else
      append_utf8(result, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
    begins = (is_python && !has_case(c)) || (is_filter && (is_white_space(c) || std::u32string_view(U"-({[<").find(c) < 5));
  }
  return call.heap.text(std::move(result));
}

/// str.split(separator, most) and rsplit(): without a separator at runs of white space.
Value split_text(const Call& call) {
  const bool from_right = call.detail == "right";
  TemplateText rest = call.value.text();
  std::int64_t most = number_or(call[1], -1);
  std::vector<TemplateText> parts;
  const bool at_spaces = call[0].is_missing();
  const TemplateText cut = at_spaces ? " " : text_of(call[0]);
  if (cut.empty()) throw Error("a text is split at nothing");
  const auto find = [&] {
    if (!at_spaces) return from_right ? rfind_text(rest, cut, call.heap) : find_text(rest, cut, 0, call.heap);
    const std::size_t found = from_right ? rest.find_last_of(" \t\n\r\v\f") : rest.find_first_of(" \t\n\r\v\f");
    call.heap.spend(found == TemplateText::npos ? rest.size() : from_right ? rest.size() - found : found);
    return found;
  };
  if (at_spaces) rest = stripped(rest, {}, true, true, call.heap);
  for (; most != 0; --most) {
    const std::size_t found = find();
    if (found == TemplateText::npos) break;
    call.heap.spend(Budget::kStep);
    parts.push_back(from_right ? rest.substr(found + cut.size()) : rest.substr(0, found));
    rest = from_right ? rest.substr(0, found) : rest.substr(found + cut.size());
    if (at_spaces) rest = stripped(rest, {}, !from_right, from_right, call.heap);
  }
  if (!at_spaces || !rest.empty()) parts.push_back(rest);
  if (from_right) std::ranges::reverse(parts);
  return made_of(parts, call.heap);
}

std::vector<TemplateText> lines_of(TemplateText text, TemplateHeap& heap) {
  std::vector<TemplateText> lines;
  heap.spend(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\r\v\f", at), text.size());
    heap.spend(Budget::kStep);
    lines.push_back(text.substr(at, end - at));
    at = end + (text.substr(end, 2) == "\r\n" ? 2 : 1);
  }
  return lines;
}

/// Each line but the first, and those without letters, after spaces.
Value indented(const Call& call) {
  const std::string width = call[0].is_text() ? std::string(call[0].text()) : std::string();
  const auto spaces =
      static_cast<std::size_t>(std::clamp<std::int64_t>(call[0].is_text() ? 0 : number_or(call[0], 4), 0, 1000));
  const std::string before = width + std::string(spaces, ' ');
  std::string result;
  bool is_first = true;
  const std::string whole = std::string(subject(call)) + "\n";
  for (const TemplateText line : lines_of(whole, call.heap)) {
    call.heap.spend(before.size());
    if (!is_first) result += '\n';
    if (is_first ? is_true(call[1]) : is_true(call[2]) || !line.empty()) result += before;
    result += line;
    is_first = false;
  }
  return call.heap.text(std::move(result));
}

/// startswith() and endswith(), of a text or any of a list of texts.
Value meets(const Call& call) {
  const TemplateValues all = call[0].is_text() ? TemplateValues{call[0]} : elements_of(call[0], call.heap);
  return {std::ranges::any_of(all, [&](const Value& one) {
    call.heap.spend(text_of(one).size());
    return call.detail == "end" ? call.value.text().ends_with(one.text()) : call.value.text().starts_with(one.text());
  })};
}

/// The number of the character where the text is, or -1.
Value place_of(const Call& call) {
  const TemplateText text = call.value.text(), part = text_of(call[0]);
  const std::size_t at = call.detail == "last" ? rfind_text(text, part, call.heap) : find_text(text, part, 0, call.heap);
  return {at == TemplateText::npos ? std::int64_t{-1} : static_cast<std::int64_t>(count_code_points(text.substr(0, at)))};
}

Value without(const Call& call) {
  TemplateText text = call.value.text();
  if (!is_true(meets(call))) return {text};
  if (call.detail == "end")
    text.remove_suffix(text_of(call[0]).size());
  else
    text.remove_prefix(text_of(call[0]).size());
  return {text};
}

Value occurrences(const Call& call) {
  const TemplateText text = call.value.text(), part = text_of(call[0]);
  if (part.empty()) return {static_cast<std::int64_t>(count_code_points(text)) + 1};
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = find_text(text, part, at, call.heap)) != TemplateText::npos; at += part.size()) ++count;
  return {count};
}

/// {{ text | format(…) }} is text % values.
Value formatted_text(const Call& call) {
  std::vector<std::pair<Value, Value>> named;
  for (const auto& [name, value] : call.named) named.emplace_back(Value{name}, value);
  const Value values = named.empty() ? call.heap.list(call.given, true) : call.heap.dict(named);
  return call.heap.text(percent_format(subject(call), values, call.heap));
}

constexpr TemplateFunction kTexts[] = {
    {"f trim chars?", strip},
    {"t strip chars?", strip},
    {"t lstrip chars?", strip, "left"},
    {"t rstrip chars?", strip, "right"},
    {"ft upper", cased, "all"},
    {"ft lower", [](const Call& c) { return c.heap.text(lower_cased(subject(c))); }},
    {"f title", cased, "Jinja"},
    {"t title", cased, "Python"},
    {"ft capitalize", cased, "first"},
    {"ft replace old new count?", replaced},
    {"t split sep? maxsplit?", split_text},
    {"t rsplit sep? maxsplit?", split_text, "right"},
    {"t splitlines", [](const Call& c) { return made_of(lines_of(c.value.text(), c.heap), c.heap); }},
    {"t startswith prefix", meets},
    {"t endswith suffix", meets, "end"},
    {"t removeprefix prefix", without},
    {"t removesuffix suffix", without, "end"},
    {"t find sub", place_of},
    {"t rfind sub", place_of, "last"},
    {"t count sub", occurrences},
    {"f format * **", formatted_text},
    {"f indent width? first? blank?", indented},
    {"f tojson ensure_ascii? indent? separators? sort_keys?", [](const Call& c) { return c.heap.text(to_json_text(c)); }},
    {"f string", [](const Call& c) { return Value{subject(c)}; }},
    {"f safe", [](const Call& c) { return c.value; }}};

}  // namespace

std::span<const TemplateFunction> template_text_functions() { return kTexts; }

TemplateText stripped(TemplateText text, const Value& set, bool left, bool right, TemplateHeap& heap) {
  const std::u32string letters = to_utf32(set.text());
  const auto goes = [&](char32_t c) {
    heap.spend(1 + letters.size());
    return set.is_text() ? letters.find(c) != std::u32string::npos : is_white_space(c) || (c >= 0x1C && c <= 0x1F);
  };
  while (left && !text.empty()) {
    std::size_t after = 0;
    if (!goes(next_code_point(text, after))) break;
    text.remove_prefix(after);
  }
  while (right && !text.empty()) {
    std::size_t before = text.size();
    if (!goes(previous_code_point(text, before))) break;
    text.remove_suffix(text.size() - before);
  }
  return text;
}

std::size_t find_text(TemplateText text, TemplateText part, std::size_t from, TemplateHeap& heap) {
  if (part.empty()) return from <= text.size() ? from : TemplateText::npos;
  for (std::size_t at = from; (at = text.find(part.front(), at)) < text.size(); ++at) {
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(part, text.substr(at)).in1 - part.begin());
    heap.spend(same + at - std::exchange(from, at) + 1);
    if (same == part.size()) return at;
  }
  heap.spend(text.size() - std::min(from, text.size()));
  return TemplateText::npos;
}

std::size_t rfind_text(TemplateText text, TemplateText part, TemplateHeap& heap) {
  for (std::size_t at = text.size() - std::min(part.size(), text.size()) + 1; at-- > 0;) {
    const auto same = static_cast<std::size_t>(std::ranges::mismatch(part, text.substr(at)).in1 - part.begin());
    heap.spend(same + 1);
    if (same == part.size()) return at;
  }
  return TemplateText::npos;
}

}  // namespace headlight::text
