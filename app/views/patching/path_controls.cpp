#include "app/engine/analyses/head_metric_text.h"
#include "app/views/patching/patching_parts.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {
namespace {

constexpr float kPathGap = 12.0F;
constexpr std::size_t kTriedReceivers = 3;

/// The state's receiver until the user chooses one.
const HeadRef kUnchosen{.block = {.kind = PathReceiver().kind, .layer = {kLastLayer}}, .head = 0};

bool has_kinds(const Frame& frame, model::BlockKind kind) {
  return std::ranges::any_of(frame.result.blocks, [&](model::BlockRef block) { return block.kind != kind; });
}

std::string name_with_kind(const Frame& frame, const HeadRef& head) {
  const std::string name = head_name(head);
  return has_kinds(frame, head.block.kind) ? fmt::format("{} {}", model::to_string(head.block.kind), name) : name;
}

void take_receiver(Frame& frame, const HeadRef& head, PathInput input) {
  PathReceiver& receiver = frame.state.patching.receiver;
  receiver.kind = head.block.kind;
  receiver.layer = head.block.layer.value;
  receiver.head = head.head;
  receiver.input = input;
}

/// Steps through all heads of all kinds, from the last one to the first.
void step_receiver(Frame& frame, const PathEnd& end, std::size_t step) {
  std::vector<HeadRef> heads;
  for (const auto& [block, shape] : frame.result.shapes) {
    for (std::uint32_t head = 0; head < shape.heads; ++head) heads.push_back({.block = block, .head = head});
  }
  const auto found = std::ranges::find(heads, end.head);
  if (found == heads.end()) return;
  const auto at = static_cast<std::size_t>(found - heads.begin());
  take_receiver(frame, heads[(at + step) % heads.size()], end.input);
}

/// Writes how strong a receiver is that the view found itself; beside a chosen one, draws a button to find it again.
void draw_how_found(Frame& frame, const PathEnd& receiver) {
  if (receiver.recovery) {
    const std::string text = fmt::format("strongest: {:.2f} by itself", *receiver.recovery);
    continue_line(ImGui::CalcTextSize(text.c_str()).x, kPathGap);
    write_label(frame.ui.fonts().small, frame.ui.theme().text_dim, text);
    frame.mark("patching.receiver.found", last_item_rect());
    return;
  }
  continue_line(button_width("Strongest"), kPathGap);
  if (draw_button(
          frame, "patching.receiver.strongest", "Strongest",
          "The head whose output of the other run carries the prediction the furthest receives, by the input into which the "
          "strongest path leads; the next one where no path into it is visible.")) {
    take_receiver(frame, kUnchosen, PathReceiver().input);
  }
}

/// Returns the size of the strongest path into an input, counted in `found` while it isn't known; none: not known, or there
/// is none.
std::optional<double> strongest_path(Frame& frame, const ChosenLogit& logit, const PathEnd& end, FoundReceiver& found) {
  const Analysed* answer = frame.ask(paths_query(frame, logit, end));
  if (answer != nullptr && !answer->error.empty()) return std::nullopt;
  const auto* paths = answer != nullptr ? answer->as<PatchEffects>() : nullptr;
  found.known += paths != nullptr ? paths->known : 0;
  found.all += paths != nullptr ? paths->all : 0;
  if (paths == nullptr || !paths->is_complete()) {
    found.is_searching = true;
    return std::nullopt;
  }
  const std::vector<PatchCell> first = strongest_patches(*paths, frame.state.patching.measure, 1);
  return first.empty() ? std::nullopt : std::optional(std::abs(first.front().recovery));
}

void draw_receiver(Frame& frame, const PathEnd& end) {
  const HeadRef& receiver = end.head;
  write_label(frame.ui.fonts().body, frame.ui.theme().text, "into");
  ImGui::SameLine();
  std::size_t heads = 0;
  for (const auto& [block, shape] : frame.result.shapes) heads += shape.heads;
  if (draw_button(frame, "patching.receiver.previous", "<###receiver.before", "The head before the one that receives.")) {
    step_receiver(frame, end, heads - 1);
  }
  ImGui::SameLine();
  write_label(frame.ui.fonts().strong, frame.ui.theme().text, name_with_kind(frame, receiver));
  frame.mark("patching.receiver", last_item_rect());
  ImGui::SameLine();
  if (draw_button(frame, "patching.receiver.next", ">###receiver.after", "The head after the one that receives.")) {
    step_receiver(frame, end, 1);
  }
  draw_how_found(frame, end);
  const HeadRef selected = frame.state.selection.head_ref();
  if (selected == receiver) return;
  const std::string label = fmt::format("Take {}###take", name_with_kind(frame, selected));
  continue_line(button_width(label.c_str()), kPathGap);
  if (draw_button(frame, "patching.receiver.take", label.c_str(), "The selected head becomes the one that receives.")) {
    take_receiver(frame, selected, end.input);
  }
}

}  // namespace

