#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "app/ui_driver.h"
#include "support/temporary_directory.h"

namespace headlight::app {

/// A window that plays a lesson of these cards, the elements of a JSON list, from a file of its own folder.
struct PlayedLesson {
  explicit PlayedLesson(const std::string& cards) {
    std::ofstream(path) << R"({"headlight_lesson": 1, "title": "T", "summary": "S", "minutes": 1, "cards": [)" << cards
                        << "]}";
    ui.resize(1600, 1800);
    ui.window().open_files({path.string()});
    ui.settle();
    REQUIRE_MESSAGE(ui.window().lessons().lesson(), ui.window().notice().text);
  }

  TemporaryDirectory folder;
  std::filesystem::path path = folder.path() / "mine.json";
  UiDriver ui;
};

}  // namespace headlight::app
