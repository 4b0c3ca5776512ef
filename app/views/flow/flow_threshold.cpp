#include "app/views/flow/flow_graph_panel.h"

#include <iterator>

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

/// Returns numbers of two digits from kMinFlowThreshold to kMaxFlowThreshold, the least first: what is shown is what is in
/// force.
const std::vector<float>& thresholds() {
  static const std::vector<float> kThresholds = [] {
    std::vector<float> all;
    for (int i = 10; i < 100; ++i) all.push_back(static_cast<float>(i) / 10'000.0F);
    for (int i = 10; i < 100; ++i) all.push_back(static_cast<float>(i) / 1'000.0F);
    for (int i = 10; i <= 50; ++i) all.push_back(static_cast<float>(i) / 100.0F);
    return all;
  }();
  return kThresholds;
}

}  // namespace

std::uint32_t least_share(float threshold) {
  for (const std::uint32_t least : kMinShares) {
    if (threshold >= static_cast<float>(least) / 1000.0F) return least;
  }
  return kMinShares.back();
}

std::size_t attention_edges(const std::vector<attribution::FlowEdge>& edges) {
  return static_cast<std::size_t>(std::ranges::count(edges, false, &attribution::FlowEdge::is_residual));
}

float automatic_threshold(float least, const std::function<std::size_t(float threshold)>& count) {
  const auto first = std::ranges::lower_bound(thresholds(), least);
  const auto end =
      std::partition_point(first, thresholds().end(), [&](float threshold) { return count(threshold) >= kAutomaticEdges; });
  return end == first ? least : *std::prev(end);
}

void draw_threshold_slider(Frame& frame, float width, std::optional<float>& threshold, std::optional<float> in_force) {
  float value = threshold.value_or(in_force.value_or(kMinFlowThreshold));
  const char* format = threshold ? "threshold %.2g" : in_force ? "threshold %.2g (auto)" : "threshold \u2026 (auto)";
  ImGui::SetNextItemWidth(std::min(width, ImGui::GetContentRegionAvail().x));
  const bool has_moved = ImGui::SliderFloat("##flow.threshold", &value, kMinFlowThreshold, kMaxFlowThreshold, format,
                                            ImGuiSliderFlags_AlwaysClamp | ImGuiSliderFlags_Logarithmic);
  if (has_moved) threshold = value;
  // The slider follows the pointer for as long as the button is held, so all of the second click counts. A double click in
  // the field that Ctrl+click opens selects the number.
  const ImGuiIO& io = ImGui::GetIO();
  const bool is_double = io.MouseDown[ImGuiMouseButton_Left] && io.MouseClickedLastCount[ImGuiMouseButton_Left] >= 2;
  if (ImGui::IsItemActive() && is_double && !io.WantTextInput) threshold.reset();
  mark_last_item(
      frame, "flow.threshold",
      fmt::format("Edges with a smaller share are left out. Automatic: the largest threshold that leaves {} edges "
                  "of attention; a double click goes back to it.",
                  kAutomaticEdges)
          .c_str());
  const float step = 0.1F * value;  // the scale is logarithmic
  if (step_by_keys(frame, value, kMinFlowThreshold, kMaxFlowThreshold, step)) threshold = value;
}

}  // namespace headlight::app
