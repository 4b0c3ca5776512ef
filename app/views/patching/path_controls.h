#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "app/analyses/analysis.h"
#include "app/frame.h"
#include "app/widgets/logit_choice.h"

namespace headlight::app {

/// "L3 H5's queries", with the kind of attention where there are several; of keys and values that heads share, all of them:
/// "keys of L3 H4 to H7".
std::string receiver_name(const Frame& frame, const HeadRef& receiver);

/// The head in which paths end.
struct PathEnd {
  HeadRef head;
  std::optional<double> recovery =
      {};  ///< where the view has found the head: how far its output alone carries the prediction
};

/// While the user has chosen no receiver: of the heads of the selected kind, that other heads of it come before, the one
/// whose output of the other run carries the prediction the furthest (the map "heads" of the same prediction, its strongest
/// cell).
struct FoundReceiver {
  std::optional<PathEnd> end = {};  ///< none: not known yet, or there is none
  bool is_searching = false;
  std::size_t known = 0, all = 0;  ///< heads that are patched so far
};
bool is_receiver_chosen(const PathReceiver& receiver);
FoundReceiver find_receiver(Frame& frame, const ChosenLogit& logit);

/// The receiver of path patching, which of its inputs, and whether paths lead through MLPs.
void draw_path_controls(Frame& frame, const PathEnd& receiver);

}  // namespace headlight::app
