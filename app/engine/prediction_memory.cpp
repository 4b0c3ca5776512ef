#include "app/engine/prediction_memory.h"

#include <utility>

#include "core/error.h"

namespace headlight::app {
namespace {

/// Changes of one kind at most this far apart are one change, as in the history.
constexpr double kMergeSeconds = 1.0;

/// The inputs without the typed text.
RunInputs without_text(RunInputs inputs) {
  match(
      inputs.source,
      [](Playground& playground) {
        playground.text.clear();
        playground.key_text.clear();
        playground.cross = false;
      },
      [](Notebook&) {},
      [](Model& model) {
        for (std::string* text : {&model.text, &model.pair_text, &model.target_text}) text->clear();
        model.ids.clear();
        model.target_ids.clear();
        model.translates = true;  // typing into the target makes it the user's
      },
      [](Capture&) {});
  return inputs;
}

}  // namespace

PredictionMemory::Part PredictionMemory::changed_part(const RunInputs& from, const RunInputs& to) {
  if (from == to) return Part::None;
  RunInputs other = to;
  other.gains = from.gains;
  other.patterns = from.patterns;
  other.changes = from.changes;
  other.settings = from.settings;
  if (other == from) return Part::Gains;
  other = to;
  other.masks = from.masks;
  if (other == from) return Part::Masks;
  return without_text(from) == without_text(to) ? Part::Text : Part::Other;
}

const inference::Distribution* PredictionMemory::Seen::under(const inference::SamplingSettings& wanted) {
  if (!logits) return nullptr;
  inference::SamplingSettings relevant = wanted;
  relevant.seed = 0;  // it changes what is drawn, not the distribution
  if (!distribution || settings != relevant) {
    settings = relevant;
    try {
      distribution = inference::distribution(*logits, relevant);
    } catch (const Error&) {  // no logit is finite
      logits.reset();
      distribution.reset();
    }
  }
  return distribution ? &*distribution : nullptr;
}

void PredictionMemory::observe(const EngineResult& result, const PredictionPosition& position, const Prediction* prediction,
                               double now_s, bool in_gesture) {
  const bool is_being_written = result.translated && !result.translated->is_done;
  const bool is_known = prediction && prediction->logits && prediction->run == result.run && result.inputs;
  if (!is_known || is_being_written) return;
  if (run_ == result.run && position_ == position && shown_.logits) return;
  const Part part = inputs_ ? changed_part(*inputs_, *result.inputs) : Part::Other;
  const bool has_moved = position_.token != position.token || position_.batch != position.batch;
  const bool is_comparable = shown_.logits && shown_.logits->size() == prediction->logits->size() && part != Part::Other &&
                             (part == Part::Text || !has_moved) && position_.batch == position.batch;
  Seen last = std::exchange(shown_, Seen{.logits = prediction->logits, .distribution = std::nullopt, .settings = {}});
  if (!is_comparable) {
    before_ = {};
    part_ = Part::None;
  } else if (part != Part::None) {
    const bool is_same_change = before_.logits && part == part_ && (in_gesture || now_s - changed_s_ <= kMergeSeconds);
    if (!is_same_change) before_ = std::move(last);
    part_ = part;
    changed_s_ = now_s;
  }
  candidates_ = prediction->candidates;
  inputs_ = result.inputs;
  position_ = position;
  run_ = result.run;
}

bool PredictionMemory::is_of(const EngineResult& result) const {
  return shown_.logits && inputs_ && result.inputs && changed_part(*inputs_, *result.inputs) != Part::Other;
}

const inference::Distribution* PredictionMemory::shown(const inference::SamplingSettings& settings) {
  return shown_.under(settings);
}

const inference::Distribution* PredictionMemory::before(const inference::SamplingSettings& settings) {
  return before_.under(settings);
}

const inference::Distribution* PredictionMemory::other(const std::shared_ptr<const std::vector<float>>& logits,
                                                       const inference::SamplingSettings& settings) {
  if (logits != other_logits_) {
    other_logits_ = logits;
    other_ = {.logits = logits, .distribution = std::nullopt, .settings = {}};
  }
  return other_.under(settings);
}

const char* PredictionMemory::change() const {
  switch (part_) {
    case Part::Text:
      return "the text";
    case Part::Masks:
      return "the mask";
    case Part::Gains:
      return "a head's gain";
    default:
      return "";
  }
}

}  // namespace headlight::app
