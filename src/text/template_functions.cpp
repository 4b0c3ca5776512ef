#include "text/template_functions.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/unicode.h"

namespace headlight::text {

namespace {

/// Takes the first word of a text.
TemplateText take_word(TemplateText& text) {
  const TemplateText word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

/// Null where there is none of this use.
const TemplateFunction* find_function(TemplateText name, TemplateUse use) {
  for (const auto functions :
       {template_text_functions(), template_list_functions(), template_number_functions(), template_tests()}) {
    for (const TemplateFunction& function : functions) {
      TemplateText rest = function.signature;
      const bool has_use = take_word(rest).find(static_cast<char>(use)) != TemplateText::npos;
      if (has_use && take_word(rest) == name) return &function;
    }
  }
  return nullptr;
}

}  // namespace

TemplateValue call_template_function(const TemplateFunction& function, const TemplateValue& value,
                                     const TemplateArguments& arguments, TemplateHeap& heap) {
  TemplateCall call{.heap = heap, .value = value, .detail = function.detail};
  TemplateArguments::Named named = arguments.named;
  std::size_t place = 0;
  TemplateText rest = function.signature;
  take_word(rest);
  const TemplateText called = take_word(rest);
  while (!rest.empty()) {
    TemplateText name = take_word(rest);
    const bool may_miss = name.ends_with('?');
    if (may_miss) name.remove_suffix(1);
    const auto found = std::ranges::find(named, name, [](const auto& one) { return one.first; });
    if (name == "*") {
      call.given = {arguments.list.begin() + static_cast<std::ptrdiff_t>(place), arguments.list.end()};
      place = arguments.list.size();
    } else if (name == "**") {
      call.named = std::exchange(named, {});
    } else if (place < arguments.list.size()) {
      call.given.push_back(arguments.list[place++]);
    } else if (found != named.end()) {
      call.given.push_back(found->second);
      named.erase(found);
    } else if (may_miss) {
      call.given.emplace_back();
    } else {
      throw Error("{} needs its argument \"{}\"", called, name);
    }
  }
  if (place < arguments.list.size()) throw Error("{} gets more arguments than it takes", called);
  if (!named.empty()) throw Error("Headlight doesn't know the argument \"{}\" of {}", named.front().first, called);
  return function.run(call);
}

TemplateValue apply_template_function(TemplateUse use, TemplateText name, const TemplateValue& value,
                                      const TemplateArguments& arguments, TemplateHeap& heap) {
  if (const TemplateFunction* function = find_function(name, use))
    return call_template_function(*function, value, arguments, heap);
  throw Error("Headlight doesn't know the {} \"{}\"",
              use == TemplateUse::Filter ? "filter"
              : use == TemplateUse::Test ? "test"
                                         : "function",
              name);
}

TemplateValue attribute_of(const TemplateValue& value, TemplateText name, TemplateHeap& heap) {
  const bool is_loop = value.space() != nullptr && value.space()->is_loop, is_dict = value.dict() != nullptr;
  const TemplateFunction* function = value.is_text() ? find_function(name, TemplateUse::Text)
                                     : is_dict       ? find_function(name, TemplateUse::Dict)
                                     : is_loop       ? find_function(name, TemplateUse::Loop)
                                                     : nullptr;
  if (function != nullptr) return heap.callable({.function = function, .of = value});
  return item_of(value, {name}, heap);
}

TemplateText text_of(const TemplateValue& value) {
  if (!value.is_text()) throw Error("a text is needed, not {}", kind_of(value));
  return value.text();
}

TemplateText text_or(const TemplateValue& value, TemplateText fallback) {
  return value.is_missing() ? fallback : text_of(value);
}

}  // namespace headlight::text

// Tests of a template's "is": {{ value is defined }}.
namespace headlight::text {
namespace {

using Value = TemplateValue;
using Call = TemplateCall;

/// `detail`: the sign of the comparison.
Value compared(const Call& call) { return {compare(call.detail, call.value, call[0], call.heap)}; }

std::int64_t rest_of(const Call& call, std::int64_t divisor) {
  if (divisor == 0) throw Error("a division by zero");
  return number_or(call.value, 0) % divisor;
}

template <typename T>
Value has_type(const Call& call) {
  return {call.value.is<T>()};
}

/// Text, list and dictionary have a length and elements.
bool has_elements(const Value& value) { return value.is_text() || value.list() != nullptr || value.dict() != nullptr; }

constexpr TemplateFunction kTests[] = {
    {"i defined", [](const Call& c) { return Value{!c.value.is_undefined()}; }},
    {"i undefined", has_type<std::monostate>},
    {"i none", has_type<std::nullptr_t>},
    {"i string", has_type<TemplateText>},
    {"i mapping", has_type<const TemplateDict*>},
    {"i sequence", [](const Call& c) { return Value{has_elements(c.value) || c.value.is_undefined()}; }},
    {"i iterable", [](const Call& c) { return Value{has_elements(c.value) || c.value.is_undefined()}; }},
    {"i number", [](const Call& c) { return Value{c.value.is_number()}; }},
    {"i integer", has_type<std::int64_t>},
    {"i float", has_type<double>},
    {"i boolean", has_type<bool>},
    {"i true", [](const Call& c) { return Value{c.value.as<bool>()}; }},
    {"i false", [](const Call& c) { return Value{c.value.is<bool>() && !c.value.as<bool>()}; }},
    {"i callable", [](const Call& c) { return Value{c.value.callable() != nullptr}; }},
    {"i even", [](const Call& c) { return Value{rest_of(c, 2) == 0}; }},
    {"i odd", [](const Call& c) { return Value{rest_of(c, 2) != 0}; }},
    {"i divisibleby num", [](const Call& c) { return Value{rest_of(c, number_or(c[0], 0)) == 0}; }},
    {"i sameas other",
     [](const Call& c) { return Value{c.value.data.index() == c[0].data.index() && are_equal(c.value, c[0], c.heap)}; }},
    {"i equalto other", compared, "=="},
    {"i eq other", compared, "=="},
    {"i == other", compared, "=="},
    {"i ne other", compared, "!="},
    {"i != other", compared, "!="},
    {"i lt other", compared, "<"},
    {"i lessthan other", compared, "<"},
    {"i le other", compared, "<="},
    {"i gt other", compared, ">"},
    {"i greaterthan other", compared, ">"},
    {"i ge other", compared, ">="},
    {"i in seq", compared, "in"}};

}  // namespace

std::span<const TemplateFunction> template_tests() { return kTests; }

}  // namespace headlight::text

// Filters of numbers, and range().
namespace headlight::text {
namespace {

using Value = TemplateValue;
using Call = TemplateCall;

/// Digits of a text, without white space around them and single "_" between them.
std::string digits_of(const Call& call) {
  std::string digits(stripped(call.value.text(), {}, true, true, call.heap));
  if (digits.starts_with('_') || digits.ends_with('_') || digits.find("__") != std::string::npos) return "";
  std::erase(digits, '_');
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.erase(0, 1);
  return digits;
}

Value to_real(const Call& call, const Value& otherwise) {
  if (call.value.is_undefined()) throw Error("a number is needed, not an undefined value");
  if (call.value.is_number()) return {call.value.real()};
  double real = 0.0;
  const std::string digits = digits_of(call);
  const char* end = digits.data() + digits.size();
  const bool is_real = !digits.empty() && std::from_chars(digits.data(), end, real).ptr == end;
  return is_real ? Value{real} : otherwise;
}

Value to_whole(const Call& call) {
  const Value otherwise = call[0].is_undefined() ? Value{std::int64_t{0}} : call[0];
  if (call.value.is_whole()) return {call.value.whole()};
  if (call.value.is_text()) {
    std::string digits = digits_of(call);
    std::int64_t whole = 0, base = number_or(call[1], 10);
    const bool is_negative = digits.starts_with('-');
    std::string prefix = lower_cased(digits.substr(is_negative ? 1 : 0, 2));
    const std::int64_t named = prefix == "0x" ? 16 : prefix == "0o" ? 8 : prefix == "0b" ? 2 : 0;
    if (named != 0 && (base == 0 || base == named)) digits.erase(is_negative ? 1 : 0, 2);
    if (base == 0) base = named == 0 ? 10 : named;
    if (base < 2 || base > 36) throw Error("int has the base {}", base);
    const char* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, whole, static_cast<int>(base));
    if (read.ptr == end && read.ec == std::errc()) return {whole};
    if (read.ptr == end && read.ec == std::errc::result_out_of_range) throw Error("a number is too large");
  }
  const Value real = to_real(call, {});
  if (real.is_undefined() || !std::isfinite(real.real())) return otherwise;
  if (std::abs(real.real()) > 9e18) throw Error("a number is too large");
  return {static_cast<std::int64_t>(real.real())};
}

/// round(value, precision, "common" or "ceil" or "floor"); halves go to the even neighbour, as Python's.
Value rounded(const Call& call) {
  const TemplateText method = text_or(call[1], "common");
  const std::int64_t precision = number_or(call[0], 0);
  if (!call.value.is_number() || precision < 0 || precision > 300) throw Error("round of {}", kind_of(call.value));
  const double value = call.value.real(), scale = std::pow(10.0, static_cast<double>(precision));
  if (method == "ceil") return {std::ceil(value * scale) / scale};
  if (method == "floor") return {std::floor(value * scale) / scale};
  if (method != "common") throw Error("round has no method \"{}\"", method);
  if (call.value.is_whole()) return {call.value.whole()};
  return {std::stod(fmt::format("{:.{}f}", value, precision))};
}

Value range(const Call& call) {
  std::int64_t bounds[3] = {0, 0, 1};
  const std::size_t count = call.given.size();
  if (count == 0 || count > 3) throw Error("range() takes one to three numbers");
  for (std::size_t i = 0; i < count; ++i) {
    if (!call[i].is_whole()) throw Error("range() takes whole numbers");
    bounds[count == 1 ? 1 : i] = call[i].whole();
  }
  if (bounds[2] == 0) throw Error("range() has the step 0");
  TemplateValues list;
  for (std::int64_t at = bounds[0]; bounds[2] > 0 ? at < bounds[1] : at > bounds[1];) {
    call.heap.spend(Budget::kStep);
    list.push_back({at});
    if (__builtin_add_overflow(at, bounds[2], &at)) break;
  }
  return call.heap.list(std::move(list));
}

constexpr TemplateFunction kNumbers[] = {
    {"f int default? base?", to_whole},
    {"f float default?", [](const Call& c) { return to_real(c, c[0].is_undefined() ? Value{0.0} : c[0]); }},
    {"f round precision? method?", rounded},
    {"g range *", range}};

}  // namespace

std::span<const TemplateFunction> template_number_functions() { return kNumbers; }

}  // namespace headlight::text
