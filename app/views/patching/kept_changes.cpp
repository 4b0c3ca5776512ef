#include "app/views/patching/kept_changes.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "app/analyses/kept_activation.h"
#include "app/widgets/ink.h"

namespace headlight::app {
namespace {

constexpr float kStrengthWidth = 120.0F;

}  // namespace

void KeptChangesPanel::keep(const AnalysisQuery& query, std::string name) {
  wanted_ = query;
  name_ = std::move(name);
}

void KeptChangesPanel::update(Frame& frame) {
  if (!wanted_) return;
  const Analysed* answer = frame.ask(*wanted_);
  if (!answer || !answer->is_done) return;
  const auto* found = answer->as<KeptActivation>();
  if (found && frame.state.changes.size() < kMostKeptChanges) {
    frame.state.changes.push_back({.name = name_, .intervention = found->intervention});
  }
  wanted_.reset();
}

void KeptChangesPanel::draw(Frame& frame) const {
  std::optional<std::size_t> dropped;
  for (std::size_t at = 0; at < frame.state.changes.size(); ++at) {
    KeptChange& change = frame.state.changes[at];
    ImGui::PushID(static_cast<int>(at));
    if (ImGui::SmallButton("Drop")) dropped = at;
    mark_last_item(frame, fmt::format("patching.kept.{}.drop", at), "The present run is computed without it again.");
    ImGui::SameLine();
    if (std::holds_alternative<inference::Add>(change.intervention->operation)) {
      float strength = change.strength;
      ImGui::SetNextItemWidth(kStrengthWidth);
      ImGui::DragFloat("##strength", &strength, 0.02F, -kMostStrength, kMostStrength, "strength %.2f",
                       ImGuiSliderFlags_AlwaysClamp);
      mark_last_item(frame, fmt::format("patching.kept.{}.strength", at),
                     "Drag: how many times the difference is added; negative steers away. Double click: type a number.");
      if (std::isfinite(strength)) change.strength = strength;
      ImGui::SameLine();
    }
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().warning);
    frame.ui.ensure_glyphs(change.name);
    ImGui::TextUnformatted(change.name.c_str());
    frame.mark(fmt::format("patching.kept.{}", at), last_item_rect());
    ImGui::PopID();
  }
  if (dropped) frame.state.changes.erase(frame.state.changes.begin() + static_cast<std::ptrdiff_t>(*dropped));
}

}  // namespace headlight::app
