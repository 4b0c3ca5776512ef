#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::app {

/// Numbers of a training by name ("loss", "lr"): a value for each step that has one, in ascending order of steps.
using ScalarCurves = std::map<std::string, std::vector<std::pair<std::int64_t, double>>>;

inline constexpr std::size_t kMaxScalars = 64;             ///< names
inline constexpr std::size_t kMaxScalarName = 100;         ///< bytes
inline constexpr std::size_t kMaxScalarSteps = 10'000;     ///< of one name; of more every second one is forgotten
inline constexpr std::size_t kMaxScalarBytes = 16 * 1024;  ///< of a message

/// Returns the numbers of one step, a JSON object {"loss": 0.3}. Throws Error in one line: no such object, more than
/// kMaxScalars members, a name that is empty, too long or not printable UTF-8, a value that is no finite number.
std::map<std::string, double> read_scalars(std::string_view json);

/// Puts the numbers of a step into the curves, in place of earlier numbers of that step. Throws Error, and changes nothing,
/// where there would be more than kMaxScalars names.
void add_scalars(ScalarCurves& curves, std::int64_t step, const std::map<std::string, double>& numbers);

/// The messages of a live link (docs/LIVE_LINK.md has the protocol): a head of 24 bytes, little-endian, and a payload.
enum class LinkKind : std::uint16_t {
  Hello = 1,    ///< of a program: its name, UTF-8
  Capture = 2,  ///< of a program: a .safetensors file (docs/CAPTURES.md) of `step`
  Scalars = 3,  ///< of a program: numbers of `step`, a JSON object (read_scalars)
  Welcome = 101,
  Kept = 102,     ///< the capture or the numbers of `step` are kept
  Refused = 103,  ///< why, in one line
  Busy = 104,     ///< another program is linked
};

inline constexpr std::size_t kLinkHeadBytes = 24;
inline constexpr std::uint16_t kLinkVersion = 1;
/// Steps are exact in a double, which JSON and Python's notebooks may make of them.
inline constexpr std::int64_t kMaxLinkStep = std::int64_t{1} << 53;
inline constexpr std::uint64_t kMaxHelloBytes = 256;

struct LinkHead {
  LinkKind kind = LinkKind::Hello;
  std::int64_t step = 0;            ///< 0 … kMaxLinkStep
  std::uint64_t payload_bytes = 0;  ///< after the head
};

/// Writes magic "HLNK", version (u16), kind (u16), step (i64), length of the payload (u64).
std::array<std::byte, kLinkHeadBytes> encode(const LinkHead& head);
/// Reads the head of a program's message. Throws Error in one line for another magic, version or kind, a step outside its
/// range, and a payload of more than `most_payload` bytes.
LinkHead decode_link_head(std::span<const std::byte, kLinkHeadBytes> bytes, std::uint64_t most_payload);

}  // namespace headlight::app
