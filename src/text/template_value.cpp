#include "text/template_value.h"

#include <algorithm>
#include <array>

#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr unsigned kDeepestValue = 100;

/// Python's repr() of a text.
std::string quoted(TemplateText text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    const std::size_t escape = TemplateText("\n\t\r").find(c);
    if (escape != TemplateText::npos) {
      result += '\\';
      result += "ntr"[escape];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\x{:02x}", c);
    } else {
      if (c == quote || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + quote;
}

void append_python(std::string& out, const TemplateValue& value, bool is_inside, TemplateHeap& heap) {
  heap.spend(Budget::kStep + value.text().size());
  const auto append_all = [&](const auto& parts, TemplateText brackets, auto append) {
    out += brackets[0];
    for (const auto& part : parts) {
      if (&part != parts.data()) out += ", ";
      append(part);
    }
    out += brackets[1];
  };
  if (value.is_text()) {
    out += is_inside ? quoted(value.text()) : value.text();
  } else if (value.is<bool>()) {
    out += value.as<bool>() ? "True" : "False";
  } else if (value.is_whole()) {
    out += std::to_string(value.whole());
  } else if (value.is<double>()) {
    out += real_text(value.real());
  } else if (value.is<std::nullptr_t>()) {
    out += "None";
  } else if (const TemplateList* list = value.list()) {
    append_all(list->parts, list->is_tuple ? "()" : "[]",
               [&](const TemplateValue& part) { append_python(out, part, true, heap); });
    if (list->is_tuple && list->parts.size() == 1) out.insert(out.size() - 1, ",");
  } else if (const TemplateDict* dict = value.dict()) {
    append_all(dict->members, "{}", [&](const auto& member) {
      append_python(out, member.first, true, heap);
      out += ": ";
      append_python(out, member.second, true, heap);
    });
  } else if (!value.is_undefined()) {
    throw Error("{} is no text", kind_of(value));
  } else if (is_inside) {
    out += "Undefined";
  }
}

/// Returns the key by which a dictionary finds a member: equal values have the same key, as 1, 1.0 and True do.
std::string key_of(const TemplateValue& key) {
  if (key.is_text()) return "'" + std::string(key.text());
  if (key.is_number()) return real_text(key.real());
  if (key.is<std::nullptr_t>()) return "None";
  throw Error("{} is the key of a dictionary", kind_of(key));
}

unsigned depth_of(const TemplateValue& value) {
  return value.list() != nullptr ? value.list()->depth : value.dict() != nullptr ? value.dict()->depth : 0;
}
void nest(unsigned& depth, const TemplateValue& part) {
  depth = std::max(depth, depth_of(part) + 1);
  if (depth > kDeepestValue) throw Error("lists are nested too deeply");
}

/// The place that a number names among `size`, from the end where it is negative; `size` where there is none.
std::size_t place_among(std::int64_t number, std::size_t size) {
  const auto all = static_cast<std::int64_t>(size);
  if (number < 0) number += all;
  return number >= 0 && number < all ? static_cast<std::size_t>(number) : size;
}

}  // namespace

const TemplateValue* TemplateDict::find(const TemplateValue& key) const {
  if (!key.is_text() && !key.is_number() && !key.is<std::nullptr_t>()) return nullptr;
  const auto found = places.find(key_of(key));
  return found == places.end() ? nullptr : &members[found->second].second;
}

TemplateValue TemplateHeap::text(std::string text) {
  spend(text.size() + sizeof(text));
  return {TemplateText(texts_.emplace_back(std::move(text)))};
}

TemplateValue TemplateHeap::list(TemplateValues parts, bool is_tuple) {
  spend(sizeof(TemplateList) + parts.size() * sizeof(TemplateValue));
  TemplateList& made = lists_.emplace_back(TemplateList{std::move(parts), is_tuple});
  for (const TemplateValue& part : made.parts) nest(made.depth, part);
  return {&made};
}

TemplateValue TemplateHeap::dict(const std::vector<std::pair<TemplateValue, TemplateValue>>& members) {
  constexpr std::size_t kMember = 160;  // of both tables
  TemplateDict& made = dicts_.emplace_back();
  spend(sizeof(made));
  for (const auto& [key, value] : members) {
    spend(kMember + key.text().size());
    nest(made.depth, value);
    const auto [place, is_new] = made.places.emplace(key_of(key), made.members.size());
    if (is_new)
      made.members.emplace_back(key, value);
    else
      made.members[place->second].second = value;
  }
  return {&made};
}

TemplateValue TemplateHeap::space(TemplateScope members, bool is_loop) {
  spend(sizeof(TemplateSpace));
  return {&spaces_.emplace_back(TemplateSpace{std::move(members), is_loop})};
}

TemplateValue TemplateHeap::callable(TemplateCallable made) {
  spend(sizeof(made) + made.scopes.size() * sizeof(TemplateScope));
  for (const TemplateScope& scope : made.scopes) spend(scope.size() * Budget::kNode);
  return {&callables_.emplace_back(std::move(made))};
}

TemplateValue TemplateHeap::json(const ChatJson& json) {
  if (json.is_boolean()) return {json.get<bool>()};
  if (json.is_string()) return {TemplateText(json.get_ref<const std::string&>())};
  if (json.is_number_unsigned() && json.get<std::uint64_t>() >> 63 != 0) return {json.get<double>()};
  if (json.is_number_integer()) return {json.get<std::int64_t>()};
  if (json.is_number()) return {json.get<double>()};
  if (!json.is_structured()) return {nullptr};
  TemplateValues parts;
  std::vector<std::pair<TemplateValue, TemplateValue>> members;
  if (json.is_array())
    for (const auto& part : json) parts.push_back(this->json(part));
  else
    for (const auto& [key, part] : json.get_ref<const ChatJson::object_t&>())
      members.emplace_back(TemplateValue{TemplateText(key)}, this->json(part));
  return json.is_array() ? list(std::move(parts)) : dict(members);
}

TemplateText kind_of(const TemplateValue& value) {
  static constexpr std::array<TemplateText, 10> kKinds = {"an undefined value", "None",      "a switch", "a whole number",
                                                          "a number",           "a text",    "a list",   "a dictionary",
                                                          "a namespace",        "a function"};
  return kKinds.at(value.data.index());
}

std::int64_t number_or(const TemplateValue& value, std::int64_t fallback) {
  if (value.is_missing()) return fallback;
  if (!value.is_whole()) throw Error("{} stands for a whole number", kind_of(value));
  return value.whole();
}

bool is_true(const TemplateValue& value) {
  if (value.is_number()) return value.real() != 0.0;
  if (value.is_text()) return !value.text().empty();
  if (value.list() != nullptr) return !value.list()->parts.empty();
  return value.dict() != nullptr ? !value.dict()->members.empty() : !value.is_missing();
}

std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string to_python_text(const TemplateValue& value, TemplateHeap& heap) {
  std::string text;
  append_python(text, value, false, heap);
  return text;
}

TemplateValues elements_of(const TemplateValue& value, TemplateHeap& heap) {
  TemplateValues all;
  if (value.is_undefined()) return all;
  if (const TemplateList* list = value.list()) {
    heap.spend(list->parts.size() * sizeof(TemplateValue));
    return list->parts;
  }
  if (const TemplateDict* dict = value.dict()) {
    heap.spend(dict->members.size() * sizeof(TemplateValue));
    for (const auto& member : dict->members) all.push_back(member.first);
    return all;
  }
  if (!value.is_text()) throw Error("{} has no elements", kind_of(value));
  const TemplateText text = value.text();
  heap.spend(text.size() * sizeof(TemplateValue));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text, at);
    all.push_back({text.substr(at, length)});
    at += length;
  }
  return all;
}

