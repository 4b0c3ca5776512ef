#include "inference/embed.h"

#include <algorithm>
#include <utility>

#include "inference/weight_findings.h"

namespace headlight::inference {
namespace {

void add_row(const model::Parameter& table, std::uint32_t row, std::vector<float>& scratch, float* target) {
  table.read(row, 1, scratch);
  for (std::size_t i = 0; i < scratch.size(); ++i) target[i] += scratch[i];
}

/// Do positions follow what the device computes of the rows?
bool positions_follow(const model::Embedding& embedding) {
  return embedding.adds_positions_last && (embedding.projection || embedding.norm);
}

/// Position and type of one token.
void add_positions(const model::Embedding& embedding, const model::TokenBatch& tokens,
                   std::pair<std::uint32_t, std::uint32_t> item_and_token, std::vector<float>& scratch, float* target) {
  const auto [item, token] = item_and_token;
  if (!embedding.positions.is_empty()) {
    add_row(embedding.positions, tokens.position(item, token) + embedding.position_offset, scratch, target);
  }
  if (!embedding.types.is_empty()) {
    const std::size_t at = std::size_t{item} * tokens.length + token;
    add_row(embedding.types, tokens.types.empty() ? 0 : tokens.types[at], scratch, target);
  }
}

/// Tables are read here alone, and only the rows of the text: vectors that aren't finite come from one of them.
void inspect(const model::Embedding& embedding, const model::TokenBatch& tokens, const Tensor& x) {
  if (count_odd_numbers(x.values, false).not_finite == 0) return;
  WeightInspection inspection(&embedding.positions);  // not the same address as the embedding's
  const auto look = [&](const model::Parameter& table, std::uint32_t row) {
    std::vector<float> values(table.axis(1));
    table.read(row, 1, values);
    inspection.look(table, values, false);
  };
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    for (std::uint32_t token = 0; token < tokens.length; ++token) {
      const std::size_t at = std::size_t{item} * tokens.length + token;
      if (tokens.ids[at] == model::kPaddingId) continue;
      look(embedding.table, tokens.ids[at]);
      if (!embedding.positions.is_empty())
        look(embedding.positions, tokens.position(item, token) + embedding.position_offset);
    }
  }
  inspection.publish();
}

}  // namespace

Tensor embed_positions(const model::Embedding& embedding, const model::TokenBatch& tokens, ops::Rows rows) {
  if (!positions_follow(embedding)) return {};
  const std::uint32_t width = embedding.projection ? embedding.projection->out() : embedding.table.axis(1);
  Tensor positions({tokens.batch, rows.count, width});
  std::vector<float> scratch(width);
  float* target = positions.values.data();
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    for (std::uint32_t token = rows.first; token < rows.end(); ++token, target += width) {
      add_positions(embedding, tokens, {item, token}, scratch, target);
    }
  }
  return positions;
}

Tensor embed(const model::Embedding* embedding, const model::TokenBatch& tokens, ops::Rows rows) {
  const std::uint32_t width = embedding != nullptr ? embedding->table.axis(1) : tokens.vectors.axis(2);
  Tensor x({tokens.batch, rows.count, width});
  std::vector<float> scratch(width);
  const std::vector<double> factors = embedding != nullptr ? embedding->line_factors(tokens) : std::vector<double>();
  float* target = x.values.data();
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    for (std::uint32_t token = rows.first; token < rows.end(); ++token, target += width) {
      const std::size_t at = std::size_t{item} * tokens.length + token;
      if (embedding == nullptr) {
        std::copy_n(tokens.vectors.values.begin() + static_cast<std::ptrdiff_t>(at * width), width, target);
        continue;
      }
      if (tokens.ids[at] != model::kPaddingId && tokens.ids[at] != embedding->dropped_id) {
        embedding->table.read(tokens.ids[at], 1, {target, width});
        const auto factor = static_cast<float>(factors[item]);
        for (std::uint32_t i = 0; i < width; ++i) target[i] *= factor;
      }
      if (!positions_follow(*embedding)) add_positions(*embedding, tokens, {item, token}, scratch, target);
    }
  }
  if (embedding == nullptr) return x;
  inspect(*embedding, tokens, x);
  embedding->table.release_pages();
  return x;
}

Tensor embed_part(const model::Embedding& embedding, const model::TokenBatch& tokens, std::uint32_t item, ops::Rows rows,
                  EmbeddingPart part) {
  model::Embedding one;
  one.table = embedding.table;
  one.scale = part == EmbeddingPart::Tokens || part == EmbeddingPart::Sum ? embedding.scale : 0.0f;
  one.position_offset = embedding.position_offset;
  one.dropped_id = embedding.dropped_id;
  if (part == EmbeddingPart::Positions || part == EmbeddingPart::Sum) one.positions = embedding.positions;
  if (part == EmbeddingPart::Types || part == EmbeddingPart::Sum) one.types = embedding.types;
  Tensor all = embed(&one, tokens, rows);
  const std::uint32_t width = all.axis(2);
  const auto first = all.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{item} * rows.count * width);
  return {{rows.count, width}, {first, first + static_cast<std::ptrdiff_t>(std::size_t{rows.count} * width)}};
}

}  // namespace headlight::inference
