#include "app/data/checkpoints/trainer_state.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

constexpr JsonLimits kLimits{.bytes = std::size_t{64} << 20, .values = std::size_t{1} << 21, .depth = 16};

/// Does the number say something about the network, not about the computer or the axis?
bool is_of_network(std::string_view name) {
  return name != "epoch" && name != "step" && name != "total_flos" && !name.ends_with("_runtime") &&
         !name.ends_with("_per_second");
}

void add_entry(ScalarCurves& curves, const nlohmann::json& entry) {
  const auto step = entry.is_object() ? entry.find("step") : entry.end();
  const bool has_step = entry.is_object() && step != entry.end() && step->is_number_unsigned() &&
                        step->get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxLinkStep);
  if (!has_step) throw Error("expected an object with a step from 0 to 2^53, found {}", shown(entry));
  nlohmann::json numbers = nlohmann::json::object();
  for (const auto& [name, value] : entry.items()) {
    if (value.is_number() && is_of_network(name)) numbers[name] = value;
  }
  add_scalars(curves, step->get<std::int64_t>(), read_scalars(to_text(numbers, -1)));
}

}  // namespace

ScalarCurves read_trainer_state(const std::filesystem::path& path) {
  const nlohmann::json state = read_json(path, kLimits);
  const auto log = state.is_object() ? state.find("log_history") : state.end();
  if (!state.is_object() || log == state.end() || !log->is_array())
    throw Error(ErrorKind::InvalidInput, "{} has no list log_history: it isn\u2019t as transformers\u2019 Trainer writes it",
                utf8(path));
  ScalarCurves curves;
  for (std::size_t i = 0; i < log->size(); ++i) {
    try {
      add_entry(curves, (*log)[i]);
    } catch (const Error& error) {
      throw Error(ErrorKind::InvalidInput, "{}: log_history[{}]: {}", utf8(path), i, error.what());
    }
  }
  return curves;
}

}  // namespace headlight::app
