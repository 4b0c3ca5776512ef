
#include <imgui.h>

#include "app/views/heads/find_panel.h"
#include "app/views/heads/head_table.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

class MetricsPanel final : public FindPanel {
 public:
  Heading heading(const Frame& frame) override {
    const std::size_t all = heads_of_kind(frame.result.shapes, frame.state.selection.block.kind).size();
    return {.title = "Heads by what they do",
            .detail = listed_.size() == all || listed_.empty() ? fmt::format("{} {}", all, all == 1 ? "head" : "heads")
                                                               : fmt::format("{} of {} heads", listed_.size(), all)};
  }

  void draw(Frame& frame) override {
    const ShownMetrics metrics = ask_metrics(frame);
    const Analysed* baseline = ask_of_baseline(frame, query(frame));
    const ComparedMetrics compared{.now = metrics, .baseline = found_baseline(baseline)};
    listed_ = listed_heads(frame.result.shapes, frame.state.selection.block.kind, frame.state.heads, metrics.found);
    sort_by_change(listed_, compared, frame.state.heads);
    table_.moved(move_through_heads(frame, listed_, 1));
    change_order(frame);
    draw_head_tools(frame, "heads", metrics);
    draw_head_sentence(frame, "heads", metrics, hovered_, false);
    draw_comparison(frame, "heads", "each metric", baseline);
    hovered_.reset();
    if (has_heads_to_show(frame, "heads", metrics, listed_.empty())) hovered_ = table_.draw(frame, listed_, compared);
  }

  bool has_numbers(const Frame& frame) const override { return found_in(frame) != nullptr; }
  std::string csv(const Frame& frame) const override {
    AnalysisQuery of_baseline = query(frame);
    of_baseline.is_of_baseline = true;
    const ShownMetrics now{.found = found_in(frame)};
    const Analysed* baseline = frame.shows_difference() ? frame.result.analysed(of_baseline) : nullptr;
    return head_table_csv(listed_, {.now = now, .baseline = found_baseline(baseline)}, frame.state.heads.scoring);
  }

 private:
  static AnalysisQuery query(const Frame& frame) {
    const Selection& selection = frame.state.selection;
    return HeadMetricsQuestion{.kind = selection.block.kind, .batch = selection.batch};
  }
  /// Null while there is none.
  static const HeadMetricsFound* found_in(const Frame& frame) {
    const Analysed* answer = frame.result.analysed(query(frame));
    return answer ? answer->as<HeadMetricsFound>() : nullptr;
  }
  /// Null until all heads are measured.
  static const HeadMetricsFound* found_baseline(const Analysed* baseline) {
    return baseline && baseline->is_done ? baseline->as<HeadMetricsFound>() : nullptr;
  }

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
  std::vector<HeadRef> listed_;     ///< in this frame or the previous one
  std::optional<HeadRef> hovered_;  ///< in the previous frame
};

}  // namespace

std::unique_ptr<FindPanel> open_metrics_panel() { return std::make_unique<MetricsPanel>(); }

}  // namespace headlight::app
