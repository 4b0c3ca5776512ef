#include "app/data/survey/survey_folder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/data/survey/survey_files.h"
#include "app/state/opened_file.h"
#include "app/state/session_file.h"
#include "app/state/state_names.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "files/npy.h"
#include "model/network.h"

namespace headlight::app {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMaxSurveyMetrics = 64, kMaxSurveyLayers = 4'096, kMaxExampleTokens = 32'768;
constexpr std::size_t kMaxSurveyHeads = std::size_t{1} << 18, kMaxBins = 1'024, kMaxCounted = 1'000, kSampleDeciles = 10;
constexpr const char* kAgain = "write it again with headlight survey";

/// Returns a member of an object. Throws json::exception where it is missing or of another type.
template <typename Value>
Value member(const json& object, const char* name) {
  return object.at(name).get<Value>();
}

double finite_of(const json& object, const char* name) {
  const auto value = member<double>(object, name);
  // Drawn as float.
  if (!(std::abs(value) <= double{std::numeric_limits<float>::max()})) throw Error("'{}' is no finite number", name);
  return value;
}

/// Reads a whole number of 0 or more; get() would make one of any number.
std::uint64_t count_of(const json& value, const char* name) {
  if (!value.is_number_unsigned()) throw Error("'{}' is no count", name);
  return value.get<std::uint64_t>();
}

std::uint32_t index_of(const json& line, const char* name, std::size_t end) {
  const std::uint64_t value = count_of(line.at(name), name);
  if (value >= end) throw Error("'{}' is {}, beyond {}", name, value, end);
  return static_cast<std::uint32_t>(value);
}

std::vector<std::uint32_t> ids_of(const json& line, const char* name) {
  const auto& given = line.at(name).get_ref<const json::array_t&>();
  if (given.size() > kMaxExampleTokens) throw Error("a text has {} tokens", given.size());
  std::vector<std::uint32_t> ids;
  for (const json& id : given) {
    const std::uint64_t value = count_of(id, name);
    if (value > std::numeric_limits<std::uint32_t>::max()) throw Error("'{}' has {}", name, value);
    ids.push_back(static_cast<std::uint32_t>(value));
  }
  return ids;
}

model::BlockKind attention_of(const json& line) {
  if (!line.contains("kind")) return model::BlockKind::EncoderSelf;
  const auto name = member<std::string>(line, "kind");
  const auto* kind = std::ranges::find(kKinds, std::string_view(name), &EnumName<model::BlockKind>::second);
  if (kind == kKinds.end()) throw Error("'{}' is no kind of attention", name);
  return kind->first;
}

/// Reads the target, where texts are pairs, and then the cell, whose query and key are tokens of one or of both.
void read_target(const json& line, const char* ids, model::BlockKind kind, SurveyExample& example) {
  if (line.contains("target")) {
    example.target = member<std::string>(line, "target");
    example.target_ids = ids_of(line, ids);
  }
  const auto size = [&](bool is_target) { return (is_target ? example.target_ids : example.ids).size(); };
  example.query = index_of(line, "query", size(kind != model::BlockKind::EncoderSelf));
  example.key = index_of(line, "key", size(kind == model::BlockKind::DecoderSelf));
}

SurveyExample example_of(const json& line) {
  SurveyExample example{.value = finite_of(line, "value"),
                        .weight = finite_of(line, "weight"),
                        .query_token = member<std::string>(line, "query_token"),
                        .key_token = member<std::string>(line, "key_token"),
                        .text = member<std::string>(line, "text"),
                        .ids = ids_of(line, "ids")};
  read_target(line, "target_ids", attention_of(line), example);
  return example;
}

/// Calls `use(line)` for each line of a file of JSON objects.
template <typename Use>
void read_lines_of(const fs::path& file, Use&& use) {
  const std::string text = read_file(file);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    ++number;
    try {
      const Result<json> line = parse_json(std::string_view(text).substr(at, end - at));
      if (!line) throw Error("{}", line.error());
      use(*line);
    } catch (const std::exception& error) {
      throw Error("{} line {}: {}; {}", utf8(file), number, error.what(), kAgain);
    }
    at = end + 1;
  }
}

std::size_t head_of(const json& line, const Survey& survey) {
  const evaluation::HeadLayout& layout = survey.layout;
  const model::BlockKind kind = attention_of(line);
  const bool is_encoder = kind == model::BlockKind::EncoderSelf;
  const std::uint32_t layer = index_of(line, "layer", is_encoder ? layout.layers : layout.decoder_layers);
  return layout.find({kind, LayerIndex{layer}}, index_of(line, "head", is_encoder ? layout.heads : layout.decoder_heads));
}

