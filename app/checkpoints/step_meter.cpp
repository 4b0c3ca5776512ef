#include "app/checkpoints/step_meter.h"

#include <chrono>

#include "app/analyses/token_losses.h"
#include "app/engine/query_queue.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMaxQuestions = 8;

/// Of the run that the task is of.
Task<StepNumbers> numbers_of_step(const StepQuestion& question, const AnalysisSubject& run) {
  StepNumbers numbers;
  const AnalysisQuery metrics = HeadMetricsQuestion{.kind = question.kind, .batch = question.batch};
  const auto found = co_await analyse_any(metrics, run);
  numbers.heads = dynamic_cast<const HeadMetricsFound&>(*found).heads;
  const bool predicts = run.model && run.model->description.is_causal && run.has_logits && !run.input->target;
  const attention::KeyRange line = real_tokens(run.input->source, question.batch, run.input->source.length);
  if (!predicts || line.end - line.begin < 2) co_return numbers;
  const AnalysisQuery of_tokens = TokenLossesQuestion{.batch = question.batch};
  const auto told = co_await analyse_any(of_tokens, run);
  const std::vector<double>& losses = dynamic_cast<const TokenLosses&>(*told).losses;
  numbers.loss = mean_loss(losses);
  if (const auto score = in_context_score(losses)) numbers.in_context = score->score;
  co_return numbers;
}

}  // namespace

std::string in_context_words(std::size_t tokens) {
  return tokens > 500 ? "token 500 \u2212 token 50" : "last \u2212 second tenth";
}

StepNumbers measure_step(Runner& runner, const std::shared_ptr<ModelCache>& models, const StepQuestion& question,
                         const SeriesStep& step, const std::function<bool()>& goes_on) {
  const auto checkpoint = [&] {
    if (!goes_on()) throw Error(ErrorKind::Cancelled, "other steps are measured");
  };
  RunInputs inputs = question.inputs;
  inputs.source = source_at(std::move(inputs.source), step);
  const auto newest = is_model(inputs.source) ? models->open_newest(step.path) : nullptr;
  RunSource source(models);
  const RunSource::Source& built = source.build(
      inputs, [&](const model::Network& network, const model::ModelInput& input) { runner.expect_room(network, input); });
  checkpoint();
  if (built.model)
    runner.load(built.network->layers, precision_of(inputs.source), [&](std::size_t, std::size_t) { return goes_on(); });
  FoundRuns found;
  found.take(compute_run(runner, built, inputs, nullptr), built, inputs);
  return answer_at_once(numbers_of_step(question, *found.subject), found, {}, checkpoint);
}

StepMeter::StepMeter(RunnerFactory open, std::shared_ptr<ModelCache> models, std::function<void()> wake)
    : open_(std::move(open)), models_(std::move(models)), wake_(std::move(wake)) {}

StepMeter::~StepMeter() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StepMeter::want(const StepQuestion& question, std::vector<SeriesStep> steps, const std::string& device) {
  // First: where no thread can be started, nothing is wanted that would be waited for.
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(known_, question, &Known::question);
    const bool is_same = known == known_.begin() && known != known_.end() && device == device_;
    if (is_same && steps == steps_) return;
    if (!is_same) ++order_;
    if (known == known_.end()) {
      known_.push_front({.question = question, .numbers = std::make_shared<const Numbers>()});
      if (known_.size() > kMaxQuestions) known_.pop_back();
    } else {
      std::rotate(known_.begin(), known, std::next(known));
    }
    if (steps.empty()) ++order_;
    steps_ = std::move(steps);
    device_ = device;
  }
  changed_.notify_all();
}

std::shared_ptr<const StepMeter::Numbers> StepMeter::numbers() const {
  const std::lock_guard lock(mutex_);
  return known_.empty() ? std::make_shared<const Numbers>() : known_.front().numbers;
}

const SeriesStep* StepMeter::next() const {
  if (known_.empty()) return nullptr;
  const auto missing = std::ranges::find_if(steps_, [&](const SeriesStep& step) {
    return !known_.front().numbers->contains({step.path, step.stamp});
  });
  return missing == steps_.end() ? nullptr : &*missing;
}

bool StepMeter::is_busy() const {
  const std::lock_guard lock(mutex_);
  return next() != nullptr;
}

void StepMeter::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return next() == nullptr || stops_; });
}

void StepMeter::work() {
  constexpr std::chrono::seconds kDeviceKept{10};
  std::unique_ptr<Runner> runner;
  std::string device;
  std::unique_lock lock(mutex_);
  while (!stops_) {
    const SeriesStep* wanted = next();
    if (wanted == nullptr) {
      const auto has_work = [&] { return stops_ || next() != nullptr; };
      if (runner ? !changed_.wait_for(lock, kDeviceKept, has_work) : (changed_.wait(lock, has_work), false)) runner.reset();
      continue;
    }
    const SeriesStep step = *wanted;
    const StepQuestion question = known_.front().question;
    const std::uint64_t order = order_;
    const std::string named = device_;
    lock.unlock();
    auto measured = std::make_shared<StepNumbers>();
    bool is_cancelled = false;
    try {
      if (!runner || device != named) {
        runner.reset();
        runner = open_(named);
        device = named;
      }
      *measured = measure_step(*runner, models_, question, step, [&] {
        const std::lock_guard check(mutex_);
        return order == order_ && !stops_;
      });
    } catch (const std::exception& error) {
      is_cancelled = headlight::kind_of(error) == ErrorKind::Cancelled;
      if (headlight::kind_of(error) == ErrorKind::DeviceLost) runner.reset();
      measured->error = one_line(error.what());
    }
    lock.lock();
    const auto known = std::ranges::find(known_, question, &Known::question);
    if (is_cancelled || known == known_.end()) continue;
    auto numbers = std::make_shared<Numbers>(*known->numbers);
    numbers->insert_or_assign({step.path, step.stamp}, std::move(measured));
    known->numbers = std::move(numbers);
    changed_.notify_all();
    lock.unlock();
    if (wake_) wake_();
    lock.lock();
  }
}

}  // namespace headlight::app
