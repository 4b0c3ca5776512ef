#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "app/data/survey/survey_files.h"
#include "core/file.h"
#include "files/npy.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;
using evaluation::HeadProfile;

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

float ratio(double sum, double count) { return count > 0.0 ? static_cast<float>(sum / count) : kNoNumber; }

/// The arrays that every head has, in the order of docs/SURVEY_FILES.md.
struct ProfileArrays {
  static constexpr std::uint32_t kNear = evaluation::kNearBins, kSteps = 2 * kNear - 1;
  Tensor distance, positions, map, relative;

  explicit ProfileArrays(const evaluation::CorpusMeasures& of)
      : distance(of.layout.shape({}, {evaluation::kPlaceBins})),
        positions(of.layout.shape({}, {evaluation::kPlaceBins})),
        map(of.layout.shape({}, {evaluation::kMapTokens, evaluation::kMapTokens})),
        relative(of.layout.shape({}, {kSteps})) {}

  void fill(std::size_t head, const HeadProfile& found) {
    const double all = found.all();
    for (std::size_t bin = 0; bin < evaluation::kPlaceBins; ++bin) {
      distance.values[head * evaluation::kPlaceBins + bin] =
          ratio(found.before[bin] + found.after[bin], found.has_distances() ? all : 0.0);
      positions.values[head * evaluation::kPlaceBins + bin] = ratio(found.positions[bin], all);
    }
    for (std::size_t at = 0; at < found.map.size(); ++at) {
      const std::size_t last = std::max(at / evaluation::kMapTokens, at % evaluation::kMapTokens);
      map.values[head * found.map.size() + at] = ratio(found.map[at], static_cast<double>(found.texts[last]));
    }
    for (std::uint32_t far = 0; far < kNear; ++far) {
      const auto cells = static_cast<double>(found.cells[far]);
      if (far > 0) relative.values[head * kSteps + kNear - 1 + far] = ratio(found.after[far], cells);
      relative.values[head * kSteps + kNear - 1 - far] = ratio(found.before[far], cells);
    }
  }
};

}  // namespace

Json write_survey_arrays(const std::filesystem::path& directory, const SurveyResults& results) {
  const auto metrics = static_cast<std::uint32_t>(results.measures().metrics.size());
  const evaluation::HeadLayout& layout = results.measures().layout;
  Tensor mean(layout.shape({metrics})), spread(layout.shape({metrics}));
  Tensor histogram(layout.shape({metrics}, {evaluation::kHistogramBins}));
  for (std::size_t cell = 0; cell < results.statistics.metrics.size(); ++cell) {
    const evaluation::MetricStatistics& found = results.statistics.metrics[cell];
    mean.values[cell] = found.texts > 0 ? static_cast<float>(found.mean()) : kNoNumber;
    spread.values[cell] = found.texts > 0 ? static_cast<float>(found.spread()) : kNoNumber;
    for (std::size_t bin = 0; bin < evaluation::kHistogramBins; ++bin) {
      histogram.values[cell * evaluation::kHistogramBins + bin] = static_cast<float>(found.histogram[bin]);
    }
  }
  ProfileArrays profiles(results.measures());
  for (std::size_t head = 0; head < results.statistics.profiles.size(); ++head) {
    profiles.fill(head, results.statistics.profiles[head]);
  }
  Json shapes;
  const auto write = [&](const char* name, const Tensor& tensor) {
    write_file_atomically(directory / name, files::encode_npy(tensor));
    shapes[name] = tensor.shape;
  };
  write("mean.npy", mean);
  write("spread.npy", spread);
  write("histogram.npy", histogram);
  write("distance.npy", profiles.distance);
  write("positions.npy", profiles.positions);
  write("map.npy", profiles.map);
  write("relative.npy", profiles.relative);
  return shapes;
}

}  // namespace headlight::app
