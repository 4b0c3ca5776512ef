#include "app/shapes/head_grid.h"

namespace headlight::app {
namespace {

constexpr std::size_t kGridsAcross = 4;

/// The numbers that rows have, ascending, as names of an axis.
template <typename Of>
std::map<std::uint32_t, std::size_t> places_of(const Table& table, std::span<const std::size_t> rows, const Of& of,
                                               exporting::FigureAxis& axis) {
  std::map<std::uint32_t, std::size_t> places;
  for (const std::size_t row : rows) places[of(table.subjects[row])];
  for (auto& [number, place] : places) {
    place = axis.tokens.size();
    axis.tokens.push_back(std::to_string(number));
  }
  return places;
}

}  // namespace

exporting::PanelsFigure head_grid(const Table& table, std::span<const std::size_t> rows, exporting::PanelsFigure page) {
  page.across = kGridsAcross;
  exporting::HeatmapFigure empty;
  empty.rows.title = "layer";
  empty.columns.title = "head";
  empty.style = page.style;
  const auto layer_of = [](const RowSubject& of) { return of.block.layer.value; };
  const auto layers = places_of(table, rows, layer_of, empty.rows);
  const auto heads = places_of(
      table, rows, [](const RowSubject& of) { return of.head; }, empty.columns);
  empty.map.rows = static_cast<std::uint32_t>(layers.size());
  empty.map.columns = static_cast<std::uint32_t>(heads.size());
  empty.map.values.resize(layers.size() * heads.size());
  empty.map.masked.resize(empty.map.values.size(), 1);
  empty.masked_title = "not defined";
  empty.marks_empty_rows = false;
  empty.style.limits = {};
  empty.style.map_edge = page.style.map_edge / static_cast<float>(kGridsAcross);
  empty.style.parts.title = true;
  empty.style.parts.settings = false;
  for (const Column& column : table.columns) {
    if (!column.is_shown || !column.has_numbers()) continue;
    exporting::HeatmapFigure panel = empty;
    panel.title = column.title;
    panel.value_title = column.title + (column.unit.empty() ? "" : ", " + column.unit);
    panel.style.scale = column.bar == BarKind::Share ? chart::ScaleKind::Unit : chart::ScaleKind::Maximum;
    if (column.is_compared()) {
      panel.style = exporting::diverging(panel.style);
      panel.value_title = "change of " + panel.value_title;
    }
    for (const std::size_t row : rows) {
      const CellNumber number = column.shown_number(row);
      if (!number) continue;
      const RowSubject& head = table.subjects[row];
      const std::size_t at = layers.at(layer_of(head)) * heads.size() + heads.at(head.head);
      panel.map.values[at] = static_cast<float>(*number);
      panel.map.masked[at] = 0;
    }
    if (std::ranges::find(panel.map.masked, 0) != panel.map.masked.end()) page.panels.push_back(std::move(panel));
  }
  return page;
}

}  // namespace headlight::app
