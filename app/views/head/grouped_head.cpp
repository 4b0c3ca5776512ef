#include "app/views/head/grouped_head.h"

#include "app/engine/token_words.h"
#include "app/state/map_settings.h"
#include "app/views/head/map_parts.h"
#include "app/widgets/cell_numbers.h"
#include "app/widgets/controls.h"
#include "app/widgets/sentence.h"
#include "app/widgets/thumbnail.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kGroupedPlace = 0x57;

/// Returns all weights that the selection shows, exact.
TileQuery whole_map(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  const inference::BlockShape& shape = *selected_shape(frame);
  return shown_map(selection, frame.result.shapes,
                   tile_of(frame, attention::Stage::Weights, {.rows = shape.queries, .columns = shape.keys}));
}

GroupedHead::Side side_of(Frame& frame, bool is_query, std::uint32_t count) {
  const Selection& selection = frame.state.selection;
  const model::TokenBatch& tokens = is_query ? shown_queries(frame) : shown_keys(frame);
  const attention::KeyRange real = is_query ? query_range(frame) : key_range(frame);
  std::span<const text::Token> prompt;
  if (frame.result.prompt) {
    const auto& lines =
        &tokens == &frame.result.input->source ? frame.result.prompt->tokens : frame.result.prompt->target_tokens;
    if (selection.batch < lines.size()) prompt = lines[selection.batch];
  }
  std::vector<std::string> labels;
  if (selection.batch < tokens.texts.size()) {
    for (const std::string& label : tokens.texts[selection.batch]) labels.push_back(frame.ui.unshaped(label));
  }
  for (auto i = static_cast<std::uint32_t>(labels.size()); i < count; ++i) labels.push_back(fmt::format("{}", i));
  const std::vector<TokenPlace> places = token_places(labels, prompt, tokens.start(selection.batch));
  const chart::Region cells = shown_cells(frame, selection.block);
  const std::uint32_t first_shown = is_query ? cells.row : cells.column;
  const attention::KeyRange shown(first_shown, first_shown + (is_query ? cells.rows : cells.columns));
  std::vector<GroupedToken> grouped;
  for (std::uint32_t token = 0; token < count; ++token) {
    grouped.push_back({.begins_word = places[token].begins_word,
                       .is_special = places[token].is_special || !real.holds(token),
                       .is_left_out = !shown.holds(token)});
  }
  GroupedHead::Side side{.groups = group_tokens(grouped, frame.state[kMapView.groups_words],
                                                frame.state[kMapView.special_tokens] != SpecialTokens::Shown),
                         .labels = {}};
  for (std::uint32_t token = 0; token < count;) {
    const std::uint32_t group = side.groups.of_token[token], first = token;
    while (token < count && side.groups.of_token[token] == group) ++token;
    if (group == TokenGroups::kLeftOut) continue;
    side.labels.push_back(frame.state[kMapView.groups_words] ? word_text(std::span(places).subspan(first, token - first))
                                                             : labels[first]);
  }
  for (std::string& label : side.labels) {
    label = frame.ui.shaped(label);
    frame.ui.ensure_glyphs(label);
  }
  return side;
}

/// Returns the map as an exact tile of weights, so that it is drawn like one.
attention::Tile tile_of(GroupedMap map) {
  attention::Tile tile;
  tile.request = {.stage = attention::Stage::Weights, .rows = map.rows, .columns = map.columns};
  for (std::uint32_t row = 0; row < map.rows; ++row) {
    const auto begin = map.values.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * map.columns);
    const float largest = *std::max_element(begin, begin + map.columns);
    tile.row_max.push_back(0.0F);
    tile.row_sum.push_back(largest > 0.0F ? 1.0F / largest : 0.0F);
    if (std::ranges::count(std::span(map.masked).subspan(std::size_t{row} * map.columns, map.columns), 0) > 1)
      tile.largest = std::max(tile.largest, largest);
  }
  tile.values = std::move(map.values);
  tile.masked = std::move(map.masked);
  return tile;
}

