#pragma once

#include <string_view>

#include "attention/stage.h"
#include "export/figure.h"

namespace headlight::exporting {

/// The title of a stage's colour bar: "attention weight", "q · k", "scale · q · k", ….
std::string_view value_title(attention::Stage stage);

/// Names of a stage's axes: maps are query over key, everything else token over feature.
std::string_view row_title(attention::Stage stage);
std::string_view column_title(attention::Stage stage);

/// Weights keep the chosen map and scale; every other stage is signed and gets the diverging map, symmetric around zero and
/// linear.
FigureStyle style_for(attention::Stage stage, FigureStyle style);

}  // namespace headlight::exporting
