#include "app/widgets/range_choice.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

using attention::Stage;

constexpr float kRangeWidth = 84.0F;
constexpr float kLine = 26.0F;
constexpr float kLargestReach = 1e9F;  // of scores
constexpr std::array kNames = {"fitted", "per row", "fixed"};

/// What was typed may be on its way to a number: only limits that a bar can show are taken.
bool are_limits(Stage stage, const view::ValueLimits& limits) {
  const bool are_ordered = std::isfinite(limits.low) && std::isfinite(limits.high) && limits.low < limits.high;
  const bool are_weights = stage == Stage::Weights;
  return are_ordered && limits.low >= (are_weights ? 0.0F : -kLargestReach) &&
         limits.high <= (are_weights ? 1.0F : kLargestReach);
}

}  // namespace

RangeKind range_kind(const ViewChoices& view, Stage stage) {
  if (stage == Stage::Weights && view.color_range == ColorRange::PerRow) return RangeKind::PerRow;
  return view.color_limits.contains(stage) ? RangeKind::Fixed : RangeKind::WholeMap;
}

std::string fixed_range_text(const ViewChoices& view) {
  for (const Stage stage : {Stage::Weights, view.heatmap_stage}) {
    if (range_kind(view, stage) != RangeKind::Fixed) continue;
    const view::ValueLimits& limits = view.color_limits.at(stage);
    return fmt::format("colours fixed from {:.3g} to {:.3g}", double{limits.low}, double{limits.high});
  }
  return {};
}

float RangeChoice::height() const {
  const bool is_fixed = range_kind(frame_.state.view, stage_) == RangeKind::Fixed;
  const float fields = stage_ == Stage::Weights ? 2.0F : 1.0F;
  return kLine * (1.0F + (is_fixed ? fields : 0.0F));
}

void RangeChoice::choose(RangeKind kind) {
  ViewChoices& view = frame_.state.view;
  if (stage_ == Stage::Weights) view.color_range = kind == RangeKind::PerRow ? ColorRange::PerRow : ColorRange::Absolute;
  if (kind == RangeKind::WholeMap) view.color_limits.erase(stage_);
  if (kind == RangeKind::Fixed) view.color_limits.try_emplace(stage_, shown_);
}

void RangeChoice::draw(glm::vec2 at) {
  const RangeKind now = range_kind(frame_.state.view, stage_);
  const Ink ink(frame_.ui.fonts().small, frame_.ui.theme().text);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(6.0F, 2.0F));
  ImGui::SetCursorScreenPos(at);
  ImGui::SetNextItemWidth(kRangeWidth);
  const bool is_open = ImGui::BeginCombo("##range", kNames[static_cast<std::size_t>(now)]);
  mark_last_item(frame_, "head.range");
  if (is_open) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const auto kind = static_cast<RangeKind>(i);
      if (kind == RangeKind::PerRow && stage_ != Stage::Weights) continue;
      if (ImGui::Selectable(kNames[i], kind == now)) choose(kind);
      mark_last_item(frame_, fmt::format("head.range.{}", i));
      if (kind == now) frame_.ui.keyboard().prefer_last();
    }
    ImGui::EndCombo();
  }
  if (now == RangeKind::Fixed && range_kind(frame_.state.view, stage_) == now) type_ends(at + glm::vec2(0.0F, kLine));
  ImGui::PopStyleVar();
}

/// The ends of scores are as far from 0 as each other, so one field is enough.
void RangeChoice::type_ends(glm::vec2 at) {
  view::ValueLimits& limits = frame_.state.view.color_limits.at(stage_);
  const auto field = [&](const char* name, float value) {
    ImGui::SetCursorScreenPos(at);
    ImGui::SetNextItemWidth(kRangeWidth);
    const std::string label = fmt::format("##{}", name);
    ImGui::InputFloat(label.c_str(), &value, 0.0F, 0.0F, "%.4g", ImGuiInputTextFlags_AutoSelectAll);
    frame_.ui.keyboard().offer_field(ImGui::GetID(label.c_str()), last_item_rect());
    mark_last_item(frame_, name);
    at.y += kLine;
    return value;
  };
  view::ValueLimits typed = limits;
  if (stage_ == Stage::Weights) {
    typed = {.low = limits.low, .high = field("head.range.high", limits.high)};
    if (are_limits(stage_, typed)) limits = typed;
    typed = {.low = field("head.range.low", limits.low), .high = limits.high};
  } else {
    typed.high = field("head.range.reach", limits.high);
    typed.low = -typed.high;
  }
  if (are_limits(stage_, typed)) limits = typed;
}

}  // namespace headlight::app
