// The Predictions tab and an encoder–decoder's alignment, in the whole window.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <imgui.h>

#include "app/engine/analyses/lens_cells.h"
#include "app/engine/gpu_runner.h"
#include "app/models/starter_view.h"
#include "app/shapes/quantities/tile_query.h"
#include "app/state/block_settings.h"
#include "app/state/map_settings.h"
#include "app/state/predictions_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/widgets/prediction_bars.h"
#include "core/file.h"
#include "engine/fake_runner.h"
#include "support/temporary_directory.h"

namespace viewer_predictions_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::Key;

namespace {

State predictions_of(const std::string& text) {
  State state = with_text(text, "predictions");
  return state;
}

/// The names of the rows on screen.
std::optional<std::vector<std::string>> names_of_rows(UiDriver& ui, State state) {
  Transient transient;
  std::vector<Query> queries;
  Frame frame{.ui = ui.ui(), .state = state, .transient = transient, .result = ui.result(), .queries = queries};
  return written_tokens(frame);
}

/// Generates from the palette, as where the Generate button isn't on screen; draws no frame after it.
void generate(UiDriver& ui) {
  ui.press(Key::P, kControl);
  ui.type("Generate");
  ui.ui().feed(shell::tap(Key::Enter));
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a change of mask or text is drawn as outlines and says what changed most; choosing a token ends them") {
    UiDriver ui(predictions_of("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    CHECK(ui.sees("prediction.0"));
    CHECK_FALSE(ui.sees("prediction.change"));
    // The axis doesn't follow the bars: 100 % is as wide after the change.
    const float axis = ui.rect("prediction.0.axis").size.x;
    ui.wait(5.0);
    ui.click("mask.causal");
    REQUIRE_FALSE(ui.state().masks[model::BlockKind::EncoderSelf].rule.causal);
    CHECK(ui.sees("prediction.change"));
    CHECK(ui.rect("prediction.0.axis").size.x > axis * 0.6F);
    ui.click("prediction.previous");
    CHECK_FALSE(ui.sees("prediction.change"));
    ui.click("prediction.automatic");
    CHECK_FALSE(ui.sees("prediction.change"));
    ui.wait(5.0);
    ui.press(Key::Z, kControl);
    CHECK(ui.state().masks[model::BlockKind::EncoderSelf].rule.causal);
    CHECK(ui.sees("prediction.change"));
  }

  TEST_CASE("a head that is knocked out changes the predictions, which are compared with those before") {
    const auto log = std::make_shared<FakeLog>();
    UiDriver ui(predictions_of("the cat"), fake_factory(log));
    show_golden_model(ui, "gpt2");
    ui.wait(5.0);
    ui.press(Key::K);
    CHECK(head_gain(ui.state(), ui.state().selection.block, ui.state().selection.head) == 0.0F);
    CHECK(log->gains == 1);
    CHECK(ui.sees("prediction.change"));
    CHECK(ui.sees("lens.title"));
  }

  TEST_CASE("the logit lens fills its column with as many candidates as fit, and small chances aren't 0") {
    State state = predictions_of("");
    change_to_model(state, find_bundled_model(kCaptionWriter)->string());
    state.model().text = "a man in a red shirt is playing a guitar on the street";
    UiDriver ui(state, open_gpu_runner);
    const auto cells = [&] {
      std::size_t count = 0;
      while (ui.sees(fmt::format("lens.1.{}", count))) ++count;
      return count;
    };
    ui.resize(1024, 640);
    const std::size_t few = cells();
    const float low = ui.rect("lens.1").size.y;
    ui.resize(2560, 1440);
    CHECK(few >= 3);
    CHECK(cells() == 6);
    CHECK(ui.rect("lens.1").size.y >= 2.0F * low);
    CHECK(ui.rect("lens.0").end().y < 1440.0F);
    ui.draw_every_frame();
    ui.settle();
    const std::string output = text_on_screen(ui.rect("lens.4"));
    CHECK(output.find("layer 3 = output") != std::string::npos);
    ui.resize(1024, 640);  // with letters of the size that is read
    ui.settle();
    CHECK(text_on_screen(ui.rect("lens.0")).find("< 0.5 %") != std::string::npos);
  }

  TEST_CASE("the lens grid: colours, a cell's position and layer, a ranked token, keys, CSV, a figure") {
    UiDriver ui(predictions_of("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    ui.click("predictions.part.2");
    CHECK(ui.state()[kPredictionsView.part] == PredictionsPart::Layers);
    check_tips(ui);
    const PredictionPosition last = prediction_position(ui.state(), ui.result());
    for (const std::uint32_t layer : {0U, 1U, 2U}) {
      CHECK(ui.sees(fmt::format("lens.cell.{}.{}", layer, last.token)));
    }
    CHECK(plain_text(ui.window().sentence()).find(" is read as ") != std::string::npos);
    for (const char* color : {"1", "2", "3", "0"}) ui.click(std::string("predictions.lens_color.") + color);
    CHECK(ui.state()[kPredictionsView.lens_color] == LensColor::Probability);
    ui.click(fmt::format("lens.cell.2.{}", last.first + 1));
    CHECK(prediction_position(ui.state(), ui.result()).token == last.first + 1);
    CHECK(ui.state().selection.block.layer.value == 1);
    const LensQuestion question{.token = last.first + 1};
    const LensCells* cells = ui.result().analysed(question)->as<LensCells>();
    REQUIRE(cells);
    REQUIRE(cells->layers.size() == 3);
    CHECK(cells->layers[2].divergence == 0.0);
    CHECK(cells->layers[2].rank == 1);
    const chart::Rect cell = ui.rect(fmt::format("lens.cell.1.{}", last.first));
    ui.feed(shell::click_at(cell.center(), shell::MouseButton::Left, shell::kShift));
    CHECK(ui.state()[kPredictionsView.lens_color] == LensColor::Rank);
    REQUIRE(ui.state()[kPredictionsView.ranked]);
    ui.click("lens.ranked");
    ui.click("lens.ranked.none");
    CHECK_FALSE(ui.state()[kPredictionsView.ranked]);
    const TemporaryDirectory folder;
    ui.window().write_figure(folder.path() / "lens.svg");
    CHECK(read_file(folder.path() / "lens.svg").find("Logit lens") != std::string::npos);
    ui.click("prediction.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("layers,position,token,likeliest 1,probability 1,"));
    CHECK(std::ranges::count(csv, '\n') == 1 + 3 * static_cast<int>(last.end - last.first));
    const chart::Rect other = ui.rect(fmt::format("lens.cell.2.{}", last.first));
    ui.feed(shell::click_at(other.center()));
    ui.feed(shell::click_at(other.center()));
    CHECK(ui.state()[kPredictionsView.part] == PredictionsPart::Position);
    ui.click("predictions.part.2");
    // The keyboard walks from cell to cell; on the chosen one Enter opens its position.
    ui.click(fmt::format("lens.cell.1.{}", last.first));
    ui.press(Key::Tab);
    ui.press(Key::Tab, shell::kShift);
    for (const Key key : {Key::Up, Key::Right, Key::Enter}) ui.press(key);
    CHECK(prediction_position(ui.state(), ui.result()).token == last.first + 1);
    CHECK(ui.state().selection.block.layer.value == 1);
    CHECK(ui.state()[kPredictionsView.part] == PredictionsPart::Layers);
    ui.press(Key::Enter);
    CHECK(ui.state()[kPredictionsView.part] == PredictionsPart::Position);
  }

  TEST_CASE("every position has the loss of its token, as CSV and as a figure, and a click shows what predicts it") {
    UiDriver ui(predictions_of("the cat sat on the mat"));
    show_golden_model(ui, "gpt2");
    ui.click("predictions.part.1");
    check_tips(ui);
    const PredictionPosition last = prediction_position(ui.state(), ui.result());
    REQUIRE(ui.sees("prediction.losses"));
    ui.click("prediction.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("position,token,loss (nats),running mean (nats)\n1,"));
    CHECK(std::ranges::count(csv, '\n') == static_cast<int>(last.end - last.first));
    const TemporaryDirectory folder;
    ui.window().write_figure(folder.path() / "loss.svg");
    CHECK(read_file(folder.path() / "loss.svg").find("Loss by position") != std::string::npos);
    ui.click_within("prediction.losses", 0.01F, 0.5F);  // the second token, which the first predicts
    CHECK(ui.state()[kPredictionsView.part] == PredictionsPart::Position);
    CHECK(prediction_position(ui.state(), ui.result()).token == last.first);
  }

  TEST_CASE("the chosen position of a long text is in view in a small window, and a scrolled list stays where it is") {
    UiDriver ui(predictions_of("the cat sat on the mat the cat sat on the mat the cat sat on the mat"));
    ui.resize(900, 600);
    show_golden_model(ui, "gpt2");
    ui.click("predictions.part.1");
    const PredictionPosition last = prediction_position(ui.state(), ui.result());
    const auto row = [](std::uint32_t position) { return fmt::format("prediction.position.row.{}", position); };
    const std::uint32_t chosen = last.token - last.first;
    REQUIRE(chosen >= 15);
    CHECK(ui.sees(row(chosen)));
    CHECK(ui.result().prediction({.token = last.token, .layer = 2}));
    CHECK_FALSE(ui.sees(row(0)));
    CHECK_FALSE(ui.result().prediction({.token = last.first, .layer = 2}));  // of rows out of view nothing is computed
    ui.move_to(row(chosen));
    ui.feed({shell::MouseWheel{.steps = {0.0F, 100.0F}}});
    ui.settle();
    CHECK(ui.sees(row(0)));
    CHECK_FALSE(ui.sees(row(chosen)));
  }

  TEST_CASE("of a long text only the cells in view are computed, and scrolling asks for others") {
    UiDriver ui(predictions_of("the cat sat on the mat the cat sat on the mat the cat sat on the mat"));
    ui.resize(900, 600);
    show_golden_model(ui, "gpt2");
    ui.click("predictions.part.2");
    const PredictionPosition last = prediction_position(ui.state(), ui.result());
    const auto asked = [&](std::uint32_t token) { return ui.result().analysed(LensQuestion{.token = token}) != nullptr; };
    CHECK(asked(last.token));
    CHECK_FALSE(asked(last.first));
    for (std::uint32_t i = last.first; i < last.token; ++i) ui.click("prediction.previous");
    CHECK(asked(last.first));
    CHECK_FALSE(asked(last.token));
    CHECK(ui.sees(fmt::format("lens.cell.0.{}", last.first)));
  }

  TEST_CASE("a linear lens is opened by the dialog, named, and left; a broken one says why in place of numbers") {
    UiDriver ui(predictions_of("the cat"), open_gpu_runner);
    show_golden_model(ui, "gpt2");
    ui.click("predictions.part.2");
    const auto entropy = [&](const std::string& lens) {
      const PredictionPosition last = prediction_position(ui.state(), ui.result());
      const Analysed* answer = ui.result().analysed(LensQuestion{.token = last.token, .lens = lens});
      return answer && answer->as<LensCells>() ? answer->as<LensCells>()->layers.front().entropy : -1.0;
    };
    const double plain = entropy("");
    CHECK(plain > 0.0);
    const auto open = [&](const std::string& name) {
      std::string path = std::string(HEADLIGHT_GOLDEN_DIR) + "/lens/" + name;
      ui.click("lens.open");
      ui.click("lens_file.path");
      ui.press(Key::A, kControl);
      ui.type(path);
      ui.click("lens_file.open");
      CHECK(ui.state()[kPredictionsView.lens] == path);
      return path;
    };
    const std::string path = open("gpt2.safetensors");
    CHECK(entropy(path) > 0.0);
    CHECK(entropy(path) != plain);
    CHECK_FALSE(ui.sees("lens.trouble"));
    open("llama.safetensors");
    CHECK(ui.sees("lens.trouble"));
    check_tips(ui);
    ui.click("lens.leave");
    CHECK(ui.state()[kPredictionsView.lens].empty());
    CHECK_FALSE(ui.sees("lens.trouble"));
    CHECK(entropy("") == plain);
  }

  TEST_CASE("the rows of an encoder–decoder are named by what it writes there, or by what it reads") {
    UiDriver ui(with_text("a b a"));
    show_golden_model(ui, "marian");
    State shown = ui.state();
    shown.selection.block.kind = model::BlockKind::Cross;
    const model::TokenBatch& target = *ui.result().input->target;
    const std::optional<std::vector<std::string>> written = names_of_rows(ui, shown);
    REQUIRE(written);
    REQUIRE(written->size() == target.texts[0].size());
    for (std::size_t row = 0; row + 1 < target.lengths[0]; ++row) CHECK((*written)[row] == target.texts[0][row + 1]);
    shown.set(kMapView.row_names, RowNames::Read);
    CHECK_FALSE(names_of_rows(ui, shown));
    shown.set(kMapView.row_names, RowNames::Written);
    shown.selection.block.kind = model::BlockKind::EncoderSelf;
    CHECK_FALSE(names_of_rows(ui, shown));  // its rows are the source
    ui.click("grid.kind.2");
    // The last row is what the model expects there most, which the map asks for.
    const std::uint32_t last = target.lengths[0] - 1;
    const Prediction* next = ui.result().prediction(
        {.batch = 0, .token = last, .layer = predicting_layers(*ui.result().network), .keeps_logits = true});
    REQUIRE(next);
    ui.wait(2.0);
    // A row has one name in all views.
    const auto names = names_of_rows(ui, ui.state());
    REQUIRE(names);
    for (const char* view : {"lines", "text", "steps", "neuron", "head"}) {
      CAPTURE(view);
      ui.show(view);
      ui.settle();
      CHECK(plain_text(ui.window().sentence()).find("\u201C" + names->at(last) + "\u201D") != std::string::npos);
    }
    ui.wait(2.0);  // what is looked at within a second is one place
    ui.click("view.row_names.1");
    CHECK(ui.state()[kMapView.row_names] == RowNames::Read);
    ui.wait(2.0);
    ui.press(shell::Key::Left, shell::kAlt);
    CHECK(ui.state()[kMapView.row_names] == RowNames::Written);
  }

  TEST_CASE("the alignment is the mean of all cross-attention heads, and the menu leads there") {
    UiDriver ui(with_text("a b a"));
    ui.click("menu.View");
    ui.click("menu.Alignment (mean of cross-attention)");  // nothing has cross-attention: nothing happens
    CHECK(ui.state().selection.mean == HeadMean::None);
    ui.press(Key::Escape);
    show_golden_model(ui, "marian");
    ui.click("menu.View");
    ui.click("menu.Alignment (mean of cross-attention)");
    CHECK(ui.state().selection.mean == HeadMean::Kind);
    CHECK(ui.state().selection.block.kind == model::BlockKind::Cross);
    const inference::BlockShape& shape = ui.result().shapes.at(ui.state().selection.block);
    const TileQuery wanted{
        .quantity = kMeanOfKind, .block = {.kind = model::BlockKind::Cross}, .rows = shape.queries, .columns = shape.keys};
    REQUIRE(ui.result().is_current(wanted));
    const attention::Tile& mean = *ui.result().tile(wanted);
    double sum = 0.0;
    for (std::uint32_t key = 0; key < shape.keys; ++key) sum += double{mean.at(0, key)};
    CHECK(sum == doctest::Approx(1.0).epsilon(1e-5));
    ui.move_to("head.map");
    ui.press(Key::Right);
    CHECK(ui.state().selection.mean == HeadMean::None);
    ui.click("head.mean");
    ui.click("head.mean.layer");
    CHECK(ui.state().selection.mean == HeadMean::Layer);
  }

  TEST_CASE("on the device: a knocked-out head changes the bars and is compared with the run before") {
    UiDriver ui(predictions_of("the cat"), open_gpu_runner);
    show_golden_model(ui, "gpt2");
    REQUIRE(ui.result().error == "");
    ui.wait(5.0);
    ui.press(Key::K);
    CHECK(ui.sees("prediction.change"));
    const PredictionPosition place = prediction_position(ui.state(), ui.result());
    const Prediction* prediction =
        ui.result().prediction({.batch = 0, .token = place.token, .layer = 2, .keeps_logits = true});
    REQUIRE(prediction);
    REQUIRE(prediction->logits);
    // The bars' softmax is over the whole vocabulary.
    double sum = 0.0;
    for (const float logit : *prediction->logits) sum += std::exp(double{logit});
    const inference::Candidate& best = prediction->candidates.front();
    const inference::Distribution now = inference::distribution(*prediction->logits, {});
    CHECK(now.chances[best.id] == doctest::Approx(std::exp(double{best.logit}) / sum).epsilon(1e-6));
  }

  TEST_CASE("the row of a generated token comes into the map of Head, as fast as is chosen there") {
    State state = predictions_of("the cat");
    state.generation.tokens = 1;
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    ui.press(Key::Digit1);  // Head
    CHECK_FALSE(ui.sees("head.speed"));
    const auto frames_of_a_row = [&] {
      const std::string before = ui.state().text();
      generate(ui);
      REQUIRE(ui.frames_until([&] { return ui.sees("head.new_row"); }));
      int frames = 0;
      ui.frames_until([&] { return ++frames, !ui.sees("head.new_row"); });
      ui.settle();
      CHECK(ui.state().text() != before);
      return frames;
    };
    const int usual = frames_of_a_row();
    REQUIRE(ui.sees("head.speed"));
    ui.click("head.speed");
    ui.click("head.speed.4");
    CHECK(ui.state()[kBlockView.speed] == 4.0F);
    CHECK(frames_of_a_row() < usual / 2);
    ui.click("head.speed");
    ui.click("head.speed.still");
    CHECK(ui.state()[kBlockView.reduces_motion]);
    generate(ui);
    CHECK_FALSE(ui.frames_until([&] { return ui.sees("head.new_row"); }));
    // A second control beside the button that generates makes the same choice.
    ui.click("tab.predictions");
    ui.click("generate.speed");
    ui.click("generate.speed.2");
    CHECK(ui.state()[kBlockView.speed] == 2.0F);
    CHECK_FALSE(ui.state()[kBlockView.reduces_motion]);
  }
}

}  // namespace viewer_predictions_test
