#include "app/link/link_scalars.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight::app {

std::map<std::string, double> read_scalars(std::string_view json) {
  const Result<nlohmann::json> parsed = parse_json(json, {.bytes = kMaxScalarBytes, .values = 2 * kMaxScalars, .depth = 2});
  if (!parsed) throw Error(ErrorKind::InvalidInput, "scalars: {}", parsed.error());
  if (!parsed->is_object() || parsed->size() > kMaxScalars) {
    throw Error(ErrorKind::InvalidInput, "scalars: expected an object of at most {} numbers, found {}", kMaxScalars,
                shown(*parsed));
  }
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : parsed->items()) {
    const bool is_printable = std::ranges::none_of(name, [](unsigned char byte) { return byte < 0x20U || byte == 0x7FU; });
    if (name.empty() || name.size() > kMaxScalarName || !is_printable || find_invalid_utf8(name) != std::string::npos) {
      throw Error(ErrorKind::InvalidInput, "scalars: a name has 1 to {} printable bytes, not {}", kMaxScalarName,
                  shown(nlohmann::json(name)));
    }
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      throw Error(ErrorKind::InvalidInput, "scalars: '{}' is no finite number but {}", name, shown(value));
    }
    numbers[name] = value.get<double>();
  }
  return numbers;
}

void add_scalars(ScalarCurves& curves, std::int64_t step, const std::map<std::string, double>& numbers) {
  std::size_t names = curves.size();
  for (const auto& [name, value] : numbers) names += curves.contains(name) ? 0U : 1U;
  if (names > kMaxScalars) {
    throw Error(ErrorKind::InvalidInput, "scalars: {} names are more than {}; log fewer", names, kMaxScalars);
  }
  for (const auto& [name, value] : numbers) {
    auto& curve = curves[name];
    const auto at = std::ranges::lower_bound(curve, step, {}, &std::pair<std::int64_t, double>::first);
    if (at != curve.end() && at->first == step) {
      at->second = value;
    } else {
      curve.insert(at, {step, value});
    }
    if (curve.size() <= kMaxScalarSteps) continue;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < curve.size(); i += 2) curve[kept++] = curve[i];
    if (curve.size() % 2 == 0) curve[kept++] = curve.back();  // the newest stays
    curve.resize(kept);
  }
}

}  // namespace headlight::app
