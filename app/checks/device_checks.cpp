// Checks what the driver states about a device, and what a few instructions compute there.
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <nlohmann/json.hpp>

#include "app/checks/checker.h"
#include "app/shell/render_device.h"
#include "core/error.h"
#include "gpu/device_facts.h"
#include "gpu/shader_compiler.h"
#include "ops/tuning.h"

namespace headlight::checks {
namespace {

constexpr std::string_view kArithmetic = R"(#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint count; };
layout(set = 0, binding = 0, std430) readonly buffer x_buffer { float x[]; };
layout(set = 0, binding = 1, std430) readonly buffer y_buffer { float y[]; };
layout(set = 0, binding = 2, std430) writeonly buffer result_buffer { float result[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= count) return;
  result[i] = exp(x[i]);
  result[count + i] = x[i] / y[i];
  result[2u * count + i] = sqrt(abs(y[i]));
  result[3u * count + i] = x[i] * y[i];
})";

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN(),
                kSubnormal = 1e-40F;
/// x and y of the first invocations; the rest is a sweep over the numbers that softmax and norms compute with.
constexpr std::array<std::pair<float, float>, 7> kSpecial{{{0.0F, 1.0F},
                                                           {kSubnormal, 1.0F},
                                                           {kNan, 1.0F},
                                                           {kInfinity, 2.0F},
                                                           {-kInfinity, 2.0F},
                                                           {1.0F, kInfinity},
                                                           {std::numeric_limits<float>::lowest(), 1.0F}}};
constexpr std::uint32_t kSwept = 8'192;

/// Returns the distance of two neighbouring floats where `value` is.
double last_place(double value) {
  const double size = std::max(std::abs(value), static_cast<double>(std::numeric_limits<float>::min()));
  return std::ldexp(1.0, std::ilogb(size) - 23);
}

/// Results of the four functions for all inputs.
struct Arithmetic {
  std::vector<float> x, y;
  std::array<std::vector<float>, 4> found;  ///< exp(x), x / y, √y, x · y

