// The view Steps: which matrices it has, cells under the pointer and held ones, matrices that scroll.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <imgui.h>

#include "app/models/starter_view.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/widgets/block_layout.h"
#include "app/widgets/cells/arithmetic.h"
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

void unfold(UiDriver& ui, const std::string& step) {
  ui.wait(2.0);
  ui.click("steps.small." + step);
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE(
      "all matrices of the layer are small, in the order of Block, and one is large: walked by keys, reached by a click") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.view.tab = "steps";
    state.selection = {};
    UiDriver ui(state, open_gpu_runner);
    ui.resize(1280, 800);
    const chart::Rect center = ui.window().center();
    const BlockPlan plan = plan_block({}, &ui.result().network->layer({}), ui.result().shapes.at({}));
    REQUIRE(plan.nodes.size() == 18);
    for (const BlockNode& node : plan.nodes) {
      CAPTURE(std::string(node.id()));
      REQUIRE(ui.sees(fmt::format("steps.small.{}", node.id())));
      CHECK(ui.rect(fmt::format("steps.small.{}", node.id())).end().y < center.origin.y + center.size.y * 0.5F);
    }
    CHECK(ui.sees("steps.weights"));  // softmax is there at once
    CHECK(ui.rect("steps.weights").end().y <= center.end().y);
    CHECK(ui.rect("steps.weights").size.y > center.size.y * 0.3F);
    ui.press(shell::Key::PageUp);
    CHECK(ui.sees("steps.masked"));
    CHECK_FALSE(ui.sees("steps.weights"));
    ui.press(shell::Key::PageDown);
    ui.press(shell::Key::PageDown);
    CHECK(ui.sees("steps.heads"));
    for (int i = 0; i < 20; ++i) ui.press(shell::Key::PageDown);
    CHECK(ui.sees("steps.next"));
    for (int i = 0; i < 30; ++i) ui.press(shell::Key::PageUp);
    CHECK(ui.sees("steps.residual"));
    CHECK(ui.sees("steps.token_vectors"));
    unfold(ui, "weights");
    CHECK(ui.sees("steps.weights"));
    CHECK(ui.state().opened_matrix == "weights");
    ui.wait(2.0);
    ui.press(shell::Key::Left, shell::kAlt);
    CHECK(ui.sees("steps.residual"));
    ui.press(shell::Key::Escape);
    CHECK(ui.state().opened_matrix.empty());
    CHECK(ui.sees("steps.weights"));
    check_tips(ui);
  }

  TEST_CASE("in Steps the page keys walk, elsewhere they change the line of a batch") {
    UiDriver ui(steps_of("notebook-001"));
    REQUIRE(ui.result().shapes.begin()->second.batch == 2);
    ui.press(shell::Key::PageDown);
    CHECK(ui.state().selection.batch == 0);
    CHECK(ui.state().opened_matrix == "heads");
    ui.show("head");
    ui.press(shell::Key::PageDown);
    CHECK(ui.state().selection.batch == 1);
  }

  TEST_CASE("the row of the pointed, pinned or last query is written out with its softmax and its largest weights") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "A man in a red shirt rides a horse. A man in a red shirt rides a";
    state.selection = {.block = {.layer = LayerIndex{1}}, .head = 4};
    state.view.tab = "steps";
    UiDriver ui(state, open_gpu_runner);
    ui.resize(1600, 1000);
    REQUIRE(ui.sees("steps.row"));
    const auto row = [&] { return text_on_screen(ui.rect("steps.row")); };
    CAPTURE(row());
    CHECK(row().find("Row 17") != std::string::npos);
    CHECK(row().find("largest score of the row") != std::string::npos);
    const EngineTile* known = nullptr;
    for (const auto& [query, tile] : ui.result().tiles) {
      const bool is_shown = query.block == ui.state().selection.block && query.head == 4 && query.rows == 18;
      if (query.quantity == QuantityId(Stage::Weights) && query.is_exact() && is_shown) known = &tile;
    }
    REQUIRE(known != nullptr);
    const auto values = known->tile->values;
    const float largest = *std::max_element(values.end() - 18, values.end());
    CHECK(row().find(write_number(double{largest})) != std::string::npos);
    ui.feed({shell::MouseMove{ui.at("steps.weights", 0.02F, 0.15F)}});  // row 2
    ui.settle();
    CHECK(row().find("Row 2 ") != std::string::npos);
    const chart::Rect map = ui.rect("steps.weights");
    CHECK(ui.rect("steps.row").origin.x > map.end().x);
    ui.resize(1024, 640);
    ui.settle();
    CHECK(ui.sees("steps.weights"));
  }

  TEST_CASE("all steps stand in one line, the map fills the height, and the row beside it has all its tokens") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "a man in a red shirt is playing a guitar on the street";
    state.view.tab = "steps";
    UiDriver ui(state, open_gpu_runner);
    for (const glm::uvec2 size : {glm::uvec2(1024, 640), glm::uvec2(1600, 1000), glm::uvec2(2560, 1440)}) {
      CAPTURE(size.x);
      ui.resize(size.x, size.y);
      ui.settle();
      const float line = ui.rect("steps.small.x").origin.y;
      for (const char* name : {"q", "weights", "ffn_hidden", "next"})
        CHECK(ui.rect(std::string("steps.small.") + name).origin.y == line);
      const chart::Rect map = ui.rect("steps.weights"), row = ui.rect("steps.row");
      const float under = ui.rect("status.time").origin.y - ui.rect("steps.sentence").end().y;
      CHECK(map.size.y >= (size.x > 1024 ? 0.72F : 0.45F) * under);
      CHECK(row.origin.x - map.end().x < 160.0F);
      const std::string words = text_on_screen(row);
      CAPTURE(words);
      // Each of the 13 tokens has a line, or the last line says how many have none.
      const bool has_rest = words.find(" more, each ") != std::string::npos;
      CHECK(has_rest == (size.x == 1024));
      CHECK((has_rest || words.find("guitar") != std::string::npos));
    }
  }

  TEST_CASE("the sentence is about the row that is written out") {
    UiDriver ui(State(), open_gpu_runner);
    ui.resize(1280, 800);
    ui.window().open_files({(shared_folder() / "examples" / "patches.safetensors").string()});
    ui.settle();
    ui.show("steps");
    ui.settle();
    const std::string words = text_on_screen(ui.rect("steps.row"));
    const std::size_t from = words.find("\u201C"), to = words.find("\u201D");
    REQUIRE(to != std::string::npos);
    CAPTURE(words);
    CHECK(plain_text(ui.window().sentence()).starts_with(words.substr(from, to - from)));
  }

  TEST_CASE("of a long text the unfolded map is a window, which a click on the small one moves") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    for (int i = 0; i < 200; ++i) state.text() += i == 0 ? "dog" : " dog";
    state.view.tab = "steps";
    UiDriver ui(state, open_gpu_runner);
    ui.resize(1280, 800);
    REQUIRE(ui.result().error.empty());
    const std::size_t largest = [&] {
      std::size_t most = 0;
      for (const auto& [query, tile] : ui.result().tiles) most = std::max(most, tile.tile ? tile.tile->values.size() : 0);
      return most;
    }();
    CHECK(largest < 200 * 200);  // no whole map
    REQUIRE(ui.sees("steps.weights.rows"));
    ui.click_within("steps.small.weights", 0.5F, 0.7F);
    ui.feed({shell::MouseMove{ui.rect("steps.weights").center()}});
    ui.settle();
    REQUIRE(ui.window().followed_query());
    CHECK(*ui.window().followed_query() > 80);
  }

  TEST_CASE("the pointer's cell is explained in its own matrix, and is a cell of the map in a map alone") {
    UiDriver ui(steps_of("notebook-004"));
    ui.resize(1600, 2000);
    unfold(ui, "k");
    const chart::Rect keys = ui.rect("steps.k");
    ui.feed({shell::MouseMove{{keys.end().x - 3.0F, keys.origin.y + 3.0F}}});
    ui.settle();
    CHECK(letters_on_screen().find("K[0,2]") != std::string::npos);
    CHECK_FALSE(ui.window().followed_query());
    unfold(ui, "weights");
    const chart::Rect map = ui.rect("steps.weights");
    ui.feed({shell::MouseMove{{map.end().x - 3.0F, map.origin.y + 3.0F}}});
    CHECK(ui.window().followed_query() == 0U);
  }

  TEST_CASE("steps show what exists: no X where Q, K and V are given, no output without a projection") {
    UiDriver ui(steps_of("notebook-003"));
    CHECK_FALSE(ui.sees("steps.small.x"));
    CHECK_FALSE(ui.sees("steps.small.output"));
    CHECK(ui.sees("steps.small.merged"));
    ui.click("model.back");
    CHECK(ui.sees("steps.small.x"));
    CHECK(ui.sees("steps.small.output"));
  }

  TEST_CASE("a mixture of experts shows its router, gates and load, and a token's experts in its tooltip") {
    State state;
    change_to_model(state, std::string(HEADLIGHT_GOLDEN_DIR) + "/models/qwen2_moe");
    state.model().ids = {{5, 7, 9, 11, 13}};
    state.view.tab = "steps";
    UiDriver ui(state);
    CHECK_FALSE(ui.sees("steps.small.gates"));  // layer 0 is dense
    ui.click("grid.encoder.1.0");
    ui.settle();
    unfold(ui, "router");
    CHECK(ui.sees("steps.w_router"));
    CHECK(ui.sees("steps.router"));
    CHECK(ui.sees("steps.small.ffn_output"));
    CHECK_FALSE(ui.sees("steps.small.ffn_hidden"));
    unfold(ui, "gates");
    CHECK(ui.sees("steps.gates"));
    CHECK(ui.sees("steps.expert_load"));
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
    ui.resize(1600, 1600);  // only the numbers of matrices that are on screen are asked for
    for (const char* name : {"q", "attention_sum", "attended", "ffn_hidden", "ffn_sum", "next"}) {
      CAPTURE(name);
      CHECK(ui.sees(std::string("steps.small.") + name));
    }
    unfold(ui, "ffn_hidden");
    CHECK(ui.sees("steps.w_1"));
    CHECK_FALSE(ui.sees("steps.all_q"));
    ui.click("view.steps_all_heads.1");
    for (const auto& [step, name] : {std::pair("q", "steps.all_q"), std::pair("k", "steps.all_k"),
                                     std::pair("v", "steps.all_v"), std::pair("heads", "steps.all_heads")}) {
      CAPTURE(name);
      unfold(ui, step);
      CHECK(ui.sees(name));
      CHECK_FALSE(ui.sees(std::string("steps.") + step));
    }
    const std::vector<float> all = Numbers(ui).of(StepMatrix::Other::AllHeads);
    unfold(ui, "merged");
    CHECK(all == Numbers(ui).of_stage(Stage::Merged));
    unfold(ui, "x");
    for (const char* name : {"steps.token_vectors", "steps.positions", "steps.x"}) CHECK(ui.sees(name));
    Numbers numbers(ui);
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
    for (const auto& [step, name] : {std::pair("k", "steps.w_k"), std::pair("v", "steps.w_v"),
                                     std::pair("output", "steps.w_o"), std::pair("q", "steps.w_q")}) {
      unfold(ui, step);
      CHECK(ui.sees(name));
      CHECK_FALSE(ui.sees("steps.memory"));
    }
    // The wheel over the cells moves their first row, a drag of the bar far more; a cell's number is the weight's.
    const auto pointed_row = [&] {
      ui.move_to("steps.w_q");
      ui.settle();
      const std::string text = letters_on_screen();
      const std::size_t at = text.find("W_Q[");
      REQUIRE(at != std::string::npos);
      return std::atoi(text.c_str() + at + 4);
    };
    const int before = pointed_row();
    ui.feed({shell::MouseWheel{.steps = {0.0F, -1.0F}}});
    CHECK(pointed_row() > before);
    const glm::vec2 from = ui.at("steps.w_q.rows", 0.5F, 0.1F);
    ui.feed(shell::drag(from, {from.x, ui.rect("steps.w_q.rows").end().y}));
    CHECK(pointed_row() > before + 100);
    const float shown =
        Numbers(ui).of(StepMatrix::Other::QueryWeight, {.row = 250, .rows = 1, .column = 3, .columns = 1}).front();
    std::vector<float> row(256);
    ui.result().network->layer({}).weights->query.weight.read(3, 1, row);
    CHECK(shown == row[250]);
  }

  TEST_CASE("a clicked cell stays explained, its terms open in a list, and the whole is copied") {
    UiDriver ui(steps_of(""));
    ui.resize(1600, 1600);
    unfold(ui, "q");
    ui.wait(2.0);
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
