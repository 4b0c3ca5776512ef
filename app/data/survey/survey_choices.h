#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "app/data/survey/corpus_file.h"
#include "app/data/survey/survey_fold.h"
#include "app/data/survey/survey_settings.h"
#include "inference/language_model.h"

namespace headlight::app {

/// The subject of a survey and the measurements, as the command line has them: settings (survey_settings.h), and what has
/// another shape.
struct SurveyChoices : Choices {
  std::filesystem::path corpus = {};  ///< "-": standard input
  std::filesystem::path model = {};
  std::vector<evaluation::CorpusMetric> metrics = {};
  text::Thinking thinking = text::Thinking::Unset;
  std::vector<std::string> activations = {};  ///< names of activation_sites()
};

/// Corpus and model, and what identifies the survey of them.
struct OpenedSurvey {
  SurveyChoices choices;
  std::shared_ptr<const inference::LanguageModel> model;
  std::unique_ptr<const CorpusFile> corpus;
  SurveyIdentity identity;
};

/// Opens a survey. `directory` has room for a copy of a compressed corpus. Throws Error where something can't be read or
/// measured.
OpenedSurvey open_survey(SurveyChoices choices, const std::filesystem::path& directory);

/// Returns the members of survey.json that a later program needs to open the same survey again; metrics are written by their
/// names.
nlohmann::ordered_json choices_json(const SurveyChoices& choices);
/// Reads these members of a survey.json; corpus and model are paths where they are found from `directory`, else names.
/// Throws Error naming the file.
SurveyChoices read_choices(const std::filesystem::path& directory);

}  // namespace headlight::app
