#include "inference/run.h"

#include <algorithm>

#include "attention/layer_graph.h"
#include "core/error.h"
#include "model/reference.h"

namespace headlight::inference {

BlockShape shape_of(const model::AttentionLayer& layer, model::BlockKind kind, const model::ModelInput& input) {
  const model::TokenBatch& queries = input.queries(kind);
  return attention::shape_of(layer, queries.batch, queries.length, input.keys(kind).length);
}

Tensor Run::logits(std::span<const StateRef> /*states*/) const { throw Error("a run of attention alone has no logits"); }

std::vector<Tensor> Run::products(std::span<const Product> products) const {
  std::vector<Tensor> result;
  for (const Product& product : products) {
    const model::Unembedding* unembedding = product.weight ? nullptr : &inputs().network->layers->unembedding.value();
    model::reference::Array rows = model::reference::widen(product.rows);
    if (unembedding != nullptr) {
      for (double& value : rows.values) value *= double{unembedding->scale};
    }
    const model::reference::Array found =
        model::reference::apply(product.weight ? *product.weight : unembedding->linear, rows);
    Tensor& narrow = result.emplace_back(found.shape);
    std::ranges::transform(found.values, narrow.values.begin(), [](double value) { return static_cast<float>(value); });
  }
  return result;
}

std::vector<Tensor> Run::residuals(std::span<const ResidualRows> /*requests*/) const {
  throw Error("a run of attention alone has no residual stream");
}

Tensor Run::stage(model::BlockRef block, attention::Stage stage) const {
  const BlockShape shape = this->shape(block);
  const auto extent = shape.extent(stage);
  if (!extent) throw Error("the {} attention has no stage '{}'", to_string(block.kind), to_string(stage));
  const std::uint32_t heads = shape.matrices(stage);
  const std::uint32_t step = attention::is_of_keys(stage) ? shape.group() : 1;  // requests name heads of queries
  Tensor result(attention::is_per_head(stage) ? Shape{shape.batch, heads, extent->rows, extent->columns}
                                              : Shape{shape.batch, extent->rows, extent->columns});
  std::vector<attention::TileRequest> requests;
  for (std::uint32_t batch = 0; batch < shape.batch; ++batch) {
    for (std::uint32_t head = 0; head < heads; ++head) {
      requests.push_back({.block = block,
                          .batch = batch,
                          .head = head * step,
                          .stage = stage,
                          .rows = extent->rows,
                          .columns = extent->columns});
    }
  }
  auto target = result.values.begin();
  for (const attention::Tile& tile : evaluate(requests)) target = std::copy(tile.values.begin(), tile.values.end(), target);
  return result;
}

}  // namespace headlight::inference
