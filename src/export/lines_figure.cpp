#include "export/figures.h"

#include "chart/color.h"
#include "chart/ellipsis.h"
#include "core/error.h"
#include "export/canvas.h"
#include "export/figure_frame.h"

namespace headlight::exporting {
namespace {

constexpr float kPitch = 18.0F;                          // from one token to the next
constexpr float kBetween = 320.0F, kMinBetween = 60.0F;  // of the lines
constexpr float kMaxLabel = 180.0F;
constexpr float kGap = 6.0F;  // between a label and its lines
constexpr float kLineWidth = 1.6F;
constexpr std::size_t kMaxTokensPerSide = 2000;

class LinesDrawing final : public FigureDrawing<LinesFigure> {
 public:
  explicit LinesDrawing(LinesFigure shown)
      : FigureDrawing(std::move(shown)),
        query_width_(widest(figure_.queries, figure_.query_title)),
        key_width_(widest(figure_.keys, figure_.key_title)),
        width_(width()),
        legend_top_(lay_out_titles(width_ - 2.0F * margin_)) {
    const LinesFigure& figure = figure_;
    const std::size_t tokens = std::max(figure.queries.size(), figure.keys.size());
    check_lines(figure.queries.size(), figure.keys.size());
    for (const LinesFigure::Line& line : figure.lines) {
      if (line.query >= figure.queries.size() || line.key >= figure.keys.size()) {
        throw Error("a line joins query {} and key {}, which the figure lacks", line.query, line.key);
      }
    }
    std::vector<ColorLegend::Entry> heads;
    for (const std::uint32_t head : figure.heads)
      heads.push_back({figure.is_difference ? paper_.muted : chart::head_color(head), fmt::format("head {}", head)});
    if (figure.style.parts.legend) legend_ = ColorLegend(std::move(heads), width_ - 2.0F * margin_, metrics_);
    names_y_ = legend_top_ + legend_.height() + (legend_.height() > 0.0F ? kGap : 0.0F);
    first_y_ = names_y_ + (figure.style.parts.labels ? kPitch : 0.0F);
    size_ = {width_, first_y_ + static_cast<float>(tokens) * kPitch + margin_};
  }

  void draw_content(Canvas& canvas) const override {
    legend_.draw(canvas, {margin_, legend_top_}, paper_);
    for (const LinesFigure::Line& line : figure_.lines) {
      canvas.line({query_x() + kGap, y_of(line.query)}, {key_x() - kGap, y_of(line.key)},
                  mixed(paper_.ground, figure_.is_difference ? sign_color(line.weight) : chart::head_color(line.head),
                        line_opacity(line.weight)),
                  kLineWidth);
    }
    if (!figure_.style.parts.labels) return;
    draw_column(canvas, figure_.queries, figure_.query_title, query_x(), TextAlign::End, query_width_);
    draw_column(canvas, figure_.keys, figure_.key_title, key_x(), TextAlign::Start, key_width_);
  }

 private:
  float widest(const std::vector<std::string>& tokens, const std::string& title) const {
    if (!figure_.style.parts.labels) return 0.0F;
    float width = metrics_.width(title, kTextSize, true);
    for (const std::string& token : tokens) width = std::max(width, metrics_.width(printable(token), kTextSize));
    return std::min(std::ceil(width), label_room(kMaxLabel));
  }

  /// The chosen one, or with room for the lines.
  float width() const {
    const float labels = 2.0F * margin_ + query_width_ + key_width_ + 2.0F * kGap,
                chosen = is_of_width() ? figure_.style.width : figure_.style.map_edge;
    return std::max(labels + kMinBetween, chosen > 0.0F ? chosen : labels + kBetween);
  }
  float query_x() const { return margin_ + query_width_; }
  float key_x() const { return width_ - margin_ - key_width_; }
  float y_of(std::uint32_t token) const { return first_y_ + (static_cast<float>(token) + 0.5F) * kPitch; }
  void draw_column(Canvas& canvas, const std::vector<std::string>& tokens, const std::string& title, float x,
                   TextAlign align, float width) const {
    canvas.text({x, names_y_ + kPitch * 0.5F + kHalfCapital * kTextSize}, title,
                {.size = kTextSize, .is_bold = true, .color = paper_.ink, .align = align});
    for (std::uint32_t token = 0; token < tokens.size(); ++token) {
      const std::string text = chart::shorten(printable(tokens[token]), width, metrics_.measure(kTextSize));
      write(canvas, {x, y_of(token)}, text, paper_.ink, align);
    }
  }

  float query_width_, key_width_, width_, legend_top_;
  ColorLegend legend_;
  float names_y_ = 0.0F, first_y_ = 0.0F;
};

}  // namespace

Rgb sign_color(float change) { return chart::color(chart::ColorMap::BlueRed, change < 0.0F ? 0.2F : 0.8F); }

float line_opacity(float value) { return std::sqrt(std::clamp(std::abs(value), 0.0F, 1.0F)); }

void check_lines(std::size_t queries, std::size_t keys) {
  const std::size_t tokens = std::max(queries, keys);
  if (tokens > kMaxTokensPerSide)
    throw Error("a figure of lines has at most {} tokens a side, not {}", kMaxTokensPerSide, tokens);
}

std::unique_ptr<Drawing> make_drawing(LinesFigure figure) { return std::make_unique<LinesDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
