#include "app/window/dialogs/figure_preview.h"

#include <numbers>

#include <imgui.h>

#include "app/figures/export_plan.h"
#include "app/figures/figure_kind.h"
#include "app/shell/click_area.h"
#include "app/shell/imgui_vectors.h"
#include "app/widgets/controls.h"
#include "core/error.h"
#include "core/json.h"
#include "export/figure_frame.h"

namespace headlight::app {
namespace {

std::uint32_t preview_edge(std::uint32_t most, std::size_t maps) {
  // Each value is a rectangle in every frame: so many for all maps together.
  constexpr double kMaxValues = 83'000.0;
  constexpr std::uint32_t kMin = 24, kMax = 96;
  const double fitting = std::sqrt(kMaxValues / static_cast<double>(std::max(maps, std::size_t{1})));
  return std::min(most, std::clamp(static_cast<std::uint32_t>(fitting), kMin, kMax));
}

/// The input of a figure's layout, for the engine's thread.
struct PreviewedSubject {
  const FigureKind* kind = nullptr;
  RunSource::Source source = {};
  std::shared_ptr<const model::ModelInput> baseline_input = {};
  ExportBlocks blocks = {};
  MatrixRef matrix = {};
  ExportOptions options = {};
  std::string changes = {};
};

Task<PreviewedFigure> lay_out(PreviewedSubject of, std::shared_ptr<FigureNumbers> numbers) {
  if (!numbers->subject) co_await numbers->begin();
  const FigureSubject subject{.source = of.source,
                              .baseline_input = of.baseline_input.get(),
                              .blocks = of.blocks,
                              .matrix = of.matrix,
                              .options = of.options,
                              .changes = of.changes};
  std::unique_ptr<exporting::Drawing> drawing = co_await draw_figure(*of.kind, subject, *numbers);
  PreviewedFigure figure{.drawing = std::move(drawing)};
  for (const auto& [query, tile] : numbers->tiles)
    figure.largest_pool = std::max({figure.largest_pool, query.pool, query.column_pool()});
  co_return figure;
}

/// Draws an exported figure into the current window, smaller than on paper: what it looks like, not a file.
class PreviewCanvas final : public exporting::Canvas {
 public:
  /// `corner`: of the figure on screen; `scale`: UI units a unit of the figure.
  PreviewCanvas(Frame& frame, glm::vec2 corner, float scale);

  void fill(exporting::Rect rect, exporting::Rgb color) override;
  void frame(exporting::Rect rect, exporting::Rgb color, float width) override;
  void line(glm::vec2 from, glm::vec2 to, exporting::Rgb color, float width) override;
  void hatch(std::span<const exporting::Rect> rects, exporting::Rgb stripe) override;
  /// Of large images every few pixels.
  void image(exporting::Rect rect, const exporting::Pixels& pixels) override;
  void text(glm::vec2 anchor, std::string_view text, const exporting::TextStyle& style) override;

 private:
  ImVec2 place(glm::vec2 point) const { return {corner_.x + point.x * scale_, corner_.y + point.y * scale_}; }

