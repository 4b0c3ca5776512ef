#include "app/quantities/evaluation.h"

#include "core/error.h"

namespace headlight::app {
namespace {

class StageEvaluation final : public Evaluation {
 public:
  explicit StageEvaluation(const TileQuery& query) : request_(stage_request(query)) {}

  Step next(std::size_t /*most_cells*/) override { return {.of = Of::Run, .requests = {request_}}; }
  void take(std::vector<attention::Tile> tiles) override {
    tile_ = std::move(tiles.front());
    is_done_ = true;
  }
  bool is_done() const override { return is_done_; }
  attention::Tile result() override { return std::move(tile_); }

 private:
  attention::TileRequest request_;
  attention::Tile tile_;
  bool is_done_ = false;
};

}  // namespace

std::unique_ptr<Evaluation> begin_stage(const TileQuery& query, const BlockShapes& /*shapes*/) {
  return std::make_unique<StageEvaluation>(query);
}

attention::Tile evaluate(const Runs& runs, const TileQuery& query) {
  constexpr std::size_t kCellsAtOnce = std::size_t{1} << 21;
  const BlockShapes shapes = shapes_of(runs.run);
  if (!is_inside(query, shapes)) throw Error("the run has no such tile of {}", quantity(query.quantity).title);
  const std::unique_ptr<Evaluation> evaluation = quantity(query.quantity).begin(query, shapes);
  while (!evaluation->is_done()) {
    const Evaluation::Step step = evaluation->next(kCellsAtOnce);
    const inference::Run* run = step.of == Evaluation::Of::Run ? &runs.run : runs.reference;
    if (run == nullptr) throw Error("{} need a run to compare with", quantity(query.quantity).title);
    evaluation->take(run->evaluate(step.requests));
  }
  return evaluation->result();
}

BlockShapes shapes_of(const inference::Run& run) {
  BlockShapes shapes;
  for (const model::BlockRef block : run.blocks()) shapes[block] = run.shape(block);
  return shapes;
}

}  // namespace headlight::app