/// Reads how many layers and heads there are, as layout_json() writes it.
evaluation::HeadLayout layout_of(const json& object, const char* layers, const char* heads) {
  const bool has_kinds = object.contains(kDecoderLayers);
  const auto count = [&](const char* name, std::size_t end) { return has_kinds ? index_of(object, name, end) : 0; };
  return {.layers = index_of(object, layers, kMaxSurveyLayers),
          .heads = index_of(object, heads, model::kMaxModelHeads + 1),
          .decoder_layers = count(kDecoderLayers, kMaxSurveyLayers),
          .decoder_heads = count(kDecoderHeads, model::kMaxModelHeads + 1)};
}

std::size_t cell_of(const json& line, const Survey& survey) {
  const auto metric = std::ranges::find(survey.metrics, member<std::string>(line, "metric"));
  if (metric == survey.metrics.end()) throw Error("the metric is none of survey.json's");
  return static_cast<std::size_t>(metric - survey.metrics.begin()) * survey.count() + head_of(line, survey);
}

void read_head(const json& line, SurveyedHead& head) {
  head.texts = count_of(line.at("texts"), "texts");
  if (head.texts == 0) return;  // there is no mean
  head.mean = finite_of(line, "mean");
  head.spread = finite_of(line, "spread");
  if (!line.contains("histogram")) return;
  head.top = finite_of(line, "histogram_top");
  if (head.top <= 0.0) throw Error("'histogram_top' is {}", head.top);
  const auto& bins = line.at("histogram").get_ref<const json::array_t&>();
  if (bins.size() > kMaxBins) throw Error("a histogram has {} bins", bins.size());
  for (const json& bin : bins) head.histogram.push_back(static_cast<float>(count_of(bin, "histogram")));
}

std::vector<CountedToken> tokens_of(const json& line, const char* name, const char* query, const char* key) {
  const auto& given = line.at(name).get_ref<const json::array_t&>();
  if (given.size() > kMaxCounted) throw Error("'{}' has {} tokens", name, given.size());
  std::vector<CountedToken> tokens;
  for (const json& of : given) {
    tokens.push_back({.query = query ? member<std::string>(of, query) : std::string(),
                      .key = key ? member<std::string>(of, key) : std::string(),
                      .mass = finite_of(of, "mass"),
                      .weight = finite_of(of, "weight"),
                      .count = count_of(of.at("count"), "count")});
  }
  return tokens;
}

void read_tokens(const json& line, HeadAttention& head) {
  head.queries = count_of(line.at("queries"), "queries");
  if (head.queries == 0) return;
  head.first = finite_of(line, "first");
  const auto of_one_text = [&](const char* name) {
    const bool has_none = line.at(name).is_null() && attention_of(line) == model::BlockKind::Cross;
    return has_none ? std::numeric_limits<double>::quiet_NaN() : finite_of(line, name);
  };
  head.self = of_one_text("self");
  head.self_spread = of_one_text("self_spread");
  head.distance = of_one_text("distance");
  head.distance_spread = of_one_text("distance_spread");
  head.query_tokens = tokens_of(line, "query_tokens", "token", nullptr);
  head.key_tokens = tokens_of(line, "key_tokens", nullptr, "token");
  head.pairs = tokens_of(line, "pairs", "query", "key");
}

/// Shares of attention of every head; an array that isn't there leaves them empty.
void read_array(Survey& survey, const char* name, std::vector<float> HeadAttention::*part, Shape shape) {
  const fs::path file = survey.directory / name;
  if (!fs::exists(file)) return;
  try {
    const std::string bytes = read_file(file);
    const files::NpyHeader header = files::read_npy_header(bytes);
    shape = survey.layout.shape({}, shape);
    if (header.type != "<f4" || header.is_fortran || header.shape != shape) {
      throw Error("it holds {} of {}, not float32 of {}", header.type, headlight::to_string(header.shape),
                  headlight::to_string(shape));
    }
    std::vector<float> values(header.count);
    std::memcpy(values.data(), bytes.data() + header.begin, values.size() * sizeof(float));
    constexpr float kMost = 1.0F + 1e-3F;  // sums of shares round
    const auto is_odd = [](float value) { return value < 0.0F || value > kMost; };
    if (std::ranges::any_of(values, is_odd)) throw Error("a share of attention is below 0 or above 1");
    const auto size = static_cast<std::ptrdiff_t>(values.size() / survey.count());
    for (std::size_t head = 0; head < survey.count(); ++head) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(head) * size;
      const bool is_cross = survey.layout.at(head).block.kind == model::BlockKind::Cross;
      if (is_cross && std::isnan(*first)) continue;  // no distances
      (survey.attention[head].*part).assign(first, first + size);
    }
  } catch (const Error& error) {
    throw Error("{}: {}; {}", utf8(file), error.what(), kAgain);
  }
}

