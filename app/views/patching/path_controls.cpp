#include "app/views/patching/path_controls.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "app/analyses/activation_patching.h"
#include "app/analyses/head_metric_text.h"
#include "app/widgets/ink.h"
#include "app/widgets/line_layout.h"
#include "app/widgets/segmented.h"

namespace headlight::app {
namespace {

constexpr float kPathGap = 12.0F;

/// What State says until the user chooses a receiver.
const HeadRef kUnchosen{.block = {.kind = PathReceiver().kind, .layer = {kLastLayer}}, .head = 0};

bool has_kinds(const Frame& frame, model::BlockKind kind) {
  return std::ranges::any_of(frame.result.blocks, [&](model::BlockRef block) { return block.kind != kind; });
}

std::string name_with_kind(const Frame& frame, const HeadRef& head) {
  const std::string name = head_name(head);
  return has_kinds(frame, head.block.kind) ? fmt::format("{} {}", model::to_string(head.block.kind), name) : name;
}

void choose_receiver(Frame& frame, const HeadRef& head) {
  PathReceiver& receiver = frame.state.patching.receiver;
  receiver.kind = head.block.kind;
  receiver.layer = head.block.layer.value;
  receiver.head = head.head;
}

/// Steps through all heads of all kinds, from the last one to the first.
void step_receiver(Frame& frame, const HeadRef& receiver, std::size_t step) {
  std::vector<HeadRef> heads;
  for (const auto& [block, shape] : frame.result.shapes) {
    for (std::uint32_t head = 0; head < shape.heads; ++head) heads.push_back({.block = block, .head = head});
  }
  const auto found = std::ranges::find(heads, receiver);
  if (found == heads.end()) return;
  const auto at = static_cast<std::size_t>(found - heads.begin());
  choose_receiver(frame, heads[(at + step) % heads.size()]);
}

/// What the view says of a receiver that it has found itself; of a chosen one, a button to find it again.
void draw_how_found(Frame& frame, const PathEnd& receiver) {
  if (receiver.recovery) {
    const std::string text = fmt::format("strongest: {:.2f} by itself", *receiver.recovery);
    continue_line(ImGui::CalcTextSize(text.c_str()).x, kPathGap);
    const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(text.c_str());
    frame.mark("patching.receiver.found", last_item_rect());
    return;
  }
  continue_line(button_width("Strongest"), kPathGap);
  if (ImGui::Button("Strongest")) choose_receiver(frame, kUnchosen);
  mark_last_item(
      frame, "patching.receiver.strongest",
      "The head whose output of the other run carries the prediction the furthest becomes the one that receives.");
}

void draw_receiver(Frame& frame, const PathEnd& end) {
  const HeadRef& receiver = end.head;
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("into");
  ImGui::SameLine();
  std::size_t heads = 0;
  for (const auto& [block, shape] : frame.result.shapes) heads += shape.heads;
  if (ImGui::Button("<###receiver.before")) step_receiver(frame, receiver, heads - 1);
  mark_last_item(frame, "patching.receiver.previous", "The head before the one that receives.");
  ImGui::SameLine();
  {
    const Ink ink(frame.ui.fonts().strong, frame.ui.theme().text);
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(name_with_kind(frame, receiver).c_str());
  }
  frame.mark("patching.receiver", last_item_rect());
  ImGui::SameLine();
  if (ImGui::Button(">###receiver.after")) step_receiver(frame, receiver, 1);
  mark_last_item(frame, "patching.receiver.next", "The head behind the one that receives.");
  draw_how_found(frame, end);
  const HeadRef selected{.block = frame.state.selection.block, .head = frame.state.selection.head};
  if (selected == receiver) return;
  const std::string label = fmt::format("Take {}###take", name_with_kind(frame, selected));
  continue_line(button_width(label.c_str()), kPathGap);
  if (ImGui::Button(label.c_str())) choose_receiver(frame, selected);
  mark_last_item(frame, "patching.receiver.take", "The selected head becomes the one that receives.");
}

}  // namespace

std::string receiver_name(const Frame& frame, const HeadRef& receiver) {
  constexpr std::array kInputs = {"queries", "keys", "values"};
  const PathInput input = frame.state.patching.receiver.input;
  const char* const read = kInputs.at(static_cast<std::size_t>(input));
  const auto shape = frame.result.shapes.find(receiver.block);
  const std::uint32_t kv_heads = shape == frame.result.shapes.end() ? 0 : shape->second.kv_heads;
  const std::uint32_t group = kv_heads == 0 ? 1 : shape->second.heads / kv_heads;
  if (input == PathInput::Query || group == 1) return fmt::format("{}\u2019s {}", name_with_kind(frame, receiver), read);
  const std::uint32_t first = receiver.head / group * group;
  return fmt::format("{} of {} to H{}", read, name_with_kind(frame, {.block = receiver.block, .head = first}),
                     first + group - 1);
}

bool is_receiver_chosen(const PathReceiver& receiver) { return receiver.layer != kLastLayer; }

FoundReceiver find_receiver(Frame& frame, const ChosenLogit& logit) {
  const model::BlockKind kind = frame.state.selection.block.kind;
  PatchingChoices heads = frame.state.patching;
  heads.map = PatchMap::Heads;
  const Analysed* answer =
      frame.ask(patching_query(heads, kind, logit.position.batch, logit.position.token, logit.token, logit.other));
  const auto* effects = answer != nullptr ? answer->as<PatchEffects>() : nullptr;
  if (effects == nullptr) return {.is_searching = answer == nullptr || answer->error.empty()};
  FoundReceiver found{.is_searching = !effects->is_complete(), .known = effects->known, .all = effects->all};
  if (found.is_searching) return found;
  for (const PatchCell& cell : strongest_patches(*effects, heads.measure, effects->all)) {
    const std::uint32_t layer = effects->layers[cell.row];
    if (layer == effects->layers.front()) continue;
    found.end = PathEnd{.head = {.block = {kind, LayerIndex{layer}}, .head = static_cast<std::uint32_t>(cell.column)},
                        .recovery = cell.recovery};
    return found;
  }
  return found;
}

void draw_path_controls(Frame& frame, const PathEnd& receiver) {
  PathReceiver& choices = frame.state.patching.receiver;
  draw_receiver(frame, receiver);
  const std::vector<std::string> inputs = {"queries", "keys", "values"};
  continue_line(segmented_width(frame, inputs), kPathGap);
  auto input = static_cast<std::size_t>(choices.input);
  if (draw_segmented(frame, "patching.input", inputs, input)) choices.input = static_cast<PathInput>(input);
  const std::vector<std::string> mlps = {"MLPs frozen", "MLPs recomputed"};
  continue_line(segmented_width(frame, mlps), kPathGap);
  auto recomputes = static_cast<std::size_t>(choices.recomputes_mlps);
  if (draw_segmented(frame, "patching.mlps", mlps, recomputes)) choices.recomputes_mlps = recomputes == 1;
}

}  // namespace headlight::app
