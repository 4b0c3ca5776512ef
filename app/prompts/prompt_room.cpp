#include "app/prompts/prompt_room.h"

namespace headlight::app {

void PromptRoom::want(const PromptQuestion& question) {
  constexpr std::size_t kMaxQuestions = 12;
  if (!known_.empty() && known_.front().question.set != question.set)  // which is read anew
    std::erase_if(known_, [&](const Known& one) { return one.question.set == question.set; });
  const auto known = std::ranges::find(known_, question, &Known::question);
  const bool is_same = known == known_.begin() && known != known_.end();
  if (!is_same) {
    is_paused_ = false;
    rest();
  }
  if (known == known_.end()) {
    known_.push_front({.question = question});
    if (known_.size() > kMaxQuestions) known_.pop_back();
  } else {
    std::rotate(known_.begin(), known, std::next(known));
  }
  if (!is_allowed_ || is_paused_) return rest();
  Known& newest = known_.front();
  if (newest.task || (newest.findings && newest.findings->is_complete())) return;
  const PromptFindings so_far = newest.findings ? *newest.findings : PromptFindings();
  newest.task = engine_.ask<PromptFindings>([question, models = models_, so_far](TellPrompts tell) {
    return measure_prompts(question, models, so_far, std::move(tell));
  });
}

void PromptRoom::rest() {
  if (known_.empty()) return;
  Known& newest = known_.front();
  newest.findings = findings();
  newest.task = {};
}

void PromptRoom::allow(bool is_allowed) {
  is_allowed_ = is_allowed;
  if (!is_allowed) rest();
}

void PromptRoom::pause(bool is_paused) {
  is_paused_ = is_paused;
  if (is_paused) rest();
}

std::shared_ptr<const PromptFindings> PromptRoom::findings() const {
  if (known_.empty()) return nullptr;
  const auto told = known_.front().task.result();
  return told ? told : known_.front().findings;
}

bool PromptRoom::is_busy() const { return !known_.empty() && known_.front().task && !known_.front().task.is_done(); }

}  // namespace headlight::app
