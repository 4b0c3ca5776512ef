#include "app/engine/engine_tasks.h"

#include <future>
#include <utility>

#include "app/engine/engine_worker.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// A run that the engine keeps, asked from another thread.
class EngineRun final : public inference::Run {
 public:
  /// On the engine's thread; `number` is EngineWorker::keep()'s.
  EngineRun(std::shared_ptr<EngineTasks> tasks, const inference::Run& run, std::uint64_t number)
      : Run(run.inputs(), run.timing(), run.findings()),
        tasks_(std::move(tasks)),
        number_(number),
        has_logits_(run.has_logits()) {
    for (const model::BlockRef block : run.blocks()) {
      blocks_.push_back(block);
      facts_[block] = {.shape = run.shape(block), .version = run.version(block)};
    }
  }
  ~EngineRun() override {
    tasks_->post([number = number_](EngineWorker& worker) { worker.release(number); });
  }

  /// EngineWorker::kept()'s.
  std::uint64_t number() const { return number_; }
  std::vector<model::BlockRef> blocks() const override { return blocks_; }
  inference::BlockShape shape(model::BlockRef block) const override { return facts(block).shape; }
  std::uint64_t version(model::BlockRef block) const override { return facts(block).version; }
  std::vector<attention::Tile> evaluate(std::span<const attention::TileRequest> requests) const override {
    return ask<std::vector<attention::Tile>>([&](const Run& run) { return run.evaluate(requests); });
  }
  Tensor hidden(inference::Stack stack) const override {
    return ask<Tensor>([&](const Run& run) { return run.hidden(stack); });
  }
  Tensor encoder_output() const override {
    return ask<Tensor>([](const Run& run) { return run.encoder_output(); });
  }
  bool has_logits() const override { return has_logits_; }
  Tensor logits() const override {
    return ask<Tensor>([](const Run& run) { return run.logits(); });
  }
  Tensor logits(std::span<const inference::StateRef> states) const override {
    return ask<Tensor>([&](const Run& run) { return run.logits(states); });
  }
  std::vector<Tensor> residuals(std::span<const inference::ResidualRows> requests) const override {
    return ask<std::vector<Tensor>>([&](const Run& run) { return run.residuals(requests); });
  }

 private:
  struct Facts {
    inference::BlockShape shape;
    std::uint64_t version = 0;
  };
  const Facts& facts(model::BlockRef block) const {
    const auto found = facts_.find(block);
    if (found == facts_.end()) {
      throw Error("the run has no {} attention in layer {}", to_string(block.kind), block.layer.value);
    }
    return found->second;
  }
  template <typename Answer, typename Question>
  Answer ask(const Question& question) const {
    std::optional<Answer> answer;
    tasks_->run([&](EngineWorker& worker) { answer = question(*worker.kept(number_)); });
    return std::move(*answer);
  }

  std::shared_ptr<EngineTasks> tasks_;
  std::uint64_t number_ = 0;
  bool has_logits_ = false;
  std::vector<model::BlockRef> blocks_;
  std::map<model::BlockRef, Facts> facts_;
};

}  // namespace

struct EngineTasks::Waiting {
  Task task;
  std::promise<void> done;
};

void EngineTasks::add(const std::shared_ptr<Waiting>& waiting) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) {
      waiting_.push_back(waiting);
      count_ = waiting_.size();
      return wake_();
    }
  }
  waiting->done.set_exception(std::make_exception_ptr(Error(ErrorKind::Cancelled, "the engine has ended")));
}

void EngineTasks::run(const Task& task) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->task = task;
  std::future<void> done = waiting->done.get_future();
  add(waiting);
  done.get();
}

void EngineTasks::post(Task task) {
  const auto waiting = std::make_shared<Waiting>();
  waiting->task = std::move(task);
  add(waiting);
}

std::exception_ptr EngineTasks::do_next(EngineWorker& worker) {
  std::shared_ptr<Waiting> next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return nullptr;
    next = std::move(waiting_.front());
    waiting_.pop_front();
    count_ = waiting_.size();
  }
  try {
    next->task(worker);
    next->done.set_value();
    return nullptr;
  } catch (...) {
    next->done.set_exception(std::current_exception());
    return std::current_exception();
  }
}

void EngineTasks::close() {
  std::deque<std::shared_ptr<Waiting>> left;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    left = std::exchange(waiting_, {});
    count_ = 0;
  }
  for (const std::shared_ptr<Waiting>& waiting : left) {
    waiting->done.set_exception(std::make_exception_ptr(Error(ErrorKind::Cancelled, "the engine has ended")));
  }
}

std::string EngineRunner::device_name() const {
  std::string name;
  tasks_->run([&](EngineWorker& worker) { name = worker.runner().device_name(); });
  return name;
}

void EngineRunner::load(std::shared_ptr<const model::Layers> layers, inference::Precision precision,
                        const inference::LoadObserver& observer) {
  tasks_->run([&](EngineWorker& worker) { worker.load_weights(layers, precision, observer); });
}

std::shared_ptr<const inference::Run> EngineRunner::run(inference::PassInputs pass,
                                                        std::shared_ptr<const inference::Run>&& base) {
  if (base.use_count() == 1) base.reset();
  std::shared_ptr<const inference::Run> result;
  tasks_->run([&](EngineWorker& worker) {
    const auto* known = dynamic_cast<const EngineRun*>(base.get());
    std::shared_ptr<const inference::Run> run =
        worker.runner().run(std::move(pass), known != nullptr ? worker.kept(known->number()) : nullptr);
    const std::uint64_t number = worker.keep(run);
    result = std::make_shared<EngineRun>(tasks_, *run, number);
  });
  return result;
}

std::shared_ptr<const inference::Run> EngineRunner::run_copies(const inference::Run& base, std::uint32_t line,
                                                               std::span<const inference::Interventions> changes) {
  std::shared_ptr<const inference::Run> result;
  tasks_->run([&](EngineWorker& worker) {
    const auto* known = dynamic_cast<const EngineRun*>(&base);
    if (known == nullptr) return;
    const std::shared_ptr<const inference::Run> run =
        worker.runner().run_copies(*worker.kept(known->number()), line, changes);
    if (run) result = std::make_shared<EngineRun>(tasks_, *run, worker.keep(run));
  });
  return result;
}

std::shared_ptr<const inference::Run> EngineRunner::run_capture(std::shared_ptr<const capture::CaptureFile> file) {
  std::shared_ptr<const inference::Run> result;
  tasks_->run([&](EngineWorker& worker) {
    const std::shared_ptr<const inference::Run> run = worker.runner().run_capture(std::move(file));
    result = std::make_shared<EngineRun>(tasks_, *run, worker.keep(run));
  });
  return result;
}

std::optional<KnownRun> EngineRunner::find(const RunInputs& inputs) {
  std::optional<KnownRun> known;
  tasks_->run([&](EngineWorker& worker) {
    const std::optional<KnownRun> found = worker.find(inputs);
    if (!found) return;
    const std::uint64_t number = worker.keep(found->run);
    known = KnownRun{.run = std::make_shared<EngineRun>(tasks_, *found->run, number), .source = found->source};
  });
  return known;
}

}  // namespace headlight::app
