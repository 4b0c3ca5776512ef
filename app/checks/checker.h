#pragma once

#include <functional>
#include <set>
#include <span>

#include "app/checks/check_line.h"
#include "core/tensor.h"
#include "gpu/stream.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"

namespace headlight::checks {

using app::CheckStatus;

/// Tensors of a step, kept until its stream has run, and what is read of them.
struct CheckStream {
  explicit CheckStream(gpu::Context& context) : stream(context) {}

  /// Keeps anything that the stream uses.
  template <typename T>
  const T& keep(T value) {
    auto kept = std::make_shared<const T>(std::move(value));
    kept_.push_back(kept);
    return *kept;
  }
  /// Make a tensor [item, head, token, width], with these values or with zeros.
  const ops::DeviceTensor& put(const Tensor& values);
  const ops::DeviceTensor& make(const Shape& shape);
  const gpu::Buffer& words(std::span<const std::uint32_t> values);
  /// Makes a tensor's values without padding, or a buffer's floats, a result of the step.
  void take(const ops::DeviceTensor& tensor) { results.push_back({stream.download(tensor.buffer()), &tensor}); }
  void take(const gpu::Buffer& buffer) { results.push_back({stream.download(buffer), nullptr}); }

  struct Result {
    gpu::Download download;
    const ops::DeviceTensor* tensor;  ///< null: a buffer's
  };
  gpu::Stream stream;
  std::vector<Result> results;

 private:
  std::vector<std::shared_ptr<const void>> kept_;
};

/// The state that the checks of one device share, in the process that computes them. Each step is announced before it runs,
/// so that the parent knows which one ended the process.
class Checker {
 public:
  /// Steps before `first_step` are left out: an earlier process ran them. `write` gets each line of the protocol.
  Checker(gpu::Context& context, std::uint32_t first_step, std::function<void(const nlohmann::ordered_json&)> write);

  gpu::Context& context() const { return context_; }
  ops::Kernels& kernels() { return kernels_; }
  void begin_group(std::string_view group) { group_ = group; }

  /// Does the work of a step; its Error becomes a line of status Fail. Throws Error of kind DeviceLost after that line.
  void step(const std::string& name, const std::function<void()>& work);
  /// Writes a line of the current group; `name`: empty: the step's.
  void tell(CheckStatus status, const std::string& what, std::vector<std::pair<std::string, double>> numbers = {},
            const std::string& name = {});

  /// Reports that the step is still at work: the parent goes on waiting.
  void go_on();

  using Record = std::function<void(CheckStream&)>;
  using Numbers = std::vector<std::vector<float>>;
  /// Runs what `record` records, twice, its kernels compiled before. The kernels of a step that ends the process count as
  /// wrong.
  Numbers run(const Record& record);
  /// Was this kernel among those of the last run(), and not another one in its place?
  bool has_used(const std::string& kernel) const;
  /// Compares results of the last run() with these, in order. Where they differ by more than rounding, or the second run had
  /// other bits than the first, a line names the kernels of the run that no other step has found to be right. Returns
  /// whether they are right.
  bool expect(const Numbers& found, const std::vector<std::vector<double>>& wanted);

  /// Writes a line about all that expect() judged since the last one: how many were right, and the largest error.
  void tell_tally(const std::string& name, std::string_view of);
  /// Counts a kernel that the driver doesn't make.
  void count_refused() { ++tally_.refused; }

 private:
  void fail(const std::string& what, bool blames_kernels);

  struct Tally {
    std::uint32_t right = 0, wrong = 0, refused = 0;
    double worst = 0.0;
  };
  gpu::Context& context_;
  ops::Kernels kernels_;
  std::uint32_t first_step_ = 0, steps_ = 0;
  std::function<void(const nlohmann::ordered_json&)> write_;
  std::string group_, step_;
  std::vector<std::string> used_;  ///< kernels of the last run()
  bool repeats_ = true;
  std::set<std::string> right_;
  Tally tally_;
};

/// Returns the normalised mean square error: Σ (a − b)² / Σ b²; infinite where sizes differ or a number is none.
double mean_square_error(std::span<const float> found, std::span<const double> wanted);

/// Returns numbers in [−1, 1), equal on every machine.
Tensor random_tensor(Shape shape, std::uint32_t seed);

/// The groups of checks, one function each.
void check_facts(Checker& check);
void check_presentation(Checker& check);
void check_arithmetic(Checker& check);
void check_choices(Checker& check);
void check_captions(Checker& check);
void check_linear_kernels(Checker& check);
void check_attention_kernels(Checker& check);
void check_small_kernels(Checker& check);
void check_times(Checker& check);

}  // namespace headlight::checks
