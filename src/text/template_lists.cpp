#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "text/template_functions.h"
#include "text/unicode.h"

// Filters and methods of lists and dictionaries, and functions.
namespace headlight::text {
namespace {

using Value = TemplateValue;
using Call = TemplateCall;

/// "a.b" of a value, undefined where it has no such member.
Value path_of(Value value, TemplateText path, TemplateHeap& heap) {
  while (!path.empty() && !value.is_undefined()) {
    const TemplateText name = path.substr(0, path.find('.'));
    std::int64_t number = 0;
    const bool is_number = std::from_chars(name.data(), name.data() + name.size(), number).ptr == name.data() + name.size();
    value = item_of(value, is_number ? Value{number} : Value{name}, heap);
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
  return value;
}

/// Returns the named part of an element; the element itself where no part is named.
Value part_of(const Value& element, const Value& attribute, TemplateHeap& heap) {
  if (attribute.is_missing()) return element;
  return attribute.is_text() ? path_of(element, attribute.text(), heap) : item_of(element, attribute, heap);
}

/// Returns the part of an element that it is compared by, in lower case unless case is wanted.
Value compared_by(const Call& call, const Value& element, const Value& attribute, const Value& minds_case) {
  const Value part = part_of(element, attribute, call.heap);
  if (!part.is_text() || is_true(minds_case)) return part;
  return call.heap.text(lower_cased(part.text()));
}

/// select, reject, selectattr, rejectattr: what follows the attribute is a test and its own arguments.
Value selected(const Call& call) {
  const bool by_attribute = call.detail.ends_with("attr"), wanted = call.detail.starts_with("select");
  const std::size_t first = by_attribute ? 1 : 0;
  const bool has_test = call.given.size() > first;
  if (call.given.size() < first) throw Error("{} needs an attribute", call.detail);
  const TemplateArguments rest{
      {call.given.begin() + static_cast<std::ptrdiff_t>(first + (has_test ? 1 : 0)), call.given.end()}, call.named};
  TemplateValues parts = elements_of(call.value, call.heap);
  std::erase_if(parts, [&](const Value& part) {
    call.heap.spend(Budget::kStep);
    const Value of = by_attribute ? part_of(part, call[0], call.heap) : part;
    return is_true(has_test ? apply_template_function(TemplateUse::Test, text_of(call[first]), of, rest, call.heap) : of) !=
           wanted;
  });
  return call.heap.list(std::move(parts));
}

/// A filter and its arguments, or an attribute and what stands for one that is missing, which are the last of what is given.
Value mapped(const Call& call) {
  TemplateValues parts = elements_of(call.value, call.heap), given = call.given;
  const Value otherwise = given.back(), attribute = given[given.size() - 2];
  given.resize(given.size() - 2);
  if (given.empty() && attribute.is_undefined()) throw Error("map needs a filter or an attribute");
  TemplateArguments rest{{given.begin() + (given.empty() ? 0 : 1), given.end()}, call.named};
  if (!attribute.is_undefined()) rest.named.emplace_back("attribute", attribute);
  if (!otherwise.is_undefined()) rest.named.emplace_back("default", otherwise);
  for (Value& part : parts) {
    call.heap.spend(Budget::kStep);
    if (!given.empty())
      part = apply_template_function(TemplateUse::Filter, text_of(given[0]), part, rest, call.heap);
    else if (part = part_of(part, attribute, call.heap); part.is_undefined())
      part = otherwise;
  }
  return call.heap.list(std::move(parts));
}

Value joined(const TemplateValues& parts, TemplateText between, TemplateHeap& heap) {
  std::string text;
  for (const Value& part : parts) {
    heap.spend(between.size());
    if (&part != parts.data()) text += between;
    text += to_python_text(part, heap);
  }
  return heap.text(std::move(text));
}

Value or_default(const Call& call) {
  const bool is_missing = call.value.is_undefined() || (is_true(call[1]) && !is_true(call.value));
  return !is_missing ? call.value : call[0].is_undefined() ? Value{TemplateText()} : call[0];
}

Value to_items(const Call& call) {
  if (call.value.dict() == nullptr && !call.value.is_undefined()) throw Error("items of {}", kind_of(call.value));
  TemplateValues items;
  if (call.value.dict() != nullptr)
    for (const auto& [key, part] : call.value.dict()->members) items.push_back(call.heap.list({key, part}, true));
  return call.heap.list(std::move(items));
}

Value count_of(const Call& call) {
  const Value& value = call.value;
  call.heap.spend(value.text().size());
  const std::size_t count = value.is_text() ? count_code_points(value.text()) : elements_of(value, call.heap).size();
  return {static_cast<std::int64_t>(count)};
}

/// Elements in the order of their keys; reversed, the largest are first, equal ones in their order.
TemplateValues in_order(const Call& call, std::vector<std::pair<Value, Value>> by_key, bool is_reversed) {
  std::ranges::stable_sort(by_key, [&](const auto& a, const auto& b) {
    return is_reversed ? is_less(b.first, a.first, call.heap) : is_less(a.first, b.first, call.heap);
  });
  TemplateValues parts;
  for (const auto& [key, part] : by_key) parts.push_back(part);
  return parts;
}

TemplateValues in_order(const Call& call, const Value& attribute, const Value& minds_case, bool is_reversed) {
  std::vector<std::pair<Value, Value>> by_key;
  for (const Value& part : elements_of(call.value, call.heap))
    by_key.emplace_back(compared_by(call, part, attribute, minds_case), part);
  return in_order(call, std::move(by_key), is_reversed);
}

Value sorted(const Call& call) { return call.heap.list(in_order(call, call[2], call[1], is_true(call[0]))); }

/// The smallest element, or the largest; undefined where there is none.
Value extreme(const Call& call) {
  const TemplateValues all = in_order(call, call[1], call[0], call.detail == "max");
  return all.empty() ? Value() : all.front();
}

Value sorted_dictionary(const Call& call) {
  const TemplateText by = text_or(call[1], "key");
  if (call.value.dict() == nullptr || (by != "key" && by != "value"))
    throw Error("dictsort of {} by {}", kind_of(call.value), by);
  std::vector<std::pair<Value, Value>> by_key;
  for (const auto& [key, part] : call.value.dict()->members)
    by_key.emplace_back(compared_by(call, by == "key" ? key : part, {}, call[0]), call.heap.list({key, part}, true));
  return call.heap.list(in_order(call, std::move(by_key), is_true(call[2])));
}

Value without_repetitions(const Call& call) {
  TemplateValues parts, keys;
  for (const Value& part : elements_of(call.value, call.heap)) {
    const Value key = compared_by(call, part, call[1], call[0]);
    if (std::ranges::any_of(keys, [&](const Value& known) { return are_equal(known, key, call.heap); })) continue;
    keys.push_back(key);
    parts.push_back(part);
  }
  return call.heap.list(std::move(parts));
}

Value in_reverse(const Call& call) {
  TemplateValues parts = elements_of(call.value, call.heap);
  std::ranges::reverse(parts);
  return call.value.is_text() ? joined(parts, "", call.heap) : call.heap.list(std::move(parts));
}

Value end_of(const Call& call) {
  const TemplateValues parts = elements_of(call.value, call.heap);
  return parts.empty() ? Value() : call.detail == "last" ? parts.back() : parts.front();
}

Value member_or(const Call& call) {
  const Value found = item_of(call.value, call[0], call.heap);
  return !found.is_undefined() ? found : call[1].is_undefined() ? Value{nullptr} : call[1];
}

Value values_of(const Call& call) {
  TemplateValues parts;
  for (const auto& [key, part] : call.value.dict()->members) parts.push_back(part);
  return call.heap.list(std::move(parts));
}

Value cycled(const Call& call) {
  if (call.given.empty()) throw Error("cycle() has nothing to choose from");
  return call[static_cast<std::size_t>(item_of(call.value, {"index0"}, call.heap).whole()) % call.given.size()];
}

/// Are they others than the last time?
Value changed(const Call& call) {
  Value& last = call.value.space()->members[" changed"];
  const Value before = std::exchange(last, call.heap.list(call.given));
  return {!are_equal(before, last, call.heap)};
}

/// The members of a dictionary, and those that are named.
std::vector<std::pair<Value, Value>> members_given(const Call& call) {
  std::vector<std::pair<Value, Value>> members;
  if (call[0].dict() != nullptr)
    members = call[0].dict()->members;
  else if (!call[0].is_undefined())
    throw Error("a dictionary is needed, not {}", kind_of(call[0]));
  for (const auto& [name, value] : call.named) members.emplace_back(Value{name}, value);
  return members;
}

Value new_space(const Call& call) {
  TemplateScope members;
  for (const auto& [key, value] : members_given(call)) members[text_of(key)] = value;
  return call.heap.space(std::move(members));
}

Value as_list(const Call& call) { return call.heap.list(elements_of(call.value, call.heap)); }

constexpr TemplateFunction kLists[] = {
    {"f join d? attribute?",
     [](const Call& c) {
       TemplateValues parts = elements_of(c.value, c.heap);
       for (Value& part : parts) part = part_of(part, c[1], c.heap);
       return joined(parts, text_or(c[0], ""), c.heap);
     }},
    {"t join parts", [](const Call& c) { return joined(elements_of(c[0], c.heap), c.value.text(), c.heap); }},
    {"f length", count_of},
    {"f count", count_of},
    {"f default default_value? boolean?", or_default},
    {"f d default_value? boolean?", or_default},
    {"f select * **", selected, "select"},
    {"f reject * **", selected, "reject"},
    {"f selectattr * **", selected, "selectattr"},
    {"f rejectattr * **", selected, "rejectattr"},
    {"f map * attribute? default? **", mapped},
    {"f list", as_list},
    {"f first", end_of},
    {"f last", end_of, "last"},
    {"f reverse", in_reverse},
    {"f unique case_sensitive? attribute?", without_repetitions},
    {"f sort reverse? case_sensitive? attribute?", sorted},
    {"f dictsort case_sensitive? by? reverse?", sorted_dictionary},
    {"f min case_sensitive? attribute?", extreme},
    {"f max case_sensitive? attribute?", extreme, "max"},
    {"fd items", to_items},
    {"d keys", as_list},
    {"d values", values_of},
    {"d get key default?", member_or},
    {"l cycle *", cycled},
    {"l changed *", changed},
    {"g dict members? **", [](const Call& c) { return c.heap.dict(members_given(c)); }},
    {"g namespace members? **", new_space},
    {"g strftime_now format", [](const Call& c) { return c.heap.text(noon_text(text_of(c[0]), c.heap)); }}};

}  // namespace

std::span<const TemplateFunction> template_list_functions() { return kLists; }

}  // namespace headlight::text
