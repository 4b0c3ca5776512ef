#include "app/views/heads/head_table.h"

#include "app/analyses/head_metric_text.h"
#include "app/shell/click_area.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {
namespace {

using evaluation::HeadMetric;
using evaluation::kHeadMetrics;

constexpr float kPin = 26.0F;
constexpr float kName = 72.0F;
constexpr float kMinColumn = 48.0F;    // a number; a title that is wider has its whole width
constexpr float kMinCompared = 62.0F;  // "was 0.55"
constexpr float kMaxColumn = 150.0F;
constexpr float kRow = 24.0F;
constexpr float kComparedRow = 40.0F;  // two lines: the change, and below it both numbers
constexpr float kHeader = 26.0F;

/// The value of a full bar, for each metric: 1 for shares, else the largest of all heads.
std::array<double, kHeadMetrics> full_bars(const ShownMetrics& metrics) {
  std::array<double, kHeadMetrics> full{};
  full.fill(1.0);
  if (!metrics.found) return full;
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const auto metric = static_cast<HeadMetric>(i);
    if (text_of(metric).is_share) continue;
    const std::optional<HeadRef> best = best_head(*metrics.found, metric);
    if (best) full[i] = std::max(metrics.of(*best)->value(metric).value_or(1.0), 1e-9);
  }
  return full;
}

/// The change of a full bar, for each metric: the largest of all heads, of shares at least this much.
std::array<double, kHeadMetrics> full_changes(const ComparedMetrics& metrics, const std::vector<HeadRef>& heads,
                                              const evaluation::PatternScoring& scoring) {
  constexpr double kMinChange = 0.05;
  std::array<double, kHeadMetrics> full{};
  full.fill(kMinChange);
  for (const HeadRef& head : heads) {
    for (std::size_t i = 0; i < kHeadMetrics; ++i) {
      const std::optional<double> change = metrics.change(head, static_cast<HeadMetric>(i), scoring);
      if (change && std::isfinite(*change)) full[i] = std::max(full[i], std::abs(*change));
    }
  }
  return full;
}

/// "+0.67", "\u22120.1" of tokens, "0.00"; "\u2013" where it isn't defined in both runs.
std::string change_number(HeadMetric metric, std::optional<double> change) {
  if (!change) return "\u2013";
  const double unit = metric == HeadMetric::Distance ? 10.0 : 100.0;
  const double rounded = std::round(*change * unit) / unit;
  if (rounded == 0.0) return metric_number(metric, 0.0);
  return (rounded > 0.0 ? "+" : "\u2212") + metric_number(metric, std::abs(rounded));
}

/// Left edges of the metrics' columns and the last one's right edge, from the first column on. Every title is whole; what is
/// left of the room is shared out.
using ColumnEdges = std::array<float, kHeadMetrics + 1>;
ColumnEdges column_edges(const Frame& frame, float least, float room) {
  std::array<float, kHeadMetrics> widths{};
  float all = 0.0F;
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const std::string title = metric_title(static_cast<HeadMetric>(i), frame.state.heads.scoring) + "\u2193";
    widths[i] = std::max(std::ceil(text_width(frame.ui.fonts().small, title)) + 4.0F, least);
    all += widths[i];
  }
  const float spare = std::floor(std::max(room - all, 0.0F) / static_cast<float>(kHeadMetrics));
  ColumnEdges edges{};
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    edges[i + 1] = edges[i] + std::clamp(widths[i] + spare, widths[i], std::max(widths[i], kMaxColumn));
  }
  return edges;
}

class TablePainter {
 public:
  TablePainter(Frame& frame, const ComparedMetrics& metrics, const std::vector<HeadRef>& heads, const ColumnEdges& columns)
      : frame_(frame),
        metrics_(metrics),
        columns_(columns),
        row_(row_height(metrics)),
        full_(metrics.baseline ? full_changes(metrics, heads, frame.state.heads.scoring) : full_bars(metrics.now)) {}

  static float row_height(const ComparedMetrics& metrics) { return metrics.baseline ? kComparedRow : kRow; }

