#pragma once

#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

namespace headlight::text {

/// The members of an object in their order, found by a map: the base compares every name before. Nothing is erased.
template <class Key, class T, class Less, class Allocator>
struct IndexedMembers : nlohmann::ordered_map<Key, T, Less, Allocator> {
  using Members = nlohmann::ordered_map<Key, T, Less, Allocator>;
  using Members::Members;
  using typename Members::const_iterator;
  using typename Members::iterator;

  std::pair<iterator, bool> emplace(const Key& key, T&& value) {
    const auto [place, is_new] = places.try_emplace(key, this->size());
    if (is_new) this->emplace_back(key, std::move(value));
    return {this->begin() + static_cast<std::ptrdiff_t>(place->second), is_new};
  }
  T& operator[](const Key& key) { return emplace(key, T{}).first->second; }
  const_iterator find(const Key& key) const {
    const auto found = places.find(key);
    return found == places.end() ? this->end() : this->begin() + static_cast<std::ptrdiff_t>(found->second);
  }
  iterator find(const Key& key) { return this->begin() + (std::as_const(*this).find(key) - this->cbegin()); }

  std::unordered_map<Key, std::size_t> places;
};

/// A chat's messages, whose members keep their order for templates that print them.
using ChatJson = nlohmann::basic_json<IndexedMembers>;

}  // namespace headlight::text
