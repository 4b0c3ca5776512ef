

#include "app/sidebar/link_panel.h"
#include "app/state/linked_step_path.h"
#include "app/window/workspace.h"

namespace headlight::app {
namespace {

/// The step that the capture on show is; none: it isn't kept any more.
std::optional<std::size_t> find_step(const LinkSnapshot& link, const std::string& file) {
  const auto found = std::ranges::find_if(link.steps, [&](const LinkedStep& step) { return step.file == file; });
  if (found == link.steps.end()) return std::nullopt;
  return static_cast<std::size_t>(found - link.steps.begin());
}

}  // namespace

void Workspace::follow_link() {
  if (!link_) return;
  if (std::shared_ptr<const LinkSnapshot> now = link_(); now != linked_) {
    linked_ = std::move(now);
    ui_.request_redraw(2);
  }
  if (!linked_ || linked_->steps.empty()) return;
  const auto newest = std::ranges::find(linked_->steps, linked_->newest, &LinkedStep::step);
  if (linked_->session != shown_link_session_) {
    shown_link_session_ = linked_->session;
    follows_newest_step_ = true;
    stop_generating();
    undo_.seal();
    if (newest != linked_->steps.end()) show_step(*newest);
    notice_ = {.text = fmt::format("{} sends attention to this window while it computes; the slider of steps is in the "
                                   "sidebar.",
                                   linked_->name.empty() ? "A program" : linked_->name)};
    return;
  }
  if (const std::optional<LinkedStep> chosen = std::exchange(chosen_link_step_, std::nullopt)) show_step(*chosen);
  const std::string& shown = capture_path(state_.source);
  if (!is_linked_step(shown) || !is_current()) return;  // the step before is shown first, however fast they come
  const std::optional<std::size_t> known = find_step(*linked_, shown);
  if (follows_newest_step_ && newest != linked_->steps.end() && newest->file != shown) {
    show_step(*newest);
  } else if (!known) {  // it was thinned out, or sent again
    show_step(linked_->steps[nearest_step(linked_->steps, shown_step_)]);
  }
}

void Workspace::show_step(const LinkedStep& step) {
  shown_step_ = step.step;
  if (!is_linked_step(capture_path(state_.source))) {
    select_capture(state_, step.file.string());
  } else {
    // Looking at another step is no change to undo; what is selected and pinned stays.
    std::get<Capture>(state_.source).path = step.file.string();
    undo_.adopt(state_);
  }
  ui_.request_redraw(2);
}

void Workspace::draw_link(Frame& frame) {
  const std::string& shown = capture_path(state_.source);
  if (!linked_ || linked_->steps.empty() || !is_linked_step(shown)) return;
  const std::size_t index = find_step(*linked_, shown).value_or(nearest_step(linked_->steps, shown_step_));
  const LinkChoice choice = draw_link_panel(frame, typed_, *linked_, index, follows_newest_step_);
  follows_newest_step_ = choice.follows_newest;
  if (choice.step) chosen_link_step_ = linked_->steps[*choice.step];
}

}  // namespace headlight::app
