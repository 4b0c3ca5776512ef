#pragma once

#include "app/survey/survey_reader.h"
#include "app/widgets/form.h"

namespace headlight::app {

/// What a survey says of the selected head: its place by each metric, and the texts that show the metric chosen in `metric`
/// best. Returns the example that was clicked; null: none.
const SurveyExample* draw_survey_panel(Frame& frame, NumberBeingTyped& typed, const Survey& survey, std::size_t& metric);

}  // namespace headlight::app
