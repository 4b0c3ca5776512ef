#include "app/dialogs/figure_preview.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <imgui.h>

#include "app/dialogs/preview_canvas.h"
#include "app/exports/figures.h"
#include "app/exports/record.h"
#include "app/shell/click_area.h"
#include "app/shell/imgui_vectors.h"
#include "core/error.h"
#include "core/json.h"
#include "export/figure_frame.h"

namespace headlight::app {
namespace {

/// The selection of the export that the preview shows: what is selected in the window, as far as the figure is of one.
/// Throws UsageError where the export has no such matrix.
ExportBlocks previewed_blocks(const Frame& frame, const ExportOptions& options, const FigureKind& kind) {
  const Selection& selection = frame.state.selection;
  ExportOptions one = options;
  one.kind = selection.block.kind;
  one.batch = selection.batch;
  if (kind.scope != FigureScope::Attention && one.mean != HeadMean::Kind) one.layers = selection.block.layer.value;
  if (kind.scope == FigureScope::Head && one.mean == HeadMean::None) one.heads = selection.head;
  const RunShapes run{.blocks = frame.result.blocks, .shapes = frame.result.shapes, .input = frame.result.input.get()};
  return select_blocks(run, *frame.result.network, one).front();
}

/// What is laid out: a change of it makes the preview anew.
std::string key_of(const Frame& frame, const ExportOptions& options, const FigureKind& kind) {
  const Selection& selection = frame.state.selection;
  return fmt::format("{} {} {} {} {} {} {} {}", kind.id, frame.result.run, static_cast<int>(selection.block.kind),
                     selection.block.layer.value, selection.head, selection.batch, static_cast<int>(selection.mean),
                     to_text(describe_settings(options), -1));
}

/// Squares in two greys: where the page shows through.
void draw_squares(ImDrawList* list, glm::vec2 from, glm::vec2 size) {
  constexpr float kSquare = 10.0F;
  for (float y = 0.0F; y < size.y; y += kSquare) {
    for (float x = 0.0F; x < size.x; x += kSquare) {
      const bool is_even = static_cast<int>(x / kSquare + y / kSquare) % 2 == 0;
      const glm::vec2 at = from + glm::vec2(x, y);
      list->AddRectFilled(to_imgui(at), to_imgui(glm::min(at + kSquare, from + size)),
                          is_even ? IM_COL32(205, 205, 205, 255) : IM_COL32(235, 235, 235, 255));
    }
  }
}

}  // namespace

void FigurePreview::update(Frame& frame, const ExportOptions& options, const FigureKind& kind) {
  std::string key = key_of(frame, options, kind);
  if (numbers_.renew(frame) && key == key_) return;
  key_ = std::move(key);
  trouble_.clear();
  ExportOptions shown = options;
  shown.session.clear();
  const ExportBlocks blocks = previewed_blocks(frame, shown, kind);
  if (const std::string why = figure_refusal(kind, blocks); !why.empty()) throw Error("{}: {}", kind.id, why);
  const attention::Stage stage =
      !kind.is_of_stages || shown.stages.empty() ? attention::Stage::Weights : shown.stages.front();
  const std::vector<MatrixRef> figures = figures_of(kind, blocks, stage);
  if (figures.empty()) throw Error("{}: there is one head, which has a figure of its own", kind.id);
  numbers_.begin(frame);
  std::unique_ptr<exporting::Drawing> drawing = draw_figure(kind,
                                                            {.input = *frame.result.input,
                                                             .prompt = frame.result.prompt.get(),
                                                             .model = frame.result.model.get(),
                                                             .network = frame.result.network.get(),
                                                             .reference_input = frame.result.reference_input.get(),
                                                             .capture = frame.result.capture.get(),
                                                             .blocks = blocks,
                                                             .matrix = figures.front(),
                                                             .options = shown,
                                                             .changes = changes_on_screen(frame.state, frame.result)},
                                                            numbers_);
  if (drawing) drawing_ = std::move(drawing);  // until then the one of before
}

std::string FigurePreview::remark() const {
  const std::uint32_t pool = trouble_.empty() ? numbers_.largest_pool() : 1;
  return pool > 1 ? fmt::format("Here a point is the largest of up to {0} \u00D7 {0} cells. ", pool) : std::string();
}

void FigurePreview::draw_page(Frame& frame, const ExportOptions& options, glm::vec2 corner, glm::vec2 room) const {
  const glm::vec2 size = drawing_->size();
  const float fitting = std::min({room.x / size.x, room.y / size.y, 1.5F});
  const float scale = is_enlarged_ ? std::max(1.0F, fitting) : fitting;
  const glm::vec2 free = room - size * scale;
  const glm::vec2 pointed = glm::clamp((to_glm(ImGui::GetIO().MousePos) - corner) / room, 0.0F, 1.0F);
  const glm::vec2 from = corner + glm::vec2(free.x > 0.0F ? free.x * 0.5F : free.x * pointed.x,
                                            free.y > 0.0F ? free.y * 0.5F : free.y * pointed.y);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(to_imgui(corner), to_imgui(corner + room), true);
  PreviewCanvas canvas(frame, from, scale);
  if (options.is_transparent) {
    draw_squares(list, from, size * scale);
  } else {
    canvas.fill({{0.0F, 0.0F}, size}, exporting::paper_of({.is_dark = options.is_dark}).ground);
  }
  drawing_->draw(canvas);
  list->PopClipRect();
}

void FigurePreview::draw(Frame& frame, const ExportOptions& options, const FigureKind& kind, glm::vec2 room) {
  const glm::vec2 corner = to_glm(ImGui::GetCursorScreenPos());
  if (click_area("preview", to_imgui(room))) is_enlarged_ = !is_enlarged_;
  frame.mark("export.preview", {corner, room});
  if (!frame.result.network || !frame.result.input) return;
  try {
    update(frame, options, kind);
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  if (trouble_.empty() && drawing_) return draw_page(frame, options, corner, room);
  const std::string& text = trouble_.empty() ? std::string("computing\u2026") : trouble_;
  ImGui::GetWindowDrawList()->AddText(nullptr, 0.0F, to_imgui(corner), ImGui::GetColorU32(ImGuiCol_Text), text.c_str(),
                                      nullptr, room.x);
}

}  // namespace headlight::app
