// Captures in the window: every view that needs only weights, what the others say, files that are wrong, sessions.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "app/shapes/quantities/evaluation.h"
#include "app/state/flow_settings.h"
#include "app/state/map_settings.h"
#include "app/state/session_file.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "capture/captures.h"
#include "core/file.h"
#include "imgui.h"
#include "support/temporary_directory.h"

namespace viewer_capture_test {

using namespace headlight;
using namespace headlight::app;
using shell::kControl;
using shell::kControlShift;
using shell::Key;
namespace fs = std::filesystem;

namespace {

fs::path captured(const char* name) { return fs::path(HEADLIGHT_GOLDEN_DIR) / "captures" / name; }

void open_file(UiDriver& ui, const fs::path& path) {
  ui.window().open_files({path.string()});
  ui.settle();
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
      ui.show(view);
      CHECK_FALSE(ui.sees("view.unavailable"));
    }
    for (const char* view : {"steps", "predictions", "neuron", "block", "logits", "what_if", "patching"}) {
      ui.show(view);
      CHECK(ui.sees("view.unavailable"));
    }
    ui.show("flow");
    CHECK_FALSE(ui.sees("view.unavailable"));
    // Routes need the weights: rollout is shown instead and stays unchosen.
    CHECK(letters_on_screen().find("Routescan'tbefollowedhere") != std::string::npos);
    CHECK_FALSE(ui.sees("flow.none"));
    CHECK(ui.sees("flow.graph"));
    CHECK(ui.state()[kFlowView.method] == FlowMethod::Routes);
    ui.click("flow.method.2");
    CHECK(ui.state()[kFlowView.method] == FlowMethod::MaximumFlow);
    CHECK(ui.sees("flow.graph"));
    ui.click("capture.close");
    CHECK(is_playground(ui.state().source));
    CHECK_FALSE(ui.result().capture);
    CHECK(ui.sees("mask.causal"));
  }

  TEST_CASE("a hybrid's layers have the model's numbers wherever they are named, typed and exported") {
    const TemporaryDirectory folder;
    std::vector<test::MadeTensor> tensors;
    for (const char* name : {"attention.0", "attention.1", "attention.2"}) tensors.push_back(test::even(name, {1, 2, 5, 5}));
    const fs::path path = test::write_capture(folder.path() / "hybrid.safetensors", tensors, R"("layers":"[3, 7, 11]")");
    UiDriver ui;
    open_file(ui, path);
    CHECK(ui.window().notice().text == "Its layers are 3, 7, 11 of the model: others have no attention.");
    CHECK(ui.state().selection.block.layer.value == 3);  // the first
    ui.press(Key::Down);
    CHECK(ui.state().selection.block.layer.value == 7);
    CHECK(letters_on_screen().find("Layer7\u00B7head0") != std::string::npos);
    ui.press(Key::P, kControl);
    ui.type("L11H1");
    ui.press(Key::Enter);
    CHECK(ui.state().selection.block.layer.value == 11);
    CHECK(ui.state().selection.head == 1);
    CHECK(letters_on_screen().find("Layer11\u00B7head1") != std::string::npos);
    CHECK(letters_on_screen().find("L7") != std::string::npos);  // the grid's lines
    ui.click("head.mean");
    ui.click("head.mean.kind");
    CHECK(ui.state().selection.mean == HeadMean::Kind);
    CHECK(ui.sees("head.map"));
    ui.show("side_by_side");
    CHECK(ui.sees("side_by_side.previous"));
    ui.show("model");
    ui.move_to("model.layer");
    CHECK(letters_on_screen().find("11(3to11)") != std::string::npos);
    ui.show("heads");
    ui.click("heads.copy");
    CHECK(std::string(ImGui::GetClipboardText()).find("\nencoder,11,1,") != std::string::npos);
    ui.show("flow");
    ui.click("flow.method.1");
    for (const char* layer : {"layer3", "layer7", "layer11"}) CHECK(letters_on_screen().find(layer) != std::string::npos);
    CHECK(letters_on_screen().find("layer0") == std::string::npos);
  }

  TEST_CASE("captured tokens in byte letters have labels as of a model's own text, and are joined in words") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "c.safetensors", figure = folder.path() / "words.svg";
    fs::copy_file(captured("self.safetensors"), path);
    write_file_atomically(folder.path() / "c.json", R"([["The", "Ġca", "fÃ", "©", "Ġ"], ["The", "Ġca", "fÃ", "©", "Ġ"]])");
    State state;
    state.set(kMapView.groups_words, true);
    UiDriver ui(state);
    open_file(ui, path);
    CHECK(ui.result().input->source.texts.at(0) == std::vector<std::string>{"The", "·ca", "fé¦", "¦é", "·"});
    REQUIRE(ui.sees("head.words"));
    ui.press(Key::S, shell::kControlShift);
    ui.type(figure.string());
    ui.press(Key::Enter);
    const std::string svg = read_file(figure);
    for (const char* word : {">The</text>", ">café</text>", ">·</text>"}) {
      CAPTURE(word);
      const std::size_t row = svg.find(word);
      REQUIRE(row != std::string::npos);
      CHECK(svg.find(word, row + 1) != std::string::npos);  // and a column
    }
    CHECK(svg.find("\u00A6</text>") == std::string::npos);
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

