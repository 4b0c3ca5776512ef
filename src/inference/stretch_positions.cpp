#include "inference/stretch_positions.h"

#include <algorithm>
#include <vector>

namespace headlight::inference {
namespace {

/// Positions that the table has rows for; 0: there is no table.
std::uint32_t position_rows(const model::Embedding* embedding) {
  if (embedding == nullptr || embedding->positions.is_empty()) return 0;
  return embedding->positions.axis(0) - std::min(embedding->position_offset, embedding->positions.axis(0));
}

std::uint32_t factor_for(const model::Embedding* embedding, std::uint32_t positions) {
  const std::uint32_t rows = position_rows(embedding);
  return rows == 0 ? 1 : std::max((positions + rows - 1) / rows, 1U);
}

std::shared_ptr<const model::Embedding> stretch_table(const std::shared_ptr<const model::Embedding>& embedding,
                                                      std::uint32_t factor) {
  const std::uint32_t rows = position_rows(embedding.get());
  if (factor <= 1 || rows == 0) return embedding;
  const std::uint32_t offset = embedding->position_offset, width = embedding->positions.axis(1);
  const std::vector<float> trained = embedding->positions.tensor().values;
  Tensor table({offset + rows * factor, width});
  std::copy_n(trained.begin(), std::size_t{offset} * width, table.values.begin());
  for (std::uint32_t position = 0; position < rows * factor; ++position) {
    const std::uint32_t low = position / factor, high = std::min(low + 1, rows - 1);
    const float share = static_cast<float>(position % factor) / static_cast<float>(factor);
    const float* from = trained.data() + std::size_t{offset + low} * width;
    const float* to = trained.data() + std::size_t{offset + high} * width;
    float* row = table.values.data() + std::size_t{offset + position} * width;
    for (std::uint32_t i = 0; i < width; ++i) row[i] = share == 0.0F ? from[i] : (1.0F - share) * from[i] + share * to[i];
  }
  auto stretched = std::make_shared<model::Embedding>(*embedding);
  stretched->positions = std::move(table);
  return stretched;
}

std::uint32_t factor_between(const model::Embedding* trained, const model::Embedding* used) {
  const std::uint32_t rows = position_rows(trained);
  return rows == 0 ? 1 : std::max(position_rows(used) / rows, 1U);
}

}  // namespace

PositionStretch needed_stretch(const model::Network& network, const model::ModelInput& input) {
  PositionStretch stretch{.source = factor_for(network.source_embedding.get(), input.source.position_count())};
  if (input.target) stretch.target = factor_for(network.target_embedding.get(), input.target->position_count());
  return stretch;
}

std::shared_ptr<const model::Network> stretch_positions(const model::Network& network, const PositionStretch& stretch) {
  auto stretched = std::make_shared<model::Network>(network);
  stretched->source_embedding = stretch_table(network.source_embedding, stretch.source);
  stretched->target_embedding = stretch_table(network.target_embedding, stretch.target);
  return stretched;
}

PositionStretch stretch_between(const model::Network& trained, const model::Network& used) {
  return {.source = factor_between(trained.source_embedding.get(), used.source_embedding.get()),
          .target = factor_between(trained.target_embedding.get(), used.target_embedding.get())};
}

}  // namespace headlight::inference
