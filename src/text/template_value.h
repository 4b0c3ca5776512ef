#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/budget.h"
#include "text/chat_json.h"
#include "text/template_syntax.h"

namespace headlight::text {

/// Part of the template, of the chat or of the heap's texts, which outlive it.
using TemplateText = std::string_view;

struct TemplateList;
struct TemplateDict;
struct TemplateSpace;
struct TemplateCallable;

/// A value of a running template: nothing, as an undefined name has, None, a switch, a number, a text, or what a
/// TemplateHeap owns. Copying a value copies no letter.
struct TemplateValue {
  std::variant<std::monostate, std::nullptr_t, bool, std::int64_t, double, TemplateText, const TemplateList*,
               const TemplateDict*, TemplateSpace*, const TemplateCallable*>
      data = {};

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  /// The default of T where it is another type.
  template <typename T>
  T as() const {
    const T* found = std::get_if<T>(&data);
    return found == nullptr ? T() : *found;
  }
  bool is_undefined() const { return is<std::monostate>(); }
  bool is_missing() const { return is_undefined() || is<std::nullptr_t>(); }
  bool is_text() const { return is<TemplateText>(); }
  bool is_whole() const { return is<std::int64_t>() || is<bool>(); }
  bool is_number() const { return is_whole() || is<double>(); }
  TemplateText text() const { return as<TemplateText>(); }
  const TemplateList* list() const { return as<const TemplateList*>(); }
  const TemplateDict* dict() const { return as<const TemplateDict*>(); }
  TemplateSpace* space() const { return as<TemplateSpace*>(); }
  const TemplateCallable* callable() const { return as<const TemplateCallable*>(); }
  std::int64_t whole() const { return is<bool>() ? std::int64_t{as<bool>()} : as<std::int64_t>(); }
  double real() const { return is<double>() ? as<double>() : static_cast<double>(whole()); }
};

using TemplateValues = std::vector<TemplateValue>;
using TemplateScope = std::map<TemplateText, TemplateValue>;

struct TemplateList {
  TemplateValues parts;
  bool is_tuple = false;
  unsigned depth = 0;  ///< lists in lists
};

struct TemplateDict {
  std::vector<std::pair<TemplateValue, TemplateValue>> members;
  std::unordered_map<std::string, std::size_t> places;  ///< by key_of()
  unsigned depth = 0;

  /// Null where there is none.
  const TemplateValue* find(const TemplateValue& key) const;
};

/// A namespace, whose members {% set %} changes, or a loop.
struct TemplateSpace {
  TemplateScope members;
  bool is_loop = false;
};

struct TemplateFunction;
/// A macro, or a method of a value.
struct TemplateCallable {
  const TemplateNode* macro = nullptr;
  std::vector<TemplateScope> scopes = {};  ///< that a caller sees; of a macro none, which sees the outermost
  const TemplateFunction* function = nullptr;
  TemplateValue of = {};
};

/// Owns what the values of a run have, until the run ends: nothing is destroyed before, nor part by part. All that is made
/// is spent.
class TemplateHeap {
 public:
  explicit TemplateHeap(Budget& budget) : budget_(budget) {}

  void spend(std::size_t bytes) { budget_.spend(bytes); }

  TemplateValue text(std::string text);
  TemplateValue list(TemplateValues parts, bool is_tuple = false);
  /// Makes a dictionary; of two members with the same key the last one is used. Throws Error for keys that Python can't
  /// take.
  TemplateValue dict(const std::vector<std::pair<TemplateValue, TemplateValue>>& members);
  TemplateValue space(TemplateScope members, bool is_loop = false);
  TemplateValue callable(TemplateCallable made);
  /// The JSON's texts must outlive the heap's values.
  TemplateValue json(const ChatJson& json);

 private:
  Budget& budget_;
  std::deque<std::string> texts_;
  std::deque<TemplateList> lists_;
  std::deque<TemplateDict> dicts_;
  std::deque<TemplateSpace> spaces_;
  std::deque<TemplateCallable> callables_;
};

bool is_true(const TemplateValue& value);
/// "a text", "an undefined value".
TemplateText kind_of(const TemplateValue& value);
/// A whole number; `fallback` of undefined and none. Throws Error for others.
std::int64_t number_or(const TemplateValue& value, std::int64_t fallback);
/// A number as Python's repr() writes it.
std::string real_text(double value);
/// Returns the value as Python's str() writes it: None, True, ['a', 1]. Spends the parts.
std::string to_python_text(const TemplateValue& value, TemplateHeap& heap);
/// The elements of a list, the keys of a dictionary, the characters of a text; none of an undefined value. Throws Error for
/// others.
TemplateValues elements_of(const TemplateValue& value, TemplateHeap& heap);
/// A member, or an element by its number, which may count from the end; undefined where there is none.
TemplateValue item_of(const TemplateValue& value, const TemplateValue& key, TemplateHeap& heap);
TemplateValue slice_of(const TemplateValue& value, const TemplateValue& begin, const TemplateValue& end,
                       const TemplateValue& step, TemplateHeap& heap);

// Operators (template_operators.cpp).
bool are_equal(const TemplateValue& left, const TemplateValue& right, TemplateHeap& heap);
/// Throws Error where Python has no order.
bool is_less(const TemplateValue& left, const TemplateValue& right, TemplateHeap& heap);
bool contains(const TemplateValue& all, const TemplateValue& part, TemplateHeap& heap);
/// The result of "==", "<", "in" and the other comparisons.
bool compare(TemplateText sign, const TemplateValue& left, const TemplateValue& right, TemplateHeap& heap);
/// The result of "+" and the other operators of values. Throws Error where Python does.
TemplateValue operate(TemplateText sign, const TemplateValue& left, const TemplateValue& right, TemplateHeap& heap);

}  // namespace headlight::text
