#pragma once

#include "export/figure.h"

namespace headlight::exporting {

inline constexpr float kTextFigureWidth = 640.0F;  ///< units of a line of running text
inline constexpr float kTextFigureSize = 13.0F;    ///< em of its tokens
inline constexpr float kTextNumberSize = 9.0F;     ///< em of the numbers above them

/// Running text shaded by weights, as a figure for a paper. The caller has laid it out (with TextMetrics): rectangles
/// and numbers are relative to the upper left corner of their block.
struct TextFigure {
  struct Token {
    Rect rect;
    std::string text;
    float share = 0.0F;             ///< of the deepest shade, 0 … 1
    std::optional<Rgb> color = {};  ///< of the shade; none: the block's
    bool is_outlined = false, is_dim = false;
  };
  struct Number {
    glm::vec2 at{0.0F};  ///< its left end, on the baseline
    std::string text;
  };
  /// An image below the tokens, such as one whose patches they are.
  struct Picture {
    Rect rect;
    Pixels pixels;
  };
  struct Block {
    std::string caption;  ///< may be empty
    Rgb color{};          ///< of the shades, the outline and the caption
    std::vector<Token> tokens = {};
    std::vector<Number> numbers = {};
    std::optional<Picture> picture = {};
    float height = 0.0F;
  };

  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<Block> blocks = {};
  float width = kTextFigureWidth;  ///< of a line, for which it is laid out
  FigureStyle style = {};          ///< of whose parts labels are the captions
  std::string session = {};        ///< metadata from which it can be made again; empty: none
};

/// Throws Error where the text is too long for a figure.
std::unique_ptr<Drawing> make_drawing(TextFigure figure);

}  // namespace headlight::exporting
