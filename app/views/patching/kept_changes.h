#pragma once

#include "app/analyses/analysis.h"
#include "app/frame.h"

namespace headlight::app {

/// Activations of the baseline that are kept in the present one: asked of the engine, then a part of the state.
class KeptChangesPanel {
 public:
  /// Where activations are put that were dragged from elsewhere: a layer and head, and the first token.
  struct Target {
    std::uint32_t layer = 0, head = 0, first = 0;
  };
  /// Asks for them; they are kept as `name` when they arrive, at their own place or at the target.
  void keep(const AnalysisQuery& query, std::string name, std::optional<Target> target = {});
  /// Buttons in the present line that keep the difference of both runs' residual streams before the selected layer, or what
  /// the head gives on the mean in the baseline (none: the button is disabled).
  void draw_steering(Frame& frame);
  void draw_mean(Frame& frame, const std::optional<HeadRef>& head);
  /// Keeps what has arrived. Call it in every frame in which there is a baseline.
  void update(Frame& frame);
  /// A line for each that is kept, with its strength and a button that drops it; nothing where none is.
  void draw(Frame& frame) const;

 private:
  std::optional<AnalysisQuery> wanted_;
  std::string name_;
  std::optional<Target> target_;
};

}  // namespace headlight::app
