#pragma once

#include "app/window/viewer.h"

namespace headlight::bench {

/// Where the time between a keystroke and the frame with its maps goes, in milliseconds.
struct KeystrokeCost {
  double typed_ms = 0.0;  ///< until the frame with the typed character, the maps still those before
  double map_ms = 0.0;    ///< until the frame with the selected head's new map
  double maps_ms = 0.0;   ///< until the frame with every map on screen
  double run_ms = 0.0;    ///< of these, the forward pass: recording, submission, wait
  double frame_ms = 0.0;  ///< and building and drawing one frame, on average
  std::uint32_t frames = 0, drawn = 0;
};

/// What a frame of one view costs this thread outside of the graphics driver: input, layout, draw lists. Median of frames in
/// which the pointer moves over the view.
struct ViewCost {
  std::string id;
  double frame_ms = 0.0;  ///< of processor time
};

/// What experiments cost in a text of so many tokens, in milliseconds.
struct ExperimentCosts {
  std::uint32_t tokens = 0;
  std::size_t heads = 0;
  /// Of each cell that is painted, in all layers from the first on: from the press of the button to the frame with every
  /// map on screen.
  std::vector<double> paint_ms;
  /// Of each new run: from the key that asks for it to the frame with the change of the prediction by every head's
  /// knock-out.
  std::vector<double> knockouts_ms;
};

struct ViewerBench {
  double launch_ms = 0.0;       ///< from the start of the process to the frame with the first heatmap
  double launch_maps_ms = 0.0;  ///< … with all maps on screen
  std::vector<KeystrokeCost> keystrokes;
  ExperimentCosts experiments;
  std::uint32_t tokens = 0;     ///< of the text that the views show
  std::vector<ViewCost> views;  ///< in the order of their tabs
};

/// Opens the viewer offscreen as run_viewer() does, types so many characters after the text, one after the other, and
/// says how long each took to be on screen. Then it makes the text 64 tokens long, paints cells and knocks out every head in
/// turn; at last it makes the text at least 128 tokens long, or as long as the model takes, and opens every view in turn.
/// Throws Error in one line.
ViewerBench bench_viewer(const app::ScreenshotOptions& options, std::uint32_t keystrokes);

}  // namespace headlight::bench