TemplateValue item_of(const TemplateValue& value, const TemplateValue& key, TemplateHeap& heap) {
  if (value.is_undefined()) throw Error("an undefined value has no \"{}\"", to_python_text(key, heap));
  if (value.dict() != nullptr) {
    heap.spend(key.text().size());
    const TemplateValue* found = value.dict()->find(key);
    return found == nullptr ? TemplateValue() : *found;
  }
  if (value.space() != nullptr) {
    const auto found = value.space()->members.find(key.text());
    return found == value.space()->members.end() ? TemplateValue() : found->second;
  }
  if (!key.is_whole() || (value.list() == nullptr && !value.is_text())) return {};
  const TemplateValues letters = value.is_text() ? elements_of(value, heap) : TemplateValues();
  const TemplateValues& all = value.is_text() ? letters : value.list()->parts;
  const std::size_t place = place_among(key.whole(), all.size());
  return place < all.size() ? all[place] : TemplateValue();
}

TemplateValue slice_of(const TemplateValue& value, const TemplateValue& begin, const TemplateValue& end,
                       const TemplateValue& step, TemplateHeap& heap) {
  if (value.dict() != nullptr) throw Error("a slice of a dictionary");
  const TemplateValues all = elements_of(value, heap);
  const auto size = static_cast<std::int64_t>(all.size());
  const std::int64_t stride = number_or(step, 1);
  if (stride == 0) throw Error("a slice has the step 0");
  const std::int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? size : size - 1;
  const auto bound = [&](const TemplateValue& of, std::int64_t usual) {
    if (of.is_missing()) return usual;
    const std::int64_t place = number_or(of, 0);
    return std::clamp(place < 0 ? std::max(place, -size - 1) + size : place, lowest, highest);
  };
  const std::int64_t first = bound(begin, stride > 0 ? lowest : highest), last = bound(end, stride > 0 ? highest : lowest);
  TemplateValues list;
  std::string text;
  for (std::int64_t at = first; stride > 0 ? at < last : at > last;) {
    const TemplateValue& part = all[static_cast<std::size_t>(at)];
    if (value.is_text())
      text += part.text();
    else
      list.push_back(part);
    if (stride > 0 ? stride > last - at : stride < last - at) break;
    at += stride;
  }
  return value.is_text() ? heap.text(std::move(text)) : heap.list(std::move(list), value.list() && value.list()->is_tuple);
}

}  // namespace headlight::text
