#include "app/shapes/table_figure.h"

#include "core/error.h"
#include "export/figure_frame.h"

namespace headlight::app {
namespace {

constexpr std::size_t kMostDrawnRows = 500;
constexpr float kLeastTitle = 240.0F;

class TableDrawing final : public exporting::FigureDrawing<TableFigure> {
 public:
  explicit TableDrawing(TableFigure shown)
      : FigureDrawing(std::move(shown)),
        layout_(figure_.table, {.width = [this](TableFont font, std::string_view text) { return width(font, text); },
                                .room = std::max(figure_.style.width - 2.0F * margin_, 0.0F),
                                .line = 20.0F,
                                .second = 14.0F,
                                .least = 44.0F}) {
    top_ = lay_out_titles(title_room(std::max(layout_.width(), kLeastTitle)));
    const float height = layout_.header_height() + layout_.row_height() * static_cast<float>(figure_.rows.size());
    size_ = glm::vec2(std::max(layout_.width(), titles_->width()) + margin_, top_ + height) + margin_;
  }

  void draw_content(exporting::Canvas& canvas) const override {
    glm::vec2 at = {margin_, top_};
    paint(canvas, at, layout_.header(figure_.order));
    at.y += layout_.header_height();
    canvas.line({at.x, at.y - 2.0F}, {at.x + layout_.width(), at.y - 2.0F}, paper_.outline, 0.5F);
    for (const std::size_t row : figure_.rows) {
      paint(canvas, at, layout_.row(row));
      at.y += layout_.row_height();
    }
  }

 private:
  static float size_of(TableFont font) { return font == TableFont::Small ? 9.0F : exporting::kTextSize; }
  float width(TableFont font, std::string_view text) const {
    return metrics_.width(text, size_of(font), font == TableFont::Strong);
  }

  void paint(exporting::Canvas& canvas, glm::vec2 origin, const std::vector<TableItem>& items) const {
    const exporting::Rgb less = exporting::sign_color(-1.0F), more = exporting::sign_color(1.0F);
    const std::array<exporting::Rgb, kTableInks> inks = {paper_.ink, paper_.muted,   paper_.ink,   paper_.muted, less,
                                                         more,       paper_.outline, paper_.blank, paper_.blank};
    for (const TableItem& item : items) {
      const exporting::Rgb ink = inks[static_cast<std::size_t>(item.ink)];
      const chart::Rect rect{.origin = origin + item.rect.origin, .size = item.rect.size};
      if (!item.text) {
        canvas.fill(rect, ink);
        continue;
      }
      const float size = size_of(item.font), baseline = rect.center().y + exporting::kHalfCapital * size;
      canvas.text({rect.origin.x, baseline}, *item.text,
                  {.size = size, .is_bold = item.font == TableFont::Strong, .color = ink});
    }
  }

  TableLayout layout_;
  float top_ = 0.0F;
};

}  // namespace

std::string in_words(const TableFigure& figure) { return in_words(figure.table, figure.rows); }

std::unique_ptr<exporting::Drawing> make_drawing(TableFigure figure) {
  if (figure.rows.empty()) throw Error("a figure of a table needs at least one row");
  if (figure.rows.size() > kMostDrawnRows) {
    throw Error("a figure of a table has at most {} rows, not {}: list fewer, or write CSV", kMostDrawnRows,
                figure.rows.size());
  }
  return std::make_unique<TableDrawing>(std::move(figure));
}

}  // namespace headlight::app
