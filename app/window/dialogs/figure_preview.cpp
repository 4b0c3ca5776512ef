#include "app/window/dialogs/figure_preview.h"

#include <imgui.h>

#include "app/figures/export_plan.h"
#include "app/shell/click_area.h"
#include "app/shell/heatmap_renderer.h"
#include "app/shell/imgui_vectors.h"
#include "app/widgets/controls.h"
#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kPreviewKey = 0x5052'4556'0000;  // of the image, no tile's
constexpr float kAroundPage = 16.0F;                     // around the page
constexpr float kMaxScale = 2.0F;                        // a small figure isn't blown up

/// The input of a figure's layout, for the engine's thread.
struct PreviewedSubject {
  WantedFigure wanted = {};
  RunSource::Source source = {};
  std::shared_ptr<const model::ModelInput> baseline_input = {};
  ExportBlocks blocks = {};
  MatrixRef matrix = {};
  std::string changes = {};
  glm::vec2 room{0.0F};  ///< UI units
  float pixels = 1.0F;   ///< a UI unit
  bool is_enlarged = false;
};

Task<PreviewedFigure> lay_out(PreviewedSubject of, std::shared_ptr<FigureNumbers> numbers) {
  PreviewedFigure figure;
  const ExportOptions& options = of.wanted.options;
  if (of.wanted.kind == nullptr) {
    co_await read_nothing();
    figure.drawing = on_page(*of.wanted.drawing, of.wanted.view, options);
  } else {
    if (!numbers->subject) co_await numbers->begin();
    const FigureSubject subject{.source = of.source,
                                .baseline_input = of.baseline_input.get(),
                                .blocks = of.blocks,
                                .matrix = of.matrix,
                                .options = options,
                                .format = of.wanted.format,
                                .changes = of.changes};
    std::unique_ptr<exporting::Drawing> drawing = co_await draw_figure(*of.wanted.kind, subject, *numbers);
    figure.drawing = std::move(drawing);
  }
  if (!figure.drawing) throw Error("there are no numbers for this figure");
  const glm::vec2 size = figure.drawing->size();
  figure.scale = std::min({of.room.x / size.x, of.room.y / size.y, kMaxScale});
  if (of.is_enlarged) figure.scale = std::max(figure.scale, 1.0F);
  exporting::DrawingOutput output = figure.drawing->output();
  output.png_scale = static_cast<double>(figure.scale * of.pixels);
  if (!output.ground && options[kFigureDetails.is_dark])
    output.ground = exporting::Rgb{58, 62, 70};  // light ink is read on it
  figure.image = exporting::draw_pixels(size, output, [&](exporting::Canvas& canvas) { figure.drawing->draw(canvas); });
  co_return figure;
}

/// The selection of the export that the preview shows: what is selected in the window, as far as the figure is of one.
/// Throws UsageError where the export has no such matrix.
ExportBlocks previewed_blocks(const Frame& frame, const WantedFigure& wanted) {
  const Selection& selection = frame.state.selection;
  ExportOptions one = wanted.options;
  one.kind = selection.block.kind;
  one.batch = selection.batch;
  if (wanted.kind->scope != FigureScope::Attention && one.mean != HeadMean::Kind) one.layers = selection.block.layer.value;
  if (wanted.kind->scope == FigureScope::Head && one.mean == HeadMean::None) one.heads = selection.head;
  const RunShapes run{.blocks = frame.result.blocks, .shapes = frame.result.shapes, .input = frame.result.input.get()};
  return select_blocks(run, *frame.result.network, one).front();
}

/// What is laid out: a change of it makes the preview anew.
std::string key_of(const Frame& frame, const WantedFigure& wanted, glm::vec2 room, bool is_enlarged) {
  const Selection& selection = frame.state.selection;
  const ExportOptions& options = wanted.options;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                     wanted.kind != nullptr ? wanted.kind->id : wanted.view, fmt::ptr(wanted.drawing.get()),
                     frame.result.run, static_cast<int>(selection.block.kind), selection.block.layer.value, selection.head,
                     selection.batch, static_cast<int>(selection.mean), room.x, room.y, frame.ui.scale(), is_enlarged,
                     static_cast<int>(wanted.format), options.session.size(), to_text(describe_style(options), -1),
                     to_text(describe_settings(options), -1));
}

}  // namespace

