#include "core/error.h"
#include "export/heatmap_painter.h"

namespace headlight::exporting {
namespace {

constexpr float kPanelEdge = 150.0F;
constexpr float kPanelTitle = 18.0F;
constexpr float kPanelGap = 18.0F, kNarrowGap = 8.0F;  // the latter where the width is chosen
constexpr float kMinPanelHeight = 24.0F;
constexpr float kMinValue = 4.0F;  // of a panel's short side
constexpr float kBarGap = 24.0F;
constexpr float kMaxBar = 640.0F;
constexpr float kNarrowPanelWidth = 70.0F, kBarRoom = 95.0F;  // in a chosen width, where nothing says how many are in a row

// Panels per row: near a square, with few empty cells in the last row.
std::size_t panels_across(std::size_t count) {
  if (count <= 4) return count;
  const auto square = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  std::size_t best = square, fewest_empty = count;
  for (std::size_t across = square; across <= square + 2; ++across) {
    const std::size_t empty = (count + across - 1) / across * across - count;
    if (empty < fewest_empty) {
      best = across;
      fewest_empty = empty;
    }
  }
  return best;
}

// Steps of half a unit: whole pixels at the default scale.
float cell_edge(std::uint32_t values, std::size_t across, float chosen, float gap) {
  if (chosen <= 0.0F) return std::max(0.5F, std::floor(2.0F * kPanelEdge / static_cast<float>(values)) / 2.0F);
  const float panel = (chosen - gap * static_cast<float>(across - 1)) / static_cast<float>(across);
  return std::max(panel, kMinPanelHeight) / static_cast<float>(values);
}

/// Panels row by row in a grid, one colour bar.
class ContactSheetDrawing final : public FigureDrawing<ContactSheet> {
 public:
  /// Throws Error when there is no panel, panels differ in size or values don't fill one.
  ContactSheetDrawing(ContactSheet shown, std::uint32_t max_values) : FigureDrawing(std::move(shown)) {
    const ContactSheet& sheet = figure_;
    if (sheet.panels.empty()) throw Error("a contact sheet needs at least one head");
    across_ = sheet.across > 0 ? std::min(sheet.across, sheet.panels.size()) : panels_across(sheet.panels.size());
    if (sheet.across == 0 && is_of_width()) {
      const float room = sheet.style.width - (sheet.style.parts.bar ? kBarRoom : 0.0F);
      across_ = std::clamp<std::size_t>(static_cast<std::size_t>(room / kNarrowPanelWidth), 1, across_);
    }
    const auto share = static_cast<std::uint32_t>(sheet.style.map_edge > 0.0F ? across_ : 1);
    const auto panel_values = std::max(std::min(max_values / share, static_cast<std::uint32_t>(2.0F * kPanelEdge)), 1U);
    for (const ContactSheet::Panel& panel : sheet.panels) {
      check(panel.map);
      if (panel.map.rows != sheet.panels[0].map.rows || panel.map.columns != sheet.panels[0].map.columns) {
        throw Error("the maps of a contact sheet must have one size: {} × {} and {} × {} differ", sheet.panels[0].map.rows,
                    sheet.panels[0].map.columns, panel.map.rows, panel.map.columns);
      }
      const chart::ValueScale scale = scale_of(panel.map, sheet.style);
      scale_ = maps_.empty() ? scale : chart::join(scale_, scale);
      maps_.push_back(pooled(panel.map, panel_values));
    }
    const FigureMap& first = maps_[0];
    const float edge = cell_edge(std::max(first.value_rows(), first.value_columns()), across_, sheet.style.map_edge, gap_);
    const glm::vec2 counts(first.value_columns(), first.value_rows());
    // The few rows of a long map can be told apart.
    const float longest = edge * std::max(counts.x, counts.y);
    const glm::vec2 least =
        glm::max(glm::vec2(0.0F, kMinPanelHeight) / counts, glm::min(glm::vec2(kMinValue), longest * 0.25F / counts));
    const glm::vec2 value = glm::max(glm::vec2(edge), least);
    grid_ = {.area = {.origin = {}, .size = value * glm::vec2(first.value_columns(), first.value_rows())}, .value = value};
    panel_width_ = grid_.area.size.x;
    for (const ContactSheet::Panel& panel : sheet.panels) {
      panel_width_ = std::ceil(std::max(panel_width_, metrics_.width(printable(panel.title), kTextSize)));
    }
    const auto columns = static_cast<float>(across_), rows = std::ceil(static_cast<float>(maps_.size()) / columns);
    const float panels_height = rows * (kPanelTitle + grid_.area.size.y) + (rows - 1) * gap_;
    bar_.emplace(scale_, sheet.style, sheet.value_title, std::min(panels_height - kPanelTitle, kMaxBar), metrics_);
    const float panels_right = margin_ + columns * panel_width_ + (columns - 1) * gap_;
    const FigureParts& parts = sheet.style.parts;
    const float bar = parts.bar ? kBarGap + bar_->width() : 0.0F;
    const float content = std::max(panels_right + bar - margin_, parts.title || parts.settings ? title_room(360.0F) : 0.0F);
    origin_ = {margin_, std::ceil(lay_out_titles(content))};
    std::string remark = fmt::format("Rows: {} · columns: {}. {}", printable(sheet.row_title), printable(sheet.column_title),
                                     pooling_note(first));
    const auto odd = std::ranges::find_if(maps_, [](const FigureMap& map) { return !odd_cells_note(map).empty(); });
    if (odd != maps_.end()) remark += (remark.ends_with(' ') ? "" : " ") + odd_cells_note(*odd);
    const bool is_hatched = std::any_of(maps_.begin(), maps_.end(), has_masked);
    legend_.emplace(is_hatched && parts.legend ? printable(sheet.masked_title) : "", parts.legend ? remark : "", content,
                    metrics_);

    size_ = {std::ceil(margin_ + std::max(content, titles_->width()) + margin_),
             std::ceil(origin_.y + std::max(panels_height, kPanelTitle + (parts.bar ? bar_->height() : 0.0F)) +
                       legend_->height() + margin_)};
  }

