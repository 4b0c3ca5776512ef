#include "app/views/heads/heads_view.h"

#include <algorithm>

#include <fmt/format.h>
#include <imgui.h>

#include "app/views/heads/head_table.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

void draw_title(Frame& frame, std::size_t listed, std::size_t all) {
  {
    const Ink ink(frame.ui.fonts().title, frame.ui.theme().text);
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted("Heads by what they do");
  }
  frame.mark("heads.title", last_item_rect());
  ImGui::SameLine(0.0F, 12.0F);
  const std::string count =
      listed == all ? fmt::format("{} {}", all, all == 1 ? "head" : "heads") : fmt::format("{} of {} heads", listed, all);
  {
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
    ImGui::TextUnformatted(count.c_str());
  }
  const float button = ImGui::CalcTextSize("Copy as CSV").x + 2.0F * ImGui::GetStyle().FramePadding.x;
  const float end = ImGui::GetContentRegionMax().x - button;
  if (ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + 12.0F <= end) ImGui::SameLine(end);
}

class HeadsView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    const ShownMetrics metrics = ask_metrics(frame);
    const model::BlockKind kind = frame.state.selection.block.kind;
    const std::vector<HeadRef> all = heads_of_kind(frame.result.shapes, kind);
    std::vector<HeadRef> heads = listed_heads(frame.result.shapes, kind, frame.state.heads, metrics.found);
    table_.moved(move_through_heads(frame, heads, 1));
    change_order(frame);
    draw_title(frame, heads.size(), all.size());
    ImGui::BeginDisabled(!metrics.found);
    if (ImGui::Button("Copy as CSV")) {
      ImGui::SetClipboardText(head_table_csv(heads, *metrics.found, frame.state.heads.scoring).c_str());
    }
    ImGui::EndDisabled();
    mark_last_item(frame, "heads.copy",
                   "Puts the heads that are listed and all their numbers on the clipboard, for spreadsheets.");
    draw_head_tools(frame, "heads", metrics);
    draw_head_sentence(frame, "heads", metrics, hovered_, false);
    hovered_.reset();
    if (has_heads_to_show(frame, "heads", metrics, heads.empty())) hovered_ = table_.draw(frame, heads, metrics);
  }

 private:
  /// Left and Right order by another column.
  static void change_order(Frame& frame) {
    const bool has_popup = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
    if (has_popup) return;
    HeadChoices& choices = frame.state.heads;
    int column = choices.order ? static_cast<int>(*choices.order) : -1;
    if (frame.ui.is_pressed(shell::Key::Right))
      column = std::min(column + 1, static_cast<int>(evaluation::kHeadMetrics) - 1);
    if (frame.ui.is_pressed(shell::Key::Left)) column = std::max(column - 1, -1);
    choices.order = column < 0 ? std::nullopt : std::optional(static_cast<evaluation::HeadMetric>(column));
  }

  HeadTable table_;
  std::optional<HeadRef> hovered_;  ///< in the previous frame
};

}  // namespace

std::unique_ptr<ViewPanel> open_heads_view() { return std::make_unique<HeadsView>(); }

}  // namespace headlight::app
