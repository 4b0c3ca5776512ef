#include <algorithm>
#include <iterator>

#include "text/template_syntax.h"
#include "text/template_value.h"

// What a template's "is" asks: {{ value is defined }}.
namespace headlight::text {
namespace {

using Value = TemplateValue;
using Arguments = TemplateArguments;

bool has_type(const Value& value, bool (TemplateJson::*is_type)() const noexcept) {
  return value.data && (*value.data.*is_type)();
}

bool are_same(const Value& value, const Arguments& arguments) {
  const Value other = arguments.get(0, "");
  return value.data && other.data ? *value.data == *other.data : value.is_undefined() && other.is_undefined();
}

struct Test {
  std::string_view name;
  bool (*run)(const Value& value, const Arguments& arguments);
};
constexpr Test kTests[] = {
    {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"undefined", [](const Value& v, const Arguments&) { return v.is_undefined(); }},
    {"none", [](const Value& v, const Arguments&) { return has_type(v, &TemplateJson::is_null); }},
    {"string", [](const Value& v, const Arguments&) { return v.is_text(); }},
    {"mapping", [](const Value& v, const Arguments&) { return has_type(v, &TemplateJson::is_object); }},
    {"sequence", [](const Value& v, const Arguments&) { return v.is_text() || has_type(v, &TemplateJson::is_structured); }},
    {"iterable",
     [](const Value& v, const Arguments&) {
       return v.is_undefined() || v.is_text() || has_type(v, &TemplateJson::is_structured);
     }},
    {"number",
     [](const Value& v, const Arguments&) {
       return has_type(v, &TemplateJson::is_number) || has_type(v, &TemplateJson::is_boolean);
     }},
    {"integer", [](const Value& v, const Arguments&) { return has_type(v, &TemplateJson::is_number_integer); }},
    {"float", [](const Value& v, const Arguments&) { return has_type(v, &TemplateJson::is_number_float); }},
    {"boolean", [](const Value& v, const Arguments&) { return has_type(v, &TemplateJson::is_boolean); }},
    {"true", [](const Value& v, const Arguments&) { return has_type(v, &TemplateJson::is_boolean) && is_true(v); }},
    {"false", [](const Value& v, const Arguments&) { return has_type(v, &TemplateJson::is_boolean) && !is_true(v); }},
    {"callable", [](const Value& v, const Arguments&) { return v.macro != nullptr; }},
    {"even", [](const Value& v, const Arguments&) { return number_or(v, 1) % 2 == 0; }},
    {"odd", [](const Value& v, const Arguments&) { return number_or(v, 0) % 2 != 0; }},
    {"equalto", are_same},
    {"eq", are_same},
    {"==", are_same},
    {"sameas", are_same},
    {"ne", [](const Value& v, const Arguments& a) { return !are_same(v, a); }},
    {"in", [](const Value& v, const Arguments& a) {
       TemplateBudget none(0);
       return is_true(operate("in", v, a.get(0, "seq"), none));
     }}};

}  // namespace

bool is_template_test(std::string_view name) { return std::ranges::find(kTests, name, &Test::name) != std::end(kTests); }

bool meets_template_test(std::string_view name, const Value& value, const Arguments& arguments) {
  return std::ranges::find(kTests, name, &Test::name)->run(value, arguments);
}

}  // namespace headlight::text
