#include "app/views/neuron/neuron_pair.h"

#include <numeric>

#include "app/state/neuron_settings.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

/// A vector of a token before RoPE.
std::vector<float> unrotated(const Frame& frame, const model::Rotary& rotary, const model::TokenBatch& tokens,
                             std::uint32_t token, std::span<const float> rotated) {
  const std::uint32_t item = frame.state.selection.batch;
  return before_rotation(rotary, rotated, tokens.position(item, token), tokens.position_count(item));
}

std::vector<std::size_t> order_products(std::span<const Product> products, ProductOrder order) {
  if (order == ProductOrder::BySize) return largest_first(products);
  std::vector<std::size_t> components(products.size());
  std::iota(components.begin(), components.end(), std::size_t{0});
  return components;
}

}  // namespace

std::vector<float> NeuronPair::factors(float Product::*side) const {
  std::vector<float> values;
  for (const Product& product : chain.products) values.push_back(product.*side);
  return values;
}

std::string describe_products(std::span<const Product> products) {
  if (products.empty()) return {};
  double above = 0.0;
  double below = 0.0;
  for (const Product& product : products) (product.value() > 0.0 ? above : below) += product.value();
  const std::size_t largest = largest_first(products).front();
  return fmt::format("Largest: component {} with {}. All positive ones: {}, all negative ones: {}.", largest,
                     write_number(products[largest].value()), write_number(above), write_number(below));
}

NeuronPair read_pair(Frame& frame, const HeadSubject& subject, attention::Cell cell) {
  NeuronPair pair;
  pair.cell = cell;
  pair.is_captured = frame.result.capture != nullptr;
  const Selection& selection = frame.state.selection;
  TileNumbers numbers(frame, selection.block, selection.batch, selection.head);
  const CellQuestion question = question_about(frame, subject, attention::Stage::Weights, cell);
  const model::Layers* layers = frame.result.network ? frame.result.network->layers.get() : nullptr;
  pair.chain = explain_score(question, layers, numbers);
  pair.order = order_products(pair.chain.products, frame.state[kNeuronView.order]);
  if (!frame.result.input) return pair;
  const model::TokenBatch& queries = shown_queries(frame);
  const model::TokenBatch& keys = shown_keys(frame);
  pair.query_name = row_name(frame, cell.query);
  pair.key_name = token_name(frame, keys, cell.key);
  pair.rotary = subject.rotary(frame);
  if (!pair.rotary || !pair.is_known()) return pair;
  pair.query_before = unrotated(frame, *pair.rotary, queries, cell.query, pair.factors(&Product::left));
  pair.key_before = unrotated(frame, *pair.rotary, keys, cell.key, pair.factors(&Product::right));
  return pair;
}

}  // namespace headlight::app
