#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "app/engine/run_source.h"
#include "app/state/run_interventions.h"
#include "app/widgets/cells/arithmetic.h"
#include "engine/reference_runner.h"

namespace headlight::app {

/// One head's numbers straight from the reference.
class ReferenceNumbers final : public NumberSource {
 public:
  ReferenceNumbers(const inference::Run& run, model::BlockRef block, std::uint32_t batch, std::uint32_t head)
      : run_(run), block_(block), batch_(batch), head_(head) {}

  Numbers row(attention::Stage stage, std::uint32_t row) override {
    return numbers(stage, row, 1, 0, extent(stage).columns);
  }
  Numbers column(attention::Stage stage, std::uint32_t column) override {
    return numbers(stage, 0, extent(stage).rows, column, 1);
  }
  std::optional<float> value(attention::Stage stage, std::uint32_t row, std::uint32_t column) override {
    return numbers(stage, row, 1, column, 1)->front();
  }
  std::optional<Softmax> softmax(std::uint32_t row) override {
    const attention::Tile tile = evaluate(attention::Stage::Weights, row, 1, 0, 1);
    return Softmax{.max = tile.row_max.front(), .sum = tile.row_sum.front()};
  }
  Numbers memory(std::uint32_t row) override {
    const Tensor memory = run_.encoder_output();
    const std::size_t width = memory.axis(2);
    const auto begin =
        memory.values.begin() + static_cast<std::ptrdiff_t>((std::size_t{batch_} * memory.axis(1) + row) * width);
    return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(width));
  }

 private:
  inference::BlockShape::Extent extent(attention::Stage stage) const { return *run_.shape(block_).extent(stage); }
  attention::Tile evaluate(attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                           std::uint32_t columns) {
    const attention::TileRequest request{.block = block_,
                                         .batch = batch_,
                                         .head = head_,
                                         .stage = stage,
                                         .row = row,
                                         .rows = rows,
                                         .column = column,
                                         .columns = columns,
                                         .pool = 1};
    return std::move(run_.evaluate(std::vector{request}).front());
  }
  Numbers numbers(attention::Stage stage, std::uint32_t row, std::uint32_t rows, std::uint32_t column,
                  std::uint32_t columns) {
    return evaluate(stage, row, rows, column, columns).values;
  }

  const inference::Run& run_;
  model::BlockRef block_;
  std::uint32_t batch_, head_;
};

/// A state's run on the reference.
struct ReferenceScene {
  explicit ReferenceScene(const State& state) {
    source = sources.build(run_inputs(state));
    run = std::make_shared<ReferenceRun>(
        inference::PassInputs{.network = source.network,
                              .input = *source.input,
                              .masks = state.masks,
                              .interventions = interventions_of(run_inputs(state), *source.network)});
    masks = state.masks;
  }

  CellQuestion question(model::BlockRef block, std::uint32_t head) const {
    CellQuestion asked;
    asked.layer = &source.network->layer(block);
    asked.geometry = {.shape = run->shape(block),
                      .merge = asked.layer->config.merge,
                      .is_self = block.kind != model::BlockKind::Cross,
                      .head = head};
    asked.fill = masks[block.kind].fill;
    return asked;
  }

  RunSource sources;
  RunSource::Source source;
  std::shared_ptr<const inference::Run> run;
  attention::MaskSet masks;
};

}  // namespace headlight::app
