#include "inference/golden_run.h"
#include "support/deviation.h"
#include "support/running_session.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace headlight::test {
namespace {

using attention::Stage;
using inference::Stack;
using model::BlockKind;

/// Rows of padded queries are zero in the golden maps and arbitrary here.
double map_error(const Tensor& found, const Tensor& golden, std::size_t layer, const model::TokenBatch& queries) {
  const std::uint32_t heads = found.axis(1), rows = found.axis(2), keys = found.axis(3);
  const std::size_t first = layer * found.values.size();
  double worst = 0.0;
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    const auto row = static_cast<std::uint32_t>(i / keys % rows);
    const auto item = static_cast<std::uint32_t>(i / keys / rows / heads);
    if (row < queries.start(item) || row >= queries.start(item) + queries.lengths[item]) continue;
    widen(worst, found.values[i], golden.values[first + i]);
  }
  return worst;
}

/// `found` and `golden` are [batch, token, width], or [layer, batch, token, width]: then of the worst layer.
double row_error(const Tensor& found, const Tensor& golden, const model::TokenBatch& tokens) {
  if (golden.is_empty()) return 0.0;
  const Shape shape(found.shape.end() - 3, found.shape.end());
  const std::size_t layer = element_count(shape);
  if (found.shape != golden.shape) return 1e9;
  double worst = 0.0;
  for (std::size_t at = 0; at < found.values.size(); at += layer) {
    const auto begin = found.values.begin() + static_cast<std::ptrdiff_t>(at);
    const RowDeviation deviation =
        row_deviation(shape, std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(layer)),
                      std::span(golden.values).subspan(at, layer), tokens);
    raise_to(worst, deviation.largest / deviation.root_square);
  }
  return worst;
}

std::vector<std::size_t> top_ten(std::span<const float> logits) {
  std::vector<std::size_t> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto ten = order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(10, order.size()));
  std::partial_sort(order.begin(), ten, order.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  order.resize(static_cast<std::size_t>(ten - order.begin()));
  return order;
}

void compare(test::RunningSession& session, const GoldenCase& golden, GoldenDifference& worst) {
  for (const model::BlockRef block : session.blocks()) {
    const Tensor& maps = block.kind == BlockKind::Cross         ? golden.cross_attentions
                         : block.kind == BlockKind::DecoderSelf ? golden.decoder_attentions
                         : golden.attentions.is_empty()         ? golden.encoder_attentions
                                                                : golden.attentions;
    raise_to(worst.attention,
             map_error(session.stage(block, Stage::Weights), maps, block.layer.value, golden.input.queries(block.kind)));
  }
  const bool has_decoder = golden.input.target.has_value();
  const Tensor& encoder = has_decoder ? golden.encoder_hidden : golden.hidden;
  raise_to(worst.hidden, row_error(session.hidden(Stack::Encoder), encoder, golden.input.source));
  if (has_decoder) {
    raise_to(worst.hidden, row_error(session.hidden(Stack::Decoder), golden.decoder_hidden, *golden.input.target));
  }
  if (golden.logits.is_empty()) return;
  const model::TokenBatch& tokens = has_decoder ? *golden.input.target : golden.input.source;
  const Tensor logits = session.logits();
  raise_to(worst.logits, row_error(logits, golden.logits, tokens));
  const std::uint32_t width = logits.axis(2);
  for (std::size_t row = 0; row < logits.values.size() / width; ++row) {
    const auto item = static_cast<std::uint32_t>(row / tokens.length),
               token = static_cast<std::uint32_t>(row % tokens.length);
    if (token < tokens.start(item) || token >= tokens.start(item) + tokens.lengths[item]) continue;
    const auto here = std::span(logits.values).subspan(row * width, width);
    const auto there = std::span(golden.logits.values).subspan(row * width, width);
    if (top_ten(here) != top_ten(there)) ++worst.unordered;
  }
}

}  // namespace

/// The mask that a case was computed with, as a user would set it.
attention::MaskSet masks_of(const model::ModelDescription& description, const GoldenCase& golden) {
  attention::MaskSet masks;
  for (const BlockKind kind : {BlockKind::EncoderSelf, BlockKind::DecoderSelf, BlockKind::Cross}) {
    attention::MaskSpec& mask = masks[kind];
    mask.rule.causal = is_causal(description, kind);
    mask.rule.key_padding = true;
    if (golden.visible.is_empty()) continue;
    mask.rule.causal = false;
    attention::BooleanMask matrix{.queries = golden.visible.axis(0), .keys = golden.visible.axis(1), .keep = {}};
    for (const float visible : golden.visible.values) matrix.keep.push_back(visible != 0.0f ? 1 : 0);
    mask.matrix = std::move(matrix);
  }
  return masks;
}

GoldenDifference run_golden(gpu::Context& context, const model::LoadedNetwork& loaded, const std::vector<GoldenCase>& cases,
                            inference::Precision precision) {
  test::RunningSession session(context);
  return run_golden(session, loaded, cases, precision);
}

GoldenDifference run_golden(RunningSession& session, const model::LoadedNetwork& loaded,
                            const std::vector<GoldenCase>& cases, inference::Precision precision) {
  GoldenDifference worst;
  const auto network = std::make_shared<const model::Network>(loaded.network);
  session.load(network->layers, precision);
  for (const GoldenCase& golden : cases) {
    session.run(network, golden.input, masks_of(loaded.description, golden));
    compare(session, golden, worst);
  }
  return worst;
}

}  // namespace headlight::test
