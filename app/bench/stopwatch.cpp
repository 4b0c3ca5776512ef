#include "app/bench/stopwatch.h"

#include <algorithm>
#include <chrono>

namespace headlight::app::bench {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

Timing measure(const Rounds& rounds, const std::function<Timing()>& call) {
  Timing last = call();
  std::vector<double> wall, gpu;
  const double begin = now_ms();
  const auto wants_more = [&] {
    if (wall.size() < rounds.fewest()) return true;
    return rounds.count == 0 && wall.size() < Rounds::kMost && now_ms() - begin < rounds.budget_ms;
  };
  while (wants_more()) {
    last = call();
    wall.push_back(last.wall_ms);
    gpu.push_back(last.gpu_ms);
  }
  return {.wall_ms = median(std::move(wall)), .gpu_ms = median(std::move(gpu)), .dispatches = last.dispatches};
}

Timing time_once(const std::function<void()>& work) {
  const double begin = now_ms();
  work();
  return {.wall_ms = now_ms() - begin};
}

Timing run_once(gpu::Context& context, const std::function<void(gpu::Stream&)>& record) {
  const double begin = now_ms();
  gpu::Stream stream(context);
  record(stream);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return {.wall_ms = now_ms() - begin, .gpu_ms = submission.gpu_ms(), .dispatches = submission.dispatches()};
}

}  // namespace headlight::app::bench
