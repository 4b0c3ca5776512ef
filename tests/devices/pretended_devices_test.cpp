// The program on devices that this machine doesn't have: each line of tests/support/pretend/profiles.cpp.
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "support/pretend/profile.h"
#include "support/program.h"

namespace pretended_devices_test {

using namespace headlight;

namespace {

/// Environment of a program under the layer. Compiled kernels are kept between runs.
std::string pretending(std::string_view profile) {
  const char* cache = std::getenv("MESA_SHADER_CACHE_DIR");
  return "VK_LAYER_PATH='" HEADLIGHT_PRETEND_LAYER "' VK_INSTANCE_LAYERS=VK_LAYER_HEADLIGHT_pretend HEADLIGHT_PRETEND=" +
         std::string(profile) + " MESA_SHADER_CACHE_DIR='" +
         (cache != nullptr ? cache : HEADLIGHT_PRETEND_LAYER "/mesa-cache") + "'";
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("every pretended device is listed as what it pretends to be") {
    std::set<std::string_view> ids;
    for (const pretend::Profile& profile : pretend::profiles()) {
      CAPTURE(profile.id);
      CHECK(ids.insert(profile.id).second);
      const Outcome outcome = run_headlight({"devices", "--device", "0"}, pretending(profile.id));
      CAPTURE(outcome.err);
      CHECK(outcome.status == 0);
      CHECK(outcome.out.starts_with("0: " + std::string(profile.name) + "\n"));
      CHECK((outcome.out.find("no timestamps") != std::string::npos) == (profile.timestamp_bits == 0));
    }
    CHECK(ids.size() >= 8);
  }
}

}  // namespace pretended_devices_test
