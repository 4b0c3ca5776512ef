#include "text/template_value.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

/// Python's repr() of a text.
std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') result += '\\';
    result += c == '\n'   ? std::string("\\n")
              : c == '\t' ? std::string("\\t")
              : c == '\r' ? std::string("\\r")
                          : std::string(1, c);
  }
  return result + quote;
}

std::string python_text(const TemplateJson& value, bool is_inside) {
  if (value.is_string()) return is_inside ? quoted(value.get_ref<const std::string&>()) : value.get<std::string>();
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, part] : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += quoted(key) + ": ";
    text += python_text(part, true);
  }
  return value.is_array() ? "[" + text + "]" : "{" + text + "}";
}

std::string kind_name(const TemplateValue& value) {
  if (value.is_undefined()) return "an undefined value";
  return value.data ? std::string("a value of type ") + value.data->type_name() : "a function";
}

std::int64_t whole(const TemplateValue& value) {
  if (!value.data || !value.data->is_number_integer()) throw Error("{} stands for a whole number", kind_name(value));
  return value.data->get<std::int64_t>();
}

bool are_numbers(const TemplateValue& left, const TemplateValue& right) {
  return left.data && right.data && left.data->is_number() && right.data->is_number();
}

TemplateJson arithmetic(std::string_view sign, const TemplateJson& left, const TemplateJson& right) {
  const bool are_whole = left.is_number_integer() && right.is_number_integer();
  const double a = left.get<double>(), b = right.get<double>();
  if ((sign == "/" || sign == "//" || sign == "%") && b == 0.0) throw Error("a division by zero");
  if (sign == "/") return a / b;
  if (!are_whole) {
    return sign == "+"    ? a + b
           : sign == "-"  ? a - b
           : sign == "*"  ? a * b
           : sign == "//" ? std::floor(a / b)
                          : a - b * std::floor(a / b);
  }
  const auto m = left.get<std::int64_t>(), n = right.get<std::int64_t>();
  std::int64_t result = 0;
  const bool is_too_large = sign == "+"   ? __builtin_add_overflow(m, n, &result)
                            : sign == "-" ? __builtin_sub_overflow(m, n, &result)
                            : sign == "*" ? __builtin_mul_overflow(m, n, &result)
                                          : n == -1 && __builtin_sub_overflow(std::int64_t{0}, m, &result);
  if (is_too_large) throw Error("a number is too large");
  if (sign != "//" && sign != "%") return result;
  const std::int64_t rest = n == -1 ? 0 : m % n;
  const bool rounds_down = rest != 0 && (rest < 0) != (n < 0);
  if (sign == "%") return rounds_down ? rest + n : rest;
  return n == -1 ? result : m / n - (rounds_down ? 1 : 0);
}

bool contains(const TemplateValue& all, const TemplateValue& part) {
  if (all.is_undefined()) return false;
  if (all.is_text() && part.is_text()) return all.text().find(part.text()) != std::string::npos;
  if (all.members) return part.is_text() && all.members->contains(part.text());
  if (!all.data || !all.data->is_structured()) throw Error("nothing is in {}", kind_name(all));
  if (all.data->is_object()) return part.is_text() && all.data->contains(part.text());
  return part.data && std::ranges::find(*all.data, *part.data) != all.data->end();
}

bool are_equal(const TemplateValue& left, const TemplateValue& right) {
  if (left.data && right.data) return *left.data == *right.data;
  return left.is_undefined() && right.is_undefined();
}

bool is_less(const TemplateValue& left, const TemplateValue& right) {
  const bool fits = are_numbers(left, right) || (left.is_text() && right.is_text());
  if (!fits) throw Error("{} and {} have no order", kind_name(left), kind_name(right));
  return *left.data < *right.data;
}

TemplateValue sum(const TemplateValue& left, const TemplateValue& right, TemplateBudget& budget) {
  if (left.is_text() && right.is_text()) {
    budget.spend(left.text().size() + right.text().size());
    return value_of(left.text() + right.text());
  }
  if (left.data && right.data && left.data->is_array() && right.data->is_array()) {
    TemplateJson joined = *left.data;
    for (const TemplateJson& part : *right.data) joined.push_back(part);
    budget.spend(cost_of(joined));
    return value_of(std::move(joined));
  }
  throw Error("{} and {} can't be added", kind_name(left), kind_name(right));
}

TemplateValue repeated(const TemplateValue& text, const TemplateValue& times, TemplateBudget& budget) {
  const std::int64_t count = std::max<std::int64_t>(whole(times), 0);
  std::string all;
  for (std::int64_t i = 0; i < count && !text.text().empty(); ++i) {
    budget.spend(text.text().size());
    all += text.text();
  }
  return value_of(std::move(all));
}

}  // namespace

void TemplateBudget::spend(std::size_t bytes) {
  if (bytes > bytes_) throw Error("it takes more steps or makes more text than a chat template may");
  bytes_ -= bytes;
}

TemplateValue TemplateArguments::get(std::size_t place, std::string_view name) const {
  if (place < list.size()) return list[place];
  const auto found = named.find(name);
  return found == named.end() ? TemplateValue() : found->second;
}

std::int64_t number_or(const TemplateValue& value, std::int64_t fallback) {
  if (value.is_undefined() || (value.data && value.data->is_null())) return fallback;
  if (!value.data || !value.data->is_number_integer()) throw Error("a whole number is needed");
  return value.data->get<std::int64_t>();
}

