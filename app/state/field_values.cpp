#include "app/state/field_values.h"

#include "app/state/mask_json.h"
#include "app/state/state_names.h"
#include "chart/color.h"

namespace headlight::app {

using nlohmann::json;

json write_head(model::BlockRef block, std::uint32_t head) {
  return {{"kind", enum_name(kKinds, block.kind)}, {"layer", block.layer.value}, {"head", head}};
}

void read_head(const JsonReader& object, model::BlockRef& block, std::uint32_t& head) {
  object.read_enum("kind", block.kind, kKinds);
  object.read("layer", block.layer.value, 0u, kLastIndex);
  object.read("head", head, 0u, kLastIndex);
}

namespace {

/// Returns [{"kind", "layer", "head", `name`}, …] of a map from heads to values.
template <typename Value, typename Write>
json write_by_head(const std::map<std::pair<model::BlockRef, std::uint32_t>, Value>& values, const char* name, Write write) {
  json list = json::array();
  for (const auto& [head, value] : values) {
    list.push_back(write_head(head.first, head.second));
    list.back()[name] = write(value);
  }
  return list;
}

/// Reads such a list: `read` reads the value of an object of the list, which has `otherwise` before.
template <typename Value, typename Read>
void read_by_head(const JsonReader& object, const char* key,
                  std::map<std::pair<model::BlockRef, std::uint32_t>, Value>& values, Value otherwise, Read read) {
  const json* found = object.find(key);
  if (!found) return;
  if (!found->is_array()) object.fail(key, "a list of heads", *found);
  values.clear();
  for (const json& head : *found) {
    const JsonReader reader(head, object.path(key));
    model::BlockRef block;
    std::uint32_t number = 0;
    Value value = otherwise;
    read_head(reader, block, number);
    read(reader, value);
    values[{block, number}] = value;
  }
}

}  // namespace

json write_scale(const model::Scale& scale) {
  switch (scale.kind) {
    case model::Scale::Kind::InverseSqrtKey:
      return "1/sqrt(d_k)";
    case model::Scale::Kind::None:
      return "none";
    case model::Scale::Kind::Value:
      break;
  }
  return scale.value;
}

void read_scale(const JsonReader& object, const char* key, model::Scale& value) {
  const json* found = object.find(key);
  if (!found) return;
  if (*found == "1/sqrt(d_k)") {
    value = {};
  } else if (*found == "none") {
    value = {.kind = model::Scale::Kind::None, .value = 1.0f};
  } else if (found->is_number() && std::isfinite(found->get<float>())) {
    value = {.kind = model::Scale::Kind::Value, .value = found->get<float>()};
  } else {
    object.fail(key, "1/sqrt(d_k), none or a number", *found);
  }
}

void read_ids(const JsonReader& object, const char* key, IdLists& value) {
  const json* found = object.find(key);
  if (!found) return;
  if (!found->is_array()) object.fail(key, "lists of whole numbers", *found);
  value.clear();
  for (const json& line : *found) {
    if (!line.is_array()) object.fail(key, "lists of whole numbers", *found);
    std::vector<std::uint32_t>& item = value.emplace_back();
    // Ids beyond the vocabulary are refused when the prompt is made.
    for (const json& id : line) item.push_back(JsonReader::integer(object.path(key), id, 0u, kLastIndex));
  }
}

void read_thinking(const JsonReader& object, const char* key, text::Thinking& value) {
  const json* found = object.find(key);
  if (found != nullptr && found->is_boolean())
    value = found->get<bool>() ? text::Thinking::On : text::Thinking::Off;
  else
    object.read_enum(key, value, kThinking);
}

json write_gains(const inference::HeadGains& gains) {
  return write_by_head(gains, "gain", [](float gain) { return json(gain); });
}

void read_gains(const JsonReader& object, const char* key, inference::HeadGains& value) {
  constexpr float kLargest = 1e6f;
  read_by_head(object, key, value, 1.0f,
               [](const JsonReader& head, float& gain) { head.read("gain", gain, -kLargest, kLargest); });
}

json write_patterns(const inference::FixedPatterns& patterns) {
  json list = write_by_head(patterns, "pattern", [](const attention::ReplacementPattern& pattern) {
    return json(enum_name(kFixedPatterns, pattern.kind));
  });
  std::size_t at = 0;
  for (const auto& [head, pattern] : patterns) {
    if (pattern.kind == attention::FixedPattern::Painted) list[at]["weights"] = numbers_to_json(pattern.weights);
    ++at;
  }
  return list;
}

void read_patterns(const JsonReader& object, const char* key, inference::FixedPatterns& value) {
  std::size_t left = kMaxPaintedNumbers;
  read_by_head(object, key, value, attention::ReplacementPattern(),
               [&left](const JsonReader& head, attention::ReplacementPattern& pattern) {
                 head.read_enum("pattern", pattern.kind, kFixedPatterns);
                 const json* weights = head.find("weights");
                 if (weights == nullptr || pattern.kind != attention::FixedPattern::Painted) return;
                 pattern.weights =
                     numbers_from_json(*weights, head.path("weights"), 0.0f, attention::kMaxPatternWeight, left);
               });
}

json write_limits(const ColorLimits& limits) {
  json value = json::object();
  for (const auto& [stage, ends] : limits) {
    value[std::string(enum_name(kMapStages, stage))] = {ends.low, ends.high};
  }
  return value;
}

void read_limits(const JsonReader& object, const char* key, ColorLimits& value) {
  const json* found = object.find(key);
  if (!found) return;
  const JsonReader reader(*found, object.path(key));
  value.clear();
  for (const auto& [stage, stage_name] : kMapStages) {
    const std::string name(stage_name);
    const json* ends = reader.find(name.c_str());
    if (!ends) continue;
    chart::ValueLimits& read = value[stage];
    const bool are_numbers = ends->is_array() && ends->size() == 2 && ends->at(0).is_number() && ends->at(1).is_number();
    if (are_numbers) read = {.low = ends->at(0).get<float>(), .high = ends->at(1).get<float>()};
    const bool are_in_order = are_numbers && std::isfinite(read.low) && std::isfinite(read.high) && read.low < read.high;
    if (!are_in_order) reader.fail(name.c_str(), "[low, high] with low below high", *ends);
  }
}

json write_cell(const std::optional<attention::Cell>& cell) {
  if (!cell) return nullptr;
  return {cell->query, cell->key};
}

void read_cell(const JsonReader& object, const char* key, std::optional<attention::Cell>& value) {
  const json* found = object.find(key);
  if (!found || found->is_null()) return;
  if (!found->is_array() || found->size() != 2) object.fail(key, "[query, key]", *found);
  const auto coordinate = [&](std::size_t index) {
    return JsonReader::integer(object.path(key), found->at(index), 0u, inference::kMaxTokens);
  };
  value = attention::Cell{.query = coordinate(0), .key = coordinate(1)};
}

json write_heads(const std::vector<HeadRef>& heads) {
  json list = json::array();
  for (const HeadRef& head : heads) {
    list.push_back(write_head(head.block, head.head));
  }
  return list;
}

void read_heads(const JsonReader& object, const char* key, std::vector<HeadRef>& value) {
  const json* found = object.find(key);
  if (!found) return;
  if (!found->is_array() || found->size() > kMaxPinnedHeads) object.fail(key, "a list of heads", *found);
  value.clear();
  for (const json& head : *found) {
    const JsonReader reader(head, object.path(key));
    HeadRef& read = value.emplace_back();
    read_head(reader, read.block, read.head);
  }
  std::ranges::sort(value);
  value.erase(std::unique(value.begin(), value.end()), value.end());
}

json write_metric(const std::optional<evaluation::HeadMetric>& metric) {
  if (!metric) return nullptr;
  return enum_name(kHeadMetricNames, *metric);
}

void read_metric(const JsonReader& object, const char* key, std::optional<evaluation::HeadMetric>& value) {
  const json* found = object.find(key);
  if (!found) return;
  value.reset();
  if (found->is_null()) return;
  object.read_enum(key, value.emplace(), kHeadMetricNames);
}

json write_locked(const std::optional<LockedToken>& locked) {
  if (!locked) return nullptr;
  return {{"side", enum_name(kMapSides, locked->side)}, {"token", locked->token}};
}

void read_locked(const JsonReader& object, const char* key, std::optional<LockedToken>& value) {
  const json* found = object.find(key);
  if (!found || found->is_null()) return;
  const JsonReader reader(*found, object.path(key));
  LockedToken locked;
  reader.read_enum("side", locked.side, kMapSides);
  reader.read("token", locked.token, 0u, inference::kMaxTokens);
  value = locked;
}

json write_head_numbers(const std::vector<std::uint32_t>& heads) { return heads; }

void read_head_numbers(const JsonReader& object, const char* key, std::vector<std::uint32_t>& value) {
  const json* found = object.find(key);
  if (!found) return;
  if (!found->is_array()) object.fail(key, "a list of heads", *found);
  value.clear();
  for (const json& head : *found) value.push_back(JsonReader::integer(object.path(key), head, 0u, kLastIndex));
  std::ranges::sort(value);
  value.erase(std::unique(value.begin(), value.end()), value.end());
}

json write_token(std::optional<std::uint32_t> token) { return token ? json(*token) : json(nullptr); }

void read_token(const JsonReader& object, const char* key, std::optional<std::uint32_t>& value) {
  const json* found = object.find(key);
  if (found && !found->is_null()) value = JsonReader::integer(object.path(key), *found, 0u, model::kPaddingId - 1);
}

namespace {

constexpr std::size_t kLongestId = 32;

void read_id(const JsonReader& object, const char* key, const char* expected, bool may_be_empty, std::string& value) {
  const json* found = object.find(key);
  if (!found) return;
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ' ' || c == '_'; };
  const std::string* text = found->is_string() ? &found->get_ref<const std::string&>() : nullptr;
  const bool is_id = text && text->size() <= kLongestId && std::ranges::all_of(*text, fits);
  if (!is_id || (text->empty() && !may_be_empty)) object.fail(key, expected, *found);
  value = *text;
}

}  // namespace

void read_view_id(const JsonReader& object, const char* key, std::string& value) {
  read_id(object, key, "the name of a view, for instance head", false, value);
}

void read_matrix_id(const JsonReader& object, const char* key, std::string& value) {
  read_id(object, key, "the name of a matrix, for instance scores, or an empty text", true, value);
}

}  // namespace headlight::app
