// The block view in the window: matrices unfold and fold, the walk is scrubbed, and numbers lead to where they are computed.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include <imgui.h>

#include "app/models/starter_view.h"
#include "app/state/block_settings.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "core/file.h"
#include "support/temporary_directory.h"

namespace viewer_block_test {

using namespace headlight;
using namespace headlight::app;

namespace {

State block_state() {
  State state;
  state.view.tab = "block";
  state.text() = "one two three four five";
  state.playground().settings.layers = 1;
  return state;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a matrix of the layer unfolds by a click and folds by Esc, and Back unfolds it again") {
    UiDriver ui(block_state());
    REQUIRE(ui.sees("block.scores"));
    CHECK_FALSE(ui.sees("block.residual"));  // a playground of one layer has no residual stream
    ui.wait(2.0);
    ui.click("block.scores");
    ui.wait(2.0);
    CHECK(ui.state().opened_matrix == "scores");
    CHECK(ui.sees("block.cells"));
    CHECK_FALSE(ui.sees("block.flow"));
    ui.press(shell::Key::Escape);
    CHECK(ui.state().opened_matrix.empty());
    CHECK(ui.sees("block.flow"));
    ui.wait(2.0);
    ui.press(shell::Key::Left, shell::kAlt);
    CHECK(ui.state().opened_matrix == "scores");
    ui.click("block.fold");
    CHECK(ui.state().opened_matrix.empty());
  }

  TEST_CASE("the largest activations take the layer's place, select layers, and are copied and saved as a figure") {
    State state = block_state();
    state.playground().settings.layers = 3;
    UiDriver ui(state);
    ui.click("block.largest");
    CHECK(ui.state()[kBlockView.activations]);
    check_tips(ui);
    REQUIRE(ui.sees("block.activation.2.0"));
    ui.click("block.activation.2.0");
    CHECK(ui.state().selection.block.layer.value == 1);
    ui.click("block.copy");
    const std::string csv = ImGui::GetClipboardText();
    CHECK(csv.starts_with("states,position,token,dimension,value,median,massive\n0,0,one,"));
    CHECK(std::ranges::count(csv, '\n') % 5 == 1);
    const TemporaryDirectory folder;
    ui.window().write_figure(folder.path() / "largest.svg");
    CHECK(read_file(folder.path() / "largest.svg").find("Largest activations") != std::string::npos);
    ui.press(shell::Key::Escape);
    CHECK_FALSE(ui.state()[kBlockView.activations]);
    CHECK(ui.sees("block.flow"));
    ui.resize(900, 600);
    CHECK_FALSE(ui.sees("block.sizes"));  // no room for the chart
    ui.click("block.largest");
    CHECK(ui.state()[kBlockView.activations]);
  }

