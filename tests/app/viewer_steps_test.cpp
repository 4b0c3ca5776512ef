// The view Steps: which matrices it has, cells under the pointer and held ones, matrices that scroll.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <imgui.h>

#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/widgets/cells/step_values.h"
#include "app/widgets/head_controls.h"

namespace viewer_steps_test {

using namespace headlight;
using namespace headlight::app;
using attention::Stage;

namespace {

State steps_of(const std::string& preset) {
  State state;
  select_preset(state, preset);
  state.view.tab = "steps";
  return state;
}

/// The numbers that the view shows, found again in the newest result.
class Numbers {
 public:
  explicit Numbers(UiDriver& ui)
      : state_(ui.state()),
        frame_{.ui = ui.ui(), .state = state_, .transient = transient_, .result = ui.result(), .queries = queries_},
        subject_(selected_subject(frame_)) {}

  /// Returns all of a matrix that is no stage where `window` is empty.
  std::vector<float> of(StepMatrix matrix, chart::Region window = {}) {
    const auto size = size_of(matrix, subject_);
    REQUIRE(size);
    if (window.rows == 0) window = {.rows = size->rows, .columns = size->columns};
    const StepValues::Known* known = values_.find(frame_, matrix, subject_, window);
    REQUIRE(known);
    return known->tile.values;
  }

  std::vector<float> of_stage(Stage stage) {
    const auto extent = *subject_.geometry.shape.extent(stage);
    const EngineTile* known = frame_.ask(
        TileQuery{.quantity = stage, .block = subject_.block, .rows = extent.rows, .columns = extent.columns, .pool = 1});
    REQUIRE(known);
    return known->tile->values;
  }

 private:
  State state_;
  Transient transient_;
  std::vector<Query> queries_;
  Frame frame_;
  HeadSubject subject_;
  StepValues values_;
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("the pointer's cell is explained in its own matrix, and is a cell of the map in a map alone") {
    UiDriver ui(steps_of("notebook-004"));
    ui.resize(1600, 2000);
    const chart::Rect keys = ui.rect("steps.k");
    ui.feed({shell::MouseMove{{keys.end().x - 3.0F, keys.origin.y + 3.0F}}});
    ui.settle();
    CHECK(letters_on_screen().find("K[0,2]") != std::string::npos);
    CHECK_FALSE(ui.window().followed_query());
    const chart::Rect map = ui.rect("steps.weights");
    ui.feed({shell::MouseMove{{map.end().x - 3.0F, map.origin.y + 3.0F}}});
    CHECK(ui.window().followed_query() == 0U);
  }

  TEST_CASE("steps show what exists: no X where Q, K and V are given, no output without a projection") {
    UiDriver ui(steps_of("notebook-003"));
    CHECK_FALSE(ui.sees("steps.x"));
    CHECK_FALSE(ui.sees("steps.output"));
    CHECK(ui.sees("steps.merged"));
    ui.click("model.back");
    CHECK(ui.sees("steps.x"));
    CHECK(ui.sees("steps.output"));
  }

