#include "app/cli/subcommands.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/evaluation_flags.h"
#include "app/cli/output.h"
#include "app/models/starter_view.h"
#include "app/state/usage.h"
#include "core/error.h"
#include "core/file.h"
#include "evaluation/head_maps.h"
#include "evaluation/head_survey.h"
#include "evaluation/needle.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;
using evaluation::HeadScore;
using evaluation::kHeadMetrics;
using evaluation::kPatternMetrics;
using evaluation::PatternMeasure;

struct HeadsFlags {
  EvaluationFlags common;
  std::string text;
  evaluation::RandomTokens random;
  evaluation::PatternScoring scoring;
  HeadMetric sort = HeadMetric::Induction;
  evaluation::NeedleGrid grid;
  bool has_needle = false;
  std::filesystem::path csv;
  std::string needle_flag;             ///< the first given flag that is valid only for needles
  std::string random_flag, text_flag;  ///< the first given flag that is valid only for random tokens or only for texts
};

std::string head_name(const HeadScore& score) { return fmt::format("L{}H{}", score.layer, score.head); }

/// Returns the name of a column and of a key of JSON: scores of patterns are named by how they are computed.
std::string name_of(HeadMetric metric, const HeadsFlags& flags) {
  const std::string name(evaluation::metric_name(metric));
  if (!evaluation::is_of_pattern(metric)) return name;
  if (flags.text.empty()) return name + "_stripe";
  switch (flags.scoring.measure) {
    case PatternMeasure::Mean:
      break;
    case PatternMeasure::Mul:
      return name + "_mul";
    case PatternMeasure::Abs:
      return name + "_abs";
  }
  return name;
}

/// Returns the number to sort by: below every number where there is none.
double key_of(const HeadScore& score, HeadMetric metric) {
  return score.mean(metric).value_or(-std::numeric_limits<double>::infinity());
}

/// Returns the best head by a pattern; null where no text has any key of it.
const HeadScore* best(const std::vector<HeadScore>& scores, HeadMetric metric) {
  const auto found = std::ranges::max_element(scores, {}, [&](const HeadScore& score) { return key_of(score, metric); });
  return found->mean(metric) ? &*found : nullptr;
}

std::string number_text(std::optional<double> number) { return number ? fmt::format("{:.4f}", *number) : "-"; }

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
  const PatternMeasure measure = flags.scoring.measure;
  const char* how = measure == PatternMeasure::Mean  ? "mean weight on each pattern"
                    : measure == PatternMeasure::Mul ? "mul of each pattern"
                                                     : "abs of each pattern";
  return fmt::format("{} on {} texts: {}{}", model, texts, how, left_out);
}

template <typename Use>
void for_each_metric(std::size_t count, const Use& use) {
  for (std::size_t metric = 0; metric < count; ++metric) use(static_cast<HeadMetric>(metric));
}

std::string table(const std::vector<HeadScore>& scores, const HeadsFlags& flags) {
  std::string text = fmt::format("{:<8}", "head");
  constexpr std::size_t kMinWidth = 9;
  std::vector<std::size_t> widths;
  for_each_metric(kHeadMetrics, [&](HeadMetric metric) {
    const std::string name = name_of(metric, flags);
    widths.push_back(std::max(name.size() + 2, kMinWidth));
    text += fmt::format("{:>{}}", name, widths.back());
  });
  for (const HeadScore& score : scores) {
    text += fmt::format("\n{:<8}", head_name(score));
    for_each_metric(kHeadMetrics, [&](HeadMetric metric) {
      text += fmt::format("{:>{}}", number_text(score.mean(metric)), widths[static_cast<std::size_t>(metric)]);
    });
  }
  return text;
}

std::string best_heads(const std::vector<HeadScore>& scores, const HeadsFlags& flags) {
  std::string text;
  for_each_metric(kPatternMetrics, [&](HeadMetric metric) {
    const HeadScore* head = best(scores, metric);
    text += fmt::format("{}{} {}", text.empty() ? "best: " : ", ", name_of(metric, flags),
                        head ? fmt::format("{} {:.4f}", head_name(*head), *head->mean(metric)) : "-");
  });
  return text;
}

