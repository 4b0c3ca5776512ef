#include "app/widgets/pair_choice.h"

#include "app/widgets/prediction_bars.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {

attention::Cell chosen_cell(Frame& frame) {
  if (frame.state.view.pinned) return *frame.state.view.pinned;
  const inference::BlockShape& shape = *selected_shape(frame);
  const attention::KeyRange queries = query_range(frame);
  attention::Cell cell{.query = std::min(std::max(queries.end, 1U), shape.queries) - 1, .key = 0};
  const Selection& selection = frame.state.selection;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  if (const auto row = numbers.weights_row(cell.query)) {
    cell.key = static_cast<std::uint32_t>(std::ranges::max_element(row->weights) - row->weights.begin());
  }
  return cell;
}

std::optional<std::uint32_t> choose_pair(Frame& frame, const std::string& name, attention::Cell cell, PairMemory& memory) {
  const shell::Theme& theme = frame.ui.theme();
  const Selection& selection = frame.state.selection;
  const std::string query_name = name + ".query", key_name = name + ".key";
  const auto written = written_tokens(frame);
  const TokenLine queries{.name = query_name.c_str(),
                          .title = "query",
                          .explanation = "The token that looks. Ctrl+Up and Ctrl+Down choose the one before and after.",
                          .tokens = &shown_queries(frame),
                          .names = written ? &*written : nullptr,
                          .item = selection.batch,
                          .chosen = cell.query,
                          .color = theme.query,
                          .fill = theme.query_fill};
  const TokenLineEvents of_queries = draw_token_line(frame, queries, memory.queries);
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const std::optional<TileNumbers::WeightsRow> weights = numbers.weights_row(cell.query);
  const TokenLine keys{.name = key_name.c_str(),
                       .title = "key",
                       .explanation =
                           "The token that is attended to; its tint is the weight. Ctrl+Left and Ctrl+Right "
                           "choose the one before and after.",
                       .tokens = &shown_keys(frame),
                       .item = selection.batch,
                       .chosen = cell.key,
                       .color = theme.key,
                       .fill = theme.key_fill,
                       .shades = weights ? weights->weights : std::span<const float>()};
  const TokenLineEvents of_keys = draw_token_line(frame, keys, memory.keys);
  const attention::Cell chosen{.query = of_queries.chosen.value_or(cell.query), .key = of_keys.chosen.value_or(cell.key)};
  if (of_queries.chosen || of_keys.chosen) frame.state.view.pinned = chosen;
  return of_keys.hovered;
}

}  // namespace headlight::app