std::string receiver_name(const Frame& frame, const PathEnd& end) {
  constexpr std::array kInputs = {"queries", "keys", "values"};
  const auto& [receiver, input, recovery] = end;
  const char* const read = kInputs.at(static_cast<std::size_t>(input));
  const inference::BlockShape* shape = find_shape(frame.result, receiver.block);
  const std::uint32_t kv_heads = shape ? shape->kv_heads : 0;
  const std::uint32_t group = kv_heads == 0 ? 1 : shape->heads / kv_heads;
  if (input == PathInput::Query || group == 1) return fmt::format("{}\u2019s {}", name_with_kind(frame, receiver), read);
  const std::uint32_t first = receiver.head / group * group;
  return fmt::format("{} of {} to H{}", read, name_with_kind(frame, {.block = receiver.block, .head = first}),
                     first + group - 1);
}

std::string search_text(const FoundReceiver& search) {
  const std::string progress = search.all == 0 ? "\u2026" : fmt::format(": {} of {}\u2026", search.known, search.all);
  if (search.tried == 0) return "Patching heads by themselves, to find those in which paths can end" + progress;
  return fmt::format("Looking at paths into the {} head{}{}", search.tried == 1 ? "strongest" : "strongest few",
                     search.tried == 1 ? "" : "s", progress);
}

PathQuestion paths_query(const Frame& frame, const ChosenLogit& logit, const PathEnd& end) {
  PatchingChoices choices = frame.state.patching;
  choices.receiver.input = end.input;
  return path_patching_query(choices, end.head, frame.state.selection.block.kind, logit.position.batch, logit.position.token,
                             logit.token, logit.other);
}

FoundReceiver find_receiver(Frame& frame, const ChosenLogit& logit) {
  const model::BlockKind kind = frame.state.selection.block.kind;
  PatchingChoices heads = frame.state.patching;
  heads.map = PatchMap::Heads;
  heads.part = model::Site::HeadOutput;
  const Analysed* answer =
      frame.ask(patching_query(heads, kind, logit.position.batch, logit.position.token, logit.token, logit.other));
  const auto* effects = answer != nullptr ? answer->as<PatchEffects>() : nullptr;
  if (effects == nullptr) return {.is_searching = answer == nullptr || answer->error.empty()};
  FoundReceiver found{.is_searching = !effects->is_complete(), .known = effects->known, .all = effects->all};
  if (found.is_searching) return found;
  double strongest = -1.0;
  for (const PatchCell& cell : strongest_patches(*effects, heads.measure, effects->all)) {
    const std::uint32_t layer = effects->layers[cell.row];
    if (layer == effects->layers.front()) continue;
    if (found.tried == kTriedReceivers || strongest >= kVisibleRecovery) break;
    const HeadRef head{.block = {kind, LayerIndex{layer}}, .head = static_cast<std::uint32_t>(cell.column)};
    ++found.tried;
    for (const PathInput input : {PathInput::Value, PathInput::Key, PathInput::Query}) {
      const std::optional<double> size = strongest_path(frame, logit, {.head = head, .input = input}, found);
      if (!size || *size <= strongest) continue;
      strongest = *size;
      found.end = PathEnd{.head = head, .input = input, .recovery = cell.recovery};
    }
    if (found.is_searching) return found;
  }
  return found;
}

void draw_path_controls(Frame& frame, const PathEnd& end) {
  PathReceiver& choices = frame.state.patching.receiver;
  draw_receiver(frame, end);
  const std::vector<std::string> inputs = {"queries", "keys", "values"};
  continue_line(segmented_width(frame, inputs), kPathGap);
  auto input = static_cast<std::size_t>(end.input);
  if (draw_segmented(frame, "patching.input", inputs, input)) take_receiver(frame, end.head, static_cast<PathInput>(input));
  const std::vector<std::string> mlps = {"MLPs frozen", "MLPs recomputed"};
  continue_line(segmented_width(frame, mlps), kPathGap);
  auto recomputes = static_cast<std::size_t>(choices.recomputes_mlps);
  if (draw_segmented(frame, "patching.mlps", mlps, recomputes)) choices.recomputes_mlps = recomputes == 1;
}

}  // namespace headlight::app
