#pragma once

#include <functional>

#include "app/data/survey/corpus_file.h"
#include "app/data/survey/ranks.h"
#include "app/data/survey/survey_fold.h"
#include "inference/language_model.h"

namespace headlight::app {

inline constexpr const char* kStateFile = "survey.state";  ///< where an interrupted survey goes on, in its directory

struct SurveyProgress {
  std::uint64_t done = 0, shards = 0;
  std::uint64_t texts = 0;
};

struct SurveyOptions {
  std::filesystem::path directory;
  SurveyIdentity identity;
  std::optional<ShardRange> part = {};                       ///< none: all shards
  std::vector<std::string> devices = {};                     ///< one thread for each; empty: one, on the best device
  std::function<void(const SurveyProgress&)> progress = {};  ///< of rank 0
  std::function<void(const std::string&)> tell = {};         ///< a line for the user, of rank 0
  std::function<void(const std::string&)> opened = {};       ///< the name of each device of this rank, from its thread
};

/// Measures a corpus, from where `options.directory` left off, with all ranks and their devices. Returns the statistics on
/// rank 0 and null on others. Shards are measured one by one, wherever, and added up in the order of the corpus. Throws
/// Error in one line that names the rank and its shard; what was measured by then is in the directory.
std::unique_ptr<SurveyFold> run_survey(Ranks& ranks, const std::shared_ptr<const inference::LanguageModel>& model,
                                       const CorpusFile& corpus, const SurveyOptions& options);

}  // namespace headlight::app
