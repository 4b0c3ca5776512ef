#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "app/data/checkpoints/step_series.h"
#include "app/data/checkpoints/trainer_state.h"
#include "app/data/link/link_message.h"
#include "app/data/link/link_server.h"
#include "app/data/link/saved_steps.h"
#include "app/data/prompts/prompt_set.h"
#include "app/data/survey/survey_choices.h"
#include "app/data/survey/survey_folder.h"
#include "app/lessons/course.h"
#include "app/lessons/lesson.h"
#include "app/lessons/results.h"
#include "app/state/mask_file.h"
#include "app/state/session_file.h"
#include "app/state/settings.h"
#include "app/state/state_json.h"
#include "attention/expression_glsl.h"
#include "evaluation/corpus_statistics.h"
#include "export/figure_session.h"
#include "files/npy.h"
#include "fuzz/readers.h"
#include "link/link_program.h"

namespace headlight::fuzz {
namespace {

namespace fs = std::filesystem;

void read_mask(const fs::path& path) {
  expect_error_at_most([&] {
    const attention::BooleanMask mask = app::load_mask(path);
    if (mask.keep.size() != std::size_t{mask.batch} * mask.heads * mask.queries * mask.keys) std::abort();
  });
}

void read_npy(std::string_view bytes) {
  expect_error_at_most([&] { (void)files::read_npy_header(bytes); });
  read_mask(write_scratch("mask.npy", bytes));
}

void read_json_mask(std::string_view bytes) { read_mask(write_scratch("mask.json", bytes)); }

void read_session(std::string_view bytes) {
  const Result<app::State> state = app::load_session(write_scratch("s.headlight.json", bytes));
  if (!state) expect_printable(state.error());
  // An accepted value is the same after writing and reading it again.
  if (state && *app::state_from_json(app::to_json(*state)) != *state) std::abort();
}

/// Reads settings. No settings file may keep the app from starting, so this must not throw.
void read_settings(std::string_view bytes) {
  const fs::path path = write_scratch("settings.json", bytes);
  const app::LoadedSettings loaded = app::load_settings(path);
  if (loaded.warning && loaded.settings != app::Settings{}) std::abort();
  fs::remove(scratch_folder() / "settings.json.bad");
}

/// An accepted expression is evaluated and written as GLSL in bounded time and size.
void read_expression(std::string_view bytes) {
  for (const attention::ExpressionUse use : {attention::ExpressionUse::Mask, attention::ExpressionUse::Score}) {
    const auto parsed = attention::parse_expression(bytes, use);
    if (const auto* error = std::get_if<attention::ExpressionError>(&parsed)) {
      expect_printable(error->message);
      if (error->column < 1 || error->column > bytes.size() + 1) std::abort();
      continue;
    }
    const auto& expression = std::get<attention::Expression>(parsed);
    const attention::ExpressionMap map{.layers = 2, .heads = 3, .queries = 9, .keys = 7};
    const double score = expression.score(map, 8, 6, 0.5, {});
    if (score < -1e30 || score > 1e30) std::abort();
    constexpr std::size_t kMaxGlsl = 100'000;
    if (attention::expressions_glsl(expression, expression).size() > kMaxGlsl) std::abort();
  }
}

/// Reads all that a program sends over a live link. The server answers, or closes the connection, and goes on serving.
void read_link(std::string_view bytes) {
  static app::LinkServer server({.folder = empty_folder("link"), .most_capture_bytes = std::uint64_t{1} << 20});
  app::LinkProgram program(server.socket_path());
  if (!program.is_connected()) std::abort();
  program.send(bytes);
  (void)program.end();
}

/// Numbers that a program logs.
void read_logged(std::string_view bytes) {
  expect_error_at_most([&] {
    app::ScalarCurves curves;
    app::add_scalars(curves, 1, app::read_scalars(bytes));
    for (const auto& [name, curve] : curves) expect_printable(name);
  });
}

void read_saved_steps(std::string_view bytes) {
  expect_error_at_most([&] {
    const app::SavedSteps steps(write_scratch("steps.zip", bytes));
    if (steps.snapshot().steps.empty()) std::abort();
  });
}

/// A figure's metadata, in which its session is.
void read_figure(std::string_view bytes) {
  const std::optional<std::string> text = exporting::session_of_figure(bytes);
  const Result<app::State> state = app::load_session(write_scratch("figure.png", bytes));
  if (!state) expect_printable(state.error());
  if (state && !text) std::abort();
}

/// A lesson, a course, or answers to lessons, which are the same after writing and reading them again.
void read_lesson_file(std::string_view bytes) {
  const fs::path path = write_scratch("lesson.json", bytes);
  expect_error_at_most([&] {
    if (app::read_lesson(path, "de").cards.empty()) std::abort();
  });
  expect_error_at_most([&] { (void)app::read_course(path, "de"); });
  expect_error_at_most([&] {
    const std::string text = app::results_text(app::read_results(path));
    if (app::results_text(app::read_results(write_scratch("results.json", text))) != text) std::abort();
  });
}

void read_prompts(std::string_view bytes) {
  expect_error_at_most([&] {
    const app::PromptSet set = app::read_prompt_set(write_scratch("prompts.jsonl", bytes));
    if (set.prompts.empty() || set.prompts.size() > app::kMaxPrompts) std::abort();
    for (const app::SetPrompt& prompt : set.prompts) {
      for (const app::NamedSpan& span : prompt.positions) {
        if (span.end > prompt.text.size() || span.begin > span.end) std::abort();
      }
    }
  });
}

/// The files of a survey.
void read_survey_files(std::string_view bytes) {
  const fs::path folder = empty_folder("survey");
  for_each_file(bytes, [&](std::string_view file, std::string_view content) {
    for (const std::string_view name :
         {"survey.json", "heads.jsonl", "examples.jsonl", "samples.jsonl", "tokens.jsonl", "map.npy"}) {
      if (file == name) write_scratch("survey/" + std::string(name), content);
    }
  });
  expect_error_at_most([&] { static_cast<void>(app::read_choices(folder)); });
  expect_error_at_most([&] {
    const app::Survey survey = app::read_survey(folder);
    for (std::size_t cell = 0; cell < survey.found.size(); ++cell) {
      const model::BlockKind kind = survey.layout.at(cell % survey.count()).block.kind;
      for (const app::SurveyExample& example : survey.found[cell].examples) {
        const auto& queries = kind == model::BlockKind::EncoderSelf ? example.ids : example.target_ids;
        const auto& keys = kind == model::BlockKind::DecoderSelf ? example.target_ids : example.ids;
        if (example.query >= queries.size() || example.key >= keys.size()) std::abort();
      }
    }
  });
}

/// Steps of a training, folder beside folder: the configuration of each after a line with its name.
void read_checkpoints(std::string_view bytes) {
  constexpr std::size_t kMost = 6, kLongest = 40;
  const fs::path folder = scratch_folder() / "training";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::vector<fs::path> steps;
  for_each_file(bytes, [&](std::string_view name, std::string_view content) {
    const bool is_plain = !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](unsigned char letter) {
      return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
    });
    if (!is_plain || steps.size() == kMost) return;
    const std::string own = "training/" + std::string(name);
    fs::create_directories(scratch_folder() / own);
    write_scratch(own + "/config.json", content);
    steps.push_back(write_scratch(own + "/model.safetensors", content).parent_path());
  });
  if (steps.empty()) steps.push_back(folder);
  expect_error_at_most([&] {
    const app::StepSeries series = app::find_checkpoints(steps.front());
    for (const app::SeriesStep& step : series.steps) expect_printable(step.name);
  });
}

