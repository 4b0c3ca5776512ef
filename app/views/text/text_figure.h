#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/shell/theme.h"
#include "app/views/text/text_side.h"
#include "export/text_figure.h"

namespace headlight::app {

/// A block of running text as the view shows it, for a figure.
struct FigureBlock {
  const TextBlock* block = nullptr;
  std::string caption;                  ///< may be empty
  shell::Color color = 0;               ///< of its shades
  const TextShades* shades = nullptr;   ///< null: not shaded
  std::optional<std::uint32_t> chosen;  ///< the token that is outlined
};

/// Lays a block out anew for a figure's width and fonts. `unshape` gives a text back that is drawn as one image.
exporting::TextFigure::Block figure_block(const FigureBlock& shown, const shell::Ui& ui);

}  // namespace headlight::app
