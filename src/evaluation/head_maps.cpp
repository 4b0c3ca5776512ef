#include "evaluation/head_maps.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "attention/mask.h"
#include "core/error.h"
#include "evaluation/batches.h"
#include "inference/prompt.h"

namespace headlight::evaluation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxLines = 16;
/// Weights of one layer of a batch in host memory, where there are two at most: 64 MiB.
constexpr std::size_t kBatchWeights = std::size_t{16} << 20;

/// The corner [queries, keys] of one head's matrix, in double precision.
void copy_map(const Tensor& weights, std::uint32_t item, std::uint32_t head, std::uint32_t queries, std::uint32_t keys,
              std::vector<double>& map) {
  const std::size_t columns = weights.axis(3);
  const std::size_t first = (std::size_t{item} * weights.axis(1) + head) * weights.axis(2) * columns;
  map.resize(std::size_t{queries} * keys);
  for (std::uint32_t query = 0; query < queries; ++query) {
    const float* row = weights.values.data() + first + query * columns;
    std::copy_n(row, keys, map.begin() + static_cast<std::ptrdiff_t>(std::size_t{query} * keys));
  }
}

/// Returns for each query the number of keys that it sees in one layer.
std::vector<std::uint32_t> visible_keys(const inference::LanguageModel& model, model::BlockRef block, std::uint32_t queries,
                                        std::uint32_t keys) {
  const attention::MaskRule rule = attention::in_layer(model.masks[block.kind], model.network->layer(block).config).rule;
  std::vector<std::uint32_t> visible(queries, 0);
  for (std::uint32_t query = 0; query < queries; ++query) {
    for (std::uint32_t key = 0; key < keys; ++key) visible[query] += rule.is_visible(query, key, keys) ? 1U : 0U;
  }
  return visible;
}

}  // namespace

double visit_maps(inference::Session& session, const inference::LanguageModel& model,
                  std::span<const std::vector<std::uint32_t>> lines, const MapVisitor& visit, const Progress& progress,
                  const RunVisitor& visit_run, std::span<const std::vector<std::uint32_t>> targets) {
  const std::size_t heads = std::max(model.description.heads, model.description.decoder_heads);
  std::vector<model::BlockRef> blocks;
  for (const auto kind : {model::BlockKind::EncoderSelf, model::BlockKind::DecoderSelf, model::BlockKind::Cross}) {
    const bool is_visited = kind == model::BlockKind::EncoderSelf || !targets.empty();
    const std::uint32_t layers = is_visited ? inference::layer_count(*model.network, kind) : 0;
    for (std::uint32_t layer = 0; layer < layers; ++layer) blocks.push_back({kind, LayerIndex{layer}});
  }
  std::vector<std::size_t> lengths;
  for (const auto& ids : lines) lengths.push_back(ids.size());
  for (std::size_t line = 0; line < targets.size(); ++line) lengths[line] = std::max(lengths[line], targets[line].size());
  if (lengths.empty()) return 0.0;
  const std::size_t longest = *std::ranges::max_element(lengths);
  std::size_t done = 0;
  Clock::duration device{};
  std::vector<double> map;
  std::shared_ptr<const inference::Run> run;
  const auto visit_layer = [&](const std::vector<std::size_t>& batch, model::BlockRef block, const Tensor& weights) {
    const bool is_encoder = block.kind == model::BlockKind::EncoderSelf, is_cross = block.kind == model::BlockKind::Cross;
    for (std::uint32_t item = 0; item < batch.size(); ++item) {
      const auto queries = static_cast<std::uint32_t>((is_encoder ? lines : targets)[batch[item]].size());
      const std::uint32_t keys = is_cross ? static_cast<std::uint32_t>(lines[batch[item]].size()) : queries;
      const std::vector<std::uint32_t> visible = visible_keys(model, block, queries, keys);
      for (std::uint32_t head = 0; head < weights.axis(1); ++head) {
        copy_map(weights, item, head, queries, keys, map);
        visit(block, head, batch[item], WeightMap{map, queries, visible, is_cross ? keys : 0});
      }
    }
  };
  const auto batches = batches_by_length(lengths, kMaxLines, kBatchWeights / (heads * longest));
  std::future<void> visiting;  // one at a time; its end is waited for before what it reads is gone
  for (const auto& batch : batches) {
    inference::PromptText text;
    for (const std::size_t line : batch) text.ids.push_back(lines[line]);
    for (const std::size_t line : batch) {
      if (!targets.empty()) text.target_ids.push_back(targets[line]);
    }
    Clock::time_point began = Clock::now();
    run = session.run({.network = model.network, .input = inference::make_prompt(model, text).input, .masks = model.masks},
                      std::move(run));
    if (visit_run) {
      device += Clock::now() - began;
      visit_run(*run, batch);
      began = Clock::now();
    }
    for (const model::BlockRef block : blocks) {
      Tensor weights = run->stage(block, attention::Stage::Weights);
      device += Clock::now() - began;
      if (visiting.valid()) visiting.get();
      visiting = std::async(std::launch::async, [&visit_layer, &batch, block, weights = std::move(weights)] {
        visit_layer(batch, block, weights);
      });
      began = Clock::now();
    }
    done += batch.size();
    if (progress) progress(done, lines.size());
  }
  visiting.get();
  return std::chrono::duration<double>(device).count();
}

void check_has_one_stack(const inference::LanguageModel& model) {
  if (!model.description.is_encoder_decoder) return;
  throw Error("{} has an encoder and a decoder: head scores are defined for a model with one stack",
              model.description.family);
}

HeadMetrics measure_map(const WeightMap& map, const TokenRepeats* repeats) {
  HeadMeter meter = repeats ? HeadMeter(*repeats) : HeadMeter();
  for (std::uint32_t query = 0; query < map.size; ++query) meter.add(query, map.row(query), map.visible[query]);
  return meter.metrics();
}

std::vector<std::uint32_t> text_ids(const inference::LanguageModel& model, const std::string& text) {
  std::vector<std::uint32_t> ids;
  std::optional<std::uint32_t> begin = model.description.ids.bos;
  if (!begin) begin = model.tokenizer->special().beginning;
  const std::vector<text::Token> tokens = model.tokenizer->encode(text);
  if (!text::has_own_token(tokens)) return ids;
  for (const text::Token& token : tokens) ids.push_back(token.id);
  if (begin && !model.description.is_encoder_decoder && ids.front() != *begin) ids.insert(ids.begin(), *begin);
  return ids;
}

}  // namespace headlight::evaluation
