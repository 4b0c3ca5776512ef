// The panel of all heads: its kinds, lines and order, and what thousands of heads cost.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/analyses/token_losses.h"
#include "app/models/starter_view.h"
#include "app/state/map_settings.h"
#include "app/state/run_interventions.h"
#include "app/text_on_screen.h"
#include "app/ui_driver.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/thumbnail.h"
#include "engine/fake_runner.h"
#include "support/sanitizers.h"

namespace viewer_grid_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("gpu") {
  TEST_CASE("kinds, lines and order of the grid are chosen above it") {
    State state;
    select_preset(state, "notebook-002");
    UiDriver ui(state);
    ui.click("grid.kind.2");
    CHECK(ui.state().selection.block.kind == model::BlockKind::Cross);
    CHECK(ui.sees("grid.cross.0.0"));
    ui.click("grid.line.1");
    CHECK(ui.state().selection.batch == 1);
    ui.click("view.grid_order.1");
    CHECK(ui.state()[kMapView.grid_order] == GridOrder::ByConcentration);
    ui.click("head.stage.0");
    CHECK(ui.state().view.heatmap_stage == attention::Stage::Scores);
  }

  TEST_CASE("below the heads is what is selected, with the numbers of the run and what can be done to it") {
    State state;
    change_to_model(state, find_bundled_model("captions-gpt2")->string());
    state.text() = "A man in a red shirt rides a horse. A man in a red shirt rides a";
    state.selection = {.block = {.layer = LayerIndex{1}}, .head = 4};
    UiDriver ui(state, open_gpu_runner);
    REQUIRE(ui.sees("properties.head"));
    CHECK_FALSE(ui.sees("properties.cell"));
    CHECK_FALSE(ui.sees("properties.token"));
    const auto words = [&] { return text_on_screen(ui.rect("properties")); };
    CHECK(words().find("Head L1 H4") != std::string::npos);
    CHECK(words().find("induction") != std::string::npos);
    ui.click_cell(17, 8);
    REQUIRE(ui.sees("properties.cell"));
    REQUIRE(ui.sees("properties.token"));
    CAPTURE(words());
    const float weight = weights(ui).at(17, 8);
    CHECK(words().find(write_number(double{weight})) != std::string::npos);
    CHECK(words().find("written out exp") != std::string::npos);
    const Analysed* told = ui.result().analysed(TokenLossesQuestion{});
    REQUIRE(told != nullptr);
    const auto* losses = told->as<TokenLosses>();
    REQUIRE(losses != nullptr);
    const double loss = losses->losses.at(17 - losses->first);
    CHECK(words().find(fmt::format("{:.3g} nats", loss)) != std::string::npos);
    CHECK(words().find(fmt::format("{:.3g} %", 100.0 * std::exp(-loss))) != std::string::npos);
    check_tips(ui);
    ui.click("properties.head.knock_out");
    CHECK(head_gain(ui.state(), ui.state().selection.block, 4) == 0.0F);
    ui.click("properties.head.halve");
    CHECK(head_gain(ui.state(), ui.state().selection.block, 4) == 0.5F);
    ui.click("properties.view.neuron");
    CHECK(ui.state().view.tab == "neuron");
  }

  TEST_CASE("the heads fill their panel's width in windows of every size, and what is selected is below them") {
    UiDriver ui({}, open_gpu_runner);
    for (const char* model : {"gpt2", "bert"}) {
      show_golden_model(ui, model);
      for (const glm::uvec2 size : {glm::uvec2(1280, 800), glm::uvec2(1600, 1000), glm::uvec2(2560, 1440)}) {
        ui.resize(size.x, size.y);
        CAPTURE(model);
        CAPTURE(size.x);
        const chart::Rect first = ui.rect("grid.encoder.0.0"), last = ui.rect("grid.encoder.0.1");
        CHECK(last.origin.x - first.end().x <= 8.0F + 0.25F * first.size.x);
        CHECK(ui.rect("properties.head").origin.y > ui.rect("grid.encoder.1.0").end().y);
      }
    }
  }

  TEST_CASE("sorted by concentration, the first thumbnail is the most concentrated head") {
    State state;
    state.set(kMapView.grid_order, GridOrder::ByConcentration);
    UiDriver ui(state);
    struct Placed {
      float y, x, concentration;
    };
    std::vector<Placed> placed;
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      for (std::uint32_t head = 0; head < 8; ++head) {
        const chart::Rect rect = ui.rect("grid.encoder." + std::to_string(layer) + "." + std::to_string(head));
        const attention::Tile* tile =
            ui.result().tile({.block = {.layer = LayerIndex{layer}}, .head = head, .rows = 6, .columns = 6, .pool = 1});
        REQUIRE(tile);
        placed.push_back({rect.origin.y, rect.origin.x, concentration(*tile, 6, ~0U)});
      }
    }
    std::ranges::sort(placed, {}, [](const Placed& one) { return std::pair(one.y, one.x); });
    for (std::size_t i = 1; i < placed.size(); ++i) CHECK(placed[i - 1].concentration >= placed[i].concentration);
  }

  TEST_CASE("thousands of tokens and of heads cost a frame little, and each thumbnail asks for few values") {
    constexpr std::uint32_t kTokens = 4096;
    State state = with_text(words(kTokens));
    state.playground().settings = {.d_model = 64, .heads = 64, .layers = 6};
    const auto log = std::make_shared<FakeLog>();
    log->repeats = 8;
    for (const GridOrder order : {GridOrder::ByLayer, GridOrder::ByConcentration}) {
      const bool is_by_layer = order == GridOrder::ByLayer;
      CAPTURE(is_by_layer);
      state.set(kMapView.grid_order, order);
      UiDriver ui(state, fake_factory(log));
      REQUIRE(ui.result().shapes.size() == 48);
      const chart::Rect thumbnail = ui.rect("grid.encoder.0.0");
      std::size_t thumbnails = 0;
      for (const auto& [request, known] : ui.result().tiles) {
        if (request.pool < 16) continue;
        ++thumbnails;
        // A thumbnail has as many values as pixels, or squares of 64 cells: no driver is asked for larger ones before
        // it must be.
        CHECK(static_cast<float>((request.rows + request.pool - 1) / request.pool) <=
              std::max(thumbnail.size.y + 1.0F, 64.0F));
      }
      if (is_by_layer) CHECK(thumbnails < 48 * 64);  // only what is visible
      double least_ms = 1e9;
      for (int i = 0; i < 20; ++i) {
        ui.feed({shell::MouseMove{ui.at("head.map", 0.5F, 0.02F * static_cast<float>(i + 1))}});
        least_ms = std::min(least_ms, ui.window().build_cpu_ms());
      }
      MESSAGE("a window with ", thumbnails, " thumbnail tiles: ", least_ms, " ms");
#if defined(NDEBUG) && !HEADLIGHT_HAS_ADDRESS_SANITIZER
      CHECK(least_ms < 4.0);  // observed 1.5 by layer, 1.4 by concentration, where tiles of all 3,072 heads are asked for
#endif
    }
  }
}

}  // namespace viewer_grid_test
