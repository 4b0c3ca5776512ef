#pragma once

#include <fmt/format.h>

#include "export/figure_text.h"
#include "export/text_metrics.h"

namespace headlight::exporting {

/// Lengths in units of 1/96 inch.
inline constexpr float kMargin = 20.0F;
inline constexpr float kTitleSize = 15.0F;
inline constexpr float kTextSize = 11.0F;
inline constexpr double kMaxMapEdge = 1000.0;    ///< a map is never drawn larger
inline constexpr double kMaxMapValues = 2000.0;  ///< values on an edge; more are pooled

/// Colours of everything but the cells.
struct Paper {
  Rgb ground{};
  Rgb ink{};
  Rgb muted{};    ///< settings, ticks, padding
  Rgb outline{};  ///< around maps
  Rgb blank{};    ///< masked cells without a number
  Rgb stripe{};   ///< their stripes
};
Paper paper_of(const FigureStyle& style);

/// Values that a map has on an edge in a file of the format: of a PNG no more than pixels. Throws Error where the style's
/// scale is out of range.
std::uint32_t max_values(const FigureStyle& style, DrawingFormat format);

/// Returns the properties of a figure's file besides its drawing. `session`: metadata; may be empty.
DrawingOutput output_of(const FigureStyle& style, const std::string& title, const std::string& session);

/// Around all that is drawn.
inline float margin_of(const FigureStyle& style) { return style.width > 0.0F ? kColumnMargin : kMargin; }

/// Title and settings above a figure, wrapped to its width.
class TitleBlock {
 public:
  TitleBlock(const std::string& title, const std::string& subtitle, float width, const TextMetrics& metrics);

  float height() const;                   ///< with the space below; 0 without any text
  float width() const { return width_; }  ///< of the widest line
  void draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const;

 private:
  std::vector<std::string> title_;
  std::vector<std::string> subtitle_;
  float width_ = 0.0F;
};

/// Colours with their names, from left to right in lines.
class ColorLegend {
 public:
  struct Entry {
    Rgb color{};
    std::string name;
  };
  ColorLegend() = default;
  ColorLegend(std::vector<Entry> entries, float width, const TextMetrics& metrics);

  float height() const;  ///< 0 without entries
  void draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const;

 private:
  std::vector<Entry> entries_;
  float step_ = 0.0F;  ///< from one entry to the next
  std::size_t across_ = 1;
};

/// "Each point is the largest of 3 × 3 cells.", to append to a subtitle; "" without pooling.
std::string pooling_note(const FigureMap& map);

/// The hatched swatch with its meaning, and a remark below it; parts that aren't needed are left out.
class Legend {
 public:
  Legend(std::string masked_title, std::string remark, float width, const TextMetrics& metrics);

  float height() const;  ///< with the space above; 0 for an empty legend
  void draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const;

