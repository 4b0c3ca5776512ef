// Help › Check this machine: the checks of a child process, line by line, and the report that is copied.
#include <doctest/doctest.h>
#include <imgui.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

#include "app/ui_driver.h"

namespace viewer_check_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("gpu") {
  TEST_CASE("a machine is checked in the background, its report copied, and Esc closes the dialog") {
    UiDriver ui(with_text("a b c"));
    ui.click("menu.Help");
    ui.click("menu.Check this machine\u2026");
    REQUIRE(ui.sees("check.copy"));
    CHECK_FALSE(ui.sees("check.all"));  // it has just begun
    CHECK(ui.window().redraw_after_s() < 1.0);
    for (int look = 0; look < 1'200 && !ui.sees("check.all"); ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      ui.settle();
    }
    REQUIRE(ui.sees("check.all"));
    check_tips(ui);
    ui.click("check.copy");
    const nlohmann::json report = nlohmann::json::parse(ImGui::GetClipboardText());
    CHECK(report.at("quick") == true);
    REQUIRE_FALSE(report.at("devices").empty());
    CHECK(report.at("devices").at(0).at("lines").size() > 10);
    CHECK(report.at("devices").at(0).at("status") != "fail");
    ui.press(shell::Key::Escape);
    CHECK_FALSE(ui.sees("check.copy"));
    CHECK(ui.window().redraw_after_s() > 1.0);
  }
}

}  // namespace viewer_check_test
