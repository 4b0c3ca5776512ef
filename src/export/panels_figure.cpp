#include "export/figures.h"

#include "core/error.h"
#include "export/figure_frame.h"
#include "export/heatmap_figure.h"

namespace headlight::exporting {
namespace {

constexpr std::uint32_t kMaxValues = 512;  // along an edge of a panel
constexpr float kLargestPage = 8'000.0F;
constexpr float kNarrowPanel = 150.0F;  // panels of a page whose width is chosen are so wide at least

class PanelsDrawing final : public FigureDrawing<PanelsFigure> {
 public:
  explicit PanelsDrawing(PanelsFigure figure) : FigureDrawing(std::move(figure)) {
    if (figure_.panels.empty()) throw Error("a figure of several maps needs at least one");
    rows_ = row_counts();
    std::size_t in_row = 0, row = 0;
    for (HeatmapFigure& panel : figure_.panels) {
      // Each panel has its share of a chosen width, to which its title is wrapped.
      panel.style.width = std::floor(figure_.style.width / static_cast<float>(rows_[row]));
      if (is_of_width()) {  // the panel's title says what the bar's does
        if (panel.value_title.starts_with(panel.title)) panel.title = panel.value_title;
        panel.value_title.clear();
      }
      if (++in_row == rows_[row]) {
        in_row = 0;
        ++row;
      }
      panel.style.is_dark = figure_.style.is_dark;
      panel.style.is_transparent = figure_.style.is_transparent;
      panel.style.font = figure_.style.font;
      drawings_.push_back(std::make_unique<HeatmapDrawing>(panel, kMaxValues));
    }
    const glm::vec2 panels = place_panels();
    const float below = lay_out_titles(std::max(panels.x - 2.0F * margin_, title_room(200.0F)));
    const float top = below > margin_ ? below - 8.0F : 0.0F;
    for (std::size_t i = 0; i < drawings_.size(); ++i) drawings_[i]->move_by(corners_[i] + glm::vec2(0.0F, top));
    size_ = {std::ceil(std::max(panels.x, titles_->width() + 2.0F * margin_)), std::ceil(top + panels.y)};
    if (size_.x > kLargestPage || size_.y > kLargestPage)
      throw Error("the maps are too many for one figure; export them singly");
  }

  void draw_content(Canvas& canvas) const override {
    for (const std::unique_ptr<HeatmapDrawing>& panel : drawings_) panel->draw(canvas);
  }

 private:
  /// Returns the number of panels in each row.
  std::vector<std::size_t> row_counts() const {
    const auto room = static_cast<std::size_t>(is_of_width() ? figure_.style.width / kNarrowPanel : kLargestPage);
    std::vector<std::size_t> rows;
    const auto add = [&rows](std::size_t count, std::size_t across) {
      for (; count > 0; count -= rows.back()) rows.push_back(std::clamp<std::size_t>(across, 1, count));
    };
    for (const std::size_t count : figure_.rows) add(count, std::min(count, room));
    if (rows.empty()) add(figure_.panels.size(), std::min(figure_.across, room));
    return rows;
  }

  /// Places panels beside each other, those of a row with their tops at one height. Returns the size of all.
  glm::vec2 place_panels() {
    glm::vec2 all(0.0F);
    for (const std::size_t count : rows_) {
      glm::vec2 row(0.0F);
      for (std::size_t i = 0; i < count; ++i) {
        const Drawing& panel = *drawings_.at(corners_.size());
        corners_.emplace_back(row.x, all.y);
        row = {row.x + panel.size().x, std::max(row.y, panel.size().y)};
      }
      all = {std::max(all.x, row.x), all.y + row.y};
    }
    return all;
  }

  std::vector<std::unique_ptr<HeatmapDrawing>> drawings_;
  std::vector<std::size_t> rows_;   ///< panels of each row
  std::vector<glm::vec2> corners_;  ///< of the panels below title and settings
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(PanelsFigure figure) { return std::make_unique<PanelsDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
