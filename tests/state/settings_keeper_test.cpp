#include "app/state/settings.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

#include "support/temporary_directory.h"

namespace settings_keeper_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("cpu") {
  TEST_CASE("settings are saved once they have been quiet for a moment, and never without a change") {
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "config" / "settings.json";
    Settings settings;
    SettingsKeeper keeper(path, settings);
    CHECK(std::isinf(keeper.keep(settings, 0.0)));
    settings.state.text() = "typed";
    const double wait_s = keeper.keep(settings, 10.0);
    CHECK(wait_s > 0.0);
    CHECK(wait_s < 10.0);
    settings.state.text() = "typed more";
    CHECK(keeper.keep(settings, 10.0 + wait_s * 0.9) == doctest::Approx(wait_s));
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(std::isinf(keeper.keep(settings, 20.0)));
    CHECK(load_settings(path).settings.state.text() == "typed more");
    CHECK(std::isinf(keeper.keep(settings, 30.0)));
  }

  TEST_CASE("a file that can't be written is told in one line when the window closes") {
    const TemporaryDirectory folder;
    std::ofstream(folder.path() / "file") << "in the way";
    SettingsKeeper keeper(folder.path() / "file" / "settings.json", Settings{});
    Settings settings;
    settings.device = "another";
    CHECK(keeper.keep(settings, 0.0) > 0.0);
    CHECK(std::isinf(keeper.keep(settings, 100.0)));  // no attempt after attempt meanwhile
    const std::optional<std::string> trouble = keeper.save(settings);
    REQUIRE(trouble.has_value());
    CHECK(trouble->find('\n') == std::string::npos);
  }

  TEST_CASE("without a file nothing is kept") {
    SettingsKeeper keeper({}, Settings{});
    Settings settings;
    settings.device = "another";
    CHECK(std::isinf(keeper.keep(settings, 0.0)));
    CHECK_FALSE(keeper.save(settings).has_value());
  }
}

}  // namespace settings_keeper_test
