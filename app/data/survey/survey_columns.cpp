#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "app/data/survey/head_plane.h"
#include "app/data/survey/survey_folder.h"

namespace headlight::app {
namespace {

/// Returns the mean map of each of these heads as a point: of two heads the distance is the one of Hellinger, which is 0
/// where they attend alike, of cells that every head knows.
std::vector<std::vector<double>> map_points(const Survey& survey, std::size_t first, std::size_t end) {
  std::vector<std::vector<double>> points(end - first);
  const std::span attention = std::span(survey.attention).subspan(first, end - first);
  for (std::size_t cell = 0; cell < std::size_t{kMapEdge} * kMapEdge; ++cell) {
    const auto lacks = [&](const HeadAttention& head) { return head.map.empty() || std::isnan(head.map[cell]); };
    if (std::ranges::any_of(attention, lacks)) continue;
    for (std::size_t head = 0; head < points.size(); ++head) {
      points[head].push_back(std::sqrt(double{attention[head].map[cell]}));
    }
  }
  return points;
}

/// Returns each metric's mean in units of its spread over heads, so that none counts more because its numbers are larger.
/// A model with several kinds of attention has columns for the metrics that all its heads have.
std::vector<std::vector<double>> metric_points(const Survey& survey) {
  std::vector<std::vector<double>> points(survey.count());
  for (std::size_t metric = 0; metric < survey.metrics.size(); ++metric) {
    double sum = 0.0, squares = 0.0, known = 0.0;
    const std::span heads = std::span(survey.found).subspan(metric * points.size(), points.size());
    const auto lacks = [](const SurveyedHead& head) { return head.texts == 0; };
    if (survey.layout.has_kinds() && std::ranges::any_of(heads, lacks)) continue;
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
  add("layer", false, [&](std::size_t head) { return static_cast<double>(survey.layout.at(head).block.layer.value); });
  if (survey.layout.has_kinds()) {
    add("kind", false, [&](std::size_t head) { return static_cast<double>(survey.layout.at(head).block.kind); });
  }
  const auto add_plane = [&](const std::string& name, const std::vector<std::vector<double>>& points, std::size_t first) {
    const std::vector<std::pair<double, double>> plane = head_plane(points);
    if (plane.empty()) return;
    for (const bool is_second : {false, true}) {
      add(fmt::format("{}, axis {}", name, is_second ? 2 : 1), true, [&](std::size_t head) {
        if (head < first || head - first >= plane.size()) return kNone;
        return is_second ? plane[head - first].second : plane[head - first].first;
      });
    }
  };
  add_plane("metrics", metric_points(survey), 0);
  const std::size_t cross = survey.layout.find({.kind = model::BlockKind::Cross}, 0);  // whose maps are stretched
  add_plane("mean maps", map_points(survey, 0, cross), 0);
  if (cross < survey.count()) add_plane("cross maps", map_points(survey, cross, survey.count()), cross);
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
  if (named != columns.end()) return *named;
  std::size_t after = 0;
  for (const SurveyColumn& column : columns) {
    const auto known =
        static_cast<std::size_t>(std::ranges::count_if(column.values, [](double value) { return std::isfinite(value); }));
    if (known >= (layout.has_kinds() ? count() : 1) && after++ == otherwise) return column;
  }
  return columns.back();
}

std::size_t Survey::find(std::string_view wanted) const {
  const auto same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
  for (std::size_t place = 0; !wanted.empty() && place < count(); ++place) {
    const std::string full = name(place), own = full.substr(full.find(' ') + 1);  // without its kind
    if (std::ranges::equal(full, wanted, same) || std::ranges::equal(own, wanted, same)) return place;
  }
  return count();
}

}  // namespace headlight::app
