#include "app/survey/survey_reader.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <system_error>

#include <nlohmann/json.hpp>

#include "app/state/session_file.h"
#include "app/survey/survey_files.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "model/network.h"

namespace headlight::app {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMaxSurveyMetrics = 64, kMaxSurveyLayers = 4'096, kMaxExampleTokens = 32'768;

/// A member of an object. Throws json::exception where it is missing or of another type.
template <typename Value>
Value member(const json& object, const char* name) {
  return object.at(name).get<Value>();
}

/// A whole number of 0 or more; get() would make one of any number.
std::uint64_t count_of(const json& value, const char* name) {
  if (!value.is_number_unsigned()) throw Error("'{}' is no count", name);
  return value.get<std::uint64_t>();
}

std::uint32_t index_of(const json& line, const char* name, std::size_t end) {
  const std::uint64_t value = count_of(line.at(name), name);
  if (value >= end) throw Error("'{}' is {}, beyond {}", name, value, end);
  return static_cast<std::uint32_t>(value);
}

std::vector<std::uint32_t> ids_of(const json& line) {
  const auto& given = line.at("ids").get_ref<const json::array_t&>();
  if (given.size() > kMaxExampleTokens) throw Error("a text has {} tokens", given.size());
  std::vector<std::uint32_t> ids;
  for (const json& id : given) {
    const std::uint64_t value = count_of(id, "ids");
    if (value > std::numeric_limits<std::uint32_t>::max()) throw Error("'ids' has {}", value);
    ids.push_back(static_cast<std::uint32_t>(value));
  }
  return ids;
}

SurveyExample example_of(const json& line) {
  SurveyExample example{.value = member<double>(line, "value"),
                        .weight = member<double>(line, "weight"),
                        .query_token = member<std::string>(line, "query_token"),
                        .key_token = member<std::string>(line, "key_token"),
                        .text = member<std::string>(line, "text"),
                        .ids = ids_of(line)};
  example.query = index_of(line, "query", example.ids.size());
  example.key = index_of(line, "key", example.ids.size());
  return example;
}

/// Calls `use(line, cell)` for each line of a file of JSON objects with metric, layer and head.
template <typename Use>
void read_lines_of(const fs::path& file, const Survey& survey, Use&& use) {
  const std::string text = read_file(file);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    ++number;
    try {
      const Result<json> line = parse_json(std::string_view(text).substr(at, end - at));
      if (!line) throw Error("{}", line.error());
      const auto metric = std::ranges::find(survey.metrics, member<std::string>(*line, "metric"));
      if (metric == survey.metrics.end()) throw Error("the metric is none of survey.json's");
      const auto row = static_cast<std::size_t>(metric - survey.metrics.begin()) * survey.layers +
                       index_of(*line, "layer", survey.layers);
      use(*line, row * survey.heads + index_of(*line, "head", survey.heads));
    } catch (const std::exception& error) {
      throw Error("{} line {}: {}; write it again with headlight survey", utf8(file), number, error.what());
    }
    at = end + 1;
  }
}

/// What a metric of an older file is called today.
std::string today(const std::string& metric) {
  const bool is_share = metric == "previous" || metric == "duplicate" || metric == "induction";
  return is_share ? metric + "_mul" : metric == "relative" ? "evenness" : metric;
}

/// Returns the file's version.
std::uint64_t read_description(Survey& survey) {
  const fs::path file = survey.directory / "survey.json";
  const json description = read_json(file);
  try {
    survey.model = found_path(member<std::string>(description, "model"), survey.directory);
    survey.texts = count_of(description.at("texts"), "texts");
    survey.metrics = member<std::vector<std::string>>(description, "metrics");
    survey.layers = index_of(description, "layers", kMaxSurveyLayers);
    survey.heads = index_of(description, "heads", model::kMaxModelHeads + 1);
    if (survey.layers == 0 || survey.heads == 0) throw Error("it has no heads");
    if (survey.metrics.empty() || survey.metrics.size() > kMaxSurveyMetrics) throw Error("it has no metrics, or too many");
    const std::uint64_t version = description.contains("version") ? count_of(description.at("version"), "version") : 1;
    if (version > kSurveyVersion)
      throw Error("it is of version {}, and this Headlight reads up to {}", version, kSurveyVersion);
    return version;
  } catch (const std::exception& error) {
    throw Error("{}: {}; write it again with headlight survey", utf8(file), error.what());
  }
}

/// Places by mean, the highest first.
void rank_heads(Survey& survey) {
  const std::size_t heads = std::size_t{survey.layers} * survey.heads;
  for (std::size_t first = 0; first < survey.found.size(); first += heads) {
    std::vector<double> means;
    for (std::size_t i = first; i < first + heads; ++i) means.push_back(survey.found[i].mean);
    std::ranges::sort(means, std::greater());
    for (std::size_t i = first; i < first + heads; ++i) {
      const auto place = std::ranges::lower_bound(means, survey.found[i].mean, std::greater());
      survey.found[i].place = 1 + static_cast<std::uint32_t>(place - means.begin());
    }
  }
}

}  // namespace

Survey read_survey(const fs::path& directory) {
  Survey survey;
  survey.directory = directory;
  const std::uint64_t version = read_description(survey);
  const fs::path heads = directory / "heads.jsonl";
  const std::size_t cells = survey.metrics.size() * survey.layers * survey.heads;
  std::error_code ignored;  // a file that isn't there is named when it is read
  const std::uintmax_t bytes = fs::file_size(heads, ignored);
  if (!ignored && bytes < cells) throw Error("{} has fewer lines than survey.json has heads; write it again", utf8(heads));
  survey.found.resize(cells);
  std::vector<bool> is_there(cells);
  read_lines_of(heads, survey, [&](const json& line, std::size_t cell) {
    is_there[cell] = true;
    survey.found[cell].texts = count_of(line.at("texts"), "texts");
    if (survey.found[cell].texts == 0) return;  // there is no mean
    survey.found[cell].mean = member<double>(line, "mean");
    survey.found[cell].spread = member<double>(line, "spread");
  });
  if (std::ranges::find(is_there, false) != is_there.end()) {
    throw Error("{} has no line for some heads; write it again with headlight survey", utf8(heads));
  }
  read_lines_of(directory / "examples.jsonl", survey,
                [&](const json& line, std::size_t cell) { survey.found[cell].examples.push_back(example_of(line)); });
  if (version < kSurveyVersion) std::ranges::transform(survey.metrics, survey.metrics.begin(), today);
  rank_heads(survey);
  return survey;
}

}  // namespace headlight::app
