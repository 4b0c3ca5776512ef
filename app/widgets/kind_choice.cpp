#include "app/widgets/kind_choice.h"

#include <algorithm>
#include <string>
#include <vector>

#include "app/widgets/segmented.h"

namespace headlight::app {
namespace {

const char* label_of(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "Encoder";
    case model::BlockKind::DecoderSelf:
      return "Decoder";
    case model::BlockKind::Cross:
      return "Cross";
  }
  return "";
}

}  // namespace

void choose_kind(Frame& frame, std::string_view name) {
  std::vector<model::BlockKind> kinds;
  std::vector<std::string> labels;
  for (const auto& [block, shape] : frame.result.shapes) {
    if (!kinds.empty() && kinds.back() == block.kind) continue;
    kinds.push_back(block.kind);
    labels.emplace_back(label_of(block.kind));
  }
  if (kinds.size() < 2) return;
  auto chosen = static_cast<std::size_t>(std::ranges::find(kinds, frame.state.selection.block.kind) - kinds.begin());
  if (!draw_segmented(frame, std::string(name).c_str(), labels, chosen)) return;
  frame.state.selection.block.kind = kinds[chosen];
  clamp_selection(frame.state, frame.result.shapes);
}

}  // namespace headlight::app
