#pragma once

#include "app/state/flow_settings.h"
#include "attention/expression.h"

namespace headlight::app {

/// The heads view compares heads by their metrics; the weight from one token to another; how well they match a
/// pattern; how alike their weights are; or what their parameters say without any text: of other heads, or of the tokens of
/// the vocabulary.
enum class HeadsMode : std::uint8_t { Metrics, FromTo, Pattern, Similarity, Composition, Vocabulary, Retrieval };
/// The pattern that heads are ranked by. Typed: HeadsSettings::typed_pattern.
enum class HeadPattern : std::uint8_t {
  PreviousToken,
  Itself,
  FirstToken,
  NextToken,
  DuplicateToken,
  Induction,
  Uniform,
  Typed
};
/// A number of a pair of heads, or of one, that follows from the parameters alone.
enum class CircuitScore : std::uint8_t { QueryComposition, KeyComposition, ValueComposition, Copying };

inline constexpr std::uint32_t kMaxCircuitDistance = 100'000;
inline constexpr std::uint32_t kMinNeedleText = 32, kMaxNeedleText = 32'768, kMaxNeedleSeed = 9'999;

/// Order, filter and pins are HeadChoices, since other views share them.
struct HeadsSettings : SettingGroup {
  HeadsSettings() : SettingGroup{.name = "heads", .view = "heads"} {}

  Setting<HeadsMode> mode{
      *this,
      {.key = "mode",
       .undo = "Choose how heads are found",
       .options = {{"metrics", "Metrics", "A table of what each head does with the text: one column a metric."},
                   {"from-to", "From\u2013to",
                    "All heads by the weight that one token gives to another, or some tokens to some others."},
                   {"pattern", "Pattern",
                    "All heads by how much of their attention is where a pattern has it, chosen or typed."},
                   {"similarity", "Similarity",
                    "How alike every two heads attend to the text, and which are nearest to the selected one."},
                   {"composition", "Composition",
                    "What heads can make of each other, by their weights alone: composition scores, and who copies."},
                   {"vocabulary", "Vocabulary",
                    "What the selected head does with tokens of the whole vocabulary, by its weights alone."},
                   {"retrieval", "Retrieval",
                    "Which heads copy a needle of random tokens from a long text, over depths and lengths."}},
       .is_look = true,
       .flag = "--find-heads",
       .flag_help = "what the view Heads shows"}};
  Setting<HeadPattern> pattern{
      *this,
      {.key = "pattern",
       .undo = "Choose pattern",
       .options = {{"previous"}, {"itself"}, {"first"}, {"next"}, {"duplicate"}, {"induction"}, {"uniform"}, {"typed"}}}};
  /// As it was typed: a mask's expression (attention/expression.h), or not yet one.
  Setting<std::string> typed_pattern{
      *this,
      {.key = "typed_pattern", .undo = "Edit pattern", .most = attention::Expression::kLongest, .is_continuous = true}};
  /// A pattern's mass less what uniform attention would put there.
  Setting<bool> subtracts_chance{
      *this,
      {.key = "subtracts_chance",
       .undo = "Choose how heads are scored",
       .label = "minus chance",
       .help = "Takes off what attention that is spread evenly over the visible keys would put there."}};
  Setting<bool> groups_similar{
      *this,
      {.key = "groups_similar",
       .undo = "Order heads",
       .options = {{"on", "similar side by side",
                    "Heads that look alike are side by side: groups joined by their mean divergence."},
                   {"off", "by layer", "Layer by layer, head by head."}},
       .is_look = true},
      true};
  Setting<CircuitScore> circuit_score{
      *this,
      {.key = "circuit_score",
       .undo = "Choose what weights are compared by",
       .options = {
           {"q", "queries", "By queries: what heads look for depends on what an earlier head wrote (Q-composition)."},
           {"k", "keys", "By keys: what heads find depends on what an earlier head wrote (K-composition), as in induction."},
           {"v", "values", "By values: heads hand on what an earlier head wrote (V-composition)."},
           {"copying", "copying", "Which heads write back what they read: those that copy tokens."}}}};
  /// Compositions of all heads as arcs; else of the selected head as a list.
  Setting<bool> draws_arcs{*this,
                           {.key = "draws_arcs",
                            .undo = "Switch arcs",
                            .is_look = true,
                            .label = "all heads as arcs",
                            .help = "All heads on a line, with an arc from each that writes to each that reads it."}};
  /// The smallest score that is an arc, with the limits of the flow view's threshold; none: automatic.
  Setting<std::optional<float>> least_arc{*this,
                                          {.key = "least_arc",
                                           .undo = "Change threshold of arcs",
                                           .least = kMinFlowThreshold,
                                           .most = kMaxFlowThreshold,
                                           .is_continuous = true,
                                           .is_look = true}};
  /// Id whose circuits are shown; none: the selected position's.
  Setting<std::optional<std::uint32_t>> read_token{
      *this, {.key = "read_token", .undo = "Choose token of circuits", .most = kMostIndex}};
  /// Queries and keys have their positions, so far apart; else none.
  Setting<bool> has_distance{*this,
                             {.key = "has_distance",
                              .undo = "Switch positions",
                              .label = "with positions",
                              .help = "Queries and keys as they are so far apart in a text: positions are added to token "
                                      "vectors, or queries and keys are rotated. Else tokens alone are compared."}};
  /// In tokens, from the query back to the key.
  Setting<std::uint32_t> distance{
      *this, {.key = "distance", .undo = "Change distance", .most = kMaxCircuitDistance, .is_continuous = true}, 1};
  /// Tokens of the longest texts with a needle.
  Setting<std::uint32_t> needle_longest{*this,
                                        {.key = "needle_longest",
                                         .undo = "Change length of texts with a needle",
                                         .least = kMinNeedleText,
                                         .most = kMaxNeedleText,
                                         .is_continuous = true},
                                        256};
  Setting<std::uint32_t> needle_seed{
      *this, {.key = "needle_seed", .undo = "Change needles", .most = kMaxNeedleSeed, .is_continuous = true}, 1};
  /// Only tokens of a needle that the model predicts are copied.
  Setting<bool> needle_is_predicted{
      *this,
      {.key = "needle_is_predicted",
       .undo = "Choose which copied tokens count",
       .label = "only what is predicted",
       .help =
           "A token counts only where the model’s most probable next token is the needle’s, so that it would write it."}};
};
inline const HeadsSettings kHeadsView;

}  // namespace headlight::app
