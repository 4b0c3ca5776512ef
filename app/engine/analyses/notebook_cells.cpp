#include "app/engine/analyses/notebook_cells.h"

#include "core/error.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

using attention::Stage;
using inference::NotebookCell;
using inference::NotebookPart;

constexpr std::size_t kMaxListed = std::size_t{1} << 18U;  ///< numbers of a stage

/// What was read of the pass so far.
struct ReadStages {
  std::map<std::pair<model::BlockRef, Stage>, Tensor> numbers, visible;
};

/// Returns the whole stage of a block; of a map, where `wants_visible`, 1 for each cell that the mask shows.
Task<Tensor> read_stage(model::BlockRef block, inference::BlockShape shape, Stage stage, bool wants_visible) {
  const auto extent = shape.extent(stage);
  if (!extent) throw Error("this pass has no {}", to_string(stage));
  const std::uint32_t heads = shape.matrices(stage);
  const std::size_t count = std::size_t{shape.batch} * heads * extent->rows * extent->columns;
  if (count > kMaxListed) throw Error("{} has {} numbers, too many to list", to_string(stage), count);
  Reads reads;
  for (std::uint32_t batch = 0; batch < shape.batch; ++batch) {
    for (std::uint32_t head = 0; head < heads; ++head) {
      // Of K and V a request names a head that has the matrix.
      const std::uint32_t asked = is_of_keys(stage) ? head * shape.group() : head;
      reads.tiles.push_back(
          {.block = block, .batch = batch, .head = asked, .stage = stage, .rows = extent->rows, .columns = extent->columns});
    }
  }
  const Answers read = co_await std::move(reads);
  Tensor tensor;
  tensor.shape = {shape.batch, heads, extent->rows, extent->columns};
  tensor.values.reserve(count);
  for (const attention::Tile& tile : read.tiles) {
    if (!wants_visible) tensor.values.insert(tensor.values.end(), tile.values.begin(), tile.values.end());
    for (std::size_t i = 0; wants_visible && i < tile.masked.size(); ++i)
      tensor.values.push_back(tile.masked[i] != 0 ? 0.0F : 1.0F);
  }
  co_return tensor;
}

/// Reads what a part needs and isn't known yet.
Task<bool> read_part(inference::NotebookReads needed, model::BlockRef block, AnalysisSubject subject,
                     std::shared_ptr<ReadStages> known) {
  const auto shape = subject.shapes.find(block);
  if (shape == subject.shapes.end()) throw Error("this network has no such attention");
  for (const Stage stage : needed.stages) {
    if (known->numbers.contains({block, stage})) continue;
    Task<Tensor> reading = read_stage(block, shape->second, stage, false);
    Tensor read = co_await std::move(reading);
    known->numbers.insert_or_assign({block, stage}, std::move(read));
  }
  if (needed.has_visible && !known->visible.contains({block, Stage::Weights})) {
    Task<Tensor> reading = read_stage(block, shape->second, Stage::Weights, true);
    Tensor read = co_await std::move(reading);
    known->visible.insert_or_assign({block, Stage::Weights}, std::move(read));
  }
  co_return true;
}

std::uint64_t seed_of(const Source& source) {
  const inference::NotebookRecipe& own = inference::notebook_preset(notebook_name(source)).recipe;
  const std::optional<std::uint64_t>& typed = notebook_edits(source).recipe.seed;
  return typed ? *typed : own.seed.value_or(0);
}

}  // namespace

Task<NotebookFound> analyse(NotebookQuestion question, AnalysisSubject subject) {
  const RunInputs& inputs = *subject.inputs;
  if (!is_notebook(inputs.source)) throw Error("a notebook's numbers need its preset");
  const auto& pages = inference::notebook_pages();
  const auto page = std::ranges::find(pages, question.page, &inference::NotebookPage::name);
  if (page == pages.end()) throw Error("there is no notebook '{}'", question.page);
  const auto chosen = std::ranges::find(page->cells, question.cell, &NotebookCell::id);
  if (chosen == page->cells.end()) throw Error("notebook {} has no cell '{}'", question.page, question.cell);
  const auto known = std::make_shared<ReadStages>();
  const inference::NotebookPass pass{
      .network = *subject.network,
      .input = *subject.input,
      .masks = inputs.masks,
      .seed = seed_of(inputs.source),
      .is_plain = inputs.gains.empty() && inputs.patterns.empty() && inputs.changes.empty() && inputs.settings == Choices(),
      .stage =
          [known](model::BlockRef block, Stage stage) {
            return known->numbers.at({block, stage});
          },
      .visible =
          [known](model::BlockRef block) {
            return known->visible.at({block, Stage::Weights});
          }};
  NotebookFound found;
  for (const NotebookCell& cell : page->cells) {
    if (cell.preset != chosen->preset || cell.edits != chosen->edits) continue;
    NotebookFound::Cell& listed = found.cells[cell.id];
    try {
      for (const NotebookPart& part : cell.parts) {
        Task<bool> reading = read_part(inference::reads_of(part), {.kind = part.block, .layer = {}}, subject, known);
        co_await std::move(reading);
        listed.parts.push_back(inference::numbers_of(pass, part));
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled || error.kind() == ErrorKind::DeviceLost) throw;
      listed.parts.clear();
      listed.error = error.what();
    }
  }
  co_return found;
}

}  // namespace headlight::app
