// Captures in the window: every view that needs only weights, what the others say, files that are wrong, sessions.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "app/state/session_file.h"
#include "app/ui_driver.h"
#include "core/atomic_file.h"
#include "support/temporary_directory.h"

namespace viewer_capture_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;
namespace fs = std::filesystem;

namespace {

fs::path captured(const char* name) { return fs::path(HEADLIGHT_GOLDEN_DIR) / "captures" / name; }

void open_file(UiDriver& ui, const fs::path& path) {
  ui.window().open_files({path.string()});
  ui.settle();
}

/// Shows a view by its id, as its tab does.
void show(UiDriver& ui, const std::string& view) {
  CAPTURE(view);
  ui.click("tab." + view);
  CHECK(ui.state().view.tab == view);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a dropped capture is on screen in every view of weights, and the others say what they need") {
    UiDriver ui;
    open_file(ui, captured("self.safetensors"));
    REQUIRE(is_capture(ui.state().source));
    REQUIRE(ui.result().capture);
    CHECK(ui.window().notice().text == "");
    CHECK(ui.sees("capture.name"));
    CHECK_FALSE(ui.sees("capture.warning"));
    CHECK(ui.result().input->source.texts[0][1] == "cat");
    CHECK(ui.sees("head.map"));
    CHECK(ui.sees("grid.encoder.1.2"));
    CHECK_FALSE(ui.sees("mask.causal"));
    CHECK_FALSE(ui.sees("head.stage.0"));
    check_tips(ui);
    const attention::Tile before = weights(ui);
    ui.click("grid.encoder.1.2");
    CHECK(ui.state().selection.head == 2);
    CHECK(weights(ui).values != before.values);
    ui.click_cell(1, 3);
    CHECK(ui.state().view.pinned);
    for (const char* view : {"lines", "text", "model", "heads"}) {
      show(ui, view);
      CHECK_FALSE(ui.sees("view.unavailable"));
    }
    for (const char* view : {"steps", "predictions", "neuron", "block", "logits", "knockouts", "patching"}) {
      show(ui, view);
      CHECK(ui.sees("view.unavailable"));
    }
    show(ui, "flow");
    CHECK_FALSE(ui.sees("view.unavailable"));
    CHECK(ui.sees("flow.none"));  // routes need values
    ui.click("flow.method.1");
    CHECK(ui.state().flow.method == FlowMethod::Rollout);
    CHECK_FALSE(ui.sees("flow.none"));
    ui.click("capture.close");
    CHECK(is_playground(ui.state().source));
    CHECK_FALSE(ui.result().capture);
    CHECK(ui.sees("mask.causal"));
  }

  TEST_CASE("masks and heads of a capture are refused in words, its lines are chosen, and undo brings it back") {
    UiDriver ui;
    open_file(ui, captured("self.safetensors"));
    const RunInputs inputs = run_inputs(ui.state());
    const State shown = ui.state();
    ui.press(Key::C);
    ui.press(Key::K);
    ui.press(Key::B);
    CHECK(ui.state() == shown);
    CHECK(run_inputs(ui.state()) == inputs);
    CHECK(ui.result().shapes.begin()->second.batch == 2);
    const std::vector<float> first = weights(ui).values;
    REQUIRE(ui.sees("grid.line.1"));
    ui.click("grid.line.1");
    CHECK(ui.state().selection.batch == 1);
    CHECK(weights(ui).values != first);
    ui.click("capture.close");
    ui.press(Key::Z, kControl);
    CHECK(is_capture(ui.state().source));
    CHECK(ui.sees("capture.name"));
  }

  TEST_CASE("queries and keys have maps of scores, and an encoder and a decoder their three kinds") {
    UiDriver ui;
    open_file(ui, captured("queries.safetensors"));
    CHECK(ui.sees("head.stage.0"));
    ui.click("head.stage.0");
    CHECK(ui.state().view.heatmap_stage == attention::Stage::Scores);
    open_file(ui, captured("translator.npz"));
    CHECK(ui.state().view.heatmap_stage == attention::Stage::Weights);
    CHECK_FALSE(ui.sees("head.stage.0"));
    CHECK(ui.result().blocks.size() == 6);
    CHECK(ui.result().capture_warning == "numbers of float64 are rounded to float32");
    CHECK(ui.sees("capture.warning"));
  }

  TEST_CASE("a file that is no capture is refused in a line, and what is shown stays") {
    const TemporaryDirectory folder;
    UiDriver ui;
    const State before = ui.state();
    write_file_atomically(folder.path() / "broken.npz", "no archive");
    open_file(ui, folder.path() / "broken.npz");
    CHECK(ui.window().notice().is_warning);
    CHECK(ui.window().notice().text.find("is no usable .npz file") != std::string::npos);
    CHECK(ui.state().source == before.source);
  }

  TEST_CASE("a session opens its capture again, and says where the file is missing") {
    const TemporaryDirectory folder;
    const fs::path capture = folder.path() / "mine.safetensors", session = folder.path() / "s.headlight.json";
    fs::copy_file(captured("self.safetensors"), capture);
    {
      UiDriver ui;
      open_file(ui, capture);
      save_session(session, ui.state());
    }
    {
      UiDriver ui;
      open_file(ui, session);
      CHECK(capture_path(ui.state().source) == capture.string());
      CHECK(ui.result().capture);
    }
    fs::remove(capture);
    UiDriver ui;
    open_file(ui, session);
    CHECK(ui.result().error.find("can't open " + capture.string()) == 0);
    CHECK(ui.sees("capture.name"));
  }
}

}  // namespace viewer_capture_test
