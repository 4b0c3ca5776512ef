#include "app/prompts/prompt_room.h"

#include "core/error.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMaxQuestions = 12;
constexpr int kMaxReopenings = 3;

}  // namespace

PromptRoom::~PromptRoom() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PromptRoom::want(const PromptQuestion& question) {
  // First: where no thread can be started, nothing is wanted that would be waited for.
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  {
    const std::lock_guard lock(mutex_);
    if (!known_.empty() && known_.front().question.set != question.set)  // which is read anew
      std::erase_if(known_, [&](const Known& one) { return one.question.set == question.set; });
    const auto known = std::ranges::find(known_, question, &Known::question);
    const bool is_same = known == known_.begin() && known != known_.end();
    if (!is_same) is_paused_ = false;
    const bool is_wanted = is_allowed_ && !is_paused_;
    if (is_same && is_wanted_ == is_wanted) return;
    ++order_;
    is_wanted_ = is_wanted;
    if (known == known_.end()) {
      known_.push_front({.question = question});
      if (known_.size() > kMaxQuestions) known_.pop_back();
    } else {
      std::rotate(known_.begin(), known, std::next(known));
    }
  }
  changed_.notify_all();
}

void PromptRoom::rest() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_wanted_, false)) ++order_;
  changed_.notify_all();
}

void PromptRoom::forget() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  ++order_;
}

void PromptRoom::allow(bool is_allowed) {
  is_allowed_ = is_allowed;
  if (!is_allowed) rest();
}

void PromptRoom::pause(bool is_paused) {
  is_paused_ = is_paused;
  if (is_paused) rest();
}

std::shared_ptr<const PromptFindings> PromptRoom::findings() const {
  const std::lock_guard lock(mutex_);
  return known_.empty() ? nullptr : known_.front().findings;
}

bool PromptRoom::has_work() const {
  return is_wanted_ && !known_.empty() && !(known_.front().findings && known_.front().findings->is_complete());
}

bool PromptRoom::is_busy() const {
  const std::lock_guard lock(mutex_);
  return has_work();
}

void PromptRoom::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !has_work() || stops_; });
}

void PromptRoom::keep(const PromptQuestion& question, const PromptFindings& findings, std::uint64_t order) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find(known_, question, &Known::question);
    if (known == known_.end() || order != order_) return;
    known->findings = std::make_shared<const PromptFindings>(findings);
  }
  changed_.notify_all();
  if (wake_) wake_();
}

void PromptRoom::measure(std::unique_ptr<Runner>& runner, const Known& known, std::uint64_t order) {
  const PromptQuestion& question = known.question;
  const auto checkpoint = [&] {
    const std::lock_guard lock(mutex_);
    if (order != order_ || stops_) throw Error(ErrorKind::Cancelled, "other prompts are measured");
  };
  PromptFindings findings = known.findings ? *known.findings : PromptFindings();
  for (int reopenings = 0;; ++reopenings) {
    try {
      if (!findings.set) findings = fit_set(question, *models_, checkpoint);
      keep(question, findings, order);
      if (!runner) runner = open_({});
      return measure_set(*runner, models_, question, findings, checkpoint, [&] { keep(question, findings, order); });
    } catch (const std::exception& error) {
      const ErrorKind kind = headlight::kind_of(error);
      if (kind == ErrorKind::Cancelled) return;
      if (kind == ErrorKind::DeviceLost) runner.reset();
      if (kind == ErrorKind::DeviceLost && reopenings < kMaxReopenings) continue;
      findings.error = one_line(error.what());
      return keep(question, findings, order);
    }
  }
}

void PromptRoom::work() {
  std::unique_ptr<Runner> runner;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || has_work(); });
    if (stops_) return;
    const Known known = known_.front();
    const std::uint64_t order = order_;
    lock.unlock();
    measure(runner, known, order);
    lock.lock();
  }
}

}  // namespace headlight::app
