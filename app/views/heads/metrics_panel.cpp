#include <imgui.h>

#include "app/engine/analyses/head_table.h"
#include "app/figures/view_figures.h"
#include "app/shapes/head_grid.h"
#include "app/views/heads/find_panel.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/table_view.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

constexpr float kPinRoom = 26.0F;
constexpr float kRowMap = 34.0F, kRowMapGap = 6.0F;  // a row's map, at most, and the gap after it
constexpr std::uint32_t kRowPlace = 0x72;            // of their thumbnails

/// The values that the table is made from.
struct MetricsShown {
  std::shared_ptr<const AnalysisResult> found, baseline;  ///< the second where differences are shown
  HeadMetricsQuestion question;
  HeadChoices choices;
  std::uint64_t run = 0;

  bool operator==(const MetricsShown&) const = default;
  /// Null while there is none.
  const HeadMetricsFound* metrics() const { return dynamic_cast<const HeadMetricsFound*>(found.get()); }
};

/// The ring that pins a head.
void draw_pin(Frame& frame, const HeadRef& head, const chart::Rect& box) {
  const shell::Theme& theme = frame.ui.theme();
  const std::string name = fmt::format("heads.pin.{}.{}", head.block.layer.value, head.head);
  ImGui::SetCursorScreenPos(to_imgui(box.origin));
  if (click_area(name.c_str(), to_imgui(box.size))) toggle_pin(frame.state.heads, head);
  const bool is_hovered = ImGui::IsItemHovered();
  mark_last_item(frame, name, "Pins the head, or unpins it: pinned heads can be shown alone.");
  const ImVec2 center(box.origin.x + kPinRoom * 0.45F, box.center().y);
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (is_pinned(frame.state.heads, head)) {
    list->AddCircleFilled(center, 4.5F, theme.accent);
  } else {
    list->AddCircle(center, 4.5F, is_hovered ? theme.text : theme.text_dim, 0, 1.5F);
  }
}

/// The map of a head, as high as its row.
void draw_row_map(Frame& frame, const HeadRef& head, const chart::Rect& box) {
  const float edge = std::min(box.size.y - 2.0F, kRowMap);
  const chart::Rect map{.origin = box.origin + glm::vec2(kPinRoom, std::floor((box.size.y - edge) * 0.5F)),
                        .size = glm::vec2(edge)};
  draw_thumbnail(frame, thumbnail_request(frame, head.block, head.head, kRowMap), map, kRowPlace);
}

class MetricsPanel final : public FindPanel {
 public:
  Heading heading(const Frame& frame) override {
    const std::size_t all = heads_of_kind(frame.result.shapes, frame.state.selection.block.kind).size();
    const std::size_t listed = table_.listed().size();
    return {.title = "Heads by what they do",
            .detail = listed == all || listed == 0 ? fmt::format("{} {}", all, all == 1 ? "head" : "heads")
                                                   : fmt::format("{} of {} heads", listed, all)};
  }

  void draw(Frame& frame) override {
    const ShownMetrics metrics = ask_metrics(frame);
    HeadChoices& choices = frame.state.heads;
    change_order(frame, choices);
    const HeadMetricsQuestion question{.kind = frame.state.selection.block.kind, .batch = frame.state.selection.batch};
    const Analysed* baseline = ask_of_baseline(frame, question);
    show(frame, question, baseline);
    list(choices);
    std::vector<HeadRef> heads;
    for (const std::size_t row : table_.listed()) heads.push_back(table_.table().subjects[row]);
    move_through_heads(frame, heads, 1);
    draw_head_tools(frame, "heads", metrics);
    draw_head_note(frame, "heads", metrics, hovered_, false);
    draw_comparison(frame, "heads", "each metric", baseline);
    hovered_.reset();
    if (has_heads_to_show(frame, "heads", metrics, heads.empty())) draw_table(frame);
  }

