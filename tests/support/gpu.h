#pragma once

#include <memory>

#include <doctest/doctest.h>

#include "gpu/context.h"
#include "support/at_end.h"

namespace headlight::test {

/// The test program's device, opened once with the validation layer on: opening one takes longer than most tests.
inline gpu::Context& shared_context() {
  static std::unique_ptr<gpu::Context> holder;
  return keep_until_end(holder, [] { return std::make_unique<gpu::Context>(gpu::ContextOptions{.validation = true}); });
}

/// Returns how far numbers may differ that have equal bits on a processor: by `on_gpu` on GPUs, where a pass of other
/// rows takes other tiles.
inline double between_tiles(double on_gpu) { return shared_context().device().is_cpu ? 0.0 : on_gpu; }

/// Fails the test when the validation layer reports anything while this object exists.
class ValidationWatch {
 public:
  explicit ValidationWatch(const gpu::Context& context) : context_(context), before_(context.validation_messages().size()) {}
  ~ValidationWatch() {
    const auto messages = context_.validation_messages();
    for (std::size_t i = before_; i < messages.size(); ++i) FAIL_CHECK("validation: " << messages[i]);
  }
  ValidationWatch(const ValidationWatch&) = delete;
  ValidationWatch& operator=(const ValidationWatch&) = delete;

 private:
  const gpu::Context& context_;
  std::size_t before_;
};

/// A device of a test's own, opened with the validation layer on, that fails the test on any message.
class WatchedContext {
 public:
  explicit WatchedContext(gpu::ContextOptions options) : context_(with_validation(std::move(options))), watch_(context_) {}

  operator gpu::Context&() { return context_; }  // NOLINT: used as the context that it watches
  gpu::Context* operator->() { return &context_; }

 private:
  static gpu::ContextOptions with_validation(gpu::ContextOptions options) {
    options.validation = true;
    return options;
  }

  gpu::Context context_;
  ValidationWatch watch_;
};

/// Fixture of a test on the shared device: TEST_CASE_FIXTURE(OnGpu, "…").
class OnGpu {
 protected:
  gpu::Context& context = shared_context();  // NOLINT(readability-identifier-naming): what test cases call it

 private:
  ValidationWatch watch_{context};
};

}  // namespace headlight::test
