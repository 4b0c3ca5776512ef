#include "app/cli/subcommands.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "app/cli/evaluation_flags.h"
#include "app/cli/progress_bar.h"
#include "app/models/bundled_models.h"
#include "app/state/usage.h"
#include "core/json.h"
#include "evaluation/head_survey.h"

namespace headlight::app {
namespace {

using evaluation::HeadScore;
using evaluation::PatternMeasure;

constexpr const char* kHeadsDescription =
    "Which heads look at the token before, at the same token, or at what followed it\n\n"
    "Scores every head of a model with one stack, by default on random tokens repeated once, where nothing but a token's\n"
    "place and its last occurrence tells what comes next: the mean weights A[i, i-1] (previous), A[i, i-S] (duplicate) and\n"
    "A[i, i-(S-1)] (induction; Olsson et al. 2022), without a begin token.";

constexpr const char* kHeadsFooter =
    "With --text-file a score compares a head's map A with the map D of what such a head would do (TransformerLens'\n"
    "detect_head): mul is sum(A*D) / sum(A), abs is 1 - sum|A - D| / n; the begin token is in front. --exclude leaves out\n"
    "the first key, where idle heads rest, or each token itself.\n"
    "Entropy is in nats, relative entropy its share of ln(visible keys), sink the mean weight on the first token, distance\n"
    "the mean number of tokens between query and key. All are means over texts.\n\n"
    "Examples:\n"
    "  headlight evaluate heads\n"
    "  headlight evaluate heads --text-file sentences.txt --exclude both --sort previous\n"
    "  headlight evaluate heads --model openai-community/gpt2 --span 100 --format json";

struct Column {
  const char* name;   ///< of --sort
  const char* title;  ///< of the table
  const char* key;    ///< of JSON
  double (*value)(const HeadScore&);
};
constexpr Column kColumns[] = {
    {"previous", "previous", "previous_token", [](const HeadScore& score) { return score.previous_token; }},
    {"duplicate", "duplicate", "duplicate_token", [](const HeadScore& score) { return score.duplicate_token; }},
    {"induction", "induction", "induction", [](const HeadScore& score) { return score.induction; }},
    {"entropy", "entropy", "entropy", [](const HeadScore& score) { return score.spread.entropy; }},
    {"relative", "relative", "relative_entropy", [](const HeadScore& score) { return score.spread.relative_entropy; }},
    {"sink", "sink", "sink_share", [](const HeadScore& score) { return score.spread.sink_share; }},
    {"distance", "distance", "distance", [](const HeadScore& score) { return score.spread.distance; }},
};
constexpr std::size_t kPatterns = 3;  ///< the first columns are scores of patterns, whose best heads are named
constexpr std::size_t kInduction = 2;

struct HeadsFlags {
  EvaluationFlags common;
  std::string text;
  evaluation::RandomTokens random;
  evaluation::PatternScoring scoring;
  std::size_t sort = kInduction;
  std::string random_flag, text_flag;  ///< the first given flag that is valid only for random tokens or only for texts
};

std::string head_name(const HeadScore& score) { return fmt::format("L{}H{}", score.layer, score.head); }

const HeadScore& best(const std::vector<HeadScore>& scores, const Column& column) {
  return *std::ranges::max_element(scores, {}, column.value);
}

std::string heading(const HeadsFlags& flags, const std::string& model, std::size_t texts) {
  if (flags.text.empty()) {
    return fmt::format("{} on {} sequences of {} random tokens repeated once, seed {}: mean weight along each stripe", model,
                       flags.random.sequences, flags.random.span, flags.random.seed);
  }
  const evaluation::Exclusions& exclusions = flags.scoring.exclusions;
  const char* left_out = exclusions.first_token && exclusions.current_token ? ", without first and current token"
                         : exclusions.first_token                           ? ", without the first token"
                         : exclusions.current_token                         ? ", without the current token"
                                                                            : "";
  return fmt::format("{} on {} texts: {} of each pattern{}", model, texts,
                     flags.scoring.measure == PatternMeasure::Share ? "share (mul)" : "agreement (abs)", left_out);
}

std::string table(const std::vector<HeadScore>& scores) {
  std::string text = fmt::format("{:<8}", "head");
  for (const Column& column : kColumns) text += fmt::format("{:>11}", column.title);
  for (const HeadScore& score : scores) {
    text += fmt::format("\n{:<8}", head_name(score));
    for (const Column& column : kColumns) text += fmt::format("{:>11.4f}", column.value(score));
  }
  return text;
}

std::string best_heads(const std::vector<HeadScore>& scores) {
  std::string text;
  for (std::size_t i = 0; i < kPatterns; ++i) {
    const HeadScore& head = best(scores, kColumns[i]);
    text +=
        fmt::format("{}{} {} {:.4f}", i == 0 ? "best: " : ", ", kColumns[i].title, head_name(head), kColumns[i].value(head));
  }
  return text;
}

nlohmann::ordered_json scores_json(const std::vector<HeadScore>& scores) {
  nlohmann::ordered_json json = {{"best", nlohmann::ordered_json::object()}, {"heads", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < kPatterns; ++i) {
    const HeadScore& head = best(scores, kColumns[i]);
    json["best"][kColumns[i].key] = {{"layer", head.layer}, {"head", head.head}, {"score", kColumns[i].value(head)}};
  }
  for (const HeadScore& score : scores) {
    nlohmann::ordered_json row = {{"layer", score.layer}, {"head", score.head}};
    for (const Column& column : kColumns) row[column.key] = column.value(score);
    json["heads"].push_back(std::move(row));
  }
  return json;
}

int run_command(const HeadsFlags& flags) {
  if (!flags.text.empty() && !flags.random_flag.empty()) {
    throw UsageError("{} is for random tokens: it doesn't go with --text-file", flags.random_flag);
  }
  if (flags.text.empty() && !flags.text_flag.empty()) {
    throw UsageError("{} is for texts: name some with --text-file", flags.text_flag);
  }
  const auto model = flags.common.open_model(kCaptionWriter);
  const std::vector<std::string> lines = flags.text.empty() ? std::vector<std::string>() : flags.common.texts_of(flags.text);
  const std::unique_ptr<GpuRunner> runner = flags.common.open_runner(*model);
  std::vector<HeadScore> scores = [&] {
    ProgressBar bar(flags.text.empty() ? "sequences" : "lines", flags.common.is_quiet);
    const auto progress = [&](std::size_t done, std::size_t total) { bar.show(done, total); };
    return flags.text.empty() ? evaluation::survey_random(runner->session(), *model, flags.random, progress)
                              : evaluation::survey_texts(runner->session(), *model, lines, flags.scoring, progress);
  }();
  std::ranges::stable_sort(scores, std::ranges::greater(), kColumns[flags.sort].value);
  if (flags.common.writes_json) {
    std::cout << to_text(scores_json(scores), -1) << '\n';
  } else {
    std::cout << heading(flags, one_line(model->description.name), lines.size()) << '\n'
              << best_heads(scores) << "\n\n"
              << table(scores) << '\n';
  }
  return 0;
}

void add_random_flags(CLI::App& app, HeadsFlags* flags) {
  const auto add = [&](const char* flag, const char* help, std::uint64_t low, std::uint64_t high,
                       const std::function<void(std::uint64_t)>& use) {
    add_flag(app, flag, "N", help, "Random tokens", [=](const std::string& text) {
      use(parse_integer(flag, text, low, high));
      if (flags->random_flag.empty()) flags->random_flag = flag;
    });
  };
  add("--sequences", "how many sequences (default 16)", 1, 100'000,
      [=](std::uint64_t value) { flags->random.sequences = static_cast<std::uint32_t>(value); });
  add("--span", "S, random tokens in each before they come again (default 48)", 2, 100'000,
      [=](std::uint64_t value) { flags->random.span = static_cast<std::uint32_t>(value); });
  add("--seed", "of the random tokens (default 1)", 0, ~std::uint64_t{0},
      [=](std::uint64_t value) { flags->random.seed = value; });
}

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for (const Column& column : kColumns) names.emplace_back(column.name);
  return names;
}

void add_text_flags(CLI::App& app, HeadsFlags* flags) {
  add_flag(app, "--text-file", "FILE", "texts, one a line, plain or .gz, instead of random tokens", "Text",
           [=](const std::string& text) { flags->text = text; });
  const auto add = [&](const char* flag, const char* value, const char* help, const std::vector<std::string>& names,
                       const std::function<void(std::size_t)>& use) {
    add_flag(app, flag, value, help, "Text", [=](const std::string& text) {
      use(parse_choice(flag, text, names));
      if (flags->text_flag.empty()) flags->text_flag = flag;
    });
    offer_words(app, flag, names);
  };
  add("--measure", "NAME", "mul or abs (default mul)", {"mul", "abs"},
      [=](std::size_t choice) { flags->scoring.measure = choice == 0 ? PatternMeasure::Share : PatternMeasure::Agreement; });
  add("--exclude", "WHICH", "cells that don't count: none, first, current or both (default none)",
      {"none", "first", "current", "both"}, [=](std::size_t choice) {
        flags->scoring.exclusions = {.first_token = (choice & 1u) != 0, .current_token = (choice & 2u) != 0};
      });
}

}  // namespace

Subcommand add_evaluate_heads_command(CLI::App& evaluate) {
  CLI::App* command = add_subcommand(evaluate, "heads", kHeadsDescription);
  const auto flags = std::make_shared<HeadsFlags>();
  add_random_flags(*command, flags.get());
  add_text_flags(*command, flags.get());
  add_flag(*command, "--sort", "COLUMN",
           "previous, duplicate, induction, entropy, relative, sink or distance, the largest first (default induction)",
           "Output",
           [flags = flags.get()](const std::string& text) { flags->sort = parse_choice("--sort", text, column_names()); });
  offer_words(*command, "--sort", column_names());
  flags->common.add_to(*command, kCaptionWriter);
  set_footer(*command, kHeadsFooter);
  return {.app = command, .run = [flags] { return run_command(*flags); }};
}

}  // namespace headlight::app
