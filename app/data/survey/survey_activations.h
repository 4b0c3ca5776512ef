#pragma once

#include "app/data/survey/survey_files.h"
#include "evaluation/activations.h"

namespace headlight::app {

/// A folder in a survey's folder with activations.json and, for each shard of the corpus with a text, "index-000017.npy" and
/// for each site "next.3-000017.npy". The content of a file depends on its shard alone.
inline constexpr const char* kActivationsFolder = "activations";

/// The size of the shards' activations, estimated from the tokens of some of them. Throws Error where these have no text.
struct ActivationSize {
  std::uint64_t rows = 0, bytes = 0, files = 0;
};
ActivationSize estimate_activations(const OpenedSurvey& survey, const ShardRange& shards);
/// Throws Error in one line where the folder's disk has no room for them.
void expect_room(const ActivationSize& size, const std::filesystem::path& directory);

/// Writes a shard's files, its index last. Throws Error naming the file that can't be written. From any thread.
void write_activations(const std::filesystem::path& directory, std::uint64_t shard,
                       const evaluation::ActivationChoice& choice, const evaluation::ShardActivations& kept);
/// Takes over the files of a part's folder, by links where the file system has them.
void take_activations(const std::filesystem::path& directory, const std::filesystem::path& part);
/// Writes activations.json. Throws Error where files are missing.
void describe_activations(const std::filesystem::path& directory, const SurveyResults& results);

}  // namespace headlight::app
