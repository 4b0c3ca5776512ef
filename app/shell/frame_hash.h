#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace headlight::shell {

/// A 64-bit hash of plain numbers (FNV-1a, eight bytes at a time): equal frames have equal hashes, and different ones equal
/// hashes with a probability of about 2⁻⁶⁴.
class FrameHash {
 public:
  void add_bytes(const void* data, std::size_t size) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; size >= sizeof(std::uint64_t); size -= sizeof(std::uint64_t), at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, sizeof(word));
      mix(word);
    }
    std::uint64_t rest = size;
    std::memcpy(&rest, at, size);
    mix(rest);
  }

  /// Adds a value of a type without padding between its members.
  template <typename Value>
  void add(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    add_bytes(&value, sizeof(value));
  }

  std::uint64_t value() const { return value_; }

 private:
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x0000'0100'0000'01B3U;
    value_ ^= value_ >> 29;
  }

  std::uint64_t value_ = 0xCBF2'9CE4'8422'2325U;
};

}  // namespace headlight::shell