 private:
  /// Returns the upper left corner of the panel's map.
  glm::vec2 panel_corner(std::size_t index) const {
    const glm::vec2 pitch(panel_width_ + gap_, kPanelTitle + grid_.area.size.y + gap_);
    return glm::round(origin_ + glm::vec2(index % across_, index / across_) * pitch + glm::vec2(0.0F, kPanelTitle));
  }

  void draw_content(Canvas& canvas) const override {
    for (std::size_t i = 0; i < maps_.size(); ++i) {
      const glm::vec2 corner = panel_corner(i);
      CellGrid grid = grid_;
      grid.area.origin = corner;
      if (figure_.style.parts.labels) {
        canvas.text({corner.x, corner.y - 6.0F}, printable(figure_.panels[i].title),
                    {.size = kTextSize, .color = paper_.ink});
      }
      paint_cells(canvas, maps_[i], grid, scale_, figure_.style, paper_);
    }
    const glm::vec2 last = panel_corner(across_ - 1);
    if (figure_.style.parts.bar) bar_->draw(canvas, {last.x + panel_width_ + kBarGap, origin_.y + kPanelTitle}, paper_);
    legend_->draw(canvas, {margin_, size_.y - margin_ - legend_->height()}, paper_);
  }

  std::vector<FigureMap> maps_;
  chart::ValueScale scale_;
  float gap_ = is_of_width() ? kNarrowGap : kPanelGap;
  CellGrid grid_;             ///< of one panel, at the origin
  float panel_width_ = 0.0F;  ///< of the map or its title, whichever is wider
  std::size_t across_ = 1;
  glm::vec2 origin_{0.0F};
  std::optional<ColorBar> bar_;
  std::optional<Legend> legend_;
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(ContactSheet sheet, DrawingFormat format) {
  const std::uint32_t values = max_values(sheet.style, format);
  return std::make_unique<ContactSheetDrawing>(std::move(sheet), values);
}

}  // namespace headlight::exporting
