// A live link in the window: steps arrive, are followed, chosen, thinned out and compared.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "app/data/link/link_server.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace viewer_link_test {

using namespace headlight;
using namespace headlight::app;
namespace fs = std::filesystem;

namespace {

/// A golden capture, or the same with all its numbers in reverse order: other weights of the same sizes.
std::string capture_bytes(bool is_reversed) {
  std::string bytes = read_file(fs::path(HEADLIGHT_GOLDEN_DIR) / "captures" / "self.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::vector<float> numbers((bytes.size() - sizeof(header) - header) / sizeof(float));
  char* first = bytes.data() + sizeof(header) + header;
  std::memcpy(numbers.data(), first, numbers.size() * sizeof(float));
  if (is_reversed) std::ranges::reverse(numbers);
  std::memcpy(first, numbers.data(), numbers.size() * sizeof(float));
  return bytes;
}

/// Steps as a server would have them.
struct FakeLink {
  explicit FakeLink(UiDriver& ui) : folder(directory.path() / "viewer-1.steps") {
    fs::create_directory(folder);
    ui.window().follow([this] { return snapshot; });
  }
  void send(std::int64_t step, bool is_reversed = false) {
    auto next = std::make_shared<LinkSnapshot>(*snapshot);
    next->session = session;
    next->name = "train.py";
    next->newest = step;
    const fs::path file = folder / fmt::format("step-{}.{}.safetensors", step, session);
    write_file_atomically(file, capture_bytes(is_reversed));
    next->steps.push_back({.step = step, .file = file, .bytes = 1});
    snapshot = next;
  }
  TemporaryDirectory directory;
  fs::path folder;
  std::uint64_t session = 1;
  std::shared_ptr<const LinkSnapshot> snapshot = std::make_shared<LinkSnapshot>();
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("steps are followed; a chosen one stays; what is selected stays through all of them") {
    UiDriver ui;
    FakeLink link(ui);
    ui.settle();
    CHECK_FALSE(ui.sees("series.step"));
    const std::size_t before = ui.window().undo().step_count();
    link.send(0);
    ui.settle();
    REQUIRE(is_capture(ui.state().source));
    CHECK(ui.sees("series.step"));
    CHECK(ui.window().notice().text.find("train.py sends attention") == 0);
    check_tips(ui);
    ui.click("grid.encoder.1.2");
    const attention::Tile first = weights(ui);
    link.send(100, true);
    ui.settle();
    CHECK(capture_path(ui.state().source) == link.snapshot->steps[1].file.string());
    CHECK(ui.state().selection.head == 2);
    CHECK(weights(ui).values != first.values);
    ui.click("series.earlier");
    ui.settle();
    CHECK(weights(ui).values == first.values);
    link.send(200, true);
    ui.settle();
    CHECK(weights(ui).values == first.values);  // who looks at an earlier step isn't taken from it
    ui.click("series.newest");
    ui.settle();
    CHECK(capture_path(ui.state().source) == link.snapshot->steps[2].file.string());
    CHECK(ui.window().undo().step_count() <= before + 2);  // the capture, and the head

    // Neither settings nor a recovered window name a file that goes with this window.
    Settings settings = ui.window().settings();
    CHECK(is_playground(settings.state.source));
    CHECK(is_playground(ui.window().open_window().state.source));
  }

  TEST_CASE("a step that was thinned out gives way to its neighbour; another program's steps are shown") {
    UiDriver ui;
    FakeLink link(ui);
    for (const std::int64_t step : {0, 10, 50}) {
      link.send(step);
      ui.settle();
    }
    ui.click("series.earlier");
    ui.settle();
    CHECK(capture_path(ui.state().source) == link.snapshot->steps[1].file.string());
    auto thinned = std::make_shared<LinkSnapshot>(*link.snapshot);
    fs::remove(thinned->steps[1].file);
    thinned->steps.erase(thinned->steps.begin() + 1);
    link.snapshot = thinned;
    ui.settle();
    CHECK(capture_path(ui.state().source) == link.snapshot->steps[0].file.string());
    link.session = 2;
    link.snapshot = std::make_shared<LinkSnapshot>();
    link.send(7, true);
    ui.settle();
    CHECK(capture_path(ui.state().source) == link.snapshot->steps[0].file.string());
    CHECK(ui.result().error.empty());
  }

  TEST_CASE("all steps and the curves are saved in a file, which another window opens") {
    const TemporaryDirectory folder;
    const fs::path file = folder.path() / "training.zip";
    {
      UiDriver ui;
      FakeLink link(ui);
      for (const std::int64_t step : {0, 10, 50}) link.send(step, step == 10);
      auto logged = std::make_shared<LinkSnapshot>(*link.snapshot);
      logged->scalars = std::make_shared<const ScalarCurves>(ScalarCurves{{"loss", {{0, 3.0}, {10, 2.5}, {50, 2.0}}}});
      link.snapshot = logged;
      ui.settle();
      CHECK(ui.sees("series.scalar.0"));
      // Beyond float32's range.
      auto huge = std::make_shared<LinkSnapshot>(*logged);
      huge->scalars =
          std::make_shared<const ScalarCurves>(ScalarCurves{{"loss", {{0, 1e300}, {10, 1.5e308}, {50, -1e308}}}});
      link.snapshot = huge;
      ui.show("checkpoints");
      ui.settle();
      CHECK(text_on_screen().find("loss \u22121e+308") != std::string::npos);
      CHECK(text_on_screen().find("e308") != std::string::npos);
      link.snapshot = logged;
      ui.settle();
      ui.click("series.save");
      REQUIRE(ui.sees("steps_file.save"));
      ui.click("steps_file.path");
      ui.press(shell::Key::A, shell::kControl);
      ui.type(file.string());
      ui.click("steps_file.save");
      CHECK(ui.window().notice().text == fmt::format("Saved 3 steps: {}", file.string()));
    }
    UiDriver ui;
    ui.window().open_files({file.string()});
    ui.settle();
    CHECK(ui.window().notice().text == "3 steps of training.zip; the chip Step has the slider of steps.");
    REQUIRE(is_capture(ui.state().source));
    check_tips(ui);
    CHECK(ui.sees("series.scalar.0"));
    CHECK_FALSE(ui.sees("series.newest"));  // nothing more comes
    const attention::Tile last = weights(ui);
    ui.click("series.earlier");
    ui.settle();
    CHECK(weights(ui).values != last.values);
    ui.click("series.later");
    ui.settle();
    CHECK(weights(ui).values == last.values);
  }
}

}  // namespace viewer_link_test
