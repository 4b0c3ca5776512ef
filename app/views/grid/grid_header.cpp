#include "app/views/grid/grid_header.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/state/comparison.h"
#include "app/widgets/ink.h"
#include "app/widgets/kind_choice.h"
#include "app/widgets/segmented.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kMostLines = 64;  // of a batch as one button each

void draw_title(const Frame& frame, std::uint32_t layers, std::uint32_t heads) {
  {
    const Ink ink(frame.ui.fonts().title, frame.ui.theme().text);
    ImGui::TextUnformatted("Heads");
  }
  const std::string count =
      fmt::format("{} {} × {} {}", layers, layers == 1 ? "layer" : "layers", heads, heads == 1 ? "head" : "heads");
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  const float width = ImGui::CalcTextSize(count.c_str()).x;
  ImGui::SameLine(ImGui::GetContentRegionMax().x - width);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + 6.0F);
  ImGui::TextUnformatted(count.c_str());
}

/// Line 1 | 2 | 3 of the batch; arrows where they don't fit.
void draw_lines(Frame& frame, std::uint32_t batch) {
  if (batch < 2) return;
  std::uint32_t& line = frame.state.selection.batch;
  line = std::min(line, batch - 1U);
  std::vector<std::string> labels;
  for (std::uint32_t i = 0; i < std::min(batch, kMostLines); ++i) labels.push_back(fmt::format("{}", i + 1));
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("Line");
  ImGui::SameLine();
  if (batch <= kMostLines && segmented_width(frame, labels) <= ImGui::GetContentRegionAvail().x) {
    std::size_t chosen = line;
    if (draw_segmented(frame, "grid.line", labels, chosen)) line = static_cast<std::uint32_t>(chosen);
    return;
  }
  if (ImGui::ArrowButton("previous line", ImGuiDir_Left) && line > 0) --line;
  mark_last_item(frame, "grid.previous_line");
  ImGui::SameLine();
  ImGui::Text("%u of %u", line + 1, batch);
  ImGui::SameLine();
  if (ImGui::ArrowButton("next line", ImGuiDir_Right)) line = std::min(line + 1U, batch - 1U);
  mark_last_item(frame, "grid.next_line");
}

void draw_order(Frame& frame) {
  GridOrder& order = frame.state.view.grid_order;
  std::vector<std::string> labels = {"By layer", "By concentration"};
  if (segmented_width(frame, labels) > ImGui::GetContentRegionAvail().x) labels = {"Layer", "Concentration"};
  auto chosen = static_cast<std::size_t>(order);
  if (draw_segmented(frame, "grid.order", labels, chosen)) order = static_cast<GridOrder>(chosen);
}

}  // namespace

void draw_grid_header(Frame& frame) {
  const BlockShapes& shapes = frame.result.shapes;
  const auto selected = shapes.find(frame.state.selection.block);
  if (selected == shapes.end()) return;
  std::uint32_t layers = 0;
  for (const auto& [block, shape] : shapes) {
    if (block.kind == selected->first.kind) ++layers;
  }
  const std::uint32_t heads = selected->second.heads;
  const std::uint32_t batch = selected->second.batch;
  draw_title(frame, layers, heads);
  choose_kind(frame, "grid.kind");
  draw_lines(frame, batch);
  if (layers * heads > 2) draw_order(frame);
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  const std::string about = frame.shows_difference()
                                ? fmt::format("{} \u00B7 queries \u00D7 keys", difference_caption(frame.state))
                                : std::string("rows: queries, columns: keys");
  ImGui::TextUnformatted(about.c_str());
}

}  // namespace headlight::app
