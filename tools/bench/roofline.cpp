#include "tools/bench/roofline.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "tools/bench/report.h"
#include "tools/bench/roofline_figure.h"
#include "tools/bench/roofs.h"

namespace headlight::bench {
namespace {

RooflineFigure figure_of(const gpu::DeviceInfo& device, const Roofs& roofs, const std::vector<Result>& results) {
  RooflineFigure figure;
  figure.title = fmt::format("{}: what operations reach", device.name);
  figure.subtitle = fmt::format(
      "{}, {:%Y-%m-%d}. A square is a median of wall times; labels are tokens \u00D7 d_model. Bytes are those of "
      "operands and results, each once.",
      device.driver, fmt::gmtime(std::time(nullptr)));
  figure.arithmetic = {{.name = "multiply-adds, shader", .rate = roofs.shader_gflops}};
  figure.memory = {{.name = "copy, device", .rate = roofs.device_gbytes}};
  if (roofs.program_gflops) figure.arithmetic.push_back({.name = "multiply-adds, program", .rate = *roofs.program_gflops});
  if (roofs.program_gbytes) figure.memory.push_back({.name = "copy, program", .rate = *roofs.program_gbytes});
  for (const Result& result : results) {
    const std::optional<double> rate = gflops(result);
    if (!rate) continue;
    const std::string name(to_string(result.operation));
    auto series = std::ranges::find(figure.series, name);
    if (series == figure.series.end()) series = figure.series.insert(series, name);
    figure.dots.push_back({.intensity = flops(result.operation, result.size) / least_bytes(result.operation, result.size),
                           .gflops = *rate,
                           .label = fmt::format("{}\u00D7{}", result.size.n, result.size.d_model),
                           .series = static_cast<std::uint32_t>(series - figure.series.begin())});
  }
  return figure;
}

std::string told_rates(const std::vector<RooflineFigure::Roof>& roofs, const char* unit) {
  std::string text;
  for (const auto& roof : roofs) text += fmt::format("{:<24} {:>8.1f} {}\n", roof.name, roof.rate, unit);
  return text;
}

}  // namespace

std::string write_roofline(const std::filesystem::path& file, ops::Kernels& kernels, const std::vector<Result>& results) {
  const gpu::DeviceInfo& device = kernels.context().device();
  const RooflineFigure figure = figure_of(device, measure_roofs(kernels), results);
  if (figure.dots.empty()) throw Error("there is nothing to draw: choose --ops that count flops, such as qkv_gemm");
  write_file_atomically(file, exporting::encode(*make_drawing(figure), *exporting::drawing_format(file)));
  return told_rates(figure.arithmetic, "GFLOP/s") + told_rates(figure.memory, "GB/s") +
         fmt::format("{} operations in {}\n", figure.dots.size(), file.string());
}

}  // namespace headlight::bench
