// Session files: old and new versions, damage, and the names that are typed for them.
#include "app/state/session_file.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include <fstream>
#include <set>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/state/corpus_settings.h"
#include "app/state/mask_painting.h"
#include "app/state/opened_file.h"
#include "app/state/state_json.h"
#include "app/state/what_if_settings.h"
#include "core/error.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace session_file_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

/// Returns the error of loading a file with this content, without the file's name; empty: it was loaded.
std::string failure_of(const std::string& content) {
  const TemporaryDirectory folder;
  const fs::path path = folder.path() / "s.headlight.json";
  write_file_atomically(path, content);
  const Result<State> loaded = load_session(path);
  if (loaded) return {};
  CHECK(loaded.error().starts_with(path.string()));
  CHECK(loaded.error().find('\n') == std::string::npos);
  return loaded.error().substr(path.string().size());
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("what is no JSON is told by what it is, and what opens that") {
    constexpr const char* kExpected = "; expected a session, which File, Save session writes";
    const auto told = [&](std::string_view content) {
      const std::string failure = failure_of(std::string(content));
      CHECK(failure.ends_with(kExpected));
      CHECK(failure.starts_with(": not JSON (line "));
      const std::size_t at = failure.find("): ");
      return at == std::string::npos ? std::string() : failure.substr(at + 3, failure.find("; expected") - at - 3);
    };
    CHECK(told("") == "it is empty");
    CHECK(told(" \n") == "it is empty");
    CHECK(told("GGUF\x03") == "it is a GGUF model, which is opened as one (Ctrl+O, --model)");
    CHECK(told("PK\x03\x04...").starts_with("it is a zip archive"));
    CHECK(told("\x93NUMPY...").starts_with("it is a NumPy array"));
    CHECK(told("\x89PNG...").starts_with("it is a PNG image"));
    CHECK(told("%PDF-1.7").starts_with("it is a PDF"));
    CHECK(told("<svg/>").starts_with("it is an SVG image"));
    CHECK(told(std::string_view("\x10\0\0\0\0\0\0\0{\"a\": 1}", 16)).starts_with("it is a .safetensors file"));
    CHECK(told("the cat sat") == "it is a text, which is opened as one (File, Open text; --text-file)");
    CHECK(told("\xff\xfe") == "it is a binary file");
    CHECK(told(R"({"headlight": 1, "state": {)") == "");  // cut off: the place says where
  }

  TEST_CASE("sessions that came along with earlier commits open, and nothing that they say is passed over") {
    std::size_t sessions = 0;
    std::set<std::string> unknown;
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(HEADLIGHT_GOLDEN_DIR) / "sessions")) {
      CAPTURE(entry.path().filename().string());
      const Result<State> state = load_session(entry.path());
      REQUIRE_MESSAGE(state, state.error());
      const nlohmann::json stored = nlohmann::json::parse(read_file(entry.path())).at("state").flatten();
      const nlohmann::json read = to_json(*state).flatten();
      for (const auto& item : stored.items()) {
        const std::string& place = item.key();
        const nlohmann::json& value = item.value();
        // A path is found beside the file, or in a cache; null stands for empty lists, too.
        if (place.ends_with("/path") || value.is_null()) continue;
        CAPTURE(place);
        if (!read.contains(place)) {
          unknown.insert(place);
        } else {
          const bool is_fitted = place == "/view/color_range" && value == "absolute";  // what it meant is a choice now
          CHECK(read.at(place) == (is_fitted ? nlohmann::json("quantile") : value));
        }
      }
      ++sessions;
    }
    CHECK(sessions == 21);
    CHECK(fmt::format("{}", fmt::join(unknown, " ")) == "/heads/measure");  // members that went before
  }

  TEST_CASE("a file is opened as what it is") {
    const TemporaryDirectory folder;
    const auto kind = [&](const std::string& name, const std::string& content) {
      const fs::path path = folder.path() / name;
      write_file_atomically(path, content);
      return kind_of_file(path);
    };
    CHECK(kind_of_file(folder.path()) == FileKind::Model);
    CHECK(kind("a.gguf", "GGUF") == FileKind::Model);
    CHECK(kind("a.safetensors", "?") == FileKind::Model);
    CHECK(kind("a.npz", "?") == FileKind::Capture);
    CHECK(kind("a.json", "{}") == FileKind::Session);
    CHECK(kind("a.headlight.json", "{}") == FileKind::Session);
    CHECK(kind("lesson.json", R"({"headlight_lesson": 1})") == FileKind::Lesson);
    CHECK(kind("layout.json", R"({"headlight_layout": 1})") == FileKind::Layout);
    CHECK(kind("b.json", R"({"state": {"text": "the \"headlight_lesson\" member"}})") == FileKind::Session);
    CHECK(kind("a.svg", "<svg/>") == FileKind::Session);
    CHECK(kind("a.txt", "a b") == FileKind::Text);
    CHECK(kind("a", "a b") == FileKind::Text);
  }

  TEST_CASE("a session says its version; older ones, which have none, are read too") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "s.headlight.json";
    State state;
    state.text() = "one two";
    state.model().precision = inference::Precision::F16;
    set_head_gain(state, {}, 2, 0.0F);
    paint(state, {.query = 1, .key = 0}, false, {.keys = 4});
    save_session(path, state);
    nlohmann::json written = nlohmann::json::parse(read_file(path));
    CHECK(written["headlight"] == 1);
    CHECK(written["version"] == kSessionVersion);
    CHECK(load_session(path).value() == state);
    written.erase("version");
    write_file_atomically(path, written.dump());
    CHECK(load_session(path).value() == state);
  }

  TEST_CASE("a session finds its model again after both were moved, and names no folder of this computer") {
    const TemporaryDirectory folder;
    const fs::path here = folder.path() / "here", there = folder.path() / "there";
    fs::create_directories(here / "models" / "tiny");
    fs::create_directories(here / "notes");
    State state;
    change_to_model(state, (here / "models" / "tiny").string());
    for (const char* name : {"s.headlight.json", "notes/s.headlight.json", "models/tiny/s.headlight.json"}) {
      CAPTURE(name);
      save_session(here / name, state);
      CHECK(read_file(here / name).find(folder.path().string()) == std::string::npos);
      CHECK(load_session(here / name).value() == state);
    }
    fs::rename(here, there);
    for (const char* name : {"s.headlight.json", "notes/s.headlight.json", "models/tiny/s.headlight.json"}) {
      CAPTURE(name);
      CHECK(model_path(load_session(there / name).value().source) == (there / "models" / "tiny").string());
    }
  }

  TEST_CASE("a file names what it opens again relative to itself, from the home folder on, or as it is") {
    const TemporaryDirectory home;
    const char* const variable = std::getenv("HOME");
    const std::string before = variable != nullptr ? variable : "";
    setenv("HOME", home.path().c_str(), 1);
    const fs::path model = home.path() / "models" / "gpt2";
    fs::create_directories(model);
    CHECK(findable_path(model.string(), "/elsewhere/paper") == "~/models/gpt2");
    CHECK(found_path("~/models/gpt2", "/elsewhere/paper") == model.string());
    CHECK(found_path("~/models/gone", "/elsewhere/paper") == "~/models/gone");
    CHECK(findable_path(model.string(), home.path() / "paper") == "../models/gpt2");
    CHECK(findable_path(model.string(), home.path() / "models") == "./gpt2");
    CHECK(findable_path("/elsewhere/data/gpt2", home.path()) == "/elsewhere/data/gpt2");
    CHECK(findable_path("owner/tiny", home.path()) == "owner/tiny");
    CHECK(findable_path("/elsewhere/hub/models--owner--tiny/snapshots/0123", home.path()) == "owner/tiny");
    CHECK(findable_path("", home.path()).empty());
    CHECK(is_name_of("gpt2", model.string()));
    CHECK(is_name_of("owner/tiny", "/elsewhere/hub/models--owner--tiny/snapshots/0123"));
    CHECK(!is_name_of("gpt", model.string()));
    CHECK(!is_name_of("", ""));
    CHECK(is_name_of("../moved/gpt2", model.string()));  // which isn't there any more
    CHECK(!is_name_of(model.parent_path().string(), model.string()));
    setenv("HOME", before.c_str(), 1);
  }

  TEST_CASE("a session that an older version of the program wrote") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "old.headlight.json";
    write_file_atomically(path, R"({"headlight": 1, "state": {
      "text": "the cat", "key_text": "", "cross": false, "preset": "",
      "playground": {"d_model": 32, "heads": 4, "scale": "none"},
      "masks": {"encoder": {"rule": "causal+window:3", "key_padding": false, "fill": "-1e9",
                            "matrix": {"shape": [1, 1, 2, 2], "rows": ["10", "11"]},
                            "painted": [{"layer": null, "batch": 0, "head": 2, "cells": [[0, 1, true], [0, 2, true]]}]}},
      "gains": [{"kind": "encoder", "layer": 1, "head": 3, "gain": 0.5}],
      "selection": {"kind": "encoder", "layer": 1, "batch": 0, "head": 2, "mean": "none"},
      "view": {"tab": "steps", "pinned": [1, 0]}}})");
    const State state = load_session(path).value();
    CHECK(state.text() == "the cat");
    CHECK(state.playground().settings.d_model == 32);
    CHECK(state.playground().settings.layers == State{}.playground().settings.layers);
    const attention::MaskSpec& mask = state.masks[model::BlockKind::EncoderSelf];
    CHECK(attention::to_string(mask.rule) == "causal+window:3");
    CHECK_FALSE(mask.rule.key_padding);
    CHECK(mask.matrix->keep == std::vector<std::uint8_t>{1, 0, 1, 1});
    const attention::CellRuns& cells = mask.painted.at({.batch = 0, .head = 2});
    CHECK(cells.cell_count() == 2);
    CHECK(cells.runs().size() == 1);
    CHECK(head_gain(state, {.kind = model::BlockKind::EncoderSelf, .layer = {1}}, 3) == 0.5F);
    CHECK(state.view.tab == "steps");
  }

  TEST_CASE("thinking is unset until it is chosen, and stays on or off where an older version wrote that") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "chat.headlight.json";
    const auto thinking = [&](const std::string& member) {
      write_file_atomically(path, fmt::format(R"({{"headlight": 1, "state": {{"model": {{"path": "gpt2"{}}}}}}})", member));
      return load_session(path).value().model().thinking;
    };
    CHECK(thinking("") == text::Thinking::Unset);
    CHECK(thinking(R"(, "thinks": true)") == text::Thinking::On);
    CHECK(thinking(R"(, "thinks": false)") == text::Thinking::Off);
    CHECK(thinking(R"(, "thinks": "unset")") == text::Thinking::Unset);
    CHECK(thinking(R"(, "thinks": "on")") == text::Thinking::On);
    CHECK(failure_of(R"({"headlight": 1, "state": {"model": {"path": "gpt2", "thinks": 1}}})") ==
          ": model.thinks: expected one of unset, on, off, found 1");
  }

  TEST_CASE("newer versions and damage are one line each") {
    CHECK(failure_of(R"({"headlight": 1, "version": 1, "state": {}})").empty());
    CHECK(failure_of(R"({"headlight": 1, "version": 2, "state": {}})") ==
          ": a session of version 2, but this Headlight reads versions up to 1; open it with a newer one");
    CHECK(failure_of(R"({"headlight": 1, "version": 18446744073709551615, "state": 3})").find("a session of version") !=
          std::string::npos);
    for (const char* version : {"0", "-1", "1.5", "\"1\"", "null", "[]"}) {
      CAPTURE(version);
      CHECK(failure_of(std::string(R"({"headlight": 1, "version": )") + version + R"(, "state": {}})")
                .starts_with(": version: expected a whole number from 1 to 1, found "));
    }
    CHECK(failure_of("[]").find("is no Headlight session") != std::string::npos);
    CHECK(failure_of(R"({"headlight": 1, "version": 1, "state": {"view": {"theme": 3}}})") ==
          ": view.theme: expected one of dark, light, high-contrast, found 3");
    CHECK(failure_of(R"({"headlight": 1, "state": {"preset": "notebook-9"}})")
              .starts_with(": preset: expected one of notebook-000, "));
    CHECK(failure_of(R"({"headlight": 1, "state": {"compare": {"baseline": {"preset": "?"}}}})")
              .starts_with(": compare.baseline.preset: expected one of notebook-000, "));
  }

  TEST_CASE("names as they are typed, and as titles show them") {
    CHECK(session_path("/a/notes") == "/a/notes.headlight.json");
    CHECK(session_path("/a/notes.v2") == "/a/notes.v2.headlight.json");
    CHECK(session_path("/a/notes.json") == "/a/notes.json");
    CHECK(session_path("/a/notes.headlight.json") == "/a/notes.headlight.json");
    CHECK(session_name("/a/notes.headlight.json") == "notes");
    CHECK(session_name("/a/notes.json") == "notes.json");
    CHECK(session_name("/a/.headlight.json") == ".headlight.json");
  }

  TEST_CASE("what is selected and how it is shown is no unsaved change, the rest is") {
    OpenSession session;
    State state;
    CHECK_FALSE(has_unsaved_changes(session, state));
    state.selection.head = 3;
    state.view.theme = Theme::Light;
    CHECK_FALSE(has_unsaved_changes(session, state));
    for (const SettingGroup* group : setting_groups()) {
      for (const AnySetting* setting : group->settings) {
        CAPTURE(setting->path());
        State changed = state;
        const bool is_first = setting->usual == SettingValue(std::int64_t{1});
        SettingValue other(std::int64_t{is_first ? 0 : 1});
        if (setting->kind == AnySetting::Kind::Switch) other = !std::get<bool>(setting->usual);
        if (setting->kind == AnySetting::Kind::Text) other = std::string("else");
        if (setting->kind == AnySetting::Kind::Number) other = 0.25;
        choices_of(changed, *setting).put(*setting, std::move(other));
        CHECK(has_unsaved_changes(session, changed) != setting->is_look);
        CHECK_FALSE(describe_change(state, changed).label.empty());
      }
    }
    State asked;
    asked.set(kWhatIfView.ablation, Ablation::Mean);
    CHECK(has_unsaved_changes(session, asked));
    State sorted;
    sorted.set(kWhatIfView.is_sorted, false).set(kCorpusView.mode, CorpusMode::Table);
    CHECK_FALSE(has_unsaved_changes(session, sorted));
    state.masks[model::BlockKind::Cross].rule.causal = true;
    CHECK(has_unsaved_changes(session, state));
    session.saved = state;
    CHECK_FALSE(has_unsaved_changes(session, state));
  }
}

}  // namespace session_file_test