  bool has_numbers() const override { return shown_.metrics() != nullptr; }
  std::string csv() const override { return app::csv(table_.table(), table_.listed()); }
  bool is_compared() const override { return table_.table().is_compared(); }
  std::unique_ptr<exporting::Drawing> figure(const FigureWords& words) const override {
    if (!shown_.metrics() || table_.listed().empty()) return nullptr;
    exporting::PanelsFigure page{
        .title = words.title, .subtitle = words.subtitle + "; " + metrics_subtitle(*shown_.metrics()), .panels = {}};
    page.style.color_map = words.color_map;
    page = head_grid(table_.table(), table_.listed(), std::move(page));
    return page.panels.empty() ? nullptr : exporting::make_drawing(std::move(page));
  }

 private:
  /// Left and Right order by another column.
  static void change_order(Frame& frame, HeadChoices& choices) {
    if (has_popup()) return;
    int column = choices.order ? static_cast<int>(*choices.order) : -1;
    if (frame.ui.is_pressed(shell::Key::Right))
      column = std::min(column + 1, static_cast<int>(evaluation::kHeadMetrics) - 1);
    if (frame.ui.is_pressed(shell::Key::Left)) column = std::max(column - 1, -1);
    choices.order = column < 0 ? std::nullopt : std::optional(static_cast<evaluation::HeadMetric>(column));
  }

  void show(const Frame& frame, const HeadMetricsQuestion& question, const Analysed* baseline) {
    const Analysed* answer = frame.result.analysed(question);
    MetricsShown shown{.found = answer ? answer->result : nullptr,
                       .baseline = baseline && baseline->is_done ? baseline->result : nullptr,
                       .question = question,
                       .choices = frame.state.heads,
                       .run = frame.result.run};
    if (shown == shown_) return;
    shown_ = std::move(shown);
    Table table = head_table(listed_heads(frame.result.shapes, question.kind, shown_.choices, shown_.metrics()),
                             shown_.metrics(), dynamic_cast<const HeadMetricsFound*>(shown_.baseline.get()),
                             shown_.choices.scoring, question.batch, are_trained(frame.state));
    // A metric that no head has, such as induction in a text without a repeated token, has no column.
    for (Column& column : table.columns) {
      if (answer && answer->is_done && column.has_numbers())
        column.is_shown = column.is_shown && std::ranges::any_of(std::get<0>(column.cells), &CellNumber::has_value);
    }
    table_.show(std::move(table));
  }

  /// Lists all rows in the chosen order. Returns it.
  TableOrder list(const HeadChoices& choices) {
    TableOrder order;
    if (choices.order)
      order = {.column = std::string(evaluation::metric_name(*choices.order)), .lowest_first = choices.lowest_first};
    table_.list(all_rows(table_.table()), order);
    return order;
  }

  void draw_table(Frame& frame) {
    HeadChoices& choices = frame.state.heads;
    const Selection& selection = frame.state.selection;
    const std::vector<HeadRef>& heads = table_.table().subjects;
    const auto selected = std::ranges::find(heads, selection.head_ref());
    TableParts parts{.gutter = kPinRoom + kRowMap + kRowMapGap, .draw_gutter = [&](std::size_t row, const chart::Rect& box) {
                       draw_pin(frame, heads[row], {.origin = box.origin, .size = {kPinRoom, box.size.y}});
                       draw_row_map(frame, heads[row], box);
                     }};
    if (selected != heads.end()) parts.chosen = static_cast<std::size_t>(selected - heads.begin());
    TableOrder order = list(choices);
    const TableOrder before = order;
    const TableEvents events = table_.draw(frame, parts, order);
    if (events.hovered) hovered_ = heads[*events.hovered];
    if (events.clicked) select_head(frame.state.selection, heads[*events.clicked]);
    if (events.opened) open_head(frame, heads[*events.opened]);
    if (order == before) return;
    const std::vector<std::string> names = evaluation::metric_names();
    const auto metric = static_cast<std::size_t>(std::ranges::find(names, order.column) - names.begin());
    choices.order = metric < names.size() ? std::optional(static_cast<evaluation::HeadMetric>(metric)) : std::nullopt;
    choices.lowest_first = order.lowest_first;
  }

  TableView table_{"heads"};
  MetricsShown shown_;
  std::optional<HeadRef> hovered_;  ///< in the previous frame
};

}  // namespace

std::unique_ptr<FindPanel> open_metrics_panel() { return std::make_unique<MetricsPanel>(); }

}  // namespace headlight::app
