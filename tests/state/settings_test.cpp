#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "app/state/settings.h"
#include "core/error.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace settings_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

/// Sets or removes an environment variable and puts it back.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_ ? old_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) const { value ? setenv(name_, value, 1) : unsetenv(name_); }

  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("folders follow the XDG variables, absolute ones only") {
    const ScopedVariable home("HOME", "/home/ada");
    {
      const ScopedVariable config("XDG_CONFIG_HOME", "/etc/ada");
      const ScopedVariable cache("XDG_CACHE_HOME", nullptr);
      CHECK(settings_path() == "/etc/ada/headlight/settings.json");
      CHECK(cache_directory() == "/home/ada/.cache/headlight");
    }
    const ScopedVariable config("XDG_CONFIG_HOME", "relative/folder");
    CHECK(config_directory() == "/home/ada/.config/headlight");
    const ScopedVariable no_home("HOME", nullptr);
    CHECK_THROWS_AS(config_directory(), Error);
  }

  TEST_CASE("settings are remembered") {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "not there yet" / "settings.json";
    Settings settings;
    settings.window = {.size = {800, 600}, .position = glm::ivec2(-5, 12), .is_maximized = true};
    settings.device = "llvmpipe";
    settings.export_directory = "/tmp/figures";
    settings.figure_look = R"({"width_mm": 84})";
    settings.panes = {.sidebar = 321.0F, .grid_fold = Fold::Folded, .shows_details = true};
    settings.shows_welcome = false;
    settings.verifies_head = true;
    for (const char* id : {"command view.theme", "head encoder.1.2", "command view.theme"}) remember_choice(settings, id);
    CHECK(settings.recent_choices == std::vector<std::string>{"command view.theme", "head encoder.1.2"});
    for (int i = 0; i < 15; ++i) remember_file(settings, fmt::format("/surveys/{}", i));
    remember_file(settings, "/surveys/../surveys/9");
    CHECK(settings.recent_files.size() == kMaxRecentFiles);
    CHECK(settings.recent_files[0] == "/surveys/9");
    CHECK(settings.recent_files[1] == "/surveys/14");
    settings.state.text() = "remember me";
    settings.state.model().translates = false;
    settings.state.view.theme = Theme::Light;
    save_settings(path, settings);
    const LoadedSettings loaded = load_settings(path);
    CHECK_FALSE(loaded.warning);
    CHECK(loaded.has_state);
    CHECK(loaded.settings == settings);
  }

  TEST_CASE("masks and head gains of an older file are forgotten: a start begins with the model as it was trained") {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "settings.json";
    Settings settings;
    settings.state.text() = "kept";
    change_to_notebook(settings.state, "notebook-002");
    restore_training(settings.state);
    const attention::MaskSet trained = settings.state.masks;
    CHECK(trained != attention::MaskSet{});
    settings.state.masks[model::BlockKind::DecoderSelf].rule.causal = false;
    settings.state.playground().kept_masks[model::BlockKind::EncoderSelf].rule.causal = true;
    settings.state.gains[{{}, 3}] = 0.0F;
    save_settings(path, settings);
    const State state = load_settings(path).settings.state;
    CHECK(state.text() == "kept");
    CHECK(notebook_name(state.source) == "notebook-002");
    CHECK(state.masks == trained);
    CHECK(state.playground().kept_masks == attention::MaskSet{});
    CHECK(state.gains.empty());
  }

  TEST_CASE("a missing file means defaults, silently") {
    const TemporaryDirectory directory;
    const LoadedSettings loaded = load_settings(directory.path() / "settings.json");
    CHECK_FALSE(loaded.warning);
    CHECK_FALSE(loaded.has_state);
    CHECK(loaded.settings.shows_welcome);
    CHECK(loaded.settings == Settings{});
  }

  TEST_CASE("garbage is named in one line, kept aside, and replaced by defaults") {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "settings.json";
    const auto expect_warning = [&](const std::string& content, const std::string& what, const std::string& kept) {
      write_file_atomically(path, content);
      const LoadedSettings loaded = load_settings(path);
      REQUIRE(loaded.warning);
      CHECK(*loaded.warning == path.string() + ": " + what + "; kept as " + kept + ", starting with defaults");
      CHECK(loaded.settings == Settings{});
      CHECK_FALSE(fs::exists(path));
      CHECK(read_file(directory.path() / kept) == content);
    };
    expect_warning("\x01\x02 garbage", "not JSON (line 1, column 1)", "settings.json.bad");
    expect_warning(R"({"window": {"width": "wide"}})",
                   "window.width: expected a whole number from 64 to 32768, found \"wide\"", "settings.json.bad.1");
    expect_warning(R"({"state": {"view": {"tab": 7}}})",
                   "state.view.tab: expected the name of a view, for instance head, found 7", "settings.json.bad.2");
    expect_warning("", "not JSON (line 1, column 1)", "settings.json.bad.3");
    expect_warning("[]", "the file: expected an object, found []", "settings.json.bad.4");
    const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
    expect_warning("{\"device\":" + deep + "}", "JSON nested more than 64 deep", "settings.json.bad.5");
    expect_warning("{\"device\":[[[\"\x1b[31m\"]]]}", "not JSON (line 1, column 15)", "settings.json.bad.6");
    expect_warning("{\"device\":[[[1]]]}", "device: expected a text, found [[[1]]]", "settings.json.bad.7");
  }

  TEST_CASE("a pipe where the file should be neither stops the start nor is written to") {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "settings.json";
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    const LoadedSettings loaded = load_settings(path);
    REQUIRE(loaded.warning);
    CHECK(loaded.warning->find("it is a pipe or a device") != std::string::npos);
    CHECK(fs::is_fifo(directory.path() / "settings.json.bad"));
    save_settings(path, loaded.settings);
    CHECK(load_settings(path).settings == loaded.settings);
  }

  TEST_CASE("a folder where the file should be is kept aside too") {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "settings.json";
    fs::create_directory(path);
    const LoadedSettings loaded = load_settings(path);
    REQUIRE(loaded.warning);
    CHECK(loaded.warning->find(path.string()) != std::string::npos);
    CHECK(loaded.warning->find('\n') == std::string::npos);
    CHECK(fs::is_directory(directory.path() / "settings.json.bad"));
  }

  TEST_CASE("progress in lessons of before the course is dropped with one sentence, once; the rest of the file stays") {
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "settings.json";
    std::ofstream(path)
        << R"({"device": "a", "lessons": {"cards": {"3-notebook-001": 2}, "completed": ["1-what-a-query-is"]}})";
    LoadedSettings loaded = load_settings(path);
    CHECK_FALSE(loaded.warning);
    CHECK(loaded.note.find("The course is new") == 0);
    CHECK(loaded.settings.lessons == LessonProgress{});
    CHECK(loaded.settings.device == "a");
    loaded.settings.lessons = {.cards = {{"masks", 2}}, .completed = {"values"}, .marks = {{"masks", {{0, {.wrong = 2}}}}}};
    save_settings(path, loaded.settings);
    const LoadedSettings again = load_settings(path);
    CHECK(again.note.empty());
    CHECK(again.settings == loaded.settings);
    std::ofstream(path) << R"({"lessons": {"cards": {}, "completed": []}})";
    CHECK(load_settings(path).note.empty());  // there was none
    for (const char* marks :
         {R"({"masks": {"one": {}}})", R"({"masks": {"1": 3}})", R"({"masks": {"1": {"wrong": -1}}})", "[]"}) {
      std::ofstream(path) << R"({"lessons": {"course": 2, "marks": )" << marks << "}}";
      const LoadedSettings refused = load_settings(path);
      REQUIRE(refused.warning);
      CHECK(refused.warning->find("lessons.marks") != std::string::npos);
    }
  }

  TEST_CASE("whatever a member of the file is, the program starts: with it, or with defaults and one line") {
    using nlohmann::json;
    const TemporaryDirectory directory;
    const fs::path path = directory.path() / "settings.json";
    Settings settings;
    settings.window = {.size = {800, 600}, .position = glm::ivec2(5, 12), .is_maximized = true};
    settings.recent_models = settings.recent_files = {"/a"};
    settings.recent_choices = {"command view.theme"};
    settings.lessons = {
        .cards = {{"one", 2}}, .completed = {"two"}, .marks = {{"two", {{3, {.wrong = 1, .right = 2, .is_due = true}}}}}};
    save_settings(path, settings, 7);
    const json whole = json::parse(read_file(path));
    const std::vector<std::string> odd = {"0",
                                          "-1",
                                          "1",
                                          "0.1",
                                          "1e308",
                                          "-1e308",
                                          "9007199254740993",
                                          "18446744073709551615",
                                          "-9223372036854775808",
                                          "1e999",
                                          "NaN",
                                          "null",
                                          "true",
                                          "\"\"",
                                          "\"a\"",
                                          "[]",
                                          "[1, 2, 3]",
                                          "{}"};
    std::size_t tried = 0, accepted = 0;
    const json members = whole.flatten();
    for (const auto& member : members.items()) {
      const std::string& pointer = member.key();
      json changed = whole;
      changed[json::json_pointer(pointer)] = "<here>";
      const std::string text = changed.dump();
      const std::size_t at = text.find("\"<here>\"");
      REQUIRE(at != std::string::npos);
      for (const std::string& content : odd) {
        CAPTURE(pointer);
        CAPTURE(content);
        write_file_atomically(path, std::string(text).replace(at, 8, content));
        const LoadedSettings loaded = load_settings(path);
        ++tried;
        if (loaded.warning) {
          CHECK(loaded.warning->find('\n') == std::string::npos);
          CHECK(loaded.settings == Settings{});
          fs::remove(path.string() + ".bad");
          continue;
        }
        ++accepted;
        save_settings(path, loaded.settings, loaded.counter);
        CHECK(load_settings(path).settings == loaded.settings);
      }
    }
    MESSAGE(tried << " tried, " << accepted << " accepted");
    CHECK(accepted > 100);
    CHECK(tried - accepted > 1'000);
  }

  TEST_CASE("settings that can't be written are an error that names the file") {
    CHECK_THROWS_AS(save_settings("/proc/headlight/settings.json", {}), Error);
  }
}

}  // namespace settings_test
