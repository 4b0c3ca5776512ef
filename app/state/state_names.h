#pragma once

#include "app/state/json_reader.h"
#include "app/state/state.h"

namespace headlight::app {

// The names of the state's enumerators in files and flags.
inline constexpr std::array<EnumName<inference::PaddingSide>, 2> kPaddingSides = {
    {{inference::PaddingSide::Right, "right"}, {inference::PaddingSide::Left, "left"}}};
inline constexpr std::array<EnumName<inference::Precision>, 2> kPrecisions = {
    {{inference::Precision::F32, "f32"}, {inference::Precision::F16, "f16"}}};
inline constexpr std::array<EnumName<text::Thinking>, 3> kThinking = {
    {{text::Thinking::Unset, "unset"}, {text::Thinking::On, "on"}, {text::Thinking::Off, "off"}}};
inline constexpr const char* kThinkingHelp =
    "the switch of a chat template that has one; unset, the template does what it does by itself";
inline constexpr std::array<EnumName<inference::SamplingMethod>, 2> kMethods = {
    {{inference::SamplingMethod::Greedy, "greedy"}, {inference::SamplingMethod::Random, "random"}}};
inline constexpr std::array<EnumName<Theme>, 3> kThemes = {
    {{Theme::Dark, "dark"}, {Theme::Light, "light"}, {Theme::HighContrast, "high-contrast"}}};
inline constexpr std::array<EnumName<MapSide>, 2> kMapSides = {{{MapSide::Query, "query"}, {MapSide::Key, "key"}}};
inline constexpr std::array<EnumName<PairPart>, 5> kPairParts = {{{PairPart::All, "all"},
                                                                  {PairPart::FirstToFirst, "a-a"},
                                                                  {PairPart::FirstToSecond, "a-b"},
                                                                  {PairPart::SecondToFirst, "b-a"},
                                                                  {PairPart::SecondToSecond, "b-b"}}};
inline constexpr std::array<EnumName<HeadMean>, 3> kMeans = {
    {{HeadMean::None, "none"}, {HeadMean::Layer, "layer"}, {HeadMean::Kind, "kind"}}};
inline constexpr std::array<EnumName<evaluation::PatternMeasure>, 3> kPatternMeasures = {
    {{evaluation::PatternMeasure::Mean, "mean"},
     {evaluation::PatternMeasure::Mul, "mul"},
     {evaluation::PatternMeasure::Abs, "abs"}}};
/// The names are those of evaluation::metric_name(), and the one that files of older versions have for one of them.
inline constexpr std::array<EnumName<evaluation::HeadMetric>, evaluation::kHeadMetrics + 1> kHeadMetricNames = {
    {{evaluation::HeadMetric::PreviousToken, "previous"},
     {evaluation::HeadMetric::DuplicateToken, "duplicate"},
     {evaluation::HeadMetric::Induction, "induction"},
     {evaluation::HeadMetric::Sink, "sink"},
     {evaluation::HeadMetric::Concentration, "concentration"},
     {evaluation::HeadMetric::RelativeEntropy, "evenness"},
     {evaluation::HeadMetric::RelativeEntropy, "relative"},
     {evaluation::HeadMetric::Entropy, "entropy"},
     {evaluation::HeadMetric::Distance, "distance"}}};
inline constexpr std::array<EnumName<PatchMap>, 6> kPatchMaps = {{{PatchMap::Residual, "residual"},
                                                                  {PatchMap::AttentionOutput, "attention"},
                                                                  {PatchMap::FeedForward, "feed-forward"},
                                                                  {PatchMap::Heads, "heads"},
                                                                  {PatchMap::Paths, "paths"},
                                                                  {PatchMap::Weights, "weights"}}};
inline constexpr std::array<EnumName<model::Site>, 5> kHeadSites = {{{model::Site::Query, "queries"},
                                                                     {model::Site::Key, "keys"},
                                                                     {model::Site::Value, "values"},
                                                                     {model::Site::Weights, "pattern"},
                                                                     {model::Site::HeadOutput, "outputs"}}};
inline constexpr std::array<EnumName<PathInput>, 3> kPathInputs = {
    {{PathInput::Query, "query"}, {PathInput::Key, "key"}, {PathInput::Value, "value"}}};
inline constexpr std::array<EnumName<PatchMeasure>, 3> kPatchMeasures = {
    {{PatchMeasure::Logit, "logit"}, {PatchMeasure::Probability, "probability"}, {PatchMeasure::Loss, "loss"}}};
inline constexpr std::array<EnumName<model::MergeOrder>, 2> kMerges = {
    {{model::MergeOrder::Concatenate, "concatenate"}, {model::MergeOrder::WithoutTranspose, "without-transpose"}}};
inline constexpr std::array<EnumName<attention::FixedPattern>, 5> kFixedPatterns = {
    {{attention::FixedPattern::Uniform, "uniform"},
     {attention::FixedPattern::Diagonal, "diagonal"},
     {attention::FixedPattern::Previous, "previous"},
     {attention::FixedPattern::First, "first"},
     {attention::FixedPattern::Painted, "painted"}}};
inline constexpr std::array<EnumName<model::BlockKind>, 3> kKinds = {{{model::BlockKind::EncoderSelf, "encoder"},
                                                                      {model::BlockKind::DecoderSelf, "decoder"},
                                                                      {model::BlockKind::Cross, "cross"}}};
inline constexpr std::array<EnumName<attention::Stage>, attention::kMaps> kMapStages = [] {
  std::array<EnumName<attention::Stage>, attention::kMaps> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto stage = static_cast<attention::Stage>(static_cast<std::size_t>(attention::Stage::Scores) + i);
    names[i] = {stage, to_string(stage)};
  }
  return names;
}();

/// The largest index of a layer, a head or a cell in a file; clamped to existing ones once a run exists.
inline constexpr std::uint32_t kLastIndex = 0xffff'fffeu;

}  // namespace headlight::app
