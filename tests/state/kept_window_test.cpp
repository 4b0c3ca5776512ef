#include "app/state/kept_window.h"

#include <doctest/doctest.h>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace kept_window_test {

using namespace headlight;
using namespace headlight::app;

namespace {

namespace fs = std::filesystem;

Kept window_of(const std::string& text) {
  Kept kept;
  kept.window.state.text() = text;
  kept.settings.state.text() = text;
  return kept;
}

/// Returns a window with a knocked-out head and an open session.
Kept changed_window() {
  Kept kept = window_of("typed");
  kept.window.state.gains[{{}, 1}] = 0.0F;
  kept.window.session = "/home/ada/notes.headlight.json";
  return kept;
}

/// Began with a text and came to rest.
std::unique_ptr<KeptWindow> open_window(const fs::path& folder, const std::string& text) {
  auto kept = std::make_unique<KeptWindow>(folder, load_settings(folder / "settings.json"));
  kept->begin(window_of(text));
  static_cast<void>(kept->keep(window_of(text), 0.0));
  kept->prove();
  return kept;
}

void keep_at_once(KeptWindow& window, const Kept& kept) {
  CHECK(window.keep(kept, 0.0) > 0.0);
  CHECK(std::isinf(window.keep(kept, 100.0)));
}

/// The next start of the program.
struct NextStart {
  explicit NextStart(const fs::path& folder)
      : loaded(load_settings(folder / "settings.json")),
        kept(folder, loaded),
        resumed(kept.resume(loaded.settings.state, true)) {}

  LoadedSettings loaded;
  KeptWindow kept;
  Resumed resumed;
};

std::size_t kept_in(const fs::path& folder) {
  std::error_code ignored;
  std::size_t count = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(folder / "recovery", ignored)) {
    count += file.path().extension() == ".json" ? 1U : 0U;
  }
  return count;
}

