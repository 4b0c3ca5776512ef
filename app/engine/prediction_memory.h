#pragma once

#include "app/engine/engine.h"
#include "app/engine/predictions.h"
#include "inference/sampling.h"

namespace headlight::app {

/// The logits on screen and those before the last change of inputs, so that the effect of a knock-out, a mask or an edit can
/// be drawn. Quick changes of one kind, and those of one gesture, count as one.
class PredictionMemory {
 public:
  /// Once a frame. `prediction`: of `position`, with logits; null or of an older run while it is being computed. `now_s`:
  /// any steady clock. `in_gesture`: a mouse button is held.
  void observe(const EngineResult& result, const PredictionPosition& position, const Prediction* prediction, double now_s,
               bool in_gesture);

  /// Does it hold logits of the model on screen?
  bool is_of(const EngineResult& result) const;
  /// The likeliest kPredictedCandidates of the newest logits seen.
  const std::vector<inference::Candidate>& candidates() const { return candidates_; }
  /// Of the newest logits seen, under the settings; null while none are known, or where none of them is finite. Stays valid
  /// until the next call with other settings or another observe().
  const inference::Distribution* shown(const inference::SamplingSettings& settings);
  /// Likewise of the logits before the last change; null without a comparison: after another model was
  /// opened, or another token chosen.
  const inference::Distribution* before(const inference::SamplingSettings& settings);
  /// Logits of the same position in another run, under the settings; null where there are none, or none is finite. Stays
  /// valid until the next call with other ones.
  const inference::Distribution* other(const std::shared_ptr<const std::vector<float>>& logits,
                                       const inference::SamplingSettings& settings);
  /// The part that has changed since: "the text", "the mask" or "a head's gain".
  const char* change() const;
  /// Was it the text? Then the position is another one.
  bool is_of_text() const { return part_ == Part::Text; }

 private:
  enum class Part : std::uint8_t { None, Text, Masks, Gains, Other };
  static Part changed_part(const RunInputs& from, const RunInputs& to);

  /// Logits [vocabulary] and their sampling distribution.
  struct Seen {
    std::shared_ptr<const std::vector<float>> logits;
    std::optional<inference::Distribution> distribution;
    inference::SamplingSettings settings;  ///< of the distribution

    const inference::Distribution* under(const inference::SamplingSettings& wanted);
  };

  Seen shown_, before_;
  Seen other_;
  std::shared_ptr<const std::vector<float>> other_logits_;  ///< as they were given
  std::vector<inference::Candidate> candidates_;
  std::shared_ptr<const RunInputs> inputs_;  ///< of shown_
  PredictionPosition position_;
  std::uint64_t run_ = 0;
  Part part_ = Part::None;  ///< that changed last
  double changed_s_ = 0.0;
};

}  // namespace headlight::app
