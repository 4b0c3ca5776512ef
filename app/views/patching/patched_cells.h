#pragma once

#include "app/views/patching/patching_parts.h"

namespace headlight::app {

/// A map of effects with the choices that it is of: what its cells are, in words and as references.
struct PatchedCells {
  const PatchEffects* effects = nullptr;
  PatchingChoices choices = {};
  RunNames names = {};
  model::BlockKind kind = model::BlockKind::EncoderSelf;
  PredictionPosition position = {};
  std::uint32_t token = 0;              ///< of the vocabulary, that is measured
  Grid matrix = {};                     ///< of tokens and layers
  std::vector<std::string> words = {};  ///< of the matrix's tokens, without positions
  std::string measured = {};            ///< "logit of “cat”"
  HeadRef head = {};                    ///< whose weights are put
  std::string receiver = {};            ///< of paths: "L3 H5's queries"; of weights their head

  bool is_heads() const { return is_of_heads(choices.map); }
  bool is_paths() const { return choices.map == PatchMap::Paths; }
  bool is_weights() const { return choices.map == PatchMap::Weights; }
  /// Returns the label of a token that is a column of the effects.
  std::string label(std::size_t column) const;
  std::optional<double> value(std::size_t row, std::size_t column) const;
  model::BlockRef block_of(std::size_t row) const;
  /// Returns the query and key of a cell in a map of weights.
  attention::Cell weight_at(std::size_t row, std::size_t column) const;
  HeadRef head_at(const PatchCell& cell) const;
  bool has_cell(const PatchCell& cell) const { return cell.row < effects->rows() && cell.column < effects->columns; }
  std::string place(std::size_t row, std::size_t column) const;
  std::string about(std::size_t row, std::size_t column) const;
  /// Returns the reference to a cell whose effect is known.
  NumberRef number_of(std::size_t row, std::size_t column) const;
  /// Returns the cell of the selected layer and token, of the selected head, or the pinned one.
  std::optional<PatchCell> chosen_cell(const Frame& frame) const;
  /// Returns the effect that a cell of the matrix shows: without weights its rows are tokens, which are columns of the
  /// effects.
  PatchCell effect_at(GridCell cell) const;
  std::string kept_name(const PatchCell& cell) const;
};

}  // namespace headlight::app
