#include "app/views/heads/head_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "app/analyses/head_metric_text.h"
#include "app/shell/click_area.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/ink.h"
#include "app/widgets/label_text.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;
using evaluation::kHeadMetrics;

constexpr float kPin = 26.0F;
constexpr float kName = 72.0F;
constexpr float kLeastColumn = 62.0F;
constexpr float kMostColumn = 150.0F;
constexpr float kRow = 24.0F;
constexpr float kHeader = 26.0F;

/// The value of a full bar, for each metric: 1 for shares, else the largest of all heads.
std::array<double, kHeadMetrics> full_bars(const ShownMetrics& metrics, const evaluation::PatternScoring& scoring) {
  std::array<double, kHeadMetrics> full{};
  full.fill(1.0);
  if (!metrics.found) return full;
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    if (text_of(metric).is_share) continue;
    const std::optional<HeadRef> best = best_head(*metrics.found, metric, scoring);
    if (best) full[i] = std::max(metrics.of(*best)->value(metric, scoring).value_or(1.0), 1e-9);
  }
  return full;
}

class TablePainter {
 public:
  TablePainter(Frame& frame, const ShownMetrics& metrics, float column)
      : frame_(frame), metrics_(metrics), column_(column), full_(full_bars(metrics, frame.state.heads.scoring)) {}

  void draw_header() {
    const ImVec2 start = ImGui::GetCursorScreenPos();
    HeadChoices& choices = frame_.state.heads;
    draw_title("head", "heads.order.head", "Orders by layer and head.", start.x + kPin, kName, !choices.order);
    if (was_clicked_) choices.order.reset();
    for (std::size_t i = 0; i < kHeadMetrics; ++i) {
      const auto metric = static_cast<HeadMetric>(i);
      const bool is_chosen = choices.order == metric;
      draw_title(text_of(metric).title, fmt::format("heads.order.{}", i), text_of(metric).help, column_x(start.x, i),
                 column_, is_chosen);
      if (!was_clicked_) continue;
      choices.lowest_first = is_chosen && !choices.lowest_first;
      choices.order = metric;
    }
    ImGui::SetCursorScreenPos(start);
    ImGui::Dummy({width(), kHeader});
  }

  /// Returns whether the pointer is on it.
  bool draw_row(const HeadRef& head, float y) {
    const shell::Theme& theme = frame_.ui.theme();
    const Selection& selection = frame_.state.selection;
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float left = ImGui::GetCursorScreenPos().x;
    const std::string name = fmt::format("heads.row.{}.{}", head.block.layer.value, head.head);
    ImGui::SetCursorScreenPos({left + kPin, y});
    if (click_area(name.c_str(), {width() - kPin, kRow})) {
      select_head(frame_.state.selection, head.block, head.head);
    }
    const bool is_hovered = ImGui::IsItemHovered();
    frame_.mark(name, last_item_rect());
    const bool is_opened = is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    const bool is_selected = selection.block == head.block && selection.head == head.head;
    if (is_selected || is_hovered) {
      list->AddRectFilled({left, y}, {left + width(), y + kRow}, is_selected ? theme.active : theme.hover, 3.0F);
    }
    draw_pin(head, {left, y});
    ImFont* font = is_selected ? frame_.ui.fonts().strong : frame_.ui.fonts().body;
    list->AddText(font, font_size(font), {left + kPin, text_y(font, y, kRow)}, theme.text, head_name(head).c_str());
    const evaluation::HeadMetrics* known = metrics_.of(head);
    for (std::size_t i = 0; i < kHeadMetrics; ++i) draw_cell(known, i, {column_x(left, i), y});
    if (is_hovered && known) point_at_metric(head, *known, left);
    if (is_opened) open_head(frame_, head);
    return is_hovered;
  }

  float width() const { return kPin + kName + static_cast<float>(kHeadMetrics) * column_; }

 private:
  float column_x(float left, std::size_t column) const { return left + kPin + kName + static_cast<float>(column) * column_; }
  static float text_y(const ImFont* font, float y, float height) {
    return std::round(y + (height - font_size(font)) * 0.5F);
  }

  /// Tells which number of the row is under the pointer.
  void point_at_metric(const HeadRef& head, const evaluation::HeadMetrics& known, float left) {
    const float across = ImGui::GetIO().MousePos.x - column_x(left, 0);
    if (across < 0.0F) return;
    const auto column = std::min(static_cast<std::size_t>(across / column_), kHeadMetrics - 1);
    frame_.transient.pointed_number =
        number_of(head, frame_.state.selection.batch, static_cast<HeadMetric>(column), known, frame_.state.heads.scoring);
  }

  /// Sets `was_clicked_`.
  void draw_title(const char* title, const std::string& name, const char* help, float x, float room, bool is_chosen) {
    const shell::Theme& theme = frame_.ui.theme();
    const float y = ImGui::GetCursorScreenPos().y;
    ImFont* font = frame_.ui.fonts().small;
    ImGui::SetCursorScreenPos({x, y});
    was_clicked_ = click_area(name.c_str(), {room, kHeader});
    const bool is_hovered = ImGui::IsItemHovered();
    mark_last_item(frame_, name, help);
    const bool is_metric = is_chosen && frame_.state.heads.order.has_value();
    const std::string text =
        is_metric ? fmt::format("{} {}", title, frame_.state.heads.lowest_first ? "\u2191" : "\u2193") : title;
    ImGui::GetWindowDrawList()->AddText(font, font_size(font), {x, text_y(font, y, kHeader)},
                                        is_chosen    ? theme.accent
                                        : is_hovered ? theme.text
                                                     : theme.text_dim,
                                        fit_text(font, text, room - 2.0F).c_str());
    ImGui::SetCursorScreenPos({x, y});
  }

