#include "inference/embed.h"

#include <algorithm>

#include "inference/weight_findings.h"

namespace headlight::inference {
namespace {

/// Rows of a text that are read together: they stay in the cache until they are added.
constexpr std::uint32_t kRowsAtOnce = 64;

/// Adds rows of a table to those of `target`.
void add_rows(const model::Parameter& table, const std::vector<std::uint32_t>& rows, std::span<float> target) {
  const std::size_t width = table.axis(1);
  const bool is_small = table.axis(0) <= rows.size() / 4;  // of types: each of its rows is read once
  std::vector<float> values((is_small ? table.axis(0) : rows.size()) * width);
  is_small ? table.read(0, table.axis(0), values)
           : table.gathered(rows).read(0, static_cast<std::uint32_t>(rows.size()), values);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* row = values.data() + (is_small ? rows[i] : i) * width;
    for (std::size_t column = 0; column < width; ++column) target[i * width + column] += row[column];
  }
}

/// Do positions follow what the device computes of the rows?
bool positions_follow(const model::Embedding& embedding) {
  return embedding.adds_positions_last && (embedding.projection || embedding.norm);
}

/// Positions and types of an item's tokens.
void add_positions(const model::Embedding& embedding, const model::TokenBatch& tokens, std::uint32_t item, ops::Rows some,
                   std::span<float> target) {
  std::vector<std::uint32_t> positions, types;
  for (std::uint32_t token = some.first; token < some.end(); ++token) {
    positions.push_back(tokens.position(item, token) + embedding.position_offset);
    types.push_back(tokens.types.empty() ? 0 : tokens.types[std::size_t{item} * tokens.length + token]);
  }
  if (!embedding.positions.is_empty()) add_rows(embedding.positions, positions, target);
  if (!embedding.types.is_empty()) add_rows(embedding.types, types, target);
}

/// Calls use(item, some rows, their part of x [item, row, width]) for all of them.
template <typename Use>
void for_each_part(const model::TokenBatch& tokens, ops::Rows rows, Tensor& x, const Use& use) {
  const std::size_t width = x.axis(2);
  std::span<float> rest = x.values;
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    for (std::uint32_t first = rows.first; first < rows.end(); first += kRowsAtOnce) {
      const ops::Rows some{first, std::min(kRowsAtOnce, rows.end() - first)};
      use(item, some, rest.first(some.count * width));
      rest = rest.subspan(some.count * width);
    }
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
  for_each_part(tokens, rows, positions, [&](std::uint32_t item, ops::Rows some, std::span<float> target) {
    add_positions(embedding, tokens, item, some, target);
  });
  return positions;
}

Tensor embed(const model::Embedding* embedding, const model::TokenBatch& tokens, ops::Rows rows) {
  const std::uint32_t width = embedding != nullptr ? embedding->table.axis(1) : tokens.vectors.axis(2);
  Tensor x({tokens.batch, rows.count, width});
  const std::vector<double> factors = embedding != nullptr ? embedding->line_factors(tokens) : std::vector<double>();
  for_each_part(tokens, rows, x, [&](std::uint32_t item, ops::Rows some, std::span<float> target) {
    const std::size_t at = std::size_t{item} * tokens.length + some.first;
    if (embedding == nullptr) {
      std::ranges::copy(std::span(tokens.vectors.values).subspan(at * width, target.size()), target.begin());
      return;
    }
    std::vector<std::uint32_t> ids(tokens.ids.begin() + static_cast<std::ptrdiff_t>(at),
                                   tokens.ids.begin() + static_cast<std::ptrdiff_t>(at + some.count));
    const auto has_no_row = [&](std::uint32_t id) { return id == model::kPaddingId || id == embedding->dropped_id; };
    std::ranges::replace_if(ids, has_no_row, 0U);
    embedding->table.gathered(ids).read(0, some.count, target);
    for (std::uint32_t i = 0; i < some.count; ++i) {
      const std::span<float> row = target.subspan(std::size_t{i} * width, width);
      const auto factor = static_cast<float>(factors[item]);
      if (has_no_row(tokens.ids[at + i])) {
        std::ranges::fill(row, 0.0F);
      } else {
        for (float& number : row) number *= factor;
      }
    }
    if (!positions_follow(*embedding)) add_positions(*embedding, tokens, item, some, target);
  });
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
