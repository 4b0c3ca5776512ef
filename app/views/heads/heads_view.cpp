#include "app/views/view.h"

#include "app/state/map_settings.h"
#include "app/widgets/controls.h"

#include "app/state/comparison.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/cells/stage_text.h"
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
    place_sentence(frame);
    choose(frame, kHeadsView.mode);
    panel_->draw(frame);
    if (panel_->has_numbers()) copy_when_asked(frame, [&] { return panel_->csv(); });
    keep_look(frame);
    if (panel_->has_numbers() != could_copy_) frame.ui.request_redraw(2);
  }

  std::unique_ptr<exporting::Drawing> figure() const override { return panel_ ? panel_->figure(look_) : nullptr; }

 private:
  /// "now − baseline “as trained”": what is subtracted. There is a baseline.
  static std::string compared(const Frame& frame) {
    return fmt::format("{} \u201C{}\u201D", difference_caption(frame.state),
                       frame.ui.unshaped(frame.state.compare.baseline->name));
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
    look_.color_map = frame.state[kMapView.color_map];
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
    could_copy_ = panel_->has_numbers();
    draw_copy_button(frame, "heads.copy",
                     "Puts the heads that are listed and all their numbers on the clipboard, for spreadsheets.",
                     could_copy_);
  }

  HeadsMode mode_ = HeadsMode::Metrics;
  std::unique_ptr<FindPanel> panel_;
  FigureWords look_;         ///< of what was drawn last, for the figure
  bool could_copy_ = false;  ///< when the title was drawn
};

}  // namespace

std::unique_ptr<ViewPanel> open_heads_view() { return std::make_unique<HeadsView>(); }

}  // namespace headlight::app