  TEST_CASE("in a small window the maps of a long text can be read, and all of the flow is reached by scrolling") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.view.tab = "block";
    for (int i = 0; i < 71; ++i) state.text() += i == 0 ? "dog" : " dog";
    UiDriver ui(state, open_gpu_runner);
    REQUIRE(ui.result().input);
    REQUIRE(ui.result().input->source.length >= 71);
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1280, 800)}) {
      CAPTURE(size.x);
      ui.resize(size.x, size.y);
      ui.move_to("block.weights");  // on its cells, which are what is marked then
      const chart::Rect map = ui.rect("block.weights");
      CHECK(map.size.x >= 86.0F);  // 42 when rows were equally high
      CHECK(map.size.y == map.size.x);
      CHECK(ui.sees("block.play"));
      ui.move_to("block.play");
      CHECK(ui.sees("block.heads"));
    }
    ui.resize(1024, 560);  // lower still: the flow scrolls, and the walk brings its step into view
    const float top = ui.rect("block.flow").origin.y;
    ui.press(shell::Key::Comma);
    CHECK(ui.rect("block.flow").origin.y < top);
    ui.press(shell::Key::Comma);
    CHECK(ui.rect("block.flow").origin.y < top);
    for (int i = 0; i < 15; ++i) ui.press(shell::Key::Comma);
    CHECK(ui.rect("block.flow").origin.y == top);
  }

  TEST_CASE(
      "a short text\u2019s whole layer is in sight in small windows until a cell is pointed at, and says what colours "
      "mean") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "a man in a red shirt is playing a guitar on the street";
    state.selection = {.block = {.layer = LayerIndex{1}}, .head = 4};
    state.view.tab = "block";
    UiDriver ui(state, open_gpu_runner);
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1280, 800)}) {
      CAPTURE(size.x);
      ui.resize(size.x, size.y);
      ui.settle();
      CHECK(ui.rect("block.next").end().y + 34.0F < ui.rect("status.time").origin.y);
    }
    ui.resize(1600, 1000);
    ui.settle();
    std::string words = text_on_screen();
    std::erase(words, ' ');  // which large type has between letters too
    CAPTURE(words);
    for (const char* said : {"Layer1\u00B7head4\n", "thesameforallheads", "heads", "mean\u00B7street", "\u00B1"})
      CHECK(words.find(said) != std::string::npos);
    CHECK(plain_text(ui.window().sentence()).find("the MLP add") != std::string::npos);
    // Nothing moves when a cell is pointed at, whose arithmetic then keeps its room.
    const chart::Rect before = ui.rect("block.flow");
    ui.move_to("block.weights");
    ui.settle();
    CHECK(ui.sees("arithmetic.copy"));
    CHECK(ui.rect("block.flow") == before);
  }

  TEST_CASE("of a layer without an MLP none is spoken of") {
    UiDriver ui(with_text("a b c", "block"), open_gpu_runner);
    ui.settle();
    CHECK_FALSE(ui.sees("block.ffn_hidden"));
    CHECK(plain_text(ui.window().sentence()).find("the MLP add") == std::string::npos);
  }

  TEST_CASE("numbers of a cell are the exact ones where few tokens' wide vectors are drawn with pooled columns") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.view.tab = "block";
    state.text() = "a dog runs";
    UiDriver ui(state, open_gpu_runner);
    ui.resize(1024, 720);
    const auto is_narrow = [](const auto& known) {
      return known.first.pool == 1 && known.first.pooled_columns > 1 && known.second.tile;
    };
    REQUIRE(std::ranges::any_of(ui.result().tiles, is_narrow));
    const chart::Rect output = ui.rect("block.output");  // its title and its cells
    ui.feed({shell::MouseMove{output.origin + output.size * glm::vec2(0.4F, 0.8F)}});
    CHECK(ui.sees("arithmetic.all"));  // its terms, of which one factor is a row of the merged heads
    CHECK(std::ranges::any_of(ui.result().tiles, [](const auto& known) {
      return known.first.quantity == QuantityId(attention::Stage::Merged) && known.first.is_exact();
    }));
  }

  TEST_CASE("a number leads to the view where it is computed") {
    UiDriver ui(block_state());
    ui.click("block.scaled");
    ui.click_within("block.cells", 0.05F, 0.05F);
    CHECK(ui.state().view.pinned.has_value());
    ui.click("block.to head");
    CHECK(ui.state().view.tab == "head");
    CHECK(ui.state().view.heatmap_stage == attention::Stage::Scaled);
    ui.click("tab.block");
    ui.click("block.to neuron");
    CHECK(ui.state().view.tab == "neuron");
  }

  TEST_CASE("the walk is scrubbed and stepped, still or moving") {
    UiDriver ui(block_state());
    ui.click_within("block.position", 0.3F, 0.5F);
    CHECK(ui.sees("block.play"));
    ui.click("block.on");
    ui.click("block.back");
    ui.click("block.reduce motion");
    CHECK(ui.state()[kBlockView.reduces_motion]);
    CHECK_FALSE(ui.window().undo().can_undo());
    ui.click_within("block.position", 0.6F, 0.5F);
    CHECK(ui.sees("block.weights"));
    ui.press(shell::Key::Comma);
    ui.press(shell::Key::Period);
    ui.press(shell::Key::Enter);
    CHECK_FALSE(ui.state().opened_matrix.empty());
  }

  TEST_CASE("while the walk plays, frames follow each other without input, until it is at its end") {
    UiDriver ui(block_state());
    ui.draw_every_frame();
    const std::uint64_t before = ui.ui().frames_drawn();
    ui.click("block.play");                        // waits until nothing moves any more
    CHECK(ui.ui().frames_drawn() - before > 300);  // observed 667
    CHECK(ui.sees("block.play"));
  }

  TEST_CASE("the slowest walk comes to its end in the simulated time that it takes, on any machine") {
    State state = block_state();
    state.set(kBlockView.speed, 0.25F);
    UiDriver ui(state);
    show_golden_model(ui, "gpt2");
    ui.ui().feed(shell::click_at(ui.rect("block.play").center()));
    constexpr double kStart_s = 1000.0;
    const double took_s = ui.window().settle({1600, 1000}, 1.0F, kStart_s) - kStart_s;
    CHECK(took_s > 102.0);  // 18 steps of 6 s; observed 108.1
    CHECK(took_s < 118.0);
    CHECK(ui.sees("block.play"));
  }

  TEST_CASE("the block view draws every family's layer") {
    UiDriver ui(block_state());
    for (const char* model : {"gpt2", "bert", "llama", "gpt_neox", "t5", "marian"}) {
      CAPTURE(model);
      show_golden_model(ui, model);
      CHECK(ui.state().view.tab == "block");
      CHECK(ui.sees("block.attended"));
      CHECK(ui.sees("block.residual"));
      // Cross-attention reads what no stage of its layer is. A golden model without a tokenizer leaves the run before.
      const bool is_run = ui.window().result().error.empty();
      if (is_run) CHECK(ui.sees("block.memory") == (ui.state().selection.block.kind == model::BlockKind::Cross));
      ui.move_to("block.heads");
      const glm::vec2 corner = ui.rect("block.attended").origin;  // of the title; a long text's matrix is narrower than it
      ui.feed({shell::MouseMove{corner + glm::vec2(20.0F, 56.0F)}});
      CHECK(ui.sees("arithmetic.copy"));
    }
    ui.click("grid.kind.0");
    ui.settle();
    CHECK_FALSE(ui.sees("block.memory"));
    ui.click("grid.kind.2");
    ui.settle();
    REQUIRE(ui.state().selection.block.kind == model::BlockKind::Cross);
    CHECK(ui.sees("block.memory"));
  }
}

}  // namespace viewer_block_test
