#include <charconv>
#include <cmath>

#include "text/template_functions.h"
#include "text/unicode.h"

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