nlohmann::ordered_json number_json(std::optional<double> number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json scores_json(const std::vector<HeadScore>& scores, const HeadsFlags& flags) {
  nlohmann::ordered_json json = {{"best", nlohmann::ordered_json::object()}, {"heads", nlohmann::ordered_json::array()}};
  for_each_metric(kPatternMetrics, [&](HeadMetric metric) {
    nlohmann::ordered_json& entry = json["best"][name_of(metric, flags)];
    if (const HeadScore* head = best(scores, metric)) {
      entry = {{"layer", head->layer}, {"head", head->head}, {"score", *head->mean(metric)}};
    }
  });
  for (const HeadScore& score : scores) {
    nlohmann::ordered_json row = {{"layer", score.layer}, {"head", score.head}};
    for_each_metric(kHeadMetrics, [&](HeadMetric metric) { row[name_of(metric, flags)] = number_json(score.mean(metric)); });
    json["heads"].push_back(std::move(row));
  }
  return json;
}

/// Computes retrieval scores in place of metrics.
int run_needles(const HeadsFlags& flags) {
  const auto model = flags.common.open_model(kCaptionWriter);
  std::vector<std::uint32_t> ids;
  if (!flags.text.empty()) {
    if (!model->tokenizer) throw Error("{}; texts can't be read without it", model->tokenizer_problem);
    for (const std::string& line : flags.common.texts_of(flags.text)) {
      const std::vector<std::uint32_t> more = evaluation::text_ids(*model, line);
      ids.insert(ids.end(), more.begin() + (ids.empty() || more.empty() || !model->description.ids.bos ? 0 : 1), more.end());
      if (ids.size() >= flags.grid.longest) break;
    }
    if (ids.empty()) throw Error("there is no text: give a line at least");
  }
  std::vector<evaluation::NeedleText> texts = evaluation::needle_texts(*model, ids, flags.grid);
  const std::unique_ptr<GpuRunner> runner = flags.common.open_runner(*model);
  const std::vector<evaluation::NeedleFound> found = [&] {
    ProgressBar bar("texts");
    const auto progress = [&](std::size_t done, std::size_t total) { bar.show(done, total); };
    return evaluation::survey_needles(runner->session(), *model, std::move(texts), progress);
  }();
  if (!flags.csv.empty()) write_file_atomically(flags.csv, evaluation::needle_csv(found, model->description.heads));
  std::vector<std::pair<std::array<double, 2>, std::size_t>> order;  // attended and copied, head
  for (std::size_t head = 0; head < found.front().heads.size(); ++head) {
    order.push_back({{evaluation::retrieval_score(found, head, false).value_or(0.0),
                      evaluation::retrieval_score(found, head, true).value_or(0.0)},
                     head});
  }
  std::ranges::stable_sort(order, std::ranges::greater(), &std::pair<std::array<double, 2>, std::size_t>::first);
  const double predicted = evaluation::predicted_share(found).value_or(0.0);
  nlohmann::ordered_json json = {
      {"texts", found.size()}, {"predicted", predicted}, {"heads", nlohmann::ordered_json::array()}};
  std::string text = fmt::format(
      "{} on {} texts of up to {} tokens with a needle of {}, seed {}: it predicts {:.4f} of it\n\n"
      "{:<8}{:>10}{:>11}",
      one_line(model->description.name), found.size(), found.back().text.ids.size(), flags.grid.needle, flags.grid.seed,
      predicted, "head", "retrieval", "predicted");
  for (const auto& [scores, place] : order) {
    const HeadScore head{.layer = static_cast<std::uint32_t>(place) / model->description.heads,
                         .head = static_cast<std::uint32_t>(place) % model->description.heads};
    json["heads"].push_back(
        {{"layer", head.layer}, {"head", head.head}, {"retrieval", scores[0]}, {"retrieval_predicted", scores[1]}});
    text += fmt::format("\n{:<8}{:>10.4f}{:>11.4f}", head_name(head), scores[0], scores[1]);
  }
  tell_answer(text, json);
  return 0;
}

int run_heads(const HeadsFlags& flags) {
  if (!flags.has_needle && !flags.needle_flag.empty()) {
    throw UsageError("{} is for retrieval scores: add --needle", flags.needle_flag);
  }
  if (flags.has_needle && (!flags.random_flag.empty() || !flags.text_flag.empty())) {
    throw UsageError("{} is for metrics: it doesn't go with --needle",
                     flags.random_flag.empty() ? flags.text_flag : flags.random_flag);
  }
  if (flags.has_needle) return run_needles(flags);
  if (!flags.text.empty() && !flags.random_flag.empty()) {
    throw UsageError("{} is for random tokens: it doesn't go with --text-file", flags.random_flag);
  }
  if (flags.text.empty() && !flags.text_flag.empty()) {
    throw UsageError("{} is for texts: name some with --text-file", flags.text_flag);
  }
  if (flags.scoring.measure == PatternMeasure::Mean && flags.scoring.exclusions != evaluation::Exclusions()) {
    throw UsageError("--exclude leaves out cells of mul and abs: add --measure mul or --measure abs");
  }
  const auto model = flags.common.open_model(kCaptionWriter);
  const std::vector<std::string> lines = flags.text.empty() ? std::vector<std::string>() : flags.common.texts_of(flags.text);
  const std::unique_ptr<GpuRunner> runner = flags.common.open_runner(*model);
  std::size_t texts = 0;
  std::vector<HeadScore> scores = [&] {
    ProgressBar bar(flags.text.empty() ? "sequences" : "lines");
    const auto progress = [&](std::size_t done, std::size_t total) {
      texts = total;  // lines that aren't blank
      bar.show(done, total);
    };
    return flags.text.empty() ? evaluation::survey_random(runner->session(), *model, flags.random, progress)
                              : evaluation::survey_texts(runner->session(), *model, lines, flags.scoring, progress);
  }();
  std::ranges::stable_sort(scores, std::ranges::greater(),
                           [&](const HeadScore& score) { return key_of(score, flags.sort); });
  tell_answer(fmt::format("{}\n{}\n\n{}", heading(flags, one_line(model->description.name), texts),
                          best_heads(scores, flags), table(scores, flags)),
              scores_json(scores, flags));
  return 0;
}

void add_random_flags(CLI::App& app, HeadsFlags* flags) {
  const auto add = [&](const char* flag, const char* help, auto* into, std::uint64_t low, std::uint64_t high) {
    FlagGroup(app, "Random tokens").add(flag, "N", help, [=](const std::string& text) {
      *into = static_cast<std::remove_pointer_t<decltype(into)>>(parse_integer(flag, text, low, high));
      if (flags->random_flag.empty()) flags->random_flag = flag;
    });
  };
  add("--sequences", "how many sequences (default 16)", &flags->random.sequences, 1, 100'000);
  add("--span", "S, random tokens in each before they come again (default 48)", &flags->random.span, 2, 100'000);
  add("--seed", "of the random tokens (default 1)", &flags->random.seed, 0, ~std::uint64_t{0});
}

void add_needle_flags(CLI::App& app, HeadsFlags* flags) {
  const FlagGroup group(app, "Needle in a haystack");
  group.turn("--needle",
             "retrieval scores instead of metrics: which heads copy random tokens from a haystack of --text-file, or of "
             "random tokens, at several depths and lengths",
             flags->has_needle);
  const auto add = [&](const char* flag, const char* help, auto* into, std::uint64_t low, std::uint64_t high) {
    group.add(flag, "N", help, [=](const std::string& text) {
      *into = static_cast<std::remove_pointer_t<decltype(into)>>(parse_integer(flag, text, low, high));
      if (flags->needle_flag.empty()) flags->needle_flag = flag;
    });
  };
  add("--needle-tokens", "tokens of a needle, 2 to 256 (default 8)", &flags->grid.needle, 2, 256);
  add("--longest", "tokens of the longest text, within the model's positions (default 256)", &flags->grid.longest, 8,
      131'072);
  add("--lengths", "how many lengths, from four needles to --longest (default 5)", &flags->grid.lengths, 1, 100);
  add("--depths", "how many depths, from the beginning to the end (default 5)", &flags->grid.depths, 1, 100);
  add("--needle-seed", "of the random needles (default 1)", &flags->grid.seed, 0, ~std::uint64_t{0});
  group.add("--csv", "FILE", "also write the numbers of each text and head", [flags](const std::string& text) {
    flags->csv = text;
    if (flags->needle_flag.empty()) flags->needle_flag = "--csv";
  });
}

void add_text_flags(CLI::App& app, HeadsFlags* flags) {
  const FlagGroup group(app, "Text");
  group.take("--text-file", "FILE", "texts, one a line, plain or .gz, instead of random tokens", flags->text);
  const auto add = [&](const char* flag, const char* value, const char* help, const std::vector<std::string>& names,
                       const std::function<void(std::size_t)>& use) {
    group.add(flag, value, help, [=](const std::string& text) {
      use(parse_choice(flag, text, names));
      if (flags->text_flag.empty()) flags->text_flag = flag;
    });
    offer_words(app, flag, names);
  };
  add("--measure", "NAME", "mean, or TransformerLens' mul or abs (default mean)", {"mean", "mul", "abs"},
      [=](std::size_t choice) { flags->scoring.measure = static_cast<PatternMeasure>(choice); });
  add("--exclude", "WHICH", "cells that mul and abs leave out: none, first, current or both (default none)",
      {"none", "first", "current", "both"}, [=](std::size_t choice) {
        flags->scoring.exclusions = {.first_token = (choice & 1u) != 0, .current_token = (choice & 2u) != 0};
      });
}

}  // namespace

Subcommand add_evaluate_heads_command(CLI::App& evaluate) {
  const auto [command, flags, made] = begin_subcommand(evaluate, "heads", run_heads);
  add_random_flags(*command, flags);
  add_text_flags(*command, flags);
  add_needle_flags(*command, flags);
  FlagGroup(*command, "Output")
      .add("--sort", "COLUMN",
           fmt::format("{}: the largest first (default induction)", fmt::join(evaluation::metric_names(), ", ")),
           [flags = flags](const std::string& text) {
             flags->sort = static_cast<HeadMetric>(parse_choice("--sort", text, evaluation::metric_names()));
           });
  offer_words(*command, "--sort", evaluation::metric_names());
  flags->common.add_to(*command, kCaptionWriter);
  return made;
}

}  // namespace headlight::app
