#include "ops/kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "core/error.h"
#include "core/half.h"
#include "gpu/stream.h"
#include "gpu/transfer.h"
#include "ops/compile.h"

namespace headlight::ops {

Kernels::Kernels(gpu::Context& context) : context_(context), tuning_(default_tuning(context.device())) {}

const gpu::Kernel& Kernels::operator[](const KernelVariant& variant) {
  auto kernel = loaded_.find(variant);
  if (kernel == loaded_.end()) {
    auto made = std::make_unique<gpu::Kernel>(context_, kernel_source(variant, context_.options().shader_folder),
                                              gpu::Kernel::Pipeline::Later);
    if (is_listing_ && !is_refused(variant)) listed_.push_back(made.get());
    kernel = loaded_.emplace(variant, Loaded{.kernel = std::move(made)}).first;
  }
  kernel->second.last_use = std::chrono::steady_clock::now();
  if (!variant.expressions.empty() && (expressions_.empty() || expressions_.back() != variant.expressions)) {
    std::erase(expressions_, variant.expressions);
    expressions_.push_back(variant.expressions);
  }
  const bool is_listed = is_listing_ && !is_refused(variant);
  if (!is_listed && !kernel->second.kernel->is_compiled()) {
    try {
      kernel->second.kernel->compile();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::DeviceLost) refused_.insert(variant);
      forget(kernel);
      throw;
    }
    std::erase(listed_, kernel->second.kernel.get());
  }
  return *kernel->second.kernel;
}

const gpu::Kernel* Kernels::find(const KernelVariant& variant) {
  if (is_refused(variant)) return nullptr;
  try {
    return &(*this)[variant];
  } catch (const Error&) {
    if (!is_refused(variant)) throw;
    return nullptr;
  }
}

Kernels::LoadedKernels::iterator Kernels::forget(LoadedKernels::iterator kernel) {
  std::erase(listed_, kernel->second.kernel.get());
  return loaded_.erase(kernel);
}

void Kernels::forget_unused(std::chrono::steady_clock::duration for_so_long) {
  const auto now = std::chrono::steady_clock::now();
  for (auto kernel = loaded_.begin(); kernel != loaded_.end();) {
    kernel = now - kernel->second.last_use < for_so_long ? std::next(kernel) : forget(kernel);
  }
}

std::vector<std::string> Kernels::listed() const {
  std::vector<std::string> names;
  for (const gpu::Kernel* kernel : listed_) names.push_back(kernel->name());
  return names;
}

void Kernels::compile_listed(const CompileObserver& observer) {
  compile_in_order(context_, listed_, {.observer = observer});
  for (auto kernel = loaded_.begin(); kernel != loaded_.end();) {
    const bool was_refused = !kernel->second.kernel->is_compiled();
    if (was_refused) refused_.insert(kernel->first);
    kernel = was_refused ? forget(kernel) : std::next(kernel);
  }
  listed_.clear();
}

void Kernels::forget_old_expressions() {
  constexpr std::size_t kKept = 8;  // of each kind of attention, now and a step before
  if (expressions_.size() <= kKept) return;
  expressions_.erase(expressions_.begin(), expressions_.end() - kKept);
  for (auto kernel = loaded_.begin(); kernel != loaded_.end();) {
    const std::string& text = kernel->first.expressions;
    const bool is_kept = text.empty() || std::ranges::find(expressions_, text) != expressions_.end();
    kernel = is_kept ? std::next(kernel) : forget(kernel);
  }
}

const HalfConversions& Kernels::half_conversions() {
  if (!half_conversions_) {
    const bool was_listing = std::exchange(is_listing_, false);  // a recording may ask, and needs the answer
    try {
      half_conversions_ = probe_halves(*this);
    } catch (...) {
      is_listing_ = was_listing;
      throw;
    }
    is_listing_ = was_listing;
  }
  return *half_conversions_;
}

HostThreads& Kernels::host_threads() {
  if (!host_threads_) host_threads_ = std::make_unique<HostThreads>();
  return *host_threads_;
}

std::uint32_t Kernels::parts_at_once(std::uint32_t count, double multiply_adds_each) const {
  const double budget = context_.work_per_submission();
  if (multiply_adds_each * count <= budget) return count;
  return static_cast<std::uint32_t>(std::max(1.0, budget / multiply_adds_each));
}

std::size_t Kernels::max_binding(bool texel) const {
  constexpr std::size_t kTexelBytes = 16;
  const gpu::DeviceInfo& device = context_.device();
  return texel ? std::size_t{device.max_texel_elements} * kTexelBytes : device.max_storage_range;
}

Kernels::Fold Kernels::fold(std::uint32_t groups) const {
  const std::uint32_t limit = context_.device().max_groups[0];
  const std::uint32_t rows = (groups - 1) / limit + 1;
  return {(groups - 1) / rows + 1, rows};
}

HalfConversions probe_halves(Kernels& kernels) {
  // The smallest and the largest subnormal number, one between them with a sign, and the smallest normal one.
  constexpr std::array<std::uint16_t, 4> kNumbers{0x0001, 0x03ff, 0x8200, 0x0400};
  try {
    gpu::Context& context = kernels.context();
    const gpu::Buffer halves(context, sizeof(kNumbers), gpu::Memory::Device, "a probe of the device");
    const gpu::Buffer result(context, 2 * kNumbers.size() * sizeof(std::uint32_t), gpu::Memory::Device,
                             "a probe of the device");
    gpu::write(context, halves, 0, std::span<const std::uint16_t>(kNumbers));
    gpu::Stream stream(context);
    const std::array<gpu::Slice, 3> bindings{halves, gpu::Slice(halves, 0, sizeof(kNumbers), true), result};
    stream.dispatch(kernels[{.shader = Shader::HalfProbe}], bindings, std::span<const std::byte>(), {1, 1, 1});
    const gpu::Download download = stream.download(result);
    gpu::Submission submission = std::move(stream).submit();
    submission.wait();
    const auto bits = submission.values<std::uint32_t>(download);
    HalfConversions conversions{.unpacking_keeps = true, .texels_keep = true};
    for (std::size_t i = 0; i < kNumbers.size(); ++i) {
      const auto expected = std::bit_cast<std::uint32_t>(from_half(kNumbers.at(i)));
      if (bits[i] != expected) conversions.unpacking_keeps = false;
      if (bits[kNumbers.size() + i] != expected) conversions.texels_keep = false;
    }
    return conversions;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::DeviceLost) throw;
    return {};
  }
}

}  // namespace headlight::ops