/// Reads what a Trainer logged.
void read_trainer(std::string_view bytes) {
  expect_error_at_most([&] {
    const app::ScalarCurves curves = app::read_trainer_state(write_scratch(app::kTrainerState, bytes));
    if (curves.size() > app::kMaxScalars) std::abort();
    for (const auto& [name, curve] : curves) {
      expect_printable(name);
      if (curve.size() > app::kMaxScalarSteps) std::abort();
    }
  });
}

/// Reads the statistics that a survey goes on from.
void read_statistics(std::string_view bytes) {
  using evaluation::HeadMetric;
  const evaluation::CorpusMeasures measures{.layout = {.layers = 1, .heads = 2},
                                            .metrics = {HeadMetric::Induction, HeadMetric::Entropy},
                                            .most_tokens = 9,
                                            .top = 3,
                                            .samples = 2};
  expect_error_at_most([&] {
    evaluation::CorpusStatistics statistics = evaluation::decode_statistics(bytes, measures);
    const evaluation::CorpusStatistics next = statistics;
    statistics.merge(next);
    const std::string again = encode(statistics);
    (void)evaluation::decode_statistics(again, measures);
  });
}

constexpr std::array kAppReaders{Reader{"npy", read_npy},
                                 Reader{"mask", read_json_mask},
                                 Reader{"session", read_session},
                                 Reader{"figure", read_figure},
                                 Reader{"settings", read_settings},
                                 Reader{"lesson", read_lesson_file},
                                 Reader{"prompts", read_prompts},
                                 Reader{"expression", read_expression},
                                 Reader{"link", read_link},
                                 Reader{"scalars", read_logged},
                                 Reader{"steps", read_saved_steps},
                                 Reader{"survey", read_survey_files},
                                 Reader{"checkpoints", read_checkpoints},
                                 Reader{"trainer", read_trainer},
                                 Reader{"statistics", read_statistics}};

}  // namespace

std::span<const Reader> app_readers() { return kAppReaders; }

}  // namespace headlight::fuzz