  void draw_pin(const HeadRef& head, ImVec2 at) {
    const shell::Theme& theme = frame_.ui.theme();
    const std::string name = fmt::format("heads.pin.{}.{}", head.block.layer.value, head.head);
    ImGui::SetCursorScreenPos(at);
    if (click_area(name.c_str(), {kPin, kRow})) toggle_pin(frame_.state.heads, head);
    const bool is_hovered = ImGui::IsItemHovered();
    mark_last_item(frame_, name, "Pins the head, or unpins it: pinned heads can be shown alone.");
    const ImVec2 center(at.x + kPin * 0.45F, at.y + kRow * 0.5F);
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (is_pinned(frame_.state.heads, head)) {
      list->AddCircleFilled(center, 4.5F, theme.accent);
    } else {
      list->AddCircle(center, 4.5F, is_hovered ? theme.text : theme.border, 0, 1.5F);
    }
  }

  void draw_cell(const evaluation::HeadMetrics* known, std::size_t column, ImVec2 at) {
    const shell::Theme& theme = frame_.ui.theme();
    const HeadMetricText& text = text_of(static_cast<HeadMetric>(column));
    const auto metric = static_cast<HeadMetric>(column);
    const std::optional<double> value = known ? known->value(metric, frame_.state.heads.scoring) : std::nullopt;
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (value) {
      const auto share = static_cast<float>(std::clamp(*value / full_[column], 0.0, 1.0));
      const float room = column_ - 10.0F;
      list->AddRectFilled({at.x, at.y + 3.0F}, {at.x + std::max(std::round(room * share), 1.0F), at.y + kRow - 3.0F},
                          theme.output_fill, 2.0F);
    }
    ImFont* font = frame_.ui.fonts().mono;
    const bool is_clear = value && text.threshold && *value >= *text.threshold;
    list->AddText(font, font_size(font), {at.x + 5.0F, text_y(font, at.y, kRow)}, is_clear ? theme.text : theme.text_dim,
                  metric_number(metric, value).c_str());
  }

  Frame& frame_;
  const ShownMetrics& metrics_;
  float column_;
  std::array<double, kHeadMetrics> full_;
  bool was_clicked_ = false;
};

}  // namespace

std::optional<HeadRef> HeadTable::draw(Frame& frame, const std::vector<HeadRef>& heads, const ShownMetrics& metrics) {
  const Selection& selection = frame.state.selection;
  const HeadRef selected{.block = selection.block, .head = selection.head};
  const bool is_moved = selected_ && *selected_ != selected;
  selected_ = selected;
  const float room = ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize;
  const float column =
      std::floor(std::clamp((room - kPin - kName) / static_cast<float>(kHeadMetrics), kLeastColumn, kMostColumn));
  TablePainter painter(frame, metrics, column);
  std::optional<HeadRef> hovered;
  const bool is_wide = painter.width() > room;
  ImGui::BeginChild("table", {0.0F, 0.0F}, false, is_wide ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None);
  painter.draw_header();
  ImGui::BeginChild("rows", {std::max(painter.width() + ImGui::GetStyle().ScrollbarSize, 1.0F), 0.0F});
  const auto at = static_cast<std::size_t>(std::ranges::find(heads, selected) - heads.begin());
  if ((is_moved || std::exchange(reveals_, false)) && at < heads.size()) {
    const float top = static_cast<float>(at) * kRow, height = ImGui::GetWindowHeight();
    if (top < ImGui::GetScrollY()) ImGui::SetScrollY(top);
    if (top + kRow > ImGui::GetScrollY() + height) ImGui::SetScrollY(top + kRow - height);
  }
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const auto first = static_cast<std::size_t>(std::max(ImGui::GetScrollY() / kRow, 0.0F));
  const auto end = static_cast<std::size_t>((ImGui::GetScrollY() + ImGui::GetWindowHeight()) / kRow) + 1;
  for (std::size_t row = first; row < std::min(end, heads.size()); ++row) {
    ImGui::SetCursorScreenPos(origin);
    if (painter.draw_row(heads[row], origin.y + static_cast<float>(row) * kRow)) hovered = heads[row];
  }
  selected_ =
      HeadRef{.block = selection.block, .head = selection.head};  // a clicked row stays where it is, for a double click
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy({1.0F, static_cast<float>(heads.size()) * kRow});
  ImGui::EndChild();
  ImGui::EndChild();
  return hovered;
}

std::string head_table_csv(const std::vector<HeadRef>& heads, const HeadMetricsFound& found,
                           const evaluation::PatternScoring& scoring) {
  std::string csv = "kind,layer,head";
  for (std::size_t i = 0; i < kHeadMetrics; ++i) csv += fmt::format(",{}", text_of(static_cast<HeadMetric>(i)).title);
  for (const HeadRef& head : heads) {
    csv += fmt::format("\n{},{},{}", model::to_string(head.block.kind), head.block.layer.value, head.head);
    const evaluation::HeadMetrics* metrics = found.find(head);
    for (std::size_t i = 0; i < kHeadMetrics; ++i) {
      const std::optional<double> value = metrics ? metrics->value(static_cast<HeadMetric>(i), scoring) : std::nullopt;
      csv += value ? fmt::format(",{:.6f}", *value) : ",";
    }
  }
  return csv + '\n';
}

}  // namespace headlight::app