/// Returns today's name of a metric of an older file.
std::string today(const std::string& metric) {
  const bool is_share = metric == "previous" || metric == "duplicate" || metric == "induction";
  return is_share ? metric + "_mul" : metric == "relative" ? "evenness" : metric;
}

void check_sizes(const Survey& survey) {
  const evaluation::HeadLayout& layout = survey.layout;
  if (layout.layers == 0 || layout.heads == 0 || (layout.has_kinds() && layout.decoder_heads == 0))
    throw Error("it has no heads");
  if (survey.count() > kMaxSurveyHeads) throw Error("it has {} heads", survey.count());
  if (survey.metrics.empty() || survey.metrics.size() > kMaxSurveyMetrics) throw Error("it has no metrics, or too many");
}

/// Returns the file's version.
std::uint64_t read_description(Survey& survey) {
  const fs::path file = survey.directory / "survey.json";
  const json description = read_json(file);
  try {
    survey.model = found_path(member<std::string>(description, "model"), survey.directory);
    if (description.contains("corpus")) survey.corpus = member<std::string>(description, "corpus");
    survey.texts = count_of(description.at("texts"), "texts");
    survey.metrics = member<std::vector<std::string>>(description, "metrics");
    if (description.contains("patterns")) survey.patterns = member<decltype(survey.patterns)>(description, "patterns");
    for (const auto& [name, pattern] : survey.patterns) static_cast<void>(evaluation::CorpusMetric(name, pattern));
    survey.layout = layout_of(description, "layers", "heads");
    check_sizes(survey);
    const std::uint64_t version = description.contains("version") ? count_of(description.at("version"), "version") : 1;
    if (version > kSurveyVersion)
      throw Error("it is of version {}, and this Headlight reads up to {}", version, kSurveyVersion);
    return version;
  } catch (const std::exception& error) {
    throw Error("{}: {}; {}", utf8(file), error.what(), kAgain);
  }
}