fs::path only_file(const fs::path& folder) {
  for (const fs::directory_entry& file : fs::directory_iterator(folder / "recovery")) {
    if (file.path().extension() == ".json") return file.path();
  }
  FAIL("nothing is kept");
  return {};
}

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777U;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a window is kept from its beginning, and is found when its process has ended") {
    const TemporaryDirectory folder;
    auto window = open_window(folder.path(), "example");
    CHECK(kept_in(folder.path()) == 1);
    keep_at_once(*window, changed_window());
    CHECK(KeptWindow(folder.path(), {}).lost().empty());  // the window is open
    window.reset();
    NextStart start(folder.path());
    REQUIRE(start.resumed.window.has_value());
    CHECK(start.resumed.window->window == changed_window().window);
    CHECK(start.resumed.words ==
          "Headlight was not closed the last time: its texts, masks and views are as they were, L0H1 knocked out.");
    // Another start meanwhile doesn't take it, and it is there until the first writes its own.
    CHECK_FALSE(NextStart(folder.path()).resumed.window.has_value());
    CHECK(kept_in(folder.path()) == 1);
  }

  TEST_CASE("a start that ends before its own window is written leaves the lost one") {
    const TemporaryDirectory folder;
    keep_at_once(*open_window(folder.path(), "example"), changed_window());
    for (int start = 0; start < 3; ++start) CHECK(NextStart(folder.path()).resumed.window.has_value());
  }

  TEST_CASE("a start without a display gives the lost window back, and leaves nothing of its own") {
    const TemporaryDirectory folder;
    keep_at_once(*open_window(folder.path(), "example"), changed_window());
    for (int i = 0; i < 2; ++i) {
      NextStart start(folder.path());
      REQUIRE(start.resumed.window.has_value());
      start.kept.begin({.window = start.resumed.window->window, .settings = start.loaded.settings});
      CHECK(start.kept.end(WindowEnd::Failed, "no display").empty());
    }
    NextStart start(folder.path());
    REQUIRE(start.resumed.window.has_value());
    CHECK(start.resumed.window->window == changed_window().window);
    CHECK(start.resumed.window->end == "no display");

    const TemporaryDirectory other;
    KeptWindow fresh(other.path(), {});
    fresh.begin(window_of("example"));
    CHECK(fresh.end(WindowEnd::Failed, "no display").empty());
    CHECK(kept_in(other.path()) == 0);
  }

  TEST_CASE("a state whose start ended the program is offered, and opened neither again nor from the settings") {
    const TemporaryDirectory folder;
    const Kept bad = window_of("a text that ends the program");
    CHECK(open_window(folder.path(), bad.window.state.text())->end(WindowEnd::Closed, "").empty());
    {
      KeptWindow start(folder.path(), load_settings(folder.path() / "settings.json"));
      start.begin(bad);
      static_cast<void>(start.keep(bad, 0.0));  // a frame was drawn, and then
    }
    {
      NextStart start(folder.path());
      CHECK_FALSE(start.resumed.window.has_value());
      CHECK(start.resumed.avoids_settings);
      CHECK(start.resumed.words.find("The last start ended before all was computed") == 0);
      const std::vector<LostWindow> lost = start.kept.lost();
      REQUIRE(lost.size() == 1);
      CHECK(lost.front().has_ended_start);
      CHECK(lost.front().window == bad.window);
      // The next start names the error that ended this one.
      start.kept.begin(bad);
      static_cast<void>(start.kept.keep(bad, 0.0));
      CHECK(start.kept.end(WindowEnd::Failed, "the device was lost").empty());
    }
    CHECK(NextStart(folder.path()).resumed.words.find("(the device was lost)") != std::string::npos);
    CHECK(load_settings(folder.path() / "settings.json").settings.state.text() == bad.window.state.text());
  }

  TEST_CASE("what a bad start had opened by a flag costs neither the settings nor an older lost window") {
    const TemporaryDirectory folder;
    CHECK(open_window(folder.path(), "good")->end(WindowEnd::Closed, "").empty());
    KeptWindow(folder.path(), load_settings(folder.path() / "settings.json")).begin(window_of("bad"));
    NextStart start(folder.path());
    CHECK_FALSE(start.resumed.window.has_value());
    CHECK_FALSE(start.resumed.avoids_settings);
    CHECK(start.loaded.settings.state.text() == "good");
    // Settings that were saved since with the same inputs have shown that they are good.
    CHECK(open_window(folder.path(), "bad")->end(WindowEnd::Closed, "").empty());
    CHECK_FALSE(NextStart(folder.path()).resumed.avoids_settings);
  }

  TEST_CASE("the newer of lost windows and settings is opened, whatever the files' times say") {
    const TemporaryDirectory folder;
    auto killed = open_window(folder.path(), "first");
    auto closed = open_window(folder.path(), "second");
    keep_at_once(*killed, window_of("older"));
    keep_at_once(*closed, window_of("newer"));
    killed.reset();
    CHECK(closed->end(WindowEnd::Closed, "").empty());
    fs::last_write_time(only_file(folder.path()), fs::file_time_type::clock::now() + std::chrono::hours(1));
    {
      NextStart start(folder.path());
      CHECK_FALSE(start.resumed.window.has_value());
      CHECK(start.loaded.settings.state.text() == "newer");
      CHECK(start.resumed.words == "File, Lost windows has what ended without being closed: 1.");
    }
    // Two windows were killed: the one that was kept last is taken, while the other one is offered.
    auto third = open_window(folder.path(), "third");
    auto fourth = open_window(folder.path(), "fourth");
    keep_at_once(*fourth, window_of("kept before"));
    keep_at_once(*third, window_of("kept last"));
    third.reset();
    fourth.reset();
    NextStart start(folder.path());
    REQUIRE(start.resumed.window.has_value());
    CHECK(start.resumed.window->window.state.text() == "kept last");
    std::set<std::string> offered;
    for (const LostWindow& lost : start.kept.lost()) offered.insert(lost.window.state.text());
    CHECK(offered == std::set<std::string>{"kept before", "older"});
  }

  TEST_CASE("the counter rises at every keep and save, for all windows of the folder, and at a start without its file") {
    const TemporaryDirectory folder;
    const auto counter = [&] { return load_settings(folder.path() / "settings.json").counter; };
    auto one = open_window(folder.path(), "one");
    std::uint64_t last = counter();
    for (int i = 0; i < 6; ++i) {
      auto two = open_window(folder.path(), fmt::format("two {}", i));
      CHECK(counter() > last);
      last = counter();
      keep_at_once(*one, window_of(fmt::format("one {}", i)));
      CHECK(counter() > last);
      last = counter();
      CHECK(two->end(WindowEnd::Closed, "").empty());
      CHECK(counter() > last);
      last = counter();
    }
    for (const char* content : {"", "garbage", "-5"}) {
      std::ofstream(folder.path() / "counter") << content;
      open_window(folder.path(), "another").reset();
      CHECK(counter() > last);
      last = counter();
    }
    fs::remove(folder.path() / "counter");
    open_window(folder.path(), "another").reset();
    CHECK(counter() > last);
  }

  TEST_CASE("a window whose text is typed without a pause is kept every 10 seconds") {
    const TemporaryDirectory folder;
    const auto window = open_window(folder.path(), "");
    std::string text;
    std::vector<double> kept_at_s;
    for (double now_s = 0.0; now_s < 35.0; now_s += 0.5) {
      text += 'x';
      if (std::isinf(window->keep(window_of(text), now_s))) kept_at_s.push_back(now_s);
    }
    CHECK(kept_at_s == std::vector{10.0, 20.5, 31.0});  // 10 s after the first change that isn't kept
  }

  TEST_CASE("a closed window leaves its settings alone") {
    const TemporaryDirectory folder;
    auto window = open_window(folder.path(), "example");
    keep_at_once(*window, changed_window());
    CHECK(window->end(WindowEnd::Closed, "").empty());
    CHECK(window->end(WindowEnd::Asked, "a late signal").empty());  // the first end counts
    CHECK(kept_in(folder.path()) == 0);
    CHECK(fs::is_empty(folder.path() / "recovery"));
    CHECK(load_settings(folder.path() / "settings.json").settings == changed_window().settings);
  }

  TEST_CASE("a signal or an error keeps what was seen last, with the settings, and says what it was") {
    for (const WindowEnd how : {WindowEnd::Asked, WindowEnd::Failed}) {
      const TemporaryDirectory folder;
      auto window = open_window(folder.path(), "example");
      static_cast<void>(window->keep(window_of("a second ago"), 0.0));
      window->see(changed_window());
      CHECK(window->end(how, "so it was").empty());
      window.reset();
      NextStart start(folder.path());
      REQUIRE(start.resumed.window.has_value());
      CHECK(start.resumed.window->window == changed_window().window);
      CHECK(start.loaded.settings == changed_window().settings);
      CHECK(start.resumed.window->end == "so it was");
      CHECK(start.resumed.words.find("(so it was)") != std::string::npos);
    }
  }

  TEST_CASE("a process that is killed leaves its window") {
    const TemporaryDirectory folder;
    const pid_t child = fork();
    if (child == 0) {
      auto window = open_window(folder.path(), "example");
      static_cast<void>(window->keep(changed_window(), 0.0));
      static_cast<void>(window->keep(changed_window(), 100.0));
      static_cast<void>(::kill(::getpid(), SIGKILL));
      ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    NextStart start(folder.path());
    REQUIRE(start.resumed.window.has_value());
    CHECK(start.resumed.window->window == changed_window().window);
  }

  TEST_CASE("a lost window that is opened in another one stays until that one is written") {
    const TemporaryDirectory folder;
    open_window(folder.path(), "lost").reset();
    auto window = open_window(folder.path(), "open");
    const std::vector<LostWindow> lost = window->lost();
    REQUIRE(lost.size() == 1);
    REQUIRE(window->take(lost.front()));
    CHECK(kept_in(folder.path()) == 2);
    CHECK_FALSE(KeptWindow(folder.path(), {}).take(lost.front()));
    static_cast<void>(window->keep(window_of("lost, and gone on with"), 0.0));
    CHECK(kept_in(folder.path()) == 2);
    static_cast<void>(window->keep(window_of("lost, and gone on with"), 100.0));
    CHECK(kept_in(folder.path()) == 1);
    CHECK_FALSE(window->take(lost.front()));
    CHECK(window->end(WindowEnd::Closed, "").empty());
    CHECK(kept_in(folder.path()) == 0);
  }

  TEST_CASE("20 lost windows are kept, none older than 30 days, and those of a newer version for ever") {
    const TemporaryDirectory folder;
    const fs::path newer = folder.path() / "recovery" / "newer.json";
    fs::create_directories(newer.parent_path());
    std::ofstream(newer) << R"({"version": 2, "state": "otherwise"})";
    std::ofstream(fs::path(newer).replace_extension(".lock")) << "";
    for (int i = 0; i < 23; ++i) open_window(folder.path(), fmt::format("{}", i)).reset();
    KeptWindow window(folder.path(), {});
    std::vector<LostWindow> lost = window.lost();
    REQUIRE(lost.size() == KeptWindow::kMaxLost);
    CHECK(lost.front().window.state.text() == "22");
    CHECK(lost.back().window.state.text() == "3");
    CHECK(kept_in(folder.path()) == KeptWindow::kMaxLost + 1);
    const auto days_ago = [](int days) { return fs::file_time_type::clock::now() - std::chrono::hours(24 * days); };
    fs::last_write_time(folder.path() / "recovery" / (lost[0].name + ".json"), days_ago(31));
    fs::last_write_time(folder.path() / "recovery" / (lost[1].name + ".json"), days_ago(29));
    fs::last_write_time(newer, days_ago(400));
    lost = window.lost();
    CHECK(lost.size() == KeptWindow::kMaxLost - 1);
    CHECK(lost.front().window.state.text() == "21");
    for (const LostWindow& one : lost) window.erase(one);
    CHECK(window.lost().empty());
    CHECK(only_file(folder.path()) == newer);
  }

  TEST_CASE("files that can't be read are neither opened nor deleted before they are old") {
    for (const char* content : {"", "{", "[]", "{\"version\": 1, \"state\": 7}", "{\"version\": \"x\", \"state\": {}}",
                                "{\"version\": 1, \"session\": 5, \"state\": {}}", "{\"version\": 1}",
                                "{\"version\": 1, \"counter\": -1, \"state\": {}}"}) {
      CAPTURE(content);
      const TemporaryDirectory folder;
      fs::create_directories(folder.path() / "recovery");
      std::ofstream(folder.path() / "recovery" / "a.lock") << "";
      std::ofstream(folder.path() / "recovery" / "a.json") << content;
      NextStart start(folder.path());
      CHECK_FALSE(start.resumed.window.has_value());
      CHECK(start.resumed.words.empty() == (start.kept.lost().empty()));
      CHECK(kept_in(folder.path()) == 1);
    }
  }

  TEST_CASE("settings of a newer version are left alone, while the window is kept") {
    const TemporaryDirectory folder;
    const std::string newer = R"({"version": 2, "state": 7})";
    std::ofstream(folder.path() / "settings.json") << newer;
    const LoadedSettings loaded = load_settings(folder.path() / "settings.json");
    REQUIRE(loaded.warning.has_value());
    CHECK(loaded.warning->find("is of a newer Headlight") != std::string::npos);
    KeptWindow window(folder.path(), loaded);
    window.begin(window_of("typed"));
    static_cast<void>(window.keep(window_of("typed"), 0.0));
    window.prove();
    CHECK(kept_in(folder.path()) == 1);
    CHECK(window.end(WindowEnd::Closed, "").empty());
    CHECK(read_file(folder.path() / "settings.json") == newer);
  }

  TEST_CASE("what is kept is for the user alone, whatever the folder was before") {
    const TemporaryDirectory folder;
    const fs::path config = folder.path() / "config" / "headlight";
    fs::create_directories(config / "recovery");
    std::ofstream(config / "settings.json") << "{}";
    const mode_t before = ::umask(0);
    const auto window = open_window(config, "example");
    ::umask(before);
    CHECK(mode_of(config) == 0700);
    CHECK(mode_of(config / "recovery") == 0700);
    CHECK(mode_of(config / "settings.json") == 0600);
    CHECK(mode_of(config / "counter") == 0600);
    for (const fs::directory_entry& file : fs::directory_iterator(config / "recovery")) CHECK(mode_of(file) == 0600);
  }

  TEST_CASE("a folder that can't be used is said once, in one line, and again after it could be") {
    const TemporaryDirectory folder;
    std::ofstream(folder.path() / "file") << "in the way";
    KeptWindow window(folder.path() / "file", {});
    window.begin(window_of("example"));
    const std::string trouble = window.take_trouble();
    CHECK(trouble.find("the window is not kept for the next start: ") == 0);
    CHECK(trouble.find('\n') == std::string::npos);
    keep_at_once(window, window_of("typed"));
    keep_at_once(window, window_of("typed on"));
    CHECK(window.take_trouble().empty());
    CHECK(window.end(WindowEnd::Closed, "").find("the settings are not saved: ") == 0);

    fs::remove(folder.path() / "file");
    KeptWindow other(folder.path() / "file", {});
    other.begin(window_of("example"));
    CHECK(other.take_trouble().empty());
    CHECK(kept_in(folder.path() / "file") == 1);
  }

  TEST_CASE("a window whose settings can't be saved when it is closed stays on disk") {
    const TemporaryDirectory folder;
    auto window = open_window(folder.path(), "example");
    fs::remove(folder.path() / "settings.json");
    fs::create_directories(folder.path() / "settings.json" / "in the way");
    window->see(changed_window());
    CHECK(window->end(WindowEnd::Closed, "").find("the settings are not saved: ") == 0);
    window.reset();
    const std::vector<LostWindow> lost = KeptWindow(folder.path(), {}).lost();
    REQUIRE(lost.size() == 1);
    CHECK(lost.front().window == changed_window().window);
  }

  TEST_CASE("a lock is locked as soon as it has its name") {
    const TemporaryDirectory folder;
    std::atomic<bool> is_done = false;
    std::atomic<int> seen = 0, taken = 0;
    std::thread other([&] {
      while (!is_done) {
        for (const fs::directory_entry& file : fs::directory_iterator(folder.path())) {
          if (file.path().extension() != ".lock") continue;
          ++seen;
          std::error_code error;
          if (platform::lock_file(file.path(), false, error)) ++taken;
        }
      }
    });
    std::vector<platform::Descriptor> held;
    for (int i = 0; i < 400; ++i) {
      std::error_code error;
      held.push_back(platform::lock_file(folder.path() / fmt::format("{}.lock", i), true, error));
      REQUIRE_FALSE(error);
    }
    while (seen < 400) std::this_thread::yield();
    is_done = true;
    other.join();
    CHECK(taken == 0);
    std::error_code error;
    CHECK_FALSE(platform::lock_file(folder.path() / "7.lock", true, error));
    CHECK(error == std::errc::file_exists);
    for (const fs::directory_entry& file : fs::directory_iterator(folder.path())) {
      CHECK(file.path().extension() == ".lock");  // nothing else is left
    }
  }
}

}  // namespace kept_window_test
