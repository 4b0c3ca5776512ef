#pragma once

#include <cstddef>

#include "export/figure.h"

namespace headlight::exporting {

/// Several whole figures of maps on one page, as they are: the steps of a head, two heads side by side. Each keeps its
/// labels, scale and colour bar; ground and letters are the page's.
struct PanelsFigure {
  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<HeatmapFigure> panels;
  std::size_t across = 2;              ///< panels in a row, where `rows` is empty
  std::vector<std::size_t> rows = {};  ///< panels of each row, together all of them
  FigureStyle style = {};              ///< of the page
  std::string session = {};            ///< metadata from which it can be made again; empty: none
};

/// Throws Error where there is no panel, a panel's values don't fill it, or the page would be too large.
std::unique_ptr<Drawing> make_drawing(PanelsFigure figure);

/// Weights as lines between two columns of tokens, as a figure for a paper: queries left, keys right. A line has the colour
/// of its head (view/color.h), mixed with the paper's by its weight, as if it were that opaque over paper alone. Of
/// differences of weights it has the colour of its sign.
struct LinesFigure {
  struct Line {
    std::uint32_t query = 0, key = 0, head = 0;
    float weight = 0.0F;  ///< 0 … 1; of a difference −1 … 1

    bool operator==(const Line&) const = default;
  };

  std::string title;
  std::string subtitle;  ///< long ones are wrapped
  std::string query_title = "query";
  std::string key_title = "key";
  std::vector<std::string> queries, keys;  ///< tokens; every line's are among them
  std::vector<Line> lines;                 ///< ascending by size: later ones are drawn over earlier ones
  std::vector<std::uint32_t> heads;        ///< of the legend
  bool is_difference = false;              ///< red where there is more, blue where there is less
  /// The style's labels are the tokens, its legend names the heads. Its map_edge is the figure's width; 0: the width
  /// that the tokens need.
  FigureStyle style = {};
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// The colour of a difference on light and dark ground: red for more, blue for less.
Rgb sign_color(float change);
/// Returns the opacity of a line, 0 … 1, of a weight or a difference of two: the square root, since most are small.
float line_opacity(float value);

/// Throws Error where a figure of lines has no room for so many tokens.
void check_lines(std::size_t queries, std::size_t keys);

/// Throws Error where a line's token doesn't exist or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(LinesFigure figure);

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
    std::vector<Picture> pictures = {};
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

/// A graph of tokens and layers, as a figure for a paper: what flows into one token's last state. Layers are rows, the input
/// at the bottom; tokens are columns.
struct FlowFigure {
  struct Edge {
    std::uint32_t layer = 0;                 ///< from the state before it to the state after it
    std::uint32_t from = 0, to = 0;          ///< columns
    float share = 0.0F;                      ///< 0 … 1: the line's width
    bool is_residual = false;                ///< the residual stream, which is grey; else attention
    std::optional<std::uint32_t> head = {};  ///< in whose colour it is drawn; none: of several heads, in the ink's
    float change = 0.0F;                     ///< of the share, where `reach` is given: the colour
  };

  std::string title;
  std::string subtitle;             ///< long ones are wrapped
  std::uint32_t layers = 0;         ///< rows above the input
  std::vector<std::string> tokens;  ///< [column]; every edge's are among them
  std::vector<Edge> edges;          ///< later ones are drawn over earlier ones
  /// The numbers of the layers where others between them have no attention; empty: 0, 1, …
  std::vector<std::uint32_t> layer_numbers = {};
  /// Given: edges are coloured by their change instead, blue where it is less and red where it is more, strongest from here.
  std::optional<float> reach = {};
  /// The style; only its title, settings and legend count, a map edge doesn't.
  FigureStyle style = {};
  std::string session = {};  ///< metadata from which it can be made again; empty: none

