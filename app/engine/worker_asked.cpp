// Tasks that are of no request, and the runs that they name.
#include "app/engine/analyses/analysis.h"
#include "app/engine/engine_worker.h"
#include "core/error.h"

namespace headlight::app {
void EngineWorker::ask(const std::shared_ptr<AskedTask>& task) {
  if (!task->is_wanted()) return;
  asked_.emplace(++asked_count_, task);
  begin_asked(asked_count_);
}

void EngineWorker::begin_asked(std::uint64_t number) {
  // The newest first: who asked for it looks at it now.
  asked_queue_.ask(TaskQuery{number}, QueryPriority::Background, std::size_t{0} - number,
                   [&] { return asked_.at(number)->begin(); });
}

void EngineWorker::begin_asked_again() {
  asked_queue_.clear();
  forget_named();
  beside_.reset();
  named_changes_ = {};  // how many passes are fastest together is another thing on another device
  for (const auto& [number, task] : asked_) begin_asked(number);
}

void EngineWorker::answer_asked() {
  if (result_.error.empty()) was_lost_ = false;
  forget_ended();
  try {
    asked_queue_.answer_named(
        kTaskBudget, [this](const std::shared_ptr<const NamedRun>& named) { return find_named(named); },
        [this](const Reads& reads, std::uint32_t line, std::size_t most) {
          return named_changes_.compute(named_runner(), named_runs_, reads, line, most);
        },
        [this] { return asked_.rbegin()->second->is_wanted(); });
    cancelled_ = 0;
  } catch (const std::exception& error) {
    if (kind_of(error) == ErrorKind::Cancelled) ++cancelled_;
    if (kind_of(error) == ErrorKind::DeviceLost && named_ && named_->is_beside) {
      forget_named();
      beside_.reset();
    } else if (kind_of(error) == ErrorKind::DeviceLost) {
      has_failed_ = true;
      fail(error);
    }
  }
  forget_ended();
  if (!asked_queue_.is_empty()) return;
  forget_named();
  named_changes_ = {};  // how many passes are fastest together is another thing of another model
}

void EngineWorker::forget_ended() {
  const auto number_of = [](const Query& query) { return std::get<TaskQuery>(query).number; };
  asked_queue_.cancel([&](const Query& query) { return !asked_.at(number_of(query))->is_wanted(); });
  std::erase_if(asked_, [&](const auto& one) {
    return !asked_queue_.has([&](const Query& query) { return number_of(query) == one.first; });
  });
}

bool EngineWorker::may_go_on_asked() const {
  constexpr int kMostCancelled = 3;
  const BackgroundPass pass = cancelled_ < kMostCancelled ? BackgroundPass::OfTask : BackgroundPass::OfTaskAgain;
  return asked_.rbegin()->second->is_wanted() && (!options_.may_go_on || options_.may_go_on(pass));
}

FoundRuns EngineWorker::find_named(const std::shared_ptr<const NamedRun>& named) {
  if (named_ != named) forget_named();
  named_ = named;
  if (named->baseline && !named_baseline_) {
    named_baseline_ = compute_named(*named->baseline);
  } else if (!named_runs_.run) {
    const KnownRun found = compute_named(*named->inputs);
    named_runs_.take(found.run, found.source, *named->inputs);
    if (named_baseline_) named_runs_.compare_with(*named_baseline_, *named->baseline);
    named_runs_.device = named_runner().device_name();
  }
  named_runs_.refuses_copies = named_changes_.refuses_copies();
  return named_runs_;
}

Runner& EngineWorker::named_runner() {
  if (!named_->is_beside) return runner();
  if (!beside_) {
    beside_ = options_.open(device_);
    beside_->watch_passes([this](std::size_t, std::size_t) { return may_go_on_asked(); });
  }
  return *beside_;
}

KnownRun EngineWorker::compute_named(const RunInputs& inputs) {
  const bool is_beside = named_->is_beside;
  if (std::optional<KnownRun> known = is_beside ? std::nullopt : find(inputs)) return *known;
  if (is_beside) named_source_ = RunSource(options_.models);
  Runner& device = named_runner();
  const RunSource::Source& source = named_source_.build(
      inputs, [&](const model::Network& network, const model::ModelInput& input) { device.expect_room(network, input); });
  const inference::Precision precision = precision_of(inputs.source);
  if (source.model && (is_beside || loaded_ != source.network->layers || loaded_precision_ != precision)) {
    if (!is_beside) loaded_.reset();
    device.load(source.network->layers, precision, [this](std::size_t, std::size_t) { return may_go_on_asked(); });
    if (!is_beside) loaded_ = source.network->layers;
    if (!is_beside) loaded_precision_ = precision;
  }
  is_computing_named_ = true;
  try {
    KnownRun computed{.run = compute_run(device, source, inputs, nullptr), .source = source};
    is_computing_named_ = false;
    return computed;
  } catch (...) {
    is_computing_named_ = false;
    throw;
  }
}

void EngineWorker::forget_named() {
  named_changes_.clear();
  named_runs_ = {};
  named_baseline_.reset();
  named_.reset();
}

}  // namespace headlight::app
