#include "app/views/heads/heads_view.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <imgui.h>

#include "app/views/heads/find_panel.h"
#include "app/views/heads/metrics_figure.h"
#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"
#include "app/widgets/segmented.h"

namespace headlight::app {
namespace {

constexpr float kGap = 12.0F;

/// In the order of HeadsMode.
const std::vector<std::string>& mode_labels() {
  static const std::vector<std::string> kLabels = {"Metrics", "From\u2013to", "Pattern", "Similarity", "Composition"};
  return kLabels;
}

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
    case HeadsMode::Metrics:
      break;
  }
  return open_metrics_panel();
}

class HeadsView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!panel_ || mode_ != frame.state.heads.mode) {
      mode_ = frame.state.heads.mode;
      panel_ = open_panel(mode_);
    }
    draw_title(frame);
    auto mode = static_cast<std::size_t>(mode_);
    if (draw_segmented(frame, "heads.mode", mode_labels(), mode)) frame.state.heads.mode = static_cast<HeadsMode>(mode);
    panel_->draw(frame);
    figure_ = mode_ == HeadsMode::Metrics ? metrics_figure(frame) : std::nullopt;
    if (panel_->has_numbers(frame) != could_copy_) frame.ui.request_redraw(2);
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    return figure_ ? exporting::make_drawing(draw_metrics(*figure_)) : nullptr;
  }

 private:
  void draw_title(Frame& frame) {
    const FindPanel::Heading heading = panel_->heading(frame);
    const char* label = "Copy as CSV";
    const float button = ImGui::CalcTextSize(label).x + 2.0F * ImGui::GetStyle().FramePadding.x;
    const float end = ImGui::GetContentRegionMax().x - button;
    ImFont* font = frame.ui.fonts().title;
    frame.ui.ensure_glyphs(heading.title);
    {
      const Ink ink(font, frame.ui.theme().text);
      ImGui::AlignTextToFramePadding();
      ImGui::TextUnformatted(fit_text(font, heading.title, end - ImGui::GetCursorPosX() - kGap).c_str());
    }
    frame.mark("heads.title", last_item_rect());
    ImFont* small = frame.ui.fonts().small;
    const float after = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + kGap;
    if (after + text_width(small, heading.detail) + kGap <= end) {
      ImGui::SameLine(0.0F, kGap);
      const Ink ink(small, frame.ui.theme().text_dim);
      ImGui::TextUnformatted(heading.detail.c_str());
    }
    ImGui::SameLine(end);
    could_copy_ = panel_->has_numbers(frame);
    ImGui::BeginDisabled(!could_copy_);
    if (ImGui::Button(label)) ImGui::SetClipboardText(panel_->csv(frame).c_str());
    ImGui::EndDisabled();
    mark_last_item(frame, "heads.copy",
                   "Puts the heads that are listed and all their numbers on the clipboard, for spreadsheets.");
  }

  HeadsMode mode_ = HeadsMode::Metrics;
  std::unique_ptr<FindPanel> panel_;
  std::optional<MetricsFigure> figure_;  ///< of what was drawn last
  bool could_copy_ = false;              ///< when the title was drawn
};

}  // namespace

std::unique_ptr<ViewPanel> open_heads_view() { return std::make_unique<HeadsView>(); }

}  // namespace headlight::app
