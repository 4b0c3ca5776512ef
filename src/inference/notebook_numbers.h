#pragma once

#include <functional>

#include "attention/mask.h"
#include "attention/stage.h"
#include "inference/notebook_cells.h"
#include "model/network.h"

namespace headlight::inference {

/// A pass of a notebook's network: what the numbers of its cells are computed from.
struct NotebookPass {
  const model::Network& network;
  const model::ModelInput& input;
  const attention::MaskSet& masks;
  std::uint64_t seed = 0;  ///< of the recipe
  bool is_plain = true;    ///< nothing but its masks changes it
  /// A whole stage of a block, as Run::stage() has it; [batch, head, query, key], 1 where the mask shows a cell.
  std::function<Tensor(model::BlockRef block, attention::Stage stage)> stage = {};
  std::function<Tensor(model::BlockRef block)> visible = {};
};

/// The stages of the pass that a part reads; none where it prints the sizes of a stage.
struct NotebookReads {
  std::vector<attention::Stage> stages;
  bool has_visible = false;
};
NotebookReads reads_of(const NotebookPart& part);
/// Returns the stage of a pass that a part shows, or is made from; none where no single one is.
std::optional<attention::Stage> stage_of(const NotebookPart& part);

/// The numbers of a part in its order.
struct NotebookNumbers {
  Shape shape;                                                   ///< of its axes; a product of axes is one
  std::vector<double> values;                                    ///< the sizes where these are printed; NaN: there is none
  std::size_t row = 0;                                           ///< numbers of a row
  std::vector<std::string> rows, columns;                        ///< names: indices of the axes, or what the part calls them
  std::vector<std::pair<char, std::vector<std::size_t>>> order;  ///< letters of the axes and their indices, outermost first
  std::map<char, std::size_t> fixed;                             ///< the index of every other axis

  /// Returns the index of each axis of a number: 'h' is its head.
  std::map<char, std::uint32_t> place(std::size_t number) const;
};
/// Throws Error in one line where the pass has no such numbers.
NotebookNumbers numbers_of(const NotebookPass& pass, const NotebookPart& part);

}  // namespace headlight::inference
