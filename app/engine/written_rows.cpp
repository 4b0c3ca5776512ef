#include "app/engine/written_rows.h"

#include <algorithm>

namespace headlight::app {

bool rows_write_tokens(const model::ModelInput& input, model::BlockKind kind) {
  return input.target && &input.queries(kind) == &*input.target;
}

std::vector<std::string> written_texts(const model::TokenBatch& target, std::uint32_t batch) {
  std::vector<std::string> texts = target.texts.at(batch);
  const std::size_t first = target.start(batch);
  const std::size_t end = std::min<std::size_t>(first + target.lengths.at(batch), texts.size());
  if (first >= end) return texts;
  for (std::size_t row = first; row + 1 < end; ++row) texts[row] = target.texts[batch][row + 1];
  texts[end - 1] = "\u2026";
  return texts;
}

}  // namespace headlight::app
