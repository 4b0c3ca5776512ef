#include "ops/linear.h"

#include <doctest/doctest.h>

#include "ops/device_tensor.h"
#include "ops/device_with_cores.h"

namespace linear_tiles_test {

using namespace headlight;
using namespace headlight::ops;
using test::device_with_cores;

namespace {

constexpr std::uint32_t kGpt2Inner4 = 192;  // 768 inputs

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("tiles: the largest for many rows, small ones for few, parts of a long inner axis for fewer") {
    const LinearTiles many = choose_tiles(device_with_cores(40), 1'024, 36, kGpt2Inner4);
    CHECK(many.lanes == 256);
    CHECK(many.parts == 1);
    CHECK(many.split4 == kGpt2Inner4);
    const LinearTiles some = choose_tiles(device_with_cores(40), 64, 36, kGpt2Inner4);
    CHECK(some.lanes == 64);
    CHECK(some.parts == 1);
    const LinearTiles few = choose_tiles(device_with_cores(80), 16, 12, 4 * kGpt2Inner4);
    CHECK(few.lanes == 64);
    CHECK(few.parts > 2);
  }

  TEST_CASE("tiles: parts cover the inner axis in whole slices and none is empty") {
    for (std::uint32_t inner4 = 1; inner4 < 900; ++inner4) {
      const LinearTiles tiles = choose_tiles(device_with_cores(500), 16, 2, inner4);
      CAPTURE(inner4);
      if (tiles.parts == 1) {
        CHECK(tiles.split4 == inner4);
      } else {
        CHECK(tiles.split4 % 4 == 0);
        CHECK(divide_up(inner4, tiles.split4) == tiles.parts);
      }
    }
  }

  TEST_CASE("tiles: what the device's limits exclude isn't chosen") {
    gpu::DeviceInfo small = device_with_cores(1);
    CHECK(choose_tiles(small, 512, 64, 64).lanes == 256);
    small.max_invocations = 128;
    CHECK(choose_tiles(small, 512, 64, 64).lanes == 128);
    small.max_invocations = 1'024;
    small.shared_memory_bytes = 16'384;
    CHECK(choose_tiles(small, 512, 64, 64).lanes == 128);
    gpu::DeviceInfo narrow = device_with_cores(500);
    CHECK(choose_tiles(narrow, 16, 2, 800).parts > 1);
    narrow.max_storage_range = 4'096;  // the sums of two parts don't fit
    CHECK(choose_tiles(narrow, 16, 2, 800).parts == 1);
  }

  TEST_CASE("tiles: a device of more cores gets more workgroups") {
    const LinearTiles few = choose_tiles(device_with_cores(1), 256, 36, kGpt2Inner4),
                      many = choose_tiles(device_with_cores(1'000), 256, 36, kGpt2Inner4);
    CHECK(few.lanes == 256);
    CHECK(few.parts == 1);
    CHECK(many.lanes == 64);
    CHECK(many.parts > 1);
  }
}

}  // namespace linear_tiles_test
