#include "app/data/survey/survey_choices.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "app/state/field_values.h"
#include "app/state/session_file.h"
#include "app/state/state_names.h"
#include "core/error.h"
#include "core/json.h"
#include "text/chat_template.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

/// Returns a model's name, the size of its files and the time of their last change, by which another model is recognised.
std::string fingerprint(const fs::path& path) {
  std::uintmax_t bytes = 0;
  fs::file_time_type changed = fs::file_time_type::min();
  const auto look_at = [&](const fs::path& file) {
    bytes += fs::file_size(file);
    changed = std::max(changed, fs::last_write_time(file));
  };
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.is_regular_file()) look_at(entry.path());
    }
  } else {
    look_at(path);
  }
  return fmt::format("{} ({} bytes, changed {})", utf8(fs::canonical(path).filename()), bytes,
                     changed.time_since_epoch().count());
}

std::uint64_t count_in(const nlohmann::json& json, const char* name, std::uint64_t most) {
  const nlohmann::json& value = json.at(name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) throw Error("'{}' is no count up to {}", name, most);
  return value.get<std::uint64_t>();
}

}  // namespace

OpenedSurvey open_survey(SurveyChoices choices, const fs::path& directory) {
  OpenedSurvey opened;
  opened.model = inference::open_model(choices.model);
  // Refused before anything is measured: a model without a template, or one that takes no user's turn.
  if (choices.is_chat) static_cast<void>(inference::chat_template(*opened.model).render("text", choices.thinking));
  choices.format.takes_targets = !opened.model->network->layers->decoder.empty();
  if (choices.corpus != kStandardInput) choices.corpus = fs::weakly_canonical(choices.corpus);
  opened.corpus = std::make_unique<const CorpusFile>(choices.corpus, directory, choices.format);
  evaluation::CorpusMeasures measures = evaluation::corpus_measures(
      *opened.model, choices.metrics, choices.tokens, choices.top, choices.samples, opened.corpus->has_targets());
  if (choices.packs && measures.layout.has_kinds())
    throw Error("{} has pairs of texts, which can't be packed into rows: leave --pack out", utf8(opened.corpus->path()));
  measures.is_chat = choices.is_chat;
  measures.thinking = choices.thinking;
  measures.packs = choices.packs;
  measures.activations = {.sites = evaluation::activation_sites(*opened.model, choices.activations),
                          .every = choices.every,
                          .is_half = choices.halves_activations};
  opened.identity = {.corpus = opened.corpus->identity(),
                     .model = fingerprint(opened.model->path),
                     .measures = std::move(measures),
                     .is_half = choices.is_half};
  opened.choices = std::move(choices);
  return opened;
}

nlohmann::ordered_json choices_json(const SurveyChoices& choices) {
  nlohmann::ordered_json metrics = nlohmann::ordered_json::array();
  nlohmann::ordered_json patterns = nlohmann::ordered_json::object();
  for (const evaluation::CorpusMetric& metric : choices.metrics) {
    metrics.push_back(metric.name());
    if (metric.is_own()) patterns[metric.own_name] = metric.pattern;
  }
  return {{"metrics", std::move(metrics)},
          {"patterns", std::move(patterns)},
          {"tokens_at_most", choices.tokens},
          {"top", choices.top},
          {"samples", choices.samples},
          {"chat", choices.is_chat},
          {"thinks", enum_name<text::Thinking>(kThinking, choices.thinking)},
          {"pack", choices.packs},
          {"precision", choices.is_half ? "f16" : "f32"},
          {"jsonl", choices.format.is_json},
          {"field", choices.format.field},
          {"limit", choices.format.most_lines},
          {"sample", choices.format.share},
          {"activations", choices.activations},
          {"every", choices.every},
          {"activation_type", choices.halves_activations ? "f16" : "f32"}};
}

SurveyChoices read_choices(const fs::path& directory) {
  const fs::path file = directory / "survey.json";
  const nlohmann::json json = read_json(file);
  try {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
    SurveyChoices choices;
    choices.corpus = found_path(json.at("corpus").get<std::string>(), directory);
    choices.model = found_path(json.at("model").get<std::string>(), directory);
    const std::vector<std::string> names = evaluation::metric_names();
    const nlohmann::json patterns = json.value("patterns", nlohmann::json::object());
    for (const nlohmann::json& metric : json.at("metrics")) {
      if (const auto own = patterns.find(metric.get<std::string>()); own != patterns.end()) {
        choices.metrics.emplace_back(own.key(), own->get<std::string>());
        continue;
      }
      const auto name = std::ranges::find(names, metric.get<std::string>());
      if (name == names.end()) throw Error("'metrics' has {}", shown(metric));
      choices.metrics.emplace_back(static_cast<evaluation::HeadMetric>(name - names.begin()));
    }
    choices.tokens = static_cast<std::uint32_t>(count_in(json, "tokens_at_most", kMost));
    choices.top = static_cast<std::uint32_t>(count_in(json, "top", kMost));
    choices.samples = static_cast<std::uint32_t>(count_in(json, "samples", kMost));
    choices.is_chat = json.at("chat").get<bool>();
    read_thinking(JsonReader(json, {}), "thinks", choices.thinking);
    choices.packs = json.at("pack").get<bool>();
    choices.is_half = json.at("precision").get<std::string>() == "f16";
    choices.format = {.is_json = json.at("jsonl").get<bool>(),
                      .field = json.at("field").get<std::string>(),
                      .most_lines = count_in(json, "limit", std::uint64_t{1} << 62),
                      .share = json.at("sample").get<double>()};
    if (json.contains("activations")) {  // not of older surveys
      choices.activations = json.at("activations").get<std::vector<std::string>>();
      choices.every = std::max(static_cast<std::uint32_t>(count_in(json, "every", kMost)), 1U);
      choices.halves_activations = json.at("activation_type").get<std::string>() == "f16";
    }
    return choices;
  } catch (const std::exception& error) {
    throw Error("{}: {}; write it again with headlight survey", utf8(file), error.what());
  }
}

}  // namespace headlight::app