  std::uint32_t layer_number(std::uint32_t layer) const { return layer_numbers.empty() ? layer : layer_numbers.at(layer); }
};

/// Draws the graph with a legend of the heads, or of the changes, whose colours its edges have. Throws Error where an
/// edge's layer or token doesn't exist or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(FlowFigure figure);

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

/// One score taken apart, as a figure for a paper: a line for each component with the numbers of the query and the key on
/// their colours and their product as a signed bar; beside it how their sum becomes a weight, line by line.
struct ScoreFigure {
  struct Vector {
    std::string title;          ///< "q", "k before RoPE": over its column
    Rgb color{};                ///< of the title
    std::vector<float> values;  ///< [component], in the order of `components`
  };
  struct Line {
    std::string name;                    ///< "scale"
    std::string value;                   ///< "0.418"; empty: none
    std::string calculation, note = {};  ///< long ones are wrapped
    bool is_result = false;              ///< in the colour of outputs
  };

  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<std::string> components;
  std::vector<Vector> vectors;  ///< with as many values as there are components
  std::vector<double> products;
  std::string product_title;
  std::vector<Line> lines;
  Rgb output_color{};        ///< of products and results
  FigureStyle style = {};    ///< of whose parts title and settings count; a map edge doesn't
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// Throws Error where there is no component, numbers are missing, or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(ScoreFigure figure);

/// The products of one query with many keys, as a figure for a paper: a line for each key with the product of every
/// component on its colour, the score and the weight, which is a bar as well.
struct ProductsFigure {
  struct Row {
    std::string index, name;      ///< "3", "cat"
    std::vector<float> products;  ///< [component], in the order of `components`
    float score = 0.0F;           ///< as it enters the mask
    float weight = 0.0F;
    bool is_masked = false;
  };

  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<std::string> components;
  std::vector<Row> rows;
  Rgb key_color{}, output_color{};  ///< of keys, and of weights
  FigureStyle style = {};           ///< of whose parts title and settings count; a map edge doesn't
  std::string session = {};         ///< metadata from which it can be made again; empty: none
};

/// Lines that a figure of products has at most. The view asks for so many rows of keys while it shows all keys, not for
/// more.
inline constexpr std::size_t kMaxProductRows = 256;

/// Throws Error where there is no key or no component, a key's products don't fit the components, or there are too many.
std::unique_ptr<Drawing> make_drawing(ProductsFigure figure);

/// Things as dots by two numbers, as a figure for a paper: axes with round ticks, a colour for a third number, and names
/// beside some dots.
struct DotsFigure {
  struct Dot {
    glm::dvec2 at{0.0};  ///< finite
    float color = 0.0F;  ///< a number; NaN: it has none, and the dot is grey
    std::string name = {};
    bool is_named = false;  ///< the name is beside it
  };

  /// Dots that follow each other on a line, which is drawn below all dots.
  struct Path {
    std::vector<glm::dvec2> points;  ///< finite
    float color = 0.0F;              ///< as a dot's
    bool is_bold = false;
    std::string name = {};
  };

  std::string title, subtitle;  ///< long ones are wrapped
  std::string x_title, y_title, color_title;
  bool has_whole_x = false;  ///< of indices, between which there are no ticks
  /// The axis is logarithmic: x aren't negative, and 0 is half a decade before the smallest other one.
  bool is_log_x = false;
  std::vector<Dot> dots = {};
  std::vector<Path> paths = {};
  std::vector<std::pair<double, std::string>> x_ticks = {};  ///< in place of round numbers
  FigureStyle style = {};    ///< of whose parts title, settings, labels (names and ticks) and bar count
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// Throws Error where there is no dot and no path, a number isn't finite, or there are too many.
std::unique_ptr<Drawing> make_drawing(DotsFigure figure);

/// A model's predictions at one position, as a figure for a paper: the likeliest tokens as bars over an axis from 0 to
/// 100 %, and below them what each layer would predict (logit lens), coloured by probability.
struct PredictionsFigure {
  struct Bar {
    std::string token;
    double share = 0.0;   ///< 0 … 1
    bool is_cut = false;  ///< by top-k or top-p: it is never drawn, and its bar is grey
  };
  struct Reading {
    std::string token;
    double probability = 0.0;  ///< 0 … 1
  };
  struct Layer {
    std::string name;               ///< "layer 3"
    std::vector<Reading> readings;  ///< likeliest first; every layer has as many cells as the one with the most
  };

  std::string title, subtitle;  ///< long ones are wrapped
  std::vector<Bar> bars;        ///< likeliest first
  double rest = 0.0;            ///< of all tokens without a bar, 0 … 1
  std::vector<Layer> layers;    ///< top to bottom; may be empty
  /// The style's labels are the tokens, its numbers the percentages; its map_edge is the figure's width, its color_map
  /// that of the table.
  FigureStyle style = {};
  std::string session = {};  ///< metadata from which it can be made again; empty: none
};

/// Throws Error where there is no bar, or the figure would be too large.
std::unique_ptr<Drawing> make_drawing(PredictionsFigure figure);

}  // namespace headlight::exporting