  TEST_CASE("a mixture of experts shows its router, gates and load, and a token's experts in its tooltip") {
    State state;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/qwen2_moe");
    state.model().ids = {{5, 7, 9, 11, 13}};
    state.view.tab = "steps";
    UiDriver ui(state);
    ui.resize(1600, 4000);
    CHECK_FALSE(ui.sees("steps.gates"));  // layer 0 is dense
    ui.click("grid.encoder.1.0");
    ui.settle();
    for (const char* name : {"steps.w_router", "steps.router", "steps.gates", "steps.expert_load", "steps.ffn_output"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    CHECK_FALSE(ui.sees("steps.ffn_hidden"));
    Numbers numbers(ui);
    const std::vector<float> gates = numbers.of_stage(Stage::FfnGates), load = numbers.of(StepMatrix::Other::ExpertLoad);
    REQUIRE(load.size() == 6);
    REQUIRE(gates.size() == 5 * load.size());
    std::vector<float> counted(load.size());
    for (std::size_t i = 0; i < gates.size(); ++i) counted[i % 6] += gates[i] != 0.0F ? 0.2F : 0.0F;
    for (std::size_t expert = 0; expert < load.size(); ++expert) CHECK(load[expert] == doctest::Approx(counted[expert]));

    ui.move_to("chips.source.0.2");
    ui.wait(2.0);
    ui.settle();
    REQUIRE(ui.sees("tooltip"));
    const std::string text = text_on_screen(ui.rect("tooltip"));
    CAPTURE(text);
    CHECK(text.find("layer 1: expert ") != std::string::npos);
    CHECK(text.ends_with(", shared"));
    for (std::size_t expert = 0; expert < load.size(); ++expert) {
      const float gate = gates[2 * load.size() + expert];
      const std::string named = fmt::format("expert {} ({:.2f})", expert, gate);
      CHECK((text.find(named) != std::string::npos) == (gate != 0.0F));
    }
  }

  TEST_CASE("the steps begin with the parts of token vectors; all heads side by side are the heads' numbers") {
    UiDriver ui(steps_of("notebook-002"));
    ui.resize(1600, 4000);  // only the numbers of matrices that are on screen are asked for
    for (const char* name : {"steps.token_vectors", "steps.positions", "steps.x", "steps.q", "steps.attention_sum",
                             "steps.attended", "steps.w_1", "steps.ffn_hidden", "steps.ffn_sum", "steps.next"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    CHECK_FALSE(ui.sees("steps.all_q"));
    ui.click("view.steps_all_heads.1");
    for (const char* name : {"steps.all_q", "steps.all_k", "steps.all_v", "steps.all_heads"}) {
      CAPTURE(name);
      CHECK(ui.sees(name));
    }
    CHECK_FALSE(ui.sees("steps.q"));
    Numbers numbers(ui);
    CHECK(numbers.of(StepMatrix::Other::AllHeads) == numbers.of_stage(Stage::Merged));
    const std::vector<float> tokens = numbers.of(StepMatrix::Other::TokenVectors);
    const std::vector<float> positions = numbers.of(StepMatrix::Other::PositionVectors);
    const std::vector<float> x = numbers.of_stage(Stage::X);
    REQUIRE(tokens.size() == x.size());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(tokens[i] + positions[i] - x[i]) < 1e-6F);  // seen: 0
  }

  TEST_CASE("the steps have the weights between their matrices, and large ones scroll") {
    State state = with_text(words(100));
    state.playground().settings = {.d_model = 256, .heads = 4, .layers = 1};
    state.view.tab = "steps";
    UiDriver ui(state);
    ui.resize(1600, 2000);
    for (const char* name : {"steps.w_q", "steps.w_k", "steps.w_v", "steps.w_o"}) CHECK(ui.sees(name));
    CHECK_FALSE(ui.sees("steps.memory"));
    // Once a cell was clicked, the wheel over the cells moves their first row, a drag of the bar far more; a cell's number
    // is the weight's.
    const auto pointed_row = [&] {
      ui.move_to("steps.w_q");
      ui.settle();
      const std::string text = letters_on_screen();
      const std::size_t at = text.find("W_Q[");
      REQUIRE(at != std::string::npos);
      return std::atoi(text.c_str() + at + 4);
    };
    const int before = pointed_row();
    ui.click("steps.w_q");
    ui.feed({shell::MouseWheel{.steps = {0.0F, -1.0F}}});
    CHECK(pointed_row() > before);
    const glm::vec2 from = ui.at("steps.w_q.rows", 0.5F, 0.1F);
    ui.feed(shell::drag(from, {from.x, ui.rect("steps.w_q.rows").end().y}));
    CHECK(pointed_row() > before + 200);
    const float shown =
        Numbers(ui).of(StepMatrix::Other::QueryWeight, {.row = 250, .rows = 1, .column = 3, .columns = 1}).front();
    std::vector<float> row(256);
    ui.result().network->layer({}).weights->query.weight.read(3, 1, row);
    CHECK(shown == row[250]);
  }

  TEST_CASE("a clicked cell stays explained, its terms open in a list, and the whole is copied") {
    UiDriver ui(steps_of(""));
    ui.resize(1600, 1600);
    ui.click_within("steps.q", 0.3F, 0.3F);
    ui.feed({shell::MouseMove{{3.0F, 3.0F}}});
    REQUIRE(ui.sees("arithmetic.copy"));
    ui.click("arithmetic.copy");
    const std::string text = ImGui::GetClipboardText();
    CHECK(text.starts_with("Q["));
    const std::uint32_t d_model = ui.result().shapes.begin()->second.d_model;
    CHECK(static_cast<std::uint32_t>(std::ranges::count(text, '+')) + 1 >= d_model);
    ui.click("arithmetic.all");
    CHECK(ui.sees("arithmetic.term.0"));
    ui.wait(2.0);
    ui.click_within("steps.q", 0.3F, 0.3F);  // lets it go
    ui.feed({shell::MouseMove{{3.0F, 3.0F}}});
    CHECK_FALSE(ui.sees("arithmetic.copy"));
  }
}

}  // namespace viewer_steps_test