  ImDrawList* list_;
  ImFont* font_;
  ImFont* bold_font_;
  glm::vec2 corner_;
  float scale_;
};

constexpr std::uint32_t kMaxPixels = 96;  // of an image, along each edge

ImU32 packed(exporting::Rgb color) { return chart::pack(color); }

PreviewCanvas::PreviewCanvas(Frame& frame, glm::vec2 corner, float scale)
    : list_(ImGui::GetWindowDrawList()),
      font_(frame.ui.fonts().body),
      bold_font_(frame.ui.fonts().strong),
      corner_(corner),
      scale_(scale) {}

void PreviewCanvas::fill(exporting::Rect rect, exporting::Rgb color) {
  list_->AddRectFilled(place(rect.origin), place(rect.end()), packed(color));
}

void PreviewCanvas::frame(exporting::Rect rect, exporting::Rgb color, float width) {
  list_->AddRect(place(rect.origin), place(rect.end()), packed(color), 0.0F, 0, std::max(width * scale_, 1.0F));
}

void PreviewCanvas::line(glm::vec2 from, glm::vec2 to, exporting::Rgb color, float width) {
  list_->AddLine(place(from), place(to), packed(color), std::max(width * scale_, 1.0F));
}

void PreviewCanvas::hatch(std::span<const exporting::Rect> rects, exporting::Rgb stripe) {
  const float period = std::max(exporting::kHatchPeriod, 4.0F / scale_);
  for (const exporting::Rect& rect : rects) {
    list_->PushClipRect(place(rect.origin), place(rect.end()), true);
    // Stripes run through whole multiples of the period, so that those of neighbours meet.
    const glm::vec2 end = rect.end();
    const float first = std::floor((rect.origin.x + rect.origin.y) / period) * period;
    for (float sum = first; sum < end.x + end.y; sum += period) {
      list_->AddLine(place({sum - rect.origin.y, rect.origin.y}), place({sum - end.y, end.y}), packed(stripe), 1.0F);
    }
    list_->PopClipRect();
  }
}

void PreviewCanvas::image(exporting::Rect rect, const exporting::Pixels& pixels) {
  const std::uint32_t step = std::max({1U, pixels.width / kMaxPixels, pixels.height / kMaxPixels});
  const glm::vec2 pixel(rect.size.x / static_cast<float>(pixels.width), rect.size.y / static_cast<float>(pixels.height));
  for (std::uint32_t y = 0; y < pixels.height; y += step) {
    for (std::uint32_t x = 0; x < pixels.width; x += step) {
      const glm::vec2 corner = rect.origin + glm::vec2(x, y) * pixel;
      const glm::vec2 end = glm::min(corner + pixel * static_cast<float>(step), rect.end());
      list_->AddRectFilled(place(corner), place(end), pixels.rgba[std::size_t{y} * pixels.width + x]);
    }
  }
}

void PreviewCanvas::text(glm::vec2 anchor, std::string_view text, const exporting::TextStyle& style) {
  ImFont* font = style.is_bold ? bold_font_ : font_;
  const float size = style.size * scale_;
  const char* end = text.data() + text.size();
  const ImVec2 extent = font->CalcTextSizeA(size, 1e9F, 0.0F, text.data(), end);
  const float shift = style.align == exporting::TextAlign::Start    ? 0.0F
                      : style.align == exporting::TextAlign::Middle ? extent.x * 0.5F
                                                                    : extent.x;
  constexpr float kBaseline = 0.78F;  // from the top of a line, in ems
  const ImVec2 at = place(anchor);
  const int first = list_->VtxBuffer.Size;
  const ImVec2 level = {at.x - shift, at.y - kBaseline * size};
  if (style.degrees == 0.0F) return list_->AddText(font, size, level, packed(style.color), text.data(), end);
  // Letters outside the clip rectangle are left out before they are turned: they are laid where none is.
  const ImVec2 corner = list_->GetClipRectMin();
  const ImVec2 around = {corner.x + shift, corner.y + kBaseline * size};
  list_->AddText(font, size, corner, packed(style.color), text.data(), end);
  const float turn = -style.degrees / 180.0F * std::numbers::pi_v<float>;
  const float cosine = std::cos(turn), sine = std::sin(turn);
  for (int i = first; i < list_->VtxBuffer.Size; ++i) {
    ImVec2& vertex = list_->VtxBuffer[i].pos;
    const ImVec2 from = {vertex.x - around.x, vertex.y - around.y};
    vertex = {at.x + from.x * cosine - from.y * sine, at.y + from.x * sine + from.y * cosine};
  }
}

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
      list->AddRectFilled(at, glm::min(at + kSquare, from + size),
                          is_even ? IM_COL32(205, 205, 205, 255) : IM_COL32(235, 235, 235, 255));
    }
  }
}

}  // namespace

