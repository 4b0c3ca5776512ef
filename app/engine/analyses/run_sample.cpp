#include "app/engine/analyses/run_sample.h"

#include <zlib.h>

namespace headlight::app {
namespace {

constexpr std::uint32_t kMaxHeads = 256;
constexpr std::uint32_t kKeys = 8;
constexpr std::size_t kLogits = 64;
constexpr std::size_t kTilesOfAStep = 32;

/// Returns the sampled tiles: every kind of head is among them, and queries of the whole text.
std::vector<attention::TileRequest> sampled_tiles(const BlockShapes& shapes) {
  std::uint32_t heads = 0;
  for (const auto& [block, shape] : shapes) heads += shape.heads;
  const std::uint32_t stride = std::max((heads + kMaxHeads - 1) / kMaxHeads, 1U);
  std::vector<attention::TileRequest> tiles;
  std::uint32_t number = 0;
  for (const auto& [block, shape] : shapes) {
    for (std::uint32_t head = 0; head < shape.heads; ++head, ++number) {
      if (number % stride != 0) continue;
      const std::uint32_t row = shape.queries - 1 - (number * 5) % shape.queries;
      const std::uint32_t columns = std::min(kKeys, shape.keys);
      const std::uint32_t end = std::clamp(row + 1, columns, shape.keys);
      tiles.push_back({.block = block,
                       .head = head,
                       .stage = attention::Stage::Weights,
                       .row = row,
                       .rows = 1,
                       .column = end - columns,
                       .columns = columns});
    }
  }
  return tiles;
}

std::uint32_t add_row(std::uint32_t crc, const model::Parameter& weight, std::uint32_t number) {
  if (weight.is_empty()) return crc;
  const std::uint32_t rows = weight.shape().empty() ? 1 : weight.axis(0);
  std::vector<float> row(weight.element_count() / rows);
  weight.read(number % rows, 1, row);
  return static_cast<std::uint32_t>(
      ::crc32(crc, reinterpret_cast<const Bytef*>(row.data()), static_cast<uInt>(row.size() * sizeof(float))));
}

std::uint32_t checksum(const model::Network& network) {
  std::uint32_t crc = 0;
  std::uint32_t number = 0;
  for (const model::BlockRef block : network.blocks()) {
    const model::AttentionLayer& layer = network.layer(block);
    if (!layer.weights) continue;
    for (const model::Linear* linear : {&layer.weights->query, &layer.weights->key, &layer.weights->value}) {
      crc = add_row(crc, linear->weight, ++number * 7);
    }
    if (layer.weights->output) crc = add_row(crc, layer.weights->output->weight, ++number * 7);
  }
  return crc;
}

/// Returns the token ids of the first line, of both texts where there are two, without padding.
std::vector<std::uint32_t> ids_of(const model::ModelInput& input) {
  std::vector<std::uint32_t> ids;
  const auto add = [&](const model::TokenBatch& tokens) {
    if (tokens.ids.empty()) return;
    const std::uint32_t first = tokens.start(0), count = tokens.lengths.empty() ? tokens.length : tokens.lengths.front();
    for (std::uint32_t i = first; i < first + count && ids.size() < kMaxRecordedNumbers; ++i) ids.push_back(tokens.ids[i]);
  };
  add(input.source);
  if (input.target) add(*input.target);
  return ids;
}

/// Returns the last token's state after the last layer of the stack that predicts: the decoder's where there is one, and an
/// encoder's where there isn't.
std::optional<inference::StateRef> last_state(const AnalysisSubject& subject) {
  if (!subject.has_logits || subject.shapes.empty()) return std::nullopt;
  const auto is_decoder = [](const auto& shape) { return shape.first.kind != model::BlockKind::EncoderSelf; };
  const bool has_decoder = std::ranges::any_of(subject.shapes, is_decoder);
  const model::BlockKind kind = has_decoder ? model::BlockKind::Cross : model::BlockKind::EncoderSelf;
  const model::TokenBatch& tokens = subject.input->queries(kind);
  const std::uint32_t end = tokens.lengths.empty() ? tokens.length : tokens.start(0) + tokens.lengths.front();
  if (end == 0) return std::nullopt;
  const model::Layers& layers = *subject.network->layers;
  return inference::StateRef{
      .batch = 0,
      .token = end - 1,
      .layer = static_cast<std::uint32_t>(has_decoder ? layers.decoder.size() : layers.encoder.size())};
}

}  // namespace

Task<RunSample> analyse(RunSampleQuestion /*question*/, AnalysisSubject subject) {
  RunSample found;
  found.weights_crc = checksum(*subject.network);
  found.ids = ids_of(*subject.input);
  const std::vector<attention::TileRequest> tiles = sampled_tiles(subject.shapes);
  for (std::size_t first = 0; first < tiles.size(); first += kTilesOfAStep) {
    Reads reads;
    for (std::size_t at = first; at < std::min(tiles.size(), first + kTilesOfAStep); ++at) reads.tiles.push_back(tiles[at]);
    const Answers read = co_await std::move(reads);
    for (const attention::Tile& tile : read.tiles) {
      found.weights.insert(found.weights.end(), tile.values.begin(), tile.values.end());
    }
  }
  if (const auto last = last_state(subject)) {
    Reads reads;
    reads.logits.push_back(*last);
    const Answers read = co_await std::move(reads);
    const std::size_t count = std::min(kLogits, read.logits.size());
    for (std::size_t i = 0; i < count; ++i) found.logits.push_back(read.logits[i * read.logits.size() / count]);
  }
  co_return found;
}

SessionRecord record_of(const RunSample& sample, const std::string& device) {
  return {.program = "headlight " HEADLIGHT_VERSION,
          .device = device,
          .weights_crc = sample.weights_crc,
          .weights = sample.weights,
          .logits = sample.logits,
          .ids = sample.ids};
}

}  // namespace headlight::app
