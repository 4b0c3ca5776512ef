#include "app/views/patching/patching_parts.h"

#include <cstring>

#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"

namespace headlight::app {
namespace {

constexpr float kStrengthWidth = 120.0F;
constexpr const char* kPayload = "patch";

struct Payload {
  PatchCell cell;
  std::uint64_t map = 0;
};

}  // namespace

void begin_drag(const PatchCell& cell, std::uint64_t map, const std::string& words) {
  if (!ImGui::BeginDragDropSource()) return;
  const Payload payload{.cell = cell, .map = map};
  ImGui::SetDragDropPayload(kPayload, &payload, sizeof(payload));
  ImGui::TextUnformatted(words.c_str());
  ImGui::EndDragDropSource();
}

std::optional<PatchCell> dropped_on_last_item(std::uint64_t map) {
  if (!ImGui::BeginDragDropTarget()) return std::nullopt;
  const ImGuiPayload* payload = ImGui::AcceptDragDropPayload(kPayload);
  Payload dropped;
  if (payload != nullptr) std::memcpy(&dropped, payload->Data, sizeof(dropped));
  ImGui::EndDragDropTarget();
  return payload != nullptr && dropped.map == map ? std::optional(dropped.cell) : std::nullopt;
}

void KeptChangesPanel::keep(const AnalysisQuery& query, std::string name, std::optional<Target> target) {
  wanted_ = query;
  name_ = std::move(name);
  target_ = target;
}

void KeptChangesPanel::draw_steering(Frame& frame) {
  const Selection& selection = frame.state.selection;
  const model::TokenBatch& tokens = shown_queries(frame);
  const std::uint32_t start = tokens.start(selection.batch), length = tokens.lengths[selection.batch];
  const auto name = [&](const char* which) {
    return fmt::format("steering towards {} from L{} ({})", baseline_name(frame.state), selection.block.layer.value, which);
  };
  ImGui::SameLine();
  ImGui::SetNextItemWidth(kSteerWidth);
  OpenList list(frame, "patching.steer", fmt::format("Steer from layer {}", selection.block.layer.value).c_str(),
                "Adds the difference of the two runs' residual streams before this layer to every token (activation "
                "addition).");
  if (!list) return;
  if (list.entry("by the mean over the tokens", "mean", false, "Adds the mean of the tokens' differences."))
    keep(steering_query(selection.block, selection.batch, start, length), name("mean over the tokens"));
  if (list.entry("by the last token's", "last", false, "Adds the difference of the two runs' last tokens."))
    keep(steering_query(selection.block, selection.batch, start + length - 1, 1), name("last token"));
}

const char* mean_label(const State& state) {
  return has_second_text(state) ? "Give the second text's mean" : "Give the baseline's mean";
}

void KeptChangesPanel::draw_mean(Frame& frame, const std::optional<HeadRef>& head) {
  ImGui::BeginDisabled(!head);
  ImGui::SameLine();
  const char* const explanation =
      "Mean ablation over a reference text: at every token the chosen head gives the mean of what it gives in the other "
      "run.";
  if (draw_button(frame, "patching.mean", mean_label(frame.state), explanation) && head) {
    const std::uint32_t batch = frame.state.selection.batch;
    const model::TokenBatch& tokens = frame.result.input->queries(head->block.kind);
    keep(baseline_mean_query(head->block, batch, head->head, tokens.start(batch), tokens.lengths[batch]),
         fmt::format("mean output of {}, L{} H{}", baseline_name(frame.state), head->block.layer.value, head->head));
  }
  ImGui::EndDisabled();
}

void KeptChangesPanel::update(Frame& frame) {
  if (!wanted_) return;
  const Analysed* answer = frame.ask(*wanted_);
  if (!answer || !answer->is_done) return;
  const auto* found = answer->as<KeptActivation>();
  if (found && frame.state.changes.size() < kMaxKeptChanges) {
    frame.state.changes.push_back(
        {.name = name_,
         .intervention =
             target_ ? moved(found->intervention, target_->layer, target_->head, target_->first) : found->intervention});
  }
  wanted_.reset();
}

void KeptChangesPanel::draw(Frame& frame) const {
  std::optional<std::size_t> dropped;
  for (std::size_t at = 0; at < frame.state.changes.size(); ++at) {
    KeptChange& change = frame.state.changes[at];
    ImGui::PushID(static_cast<int>(at));
    if (draw_small_button(frame, fmt::format("patching.kept.{}.drop", at), "Drop",
                          "The present run is computed without it again.")) {
      dropped = at;
    }
    ImGui::SameLine();
    if (std::holds_alternative<inference::Add>(change.intervention->operation)) {
      float strength = change.strength;
      ImGui::SetNextItemWidth(kStrengthWidth);
      ImGui::DragFloat("##strength", &strength, 0.02F, -kMaxStrength, kMaxStrength, "strength %.2f",
                       ImGuiSliderFlags_AlwaysClamp);
      mark_last_item(frame, fmt::format("patching.kept.{}.strength", at),
                     "Drag: how many times the difference is added; negative steers away. Double click: type a number.");
      step_by_keys(frame, strength, -kMaxStrength, kMaxStrength, 0.1F);
      if (std::isfinite(strength)) change.strength = strength;
      ImGui::SameLine();
    }
    write_note(frame, change.name, frame.ui.theme().warning, fmt::format("patching.kept.{}", at).c_str());
    ImGui::PopID();
  }
  if (dropped) frame.state.changes.erase(frame.state.changes.begin() + static_cast<std::ptrdiff_t>(*dropped));
}

}  // namespace headlight::app
