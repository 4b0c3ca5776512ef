#include "ops/attention_case.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "attention/mask_words.h"
#include "attention/reference.h"
#include "ops/attention.h"
#include "ops/attention_blocks.h"
#include "support/expressions.h"
#include "support/gpu_tensors.h"

namespace headlight::test {
namespace {

constexpr std::size_t kMaxWork = 3'000'000;  // multiply-adds of one case
constexpr std::uint32_t kLayers = 4;         // of the stack that a case is of

attention::BooleanMask random_matrix(Random& random, const AttentionCase& one) {
  attention::BooleanMask matrix{.batch = random.pick({1u, one.batch}),
                                .heads = random.pick({1u, one.config.heads}),
                                .queries = one.queries,
                                .keys = one.keys,
                                .keep = {}};
  matrix.keep.resize(std::size_t{matrix.batch} * matrix.heads * matrix.queries * matrix.keys);
  const double kept = random.pick({0.2, 0.5, 0.9});
  for (std::uint8_t& keep : matrix.keep) keep = random.chance(kept) ? 1 : 0;
  return matrix;
}

attention::PaintedCells random_paint(Random& random, const AttentionCase& one) {
  attention::PaintedCells painted;
  const std::uint32_t count = random.between(1, 12);
  for (std::uint32_t i = 0; i < count; ++i) {
    attention::PaintScope scope;
    if (random.chance(0.5)) scope.layer = random.pick({one.layer, one.layer + 1});
    if (random.chance(0.5)) scope.batch = random.below(one.batch);
    if (random.chance(0.5)) scope.head = random.below(one.config.heads);
    const bool is_visible = random.chance(0.5);
    painted[scope].paint({random.below(one.queries), random.below(one.keys)}, is_visible);
  }
  return painted;
}

/// Weights in some rows, some of them 0.
attention::ReplacementPattern random_pattern(Random& random, const AttentionCase& one) {
  std::vector<attention::Painted<float>> weights;
  const std::uint32_t count = random.between(1, 40);
  for (std::uint32_t i = 0; i < count; ++i) {
    const attention::Cell cell{random.below(one.queries), random.below(one.keys)};
    weights.emplace_back(cell, random.pick({0.0f, 0.01f, 0.25f, 1.0f}));
  }
  return {attention::FixedPattern::Painted, attention::NumberRuns(std::move(weights))};
}

attention::PaintedBiases random_biases(Random& random, const AttentionCase& one) {
  attention::PaintedBiases biases;
  const std::uint32_t scopes = random.between(1, 3), cells = random.pick({1u, 5u, 60u});
  for (std::uint32_t i = 0; i < scopes; ++i) {
    attention::PaintScope scope;
    if (random.chance(0.5)) scope.layer = random.pick({one.layer, one.layer + 1});
    if (random.chance(0.5)) scope.batch = random.below(one.batch);
    if (random.chance(0.5)) scope.head = random.below(one.config.heads);
    std::vector<attention::Painted<float>> painted;
    for (std::uint32_t cell = 0; cell < cells; ++cell) {
      painted.emplace_back(attention::Cell{random.below(one.queries + 3), random.below(one.keys + 3)}, random.number(3.0f));
    }
    biases[scope] = attention::NumberRuns(std::move(painted));
  }
  return biases;
}

void add_documents(Random& random, AttentionCase& one) {
  for (std::uint32_t item = 0; item < one.batch; ++item) {
    std::vector<std::uint32_t> begins(random.between(0, 3));
    for (std::uint32_t& begin : begins) begin = random.below(std::max(one.queries, one.keys) + 2);
    attention::set_documents(one.mask, item, std::move(begins));
  }
}

model::PositionBias random_position_bias(Random& random, const AttentionCase& one) {
  model::PositionBias bias;
  if (random.chance(0.4)) {
    const bool is_of_keys = random.chance(0.5);
    bias.kind = is_of_keys ? model::PositionBias::Kind::KeySlopes : model::PositionBias::Kind::Slopes;
    bias.factor = is_of_keys ? 0.5f : 1.0f;
    bias.table = random.tensor({one.config.heads}, 0.1f);
    return bias;
  }
  bias.table = random.tensor({random.pick({8u, 32u}), one.config.heads}, 2.0f);
  bias.max_distance = random.pick({20u, 128u});
  bias.is_bidirectional = random.chance(0.5);
  return bias;
}

std::size_t work(const AttentionCase& one) {
  return std::size_t{one.batch} * one.config.heads * one.queries * one.keys * (one.config.d_k + one.config.d_v);
}

void fill_numbers(Random& random, AttentionCase& one, float range) {
  const std::uint32_t heads = one.config.heads;
  one.q = random.tensor({one.batch, heads, one.queries, one.config.d_k}, range);
  one.k = random.tensor({one.batch, one.config.kv_head_count(), one.keys, one.config.d_k}, range);
  one.v = random.tensor({one.batch, one.config.kv_head_count(), one.keys, one.config.d_v});
}

}  // namespace

attention::KeyRange AttentionCase::keys_of(std::uint32_t item) const {
  const std::uint32_t start = key_starts.empty() ? 0 : key_starts[item];
  return {start, start + key_lengths[item]};
}

attention::ExpressionMap AttentionCase::map(std::uint32_t item, std::uint32_t head) const {
  const auto of_item = [&](const std::vector<std::uint32_t>& ids, std::uint32_t tokens) {
    return ids.empty() ? std::span<const std::uint32_t>() : std::span(ids).subspan(std::size_t{item} * tokens, tokens);
  };
  return {.layer = layer,
          .layers = kLayers,
          .head = head,
          .heads = config.heads,
          .queries = queries,
          .keys = keys,
          .tokens = {.query_ids = of_item(query_ids, queries), .key_ids = of_item(key_ids, keys)}};
}

bool AttentionCase::is_visible(std::uint32_t item, std::uint32_t head, attention::Cell cell) const {
  const bool is_of_mask = mask.is_visible(map(item, head), item, cell, keys_of(item));
  if (patterns.empty() || !patterns[head]) return is_of_mask;
  const attention::KeyRange range = mask.rule.key_padding ? keys_of(item) : attention::KeyRange(keys);
  return is_of_mask && attention::shows(*patterns[head], cell.query, cell.key, range);
}

double AttentionCase::score(std::uint32_t item, std::uint32_t head, attention::Cell cell, double scaled) const {
  const double score = mask.score(map(item, head), item, cell, scaled);
  return patterns.empty() || !patterns[head] ? score : attention::score_of(*patterns[head], cell, score);
}

void AttentionCase::replace_patterns(Random& random) {
  using attention::FixedPattern;
  for (std::uint32_t head = 0; head < config.heads; ++head) {
    patterns.push_back(std::nullopt);
    if (random.chance(0.6)) {
      patterns.back() =
          random.pick({FixedPattern::Uniform, FixedPattern::Diagonal, FixedPattern::Previous, FixedPattern::First});
    }
    if (patterns.back() && random.chance(0.3)) patterns.back() = random_pattern(random, *this);
    if (patterns.back() != FixedPattern::Uniform) continue;
    const std::size_t size = std::size_t{queries} * config.d_k;
    for (std::uint32_t item = 0; item < batch; ++item) {
      const auto from = q.values.begin() + static_cast<std::ptrdiff_t>((std::size_t{item} * config.heads + head) * size);
      std::fill_n(from, size, 0.0f);
    }
  }
}

AttentionCase random_attention(Random& random) {
  AttentionCase one;
  const auto tokens = [&] {
    return random.pick({1u, 2u, 3u, 5u, 7u, 8u, 9u, 16u, 17u, 31u, 32u, 33u, 63u, 64u, 65u, 127u, 128u, 129u});
  };
  const auto width = [&] { return random.pick({1u, 2u, 3u, 4u, 5u, 8u, 15u, 16u, 33u, 64u, 65u, 127u, 129u, 200u}); };
  do {
    one.batch = random.between(1, 3);
    one.queries = tokens();
    one.keys = random.chance(0.5) ? one.queries : tokens();
    one.config.heads = random.between(1, 5);
    one.config.kv_heads = 0;
    if (random.chance(0.35)) {
      one.config.kv_heads = random.between(1, 2);
      one.config.heads = one.config.kv_heads * random.between(2, 3);
    }
    one.config.d_k = width();
    one.config.d_v = width();
  } while (work(one) > kMaxWork);
  one.config.d_model = one.config.heads * one.config.d_v;
  one.layer = random.below(3);
  if (random.chance(0.2)) one.config.scale = {.kind = model::Scale::Kind::None};
  if (random.chance(0.2)) one.config.scale = {.kind = model::Scale::Kind::Value, .value = random.number(0.5f)};
  if (random.chance(0.25)) one.config.merge = model::MergeOrder::WithoutTranspose;
  if (random.chance(0.25)) one.config.softcap = random.pick({0.5f, 2.0f, 30.0f});
  if (random.chance(0.3)) one.position_bias = random_position_bias(random, one);
  if (random.chance(0.3)) one.first_query = random.below(one.queries);

  const bool is_padded_left = random.chance(0.3);
  for (std::uint32_t item = 0; item < one.batch; ++item) {
    one.key_lengths.push_back(random.chance(0.5) ? one.keys : random.between(0, one.keys));
    if (is_padded_left) one.key_starts.push_back(random.between(0, one.keys - one.key_lengths.back()));
  }
  attention::MaskRule& rule = one.mask.rule;
  rule.causal = random.chance(0.4);
  rule.window = random.chance(0.3) ? random.between(1, one.keys + 2) : 0;
  rule.prefix = random.chance(0.25) ? random.between(1, one.keys + 2) : 0;
  rule.key_padding = random.chance(0.7);
  one.mask.fill = random.pick(
      {attention::MaskFill::NegativeInfinity, attention::MaskFill::MinusOneBillion, attention::MaskFill::MinusTenBillion});
  if (random.chance(0.25)) one.mask.matrix = random_matrix(random, one);
  if (random.chance(0.3)) one.mask.painted = random_paint(random, one);
  if (random.chance(0.3)) one.mask.biases = random_biases(random, one);
  if (random.chance(0.25)) add_documents(random, one);
  fill_numbers(random, one, random.pick({0.1f, 1.0f, 2.0f}));
  if (random.chance(0.3)) one.replace_patterns(random);
  return one;
}

AttentionCase plain_attention(Random& random, std::uint32_t batch, std::uint32_t heads, std::uint32_t queries,
                              std::uint32_t keys, std::uint32_t d_k, std::uint32_t d_v) {
  AttentionCase one;
  one.config = {.d_model = heads * d_v, .heads = heads, .d_k = d_k, .d_v = d_v};
  one.batch = batch;
  one.queries = queries;
  one.keys = keys;
  one.key_lengths.assign(batch, keys);
  fill_numbers(random, one, 1.0f);
  return one;
}

AttentionCase expressed_attention(Random& random, std::uint32_t number) {
  AttentionCase one = plain_attention(random, 2, 4, 45, 67, 9, 6);
  one.config.kv_heads = 2;
  fill_numbers(random, one, 1.0f);
  one.key_lengths = {67, 50};
  one.layer = 2;
  for (std::uint32_t i = 0; i < 2 * one.queries; ++i) one.query_ids.push_back(random.below(20));
  for (std::uint32_t i = 0; i < 2 * one.keys; ++i) one.key_ids.push_back(random.below(20));
  const char* mask = "abs(q - k) < slider(width, 1, 256, 16) && (q - k) % int(slider(stride, 1, 8, 2)) == 0";
  const char* score = "score - exp2(-8.0 * float(head + 1) / float(n_heads)) * float(abs(q - k))";
  if (number == 1) {
    mask = "id_q % 3 == id_k % 3 || k < q / 2 + layer";
    score = "slider(cap, 1, 100, 3) * tanh(score / cap)";
    one.mask.rule.causal = true;
    one.mask.fill = attention::MaskFill::MinusOneBillion;
    one.config.softcap = 2.0f;
  } else if (number == 2) {
    mask = "k < slider(sinks, 0, 16, 4) || abs(q - k) < n_k / n_layers || (q ^ k) % 5 == head";
    score =
        "mix(score, sqrt(abs(score)) + float(id_k - id_q) * 0.1, slider(part, 0, 1, 0.4)) + pow(float(k + 1), 0.3) - "
        "log(float(n_q + layer)) + 0.2 * sin(float(k))";
    one.mask.sliders = {{"part", 0.75f}, {"sinks", 2.0f}};
    one.mask.painted[{}].paint({3, 60}, true);
    one.mask.painted[{.head = 1}].paint({4, 4}, false);
  } else if (number == 3) {
    // The expression has no functions, whose errors differ between drivers: where few keys are visible, these errors
    // are a larger part of a sum.
    score = "score * 0.5 - 0.1 * float(abs(q - k))";
    one.replace_patterns(random);
  }
  one.mask.mask_expression = mask_expression(mask);
  one.mask.score_expression = score_expression(score);
  return one;
}

std::string describe(const AttentionCase& one) {
  return fmt::format(
      "batch {}, {} query heads, {} KV heads, {} × {} tokens from query {} on, d {} and {}, mask {}, padding {}, fill "
      "{}{}{}{}, softcap {}{}{}",
      one.batch, one.config.heads, one.config.kv_head_count(), one.queries, one.keys, one.first_query, one.config.d_k,
      one.config.d_v, attention::to_string(one.mask.rule), one.mask.rule.key_padding, attention::to_string(one.mask.fill),
      one.mask.matrix ? ", a matrix" : "", one.mask.painted.empty() ? "" : ", painted",
      one.patterns.empty() ? "" : ", patterns", one.config.softcap,
      !one.position_bias                                             ? ""
      : one.position_bias->kind == model::PositionBias::Kind::Slopes ? ", slopes"
                                                                     : ", distance buckets",
      one.key_starts.empty() ? "" : ", padded on the left");
}

AttentionResult<double> expected(const AttentionCase& one) {
  const auto widened = [](const Tensor& tensor) {
    return model::reference::Array{tensor.shape, std::vector<double>(tensor.values.begin(), tensor.values.end())};
  };
  model::reference::AttentionStages stages;
  stages[attention::Stage::Q] = widened(one.q);
  stages[attention::Stage::K] = widened(one.k);
  stages[attention::Stage::V] = widened(one.v);
  const auto is_visible = [&](model::BlockRef, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                              std::uint32_t key) {
    return one.is_visible(batch, head, {query, key});
  };
  const auto score = [&](model::BlockRef, std::uint32_t batch, std::uint32_t head, std::uint32_t query, std::uint32_t key,
                         double number) {
    if (one.position_bias) number += one.position_bias->of_cell(head, query, key, one.keys_of(batch).begin);
    return one.score(batch, head, {query, key}, number);
  };
  const double fill = static_cast<double>(attention::fill_value(one.mask.fill));
  model::reference::attend({one.config, {.layer = LayerIndex{one.layer}}, is_visible, fill, score}, stages);
  return {stages[attention::Stage::Heads].values, stages.row_max.values, stages.row_sum.values};
}

attention::DeviceMask put_mask(gpu::Stream& stream, const AttentionCase& one) {
  std::vector<std::uint32_t> ranges;
  for (std::uint32_t item = 0; item < one.batch; ++item) {
    ranges.push_back(one.keys_of(item).begin);
    ranges.push_back(one.keys_of(item).end);
  }
  const std::vector<std::uint32_t> bias =
      one.position_bias ? attention::position_bias_words(*one.position_bias, std::max(one.queries, one.keys), ranges)
                        : std::vector<std::uint32_t>();
  return attention::upload_mask(stream, one.mask,
                                {one.layer, one.batch, one.config.heads, one.queries, one.keys, kLayers, one.patterns},
                                ranges, bias, {.query_ids = one.query_ids, .key_ids = one.key_ids});
}

ops::AttentionInputs attention_inputs(const AttentionCase& one, const ops::DeviceTensor& q, const ops::DeviceTensor& k,
                                      const ops::DeviceTensor& v, const attention::DeviceMask& mask) {
  return {.q = q,
          .k = k,
          .v = v,
          .mask = attention::mask_data(mask),
          .scale = one.config.scale.factor(one.config.d_k),
          .softcap = one.config.softcap,
          .queries = {one.first_query, one.queries - one.first_query},
          .keys = one.keys};
}

namespace {

constexpr float kUnwritten = 7.25f;  // no output or statistic of the random inputs is exactly this

Tensor marked(Shape shape) {
  Tensor tensor(std::move(shape));
  std::fill(tensor.values.begin(), tensor.values.end(), kUnwritten);
  return tensor;
}

bool all_are(std::span<const float> values, float wanted) {
  return std::all_of(values.begin(), values.end(), [&](float value) { return value == wanted; });
}

/// [.., query, width] without the queries that weren't computed.
template <typename Number>
std::vector<Number> computed(const std::vector<Number>& rows, const AttentionCase& one, std::uint32_t width) {
  std::vector<Number> kept;
  for (std::size_t at = 0; at < rows.size(); at += width) {
    if (at / width % one.queries < one.first_query) continue;
    kept.insert(kept.end(), rows.begin() + static_cast<std::ptrdiff_t>(at),
                rows.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
  return kept;
}

}  // namespace

AttentionResult<float> run(ops::Kernels& kernels, const AttentionCase& one, ops::AttentionKernel kind) {
  gpu::Context& context = kernels.context();
  kernels.set_tuning({.attention = kind});
  const std::uint32_t heads = one.config.heads, d_v4 = ops::divide_up(one.config.d_v, 4);
  const ops::MergedLayout layout = one.config.merge == model::MergeOrder::Concatenate
                                       ? ops::concatenated(heads, d_v4)
                                       : ops::without_transpose(one.queries, d_v4);
  gpu::Stream stream(context);
  const ops::DeviceTensor q = put(stream, one.q), k = put(stream, one.k), v = put(stream, one.v);
  const attention::DeviceMask mask = put_mask(stream, one);
  const ops::DeviceTensor merged(stream, one.batch, 1, one.queries, heads * d_v4 * 4, "a test");
  const ops::DeviceTensor stats = ops::make_stats(stream, one.batch, heads, one.queries);
  const ops::AttentionScratch scratch(context, heads, one.queries, one.keys, one.batch);
  merged.upload(stream, marked({one.batch, 1, one.queries, merged.width}));
  stats.upload(stream, marked({1, 1, 1, stats.width}));
  ops::attention(stream, kernels, attention_inputs(one, q, k, v, mask), {merged, stats, layout},
                 ops::needs_scratch(ops::attention_kernel(kernels, mask.data)) ? &scratch : nullptr);
  const gpu::Download merged_bytes = stream.download(merged.buffer()), stats_bytes = stream.download(stats.buffer());
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();

  AttentionResult<float> result;
  result.dispatches = submission.dispatches();
  const auto values = submission.values<float>(merged_bytes), pairs = submission.values<float>(stats_bytes);
  for (std::uint32_t item = 0; item < one.batch; ++item) {
    for (std::uint32_t head = 0; head < heads; ++head) {
      for (std::uint32_t i = 0; i < one.queries; ++i) {
        const std::size_t at =
            (std::size_t{item} * merged.stride4() + std::size_t{i} * layout.row4 + std::size_t{head} * layout.head4) * 4;
        const auto slot = values.subspan(at, std::size_t{d_v4} * 4);
        result.heads.insert(result.heads.end(), slot.begin(), slot.begin() + one.config.d_v);
        const std::size_t row = (std::size_t{item} * heads + head) * one.queries + i;
        if (i < one.first_query) {
          result.is_rest_untouched =
              result.is_rest_untouched && all_are(slot, kUnwritten) && all_are(pairs.subspan(2 * row, 2), kUnwritten);
        } else {
          result.is_padding_zero = result.is_padding_zero && all_are(slot.subspan(one.config.d_v), 0.0f);
        }
        const bool is_hidden = pairs[2 * row] == std::numeric_limits<float>::lowest();
        result.row_max.push_back(is_hidden ? -std::numeric_limits<float>::infinity() : pairs[2 * row]);
        result.row_sum.push_back(pairs[2 * row + 1]);
      }
    }
  }
  return result;
}

AttentionDeviation deviation(const AttentionCase& one, const AttentionResult<float>& result,
                             const AttentionResult<double>& expected) {
  const auto of = [&](const std::vector<float>& found, const std::vector<double>& wanted, std::uint32_t width) {
    return deviation(computed(found, one, width), computed(wanted, one, width));
  };
  return {of(result.heads, expected.heads, one.config.d_v), of(result.row_max, expected.row_max, 1),
          of(result.row_sum, expected.row_sum, 1)};
}

}  // namespace headlight::test