  void draw_header() {
    const shell::ControlGroup group(frame_.ui.keyboard(), "titles");
    const ImVec2 start = ImGui::GetCursorScreenPos();
    HeadChoices& choices = frame_.state.heads;
    draw_title("head", "heads.order.head", "Orders by layer and head.", start.x + kPin, kName, !choices.order);
    if (was_clicked_) choices.order.reset();
    for (std::size_t i = 0; i < kHeadMetrics; ++i) {
      const auto metric = static_cast<HeadMetric>(i);
      const bool is_chosen = choices.order == metric;
      const std::string help =
          metrics_.baseline
              ? fmt::format("Orders by how much this metric ({}) changed since the baseline, in either direction.",
                            metric_title(metric, choices.scoring))
              : std::string(text_of(metric).help);
      draw_title(metric_title(metric, choices.scoring), fmt::format("heads.order.{}", i), help.c_str(), column_x(start.x, i),
                 column_width(i), is_chosen);
      if (is_chosen) frame_.ui.keyboard().prefer_last();
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
    const float left = ImGui::GetCursorScreenPos().x;
    const std::string name = fmt::format("heads.row.{}.{}", head.block.layer.value, head.head);
    ImGui::SetCursorScreenPos({left + kPin, y});
    const bool was_selected = selection.block == head.block && selection.head == head.head;
    const bool is_clicked = click_area(name.c_str(), {width() - kPin, row_});
    if (is_clicked) select_head(frame_.state.selection, head.block, head.head);
    const bool is_hovered = ImGui::IsItemHovered();
    frame_.mark(name, last_item_rect());
    const bool is_double = is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    // A key has no double click: the selected row is opened.
    const bool is_opened = is_double || (is_clicked && was_selected && frame_.ui.keyboard().is_active());
    const bool is_selected = selection.block == head.block && selection.head == head.head;
    frame_.ui.keyboard().offer_last_item();
    if (is_selected) frame_.ui.keyboard().prefer_last();
    if (is_selected || is_hovered) {
      fill_rect({left, y}, {left + width(), y + row_}, is_selected ? theme.active : theme.hover, 3.0F);
    }
    draw_pin(head, {left, y});
    ImFont* font = is_selected ? frame_.ui.fonts().strong : frame_.ui.fonts().body;
    put_text(font, {left + kPin, text_y(font, y, row_)}, theme.text, head_name(head));
    const evaluation::HeadMetrics* known = metrics_.now.of(head);
    for (std::size_t i = 0; i < kHeadMetrics; ++i) {
      const ImVec2 at(column_x(left, i), y);
      metrics_.baseline ? draw_change(head, i, at) : draw_cell(known, i, at);
    }
    if (is_hovered && known) point_at_metric(head, *known, left);
    if (is_opened) open_head(frame_, head);
    return is_hovered;
  }

  float width() const { return kPin + kName + columns_.back(); }

 private:
  float column_x(float left, std::size_t column) const { return left + kPin + kName + columns_[column]; }
  float column_width(std::size_t column) const { return columns_[column + 1] - columns_[column]; }
  static float text_y(const ImFont* font, float y, float height) {
    return std::round(y + (height - font_size(font)) * 0.5F);
  }

  /// Tells which number of the row is under the pointer.
  void point_at_metric(const HeadRef& head, const evaluation::HeadMetrics& known, float left) {
    const float across = ImGui::GetIO().MousePos.x - column_x(left, 0);
    if (across < 0.0F) return;
    const auto next = std::ranges::upper_bound(columns_, across) - columns_.begin();
    const auto column = std::min(static_cast<std::size_t>(next - 1), kHeadMetrics - 1);
    const auto metric = static_cast<HeadMetric>(column);
    const evaluation::PatternScoring& scoring = frame_.state.heads.scoring;
    std::optional<NumberRef> number = number_of(head, frame_.state.selection.batch, metric, known, scoring);
    if (number)
      add_baseline(*number, {.now = number->value.value_or(0.0), .baseline = metrics_.both(head, metric, scoring).second});
    frame_.transient.pointed_number = std::move(number);
  }

  /// Sets `was_clicked_`.
  void draw_title(const std::string& title, const std::string& name, const char* help, float x, float room, bool is_chosen) {
    const shell::Theme& theme = frame_.ui.theme();
    const float y = ImGui::GetCursorScreenPos().y;
    ImFont* font = frame_.ui.fonts().small;
    ImGui::SetCursorScreenPos({x, y});
    was_clicked_ = click_area(name.c_str(), {room, kHeader});
    const bool is_hovered = ImGui::IsItemHovered();
    mark_last_item(frame_, name, help);
    const bool is_metric = is_chosen && frame_.state.heads.order.has_value();
    const std::string text =
        is_metric ? fmt::format("{}{}", title, frame_.state.heads.lowest_first ? "\u2191" : "\u2193") : title;
    put_text(font, {x, text_y(font, y, kHeader)},
             is_chosen    ? theme.accent
             : is_hovered ? theme.text
                          : theme.text_dim,
             fit_text(font, text, room - 2.0F));
    ImGui::SetCursorScreenPos({x, y});
  }

  void draw_pin(const HeadRef& head, ImVec2 at) {
    const shell::Theme& theme = frame_.ui.theme();
    const std::string name = fmt::format("heads.pin.{}.{}", head.block.layer.value, head.head);
    ImGui::SetCursorScreenPos(at);
    if (click_area(name.c_str(), {kPin, row_})) toggle_pin(frame_.state.heads, head);
    const bool is_hovered = ImGui::IsItemHovered();
    mark_last_item(frame_, name, "Pins the head, or unpins it: pinned heads can be shown alone.");
    const ImVec2 center(at.x + kPin * 0.45F, at.y + row_ * 0.5F);
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (is_pinned(frame_.state.heads, head)) {
      list->AddCircleFilled(center, 4.5F, theme.accent);
    } else {
      list->AddCircle(center, 4.5F, is_hovered ? theme.text : theme.text_dim, 0, 1.5F);
    }
  }

  void draw_cell(const evaluation::HeadMetrics* known, std::size_t column, ImVec2 at) {
    const shell::Theme& theme = frame_.ui.theme();
    const auto metric = static_cast<HeadMetric>(column);
    const std::optional<double> value = known ? known->value(metric, frame_.state.heads.scoring) : std::nullopt;
    if (value) {
      const auto share = static_cast<float>(std::clamp(*value / full_[column], 0.0, 1.0));
      const float room = column_width(column) - 10.0F;
      const float end = at.x + std::max(std::round(room * share), 2.0F);
      // Below the number: a bar behind it would end within a digit.
      fill_rect({at.x, at.y + kRow - 4.0F}, {end, at.y + kRow - 1.0F}, theme.output, 1.0F);
    }
    ImFont* font = frame_.ui.fonts().mono;
    const bool is_strong = known && is_clear(metric, *known);
    put_text(font, {at.x + 5.0F, text_y(font, at.y, kRow)}, is_strong ? theme.text : theme.text_dim,
             metric_number(metric, value));
  }

  /// The change as a bar from the middle, and below it the number in both runs.
  void draw_change(const HeadRef& head, std::size_t column, ImVec2 at) {
    const shell::Theme& theme = frame_.ui.theme();
    const auto metric = static_cast<HeadMetric>(column);
    const evaluation::PatternScoring& scoring = frame_.state.heads.scoring;
    const std::optional<double> change = metrics_.change(head, metric, scoring);
    const float room = column_width(column) - 10.0F, middle = at.x + std::round(room * 0.5F);
    if (change && std::isfinite(*change)) {
      const auto share = static_cast<float>(std::clamp(*change / full_[column], -1.0, 1.0));
      const float end = middle + std::round(room * 0.5F * share);
      const shell::Color color = shell::with_alpha(signed_colors()[*change < 0.0 ? 40 : 215], 150);
      if (end != middle) {
        fill_rect({std::min(middle, end), at.y + 3.0F}, {std::max(middle, end), at.y + kRow - 3.0F}, color, 2.0F);
      }
      draw_line({middle, at.y + 3.0F}, {middle, at.y + kRow - 3.0F}, theme.border);
    }
    ImFont* font = frame_.ui.fonts().mono;
    put_text(font, {at.x + 5.0F, text_y(font, at.y, kRow)}, change ? theme.text : theme.text_dim,
             change_number(metric, change));
    const auto [now, then] = metrics_.both(head, metric, scoring);
    ImFont* small = frame_.ui.fonts().small;
    const std::string before = metric_number(metric, then), after = metric_number(metric, now);
    // In narrow columns of the table only what it was: the change above it says the rest.
    const bool has_room = text_width(small, "8.88 \u2192 8.88") <= column_width(column) - 4.0F;
    const std::string both = has_room ? fmt::format("{} \u2192 {}", before, after) : fmt::format("was {}", before);
    put_text(small, {at.x + 5.0F, std::round(at.y + kRow - 4.0F)}, theme.text_dim,
             fit_text(small, both, column_width(column) - 4.0F));
  }

  Frame& frame_;
  const ComparedMetrics& metrics_;
  ColumnEdges columns_;
  float row_;
  std::array<double, kHeadMetrics> full_;
  bool was_clicked_ = false;
};

}  // namespace

