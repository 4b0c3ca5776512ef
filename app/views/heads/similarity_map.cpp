#include "app/views/heads/similarity_map.h"

#include <numeric>

#include "app/engine/analyses/head_metric_text.h"
#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/range_bar.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kKey = 0x68656164'73696d69U;  // of the image: "headsimi"
constexpr float kGutter = 52.0F;                      // of the rows' names
constexpr float kTop = 6.0F;                          // above: half a name
constexpr float kBarRoom = 34.0F;                     // below: the colour bar with its numbers
constexpr float kMaxCell = 34.0F;
constexpr float kMinDivergence = 1e-4F;  // bits: the colours of differences reach so far at least

/// Names of rows, as many as have room.
void draw_names(const Frame& frame, const HeadSimilarity& found, const std::vector<std::uint32_t>& order,
                const chart::Rect& area) {
  ImFont* font = frame.ui.fonts().small;
  const float cell = area.size.y / static_cast<float>(order.size());
  const auto step = static_cast<std::size_t>(std::max(std::ceil(font_size(font) / cell), 1.0F));
  for (std::size_t row = 0; row < order.size(); row += step) {
    const std::string name = head_name(found.heads[order[row]]);
    const float y = area.origin.y + (static_cast<float>(row) + 0.5F) * cell - font_size(font) * 0.5F;
    ImGui::GetWindowDrawList()->AddText(font, font_size(font),
                                        {area.origin.x - text_width(font, name) - 6.0F, std::round(y)},
                                        frame.ui.theme().text_dim, name.c_str());
  }
}

}  // namespace

SimilarityMap::Found SimilarityMap::shown() const {
  Found found;
  found.now = dynamic_cast<const HeadSimilarity*>(result_.get());
  found.baseline = dynamic_cast<const HeadSimilarity*>(baseline_.get());
  return found;
}

void SimilarityMap::show(const Found& found, bool is_grouped) {
  const std::shared_ptr<const AnalysisResult> baseline = found.of_baseline ? found.of_baseline->result : nullptr;
  if (result_ == found.answer->result && baseline_ == baseline && is_grouped_ == is_grouped) return;
  result_ = found.answer->result;
  baseline_ = baseline;
  is_grouped_ = is_grouped;
  ++revision_;
  order_ = found.now->order;
  if (!is_grouped || order_.empty()) {
    order_.resize(found.now->heads.size());
    std::iota(order_.begin(), order_.end(), 0U);
  }
  values_.clear();
  values_.reserve(order_.size() * order_.size());
  largest_ = 0.0F;
  for (const std::uint32_t row : order_) {
    for (const std::uint32_t column : order_) {
      values_.push_back(static_cast<float>(divergence(found, row, column).shown()));
      if (std::isfinite(values_.back())) largest_ = std::max(largest_, std::abs(values_.back()));
    }
  }
}

Grid SimilarityMap::matrix() const {
  const Found found = shown();
  Grid matrix{.title = found.baseline ? "difference, bits, change" : "difference, bits",
              .is_signed = found.baseline != nullptr};
  matrix.rows.title = matrix.columns.title = "head";
  for (std::size_t row = 0; row < order_.size(); ++row) {
    matrix.rows.tokens.push_back(head_name(found.now->heads[order_[row]]));
    const auto first = values_.begin() + static_cast<std::ptrdiff_t>(row * order_.size());
    matrix.cells.emplace_back(first, first + static_cast<std::ptrdiff_t>(order_.size()));
  }
  matrix.columns.tokens = matrix.rows.tokens;
  return matrix;
}

SimilarityMap::Pointed SimilarityMap::draw(Frame& frame, std::optional<std::uint32_t> selected) const {
  Pointed pointed;
  const Found shown_heads = shown();
  const HeadSimilarity& found = *shown_heads.now;
  const glm::vec2 room = region_left();
  const auto count = static_cast<std::uint32_t>(order_.size());
  const float edge =
      std::max(std::min({room.x - kGutter, room.y - kTop - kBarRoom, kMaxCell * static_cast<float>(count)}), 40.0F);
  shell::HeatmapImage image;
  shell::use_theme(image, frame.ui.theme());
  image.key = kKey;
  image.revision = revision_;
  image.rows = image.columns = count;
  image.values = values_;
  if (shown_heads.baseline) {
    set_difference_colors(image, frame.ui.theme(), {.low = -largest_, .high = largest_}, kMinDivergence);
  } else {
    image.color_map = weight_colors(frame.state);
    image.high = std::max(largest_, 1e-6F);
  }
  image.area = {.origin = cursor_position() + glm::vec2(kGutter, kTop), .size = glm::vec2(edge)};
  if (selected) {
    const auto at = static_cast<std::uint32_t>(std::ranges::find(order_, *selected) - order_.begin());
    if (at < count) image.crosshair_row = image.crosshair_column = at;
  }
  const ImVec2 start = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos(to_imgui(image.area.origin));
  // Ctrl and a click ask where the number is from.
  const bool is_clicked = click_area("similar", to_imgui(image.area.size)) && !ImGui::GetIO().KeyCtrl;
  const bool is_hovered = ImGui::IsItemHovered();
  const std::optional<chart::CellPosition> cell =
      is_hovered ? shell::HeatmapRenderer::cell_at(image, pointer_position()) : std::nullopt;
  std::string about =
      "How much the attention of every two heads differs. Click: selects the row's head. Double click: opens it.";
  if (cell) {
    const std::uint32_t row = order_[cell->row], column = order_[cell->column];
    const Compared<double> both = divergence(shown_heads, row, column);
    const std::string compared = both.baseline ? fmt::format(", {:.4f} in the baseline, {} {:+.4f}", *both.baseline,
                                                             difference_caption(frame.state), both.shown())
                                               : "";
    about = fmt::format("{} and {}: {:.4f} bits{}. Click: selects {}. Double click: opens it.", head_name(found.heads[row]),
                        head_name(found.heads[column]), both.now, compared, head_name(found.heads[row]));
    pointed.hovered = {row, column};
    if (is_clicked) pointed.clicked = row;
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) {
      pointed.clicked = row;
      pointed.is_opened = true;
    }
  }
  mark_pointer_item(frame, "heads.similar.map", about.c_str());
  draw_heatmap(frame, image);
  draw_names(frame, found, order_, image.area);
  draw_small_color_bar(
      frame, {.origin = {image.area.origin.x, image.area.end().y + 8.0F}, .size = {std::min(edge, 160.0F), 8.0F}}, image);
  ImGui::SetCursorScreenPos(start);
  ImGui::Dummy({kGutter + edge, kTop + edge + kBarRoom});
  return pointed;
}

}  // namespace headlight::app
