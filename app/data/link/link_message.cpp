#include "app/data/link/link_message.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight::app {

std::map<std::string, double> read_scalars(std::string_view json) {
  const Result<nlohmann::json> parsed = parse_json(json, {.bytes = kMaxScalarBytes, .values = 2 * kMaxScalars, .depth = 2});
  if (!parsed) throw Error(ErrorKind::InvalidInput, "scalars: {}", parsed.error());
  if (!parsed->is_object() || parsed->size() > kMaxScalars) {
    throw Error(ErrorKind::InvalidInput, "scalars: expected an object of at most {} numbers, found {}", kMaxScalars,
                shown(*parsed));
  }
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : parsed->items()) {
    const bool is_printable = std::ranges::none_of(name, [](unsigned char byte) { return byte < 0x20U || byte == 0x7FU; });
    if (name.empty() || name.size() > kMaxScalarName || !is_printable || find_invalid_utf8(name) != std::string::npos) {
      throw Error(ErrorKind::InvalidInput, "scalars: a name has 1 to {} printable bytes, not {}", kMaxScalarName,
                  shown(nlohmann::json(name)));
    }
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      throw Error(ErrorKind::InvalidInput, "scalars: '{}' is no finite number but {}", name, shown(value));
    }
    numbers[name] = value.get<double>();
  }
  return numbers;
}

void add_scalars(ScalarCurves& curves, std::int64_t step, const std::map<std::string, double>& numbers) {
  std::size_t names = curves.size();
  for (const auto& [name, value] : numbers) names += curves.contains(name) ? 0U : 1U;
  if (names > kMaxScalars) {
    throw Error(ErrorKind::InvalidInput, "scalars: {} names are more than {}; log fewer", names, kMaxScalars);
  }
  for (const auto& [name, value] : numbers) {
    auto& curve = curves[name];
    const auto at = std::ranges::lower_bound(curve, step, {}, &std::pair<std::int64_t, double>::first);
    if (at != curve.end() && at->first == step) {
      at->second = value;
    } else {
      curve.insert(at, {step, value});
    }
    if (curve.size() <= kMaxScalarSteps) continue;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < curve.size(); i += 2) curve[kept++] = curve[i];
    if (curve.size() % 2 == 0) curve[kept++] = curve.back();  // the newest stays
    curve.resize(kept);
  }
}

namespace {

constexpr std::string_view kLinkMagic = "HLNK";

template <typename Number>
void put(std::span<std::byte> to, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    to[i] = static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xFFU);
  }
}

std::uint64_t take(std::span<const std::byte> from) {
  std::uint64_t value = 0;
  for (std::size_t i = from.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
  return value;
}

}  // namespace

std::array<std::byte, kLinkHeadBytes> encode(const LinkHead& head) {
  std::array<std::byte, kLinkHeadBytes> bytes{};
  const std::span<std::byte> all = bytes;
  std::memcpy(bytes.data(), kLinkMagic.data(), kLinkMagic.size());
  put(all.subspan(4, 2), kLinkVersion);
  put(all.subspan(6, 2), static_cast<std::uint16_t>(head.kind));
  put(all.subspan(8, 8), head.step);
  put(all.subspan(16, 8), head.payload_bytes);
  return bytes;
}

LinkHead decode_link_head(std::span<const std::byte, kLinkHeadBytes> bytes, std::uint64_t most_payload) {
  if (std::memcmp(bytes.data(), kLinkMagic.data(), kLinkMagic.size()) != 0) {
    throw Error(ErrorKind::InvalidInput, "the message doesn't begin with HLNK: this socket takes live links alone");
  }
  if (const std::uint64_t version = take(bytes.subspan(4, 2)); version != kLinkVersion) {
    throw Error(ErrorKind::InvalidInput, "version {} of the link is unknown; this program has version {}", version,
                kLinkVersion);
  }
  const std::uint64_t kind = take(bytes.subspan(6, 2));
  if (kind < static_cast<std::uint16_t>(LinkKind::Hello) || kind > static_cast<std::uint16_t>(LinkKind::Scalars)) {
    throw Error(ErrorKind::InvalidInput, "a program sends hello (1), captures (2) and scalars (3), no message of kind {}",
                kind);
  }
  LinkHead head{.kind = static_cast<LinkKind>(kind)};
  head.step = static_cast<std::int64_t>(take(bytes.subspan(8, 8)));
  if (head.step < 0 || head.step > kMaxLinkStep) {
    throw Error(ErrorKind::InvalidInput, "step {} is outside of 0 to {}", head.step, kMaxLinkStep);
  }
  head.payload_bytes = take(bytes.subspan(16, 8));
  const std::uint64_t most = head.kind == LinkKind::Hello     ? kMaxHelloBytes
                             : head.kind == LinkKind::Scalars ? kMaxScalarBytes
                                                              : most_payload;
  if (head.payload_bytes > most) {
    throw Error(ErrorKind::InvalidInput, "a payload of {} bytes is more than {}; send fewer layers or a shorter text",
                head.payload_bytes, most);
  }
  return head;
}

}  // namespace headlight::app
