// kernel_report [--run] [NAME…]: how the first Vulkan device's driver compiles the kernels, all or those whose names
// contain one of the words; one tab-separated line each. They are the variants that the program uses on such a device:
// some differ between processors and GPUs.
//   without --run   the driver's statistics of the machine code, and of the innermost loop the per cent of multiply-adds
//                   and the shared memory's loads and stores for each; works with RADV's null hardware
//                   (RADV_FORCE_FAMILY=navi21)
//   with --run      milliseconds of processor time to create the pipeline, to compile it in the first dispatch, and of
//                   a second dispatch; MESA_SHADER_CACHE_DISABLE=true keeps llvmpipe from finding it compiled
// HEADLIGHT_SHADERS names a folder of shaders that are compiled instead of the built-in ones, as for the program.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gpu/shader_compiler.h"
#include "kernel_report/device.h"
#include "kernel_report/machine_code.h"
#include "ops/kernel_variant.h"

namespace headlight::kernel_report {
namespace {

double first_of(const Statistics& statistics, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto found = statistics.find(name); found != statistics.end()) return found->second;
  }
  return -1.0;  // the driver doesn't say
}

void print_statistics(const Device& device, const gpu::KernelSource& source) {
  const Statistics all = device.statistics(source);
  const InstructionMix mix = inner_loop(device.assembly(source));
  std::cout << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.1f}\t{:.3f}\n", source.name, first_of(all, {"VGPRs"}),
                           first_of(all, {"Spilled VGPRs"}), first_of(all, {"Spilled SGPRs"}),
                           first_of(all, {"Scratch size", "Scratch Size"}), first_of(all, {"LDS size", "LDS Size"}),
                           first_of(all, {"Code size", "Code Size"}), first_of(all, {"Subgroups per SIMD"}),
                           mix.multiply_add_percent(), mix.shared_per_multiply_add())
            << std::flush;
}

void print_time(const Device& device, const gpu::KernelSource& source) {
  const CompileTime time = device.compile_time(source);
  std::cout << fmt::format("{}\t{:.0f}\t{:.0f}\t{:.1f}\n", source.name, time.create_ms, time.first_ms, time.second_ms)
            << std::flush;
}

int report(const std::vector<std::string>& arguments) {
  std::vector<std::string> words(arguments);
  const bool runs = std::erase(words, "--run") > 0;
  const Device device;
  std::cerr << "device: " << device.name() << "\n";
  if (!runs && !device.has_statistics()) {
    std::cerr << "its driver doesn't describe machine code; --run measures how long it compiles\n";
    return 1;
  }
  std::cout << (runs ? "kernel\tcreate_ms\tfirst_ms\tsecond_ms\n"
                     : "kernel\tvgprs\tspilled_vgprs\tspilled_sgprs\tscratch\tshared\tcode\tsubgroups\t"
                       "multiply_add_percent\tshared_per_multiply_add\n");
  for (const ops::KernelVariant& variant : ops::kernel_variants(device.is_cpu())) {
    if (variant.multiplies_matrices && !device.has_matrices()) continue;
    gpu::KernelSource source = ops::kernel_source(variant);
    const bool is_named = std::any_of(words.begin(), words.end(),
                                      [&](const std::string& word) { return source.name.find(word) != std::string::npos; });
    if (!words.empty() && !is_named) continue;
    std::vector<std::uint32_t> compiled;
    if (const char* folder = std::getenv("HEADLIGHT_SHADERS"); folder != nullptr && !source.compiled) {
      compiled = gpu::compile_glsl(folder, source.file, source.defines);
      source.spirv = compiled;
    }
    if (runs) print_time(device, source);
    if (!runs) print_statistics(device, source);
  }
  return 0;
}

}  // namespace
}  // namespace headlight::kernel_report

int main(int argc, char** argv) {
  try {
    return headlight::kernel_report::report({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "kernel_report: " << error.what() << "\n";
    return 1;
  }
}
