#include "app/views/open_views.h"
#include "app/widgets/controls.h"

#include "app/cells/stage_text.h"
#include "app/exports/view_figures.h"
#include "app/state/comparison.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kGap = 12.0F;

std::unique_ptr<FindPanel> open_panel(HeadsMode mode) {
  switch (mode) {
    case HeadsMode::FromTo:
      return open_from_to_panel();
    case HeadsMode::Pattern:
      return open_pattern_panel();
    case HeadsMode::Similarity:
      return open_similarity_panel();
    case HeadsMode::Composition:
      return open_composition_panel();
    case HeadsMode::Vocabulary:
      return open_vocabulary_panel();
    case HeadsMode::Retrieval:
      return open_retrieval_panel();
    case HeadsMode::Metrics:
      break;
  }
  return open_metrics_panel();
}

/// Of attention, as an encoder-decoder has them: then a figure of one kind names it.
bool has_several_kinds(const Frame& frame) {
  const BlockShapes& shapes = frame.result.shapes;
  return !shapes.empty() && shapes.begin()->first.kind != shapes.rbegin()->first.kind;
}

/// What every head does with the text, as a table: a line a head, a column a metric.
class HeadsView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!panel_ || mode_ != frame.state[kHeadsView.mode]) {
      mode_ = frame.state[kHeadsView.mode];
      panel_ = open_panel(mode_);
    }
    draw_title(frame);
    choose(frame, kHeadsView.mode);
    panel_->draw(frame);
    keep_metrics(frame);
    keep_look(frame);
    if (panel_->has_numbers(frame) != could_copy_) frame.ui.request_redraw(2);
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (panel_ && mode_ != HeadsMode::Metrics) return panel_->figure(look_);
    const auto* found = dynamic_cast<const HeadMetricsFound*>(metrics_.get());
    if (found == nullptr || found->heads.empty()) return nullptr;
    MetricsFigure figure{.found = *found,
                         .baseline = dynamic_cast<const HeadMetricsFound*>(baseline_metrics_.get()),
                         .scoring = scoring_,
                         .title = look_.title,
                         .subtitle = kind_ + ", " + metrics_subtitle(*found)};
    if (figure.baseline) figure.subtitle += "; " + compared_;
    figure.style.color_map = look_.color_map;
    return exporting::make_drawing(draw_metrics(figure));
  }

 private:
  /// "now − baseline “as trained”": what is subtracted. There is a baseline.
  static std::string compared(const Frame& frame) {
    return fmt::format("{} \u201C{}\u201D", difference_caption(frame.state),
                       frame.ui.unshaped(frame.state.compare.baseline->name));
  }

  /// What the figure is made from.
  void keep_metrics(const Frame& frame) {
    metrics_ = baseline_metrics_ = nullptr;
    if (mode_ != HeadsMode::Metrics) return;
    const Selection& selection = frame.state.selection;
    const HeadMetricsQuestion query{.kind = selection.block.kind, .batch = selection.batch};
    const Analysed* answer = frame.result.analysed(query);
    if (answer == nullptr) return;
    metrics_ = answer->result;
    const Analysed* baseline = frame.shows_difference() ? frame.result.analysed({query, true}) : nullptr;
    if (baseline && baseline->is_done) baseline_metrics_ = baseline->result;
    if (baseline_metrics_) compared_ = compared(frame);
    scoring_ = frame.state.heads.scoring;
    kind_ = kind_name(frame.result, selection.block.kind);
  }

  void keep_look(Frame& frame) {
    const FindPanel::Heading heading = panel_->heading(frame);
    look_ = {.title = frame.ui.unshaped(heading.title), .subtitle = {}};
    if (!panel_->shows_all_kinds()) {
      const char* kind = kind_name(frame.result, frame.state.selection.block.kind);
      look_.subtitle = kind;
      if (has_several_kinds(frame)) look_.title += fmt::format(" \u00B7 {}", kind);
    }
    if (!heading.detail.empty()) look_.subtitle += (look_.subtitle.empty() ? "" : ", ") + heading.detail;
    if (panel_->is_compared() && frame.state.compare.baseline) {
      look_.subtitle += (look_.subtitle.empty() ? "" : "; ") + compared(frame);
    }
    if (const auto map = view::parse_color_map(frame.state.view.color_map)) look_.color_map = *map;
  }

  void draw_title(Frame& frame) {
    const FindPanel::Heading heading = panel_->heading(frame);
    const float button = button_width(kCopyCsv);
    const float end = ImGui::GetContentRegionMax().x - button;
    draw_view_title(frame, heading.title, end - ImGui::GetCursorPosX() - kGap);
    frame.mark("heads.title", last_item_rect());
    ImFont* small = frame.ui.fonts().small;
    const float after = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + kGap;
    if (after + text_width(small, heading.detail) + kGap <= end) {
      ImGui::SameLine(0.0F, kGap);
      draw_title_note(frame, heading.detail);
    }
    ImGui::SameLine(end);
    could_copy_ = panel_->has_numbers(frame);
    ImGui::BeginDisabled(!could_copy_);
    const bool is_copied =
        draw_button(frame, "heads.copy", kCopyCsv,
                    "Puts the heads that are listed and all their numbers on the clipboard, for spreadsheets.");
    ImGui::EndDisabled();
    if (is_copied) ImGui::SetClipboardText(panel_->csv(frame).c_str());
  }

  HeadsMode mode_ = HeadsMode::Metrics;
  std::unique_ptr<FindPanel> panel_;
  // Of what was drawn last, for the figure.
  FigureWords look_;
  std::shared_ptr<const AnalysisResult> metrics_, baseline_metrics_;  ///< the second where differences are shown
  std::string compared_;
  evaluation::PatternScoring scoring_;
  std::string kind_;         ///< of attention, in words
  bool could_copy_ = false;  ///< when the title was drawn
};

}  // namespace

std::unique_ptr<ViewPanel> open_heads_view() { return std::make_unique<HeadsView>(); }

}  // namespace headlight::app
