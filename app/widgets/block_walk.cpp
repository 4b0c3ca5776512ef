#include "app/widgets/block_walk.h"

#include <algorithm>
#include <cmath>

namespace headlight::app {

void BlockWalk::set_steps(std::size_t steps) {
  if (steps == steps_) return;
  steps_ = steps;
  skip();
}

std::size_t BlockWalk::step() const {
  const std::size_t step = static_cast<std::size_t>(position_);
  return steps_ == 0 ? 0 : std::min(step, steps_ - 1);
}

float BlockWalk::part() const { return std::clamp(position_ - static_cast<float>(step()), 0.0F, 1.0F); }

void BlockWalk::play() {
  if (steps_ == 0) return;
  if (is_at_end()) position_ = 0.0F;
  is_playing_ = true;
}

void BlockWalk::scrub(float position) {
  position_ = std::isnan(position) ? 0.0F : std::clamp(position, 0.0F, static_cast<float>(steps_));
  is_playing_ = false;
}

void BlockWalk::skip() { scrub(static_cast<float>(steps_)); }

void BlockWalk::go(int steps) {
  const float from = steps < 0 ? std::ceil(position_) : std::floor(position_);
  scrub(from + static_cast<float>(steps));
}

void BlockWalk::advance(float seconds, float speed) {
  if (!is_playing_) return;
  position_ = std::min(position_ + std::max(seconds, 0.0F) * speed / kStepSeconds, static_cast<float>(steps_));
  if (is_at_end()) is_playing_ = false;
}

float ease(float part) {
  const float t = std::clamp(part, 0.0F, 1.0F);
  return t * t * (3.0F - 2.0F * t);
}

}  // namespace headlight::app