  TEST_CASE("nine rows of 1,500 keys can be told apart in map, thumbnails and figure, and the pointer finds its cell") {
    const TemporaryDirectory folder;
    test::MadeTensor made{.name = "cross_attention.0", .shape = {1, 2, 9, 1500}, .values = {}};
    for (std::uint32_t row = 0; row < 2 * 9; ++row) {
      for (std::uint32_t key = 0; key < 1500; ++key)
        made.values.push_back(key == 100 + 150 * (row % 9) ? 0.5F : 0.5F / 1499.0F);
    }
    UiDriver ui;
    open_file(ui, test::write_capture(folder.path() / "speech.safetensors", {made}));
    REQUIRE(is_capture(ui.state().source));
    const chart::Rect map = ui.rect("head.map");
    CHECK(map.size.y >= 9.0F * 14.0F);
    bool has_map = false, has_thumbnail = false;
    for (const auto& [query, known] : ui.result().tiles) {
      if (query.rows != 9 || query.columns != 1500) continue;
      CHECK(known.tile->request.tile_rows() == 9);
      has_map = has_map || (query.column_pool() > 1 && query.column_pool() <= 2);
      has_thumbnail = has_thumbnail || query.column_pool() > 2;
      for (std::uint32_t row = 0; row < 9; ++row)
        CHECK(known.tile->at(row, (100 + 150 * row) / query.column_pool()) == 0.5F);
    }
    CHECK(has_map);
    CHECK(has_thumbnail);
    ui.click_within("head.map", (100.5F + 150.0F * 4.0F) / 1500.0F, 4.5F / 9.0F);
    REQUIRE(ui.state().view.pinned);
    CHECK(ui.state().view.pinned->query == 4);
    CHECK(std::abs(static_cast<int>(ui.state().view.pinned->key) - 700) <= 3);
    ui.press(Key::S, kControlShift);
    ui.type((folder.path() / "speech.svg").string());
    ui.press(Key::Enter);
    const std::string svg = read_file(folder.path() / "speech.svg");
    CHECK(svg.find("Each point is the largest of 1 × 2 cells.") != std::string::npos);
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
    ui.show("flow");  // of two stacks rollout isn't promised either
    CHECK(ui.sees("view.unavailable"));
    CHECK(letters_on_screen().find("twotextsortwostacks") != std::string::npos);
    CHECK(letters_on_screen().find("Rolloutandflowfollow") == std::string::npos);
  }

  TEST_CASE("steps and products of captured queries, keys and values, and in words what the file lacks") {
    UiDriver ui;
    open_file(ui, captured("vision_values.safetensors"));
    ui.show("steps");
    CHECK_FALSE(ui.sees("view.unavailable"));
    for (const char* matrix : {"q", "k", "v", "scores", "scaled", "masked", "weights", "heads", "merged"}) {
      CAPTURE(matrix);
      ui.click(fmt::format("steps.small.{}", matrix));
      CHECK(ui.sees(fmt::format("steps.{}", matrix)));
      for (const char* absent : {"steps.w_q", "steps.w_o"}) CHECK_FALSE(ui.sees(absent));
    }
    for (const char* absent : {"steps.small.x", "steps.small.output"}) CHECK_FALSE(ui.sees(absent));
    CHECK(letters_on_screen().find("isnotinthefile") != std::string::npos);
    check_tips(ui);
    ui.show("neuron");
    CHECK_FALSE(ui.sees("view.unavailable"));
    CHECK(ui.sees("neuron.chain.0"));
    check_tips(ui);
    // The rest needs the network.
    for (const char* view : {"predictions", "block", "logits", "what_if", "patching"}) {
      ui.show(view);
      CHECK(ui.sees("view.unavailable"));
    }
    ui.show("head");
    open_file(ui, captured("queries.safetensors"));
    ui.show("steps");
    CHECK_FALSE(ui.sees("steps.small.v"));
    ui.click("steps.small.masked");
    CHECK(letters_on_screen().find("Values(v)arenotinthefile") != std::string::npos);
    CHECK_FALSE(ui.sees("view.steps_all_heads"));
    ui.move_to("steps.masked");
    REQUIRE(ui.result().capture);
    CHECK(ui.result().error == "");
  }

