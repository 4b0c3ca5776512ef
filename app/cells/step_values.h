#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "app/cells/step_matrix.h"
#include "app/frame.h"
#include "attention/stage.h"
#include "model/network.h"

namespace headlight::app {

/// The selected head's attention layer as the steps show it.
struct StepLayer {
  const model::AttentionLayer* layer = nullptr;  ///< null while there is no network
  std::uint32_t head = 0;
  std::uint32_t d_k = 0, d_v = 0;
};

/// Rows and columns of a matrix that isn't a stage; nullopt where the layer has none.
struct MatrixSize {
  std::uint32_t rows = 0, columns = 0;
};
std::optional<MatrixSize> size_of(StepMatrix matrix, const StepLayer& layer, std::uint32_t keys);

/// A window of a matrix.
struct MatrixWindow {
  std::uint32_t row = 0, rows = 0;
  std::uint32_t column = 0, columns = 0;

  auto operator<=>(const MatrixWindow&) const = default;
};

/// Numbers of matrices that aren't evaluated on demand: the weights, as uploaded, and the memory, as downloaded
/// (EngineResult::memory). The last window of each matrix is kept.
class StepValues {
 public:
  struct Known {
    attention::Tile tile;  ///< values [rows, columns] of the window; its request only names sizes
    TileFacts facts;
    std::uint64_t revision = 0;  ///< changes with the values
  };
  /// Null while the memory isn't known, which it then requests, and for a window that the matrix doesn't have.
  const Known* find(Frame& frame, StepMatrix matrix, const StepLayer& layer, const MatrixWindow& window);

 private:
  using Key = std::tuple<const void*, std::uint64_t, std::uint32_t, std::uint32_t, MatrixWindow>;
  struct Entry {
    Key key;
    Known known;
  };
  std::map<StepMatrix, Entry> entries_;
  std::uint64_t revisions_ = 0;
};

/// The selected item's row [d_model] of the memory; empty while it isn't known.
std::span<const float> memory_row(const Frame& frame, std::uint32_t row);

}  // namespace headlight::app
