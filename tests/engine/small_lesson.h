#pragma once

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "app/engine/engine.h"
#include "engine/reference_runner.h"
#include "support/temporary_directory.h"

namespace headlight::test {

/// The engine that computes lessons by the reference.
inline app::EngineOptions reference_engine() { return {.open = app::open_reference_runner, .device = {}}; }

/// Three cards: of a notebook, with a task; to read; of a text, with a task.
inline nlohmann::json small_lesson() {
  return nlohmann::json::parse(R"({"headlight_lesson": 1, "title": "T", "summary": "S", "minutes": 2, "cards": [
    {"title": "One", "text": ["a"], "opens": {"preset": "notebook-003"}, "task": "Pin",
     "done": [{"field": "view.pinned", "equals": [2, 1]}]},
    {"title": "Two", "text": ["b", "c"], "opens": {"view": {"tab": "steps"}}},
    {"title": "Three", "text": ["d"], "opens": {"preset": "", "text": "a b c"}, "task": "Type",
     "done": [{"field": "text", "contains": "d"}]}]})");
}

/// A lesson in a file of its own folder.
struct LessonFile {
  explicit LessonFile(const nlohmann::json& lesson) : path(folder.path() / "mine.json") {
    std::ofstream(path) << lesson.dump();
  }

  TemporaryDirectory folder;
  std::filesystem::path path;
};

}  // namespace headlight::test
