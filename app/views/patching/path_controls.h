#pragma once

#include "app/analyses/analysis.h"
#include "app/frame.h"
#include "app/widgets/position_header.h"

namespace headlight::app {

/// The head in which paths end, and what of it learns of them.
struct PathEnd {
  HeadRef head;
  PathInput input = PathInput::Query;
  std::optional<double> recovery =
      {};  ///< where the view has found the head: how far its output alone carries the prediction
};

/// "L3 H5's queries", with the kind of attention where there are several; of keys and values that heads share, all of them:
/// "keys of L3 H4 to H7".
std::string receiver_name(const Frame& frame, const PathEnd& receiver);

/// While the user has chosen no receiver. Heads of the selected kind, that other heads of it come before, are tried from the
/// one whose output of the other run carries the prediction the furthest (the map "heads" of the same prediction) on, a few
/// at most: the first one into which a path leads that carries a visible part of it is the receiver, by the input into which
/// the strongest path leads. Where none is visible, the strongest of all that were tried.
struct FoundReceiver {
  std::optional<PathEnd> end = {};  ///< none: not known yet, or there is none
  bool is_searching = false;
  std::size_t tried = 0;           ///< heads whose paths were looked at; 0: heads are still being patched by themselves
  std::size_t known = 0, all = 0;  ///< cells of the maps that are measured so far
};
/// The question about paths into such an end, of the choices in the state.
PathQuestion paths_query(const Frame& frame, const ChosenLogit& logit, const PathEnd& end);
bool is_receiver_chosen(const PathReceiver& receiver);
/// How far the search is, while it goes on.
std::string search_text(const FoundReceiver& search);
FoundReceiver find_receiver(Frame& frame, const ChosenLogit& logit);

/// The receiver of path patching, which of its inputs, and whether paths lead through MLPs.
void draw_path_controls(Frame& frame, const PathEnd& end);

}  // namespace headlight::app
