#include "tools/bench/stopwatch.h"

#include <algorithm>

namespace headlight::bench {
double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

Timing measure(const Rounds& rounds, const std::function<Timing()>& call) {
  Timing last = call();
  std::vector<double> wall, gpu;
  const auto begin = Clock::now();
  const auto wants_more = [&] {
    if (wall.size() < rounds.fewest()) return true;
    return rounds.count == 0 && wall.size() < Rounds::kMax && milliseconds_since(begin) < rounds.budget_ms;
  };
  while (wants_more()) {
    last = call();
    wall.push_back(last.wall_ms);
    gpu.push_back(last.gpu_ms);
  }
  return {.wall_ms = median(std::move(wall)), .gpu_ms = median(std::move(gpu)), .dispatches = last.dispatches};
}

Timing time_once(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return {.wall_ms = milliseconds_since(begin)};
}

Timing run_once(gpu::Context& context, const std::function<void(gpu::Stream&)>& record) {
  const auto begin = Clock::now();
  gpu::Stream stream(context);
  record(stream);
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  return {.wall_ms = milliseconds_since(begin), .gpu_ms = submission.gpu_ms(), .dispatches = submission.dispatches()};
}

}  // namespace headlight::bench
