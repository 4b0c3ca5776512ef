#include "app/checks/checker.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>
#include <thread>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace headlight::checks {
namespace {

constexpr double kMaxError = 1e-9;  // of float32 sums; observed 1.6e-13 on llvmpipe, a wrong number in a thousand is 1e-3

/// Makes a fault for tests: "crash NAME" or "hang NAME" does so in the first step whose name contains NAME, "memory NAME" is
/// without some.
void suffer_fault(const std::string& step) {
  const char* fault = std::getenv("HEADLIGHT_CHECK_FAULT");
  if (fault == nullptr) return;
  const std::string text(fault);
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || step.find(text.substr(space + 1)) == std::string::npos) return;
  if (text.starts_with("crash")) std::abort();
  if (text.starts_with("memory")) throw std::bad_alloc();
  if (text.starts_with("hang")) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Returns [item, head, token, width] without padding.
std::vector<float> unpadded(const ops::DeviceTensor& tensor, std::span<const float> padded) {
  std::vector<float> values;
  const std::size_t row_width = std::size_t{tensor.width4()} * 4, rows = std::size_t{tensor.heads} * tensor.tokens;
  for (std::size_t item = 0; item < tensor.items; ++item) {
    for (std::size_t row = 0; row < rows; ++row) {
      const auto from = padded.subspan(item * tensor.item_bytes() / sizeof(float) + row * row_width, tensor.width);
      values.insert(values.end(), from.begin(), from.end());
    }
  }
  return values;
}

}  // namespace

const ops::DeviceTensor& CheckStream::make(const Shape& shape) {
  return keep(ops::DeviceTensor(stream, shape.at(0), shape.at(1), shape.at(2), shape.at(3), "a check"));
}

const ops::DeviceTensor& CheckStream::put(const Tensor& values) {
  const ops::DeviceTensor& tensor = make(values.shape);
  tensor.upload(stream, values);
  return tensor;
}

const gpu::Buffer& CheckStream::words(std::span<const std::uint32_t> values) {
  const gpu::Buffer& buffer = keep(gpu::Buffer(stream.context(), values.size_bytes(), gpu::Memory::Device, "a check"));
  stream.upload(buffer, 0, values);
  return buffer;
}

Checker::Checker(gpu::Context& context, std::uint32_t first_step, std::function<void(const nlohmann::ordered_json&)> write)
    : context_(context), kernels_(context), first_step_(first_step), write_(std::move(write)) {}

void Checker::tell(CheckStatus status, const std::string& what, std::vector<std::pair<std::string, double>> numbers,
                   const std::string& name) {
  write_(app::to_json({.group = group_,
                       .name = name.empty() ? step_ : name,
                       .status = status,
                       .what = one_line(what),
                       .numbers = std::move(numbers),
                       .kernels = {}}));
}

void Checker::fail(const std::string& what, bool blames_kernels) {
  app::CheckLine line{.group = group_, .name = step_, .status = CheckStatus::Fail, .what = one_line(what)};
  for (const std::string& kernel : used_) {
    if (blames_kernels && !right_.contains(kernel)) line.kernels.push_back(kernel);
  }
  ++tally_.wrong;
  write_(app::to_json(line));
}

/// Writes the line that the step becomes where nothing comes after it.
void Checker::go_on() {
  write_({{"step", steps_ - 1}, {"group", group_}, {"name", step_}, {"what", ""}, {"status", "fail"}, {"kernels", used_}});
}

void Checker::step(const std::string& name, const std::function<void()>& work) {
  if (steps_++ < first_step_) return;
  step_ = name;
  used_.clear();
  go_on();
  suffer_fault(name);
  try {
    work();
  } catch (const Error& error) {
    const bool is_lost = error.kind() == ErrorKind::DeviceLost;
    fail(error.what(), is_lost);
    if (is_lost) throw;
  }
}

Checker::Numbers Checker::run(const Record& record) {
  kernels_.forget_unused(std::chrono::seconds(0));
  {
    const ops::Kernels::Listing listing(kernels_);
    CheckStream recorded(context_);
    record(recorded);
    used_ = kernels_.listed();
  }
  go_on();
  kernels_.compile_listed([this](std::size_t, std::size_t) { go_on(); });
  repeats_ = true;
  Numbers numbers;
  for (int time = 0; time < 2; ++time) {
    CheckStream recorded(context_);
    record(recorded);
    gpu::Submission submission = std::move(recorded.stream).submit();
    submission.wait();
    Numbers now;
    for (const CheckStream::Result& result : recorded.results) {
      const auto values = submission.values<float>(result.download);
      now.push_back(result.tensor != nullptr ? unpadded(*result.tensor, values)
                                             : std::vector<float>(values.begin(), values.end()));
    }
    repeats_ = time == 0 || std::ranges::equal(now, numbers, [](const auto& a, const auto& b) {
                 return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
               });
    numbers = std::move(now);
  }
  return numbers;
}

bool Checker::has_used(const std::string& kernel) const { return std::ranges::find(used_, kernel) != used_.end(); }

bool Checker::expect(const Numbers& found, const std::vector<std::vector<double>>& wanted) {
  double worst = found.size() == wanted.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    worst = std::max(worst, mean_square_error(found[i], wanted[i]));
  }
  if (!repeats_) {
    fail("the same inputs gave other bits the second time", true);
    return false;
  }
  if (worst > kMaxError) {
    fail(fmt::format("differs from the right numbers by {:.1e} of the numbers' size, at most {:.0e} wanted",
                     std::sqrt(worst), std::sqrt(kMaxError)),
         true);
    return false;
  }
  right_.insert(used_.begin(), used_.end());
  ++tally_.right;
  tally_.worst = std::max(tally_.worst, worst);
  return true;
}

void Checker::tell_tally(const std::string& name, std::string_view of) {
  const Tally tally = std::exchange(tally_, {});
  const std::uint32_t all = tally.right + tally.wrong;
  if (all + tally.refused == 0) return;
  std::string what =
      fmt::format("{} of {} {} are right, relative error at most {:.1e}", tally.right, all, of, std::sqrt(tally.worst));
  if (tally.refused > 0)
    what += fmt::format("; the driver makes no kernel for {}, for which others stand in", tally.refused);
  const CheckStatus status = tally.wrong > 0 ? CheckStatus::Fail : tally.refused > 0 ? CheckStatus::Warn : CheckStatus::Ok;
  tell(status, what,
       {{"right", tally.right}, {"wrong", tally.wrong}, {"refused", tally.refused}, {"error", std::sqrt(tally.worst)}},
       name);
}

double mean_square_error(std::span<const float> found, std::span<const double> wanted) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (found.size() != wanted.size()) return kInfinity;
  double error = 0.0, power = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = static_cast<double>(found[i]) - wanted[i];
    error += difference * difference;
    power += wanted[i] * wanted[i];
  }
  if (!std::isfinite(error)) return kInfinity;
  return error == 0.0 ? 0.0 : error / power;
}

Tensor random_tensor(Shape shape, std::uint32_t seed) {
  Tensor tensor(std::move(shape));
  std::mt19937 bits(seed);
  for (float& value : tensor.values) value = static_cast<float>(bits() >> 8U) * 0x1p-23F - 1.0F;
  return tensor;
}

}  // namespace headlight::checks
