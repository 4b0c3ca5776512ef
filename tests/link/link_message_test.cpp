// The head of a message: what is written is read, and everything else is refused.
#include <doctest/doctest.h>

#include "app/data/link/link_message.h"
#include "core/error.h"

namespace link_message_test {

using namespace headlight;
using namespace headlight::app;

namespace {

std::string refusal(std::array<std::byte, kLinkHeadBytes> bytes, std::uint64_t most = 1000) {
  try {
    static_cast<void>(decode_link_head(bytes, most));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a head is written little-endian and read back") {
    const auto bytes = encode({.kind = LinkKind::Capture, .step = 0x0102030405, .payload_bytes = 999});
    CHECK(std::to_integer<char>(bytes[0]) == 'H');
    CHECK(std::to_integer<int>(bytes[4]) == 1);
    CHECK(std::to_integer<int>(bytes[6]) == 2);
    CHECK(std::to_integer<int>(bytes[8]) == 5);
    CHECK(std::to_integer<int>(bytes[12]) == 1);
    const LinkHead head = decode_link_head(bytes, 1000);
    CHECK(head.kind == LinkKind::Capture);
    CHECK(head.step == 0x0102030405);
    CHECK(head.payload_bytes == 999);
  }

  TEST_CASE("heads that lie are refused in a line") {
    const auto good = encode({.kind = LinkKind::Capture, .step = 7, .payload_bytes = 1000});
    CHECK(refusal(good) == "");
    auto bytes = good;
    bytes[0] = std::byte{'G'};
    CHECK(refusal(bytes).find("doesn't begin with HLNK") != std::string::npos);
    bytes = good;
    bytes[4] = std::byte{2};
    CHECK(refusal(bytes) == "version 2 of the link is unknown; this program has version 1");
    for (const int kind : {0, 4, 101, 255}) {
      bytes = good;
      bytes[6] = static_cast<std::byte>(kind);
      CHECK(refusal(bytes).find("no message of kind") != std::string::npos);
    }
    bytes = good;
    bytes[15] = std::byte{0xFF};  // a negative step
    CHECK(refusal(bytes).find("is outside of 0 to") != std::string::npos);
    CHECK(refusal(good, 999).find("a payload of 1000 bytes is more than 999") == 0);
    bytes = good;
    bytes[23] = std::byte{0xFF};
    CHECK(refusal(bytes).find("a payload of") == 0);
    CHECK(refusal(encode({.kind = LinkKind::Hello, .payload_bytes = 257})).find("more than 256") != std::string::npos);
  }
}

}  // namespace link_message_test
