#include "app/dialogs/figure_preview.h"

#include <numbers>

#include <imgui.h>

#include "app/exports/export_plan.h"
#include "app/exports/figure_kind.h"
#include "app/shell/click_area.h"
#include "app/shell/imgui_vectors.h"
#include "app/widgets/controls.h"
#include "core/error.h"
#include "core/json.h"
#include "export/figure_frame.h"

namespace headlight::app {
namespace {

std::shared_ptr<const attention::Tile> ask_tile(Frame& frame, const TileQuery& query) {
  const EngineTile* known = frame.ask(query);
  return known == nullptr ? nullptr : known->tile;
}

std::shared_ptr<const AnalysisResult> ask_analysis(Frame& frame, const AnalysisQuery& query) {
  const Analysed* known = frame.ask(query);
  if (known == nullptr) return nullptr;
  if (!known->error.empty()) throw Error("{}", known->error);
  return known->result;
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

ImU32 packed(exporting::Rgb color) { return view::pack(color); }

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
                                                            {.source = {.network = frame.result.network,
                                                                        .input = frame.result.input,
                                                                        .model = frame.result.model,
                                                                        .prompt = frame.result.prompt,
                                                                        .capture = frame.result.capture},
                                                             .baseline_input = frame.result.baseline_input.get(),
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
  const glm::vec2 pointed = glm::clamp((pointer_position() - corner) / room, 0.0F, 1.0F);
  const glm::vec2 from = corner + glm::vec2(free.x > 0.0F ? free.x * 0.5F : free.x * pointed.x,
                                            free.y > 0.0F ? free.y * 0.5F : free.y * pointed.y);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(corner, corner + room, true);
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
  if (click_area("preview", room)) is_enlarged_ = !is_enlarged_;
  frame.mark("export.preview", {corner, room});
  if (!frame.result.network || !frame.result.input) return;
  try {
    update(frame, options, kind);
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  if (trouble_.empty() && drawing_) return draw_page(frame, options, corner, room);
  const std::string& text = trouble_.empty() ? std::string("computing\u2026") : trouble_;
  ImGui::GetWindowDrawList()->AddText(nullptr, 0.0F, corner, ImGui::GetColorU32(ImGuiCol_Text), text.c_str(), nullptr,
                                      room.x);
}

bool PreviewNumbers::renew(Frame& frame) {
  bool is_same = true;
  for (const auto& [query, tile] : tiles_) is_same = ask_tile(frame, query) == tile && is_same;
  for (const auto& [query, result] : analyses_) is_same = ask_analysis(frame, query) == result && is_same;
  for (const auto& [query, run] : predictions_) {
    const Prediction* known = frame.ask(query);
    is_same = (known == nullptr ? 0 : known->run) == run && is_same;
  }
  return is_same;
}

void PreviewNumbers::begin(Frame& frame) {
  frame_ = &frame;
  tiles_.clear();
  analyses_.clear();
  predictions_.clear();
}

std::shared_ptr<const attention::Tile> PreviewNumbers::tile(const TileQuery& query) {
  return tiles_.emplace_back(query, ask_tile(*frame_, query)).second;
}

std::shared_ptr<const AnalysisResult> PreviewNumbers::analysis(const AnalysisQuery& query) {
  return analyses_.emplace_back(query, ask_analysis(*frame_, query)).second;
}

std::shared_ptr<const Prediction> PreviewNumbers::prediction(const PredictionQuery& query) {
  const Prediction* known = frame_->ask(query);
  predictions_.emplace_back(query, known == nullptr ? 0 : known->run);
  return known == nullptr ? nullptr : std::make_shared<const Prediction>(*known);
}

std::uint32_t PreviewNumbers::edge(std::uint32_t most, std::size_t maps) const {
  // Each value is a rectangle in every frame: so many for all maps together.
  constexpr double kMaxValues = 83'000.0;
  constexpr std::uint32_t kMin = 24, kMax = 96;
  const double fitting = std::sqrt(kMaxValues / static_cast<double>(std::max(maps, std::size_t{1})));
  return std::min(most, std::clamp(static_cast<std::uint32_t>(fitting), kMin, kMax));
}

std::uint32_t PreviewNumbers::largest_pool() const {
  std::uint32_t largest = 1;
  for (const auto& [query, tile] : tiles_) largest = std::max({largest, query.pool, query.column_pool()});
  return largest;
}

}  // namespace headlight::app