void draw_tooltip(Frame& frame, const GroupedHead& head, chart::CellPosition cell, const chart::Viewport& port,
                  const char* row_name) {
  const shell::Theme& theme = frame.ui.theme();
  const Tooltip tooltip(frame, port.rect_of(cell), port.visible());
  const auto line = [&](const char* role, shell::Color color, const std::string& text) {
    write_text(frame.ui.fonts().small, color, role);
    ImGui::SameLine(80.0F);
    ImGui::TextUnformatted(text.c_str());
  };
  line(row_name, theme.query, head.queries().labels[cell.row]);
  line("key", theme.key, head.keys().labels[cell.column]);
  line("weight", theme.text_dim, chart::format_exact(head.map().tile->at(cell.row, cell.column)));
  write_dim(frame, grouping_text(frame));
}

void draw_note(const Frame& frame, const char* text) { write_text(frame.ui.fonts().body, frame.ui.theme().text_dim, text); }

}  // namespace

bool can_group(const Frame& frame) {
  const inference::BlockShape* shape = selected_shape(frame);
  return shape && frame.result.input && shown_stage(frame.state) == attention::Stage::Weights && !shows_norms(frame.state) &&
         std::max(shape->queries, shape->keys) <= kMaxGroupedTokens;
}

bool is_grouped(const Frame& frame) {
  return (frame.state[kMapView.groups_words] || frame.state[kMapView.special_tokens] != SpecialTokens::Shown) &&
         can_group(frame);
}

std::string grouping_text(const Frame& frame) {
  if (!is_grouped(frame)) return {};
  std::string text = frame.state[kMapView.groups_words] ? "words: sums over keys, means over queries" : "";
  if (frame.state[kMapView.special_tokens] == SpecialTokens::Shown) return text;
  if (!text.empty()) text += " · ";
  text += "special tokens hidden, ";
  return text + (frame.state[kMapView.special_tokens] == SpecialTokens::Renormalized ? "rows renormalised"
                                                                                     : "rows not renormalised");
}

bool GroupedHead::update(Frame& frame) {
  const TileQuery wanted = whole_map(frame);
  const EngineTile* known = frame.ask(wanted);
  if (!known) return false;
  Choices now{.tile = known->tile,
              .special = frame.state[kMapView.special_tokens],
              .joins_words = frame.state[kMapView.groups_words]};
  if (now == grouped_) return map_.tile != nullptr;
  grouped_ = std::move(now);
  queries_ = side_of(frame, true, wanted.rows);
  keys_ = side_of(frame, false, wanted.columns);
  map_ = {};
  if (queries_.groups.count == 0 || keys_.groups.count == 0) return false;
  const bool renormalizes = frame.state[kMapView.special_tokens] == SpecialTokens::Renormalized;
  map_ = make_engine_tile(tile_of(group_weights(*known->tile, queries_.groups, keys_.groups, renormalizes)), known->run,
                          ++version_);
  query_ = wanted;
  query_.rows = queries_.groups.count;
  query_.columns = keys_.groups.count;
  return true;
}

const Marginals* GroupedHead::marginals(Frame& frame) {
  if (!can_group(frame)) return nullptr;
  const bool groups = is_grouped(frame);
  const TileQuery whole = whole_map(frame);
  Choices now;
  if (groups) {
    if (!update(frame)) return nullptr;
    now = {.tile = map_.tile};
  } else {
    const EngineTile* known = frame.ask(whole);
    if (!known) return nullptr;
    now = {.tile = known->tile};
  }
  if (std::exchange(barred_, now) == now) return &marginals_;
  const bool has_self = &shown_queries(frame) == &shown_keys(frame);
  const attention::KeyRange real = query_range(frame);
  const attention::Tile& tile = *now.tile;
  marginals_ = marginals_of(tile.values, tile.request.rows, tile.request.columns, groups ? 0 : real.begin,
                            groups ? tile.request.rows : real.end, has_self);
  return &marginals_;
}

