#include "app/views/lines/line_sides.h"

#include "app/exports/line_set.h"
#include "app/widgets/row_names.h"
#include "app/widgets/text.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

LineSide side_of(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t count, attention::KeyRange real) {
  const std::uint32_t batch = frame.state.selection.batch;
  const bool is_source = &tokens == &frame.result.input->source;
  LineSide side{.labels = {}, .real = real, .sentences = sentences_of(frame.result.prompt.get(), tokens, is_source, batch)};
  if (batch < tokens.texts.size()) side.labels = tokens.texts[batch];
  for (auto i = static_cast<std::uint32_t>(side.labels.size()); i < count; ++i) side.labels.push_back(fmt::format("{}", i));
  side.labels.resize(count);
  return side;
}

void measure(const Frame& frame, LineSide& side) {
  for (const std::string& label : side.labels) side.width = std::max(side.width, text_width(frame.ui.fonts().small, label));
}

}  // namespace

LineSides line_sides(Frame& frame) {
  const model::BlockKind kind = frame.state.selection.block.kind;
  const inference::BlockShape& shape = frame.result.shapes.at(frame.state.selection.block);
  const model::ModelInput& input = *frame.result.input;
  LineSides sides{.queries = side_of(frame, input.queries(kind), shape.queries, query_range(frame, kind)),
                  .keys = side_of(frame, input.keys(kind), shape.keys, key_range(frame, kind))};
  sides.queries.name = rows_write_tokens(frame, kind) ? "reads" : "query";
  sides.keys.name = "key";
  if (std::optional<std::vector<std::string>> written = written_tokens(frame, kind)) {
    written->resize(shape.queries);
    sides.queries.labels = std::move(*written);
    sides.queries.name = "writes";
  }
  measure(frame, sides.queries);
  measure(frame, sides.keys);
  return sides;
}

}  // namespace headlight::app
