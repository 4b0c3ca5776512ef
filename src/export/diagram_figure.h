#pragma once

#include "export/figure.h"

namespace headlight::exporting {

/// Matrices and the arrows between them, as a figure for a paper: a layer's data flow. The caller has laid it out: boxes and
/// arrows are relative to the diagram's upper left corner.
struct DiagramFigure {
  struct Node {
    Rect box;                   ///< with its names
    Rect cells;                 ///< of the matrix, inside of the box
    std::string symbol, title;  ///< "Q" and "queries"; in symbols and operations "_" and "^" set the next letter low or high
    std::string operation;      ///< "X · W_Q": what makes it
    Rgb color{};                ///< of the symbol
    FigureMap map = {};
    FigureStyle style = {};  ///< its colours
  };
  struct Arrow {
    std::vector<glm::vec2> points;  ///< at least two; the head is at the last one
    Rgb color{};
  };

  std::string title, subtitle;  ///< long ones are wrapped
  glm::vec2 area{0.0F};         ///< width and height of the diagram
  std::vector<Node> nodes;
  std::vector<Arrow> arrows;
  FigureStyle style = {};    ///< of the page: of its parts title, settings and numbers (the ends of colours) count
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// Throws Error where a matrix' values don't fill it, or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(DiagramFigure figure);

}  // namespace headlight::exporting
