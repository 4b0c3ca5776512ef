#include "text/template_functions.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "text/unicode.h"

namespace headlight::text {
namespace {

/// A value by a specification of {fmt}, whose are Python's but for rare ones; empty: as str() has it.
std::string formatted(const TemplateValue& value, const std::string& spec, TemplateHeap& heap) {
  if (spec.empty()) return to_python_text(value, heap);
  heap.spend(10'000);  // the longest that four digits ask for
  const bool is_real = TemplateText("feEgG").find(spec.back()) != TemplateText::npos;
  try {
    if (std::ranges::count_if(spec, [](char c) { return c >= '0' && c <= '9'; }) > 4) throw fmt::format_error("");
    const std::string form = "{:" + spec + "}";
    if (is_real && value.is_number()) return fmt::format(fmt::runtime(form), value.real());
    if (value.is_whole()) return fmt::format(fmt::runtime(form), value.whole());
    if (value.is_text()) return fmt::format(fmt::runtime(form), value.text());
  } catch (const fmt::format_error&) {  // the error below says what it is
  }
  throw Error("Headlight doesn't write {} in the format \"{}\"", kind_of(value), spec);
}

/// Settings of Python's json.dumps().
struct JsonForm {
  bool is_ascii = false, sorts = false;
  std::optional<std::string> indent = {};
  std::string between = ", ", after_key = ": ";
};

void append_json(std::string& out, const TemplateValue& value, const JsonForm& form, std::size_t level, TemplateHeap& heap) {
  heap.spend(Budget::kStep + value.text().size());
  const auto append_text = [&](TemplateText text) {
    out += nlohmann::json(text).dump(-1, ' ', form.is_ascii, nlohmann::json::error_handler_t::replace);
  };
  const auto append_line = [&](std::size_t indents) {
    if (!form.indent) return;
    out += '\n';
    heap.spend(indents * form.indent->size());
    for (std::size_t i = 0; i < indents; ++i) out += *form.indent;
  };
  const auto append_all = [&](const auto& parts, TemplateText brackets, auto append) {
    out += brackets[0];
    for (const auto& part : parts) {
      if (&part != parts.data()) out += form.between;
      append_line(level + 1);
      append(part);
    }
    if (!parts.empty()) append_line(level);
    out += brackets[1];
  };
  if (value.is_text()) {
    append_text(value.text());
  } else if (const TemplateList* list = value.list()) {
    append_all(list->parts, "[]", [&](const TemplateValue& part) { append_json(out, part, form, level + 1, heap); });
  } else if (const TemplateDict* dict = value.dict()) {
    auto members = dict->members;
    if (form.sorts)
      std::ranges::stable_sort(members, [&](const auto& a, const auto& b) { return is_less(a.first, b.first, heap); });
    append_all(members, "{}", [&](const auto& member) {
      std::string key;
      append_json(key, member.first, form, 0, heap);
      if (member.first.is_text())
        out += key;
      else
        append_text(key);
      out += form.after_key;
      append_json(out, member.second, form, level + 1, heap);
    });
  } else if (value.is<bool>()) {
    out += value.as<bool>() ? "true" : "false";
  } else if (value.is<std::nullptr_t>()) {
    out += "null";
  } else if (value.is_number()) {
    const std::string number = to_python_text(value, heap);
    out += number == "nan" ? "NaN" : number == "inf" ? "Infinity" : number == "-inf" ? "-Infinity" : number;
  } else {
    throw Error("tojson of {}", kind_of(value));
  }
}

}  // namespace

std::string percent_format(TemplateText text, const TemplateValue& values, TemplateHeap& heap) {
  std::string out;
  std::size_t used = 0, at = 0;
  const TemplateValues all =
      values.list() != nullptr && values.list()->is_tuple ? values.list()->parts : TemplateValues{values};
  heap.spend(text.size());
  const auto take_while = [&](TemplateText letters) {
    const std::size_t begin = at;
    at = std::min(text.find_first_not_of(letters, at), text.size());
    return std::string(text.substr(begin, at - begin));
  };
  while (at < text.size()) {
    if (text[at++] != '%') {
      out += text[at - 1];
      continue;
    }
    TemplateText key;
    if (text.substr(at, 1) == "(") {
      const std::size_t end = std::min(text.find(')', at), text.size() - 1);
      key = text.substr(at + 1, end - at - 1);
      at = end + 1;
    }
    const std::string flags = take_while("-+ 0"), width = take_while("0123456789.");
    const char type = at < text.size() ? text[at++] : '\0';
    if (type == '%') {
      out += type;
      continue;
    }
    const TemplateValue* found = !key.empty() && values.dict() != nullptr ? values.dict()->find({key}) : nullptr;
    if (found == nullptr && (!key.empty() || used == all.size())) throw Error("\"%\" has no value for \"{}{}\"", key, type);
    TemplateValue value = found != nullptr ? *found : all[used++];
    const std::string shown = type == 's' ? to_python_text(value, heap) : "";
    if (type == 's') value = {TemplateText(shown)};
    const bool is_whole = type == 'd' || type == 'i';
    if (is_whole && value.is<double>()) value = {static_cast<std::int64_t>(std::clamp(value.real(), -9e18, 9e18))};
    std::string spec = flags.find('-') != std::string::npos ? "<" : type == 's' && !width.empty() ? ">" : "";
    if (flags.find('+') != std::string::npos) spec += '+';
    if (flags.find('0') != std::string::npos && spec != "<") spec += '0';
    spec += width;
    if (type != 's') spec += is_whole ? 'd' : type;
    out += formatted(value, spec, heap);
  }
  if (used < all.size() && values.dict() == nullptr) throw Error("\"%\" has more values than its text asks for");
  return out;
}

std::string noon_text(TemplateText format, TemplateHeap& heap) {
  static constexpr TemplateText kTexts =
      "|%a=Fri|%A=Friday|%w=5|%u=5|%d=26|%-d=26|%e=26|%b=Jul|%h=Jul|%B=July|%m=07|%-m=7|%y=24|%-y=24|%Y=2024|%C=20|%G=2024|"
      "%g=24|%H=12|%-H=12|%k=12|%I=12|%-I=12|%l=12|%p=PM|%P=pm|%M=00|%-M=0|%S=00|%-S=0|%f=000000|%z=|%Z=|%j=208|%-j=208|"
      "%U=29|%W=30|%V=30|%c=Fri Jul 26 12:00:00 2024|%x=07/26/24|%X=12:00:00|%D=07/26/24|%F=2024-07-26|%T=12:00:00|%R=12:00|"
      "%r=12:00:00 PM|%n=\n|%t=\t|%%=%|";
  std::string text;
  heap.spend(format.size() * kTexts.size());
  for (std::size_t at = 0; at < format.size();) {
    const std::size_t size = format[at] != '%' ? 1 : format.substr(at + 1, 1) == "-" ? 3 : 2;
    const TemplateText part = format.substr(at, size);
    at += size;
    const std::size_t found = kTexts.find(fmt::format("|{}=", part)), begin = found + part.size() + 2;
    if (size == 1)
      text += part;
    else if (found == TemplateText::npos)
      throw Error("Headlight doesn't know the directive {} of strftime_now()", part);
    else
      text += kTexts.substr(begin, kTexts.find('|', begin) - begin);
  }
  return text;
}

std::string to_json_text(const TemplateCall& call) {
  JsonForm form{.is_ascii = is_true(call[0]), .sorts = is_true(call[3])};
  if (call[1].is_text())
    form.indent = std::string(call[1].text());
  else if (!call[1].is_missing())
    form.indent = std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(number_or(call[1], 0), 0, 1000)), ' ');
  if (form.indent) form.between = ",";
  if (!call[2].is_missing()) {
    const TemplateValues separators = elements_of(call[2], call.heap);
    if (separators.size() != 2) throw Error("tojson needs two separators");
    form.between = text_of(separators[0]);
    form.after_key = text_of(separators[1]);
  }
  std::string text;
  append_json(text, call.value, form, 0, call.heap);
  return text;
}

}  // namespace headlight::text
