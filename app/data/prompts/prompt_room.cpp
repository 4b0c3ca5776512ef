#include "app/data/prompts/prompt_room.h"

namespace headlight::app {

void PromptRoom::want(const PromptQuestion& question) {
  // Another set is read anew.
  if (known_.newest() != nullptr && known_.newest()->set != question.set)
    known_.forget([&](const PromptQuestion& one) { return one.set == question.set; });
  if (!known_.is_of(question)) is_paused_ = false;
  known_.want(question);
  if (!is_allowed_ || is_paused_) return rest();
  const std::shared_ptr<const PromptFindings> known = findings();
  if (known_.has_begun() || (known && known->is_complete())) return;
  known_.begin(engine_.ask<PromptFindings>(
      [question, models = models_, so_far = known ? *known : PromptFindings()](TellPrompts tell) {
        return measure_prompts(question, models, so_far, std::move(tell));
      }));
}

void PromptRoom::allow(bool is_allowed) {
  is_allowed_ = is_allowed;
  if (!is_allowed) rest();
}

void PromptRoom::pause(bool is_paused) {
  is_paused_ = is_paused;
  if (is_paused) rest();
}

}  // namespace headlight::app
