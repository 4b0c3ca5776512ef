#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/engine/run_source.h"
#include "app/quantities/evaluation.h"
#include "app/shell_stage.h"
#include "app/views/grid/grid_view.h"
#include "app/views/head/head_view.h"
#include "app/views/steps/steps_view.h"
#include "app/widgets/shown_tile.h"
#include "engine/reference_runner.h"

namespace headlight::app {

/// Processor time of this thread so far.
inline double processor_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// The centre and the grid of the window, drawn offscreen from a run of the reference: a test changes the state, feeds input
/// and looks at state, queries and pixels.
struct PanelStage {
  shell::Stage shell;
  State state;
  Transient transient;
  EngineResult result;
  ItemRects items;
  StepsMemory steps;
  HeadMemory head;
  std::vector<Query> queries;           ///< of the last frame
  std::vector<TileQuery> tile_queries;  ///< those for tiles
  std::uint32_t evaluated = 0;          ///< tiles since the construction
  bool is_answering = true;             ///< false: requests stay requests
  double draw_ms = 0.0;                 ///< of the last frame: this thread's processor time, which other work can't lengthen
  /// Instead of the reference: what a test makes up.
  std::function<attention::Tile(const attention::TileRequest&)> make_tile;

  explicit PanelStage(glm::uvec2 size = {1280, 880}) { shell.size = size; }

  /// Computes what the state asks for, as the engine does.
  void compute() {
    const RunSource::Source& built = source_.build(run_inputs(state));
    run_ = std::make_shared<ReferenceRun>(
        inference::PassInputs{.network = built.network,
                              .input = *built.input,
                              .masks = state.masks,
                              .interventions = inference::interventions_of(state.gains, *built.network)});
    result.timing = run_->timing();
    ++result.run;
    result.network = built.network;
    result.input = built.input;
    result.blocks = run_->blocks();
    result.shapes.clear();
    for (const model::BlockRef block : result.blocks) result.shapes[block] = run_->shape(block);
    result.tiles.clear();
    clamp_selection(state, result.shapes);
    computed_ = run_inputs(state);
  }

  void frame() {
    if (!(computed_ == run_inputs(state)) || result.run == 0) compute();
    queries.clear();
    tile_queries.clear();
    items.clear();
    overflowing_.clear();
    shell.ui.set_theme(state.view.theme == Theme::Dark ? shell::ThemeKind::Dark : shell::ThemeKind::Light);
    shell.ui.begin_frame(shell.size, shell.scale, 1.0 / 60.0);
    Frame shown{
        .ui = shell.ui, .state = state, .transient = transient, .result = result, .queries = queries, .items = &items};
    transient.begin_panes();
    const double began_ms = processor_ms();
    const float grid = 340.0F;
    const float width = shell.ui.size().x;
    pane("center", 0.0F, width - grid, shell.ui.theme().background, [&] {
      if (state.view.tab == "head") {
        draw_head_panel(shown, head);
      } else {
        draw_steps_panel(shown, steps);
      }
    });
    pane("grid", width - grid, grid, shell.ui.theme().panel, [&] { draw_grid_panel(shown); });
    draw_ms = processor_ms() - began_ms;
    shell.ui.end_frame();
    for (const Query& query : queries) {
      if (const TileQuery* tile = std::get_if<TileQuery>(&query)) tile_queries.push_back(*tile);
    }
    if (is_answering) evaluate();
  }

  /// Frames until all input was seen, all queries are answered and the layout rests.
  void settle() {
    shell.ui.request_redraw(3);  // sizes follow one frame behind a changed state
    for (int i = 0; i < 200; ++i) {
      const std::uint32_t before = evaluated;
      const std::uint64_t run = result.run;
      frame();
      if (evaluated == before && run == result.run && !shell.ui.wants_redraw() && computed_ == run_inputs(state)) {
        CHECK_MESSAGE(overflowing_.empty(), "a panel is larger than its region: ", overflowing_);
        return;
      }
    }
    FAIL("the panels never rest");
  }

  void feed(const std::vector<shell::InputEvent>& events) {
    shell.ui.feed(events);
    settle();
  }

  view::Rect rect(const std::string& name) const {
    const auto found = items.find(name);
    REQUIRE_MESSAGE(found != items.end(), "no item " << name);
    return found->second;
  }

 private:
  template <typename Draw>
  void pane(const char* name, float x, float width, shell::Color ground, const Draw& draw) {
    ImGui::SetNextWindowPos({x, 0.0F});
    ImGui::SetNextWindowSize({width, shell.ui.size().y});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(16.0F, 12.0F));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0.0F);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
    ImGui::PushStyleColor(ImGuiCol_WindowBg, ground);
    ImGui::Begin(name, nullptr, ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoMove);
    ImGui::PopStyleColor();
    ImGui::PopStyleVar(3);
    draw();
    if (ImGui::GetScrollMaxY() > 0.0F) overflowing_ = name;
    ImGui::End();
  }

  void evaluate() {
    for (const TileQuery& query : tile_queries) {
      if (result.tiles.contains(query)) continue;
      attention::Tile tile = make_tile ? make_tile(stage_request(query)) : app::evaluate({.run = *run_}, query);
      result.tiles[query] = make_engine_tile(std::move(tile), result.run);
      ++evaluated;
    }
  }

  RunSource source_;
  std::shared_ptr<const inference::Run> run_;
  RunInputs computed_;
  std::string overflowing_;  ///< a panel that needs a scroll bar; sizes settle one frame after a change
};

}  // namespace headlight::app