  /// Returns the largest error of a function in units of the last place, divided by what Vulkan allows.
  template <typename Wanted, typename Allowed>
  std::pair<double, double> worst(std::size_t function, const Wanted& wanted, const Allowed& allowed) const {
    double units = 0.0, share = 0.0;
    for (std::size_t i = kSpecial.size(); i < x.size(); ++i) {
      const double right = wanted(static_cast<double>(x[i]), static_cast<double>(y[i]));
      double error = std::abs(static_cast<double>(found.at(function)[i]) - right) / last_place(right);
      if (!std::isfinite(error)) error = 1e9;
      units = std::max(units, error);
      share = std::max(share, error / allowed(static_cast<double>(x[i])));
    }
    return {units, share};
  }
};

Arithmetic compute(Checker& check) {
  Arithmetic all;
  for (const auto& [x, y] : kSpecial) {
    all.x.push_back(x);
    all.y.push_back(y);
  }
  const Tensor random = random_tensor({2, kSwept}, 7);
  for (std::uint32_t i = 0; i < kSwept; ++i) {
    all.x.push_back(random.values[i] * 48.0F - 38.0F);  // −86 … 10: what exp() gets of softmax
    all.y.push_back(std::exp2(random.values[kSwept + i] * 20.0F));
  }
  const auto words = std::make_shared<const std::vector<std::uint32_t>>(
      gpu::compile_glsl([](std::string_view) { return std::string(kArithmetic); }, "arithmetic.comp", {}));
  const gpu::Kernel kernel(
      check.context(),
      {.name = "arithmetic", .file = "arithmetic.comp", .defines = {}, .spirv = *words, .constants = {}, .compiled = words});
  const auto count = static_cast<std::uint32_t>(all.x.size());
  const Checker::Numbers numbers = check.run([&](CheckStream& one) {
    const auto bits = [&](const std::vector<float>& values) -> const gpu::Buffer& {
      return one.words({reinterpret_cast<const std::uint32_t*>(values.data()), values.size()});
    };
    const gpu::Buffer& result =
        one.keep(gpu::Buffer(check.context(), std::size_t{4} * count * sizeof(float), gpu::Memory::Device, "a check"));
    one.stream.dispatch(kernel, {bits(all.x), bits(all.y), result}, count, {count / 64 + 1, 1, 1});
    one.take(result);
  });
  for (std::size_t function = 0; function < all.found.size(); ++function) {
    const auto from = numbers.front().begin() + static_cast<std::ptrdiff_t>(function * count);
    all.found.at(function).assign(from, from + count);
  }
  return all;
}

void tell_precision(Checker& check, const Arithmetic& all) {
  const auto tell = [&](const char* name, const char* allowed, std::pair<double, double> worst) {
    check.tell(
        worst.second <= 1.0 ? CheckStatus::Ok : CheckStatus::Fail,
        fmt::format("at most {:.2f} units in the last place from the right number; Vulkan allows {}", worst.first, allowed),
        {{"units", worst.first}}, name);
  };
  tell("exp", "3 + 2 |x|",
       all.worst(
           0, [](double x, double) { return std::exp(x); }, [](double x) { return 3.5 + 2.0 * std::abs(x); }));
  tell("division", "2.5",
       all.worst(
           1, [](double x, double y) { return x / y; }, [](double) { return 3.0; }));
  tell("square root", "that of 1 / inversesqrt(x), some 5",
       all.worst(
           2, [](double, double y) { return std::sqrt(y); }, [](double) { return 5.5; }));
}

void tell_special(Checker& check, const Arithmetic& all) {
  const auto& [exp, quotient, root, product] = all.found;
  const auto tell = [&](const char* name, bool holds, const std::string& what) {
    check.tell(holds ? CheckStatus::Ok : CheckStatus::Warn, what, {}, name);
  };
  tell("exp(0)", exp[0] == 1.0F, fmt::format("is {:.9g}", exp[0]));
  const bool keeps_nan = std::isnan(exp[2]) && std::isnan(quotient[2]) && std::isnan(product[2]);
  tell("NaN", keeps_nan, keeps_nan ? "stays NaN in exp, /, *" : "gets lost in exp, / or *, as Vulkan allows");
  const bool keeps_infinity = exp[3] == kInfinity && exp[4] == 0.0F && product[4] == -kInfinity && quotient[5] == 0.0F;
  tell("infinity", keeps_infinity,
       keeps_infinity
           ? "exp(inf) is inf, exp(-inf) 0, -inf * 2 -inf, 1 / inf 0"
           : fmt::format("exp(inf) is {}, exp(-inf) {}, -inf * 2 {}, 1 / inf {}", exp[3], exp[4], product[4], quotient[5]));
  check.tell(exp[6] == 0.0F ? CheckStatus::Ok : CheckStatus::Fail,
             fmt::format("exp of the smallest float, a masked score, is {}", exp[6]), {}, "masked score");
  check.tell(CheckStatus::Ok,
             product[1] == kSubnormal ? "float32 keeps them" : "float32 flushes them to 0, as Vulkan allows", {},
             "subnormals");
}

void tell_halves(Checker& check) {
  const ops::HalfConversions& halves = check.kernels().half_conversions();
  const char* how = halves.unpacking_keeps ? "unpackHalf2x16 keeps subnormals"
                                           : "unpackHalf2x16 loses subnormals: weights are decoded by integers instead";
  check.tell(CheckStatus::Ok, fmt::format("{}; {}", how,
                                          halves.texels_keep ? "texel buffers keep them"
                                                             : "texel buffers lose them: storage buffers are read instead"));
}

}  // namespace

void check_facts(Checker& check) {
  check.step("driver", [&] {
    for (const gpu::DeviceFact& fact : gpu::device_facts(check.context())) {
      check.begin_group(fact.group);
      check.tell(CheckStatus::Ok, fact.text, {}, fact.name);
    }
    check.begin_group("device");
  });
}

void check_presentation(Checker& check) {
  const auto is_set = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
  };
  const std::string display = is_set("WAYLAND_DISPLAY") ? "Wayland" : is_set("DISPLAY") ? "X11" : "";
  if (display.empty()) return;
  check.step("window", [&] {
    const std::string index = std::to_string(check.context().device().index);
    try {
      const shell::RenderDevice device({.device = index, .shows_windows = true});
      check.tell(CheckStatus::Ok, fmt::format("draws, and shows windows on this display ({})", display));
    } catch (const Error& error) {  // another device may draw while this one computes
      check.tell(CheckStatus::Warn, error.what());
    }
  });
}

void check_arithmetic(Checker& check) {
  check.step("float32", [&] {
    const Arithmetic all = compute(check);
    tell_precision(check, all);
    tell_special(check, all);
  });
  check.step("float16", [&] { tell_halves(check); });
}

}  // namespace headlight::checks