bool is_true(const TemplateValue& value) {
  if (!value.data) return !value.is_undefined();
  const TemplateJson& data = *value.data;
  if (data.is_boolean()) return data.get<bool>();
  if (data.is_number()) return data.get<double>() != 0.0;
  if (data.is_string()) return !value.text().empty();
  return data.is_structured() && !data.empty();
}

std::size_t cost_of(const TemplateJson& value, unsigned depth) {
  constexpr unsigned kDeepestValue = 150;
  if (depth > kDeepestValue) throw Error("lists are nested too deeply");
  if (value.is_string()) return 16 + value.get_ref<const std::string&>().size();
  std::size_t cost = 16;
  for (const auto& [key, part] : value.items()) {
    if (value.is_structured()) cost += key.size() + cost_of(part, depth + 1);
  }
  return cost;
}

std::string to_python_text(const TemplateValue& value) {
  if (value.is_undefined()) return {};
  if (!value.data) throw Error("a namespace or a macro is no text");
  return python_text(*value.data, false);
}

std::vector<TemplateValue> elements_of(const TemplateValue& value) {
  std::vector<TemplateValue> all;
  if (value.is_undefined()) return all;
  if (value.is_text()) {
    for (std::size_t at = 0; at < value.text().size();) {
      const std::size_t length = character_length(value.text(), at);
      all.push_back(value_of(value.text().substr(at, length)));
      at += length;
    }
    return all;
  }
  if (!value.data || !value.data->is_structured()) throw Error("{} has no elements", kind_name(value));
  for (const auto& [key, part] : value.data->items())
    all.push_back(value.data->is_array() ? value.part(part) : value_of(key));
  return all;
}

TemplateValue item_of(const TemplateValue& value, const TemplateValue& key) {
  if (value.is_undefined()) throw Error("an undefined value has no \"{}\"", key.data ? to_python_text(key) : "");
  if (key.is_text()) {
    if (value.members) {
      const auto found = value.members->find(key.text());
      return found == value.members->end() ? TemplateValue() : found->second;
    }
    const auto found = value.data && value.data->is_object() ? value.data->find(key.text()) : TemplateJson::const_iterator();
    return value.data && value.data->is_object() && found != value.data->end() ? value.part(*found) : TemplateValue();
  }
  const bool is_list = value.data && (value.data->is_array() || value.is_text());
  if (!is_list || !key.data || !key.data->is_number_integer()) return {};
  const auto place = key.data->get<std::int64_t>();
  if (value.data->is_array()) {
    const auto size = static_cast<std::int64_t>(value.data->size());
    const std::int64_t at = place < 0 ? place + size : place;
    return at >= 0 && at < size ? value.part((*value.data)[static_cast<std::size_t>(at)]) : TemplateValue();
  }
  const std::vector<TemplateValue> letters = elements_of(value);
  const auto size = static_cast<std::int64_t>(letters.size());
  const std::int64_t at = place < 0 ? place + size : place;
  return at >= 0 && at < size ? letters[static_cast<std::size_t>(at)] : TemplateValue();
}

TemplateValue slice_of(const TemplateValue& value, const TemplateValue& begin, const TemplateValue& end,
                       const TemplateValue& step) {
  const std::vector<TemplateValue> all = elements_of(value);
  const auto size = static_cast<std::int64_t>(all.size());
  const auto given = [](const TemplateValue& bound) { return bound.data && !bound.data->is_null(); };
  const std::int64_t stride = given(step) ? whole(step) : 1;
  if (stride == 0) throw Error("a slice has the step 0");
  const std::int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? size : size - 1;
  const auto bound = [&](const TemplateValue& of, std::int64_t usual) {
    if (!given(of)) return usual;
    const std::int64_t place = whole(of);
    return std::clamp(place < 0 ? std::max(place, -size - 1) + size : place, lowest, highest);
  };
  const std::int64_t first = bound(begin, stride > 0 ? lowest : highest), last = bound(end, stride > 0 ? highest : lowest);
  TemplateJson list = TemplateJson::array();
  std::string text;
  for (std::int64_t at = first; stride > 0 ? at < last : at > last;) {
    const TemplateValue& part = all[static_cast<std::size_t>(at)];
    if (value.is_text())
      text += part.text();
    else
      list.push_back(*part.data);
    if (stride > 0 ? stride > last - at : stride < last - at) break;
    at += stride;
  }
  return value.is_text() ? value_of(std::move(text)) : value_of(std::move(list));
}

TemplateValue operate(std::string_view sign, const TemplateValue& left, const TemplateValue& right, TemplateBudget& budget) {
  if (sign == "==") return value_of(are_equal(left, right));
  if (sign == "!=") return value_of(!are_equal(left, right));
  if (sign == "in") return value_of(contains(right, left));
  if (sign == "<") return value_of(is_less(left, right));
  if (sign == ">") return value_of(is_less(right, left));
  if (sign == "<=") return value_of(!is_less(right, left));
  if (sign == ">=") return value_of(!is_less(left, right));
  if (sign == "~") return sum(value_of(to_python_text(left)), value_of(to_python_text(right)), budget);
  if (are_numbers(left, right)) return value_of(arithmetic(sign, *left.data, *right.data));
  if (sign == "*" && left.is_text()) return repeated(left, right, budget);
  if (sign == "+") return sum(left, right, budget);
  throw Error("\"{}\" has no meaning between {} and {}", sign, kind_name(left), kind_name(right));
}

}  // namespace headlight::text
