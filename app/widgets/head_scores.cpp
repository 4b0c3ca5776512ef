#include "app/widgets/head_scores.h"

#include "app/engine/analyses/head_metric_text.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/finding.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/table_view.h"
#include "app/widgets/tile_numbers.h"

namespace headlight::app {
namespace {

constexpr float kMapShare = 0.58F;     // of the width
constexpr float kMaxMapShare = 0.55F;  // of the height, where the list is below
constexpr float kKindTitle = 20.0F;
constexpr float kLeastBelow = 120.0F;

/// The scores of one kind of attention: layers as rows, heads as columns.
struct KindMap {
  std::vector<model::BlockRef> blocks;  ///< [row]
  Grid matrix;

  HeadRef head(GridCell cell) const { return {blocks[cell.row], static_cast<std::uint32_t>(cell.column)}; }
};

std::map<model::BlockKind, KindMap> maps_of(const HeadScores& scores) {
  std::map<model::BlockRef, std::vector<std::optional<double>>> layers;
  for (const ScoredHead& scored : scores.heads) {
    std::vector<std::optional<double>>& layer = layers[scored.head.block];
    layer.resize(std::max<std::size_t>(layer.size(), scored.head.head + std::size_t{1}));
    layer[scored.head.head] = scored.value();
  }
  std::map<model::BlockKind, KindMap> kinds;
  for (auto& [block, layer] : layers) {
    auto& [blocks, matrix] = kinds[block.kind];
    blocks.push_back(block);
    matrix.title = scores.title;
    matrix.is_signed = scores.has_signs();
    matrix.rows.title = "layer";
    matrix.rows.tokens.push_back(std::to_string(block.layer.value));
    matrix.columns.title = "head";
    while (matrix.columns.tokens.size() < layer.size()) {
      matrix.columns.tokens.push_back(std::to_string(matrix.columns.tokens.size()));
    }
    matrix.cells.push_back(std::move(layer));
  }
  return kinds;
}

const ScoredHead* find(const ScoredHeads& scored, const HeadRef& head) {
  const auto found = std::ranges::find(scored.scores.heads, head, &ScoredHead::head);
  return found == scored.scores.heads.end() || !found->score ? nullptr : &*found;
}

/// The tooltip of a head with a number, with those of both runs where they are compared.
std::string tooltip_of(const ScoredHeads& scored, const ScoredHead& found) {
  const std::string change = found.score->baseline ? " Change: " + change_text(*found.score) : "";
  return scored.about(found.head, found.score->now) + change;
}

void point_at(Frame& frame, const ScoredHeads& scored, const ScoredHead* found) {
  if (!scored.number || found == nullptr) return;
  NumberRef number = scored.number(found->head);
  number.value = found->score->now;
  add_baseline(number, *found->score);
  frame.transient.pointed_number = std::move(number);
}

void click_head(Frame& frame, const ScoredHeads& scored, const HeadRef& head, bool is_double) {
  scored.click ? scored.click(head, is_double) : go_to_head(frame, head, is_double);
}

Sentence scores_sentence(const Frame& frame, const HeadScores& scores) {
  const std::optional<NumberRef>& number = frame.transient.pointed_number;
  const auto size = [&](const ScoredHead& scored) {
    if (number && scored.head == HeadRef{number->block, number->head}) return HUGE_VAL;
    const double value = scored.value().value_or(-1.0);
    return scores.has_signs() ? std::abs(value) : value;
  };
  const auto found = std::ranges::max_element(scores.heads, {}, size);
  if (found == scores.heads.end() || !found->score) return {};
  return fmt::format("The {}{} is {}, of {}.", size(*found) == HUGE_VAL ? "" : "largest ", scores.title,
                     number_word(scores.has_signs() ? change_text(*found->score) : fmt::format("{:.3f}", found->score->now)),
                     head_name(found->head));
}

}  // namespace

HeadScores::HeadScores(std::string of, bool has_sign, const HeadNumbers& now, const HeadNumbers* baseline)
    : title(std::move(of)), is_signed(has_sign) {
  for (const auto& [head, value] : now) {
    const auto before = baseline ? baseline->find(head) : HeadNumbers::const_iterator();
    const std::optional<double> other = baseline && before != baseline->end() ? before->second : std::nullopt;
    ScoredHead& scored = heads.emplace_back(ScoredHead{.head = head});
    if (value && (!baseline || other)) scored.score = {.now = *value, .baseline = other};
  }
}

void go_to_head(Frame& frame, const HeadRef& head, bool opens) {
  if (opens) return open_head(frame, head);
  select_head(frame.state.selection, head);
  frame.ui.request_redraw(2);
}

bool HeadScores::has_differences() const {
  return std::ranges::any_of(heads, [](const ScoredHead& scored) { return scored.score && scored.score->baseline; });
}

void HeadScores::sort(bool by_size) {
  by_size = by_size || has_differences();
  const auto size = [by_size](const ScoredHead& scored) {
    const double value = scored.value().value_or(0.0);
    return !by_size ? value : std::isnan(value) ? -1.0 : std::abs(value);
  };
  std::ranges::stable_sort(heads, [&](const ScoredHead& a, const ScoredHead& b) {
    if (!a.score || !b.score) return a.score.has_value() && !b.score.has_value();
    return size(a) > size(b);
  });
}

std::vector<HeadRef> HeadScores::known() const {
  std::vector<HeadRef> known;
  for (const ScoredHead& scored : heads) {
    if (scored.score) known.push_back(scored.head);
  }
  return known;
}

Table HeadScores::table() const {
  Table table = named_columns({"kind", "layer", "head", title});
  for (const auto& [head, score] : heads) {
    table.put(model::to_string(head.block.kind), head.block.layer.value, head.head);
    score ? table.put(*score) : table.put(CellNumber());
  }
  return table;
}

std::unique_ptr<exporting::Drawing> HeadScores::figure(const FigureWords& words, const std::string& compared) const {
  exporting::PanelsFigure figure{.title = words.title, .subtitle = words.subtitle, .panels = {}, .style = {}};
  const std::map<model::BlockKind, KindMap> kinds = maps_of(*this);
  for (const auto& [kind, map] : kinds) {
    exporting::HeatmapFigure& panel = figure.panels.emplace_back(map.matrix.figure(words.color_map));
    if (has_differences()) panel.value_title += ", " + compared;
    if (kinds.size() > 1) panel.title = kind_text(kind);
  }
  return figure.panels.empty() ? nullptr : exporting::make_drawing(std::move(figure));
}

void draw_score_maps(Frame& frame, const ScoredHeads& scored) {
  const std::map<model::BlockKind, KindMap> kinds = maps_of(scored.scores);
  const Selection& selection = frame.state.selection;
  for (const auto& [kind, map] : kinds) {
    if (kinds.size() > 1) write_dim(frame, kind_text(kind));
    const std::string cells =
        scored.cells.empty() ? fmt::format("{}.{}", scored.name, model::to_string(kind)) : scored.cells;
    const auto head_of = [&map = map](GridCell cell) { return map.head(cell); };
    const auto row = std::ranges::find(map.blocks, selection.block) - map.blocks.begin();
    const GridEvents click = draw_grid(
        frame,
        {.grid = map.matrix,
         .name = [&](GridCell cell) { return fmt::format("{}.{}.{}", cells, head_of(cell).block.layer.value, cell.column); },
         .about = [&](GridCell cell) { return tooltip_of(scored, *find(scored, head_of(cell))); },
         .selected = GridCell{.row = static_cast<std::size_t>(row), .column = selection.head},
         .least_end = scored.least_end,
         .drag = scored.drag ? [&](GridCell cell) { scored.drag(head_of(cell)); } : std::function<void(GridCell)>()});
    if (click.hovered) point_at(frame, scored, find(scored, head_of(*click.hovered)));
    if (click.cell) click_head(frame, scored, head_of(*click.cell), click.is_double);
  }
}

float score_maps_height(const HeadScores& scores, float width) {
  const std::map<model::BlockKind, KindMap> kinds = maps_of(scores);
  float height = 4.0F;
  for (const auto& [kind, map] : kinds) height += grid_height(map.matrix, width) + (kinds.size() > 1 ? kKindTitle : 0.0F);
  return height;
}

void draw_score_list(Frame& frame, const ScoredHeads& scored) {
  const Selection& selection = frame.state.selection;
  const HeadRef selected = selection.head_ref();
  std::vector<const ScoredHead*> rows;
  TableParts parts{.about = [&](std::size_t row) { return tooltip_of(scored, *rows[row]); }};
  for (const ScoredHead& some : scored.scores.heads) {
    if (!some.score) continue;
    if (some.head == selected) parts.chosen = rows.size();
    rows.push_back(&some);
  }
  const auto kind = [](const ScoredHead* some) { return some->head.block.kind; };
  const bool has_kinds = std::ranges::any_of(rows, [&](const ScoredHead* some) { return kind(some) != kind(rows[0]); });
  const auto label = [&](std::size_t row) {
    const HeadRef& head = rows[row]->head;
    return fmt::format("{}L{} H{}{}", has_kinds ? fmt::format("{} ", model::to_string(head.block.kind)) : "",
                       head.block.layer.value, head.head, scored.remark ? scored.remark(head) : "");
  };
  if (scored.choose_order) scored.choose_order();
  const TableEvents events = draw_bars(frame, scored.name + ".row",
                                       bar_table(
                                           rows.size(), label, [&](std::size_t row) { return rows[row]->value(); },
                                           scored.scores.has_signs(), std::max(scored.least_end, 1e-9)),
                                       parts);
  if (events.hovered) point_at(frame, scored, rows[*events.hovered]);
  if (events.clicked) go_to_head(frame, rows[*events.clicked]->head, false);
  if (events.opened) click_head(frame, scored, rows[*events.opened]->head, true);
  if (frame.says.empty()) frame.says = scores_sentence(frame, scored.scores);
}

void draw_scored_heads(Frame& frame, const ScoredHeads& scored) {
  const ColumnPair columns{.share = kMapShare};
  const float below = std::floor(height_left() * kMaxMapShare);
  const float maps = score_maps_height(scored.scores, columns.first_width());
  columns.draw(
      [&] {
        const bool has_room = scored.below && height_left() - maps >= kLeastBelow;
        ImGui::BeginChild("maps", {0.0F, has_room ? maps : 0.0F});
        draw_score_maps(frame, scored);
        ImGui::EndChild();
        if (has_room) scored.below();
      },
      [&] { draw_score_list(frame, scored); }, std::min(maps, below));
}

}  // namespace headlight::app
