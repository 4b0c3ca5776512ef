#pragma once

#include "app/state/metric_options.h"

namespace headlight::app {

/// The question that every prompt of a set is asked: what knocking out each head changes, what activations of the corrupted
/// text change, what a single head's do by way of another head's input, what the answer's logit is made of, what each layer
/// predicts, or what heads attend to.
enum class PromptExperiment : std::uint8_t { Knockouts, Patching, Paths, Attribution, Lens, Metrics };
/// A layer's prediction says this of the answer.
enum class LensMeasure : std::uint8_t { Probability, Rank, Logit };
/// The order in which prompts are listed: the file's, or by their number of the chosen cell.
enum class PromptOrder : std::uint8_t { File, Lowest, Highest };

/// Throws UsageError where it is neither a set that comes along nor a file of prompts.
SettingValue parse_prompts_flag(const std::string& flag, const std::string& text);

/// Knock-outs and patches are measured as the what-if view and the patching view choose; of heads the chosen cell is the
/// selected one.
struct PromptsSettings : SettingGroup {
  PromptsSettings() : SettingGroup{.name = "prompts", .view = "prompts"} {}

  /// A file, or the name of a set that comes along (is_prompt_file()); empty: none.
  Setting<std::string> set{
      *this,
      {.key = "set",
       .undo = "Choose prompts",
       .flag = "--prompts",
       .flag_help =
           "the view Prompts: a set that comes along (ioi, greater-than, induction, docstring, subject-verb, color), "
           "or a .jsonl file of prompts",
       .flag_value = "SET|FILE",
       .parse_flag = parse_prompts_flag}};
  Setting<PromptExperiment> experiment{
      *this,
      {.key = "experiment",
       .undo = "Choose what is asked of prompts",
       .options = {{"knock-outs", "knock-outs", "What changes about the answer without each head."},
                   {"patching", "patching",
                    "Activations of the corrupted text put into the text's run, layer by layer at named positions, or head "
                    "by head."},
                   {"paths", "paths",
                    "What each head's output of the corrupted text does by way of one input of another head."},
                   {"attribution", "attribution", "The parts of the answer's logit: each head's, and each layer's MLP."},
                   {"lens", "lens", "What the state after each layer says of the answer."},
                   {"metrics", "metrics", "What heads attend to in the texts."}},
       .flag = "--experiment",
       .flag_help = "the view Prompts: what is asked of every prompt"}};
  Setting<LensMeasure> lens{*this,
                            {.key = "lens",
                             .undo = "Choose what layers say of answers",
                             .options = {{"probability", "probability",
                                          "The probability of the answer, and of the wrong one, in percentage points."},
                                         {"rank", "rank", "How many tokens have a larger logit, plus 1."},
                                         {"logit", "logit", "The logit of the answer, and of the wrong one."}}}};
  Setting<evaluation::HeadMetric> metric{*this,
                                         {.key = "metric", .undo = "Choose metric of prompts", .options = metric_options()},
                                         evaluation::HeadMetric::Induction};
  /// The chosen cell's layer where columns aren't heads; beyond the last one: the last one.
  Setting<std::uint32_t> layer{
      *this, {.key = "layer", .undo = "Choose cell", .most = 0xffff'ffff, .is_look = true}, 0xffff'ffffU};
  /// Its column there; empty: the end of the text, or the answer.
  Setting<std::string> position{*this, {.key = "position", .undo = "Choose cell", .is_look = true}};
  Setting<PromptOrder> order{*this,
                             {.key = "order",
                              .undo = "Order prompts",
                              .options = {{"file", "as in the file", "In the order of the file."},
                                          {"lowest", "lowest first", "The smallest number of the chosen cell first."},
                                          {"highest", "highest first", "The largest number of the chosen cell first."}},
                              .is_look = true}};
};
inline const PromptsSettings kPromptsView;

/// Sets that come along have names without a dot and a slash.
inline bool is_prompt_file(const std::string& set) { return set.find_first_of("./\\") != std::string::npos; }

}  // namespace headlight::app
