#include "text/template_functions.h"

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
