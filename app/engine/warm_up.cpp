#include "app/engine/warm_up.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headlight::app {
namespace {

/// Rows computed in a pass, from the last to the first: one (a token typed), and a count of each class for which kernels
/// exist (ops/linear.cpp).
constexpr std::array<std::uint32_t, 4> kRowCounts = {12, 7, 3, 1};

/// A text of which only the first tokens are left.
void truncate(model::TokenBatch& tokens, std::uint32_t length) {
  tokens.length = length;
  tokens.lengths = {length};
  tokens.ids.resize(length);
  if (!tokens.positions.empty()) tokens.positions.resize(length);
  if (!tokens.types.empty()) tokens.types.resize(length);
  if (!tokens.texts.empty()) tokens.texts.front().resize(length);
}

/// An input for which so many rows have to be computed when `input` was the last: where no token sees a later one its last
/// tokens are others, else it is shorter.
model::ModelInput with_rows(const model::Network& network, model::ModelInput input, const attention::MaskSet& masks,
                            std::uint32_t rows) {
  model::TokenBatch& tokens = input.source;
  if (!masks[model::BlockKind::EncoderSelf].rule.causal) {
    truncate(tokens, rows);
    return input;
  }
  const std::uint32_t vocabulary = network.source_embedding->table.axis(0);
  for (std::uint32_t i = tokens.length - rows; i < tokens.length; ++i) tokens.ids[i] = (tokens.ids[i] + 1) % vocabulary;
  return input;
}

}  // namespace

void WarmUp::note(const std::shared_ptr<const model::Network>& network, const model::ModelInput& input,
                  const attention::MaskSet& masks, const inference::HeadGains& gains) {
  const bool is_known = network->layers == warm_;
  if (is_known && !pass_) return;
  if (!is_known) row_counts_.assign(kRowCounts.begin(), kRowCounts.end());
  warm_ = network->layers;
  pass_.reset();
  const model::TokenBatch& tokens = input.source;
  const bool has_ids = network->source_embedding && tokens.vectors.is_empty() && !tokens.ids.empty() && !input.qkv;
  if (!has_ids || tokens.batch != 1 || !tokens.starts.empty()) return;
  pass_ = {.network = network, .input = input, .masks = masks, .gains = gains};
}

void WarmUp::step(inference::Session& session) {
  const Pass pass = *pass_;
  std::erase_if(row_counts_, [&](std::uint32_t rows) { return rows >= pass.input.source.length; });
  if (row_counts_.empty()) return pass_.reset();
  const std::uint32_t rows = row_counts_.back();
  row_counts_.pop_back();
  if (row_counts_.empty()) pass_.reset();
  session.run(pass.network, with_rows(*pass.network, pass.input, pass.masks, rows), pass.masks, pass.gains);
  session.run(pass.network, pass.input, pass.masks, pass.gains);
}

}  // namespace headlight::app
