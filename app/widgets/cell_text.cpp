#include "app/widgets/cell_text.h"

#include "app/widgets/tile_numbers.h"

namespace headlight::app {
std::optional<std::string> cell_text(Frame& frame, attention::Cell cell) {
  if (!frame.result.input) return std::nullopt;
  const Selection& selection = frame.state.selection;
  const model::BlockKind kind = selection.block.kind;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const std::optional<float> weight = numbers.value(attention::Stage::Weights, cell.query, cell.key);
  const std::optional<float> scaled = numbers.value(attention::Stage::Scaled, cell.query, cell.key);
  const auto shape = frame.result.shapes.find(selection.block);
  const bool has_scores = shape == frame.result.shapes.end() || !shape->second.only_weights;
  if (!weight || (has_scores && !scaled)) return std::nullopt;
  const model::ModelInput& input = *frame.result.input;
  const auto name = [&](const model::TokenBatch& tokens, std::uint32_t index) {
    const std::string* text = tokens.label(selection.batch, index);
    return text != nullptr ? *text : std::string();
  };
  std::string text =
      fmt::format("layer {}, head {}\nquery {}: {}\nkey {}: {}\nweight {:.7g}", selection.block.layer.value, selection.head,
                  cell.query, name(input.queries(kind), cell.query), cell.key, name(input.keys(kind), cell.key), *weight);
  if (has_scores) text += fmt::format("\nscaled score {:.7g}", *scaled);
  return text;
}

}  // namespace headlight::app
