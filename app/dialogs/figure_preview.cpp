#include "app/dialogs/figure_preview.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <imgui.h>

#include "app/dialogs/preview_canvas.h"
#include "app/exports/figures.h"
#include "app/exports/plan.h"
#include "app/exports/record.h"
#include "app/shell/imgui_vectors.h"
#include "core/error.h"
#include "core/json.h"
#include "export/figure_frame.h"
#include "export/figure_map.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kPreviewEdge = 64;  // values along an edge: more would be an image of tiny cells

/// What the preview shows of an export, and what it asks of the run.
struct Previewed {
  ExportBlocks blocks;
  MatrixRef matrix;
  TileQuery query;
};

/// Throws Error where the export has no such matrix.
Previewed previewed(const Frame& frame, const ExportOptions& options) {
  const Selection& selection = frame.state.selection;
  ExportOptions one = options;
  one.kind = selection.block.kind;
  if (one.mean != HeadMean::Kind) one.layers = selection.block.layer.value;
  one.batch = selection.batch;
  if (one.mean == HeadMean::None) one.heads = selection.head;
  const RunShapes run{.blocks = frame.result.blocks, .shapes = frame.result.shapes, .input = frame.result.input.get()};
  Previewed shown{.blocks = select_blocks(run, *frame.result.network, one).front(), .matrix = {}, .query = {}};
  const attention::Stage stage = options.stages.empty() ? attention::Stage::Weights : options.stages.front();
  shown.matrix = {.block = shown.blocks.layers.front(),
                  .batch = selection.batch,
                  .head = heads_of(shown.blocks, stage).front(),
                  .stage = stage};
  shown.query = selected_matrix(shown.blocks, shown.matrix.block, stage, shown.matrix.batch, shown.matrix.head);
  shown.query.pool = figure_pool(shown.query.rows, shown.query.columns, kPreviewEdge);
  return shown;
}

}  // namespace

void FigurePreview::lay_out(const Frame& frame, ExportOptions options) {
  const Previewed shown = previewed(frame, options);
  options.session.clear();
  figure_ = std::make_unique<exporting::HeatmapFigure>(
      matrix_figure(exporting::make_map(*tile_), *frame.result.input, shown.blocks, shown.matrix, options));
  drawing_ = std::make_unique<exporting::HeatmapDrawing>(*figure_, kPreviewEdge);
}

void FigurePreview::draw(Frame& frame, const ExportOptions& options, float height) {
  const glm::vec2 corner = to_glm(ImGui::GetCursorScreenPos());
  const glm::vec2 room(ImGui::GetContentRegionAvail().x, height);
  ImGui::Dummy(to_imgui(room));
  frame.mark("export.preview", {corner, room});
  if (!frame.result.network || !frame.result.input) return;
  try {
    const Previewed shown = previewed(frame, options);
    const EngineTile* known = frame.ask(shown.query);
    if (known == nullptr) return;  // it is being evaluated
    const std::string key = to_text(describe_settings(options), -1);
    if (tile_ != known->tile || key != key_) {
      tile_ = known->tile;
      key_ = key;
      lay_out(frame, options);
    }
    trouble_.clear();
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (!trouble_.empty() || !drawing_) {
    list->AddText(to_imgui(corner), ImGui::GetColorU32(ImGuiCol_Text), trouble_.c_str());
    return;
  }
  const glm::vec2 size(drawing_->width(), drawing_->height());
  const float scale = std::min({room.x / size.x, room.y / size.y, 1.0F});
  const glm::vec2 from = corner + (room - size * scale) * 0.5F;
  list->PushClipRect(to_imgui(corner), to_imgui(corner + room), true);
  PreviewCanvas canvas(frame, from, scale);
  if (figure_->style.is_transparent) {
    // Squares in two greys: where the page shows through.
    constexpr float kSquare = 10.0F;
    for (float y = 0.0F; y < size.y * scale; y += kSquare) {
      for (float x = 0.0F; x < size.x * scale; x += kSquare) {
        const bool is_even = static_cast<int>(x / kSquare + y / kSquare) % 2 == 0;
        const glm::vec2 at = from + glm::vec2(x, y);
        list->AddRectFilled(to_imgui(at), to_imgui(glm::min(at + kSquare, from + size * scale)),
                            is_even ? IM_COL32(205, 205, 205, 255) : IM_COL32(235, 235, 235, 255));
      }
    }
  } else {
    canvas.fill({{0.0F, 0.0F}, size}, exporting::paper_of(figure_->style).ground);
  }
  drawing_->draw(canvas);
  list->PopClipRect();
}

}  // namespace headlight::app
