#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/template_syntax.h"

namespace headlight::text {

using TemplateJson = nlohmann::ordered_json;

/// A value of a running template: JSON, which values share and nothing changes, or a namespace, whose members {% set %}
/// changes, or a macro, or nothing, as an undefined name has.
struct TemplateValue {
  std::shared_ptr<const TemplateJson> data = nullptr;
  std::shared_ptr<std::map<std::string, TemplateValue, std::less<>>> members = nullptr;
  const TemplateNode* macro = nullptr;

  bool is_undefined() const { return !data && !members && !macro; }
  bool is_text() const { return data && data->is_string(); }
  const std::string& text() const { return data->get_ref<const std::string&>(); }
  /// A part of this value's JSON, which lives as long as it.
  TemplateValue part(const TemplateJson& of) const { return {.data = std::shared_ptr<const TemplateJson>(data, &of)}; }
};

inline TemplateValue value_of(TemplateJson data) { return {.data = std::make_shared<const TemplateJson>(std::move(data))}; }

/// What a template may use: steps of the run and bytes of the texts that it makes. Throws Error beyond.
class TemplateBudget {
 public:
  explicit TemplateBudget(std::size_t bytes) : bytes_(bytes) {}
  void spend(std::size_t bytes);

 private:
  std::size_t bytes_;
};

/// Arguments of a call, a filter or a test: by place, and by name.
struct TemplateArguments {
  std::vector<TemplateValue> list;
  std::map<std::string, TemplateValue, std::less<>> named;

  /// An argument that may be given either way; undefined where it is missing.
  TemplateValue get(std::size_t place, std::string_view name) const;
};

bool is_true(const TemplateValue& value);
/// A whole number; `fallback` of undefined and none. Throws Error for others.
std::int64_t number_or(const TemplateValue& value, std::int64_t fallback);
/// What copying a value costs: its parts and the bytes of its texts. Throws Error where it is nested too deeply.
std::size_t cost_of(const TemplateJson& value, unsigned depth = 0);
/// As Python's str() writes it: None, True, ['a', 1].
std::string to_python_text(const TemplateValue& value);
/// The elements of a list, the keys of a dictionary, the characters of a text; none of an undefined value. Throws Error for
/// others.
std::vector<TemplateValue> elements_of(const TemplateValue& value);
/// parts[1] of parts[0]: a member, or an element by its number, which may count from the end; undefined where there is none.
TemplateValue item_of(const TemplateValue& value, const TemplateValue& key);
TemplateValue slice_of(const TemplateValue& value, const TemplateValue& begin, const TemplateValue& end,
                       const TemplateValue& step);
/// The result of "+", "==", "in" and the other operators but and, or. Throws Error where Python does.
TemplateValue operate(std::string_view sign, const TemplateValue& left, const TemplateValue& right, TemplateBudget& budget);

/// {{ value | name(arguments) }}.
TemplateValue apply_template_filter(std::string_view name, const TemplateValue& value, const TemplateArguments& arguments,
                                    TemplateBudget& budget);
bool meets_template_test(std::string_view name, const TemplateValue& value, const TemplateArguments& arguments);
/// {{ value.name(arguments) }} of texts and dictionaries. Throws Error for a method that isn't known.
TemplateValue call_method(const TemplateValue& value, std::string_view name, const TemplateArguments& arguments,
                          TemplateBudget& budget);

}  // namespace headlight::text
