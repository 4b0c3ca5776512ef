#pragma once

#include <array>

#include "app/state/setting.h"
#include "inference/session.h"

namespace headlight::app {

// Options of a survey: flags, members of survey.json, and fields of the dialog. What isn't here has another shape.

struct SurveyCorpusSettings : SettingGroup {
  SurveyCorpusSettings() : SettingGroup{.name = "survey"} {}

  /// Lines are JSON objects, whatever the file's name is.
  Setting<bool> is_json{
      *this,
      {.key = "jsonl",
       .label = "JSON lines",
       .help = "Lines are JSON objects; where the file's name ends in .jsonl they always are.",
       .flag = "--jsonl",
       .flag_help =
           "lines are JSON objects (default: where the file's name ends in .jsonl, .ndjson or .json, .gz aside); with a "
           "member \"target\" they are pairs for an encoder-decoder",
       .flag_is_plain = true}};
  Setting<std::string> field{*this,
                             {.key = "field",
                              .label = "Their member",
                              .help = "The member with the text in each object of JSON lines.",
                              .flag = "--field",
                              .flag_help = "the member with the text in each object of JSON lines (default {usual})",
                              .flag_value = "NAME"},
                             "text"};
  Setting<std::uint64_t> most_lines{*this,
                                    {.key = "limit",
                                     .least = 1,
                                     .most = 0x1p62,
                                     .zero = "all",
                                     .step = 100,
                                     .label = "Texts",
                                     .help = "Only so many texts from the file's beginning are measured.",
                                     .flag = "--limit",
                                     .flag_help = "read the first N lines alone"}};
  Setting<float> share{*this,
                       {.key = "sample",
                        .least = 0.0001,
                        .most = 1.0,
                        .step = 0.01,
                        .label = "Share of them",
                        .help = "Of the lines, always the same ones.",
                        .flag = "--sample",
                        .flag_help = "measure a share of the lines, 0.0001 to 1, always the same ones",
                        .flag_value = "SHARE"},
                       1.0F};
  Setting<std::uint32_t> top{*this,
                             {.key = "top",
                              .least = 1,
                              .most = 1'000,
                              .label = "Best texts",
                              .help = "So many are kept of each head and metric.",
                              .flag = "--top",
                              .flag_help = "texts to keep of each head and metric, {least} to {most} (default {usual})"},
                             20};
  Setting<std::uint32_t> samples{
      *this,
      {.key = "samples",
       .least = 1,
       .most = 1'000,
       .label = "Sampled texts",
       .help = "So many are kept of each head and metric, for deciles.",
       .flag = "--samples",
       .flag_help = "texts to keep of each head and metric as a sample, for deciles, {least} to {most} (default {usual})"},
      50};
  Setting<std::uint32_t> tokens{
      *this,
      {.key = "tokens_at_most",
       .least = 2,
       .most = 32'768,
       .step = 64,
       .label = "Tokens of a text",
       .help = "Longer texts are cut, and counted.",
       .flag = "--tokens",
       .flag_help =
           "cut longer texts, and count them; {least} to {most}, and no more than the model's positions (default {usual})"},
      512};
  Setting<bool> packs{*this,
                      {.key = "pack",
                       .label = "Packed",
                       .help = "Texts stand one behind the other in rows of so many tokens, and attend across texts.",
                       .flag = "--pack",
                       .flag_help = "put texts one behind the other in rows of --tokens, which attend across texts",
                       .flag_is_plain = true}};
  Setting<bool> is_chat{
      *this,
      {.key = "chat",
       .label = "Chats",
       .help = "The model's template writes each text as the user's turn.",
       .flag = "--chat",
       .flag_help =
           "texts are chats, which the model's template writes: each is the user's turn, or has lines 'system: ...', "
           "'user: ...', 'assistant: ...'",
       .flag_is_plain = true}};
};
inline const SurveyCorpusSettings kSurveyCorpus;

struct SurveyActivationSettings : SettingGroup {
  SurveyActivationSettings() : SettingGroup{.name = "survey"} {}

  Setting<std::uint32_t> every{*this,
                               {.key = "every",
                                .least = 1,
                                .most = 32'768,
                                .flag = "--every",
                                .flag_help = "of each text the first token and every Nth after it (default {usual}: all)"},
                               1};
  Setting<inference::Precision> precision{*this,
                                          {.key = "activation_type",
                                           .options = {{"f32"}, {"f16"}},
                                           .flag = "--activation-type",
                                           .flag_help = "how they are stored (default {usual})"}};
};
inline const SurveyActivationSettings kSurveyActivations;

struct SurveyModelSettings : SettingGroup {
  SurveyModelSettings() : SettingGroup{.name = "survey"} {}

  Setting<inference::Precision> precision{
      *this,
      {.key = "precision",
       .options = {{"f32", "exact", "As the file has them."}, {"f16", "float16", "Rounded: half the memory."}},
       .label = "Weights",
       .flag = "--precision",
       .flag_help = "how weights are kept on the device: exactly (f32), or rounded to float16 (default {usual})"}};
};
inline const SurveyModelSettings kSurveyModel;

inline const std::array<const SettingGroup*, 3> kSurveySettings = {&kSurveyCorpus, &kSurveyModel, &kSurveyActivations};

}  // namespace headlight::app
