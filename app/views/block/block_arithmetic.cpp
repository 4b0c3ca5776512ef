#include "app/views/block/block_arithmetic.h"

#include "app/cells/step_matrix.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
Arithmetic explain_node(Frame& frame, const BlockSource& source, const BlockNode& node, attention::Cell cell) {
  const Selection& selection = frame.state.selection;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  return explain_cell(question_about(frame, source.subject, node.stage, cell), numbers);
}

std::string describe_cell(const Frame& frame, const BlockNode& node, attention::Cell cell) {
  if (!frame.result.input) return {};
  const model::BlockKind kind = frame.state.selection.block.kind;
  const model::TokenBatch& queries = frame.result.input->queries(kind);
  const model::TokenBatch& keys = frame.result.input->keys(kind);
  if (attention::is_map(node.stage)) {
    return fmt::format("query {} “{}” · key {} “{}”", cell.query, token_name(frame, queries, cell.query), cell.key,
                       token_name(frame, keys, cell.key));
  }
  const bool has_key_rows = StepMatrix(node.stage).has_key_rows();
  return fmt::format("token {} “{}” · component {}", cell.query,
                     token_name(frame, has_key_rows ? keys : queries, cell.query), cell.key);
}

}  // namespace headlight::app