 private:
  std::string masked_title_;
  std::vector<std::string> remark_;
};

/// Does any masked cell need explaining?
bool has_masked(const FigureMap& map);
/// Returns a note about the colour of cells that are NaN or infinite; "" where there are none.
std::string odd_cells_note(const FigureMap& map);

/// A page with the colours of a style, and its map's size where the page says none.
FigureStyle on_paper(const FigureStyle& style, FigureStyle page);

/// Takes the marks from all tokens of a figure that have one.
template <typename Figure>
void drop_marks(Figure& figure) {
  if constexpr (requires { figure.rows.tokens; }) {
    drop_marks(figure.rows.tokens);
    drop_marks(figure.columns.tokens);
  } else if constexpr (requires { figure.queries; }) {
    drop_marks(figure.queries);
    drop_marks(figure.keys);
  }
}

/// A figure with its title and settings above everything else. Where it is made, it lays itself out and sets its size.
template <typename Figure>
class FigureDrawing : public Drawing {
 public:
  glm::vec2 size() const final { return {std::max(size_.x, figure_.style.width), size_.y}; }
  DrawingOutput output() const final { return output_of(figure_.style, figure_.title, figure_.session); }
  std::string text() const final {
    if constexpr (requires { in_words(figure_); }) {
      return fmt::format("## {}\n\n{}\n\n{}", printable(figure_.title), printable(figure_.subtitle), in_words(figure_));
    } else {
      return drawn_words(*this);
    }
  }
  std::unique_ptr<Drawing> on_page(const FigureStyle& page, const std::string& title) const final {
    Figure figure = figure_;
    if (!title.empty()) figure.title = title;
    figure.subtitle = subtitle_;
    figure.style = on_paper(figure.style, page);
    if (!page.parts.word_marks) drop_marks(figure);
    if constexpr (requires { figure.panels.front().rows; }) {
      std::size_t across = figure.rows.empty() ? figure.across : 1;
      for (const std::size_t count : figure.rows) across = std::max(across, count);
      FigureStyle share = page;  // each panel keeps its own title
      share.map_edge = page.map_edge / static_cast<float>(across);
      for (HeatmapFigure& panel : figure.panels) {
        share.parts.title = panel.style.parts.title;
        share.parts.settings = panel.style.parts.settings;
        panel.style = on_paper(panel.style, share);
        if (!page.parts.word_marks) drop_marks(panel);
      }
    }
    if constexpr (requires { make_drawing(std::move(figure), DrawingFormat::Svg); }) {
      return make_drawing(std::move(figure), DrawingFormat::Svg);
    } else {
      return make_drawing(std::move(figure));
    }
  }
  void draw(Canvas& canvas) const final {
    titles_->draw(canvas, corner_ + margin_, paper_);
    draw_content(canvas);
  }

 protected:
  explicit FigureDrawing(Figure figure)
      : figure_(std::move(figure)),
        subtitle_(figure_.subtitle),
        metrics_(figure_.style.font),
        paper_(paper_of(figure_.style)),
        margin_(margin_of(figure_.style)) {}

  virtual void draw_content(Canvas& canvas) const = 0;

  /// Returns the width that titles may take: the usual figure's, or the room of a chosen width.
  float title_room(float usual) const { return is_of_width() ? std::floor(figure_.style.width - 2.0F * margin_) : usual; }
  bool is_of_width() const { return figure_.style.width > 0.0F; }
  /// Returns the width that labels of rows may take: at most a quarter of a chosen width.
  float label_room(float usual) const { return is_of_width() ? std::min(usual, 0.25F * figure_.style.width) : usual; }

  /// Wraps title and settings to a width. Returns where what is below them begins.
  float lay_out_titles(float width) {
    const FigureParts& parts = figure_.style.parts;
    titles_.emplace(parts.title ? figure_.title : "", parts.settings ? figure_.subtitle : "", width, metrics_);
    return margin_ + titles_->height();
  }

  /// A text whose capital letters have their middle at this point's height.
  static void write(Canvas& canvas, glm::vec2 at, std::string_view text, Rgb color, TextAlign align = TextAlign::Start,
                    float size = kTextSize) {
    canvas.text({at.x, at.y + kHalfCapital * size}, text, {.size = size, .color = color, .align = align});
  }

  Figure figure_;
  std::string subtitle_;  ///< as it was given: a layout may add what it leaves out
  TextMetrics metrics_;
  Paper paper_;
  float margin_;
  std::optional<TitleBlock> titles_;
  glm::vec2 corner_{0.0F}, size_{0.0F};
};

/// An upright colour bar with ticks at its right and its title beside them.
class ColorBar {
 public:
  /// `height` is the map's; the bar is at least as high as its title.
  ColorBar(const chart::ValueScale& scale, const FigureStyle& style, const std::string& title, float height,
           const TextMetrics& metrics);

  float width() const { return width_; }  ///< with ticks and title
  float height() const { return height_; }
  void draw(Canvas& canvas, glm::vec2 top_left, const Paper& paper) const;

 private:
  chart::ValueScale scale_;
  chart::ColorMap color_map_;
  std::string title_;
  std::vector<chart::Tick> ticks_;
  float height_ = 0.0F;
  float tick_width_ = 0.0F;
  float width_ = 0.0F;
};

/// The scale over all values of a map, as its style asks.
chart::ValueScale scale_of(const FigureMap& map, const FigureStyle& style);

}  // namespace headlight::exporting
