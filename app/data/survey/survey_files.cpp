#include "app/data/survey/survey_files.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "app/state/session_file.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "evaluation/corpus_survey.h"
#include "inference/prompt.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;

/// The number of texts that are kept in memory for the next head, whose sample has the same ones.
constexpr std::size_t kMostRead = 512;

std::string description(const SurveyResults& results, const std::filesystem::path& directory, Json arrays) {
  const evaluation::CorpusStatistics& found = results.statistics;
  const double outside = found.busy_seconds > 0.0 ? 1.0 - found.device_seconds / found.busy_seconds : 0.0;
  const char* single = results.model().description.is_encoder_decoder ? "encoder" : "self";
  Json bins = Json::array();
  for (std::uint32_t bin = 0; bin < evaluation::kPlaceBins; ++bin) bins.push_back(evaluation::place_bin_end(bin));
  Json json = {{"program", "headlight " HEADLIGHT_VERSION},
               {"version", results.layout().has_kinds() ? kSurveyVersion : kOneKindVersion},
               {"device", results.device},
               {"model", portable_path(utf8(results.model().path), directory)},
               {"attention", results.layout().has_kinds() ? "all" : single},
               {"corpus", portable_path(utf8(results.survey.corpus->path()), directory)},
               {"corpus_bytes", results.survey.corpus->bytes()}};
  json.update(choices_json(results.survey.choices));
  json.update(layout_json(results.layout(), "layers", "heads"));
  json.update(Json{{"most_tokens", results.measures().most_tokens},
                   {"shard", results.shard.empty() ? Json(nullptr) : Json(results.shard)},
                   {"texts", found.texts},
                   {"tokens", found.tokens},
                   {"cut_texts", found.cut},
                   {"odd_texts", found.odd},
                   {"skipped_lines", found.skipped},
                   {"arrays", std::move(arrays)},
                   {"bin_ends", std::move(bins)},
                   {"ranks", results.ranks},
                   {"seconds", results.seconds},
                   {"texts_per_second", results.seconds > 0.0 ? static_cast<double>(results.texts) / results.seconds : 0.0},
                   {"share_outside_device", outside}});
  return to_text(json) + "\n";
}

}  // namespace

std::shared_ptr<const ShownPair> SurveyResults::text_at(std::uint64_t offset) const {
  if (const auto known = read.find(offset); known != read.end()) return known->second;
  const CorpusFile& corpus = *survey.corpus;
  std::vector<evaluation::CorpusText> lines;
  if (measures().packs) {
    lines = corpus.shard(offset / kShardBytes).texts;
    std::erase_if(lines, [&](const evaluation::CorpusText& text) { return text.offset < offset; });
  } else {
    lines.push_back(corpus.text_at(offset));
  }
  evaluation::CorpusRows rows = evaluation::corpus_rows(model(), measures(), lines);
  auto shown = std::make_shared<ShownPair>();
  if (!rows.ids.empty() && rows.offsets[0] == offset) {
    inference::PromptText prompt;
    prompt.ids.push_back(rows.ids[0]);
    prompt.target_ids = rows.targets;
    const model::ModelInput input = inference::make_prompt(model(), prompt).input;
    shown->source = {.text = {}, .ids = std::move(rows.ids[0]), .tokens = input.source.texts.at(0)};
    if (!rows.targets.empty()) shown->target = {lines[0].target, std::move(rows.targets[0]), input.target->texts.at(0)};
    for (const evaluation::CorpusText& text : lines) {
      if (rows.offsets.size() > 1 && text.offset >= rows.offsets[1]) break;
      if (text.offset != offset) shown->source.text += "\n";
      shown->source.text += text.text;
    }
  }
  if (read.size() >= kMostRead) read.clear();
  return read.emplace(offset, std::move(shown)).first->second;
}

std::vector<ShownExample> SurveyResults::shown(const std::vector<evaluation::HeadExample>& examples,
                                               std::size_t place) const {
  const model::BlockKind kind = layout().at(place).block.kind;
  std::vector<ShownExample> all;
  for (const evaluation::HeadExample& example : examples) {
    std::shared_ptr<const ShownPair> text = text_at(example.offset);
    if (example.query >= text->queries(kind).ids.size() || example.key >= text->keys(kind).ids.size()) {
      throw Error("the text at byte {} of {} isn't the one that was measured; measure again with --restart", example.offset,
                  utf8(survey.corpus->path()));
    }
    all.push_back({.example = example, .shown = std::move(text)});
  }
  return all;
}

std::vector<ShownExample> SurveyResults::examples(std::size_t cell) const {
  return shown(statistics.examples[cell].kept(), cell % layout().count());
}

std::vector<ShownExample> SurveyResults::samples(std::size_t cell) const {
  std::vector<evaluation::HeadExample> sorted = statistics.samples[cell].kept();
  std::ranges::stable_sort(sorted, {}, &evaluation::HeadExample::value);
  return shown(sorted, cell % layout().count());
}

std::string SurveyResults::token(std::uint64_t id, bool is_target) const {
  const auto number = static_cast<std::uint32_t>(id);
  const text::Tokenizer& tokenizer = is_target ? *model().target_tokenizer : *model().tokenizer;
  if (number >= tokenizer.vocabulary_size()) return fmt::format("{} (not in this vocabulary)", id);
  const std::vector<std::string> labels = tokenizer.labels(std::span(&number, 1));
  return labels.empty() || labels[0].empty() ? std::to_string(id) : labels[0];
}

void write_survey_files(const std::filesystem::path& directory, const SurveyResults& results) {
  write_survey_rows(directory, results);
  Json arrays = write_survey_arrays(directory, results);
  write_file_atomically(directory / "report.html", survey_page(results));
  write_file_atomically(directory / "survey.json", description(results, directory, std::move(arrays)));
}

}  // namespace headlight::app
