#include <utf8proc.h>
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "text/template_value.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

using Value = TemplateValue;
using Arguments = TemplateArguments;

/// A filter's or a method's subject, and what it gets.
struct Call {
  const Value& value;
  const Arguments& arguments;
  TemplateBudget& budget;

  Value get(std::size_t place, std::string_view name = {}) const { return arguments.get(place, name); }
  std::string text() const { return to_python_text(value); }
};

const std::string& text_of(const Value& value) {
  if (!value.is_text()) throw Error("a text is needed, not {}", value.data ? value.data->type_name() : "an undefined value");
  return value.text();
}

std::string text_or(const Value& value, std::string_view fallback) {
  return value.is_undefined() || (value.data && value.data->is_null()) ? std::string(fallback) : text_of(value);
}

/// Without the characters of `set` at the ends, or without white space where it is none.
std::string_view stripped(std::string_view text, const Value& set, bool left, bool right) {
  const std::u32string letters = set.is_text() ? to_utf32(set.text()) : std::u32string();
  const auto goes = [&](char32_t c) {
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

Value strip(const Call& call, bool left, bool right) {
  return value_of(std::string(stripped(call.text(), call.get(0, "chars"), left, right)));
}

Value replaced(const Call& call) {
  const std::string text = call.text(), from = text_of(call.get(0, "old")), to = text_of(call.get(1, "new"));
  std::int64_t count = number_or(call.get(2, "count"), -1);
  std::string result;
  std::size_t at = 0;
  for (; count != 0; --count) {
    const std::size_t found = text.find(from, at);
    if (found == std::string::npos) break;
    const std::size_t step = from.empty() ? (found < text.size() ? character_length(text, found) : 1) : 0;
    call.budget.spend(to.size() + found - at + 1);
    result.append(text, at, found - at).append(to);
    if (from.empty() && found < text.size()) result.append(text, found, step);
    at = found + from.size() + step;
    if (at > text.size()) break;
  }
  if (at < text.size()) result.append(text, at);
  return value_of(std::move(result));
}

/// Letters in upper or lower case; with `title`, the first of each word in upper case. A letter that has several capitals
/// stays.
enum class LetterCase { Upper, Lower, Title };
std::string cased(std::string_view text, LetterCase wanted) {
  std::string result;
  bool begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    std::u32string letters;
    if (wanted == LetterCase::Upper || (wanted == LetterCase::Title && begins)) {
      letters = static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
    } else {
      append_lower_case(letters, c);
    }
    for (const char32_t letter : letters) append_utf8(result, letter);
    const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    begins = category < UTF8PROC_CATEGORY_LU || category > UTF8PROC_CATEGORY_LO;
  }
  return result;
}

std::string capitalized(std::string_view text) {
  const std::size_t first = text.empty() ? 0 : character_length(text, 0);
  return cased(text.substr(0, first), LetterCase::Upper) + lower_cased(text.substr(first));
}

/// json.dumps(): "," and ":" are followed by spaces.
void append_json(std::string& out, const TemplateJson& value) {
  if (!value.is_structured()) {
    out += value.dump(-1, ' ', false, TemplateJson::error_handler_t::replace);
    return;
  }
  out += value.is_array() ? '[' : '{';
  bool is_first = true;
  for (const auto& [key, part] : value.items()) {
    if (!is_first) out += ", ";
    is_first = false;
    if (value.is_object()) out += TemplateJson(key).dump() + ": ";
    append_json(out, part);
  }
  out += value.is_array() ? ']' : '}';
}

Value to_json(const Call& call) {
  const Value& value = call.value;
  if (!value.data) throw Error("tojson of an undefined value");
  const std::int64_t indent = std::clamp<std::int64_t>(number_or(call.get(0, "indent"), -1), -1, 16);
  std::string text;
  if (indent >= 0)
    text = value.data->dump(static_cast<int>(indent), ' ', false, TemplateJson::error_handler_t::replace);
  else
    append_json(text, *value.data);
  call.budget.spend(text.size());
  return value_of(std::move(text));
}

Value joined(const std::vector<Value>& parts, const std::string& between, TemplateBudget& budget) {
  std::string text;
  for (const Value& part : parts) {
    const std::string one = to_python_text(part);
    budget.spend(one.size() + between.size());
    text += (&part == parts.data() ? "" : between) + one;
  }
  return value_of(std::move(text));
}

Value list_of(const std::vector<Value>& parts) {
  TemplateJson list = TemplateJson::array();
  for (const Value& part : parts) {
    if (part.data) list.push_back(*part.data);
  }
  return value_of(std::move(list));
}

/// "a.b" of a value, undefined where it has no such member.
Value attribute_of(Value value, std::string_view path) {
  while (!path.empty() && !value.is_undefined()) {
    const std::string_view name = path.substr(0, path.find('.'));
    value = item_of(value, value_of(std::string(name)));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
  return value;
}

/// select, reject, selectattr, rejectattr: arguments from `first` on are a test and its own.
Value selected(const Call& call, bool by_attribute, bool wanted) {
  const Arguments& arguments = call.arguments;
  const std::size_t first = by_attribute ? 1 : 0;
  const std::string name = text_or(arguments.get(first, "test"), "");
  if (!name.empty() && !is_template_test(name)) throw Error("Headlight doesn't know the test \"{}\"", name);
  Arguments rest;
  for (std::size_t i = first + 1; i < arguments.list.size(); ++i) rest.list.push_back(arguments.list[i]);
  std::vector<Value> parts = elements_of(call.value);
  std::erase_if(parts, [&](const Value& part) {
    const Value of = by_attribute ? attribute_of(part, text_of(arguments.get(0, "attribute"))) : part;
    return (name.empty() ? is_true(of) : meets_template_test(name, of, rest)) != wanted;
  });
  return list_of(parts);
}

/// Those parts of a list's elements; the elements themselves where no part is named.
std::vector<Value> attributes_of(const Value& list, const Value& attribute) {
  std::vector<Value> parts = elements_of(list);
  for (Value& part : parts) part = attribute.is_undefined() ? part : attribute_of(part, text_of(attribute));
  return parts;
}

Value mapped(const Call& call) {
  const Value attribute = call.get(call.arguments.list.size(), "attribute"),
              missing = call.get(call.arguments.list.size(), "default");
  std::vector<Value> parts = attributes_of(call.value, attribute);
  if (attribute.is_undefined()) {
    const std::string name = text_of(call.get(0));
    if (!is_template_filter(name)) throw Error("Headlight doesn't know the filter \"{}\"", name);
    const Arguments rest{{call.arguments.list.begin() + 1, call.arguments.list.end()}, {}};
    for (Value& part : parts) part = apply_template_filter(name, part, rest, call.budget);
  }
  for (Value& part : parts) part = part.is_undefined() ? missing : part;
  return list_of(parts);
}

Value or_default(const Call& call) {
  const bool is_missing = call.value.is_undefined() || (is_true(call.get(1, "boolean")) && !is_true(call.value));
  const Value other = call.get(0, "default_value");
  return !is_missing ? call.value : other.is_undefined() ? value_of("") : other;
}

Value to_items(const Value& value) {
  TemplateJson items = TemplateJson::array();
  if (value.data && value.data->is_object()) {
    for (const auto& [key, part] : value.data->items()) items.push_back(TemplateJson::array({key, part}));
  }
  return value_of(std::move(items));
}

Value count_of(const Value& value) {
  if (value.is_text()) return value_of(count_code_points(value.text()));
  return value_of(value.data && value.data->is_structured() ? value.data->size() : elements_of(value).size());
}

Value to_whole(const Call& call) {
  const Value& value = call.value;
  try {
    if (value.is_text()) return value_of(static_cast<std::int64_t>(std::stoll(value.text())));
  } catch (const std::exception&) {
    return value_of(number_or(call.get(0, "default"), 0));
  }
  const bool is_number = value.data && value.data->is_number() && std::abs(value.data->get<double>()) < 1e15;
  return value_of(is_number ? static_cast<std::int64_t>(value.data->get<double>()) : number_or(call.get(0, "default"), 0));
}

Value without_repetitions(const Value& value) {
  std::vector<Value> parts;
  for (const Value& part : elements_of(value)) {
    if (std::ranges::none_of(parts, [&](const Value& known) { return *known.data == *part.data; })) parts.push_back(part);
  }
  return list_of(parts);
}

Value end_of(const Value& value, bool is_last) {
  const std::vector<Value> parts = elements_of(value);
  return parts.empty() ? Value() : is_last ? parts.back() : parts.front();
}

Value in_reverse(const Value& value) {
  std::vector<Value> parts = elements_of(value);
  std::ranges::reverse(parts);
  if (!value.is_text()) return list_of(parts);
  std::string text;
  for (const Value& part : parts) text += part.text();
  return value_of(std::move(text));
}

/// str.split(separator, most) and rsplit(): without a separator at runs of white space.
Value split_text(const Call& call, bool from_right) {
  const std::string text = call.text();
  const Value separator = call.get(0, "sep");
  std::int64_t most = number_or(call.get(1, "maxsplit"), -1);
  std::vector<std::string> parts;
  std::string_view rest = text;
  const bool at_spaces = !separator.is_text();
  if (!at_spaces && separator.text().empty()) throw Error("a text is split at nothing");
  const std::string_view cut = at_spaces ? " " : std::string_view(separator.text());
  const auto find = [&] {
    if (!at_spaces) return from_right ? rest.rfind(cut) : rest.find(cut);
    return from_right ? rest.find_last_of(" \t\n\r\v\f") : rest.find_first_of(" \t\n\r\v\f");
  };
  if (at_spaces) rest = stripped(rest, {}, true, true);
  for (; most != 0; --most) {
    const std::size_t found = find();
    if (found == std::string_view::npos) break;
    parts.emplace_back(from_right ? rest.substr(found + cut.size()) : rest.substr(0, found));
    rest = from_right ? rest.substr(0, found) : rest.substr(found + cut.size());
    if (at_spaces) rest = stripped(rest, {}, !from_right, from_right);
  }
  if (!at_spaces || !rest.empty()) parts.emplace_back(rest);
  if (from_right) std::ranges::reverse(parts);
  return value_of(TemplateJson(parts));
}

/// startswith() and endswith(), of a text or any of a list of texts.
bool meets(const std::string& text, const Value& with, bool at_end) {
  const std::vector<Value> all = with.is_text() ? std::vector{with} : elements_of(with);
  return std::ranges::any_of(
      all, [&](const Value& one) { return at_end ? text.ends_with(text_of(one)) : text.starts_with(text_of(one)); });
}

Value place_of(const std::string& text, std::size_t at) {
  return value_of(at == std::string::npos ? -1 : static_cast<std::int64_t>(count_code_points(text.substr(0, at))));
}

Value without(const std::string& text, const std::string& affix, bool at_end) {
  const bool has = at_end ? text.ends_with(affix) : text.starts_with(affix);
  if (!has) return value_of(text);
  return value_of(at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size()));
}

std::int64_t occurrences(const std::string& text, const std::string& part) {
  std::int64_t count = 0;
  for (std::size_t at = 0; !part.empty() && (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

Value lines_of(const std::string& text) {
  TemplateJson lines = TemplateJson::array();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return value_of(std::move(lines));
}

enum Use : unsigned char { Filter = 1, Method = 2, Both = 3 };
struct Function {
  std::string_view name;
  Use use;
  Value (*run)(const Call& call);
};
constexpr Function kFunctions[] = {
    {"trim", Filter, [](const Call& c) { return strip(c, true, true); }},
    {"strip", Method, [](const Call& c) { return strip(c, true, true); }},
    {"lstrip", Method, [](const Call& c) { return strip(c, true, false); }},
    {"rstrip", Method, [](const Call& c) { return strip(c, false, true); }},
    {"upper", Both, [](const Call& c) { return value_of(cased(c.text(), LetterCase::Upper)); }},
    {"lower", Both, [](const Call& c) { return value_of(lower_cased(c.text())); }},
    {"title", Both, [](const Call& c) { return value_of(cased(c.text(), LetterCase::Title)); }},
    {"capitalize", Both, [](const Call& c) { return value_of(capitalized(c.text())); }},
    {"replace", Both, replaced},
    {"split", Method, [](const Call& c) { return split_text(c, false); }},
    {"rsplit", Method, [](const Call& c) { return split_text(c, true); }},
    {"splitlines", Method, [](const Call& c) { return lines_of(c.text()); }},
    {"startswith", Method, [](const Call& c) { return value_of(meets(c.text(), c.get(0), false)); }},
    {"endswith", Method, [](const Call& c) { return value_of(meets(c.text(), c.get(0), true)); }},
    {"find", Method, [](const Call& c) { return place_of(c.text(), c.text().find(text_of(c.get(0)))); }},
    {"rfind", Method, [](const Call& c) { return place_of(c.text(), c.text().rfind(text_of(c.get(0)))); }},
    {"count", Method, [](const Call& c) { return value_of(occurrences(c.text(), text_of(c.get(0)))); }},
    {"join", Method, [](const Call& c) { return joined(elements_of(c.get(0)), c.text(), c.budget); }},
    {"removeprefix", Method, [](const Call& c) { return without(c.text(), text_of(c.get(0)), false); }},
    {"removesuffix", Method, [](const Call& c) { return without(c.text(), text_of(c.get(0)), true); }},
    {"join", Filter,
     [](const Call& c) {
       return joined(attributes_of(c.value, c.get(1, "attribute")), text_or(c.get(0, "d"), ""), c.budget);
     }},
    {"tojson", Filter, to_json},
    {"length", Filter, [](const Call& c) { return count_of(c.value); }},
    {"count", Filter, [](const Call& c) { return count_of(c.value); }},
    {"default", Filter, or_default},
    {"d", Filter, or_default},
    {"select", Filter, [](const Call& c) { return selected(c, false, true); }},
    {"reject", Filter, [](const Call& c) { return selected(c, false, false); }},
    {"selectattr", Filter, [](const Call& c) { return selected(c, true, true); }},
    {"rejectattr", Filter, [](const Call& c) { return selected(c, true, false); }},
    {"map", Filter, mapped},
    {"list", Filter, [](const Call& c) { return list_of(elements_of(c.value)); }},
    {"first", Filter, [](const Call& c) { return end_of(c.value, false); }},
    {"last", Filter, [](const Call& c) { return end_of(c.value, true); }},
    {"reverse", Filter, [](const Call& c) { return in_reverse(c.value); }},
    {"unique", Filter, [](const Call& c) { return without_repetitions(c.value); }},
    {"items", Filter, [](const Call& c) { return to_items(c.value); }},
    {"string", Filter, [](const Call& c) { return value_of(c.text()); }},
    {"int", Filter, to_whole},
    {"safe", Filter, [](const Call& c) { return c.value; }}};

/// Null where there is none of this use.
const Function* find_function(std::string_view name, Use use) {
  const auto found =
      std::ranges::find_if(kFunctions, [&](const Function& of) { return of.name == name && (of.use & use) != 0; });
  return found == std::end(kFunctions) ? nullptr : &*found;
}

/// keys(), values(), items() and get() of a dictionary.
Value call_on_dictionary(const Value& value, std::string_view name, const Arguments& arguments) {
  if (name == "items") return to_items(value);
  if (name == "keys") return list_of(elements_of(value));
  if (name == "get") {
    Value found = item_of(value, arguments.get(0, ""));
    if (!found.is_undefined()) return found;
    return arguments.get(1, "").is_undefined() ? value_of(nullptr) : arguments.get(1, "");
  }
  if (name != "values") throw Error("Headlight doesn't know the method {}() of a dictionary", name);
  TemplateJson list = TemplateJson::array();
  for (const auto& [key, part] : value.data->items()) list.push_back(part);
  return value_of(std::move(list));
}

}  // namespace

bool is_template_filter(std::string_view name) { return find_function(name, Filter) != nullptr; }

TemplateValue apply_template_filter(std::string_view name, const Value& value, const Arguments& arguments,
                                    TemplateBudget& budget) {
  return find_function(name, Filter)->run({value, arguments, budget});
}

TemplateValue call_method(const Value& value, std::string_view name, const Arguments& arguments, TemplateBudget& budget) {
  if (value.data && value.data->is_object()) return call_on_dictionary(value, name, arguments);
  if (!value.is_text()) throw Error("{}() of a value that has no such method", name);
  const Function* method = find_function(name, Method);
  if (method == nullptr) throw Error("Headlight doesn't know the method {}() of a text", name);
  return method->run({value, arguments, budget});
}

}  // namespace headlight::text
