// The ring of steps: what it keeps of more than it may.
#include <doctest/doctest.h>

#include <fstream>

#include <fmt/format.h>

#include "app/data/link/linked_steps.h"
#include "support/temporary_directory.h"

namespace linked_steps_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

LinkedStep written(const fs::path& folder, std::int64_t step, std::uint64_t bytes, int serial = 0) {
  LinkedStep made{.step = step, .file = folder / fmt::format("{}.{}", step, serial), .bytes = bytes};
  std::ofstream(made.file) << std::string(bytes, 'x');
  return made;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("ten thousand steps stay within the budget, the first and the newest among them, the newest densest") {
    const TemporaryDirectory folder;
    LinkedSteps ring({.bytes = 1'000'000, .steps = 100});
    for (int step = 0; step < 10'000; ++step) {
      ring.add(written(folder.path(), step, 8));
      CHECK(ring.steps().size() <= 100);
    }
    const std::vector<LinkedStep>& steps = ring.steps();
    CHECK(steps.size() == 100);
    CHECK(steps.front().step == 0);
    CHECK(steps.back().step == 9'999);
    CHECK(ring.thinned() == 9'900);
    CHECK(ring.bytes() == 800);
    CHECK(files_in(folder.path()) == 100);
    // The newest half is whole; the older half has no gap of more than a few even shares of the way (observed: 256).
    std::int64_t widest = 0;
    for (std::size_t i = 1; i < steps.size(); ++i) widest = std::max(widest, steps[i].step - steps[i - 1].step);
    CHECK(widest <= 1'000);
    for (std::size_t i = 60; i + 1 < steps.size(); ++i) CHECK(steps[i + 1].step - steps[i].step == 1);
    ring.clear();
    CHECK(files_in(folder.path()) == 0);
    CHECK(ring.bytes() == 0);
  }

  TEST_CASE("bytes count, a step that is sent again takes the place of its first capture") {
    const TemporaryDirectory folder;
    {
      LinkedSteps ring({.bytes = 100, .steps = 100});
      ring.add(written(folder.path(), 5, 40));
      ring.add(written(folder.path(), 5, 30, 1));
      CHECK(ring.steps().size() == 1);
      CHECK(ring.bytes() == 30);
      CHECK(files_in(folder.path()) == 1);
      ring.add(written(folder.path(), 2, 30));
      CHECK(ring.steps().front().step == 2);
      ring.add(written(folder.path(), 9, 50));
      CHECK(ring.bytes() == 80);
      CHECK(ring.steps().size() == 2);
      CHECK(ring.thinned() == 1);
      CHECK(nearest_step(ring.steps(), 0) == 0);
      CHECK(nearest_step(ring.steps(), 100) == 1);
    }
    CHECK(files_in(folder.path()) == 0);
  }
}

}  // namespace linked_steps_test
