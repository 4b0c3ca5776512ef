#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "app/survey/head_plane.h"
#include "app/survey/survey_folder.h"

namespace headlight::app {
namespace {

/// The mean map of each head as a point: of two heads the distance is the one of Hellinger, which is 0 where they attend
/// alike, of cells that every head knows.
std::vector<std::vector<double>> map_points(const Survey& survey) {
  std::vector<std::vector<double>> points(survey.count());
  for (std::size_t cell = 0; cell < std::size_t{kMapEdge} * kMapEdge; ++cell) {
    const auto lacks = [&](const HeadAttention& head) { return head.map.empty() || std::isnan(head.map[cell]); };
    if (std::ranges::any_of(survey.attention, lacks)) continue;
    for (std::size_t head = 0; head < points.size(); ++head) {
      points[head].push_back(std::sqrt(double{survey.attention[head].map[cell]}));
    }
  }
  return points;
}

/// Each metric's mean in units of its spread over heads, so that none counts more because its numbers are larger.
std::vector<std::vector<double>> metric_points(const Survey& survey) {
  std::vector<std::vector<double>> points(survey.count());
  for (std::size_t metric = 0; metric < survey.metrics.size(); ++metric) {
    double sum = 0.0, squares = 0.0, known = 0.0;
    for (std::size_t head = 0; head < points.size(); ++head) {
      if (survey.head(metric, head).texts == 0) continue;
      sum += survey.head(metric, head).mean;
      squares += survey.head(metric, head).mean * survey.head(metric, head).mean;
      known += 1.0;
    }
    const double mean = sum / std::max(known, 1.0),
                 spread = std::sqrt(std::max(squares / std::max(known, 1.0) - mean * mean, 0.0));
    for (std::size_t head = 0; head < points.size(); ++head) {
      const bool has_number = survey.head(metric, head).texts > 0 && spread > 0.0;
      points[head].push_back(has_number ? (survey.head(metric, head).mean - mean) / spread : 0.0);
    }
  }
  return points;
}

}  // namespace

void add_columns(Survey& survey) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto add = [&](std::string name, bool is_plane, const auto& value) {
    SurveyColumn& column =
        survey.columns.emplace_back(SurveyColumn{.name = std::move(name), .values = {}, .is_plane = is_plane});
    for (std::size_t head = 0; head < survey.count(); ++head) column.values.push_back(value(head));
  };
  for (std::size_t metric = 0; metric < survey.metrics.size(); ++metric) {
    add(survey.metrics[metric], false, [&](std::size_t head) {
      const SurveyedHead& found = survey.head(metric, head);
      return found.texts > 0 ? found.mean : kNone;
    });
  }
  if (std::ranges::any_of(survey.attention, [](const HeadAttention& head) { return head.queries > 0; })) {
    const auto number = [&](double HeadAttention::*part) {
      return [&survey, part](std::size_t head) {
        return survey.attention[head].queries > 0 ? survey.attention[head].*part : kNone;
      };
    };
    add("self", false, number(&HeadAttention::self));
    add("first", false, number(&HeadAttention::first));
  }
  add("layer", false, [&](std::size_t head) {
    const std::size_t layer = head / survey.heads;
    return static_cast<double>(layer);
  });
  const auto add_plane = [&](const std::string& name, const std::vector<std::vector<double>>& points) {
    const std::vector<std::pair<double, double>> plane = head_plane(points);
    if (plane.empty()) return;
    add(name + ", axis 1", true, [&](std::size_t head) { return plane[head].first; });
    add(name + ", axis 2", true, [&](std::size_t head) { return plane[head].second; });
  };
  add_plane("metrics", metric_points(survey));
  add_plane("mean maps", map_points(survey));
}

std::string SurveyedHead::mean_text() const {
  return std::isnan(spread) ? fmt::format("{:.3f}", mean) : fmt::format("{:.3f} \u00B1 {:.3f}", mean, spread);
}

std::string bin_name(std::size_t bin) {
  if (bin <= kMapEdge) return fmt::format("{}", bin);
  const std::size_t end = std::size_t{kMapEdge} << (bin - kMapEdge);
  return fmt::format("{}\u2013{}", end / 2 + 1, end);
}

const SurveyColumn& Survey::column(std::string_view wanted, std::size_t otherwise) const {
  const auto named = std::ranges::find(columns, wanted, &SurveyColumn::name);
  return named == columns.end() ? columns[std::min(otherwise, columns.size() - 1)] : *named;
}

std::string Survey::name(std::size_t head) const { return fmt::format("L{}H{}", head / heads, head % heads); }

std::size_t Survey::find(std::string_view wanted) const {
  std::uint32_t layer = 0, head = 0;
  const char* end = wanted.data() + wanted.size();
  if (wanted.size() < 4 || (wanted[0] | 0x20) != 'l') return count();
  const auto [middle, trouble] = std::from_chars(wanted.data() + 1, end, layer);
  if (trouble != std::errc() || middle == end || (*middle | 0x20) != 'h') return count();
  const auto [last, other_trouble] = std::from_chars(middle + 1, end, head);
  const bool is_there = other_trouble == std::errc() && last == end && layer < layers && head < heads;
  return is_there ? std::size_t{layer} * heads + head : count();
}

}  // namespace headlight::app