void FigurePreview::update(Frame& frame, Engine& engine, const ExportOptions& options, const FigureKind& kind) {
  std::string key = key_of(frame, options, kind);
  const std::optional<RunInputs> baseline = options.baseline ? std::optional(options.baseline->inputs) : std::nullopt;
  const bool has_runs = runs_ == std::pair(frame.result.run, baseline);
  if (key != key_ || !has_runs) {
    key_ = std::move(key);
    runs_ = {frame.result.run, baseline};
    if (!has_runs) numbers_ = std::make_shared<FigureNumbers>(FigureNumbers{.edge = &preview_edge});
    asked_ = {};
    trouble_.clear();
    const EngineResult& result = frame.result;
    PreviewedSubject of{.kind = &kind,
                        .source = {.network = result.network,
                                   .input = result.input,
                                   .model = result.model,
                                   .prompt = result.prompt,
                                   .capture = result.capture},
                        .baseline_input = result.baseline_input,
                        .options = options,
                        .changes = changes_on_screen(frame.state, result)};
    of.options.session.clear();
    of.blocks = previewed_blocks(frame, of.options, kind);
    if (const std::string why = figure_refusal(kind, of.blocks); !why.empty()) throw Error("{}: {}", kind.id, why);
    const attention::Stage stage =
        !kind.is_of_stages || options.stages.empty() ? attention::Stage::Weights : options.stages.front();
    const std::vector<MatrixRef> figures = figures_of(kind, of.blocks, stage);
    if (figures.empty()) throw Error("{}: there is one head, which has a figure of its own", kind.id);
    of.matrix = figures.front();
    NamedRun named{.inputs = result.inputs};
    if (baseline) named.baseline = std::make_shared<const RunInputs>(*baseline);
    asked_ = engine.ask<PreviewedFigure>(
        [of, numbers = numbers_, run = std::make_shared<const NamedRun>(named)](
            const AskedFor<PreviewedFigure>::Tell& /*tell*/) { return lay_out(of, numbers).of(run); });
  }
  if (!asked_.is_done()) return;
  trouble_ = asked_.error();
  if (trouble_.empty()) shown_ = asked_.result();  // until then the one of before
}

std::string FigurePreview::remark() const {
  const std::uint32_t pool = trouble_.empty() && shown_ ? shown_->largest_pool : 1;
  return pool > 1 ? fmt::format("Here a point is the largest of up to {0} \u00D7 {0} cells. ", pool) : std::string();
}

void FigurePreview::draw_page(Frame& frame, const ExportOptions& options, glm::vec2 corner, glm::vec2 room) const {
  const glm::vec2 size = shown_->drawing->size();
  const float fitting = std::min({room.x / size.x, room.y / size.y, 1.5F});
  const float scale = is_enlarged_ ? std::max(1.0F, fitting) : fitting;
  const glm::vec2 free = room - size * scale;
  const glm::vec2 pointed = glm::clamp((pointer_position() - corner) / room, 0.0F, 1.0F);
  const glm::vec2 from = corner + glm::vec2(free.x > 0.0F ? free.x * 0.5F : free.x * pointed.x,
                                            free.y > 0.0F ? free.y * 0.5F : free.y * pointed.y);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(corner, corner + room, true);
  PreviewCanvas canvas(frame, from, scale);
  if (options[kFigureDetails.is_transparent]) {
    draw_squares(list, from, size * scale);
  } else {
    canvas.fill({{0.0F, 0.0F}, size}, exporting::paper_of({.is_dark = options[kFigureDetails.is_dark]}).ground);
  }
  shown_->drawing->draw(canvas);
  list->PopClipRect();
}

void FigurePreview::draw(Frame& frame, Engine& engine, const ExportOptions& options, const FigureKind& kind,
                         glm::vec2 room) {
  const glm::vec2 corner = to_glm(ImGui::GetCursorScreenPos());
  if (click_area("preview", room)) is_enlarged_ = !is_enlarged_;
  frame.mark("export.preview", {corner, room});
  if (!frame.result.network || !frame.result.input) return;
  try {
    update(frame, engine, options, kind);
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  if (trouble_.empty() && shown_) return draw_page(frame, options, corner, room);
  const std::string& text = trouble_.empty() ? std::string("computing\u2026") : trouble_;
  ImGui::GetWindowDrawList()->AddText(nullptr, 0.0F, corner, ImGui::GetColorU32(ImGuiCol_Text), text.c_str(), nullptr,
                                      room.x);
}

}  // namespace headlight::app