  TEST_CASE("patches of an image: thumbnails on the axes, weights over the image, and its figure") {
    const TemporaryDirectory folder;
    UiDriver ui;
    open_file(ui, captured("vision.safetensors"));
    CHECK(ui.window().notice().text == "");
    CHECK_FALSE(ui.sees("capture.note"));
    // Pixels of the image are beside the map: the red of its disc.
    const chart::Rect map = ui.rect("head.map");
    const shell::PixelImage drawn = ui.ui().read_pixels();
    std::size_t left = 0, above = 0;
    for (std::uint32_t y = 0; y < drawn.size.y; ++y) {
      for (std::uint32_t x = 0; x < drawn.size.x; ++x) {
        if ((drawn.at(x, y) & 0xFFFFFFU) != 0x141EDCU) continue;
        const glm::vec2 at(x, y);
        left += at.x < map.origin.x && at.y > map.origin.y && at.x > map.origin.x - 30.0F ? 1U : 0U;
        above += at.y < map.origin.y && at.x > map.origin.x && at.y > map.origin.y - 30.0F ? 1U : 0U;
      }
    }
    CHECK(left > 20);
    CHECK(above > 20);
    ui.show("text");
    REQUIRE(ui.sees("text.token.image"));
    ui.resize(1024, 900);
    ui.settle();
    CHECK_FALSE(ui.sees("text.token.image_itself"));  // it would halve it
    ui.resize(1600, 1000);
    ui.settle();
    ui.press(Key::G, kControl);
    CHECK(ui.sees("text.token.image_itself"));
    CHECK(ui.sees("text.token.0"));  // the class token, above the image
    const chart::Rect image = ui.rect("text.token.image");
    CHECK(ui.rect("text.token.0").end().y <= image.origin.y);
    CHECK(std::abs(image.size.x / image.size.y - 1.5F) < 0.01F);
    const chart::Rect patch = ui.rect("text.token.9");  // row 1, column 2
    const glm::vec2 off = patch.center() - (image.origin + image.size * glm::vec2(2.5F / 6.0F, 1.5F / 4.0F));
    CHECK(std::abs(off.x) + std::abs(off.y) < 1.0F);
    // Pointing at a patch asks for its row, a click keeps it.
    ui.click("text.token.9");
    REQUIRE(ui.state().view.locked);
    CHECK(ui.state().view.locked->token == 9);
    ui.move_to("text.token.20");
    CHECK(ui.state().view.locked->token == 9);
    ui.press(Key::Escape);
    CHECK_FALSE(ui.state().view.locked);
    ui.move_to("text.token.0");  // by the class token
    check_tips(ui);
    ui.press(Key::S, shell::kControlShift);
    const fs::path svg = folder.path() / "vision.svg";
    ui.type(svg.string());
    ui.press(Key::Enter);
    CHECK_FALSE(ui.window().notice().is_warning);
    CHECK(read_file(svg).find("data:image/png;base64,") != std::string::npos);
  }

  TEST_CASE("an image that can't be shown is a line, and the capture is shown all the same") {
    const TemporaryDirectory folder;
    const fs::path capture = folder.path() / "moved.safetensors";
    fs::copy_file(captured("vision_values.safetensors"), capture);
    UiDriver ui;
    open_file(ui, capture);
    CHECK(ui.result().capture->note().find("patches are shown without the image") != std::string::npos);
    CHECK(ui.sees("capture.note"));
    CHECK(ui.sees("head.map"));
    ui.show("text");
    CHECK(ui.sees("text.token.image"));  // its patches without a picture
    CHECK_FALSE(ui.sees("text.token.image_itself"));
  }

  TEST_CASE("beside a captured baseline Block and Neuron show the network's own matrices, and compare what both have") {
    State state = [] {
      UiDriver ui;
      open_file(ui, captured("self.safetensors"));
      ui.press(Key::D, kControl);
      return ui.state();
    }();
    REQUIRE(state.compare.baseline);
    state.source = Source(Playground());
    state.playground().settings = {.d_model = 12, .heads = 3, .layers = 2, .seed = 5};
    state.text() = "the cat sat on the\na dog ran off now";
    UiDriver live(state);
    REQUIRE(live.result().baseline_error == "");
    REQUIRE(live.result().shapes.size() == 2);
    live.show("block");
    CHECK(live.sees("block.compared"));
    CHECK(letters_on_screen().find("oneofthetworunsisacapture") != std::string::npos);
    std::size_t matrices = 0;
    for (const auto& [query, known] : live.result().tiles) {
      if (query.quantity == QuantityId(attention::Stage::Q) && live.result().is_current(query)) ++matrices;
      CHECK(query.quantity != difference_of(attention::Stage::Q));
    }
    CHECK(matrices > 0);
    live.show("neuron");
    CHECK(live.sees("neuron.compared"));
    CHECK(letters_on_screen().find("ofthisqueryandkey:weight") != std::string::npos);
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
