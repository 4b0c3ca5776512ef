#include "app/state/recovery.h"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "support/temporary_directory.h"

namespace recovery_test {

using namespace headlight;
using namespace headlight::app;

namespace {

namespace fs = std::filesystem;

OpenWindow window_of(const std::string& text) {
  OpenWindow window;
  window.state.text() = text;
  return window;
}

/// As a window with a knocked-out head and an open session that has been quiet.
OpenWindow changed_window() {
  OpenWindow window = window_of("typed");
  window.state.gains[{{}, 1}] = 0.0F;
  window.session = "/home/ada/notes.headlight.json";
  return window;
}

void keep_at_once(Recovery& recovery, const OpenWindow& window) {
  CHECK(recovery.keep(window, 0.0) > 0.0);
  CHECK(std::isinf(recovery.keep(window, 100.0)));
}

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a window is kept once it is quiet, and is found when its process has ended") {
    const TemporaryDirectory folder;
    const fs::path kept = folder.path() / "config" / "recovery";
    auto recovery = std::make_unique<Recovery>(kept, OpenWindow{});
    CHECK(std::isinf(recovery->keep(OpenWindow{}, 0.0)));
    CHECK(files_in(kept) == 1);  // its lock
    keep_at_once(*recovery, changed_window());
    CHECK_FALSE(take_lost_window(kept).has_value());  // the window is open
    recovery.reset();
    const std::optional<OpenWindow> lost = take_lost_window(kept);
    REQUIRE(lost.has_value());
    CHECK(*lost == changed_window());
    CHECK_FALSE(take_lost_window(kept).has_value());
    CHECK(files_in(kept) == 0);
  }

  TEST_CASE("a window whose text is typed without a pause is kept every 10 seconds") {
    const TemporaryDirectory folder;
    Recovery recovery(folder.path(), OpenWindow{});
    std::string text;
    std::vector<double> kept_at_s;
    for (double now_s = 0.0; now_s < 35.0; now_s += 0.5) {
      text += 'x';
      if (std::isinf(recovery.keep(window_of(text), now_s))) kept_at_s.push_back(now_s);
    }
    CHECK(kept_at_s == std::vector{10.0, 20.5, 31.0});  // 10 s after the first change that isn't kept
    CHECK(files_in(folder.path()) == 2);                // the window and its lock
  }

  TEST_CASE("a closed window leaves nothing") {
    const TemporaryDirectory folder;
    {
      Recovery recovery(folder.path(), OpenWindow{});
      keep_at_once(recovery, changed_window());
      recovery.discard();
    }
    CHECK(files_in(folder.path()) == 0);
    CHECK_FALSE(take_lost_window(folder.path()).has_value());
    CHECK_FALSE(take_lost_window(folder.path() / "none").has_value());
  }

  TEST_CASE("a process that is killed leaves its window") {
    const TemporaryDirectory folder;
    const pid_t child = fork();
    if (child == 0) {
      Recovery recovery(folder.path(), OpenWindow{});
      static_cast<void>(recovery.keep(changed_window(), 0.0));
      static_cast<void>(recovery.keep(changed_window(), 100.0));
      static_cast<void>(::kill(::getpid(), SIGKILL));
      ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    const std::optional<OpenWindow> lost = take_lost_window(folder.path());
    REQUIRE(lost.has_value());
    CHECK(*lost == changed_window());
  }

  TEST_CASE("of several lost windows the newest is taken, and an open one stays") {
    const TemporaryDirectory folder;
    const Recovery open(folder.path(), OpenWindow{});
    for (const char* text : {"older", "newer"}) {
      Recovery recovery(folder.path(), OpenWindow{});
      keep_at_once(recovery, window_of(text));
      if (std::string(text) == "older") {
        for (const fs::directory_entry& file : fs::directory_iterator(folder.path())) {
          fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
        }
      }
    }
    const std::optional<OpenWindow> lost = take_lost_window(folder.path());
    REQUIRE(lost.has_value());
    CHECK(lost->state.text() == "newer");
    CHECK(files_in(folder.path()) == 1);
  }

  TEST_CASE("broken files count as none, and are gone afterwards") {
    for (const char* content : {"", "{", "[]", "{\"version\": 2, \"state\": {}}", "{\"version\": 1, \"state\": 7}",
                                "{\"version\": 1, \"session\": 5, \"state\": {}}", "{\"version\": \"x\"}"}) {
      CAPTURE(content);
      const TemporaryDirectory folder;
      std::ofstream(folder.path() / "a.lock") << "";
      std::ofstream(folder.path() / "a.json") << content;
      CHECK_FALSE(take_lost_window(folder.path()).has_value());
      CHECK(files_in(folder.path()) == 0);
    }
  }

  TEST_CASE("a folder that can't be made is told in one line") {
    const TemporaryDirectory folder;
    std::ofstream(folder.path() / "file") << "in the way";
    CHECK_THROWS_AS(Recovery(folder.path() / "file" / "recovery", OpenWindow{}), Error);
  }
}

}  // namespace recovery_test