void draw_grouped_map(Frame& frame, GroupedHead& head, const char* row_name) {
  if (!head.update(frame)) {
    const bool is_empty = head.queries().groups.count == 0 || head.keys().groups.count == 0;
    return draw_note(frame, is_empty && frame.state[kMapView.special_tokens] != SpecialTokens::Shown
                                ? "All tokens are special ones: show them to see the map."
                                : "computing…");
  }
  const attention::Tile& tile = *head.map().tile;
  const auto axis = [](const GroupedHead::Side& side, const char* name) {
    return AxisTokens{.texts = &side.labels, .count = side.groups.count, .real = side.groups.count, .name = name};
  };
  const AxisTokens rows = axis(head.queries(), row_name);
  const AxisTokens columns = axis(head.keys(), "key");
  const bool has_bars = frame.state[kMapView.shows_marginals];
  const glm::vec2 room = region_left() - glm::vec2(kBarRoom, 4.0F) - (has_bars ? kMarginalRoom : 0.0F);
  const glm::vec2 margins = measure_axes(frame, rows, columns, room);
  const chart::Viewport viewport(
      {.origin = glm::round(cursor_position() + margins), .size = glm::max(room - margins, 16.0F)}, rows.count,
      columns.count);
  const chart::Rect cells = viewport.visible();
  frame.mark("head.words", cells);
  const ShownTile shown{.query = head.query(),
                        .tile = &tile,
                        .run = head.map().run,
                        .version = head.map().version,
                        .facts = head.map().facts.get()};
  const bool is_per_row = frame.state[kMapView.color_range] == ColorRange::PerRow;
  shell::HeatmapImage image = heatmap_of(shown, kGroupedPlace, frame.ui.theme());
  set_weight_colors(image, frame.state, shown, is_per_row);
  image.area = viewport.matrix();
  if (is_per_row) image.row_scale = shown.facts->row_scales;
  draw_heatmap(frame, image);
  const glm::vec2 cell = viewport.cell_size();
  const bool has_room = cell.x >= kMinNumberCellWidth && cell.y >= kNumberCellHeight;
  if (has_room && frame.state[kMapView.show_numbers]) draw_cell_numbers(frame, image, tile);
  if (has_bars) {
    if (const Marginals* marginals = head.marginals(frame)) draw_marginals(frame, viewport, *marginals);
  }
  std::optional<chart::CellPosition> hovered;
  if (ImGui::IsWindowHovered()) hovered = viewport.cell_at(pointer_position());
  MarkedLabels marked;
  if (hovered) marked = {.query = hovered->row, .key = hovered->column};
  draw_axes(frame, viewport, margins, rows, columns, marked);
  const float x = std::round(cells.end().x + 18.0F + (has_bars ? kMarginalRoom : 0.0F));
  RangeChoice range(frame, attention::Stage::Weights, {.low = image.low, .high = image.high});
  const float top = cells.origin.y + kBarDrop;
  const float room_below = viewport.area().end().y - top - kLegendDrop - range.height();
  const float height = std::clamp(std::min(cells.size.y - kBarDrop, room_below), 60.0F, 340.0F);
  draw_range_bar(frame,
                 {.area = {.origin = {x, top}, .size = {kBarWidth, height}},
                  .stage = attention::Stage::Weights,
                  .caption = is_per_row ? "of row's largest" : "weight",
                  .is_fixed = is_per_row,
                  .largest = is_per_row ? 0.0F : shown.facts->range.high},
                 image);
  range.draw({x, top + height + kLegendDrop});
  if (hovered) draw_tooltip(frame, head, *hovered, viewport, row_name);
  const std::uint32_t row = hovered ? hovered->row : rows.count - 1;
  frame.says = look_sentence(query_word(head.queries().labels[row]),
                             std::span(tile.values).subspan(std::size_t{row} * columns.count, columns.count),
                             hovered ? std::optional(hovered->column) : std::nullopt,
                             [&](std::uint32_t key) { return key_word(head.keys().labels[key]); });
}

}  // namespace headlight::app
