#include "app/views/side_by_side/sides_choice.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/analyses/head_metrics.h"
#include "app/engine/analyses/head_similarity.h"
#include "app/state/comparison.h"
#include "app/state/side_by_side_settings.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_controls.h"

namespace headlight::app {
namespace {

constexpr float kBetween = 8.0F;

/// Returns the head whose weights differ most from the selected one's; none while that isn't known, or can't be.
std::optional<HeadRef> most_unlike(Frame& frame) {
  const Analysed* answer = frame.ask(similarity_query(frame.state.selection));
  const auto* found = answer ? answer->as<HeadSimilarity>() : nullptr;
  if (!found || found->divergences.size() != found->heads.size() * found->heads.size()) return std::nullopt;
  const HeadRef selected = frame.state.selection.head_ref();
  const auto at = std::ranges::find(found->heads, selected);
  if (at == found->heads.end()) return std::nullopt;
  const auto row = static_cast<std::size_t>(at - found->heads.begin());
  std::optional<std::size_t> farthest;
  for (std::size_t other = 0; other < found->heads.size(); ++other) {
    if (other == row) continue;
    if (!farthest || found->between(row, other) > found->between(row, *farthest)) farthest = other;
  }
  return farthest ? std::optional(found->heads[*farthest]) : std::nullopt;
}

void choose_other(Frame& frame, const HeadRef& head) {
  frame.state.set(kSideBySideView.is_chosen, true);
  frame.state.set(kSideBySideView.layer, head.block.layer.value);
  frame.state.set(kSideBySideView.head, head.head);
}

/// Steps through all heads, from the last one to the first.
void step_other(Frame& frame, const HeadRef& other, int step) {
  const std::vector<HeadRef> heads = heads_of_kind(frame.result.shapes, frame.state.selection.block.kind);
  const auto found = std::ranges::find(heads, other);
  if (found == heads.end()) return;
  const auto count = static_cast<int>(heads.size()), at = static_cast<int>(found - heads.begin());
  choose_other(frame, heads[static_cast<std::size_t>((at + step + count) % count)]);
}

bool draw_control(Frame& frame, const char* label, const char* name, const char* explanation) {
  continue_line(button_width(label), kBetween);
  return draw_button(frame, name, label, explanation);
}

/// Draws the choice of the head on the right: the one before, the next one, the left one's place.
void choose_other_head(Frame& frame, const HeadRef& other) {
  if (draw_control(frame, "<", "side_by_side.previous", "The head before the one on the right."))
    step_other(frame, other, -1);
  ImGui::SameLine();
  write_label(frame.ui.fonts().strong, frame.ui.theme().text, head_name(other));
  ImGui::SameLine();
  if (draw_control(frame, ">", "side_by_side.next", "The head after the one on the right.")) step_other(frame, other, 1);
  if (draw_control(frame, "Swap", "side_by_side.swap", "Exchanges the heads of both sides.")) {
    const Selection selection = frame.state.selection;
    choose_other(frame, selection.head_ref());
    select_head(frame.state.selection, other);
  }
  const HeadRef selected = frame.state.selection.head_ref();
  if (draw_control(frame, fmt::format("Put {} here", head_name(selected)).c_str(), "side_by_side.keep",
                   "The selected head stays on the right, and another one can be selected for the left.")) {
    choose_other(frame, selected);
  }
}

}  // namespace

HeadRef other_head(Frame& frame) {
  const std::uint32_t layer = frame.state[kSideBySideView.layer];
  if (!frame.state[kSideBySideView.is_chosen]) {
    if (const std::optional<HeadRef> unlike = most_unlike(frame)) return *unlike;
  }
  // The chosen layer or the last before it, else the first.
  const std::vector<model::BlockRef> blocks = blocks_of_kind(frame.result.shapes, frame.state.selection.block.kind);
  const auto after = std::ranges::find_if(blocks, [&](auto block) { return block.layer.value > layer; });
  const model::BlockRef block = after == blocks.begin() ? *after : *std::prev(after);
  return {.block = block, .head = std::min(frame.state[kSideBySideView.head], frame.result.shapes.at(block).heads - 1)};
}

void choose_sides(Frame& frame, const HeadRef& other) {
  const std::vector<std::string> labels = {"another head", baseline_name(frame.state), "the layer\u2019s mean"};
  write_label(frame.ui.fonts().body, frame.ui.theme().text_dim, "Beside it:");
  continue_line(segmented_width(frame, labels), kBetween);
  choose(frame, kSideBySideView.right, labels);
  const SideMap right = frame.state[kSideBySideView.right];
  if (right == SideMap::OtherHead) {
    choose_other_head(frame, other);
  } else if (right == SideMap::Baseline && !frame.state.compare.baseline) {
    if (draw_control(frame, "Keep as baseline", "side_by_side.keep_baseline",
                     "Keeps this run to compare later ones with (Ctrl+D).")) {
      frame.start_command("compare.freeze");
    }
  }
  choose_kind(frame, "side_by_side.kind");
}

std::optional<SharedWeight> shared_weight(const attention::Tile& left, const attention::Tile& right,
                                          attention::KeyRange queries) {
  const std::uint32_t rows = std::min(left.request.tile_rows(), queries.end), columns = left.request.tile_columns();
  SharedWeight shared;
  std::uint32_t counted = 0;
  for (std::uint32_t row = queries.begin; row < rows; ++row) {
    double both = 0.0, sum_left = 0.0, sum_right = 0.0;
    std::uint32_t keys = 0;
    for (std::uint32_t column = 0; column < columns; ++column) {
      const double a = left.at(row, column), b = right.at(row, column);
      both += std::min(a, b);
      sum_left += a;
      sum_right += b;
      keys += a != 0.0 || b != 0.0 ? 1U : 0U;
    }
    if (!std::isfinite(sum_left + sum_right) || keys < 2) {  // a row with one key has no choice
      ++shared.left_out;
      if (row == queries.begin) shared.leaves_out_first = true;
      continue;
    }
    ++counted;
    shared.mean += both;
    if (counted == 1 || both < shared.least) {
      shared.least = both;
      shared.least_at = row;
    }
  }
  if (counted == 0) return std::nullopt;
  shared.mean /= counted;
  return shared;
}

}  // namespace headlight::app
