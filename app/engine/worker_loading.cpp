// A model's weights on their way to the device, and what is seen of it meanwhile.
#include <memory>
#include <utility>

#include "app/engine/engine_worker.h"
#include "core/error.h"

namespace headlight::app {

void EngineWorker::load_in_order(const RunSource::Source& source, const RunInputs& inputs) {
  const auto watch = [this](std::size_t done, std::size_t total) {
    if (options_.watch_load && !options_.watch_load(done, total)) return false;
    // Piece by piece, so that the user can look around in these layers.
    if (early_ && options_.newer_queries) answer_early(options_.newer_queries());
    return true;
  };
  inference::FirstLayers first;
  first.least_rest_ms = options_.least_rest_ms;
  if (options_.show_early) first.count = EarlyRun::layers_for(source, inputs, request_->selected);
  first.ready = [&](const std::shared_ptr<const model::Layers>& layers) { begin_early_run(source, inputs, layers); };
  runner_->load_in_order(source.network->layers, precision_of(inputs.source), watch, first);
  if (early_) early_->end();  // the whole network's run needs the memory
}

void EngineWorker::begin_early_run(const RunSource::Source& source, const RunInputs& inputs,
                                   const std::shared_ptr<const model::Layers>& layers) {
  try {
    early_ = std::make_unique<EarlyRun>(*runner_, source, inputs, layers, ++run_count_, options_.tile_bytes);
    early_->answer(request_->queries);
  } catch (const std::exception&) {
    early_.reset();
    return;
  }
  EngineResult result = result_;
  early_->describe(result);
  options_.show_early(std::move(result));
}

void EngineWorker::answer_early(std::span<const Query> queries) {
  try {
    if (!early_->answer(queries)) return;
  } catch (const std::exception&) {  // the whole network's run will say why
    early_->end();
    return;
  }
  EngineResult result = result_;
  early_->describe(result);
  options_.show_early(std::move(result));
}

}  // namespace headlight::app
