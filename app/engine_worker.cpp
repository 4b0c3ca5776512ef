#include "app/engine_worker.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells evaluated before the first heatmap of a run may be seen, and between two looks at newer requests after that.
constexpr std::size_t kFirstChunkCells = std::size_t{1} << 18;
constexpr std::size_t kChunkCells = std::size_t{1} << 21;

bool is_inside(const attention::TileRequest& request, const BlockShapes& shapes) {
  const auto found = shapes.find(request.block);
  if (found == shapes.end()) return false;
  const inference::BlockShape& shape = found->second;
  const std::optional<inference::BlockShape::Extent> extent = shape.extent(request.stage);
  const bool has_head = !attention::is_per_head(request.stage) || request.head < shape.heads;
  return extent && has_head && request.batch < shape.batch && request.rows > 0 && request.columns > 0 && request.pool > 0 &&
         request.row < extent->rows && request.rows <= extent->rows - request.row && request.column < extent->columns &&
         request.columns <= extent->columns - request.column;
}

/// A tile that showed a whole matrix shows the whole of the new one: the caller laid its request out for the run before, and
/// would otherwise see an empty frame whenever a token is added.
void follow_shape(attention::TileRequest& tile, const BlockShapes& before, const BlockShapes& after) {
  const auto old_shape = before.find(tile.block), new_shape = after.find(tile.block);
  if (old_shape == before.end() || new_shape == after.end()) return;
  const auto old_extent = old_shape->second.extent(tile.stage), new_extent = new_shape->second.extent(tile.stage);
  if (!old_extent || !new_extent) return;
  const bool is_whole =
      tile.row == 0 && tile.column == 0 && tile.rows == old_extent->rows && tile.columns == old_extent->columns;
  if (!is_whole) return;
  tile.rows = new_extent->rows;
  tile.columns = new_extent->columns;
}

/// Drivers' and libraries' messages may have several lines; a status line has one.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void EngineWorker::open(const std::string& device) {
  try {
    std::unique_ptr<Runner> runner = open_(device);
    runner_ = std::move(runner);
  } catch (const std::exception& error) {
    if (!runner_) device_error_ = first_line(error.what());
    picture_.error = first_line(error.what());
    picture_.is_stale = picture_.run > 0 && !runner_;
    return;
  }
  device_error_.clear();
  picture_.error.clear();
  picture_.device = runner_->device_name();
  runner_has_run_ = false;
  attempted_.reset();
  pending_.clear();
  if (const std::optional<EngineRequest> again = request_) begin(*again);
}

void EngineWorker::begin(const EngineRequest& request) {
  request_ = request;
  picture_.revision = request.revision;
  pending_.clear();
  if (!runner_) return fail(device_error_);
  laid_out_for_ = picture_.shapes;
  if (attempted_ != request.inputs) run_forward(request.inputs);
  collect_tiles();
}

void EngineWorker::run_forward(const RunInputs& inputs) {
  attempted_ = inputs;
  try {
    const RunSource::Source& source = source_.build(inputs);
    runner_has_run_ = false;
    picture_.timing = runner_->run(source.network, *source.input, inputs.masks);
    runner_has_run_ = true;
    picture_.network = source.network;
    picture_.input = source.input;
  } catch (const std::exception& error) {
    return fail(first_line(error.what()));
  }
  picture_.blocks = runner_->blocks();
  laid_out_for_ = std::exchange(picture_.shapes, {});
  for (const model::BlockRef block : picture_.blocks) picture_.shapes[block] = runner_->shape(block);
  picture_.parameter_count = picture_.network->parameter_count();
  picture_.error.clear();
  picture_.is_stale = false;
  tiles_.begin_run(++picture_.run, laid_out_for_, picture_.shapes);
  is_first_chunk_ = true;
}

void EngineWorker::collect_tiles() {
  if (!request_) return;
  std::vector<attention::TileRequest> wanted;
  for (attention::TileRequest tile : request_->tiles) {
    follow_shape(tile, laid_out_for_, picture_.shapes);
    if (is_inside(tile, picture_.shapes)) wanted.push_back(tile);
  }
  pending_ = tiles_.missing(wanted);
  std::reverse(pending_.begin(), pending_.end());
  if (!runner_has_run_) pending_.clear();
}

void EngineWorker::evaluate_some() {
  if (pending_.empty()) return;
  const std::size_t budget = std::exchange(is_first_chunk_, false) ? kFirstChunkCells : kChunkCells;
  std::vector<attention::TileRequest> chunk;
  std::size_t cells = 0;
  while (!pending_.empty() && (chunk.empty() || cells < budget)) {
    cells += std::size_t{pending_.back().rows} * pending_.back().columns;
    chunk.push_back(pending_.back());
    pending_.pop_back();
  }
  try {
    for (attention::Tile& tile : runner_->evaluate(chunk)) tiles_.add(std::move(tile));
  } catch (const std::exception& error) {
    pending_.clear();
    fail(first_line(error.what()));
  }
}

void EngineWorker::work_while_idle() {
  try {
    runner_->work_while_idle();
  } catch (const std::exception& error) {
    fail(first_line(error.what()));
  }
}

EngineResult EngineWorker::picture() const {
  EngineResult result = picture_;
  result.tiles = tiles_.tiles();
  result.has_all_tiles = pending_.empty();
  return result;
}

void EngineWorker::fail(const std::string& message) {
  picture_.error = message;
  picture_.is_stale = picture_.run > 0;
}

}  // namespace headlight::app
