#include "app/data/link/linked_steps.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "platform/folders.h"

namespace headlight::app {

namespace fs = std::filesystem;

void LinkedSteps::add(LinkedStep step) {
  const auto at = std::ranges::lower_bound(steps_, step.step, {}, &LinkedStep::step);
  bytes_ += step.bytes;
  if (at != steps_.end() && at->step == step.step) {
    std::swap(*at, step);
    bytes_ -= step.bytes;
    std::error_code ignored;  // a file that is left is removed with its folder
    fs::remove(step.file, ignored);
  } else {
    steps_.insert(at, std::move(step));
  }
  while ((bytes_ > budget_.bytes || steps_.size() > budget_.steps) && thin_out()) {
  }
}

bool LinkedSteps::thin_out() {
  if (steps_.size() < 2) return false;
  std::size_t least_missed = 0;
  if (steps_.size() > 2) {
    const auto gap = [&](std::size_t index) { return steps_[index + 1].step - steps_[index - 1].step; };
    const std::size_t end = std::max<std::size_t>((steps_.size() + 1) / 2, 2);
    least_missed = 1;
    for (std::size_t index = 2; index < end; ++index) {
      if (gap(index) < gap(least_missed)) least_missed = index;
    }
  }
  remove(least_missed);
  ++thinned_;
  return true;
}

void LinkedSteps::remove(std::size_t index) {
  std::error_code ignored;
  fs::remove(steps_[index].file, ignored);
  bytes_ -= steps_[index].bytes;
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(index));
}

void LinkedSteps::clear() {
  while (!steps_.empty()) remove(steps_.size() - 1);
  thinned_ = 0;
}

std::size_t nearest_step(const std::vector<LinkedStep>& steps, std::int64_t step) {
  const auto at = std::ranges::lower_bound(steps, step, {}, &LinkedStep::step);
  if (at == steps.begin()) return 0;
  const auto index = static_cast<std::size_t>(at - steps.begin());
  if (at == steps.end()) return index - 1;
  return at->step - step < step - steps[index - 1].step ? index : index - 1;
}

void make_private_folder(const fs::path& folder) {
  std::error_code error;
  platform::make_private_folder(folder, error);
  std::error_code ignored;
  if (error == std::errc::permission_denied && fs::exists(folder, ignored)) {
    throw Error("{} has to belong to you and be closed to other users (chmod 700)", utf8(folder));
  }
  if (error) throw Error("{} can't be made: {}", utf8(folder), error.message());
}

fs::path link_folder() {
  fs::path folder = platform::meeting_folder();
  make_private_folder(folder);
  return folder;
}

}  // namespace headlight::app
