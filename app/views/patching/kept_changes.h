#pragma once

#include <optional>
#include <string>

#include "app/analyses/analysis.h"
#include "app/frame.h"

namespace headlight::app {

/// Activations of the frozen run that are kept in the present one: asked of the engine, then a part of the state.
class KeptChangesPanel {
 public:
  /// Asks for them; they are kept as `name` when they arrive.
  void keep(const AnalysisQuery& query, std::string name);
  /// Keeps what has arrived. Call it in every frame in which there is a frozen run.
  void update(Frame& frame);
  /// A line for each that is kept, with its strength and a button that drops it; nothing where none is.
  void draw(Frame& frame) const;

 private:
  std::optional<AnalysisQuery> wanted_;
  std::string name_;
};

}  // namespace headlight::app
