#pragma once

#include "app/frame.h"
#include "view/viewport.h"

namespace headlight::app {

/// While the model writes, the row of the newest token appears key by key, which is how its attention is computed: one row,
/// all others stay. A click or Esc skips it; "reduce motion" and the speed of the Block view's walk are heeded.
class RowReveal {
 public:
  inline static constexpr double kSeconds = 0.5;  ///< of a row at speed 1

  /// Once per frame, before drawing. `rows`: the real queries of the selected line. `now_s`: any clock.
  void observe(const Frame& frame, std::uint32_t rows, double now_s);
  /// Covers those keys of the row that haven't appeared yet, and asks for the next frame.
  void draw(Frame& frame, const view::Viewport& viewport) const;

 private:
  std::uint32_t rows_ = 0;  ///< in the previous frame
  std::uint32_t batch_ = 0;
  std::uint32_t written_ = 0;  ///< tokens of the generation, when the rows changed last
  std::optional<std::uint32_t> row_;
  double started_s_ = 0.0;
  float part_ = 1.0F;
};

}  // namespace headlight::app