void FigurePreview::update(Frame& frame, Engine& engine, const WantedFigure& wanted, glm::vec2 room) {
  const ExportOptions& options = wanted.options;
  std::string key = key_of(frame, wanted, room, is_enlarged_);
  const std::optional<RunInputs> baseline = options.baseline ? std::optional(options.baseline->inputs) : std::nullopt;
  const bool has_runs = runs_ == std::pair(frame.result.run, baseline);
  if (key != key_ || !has_runs) {
    key_ = std::move(key);
    runs_ = {frame.result.run, baseline};
    if (!has_runs) numbers_ = std::make_shared<FigureNumbers>();
    asked_ = {};
    trouble_.clear();
    const EngineResult& result = frame.result;
    PreviewedSubject of{.wanted = wanted,
                        .source = {.network = result.network,
                                   .input = result.input,
                                   .model = result.model,
                                   .prompt = result.prompt,
                                   .capture = result.capture},
                        .baseline_input = result.baseline_input,
                        .changes = changes_on_screen(frame.state, result),
                        .room = room,
                        .pixels = frame.ui.scale(),
                        .is_enlarged = is_enlarged_};
    if (const FigureKind* kind = wanted.kind) {
      of.blocks = previewed_blocks(frame, wanted);
      if (const std::string why = figure_refusal(*kind, of.blocks); !why.empty()) throw Error("{}: {}", kind->id, why);
      const attention::Stage stage =
          !kind->is_of_stages || options.stages.empty() ? attention::Stage::Weights : options.stages.front();
      const std::vector<MatrixRef> figures = figures_of(*kind, of.blocks, stage);
      if (figures.empty()) throw Error("{}: there is one head, which has a figure of its own", kind->id);
      of.matrix = figures.front();
    }
    NamedRun named{.inputs = result.inputs};
    if (baseline) named.baseline = std::make_shared<const RunInputs>(*baseline);
    asked_ = engine.ask<PreviewedFigure>(
        [of, numbers = numbers_, run = std::make_shared<const NamedRun>(named)](
            const AskedFor<PreviewedFigure>::Tell& /*tell*/) { return lay_out(of, numbers).of(run); });
  }
  if (!asked_ || !asked_.is_done()) return;
  trouble_ = asked_.error();
  if (!trouble_.empty() || shown_ == asked_.result()) return;
  shown_ = asked_.result();  // until then the one of before
  ++revision_;
}

void FigurePreview::draw(Frame& frame, Engine& engine, const WantedFigure& wanted, glm::vec2 room,
                         const std::string& trouble) {
  const glm::vec2 corner = to_glm(ImGui::GetCursorScreenPos());
  if (click_area("preview", room)) is_enlarged_ = !is_enlarged_;
  frame.mark("export.preview", {corner, room});
  const shell::Theme& theme = frame.ui.theme();
  fill_rect(corner, corner + room, theme.field, 6.0F);
  if (!frame.result.network || !frame.result.input) return;
  const glm::vec2 inside = room - 2.0F * kAroundPage;
  try {
    if (!trouble.empty()) throw Error("{}", trouble);
    if (wanted.kind == nullptr && !wanted.drawing) throw Error("this view has no figure of what it shows now");
    update(frame, engine, wanted, inside);
  } catch (const Error& error) {
    trouble_ = error.what();
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (!trouble_.empty() || !shown_) {
    const std::string& text = trouble_.empty() ? std::string("Drawing the figure\u2026") : trouble_;
    const glm::vec2 at = corner + kAroundPage;
    list->AddText(nullptr, 0.0F, {at.x, at.y}, ImGui::GetColorU32(ImGuiCol_Text), text.c_str(), nullptr, inside.x);
    return;
  }
  const glm::vec2 size = glm::vec2(shown_->image.width, shown_->image.height) / frame.ui.scale();
  const glm::vec2 free = inside - size, pointed = glm::clamp((pointer_position() - corner) / room, 0.0F, 1.0F);
  const glm::vec2 from =
      corner + kAroundPage +
      glm::vec2(free.x > 0.0F ? free.x * 0.5F : free.x * pointed.x, free.y > 0.0F ? free.y * 0.5F : free.y * pointed.y);
  shell::HeatmapImage image;
  image.key = kPreviewKey;
  image.revision = revision_;
  shell::use_theme(image, theme);
  image.rows = shown_->image.height;
  image.columns = shown_->image.width;
  image.pixels = shown_->image.rgba;
  image.grid = 0;
  image.area = {.origin = glm::round(from), .size = size};
  image.clip = chart::Rect{.origin = corner, .size = room};
  frame.ui.heatmaps().draw(list, image);
  frame.mark("export.page", image.area);
}

std::string size_in_words(const exporting::Drawing& drawing) {
  const glm::vec2 size = drawing.size(), paper = size / exporting::kUnitsPerMillimetre;
  const auto pixels = glm::round(glm::dvec2(size) * drawing.output().png_scale);
  return fmt::format("{:.0f} \u00D7 {:.0f} mm \u00B7 {:.0f} \u00D7 {:.0f} pixels", paper.x, paper.y, pixels.x, pixels.y);
}

}  // namespace headlight::app
