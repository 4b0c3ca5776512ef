#include "app/analyses/run_sample.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include <zlib.h>

namespace headlight::app {
namespace {

constexpr std::uint32_t kMostHeads = 256;
constexpr std::uint32_t kKeys = 8;
constexpr std::size_t kLogits = 64;
constexpr std::size_t kTilesOfAStep = 32;

/// Every kind of head is among them, and queries of the whole text.
std::vector<attention::TileRequest> sampled_tiles(const BlockShapes& shapes) {
  std::uint32_t heads = 0;
  for (const auto& [block, shape] : shapes) heads += shape.heads;
  const std::uint32_t stride = std::max((heads + kMostHeads - 1) / kMostHeads, 1U);
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

/// Of the first line, of both texts where there are two, without padding.
std::vector<std::uint32_t> ids_of(const model::ModelInput& input) {
  std::vector<std::uint32_t> ids;
  const auto add = [&](const model::TokenBatch& tokens) {
    if (tokens.ids.empty()) return;
    const std::uint32_t first = tokens.start(0), count = tokens.lengths.empty() ? tokens.length : tokens.lengths.front();
    for (std::uint32_t i = first; i < first + count && ids.size() < kMostRecordedNumbers; ++i) ids.push_back(tokens.ids[i]);
  };
  add(input.source);
  if (input.target) add(*input.target);
  return ids;
}

class RunSampleTask final : public AnalysisTask {
 public:
  explicit RunSampleTask(const AnalysisSubject& subject) : tiles_(sampled_tiles(subject.shapes)) {
    found_.weights_crc = checksum(*subject.network);
    found_.ids = ids_of(*subject.input);
    if (!subject.has_logits || subject.shapes.empty()) return;
    // The stack that predicts: the decoder's where there is one, and an encoder's where there isn't.
    const auto is_decoder = [](const auto& shape) { return shape.first.kind != model::BlockKind::EncoderSelf; };
    const bool has_decoder = std::ranges::any_of(subject.shapes, is_decoder);
    const model::BlockKind kind = has_decoder ? model::BlockKind::Cross : model::BlockKind::EncoderSelf;
    const model::TokenBatch& tokens = subject.input->queries(kind);
    const std::uint32_t last = tokens.lengths.empty() ? tokens.length : tokens.start(0) + tokens.lengths.front();
    if (last == 0) return;
    last_ = {.batch = 0,
             .token = last - 1,
             .layer = static_cast<std::uint32_t>(has_decoder ? subject.network->layers->decoder.size()
                                                             : subject.network->layers->encoder.size())};
    wants_logits_ = true;
  }

  Reads next(std::size_t /*most_cells*/) override {
    if (next_ < tiles_.size()) {
      const std::size_t end = std::min(tiles_.size(), next_ + kTilesOfAStep);
      return {
          .tiles = {tiles_.begin() + static_cast<std::ptrdiff_t>(next_), tiles_.begin() + static_cast<std::ptrdiff_t>(end)}};
    }
    return {.logits = {last_}};
  }
  void take(const Answers& answers) override {
    if (next_ < tiles_.size()) {
      for (const attention::Tile& tile : answers.tiles) {
        found_.weights.insert(found_.weights.end(), tile.values.begin(), tile.values.end());
      }
      next_ += answers.tiles.size();
      return;
    }
    const std::size_t count = std::min(kLogits, answers.logits.size());
    for (std::size_t i = 0; i < count; ++i) found_.logits.push_back(answers.logits[i * answers.logits.size() / count]);
    wants_logits_ = false;
  }
  bool is_done() const override { return next_ >= tiles_.size() && !wants_logits_; }
  std::shared_ptr<const AnalysisResult> result() const override {
    return is_done() ? std::make_shared<const RunSample>(found_) : nullptr;
  }

 private:
  std::vector<attention::TileRequest> tiles_;
  std::size_t next_ = 0;
  inference::StateRef last_;
  bool wants_logits_ = false;
  RunSample found_;
};

std::unique_ptr<AnalysisTask> begin_run_sample(const AnalysisQuery& /*query*/, const AnalysisSubject& subject) {
  return std::make_unique<RunSampleTask>(subject);
}

}  // namespace

SessionRecord record_of(const RunSample& sample, const std::string& device) {
  return {.program = "headlight " HEADLIGHT_VERSION,
          .device = device,
          .weights_crc = sample.weights_crc,
          .weights = sample.weights,
          .logits = sample.logits,
          .ids = sample.ids};
}

constexpr Analysis kRunSample{.id = "run-sample", .title = "numbers of a session's record", .begin = &begin_run_sample};

}  // namespace headlight::app
