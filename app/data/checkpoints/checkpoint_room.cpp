#include "app/data/checkpoints/checkpoint_room.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"

namespace headlight::app {
namespace {

constexpr double kLookEvery_s = 5.0, kJobWait_s = 0.05;

bool is_there(const std::future<StepSeries>& future) {
  return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

bool CheckpointRoom::look(const std::string& model, double now_s) {
  bool is_other = false;
  if (is_there(looking_)) {
    StepSeries found = looking_.get();
    looked_s_ = now_s;
    if (found != *series_) {
      series_ = std::make_shared<const StepSeries>(std::move(found));
      is_other = true;
    }
  }
  const bool is_known = !series_->is_of_captures && (model == model_ || series_->find(model)) && !model_.empty();
  const bool is_time = !series_->steps.empty() && now_s - looked_s_ > kLookEvery_s;
  if (looking_.valid() || (is_known && !is_time)) return is_other;
  if (!is_known && *series_ != StepSeries()) {
    series_ = std::make_shared<const StepSeries>();
    is_other = true;
  }
  model_ = model;
  if (model.empty()) return is_other;
  looking_ = std::async(std::launch::async, [model, wake = wake_] {
    StepSeries found;
    try {
      found = find_checkpoints(model);
    } catch (const std::exception& error) {
      found = {.trouble = one_line(error.what())};
    }
    if (wake) wake();
    return found;
  });
  return is_other;
}

bool CheckpointRoom::adopt(StepSeries series) {
  model_.clear();
  if (series == *series_) return false;
  series_ = std::make_shared<const StepSeries>(std::move(series));
  return true;
}

double CheckpointRoom::wait_s(double now_s) const {
  if (looking_.valid()) return kJobWait_s;
  const bool is_found = !series_->is_of_captures && !series_->steps.empty();
  return is_found ? std::max(looked_s_ + kLookEvery_s - now_s, kJobWait_s) : std::numeric_limits<double>::infinity();
}

void CheckpointRoom::measure(const StepQuestion& question, std::size_t shown) {
  StepQuestion of_all = question;
  of_all.inputs.source = source_at(of_all.inputs.source, {});  // the same question whichever step is shown
  *shown_ = shown;
  measured_.want(of_all);
  const auto found = measured_.found();
  numbers_ = found ? found : std::make_shared<const StepsMeasured>();
  if (is_paused) return measured_.rest();
  if (measured_.has_begun() && asked_series_ == series_) return;
  asked_series_ = series_;
  const StepsWanted wanted{.question = of_all, .steps = series_->steps, .shown = shown_, .models = models_};
  measured_.rest();
  measured_.begin(engine_.ask<StepsMeasured>([wanted, known = *numbers_](AskedFor<StepsMeasured>::Tell tell) {
    return measure_steps(wanted, known, std::move(tell));
  }));
}

const StepNumbers* CheckpointRoom::numbers(std::size_t step) const {
  const SeriesStep& one = series_->steps[step];
  const auto found = numbers_->find({one.path, one.stamp});
  return found == numbers_->end() ? nullptr : found->second.get();
}

std::size_t CheckpointRoom::measured() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < series_->steps.size(); ++i) count += numbers(i) != nullptr ? 1U : 0U;
  return count;
}

std::string CheckpointRoom::failure() const {
  if (!series_->trouble.empty()) return series_->trouble;
  std::size_t count = 0;
  std::string first;
  for (std::size_t i = 0; i < series_->steps.size(); ++i) {
    const StepNumbers* of_step = numbers(i);
    if (of_step == nullptr || of_step->error.empty() || count++ > 0) continue;
    first = fmt::format("{}: {}", series_->steps[i].name, of_step->error);
  }
  return count == 0 ? first
                    : fmt::format("{} of {} steps couldn\u2019t be measured: {}", count, series_->steps.size(), first);
}

}  // namespace headlight::app