/// Ranks heads by mean, the highest first.
void rank_heads(Survey& survey) {
  const std::size_t heads = survey.count();
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

/// Returns a text of HeadVis' folder, in which tokens are spelled out one by one.
SurveyExample headvis_example(const json& line, model::BlockKind kind) {
  SurveyExample example;
  example.value = finite_of(line, "value");
  example.weight = finite_of(line, "weight");
  example.text = member<std::string>(line, "text");
  example.ids = ids_of(line, "token_ids");
  const auto& tokens = line.at("tokens").get_ref<const json::array_t&>();
  if (tokens.size() != example.ids.size()) throw Error("a text has {} tokens and {} ids", tokens.size(), example.ids.size());
  read_target(line, "target_token_ids", kind, example);
  const auto token = [&](bool is_target, std::uint32_t at) {
    return (is_target ? line.at("target_tokens").at(at) : tokens[at]).get<std::string>();
  };
  example.query_token = token(kind != model::BlockKind::EncoderSelf, example.query);
  example.key_token = token(kind == model::BlockKind::DecoderSelf, example.key);
  if (!line.at("decile").is_null()) example.decile = 1 + index_of(line, "decile", kSampleDeciles);
  return example;
}

/// Reads heads/L5H1.json: texts by metric, and the members of a line of tokens.jsonl where it has them.
void read_headvis_head(const json& file, std::size_t head, Survey& survey) {
  for (std::size_t metric = 0; metric < survey.metrics.size(); ++metric) {
    const json& sequences = file.at("sequences");
    if (!sequences.contains(survey.metrics[metric])) continue;
    SurveyedHead& found = survey.found[metric * survey.count() + head];
    for (const json& line : sequences.at(survey.metrics[metric]).get_ref<const json::array_t&>()) {
      SurveyExample example = headvis_example(line, survey.layout.at(head).block.kind);
      (example.decile > 0 ? found.samples : found.examples).push_back(std::move(example));
    }
    std::ranges::reverse(found.samples);  // of equal values, too, the order is that of samples.jsonl
    std::ranges::stable_sort(found.samples, {}, &SurveyExample::value);
  }
  if (file.contains("queries")) read_tokens(file, survey.attention[head]);
}

/// Calls `use(content)` with a JSON file of HeadVis' folder; what it throws names the file.
template <typename Use>
void read_headvis_file(const fs::path& file, Use&& use) {
  const json content = read_json(file);
  try {
    use(content);
  } catch (const std::exception& error) {
    throw Error("{}: {}; write it again with headlight survey --headvis", utf8(file), error.what());
  }
}

/// Reads config.json, scatter_data.json and heads/L#H#.json, as write_headvis() names their members.
void read_headvis(Survey& survey) {
  read_headvis_file(survey.directory / "config.json", [&](const json& config) {
    survey.model = found_path(member<std::string>(config, "model"), survey.directory);
    survey.corpus = member<std::string>(config, "dataset");
    survey.texts = count_of(config.at("n_sequences"), "n_sequences");
    survey.metrics = member<std::vector<std::string>>(config, "metrics");
    survey.layout = layout_of(config, "n_layers", "n_heads");
    check_sizes(survey);
  });
  const fs::path all_heads = survey.directory / "scatter_data.json";
  if (fs::file_size(all_heads) < survey.metrics.size() * survey.count()) {
    throw Error("{} is shorter than the numbers of all heads that config.json names", utf8(all_heads));
  }
  survey.attention.resize(survey.count());
  read_headvis_file(all_heads, [&](const json& scatter) {
    if (scatter.size() != survey.count()) throw Error("it has {} heads, not {}", scatter.size(), survey.count());
    survey.found.resize(survey.metrics.size() * survey.count());
    std::vector<bool> is_there(survey.count());
    for (const json& line : scatter) {
      const std::size_t head = head_of(line, survey);
      is_there[head] = true;
      for (std::size_t metric = 0; metric < survey.metrics.size(); ++metric) {
        const json& numbers = line.at("metrics");
        if (numbers.at(survey.metrics[metric]).is_null()) continue;  // no text has what it measures
        SurveyedHead& found = survey.found[metric * survey.count() + head];
        found.mean = finite_of(numbers, survey.metrics[metric].c_str());
        found.spread = std::numeric_limits<double>::quiet_NaN();
        found.texts = survey.texts;
      }
    }
    if (std::ranges::find(is_there, false) != is_there.end()) throw Error("some heads are missing");
  });
  for (std::size_t head = 0; head < survey.count(); ++head) {
    read_headvis_file(survey.directory / "heads" / (survey.layout.name(head, '_') + ".json"),
                      [&](const json& file) { read_headvis_head(file, head, survey); });
  }
}

/// Reads the files that `headlight survey --out` writes.
void read_own(Survey& survey) {
  const std::uint64_t version = read_description(survey);
  const fs::path heads = survey.directory / "heads.jsonl";
  const std::size_t cells = survey.metrics.size() * survey.count();
  std::error_code ignored;  // a file that isn't there is named when it is read
  const std::uintmax_t bytes = fs::file_size(heads, ignored);
  if (!ignored && bytes < cells) throw Error("{} has fewer lines than survey.json has heads; write it again", utf8(heads));
  survey.found.resize(cells);
  survey.attention.resize(survey.count());
  std::vector<bool> is_there(cells);
  read_lines_of(heads, [&](const json& line) {
    const std::size_t cell = cell_of(line, survey);
    is_there[cell] = true;
    survey.found[cell] = {};
    read_head(line, survey.found[cell]);
  });
  if (std::ranges::find(is_there, false) != is_there.end()) {
    throw Error("{} has no line for some heads; {}", utf8(heads), kAgain);
  }
  read_lines_of(survey.directory / "examples.jsonl",
                [&](const json& line) { survey.found[cell_of(line, survey)].examples.push_back(example_of(line)); });
  if (const fs::path samples = survey.directory / "samples.jsonl"; fs::exists(samples)) {
    read_lines_of(samples, [&](const json& line) {
      SurveyExample sample = example_of(line);
      sample.decile = 1 + index_of(line, "decile", kSampleDeciles);
      survey.found[cell_of(line, survey)].samples.push_back(std::move(sample));
    });
  }
  if (const fs::path tokens = survey.directory / "tokens.jsonl"; fs::exists(tokens)) {
    read_lines_of(tokens, [&](const json& line) { read_tokens(line, survey.attention[head_of(line, survey)]); });
  }
  read_array(survey, "distance.npy", &HeadAttention::distances, {kAttentionBins});
  read_array(survey, "positions.npy", &HeadAttention::positions, {kAttentionBins});
  read_array(survey, "map.npy", &HeadAttention::map, {kMapEdge, kMapEdge});
  read_array(survey, "relative.npy", &HeadAttention::relative, {2 * kRelativeReach + 1});
  if (version < kOneKindVersion) std::ranges::transform(survey.metrics, survey.metrics.begin(), today);
}

}  // namespace

Survey read_survey(const fs::path& path) {
  const fs::path folder = survey_folder(path);
  const fs::path& directory = folder.empty() ? path : folder;
  Survey survey;
  survey.directory = directory;
  if (fs::exists(directory / "survey.json") || !fs::exists(directory / "scatter_data.json")) {
    read_own(survey);
  } else {
    read_headvis(survey);
  }
  rank_heads(survey);
  add_columns(survey);
  return survey;
}

}  // namespace headlight::app
