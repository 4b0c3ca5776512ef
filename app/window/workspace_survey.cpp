
#include "app/sidebar/survey_panel.h"
#include "app/state/portable_state.h"
#include "app/window/workspace.h"

namespace headlight::app {

void Workspace::draw_survey(Frame& frame) {
  const SurveyExample* clicked = draw_survey_panel(frame, typed_, *survey_, surveyed_metric_);
  if (clicked) chosen_example_ = *clicked;
}

void Workspace::take_survey_choice() {
  const std::optional<SurveyExample> chosen = std::exchange(chosen_example_, std::nullopt);
  if (!chosen || !is_model(state_.source)) return;
  stop_generating();
  undo_.seal();
  state_.model().text = chosen->text;
  state_.selection.batch = 0;
  if (is_name_of(survey_->model, model_path(state_.source))) {
    // The same tokens as those that were measured, whatever the text's own settings would make of it.
    state_.model().ids = {chosen->ids};
    state_.view.pinned = attention::Cell{.query = chosen->query, .key = chosen->key};
  } else {  // whose tokens are others
    state_.model().ids.clear();
    state_.view.pinned.reset();
  }
  ui_.ensure_glyphs(chosen->text);
  ui_.request_redraw(2);
}

}  // namespace headlight::app