std::pair<std::optional<double>, std::optional<double>> ComparedMetrics::both(
    const HeadRef& head, HeadMetric metric, const evaluation::PatternScoring& scoring) const {
  const auto value = [&](const evaluation::HeadMetrics* of) { return of ? of->value(metric, scoring) : std::nullopt; };
  return {value(now.of(head)), value(baseline ? baseline->find(head) : nullptr)};
}

std::optional<double> ComparedMetrics::change(const HeadRef& head, HeadMetric metric,
                                              const evaluation::PatternScoring& scoring) const {
  const auto [value, before] = both(head, metric, scoring);
  return value && before ? std::optional(*value - *before) : std::nullopt;
}

void sort_by_change(std::vector<HeadRef>& heads, const ComparedMetrics& metrics, const HeadChoices& choices) {
  if (!choices.order || !metrics.baseline) return;
  order_heads(heads, choices.lowest_first, [&](const HeadRef& head) {
    const std::optional<double> change = metrics.change(head, *choices.order, choices.scoring);
    return change ? std::optional(std::abs(*change)) : std::nullopt;
  });
}

std::optional<HeadRef> HeadTable::draw(Frame& frame, const std::vector<HeadRef>& heads, const ComparedMetrics& metrics) {
  const Selection& selection = frame.state.selection;
  const HeadRef selected{.block = selection.block, .head = selection.head};
  const bool is_moved = selected_ && *selected_ != selected;
  selected_ = selected;
  const float room = ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize;
  TablePainter painter(frame, metrics, heads,
                       column_edges(frame, metrics.baseline ? kMinCompared : kMinColumn, room - kPin - kName));
  const float height_of_row = TablePainter::row_height(metrics);
  std::optional<HeadRef> hovered;
  const bool is_wide = painter.width() > room;
  ImGui::BeginChild("table", {0.0F, 0.0F}, false, is_wide ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None);
  painter.draw_header();
  ImGui::BeginChild("rows", {std::max(painter.width() + ImGui::GetStyle().ScrollbarSize, 1.0F), 0.0F});
  const auto at = static_cast<std::size_t>(std::ranges::find(heads, selected) - heads.begin());
  if ((is_moved || std::exchange(reveals_, false)) && at < heads.size()) {
    const float top = static_cast<float>(at) * height_of_row, height = ImGui::GetWindowHeight();
    if (top < ImGui::GetScrollY()) ImGui::SetScrollY(top);
    if (top + height_of_row > ImGui::GetScrollY() + height) ImGui::SetScrollY(top + height_of_row - height);
  }
  const shell::ControlGroup group(frame.ui.keyboard(), "heads");
  draw_rows(heads.size(), height_of_row, 1.0F, [&](std::size_t row, float y) {
    if (painter.draw_row(heads[row], y)) hovered = heads[row];
  });
  selected_ =
      HeadRef{.block = selection.block, .head = selection.head};  // a clicked row stays where it is, for a double click
  ImGui::EndChild();
  ImGui::EndChild();
  return hovered;
}

std::string head_table_csv(const std::vector<HeadRef>& heads, const ComparedMetrics& metrics,
                           const evaluation::PatternScoring& scoring) {
  std::string csv = "kind,layer,head";
  for (std::size_t i = 0; i < kHeadMetrics; ++i) {
    const std::string title = metric_title(static_cast<HeadMetric>(i), scoring);
    csv += metrics.baseline ? fmt::format(",{},{} baseline,{} change", title, title, title) : fmt::format(",{}", title);
  }
  const auto add = [&](std::optional<double> value) { csv += value ? fmt::format(",{:.6f}", *value) : ","; };
  for (const HeadRef& head : heads) {
    csv += fmt::format("\n{},{},{}", model::to_string(head.block.kind), head.block.layer.value, head.head);
    for (std::size_t i = 0; i < kHeadMetrics; ++i) {
      const auto metric = static_cast<HeadMetric>(i);
      const auto [present, before] = metrics.both(head, metric, scoring);
      add(present);
      if (!metrics.baseline) continue;
      add(before);
      add(metrics.change(head, metric, scoring));
    }
  }
  return csv + '\n';
}

}  // namespace headlight::app
