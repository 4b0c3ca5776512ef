#include "app/views/block/block_arithmetic.h"

#include <fmt/format.h>

#include "app/cells/step_matrix.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

/// "1.250 + (−0.500)".
std::string write_plus(float left, float right) {
  const double value = double{right};
  return fmt::format("{} {} {}", write_number(double{left}), value < 0.0 ? "−" : "+",
                     write_number(value < 0.0 ? -value : value));
}

/// What attention adds to the stream, one number.
std::optional<float> attention_value(const BlockSource& source, attention::Cell cell) {
  const BlockStates* states = source.states;
  if (!states || cell.query < states->first || cell.key >= states->width) return std::nullopt;
  const std::size_t at = std::size_t{cell.query - states->first} * states->width + cell.key;
  return at < states->attention.size() ? std::optional(states->attention[at]) : std::nullopt;
}

bool norms_sum(const BlockSource& source, StateMatrix state) {
  const model::AttentionLayer* layer = source.subject.layer;
  if (!layer) return false;
  return state == StateMatrix::AfterAttention ? layer->norms.after.has_value() : layer->feed_forward_norms.after.has_value();
}

void explain_sum(Arithmetic& arithmetic, const BlockSource& source, StateMatrix state, const char* formula,
                 std::optional<float> left, std::optional<float> right) {
  const bool is_normed = norms_sum(source, state);
  arithmetic.formula = is_normed ? fmt::format("norm({})", formula) : formula;
  if (left && right) {
    const std::string sum = write_plus(*left, *right);
    arithmetic.numbers = is_normed ? fmt::format("norm({})", sum) : sum;
  }
  if (is_normed) arithmetic.note = "The norm uses all components of the token's vector.";
}

}  // namespace

Arithmetic explain_state(const BlockSource& source, StateMatrix state, attention::Cell cell) {
  const auto value = [&](StateMatrix of) { return state_value(source, of, cell.query, cell.key); };
  Arithmetic arithmetic;
  arithmetic.result = value(state);
  const std::string at = fmt::format("[{},{}]", cell.query, cell.key);
  switch (state) {
    case StateMatrix::Before:
      arithmetic.cell = "x" + at;
      arithmetic.note = "One number of the residual stream: the token's vector and what all layers before have added to it.";
      break;
    case StateMatrix::AfterAttention:
      arithmetic.cell = "y" + at;
      explain_sum(arithmetic, source, state, "x + attention", value(StateMatrix::Before), attention_value(source, cell));
      break;
    case StateMatrix::FeedForward:
      arithmetic.cell = "m" + at;
      if (norms_sum(source, StateMatrix::Next)) {
        arithmetic.note = "What the MLP returns, before it is added and the sum is normed: computed again for this view.";
        break;
      }
      arithmetic.formula = "x' − y";
      if (const auto next = value(StateMatrix::Next), before = value(StateMatrix::AfterAttention); next && before) {
        arithmetic.numbers = write_plus(*next, -*before);
      }
      arithmetic.note = "What the MLP adds: the state behind the layer less the state behind attention.";
      break;
    case StateMatrix::Next:
      arithmetic.cell = "x'" + at;
      explain_sum(arithmetic, source, state, "y + m", value(StateMatrix::AfterAttention), value(StateMatrix::FeedForward));
      break;
  }
  return arithmetic;
}

Arithmetic explain_node(Frame& frame, const BlockSource& source, const BlockNode& node, attention::Cell cell) {
  if (node.state) return explain_state(source, *node.state, cell);
  const Selection& selection = frame.state.selection;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  return explain_cell(question_about(frame, source.subject, *node.stage, cell), numbers);
}

std::vector<MatrixPart> state_sources(const BlockPlan& plan, const BlockNode& node, attention::Cell cell) {
  std::vector<MatrixPart> parts;
  if (!node.state) return parts;
  for (const std::string_view input : node.inputs) {
    const BlockNode* from = plan.find(input);
    if (from && from->stage)
      parts.push_back({.stage = *from->stage, .row = cell.query, .rows = 1, .column = cell.key, .columns = 1});
  }
  return parts;
}

std::string describe_cell(const Frame& frame, const BlockNode& node, attention::Cell cell) {
  if (!frame.result.input) return {};
  const model::BlockKind kind = frame.state.selection.block.kind;
  const model::TokenBatch& queries = frame.result.input->queries(kind);
  const model::TokenBatch& keys = frame.result.input->keys(kind);
  if (node.stage && attention::is_map(*node.stage)) {
    return fmt::format("query {} “{}” · key {} “{}”", cell.query, token_name(frame, queries, cell.query), cell.key,
                       token_name(frame, keys, cell.key));
  }
  const bool has_key_rows = node.stage && StepMatrix(*node.stage).has_key_rows();
  return fmt::format("token {} “{}” · component {}", cell.query,
                     token_name(frame, has_key_rows ? keys : queries, cell.query), cell.key);
}

}  // namespace headlight::app
