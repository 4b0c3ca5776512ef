#include "text/template_functions.h"

#include <algorithm>

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
