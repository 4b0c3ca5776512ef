#include "app/data/survey/survey_choices.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "app/state/field_values.h"
#include "app/state/session_file.h"
#include "app/state/setting_text.h"
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

}  // namespace

OpenedSurvey open_survey(SurveyChoices choices, const fs::path& directory) {
  OpenedSurvey opened;
  opened.model = inference::open_model(choices.model);
  // Refused before anything is measured: a model without a template, or one that takes no user's turn.
  if (choices[kSurveyCorpus.is_chat])
    static_cast<void>(inference::chat_template(*opened.model).render("text", choices.thinking));
  const CorpusFormat format = {.is_json = choices[kSurveyCorpus.is_json],
                               .field = choices[kSurveyCorpus.field],
                               .takes_targets = !opened.model->network->layers->decoder.empty(),
                               .most_lines = choices[kSurveyCorpus.most_lines],
                               .share = choices[kSurveyCorpus.share]};
  if (choices.corpus != kStandardInput) choices.corpus = fs::weakly_canonical(choices.corpus);
  opened.corpus = std::make_unique<const CorpusFile>(choices.corpus, directory, format);
  evaluation::CorpusMeasures measures =
      evaluation::corpus_measures(*opened.model, choices.metrics, choices[kSurveyCorpus.tokens], choices[kSurveyCorpus.top],
                                  choices[kSurveyCorpus.samples], opened.corpus->has_targets());
  if (choices[kSurveyCorpus.packs] && measures.layout.has_kinds())
    throw Error("{} has pairs of texts, which can't be packed into rows: leave --pack out", utf8(opened.corpus->path()));
  measures.is_chat = choices[kSurveyCorpus.is_chat];
  measures.thinking = choices.thinking;
  measures.packs = choices[kSurveyCorpus.packs];
  measures.activations = {.sites = evaluation::activation_sites(*opened.model, choices.activations),
                          .every = choices[kSurveyActivations.every],
                          .is_half = choices[kSurveyActivations.precision] == inference::Precision::F16};
  opened.identity = {.corpus = opened.corpus->identity(),
                     .model = fingerprint(opened.model->path),
                     .measures = std::move(measures),
                     .is_half = choices[kSurveyModel.precision] == inference::Precision::F16};
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
  nlohmann::ordered_json json = {{"metrics", std::move(metrics)},
                                 {"patterns", std::move(patterns)},
                                 {"thinks", enum_name<text::Thinking>(kThinking, choices.thinking)},
                                 {"activations", choices.activations}};
  for (const SettingGroup* group : kSurveySettings) {
    for (const AnySetting* setting : group->settings)
      json[std::string(setting->text.key)] = write_setting(*setting, choices);
  }
  return json;
}

SurveyChoices read_choices(const fs::path& directory) {
  const fs::path file = directory / "survey.json";
  const nlohmann::json json = read_json(file);
  try {
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
    const JsonReader reader(json, {});
    for (const SettingGroup* group : kSurveySettings) {
      for (const AnySetting* setting : group->settings) read_setting(*setting, reader, choices);
    }
    read_thinking(reader, "thinks", choices.thinking);
    choices.activations = json.value("activations", choices.activations);  // not of older surveys
    return choices;
  } catch (const std::exception& error) {
    throw Error("{}: {}; write it again with headlight survey", utf8(file), error.what());
  }
}

}  // namespace headlight::app
