#include "app/widgets/shown_tile.h"

#include "app/engine/analyses/value_reach.h"
#include "app/state/map_settings.h"
#include "app/widgets/text.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

/// Mixes a number into a hash (the finaliser of SplitMix64).
std::uint64_t mix(std::uint64_t hash, std::uint64_t number) {
  std::uint64_t mixed = (hash ^ number) + 0x9E3779B97F4A7C15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
  return mixed ^ (mixed >> 31);
}

bool covers(const TileQuery& tile, const TileQuery& region) {
  return tile.row <= region.row && tile.row + tile.rows >= region.row + region.rows && tile.column <= region.column &&
         tile.column + tile.columns >= region.column + region.columns;
}

/// Returns the cells that one value stands for.
std::uint64_t cells_of(const TileQuery& query) { return std::uint64_t{query.pool} * query.column_pool(); }

bool is_of_same_map(const TileQuery& one, const TileQuery& other) {
  return one.quantity == other.quantity && one.block == other.block && one.batch == other.batch && one.head == other.head;
}

ShownTile show(const TileQuery& query, const EngineTile& known) {
  // The version depends on the baseline: the same run has other differences from another baseline.
  const std::uint64_t version = known.baseline_version == 0 ? known.version : mix(known.version, known.baseline_version);
  return {.query = query, .tile = known.tile.get(), .run = known.run, .version = version, .facts = known.facts.get()};
}

}  // namespace

const inference::BlockShape* find_shape(const EngineResult& result, model::BlockRef block) {
  const auto shape = result.shapes.find(block);
  return shape == result.shapes.end() ? nullptr : &shape->second;
}

const model::TokenBatch& shown_queries(const Frame& frame) {
  return frame.result.input->queries(frame.state.selection.block.kind);
}

const model::TokenBatch& shown_keys(const Frame& frame) {
  return frame.result.input->keys(frame.state.selection.block.kind);
}

TileQuery tile_of(const Frame& frame, QuantityId id, const chart::Region& cells) {
  const Selection& selection = frame.state.selection;
  return {.quantity = id,
          .block = selection.block,
          .batch = selection.batch,
          .head = quantity(id).scope == Scope::Head ? selection.head : 0,
          .row = cells.row,
          .rows = cells.rows,
          .column = cells.column,
          .columns = cells.columns,
          .pool = cells.pool,
          .pooled_columns = cells.pooled_columns};
}

ShownTile find_tile(Frame& frame, const TileQuery& query) {
  const EngineTile* known = frame.ask(query);
  return known ? show(query, *known) : ShownTile();
}

ShownTile find_covering_tile(const EngineResult& result, const TileQuery& wanted) {
  TileQuery first = wanted;
  first.row = first.rows = first.column = first.columns = first.pool = first.sampled_rows = first.pooled_columns = 0;
  first.pooling = {};
  ShownTile best;
  for (auto found = result.tiles.lower_bound(first); found != result.tiles.end(); ++found) {
    const TileQuery& query = found->first;
    if (!is_of_same_map(query, wanted)) break;
    const bool tells_the_same = query.pooling == wanted.pooling || query.is_exact();
    const bool is_sample = query.sampled_rows != 0 && query.sampled_rows != wanted.sampled_rows;
    if (!tells_the_same || is_sample || !covers(query, wanted)) continue;
    // A tile of this run is preferred to one of the previous run, then the sharper one.
    const bool is_better = !best.tile || found->second.run > best.run ||
                           (found->second.run == best.run && cells_of(query) < cells_of(best.query));
    if (is_better) best = show(query, found->second);
  }
  return best;
}

std::vector<ShownTile> find_finer_tiles(const EngineResult& result, const TileQuery& wanted) {
  constexpr std::uint32_t kFinest = 4;  // times as fine: of still finer ones there may be hundreds
  std::vector<ShownTile> tiles;
  if (wanted.pooling != attention::Pooling::Max) return tiles;  // the renderer would show the largest of the means
  TileQuery first = wanted;
  first.rows = first.column = first.columns = first.pool = first.sampled_rows = first.pooled_columns = 0;
  first.pooling = {};
  const auto is_finer_side = [](std::uint32_t pool, std::uint32_t wider) {
    return pool <= wider && pool * kFinest >= wider;
  };
  for (auto found = result.tiles.lower_bound(first); found != result.tiles.end(); ++found) {
    const TileQuery& query = found->first;
    if (!is_of_same_map(query, wanted) || query.row >= wanted.row + wanted.rows) break;
    const bool is_current = found->second.run == result.run && query.sampled_rows == 0;
    const bool is_finer = is_finer_side(query.pool, wanted.pool) &&
                          is_finer_side(query.column_pool(), wanted.column_pool()) && cells_of(query) < cells_of(wanted);
    if (is_current && is_finer && query.pooling == attention::Pooling::Max && covers(wanted, query)) {
      tiles.push_back(show(query, found->second));
    }
  }
  std::ranges::sort(tiles, std::greater(), [](const ShownTile& tile) { return cells_of(tile.query); });
  return tiles;
}

std::span<const std::uint32_t> weight_colors(const State& state) { return chart::table(state[kMapView.color_map]); }

std::span<const std::uint32_t> signed_colors(const shell::Theme& theme) {
  return chart::table(chart::diverging(theme.kind != shell::ThemeKind::Light));
}

bool is_masked_here(const attention::Tile& tile, std::uint32_t tile_row, std::uint32_t tile_column) {
  return comes_after_mask(tile.request.stage) && tile.is_masked(tile_row, tile_column);
}

void set_weight_colors(shell::HeatmapImage& image, const State& state, const ShownTile& shown_tile, bool is_per_row) {
  image.color_map = weight_colors(state);
  image.spread = state[kMapView.color_spread];
  const bool is_fitted = shown_tile.tile && !is_per_row;
  const chart::ValueLimits fitted =
      is_fitted ? weight_limits(*shown_tile.facts, state[kMapView.color_range]) : chart::ValueLimits();
  image.low = fitted.low;
  image.high = fitted.high;
  const auto limits = state.view.color_limits.find(attention::Stage::Weights);
  if (is_per_row || limits == state.view.color_limits.end()) return;
  image.low = limits->second.low;
  image.high = limits->second.high;
}

void set_share_colors(shell::HeatmapImage& image, const State& state, const ValueRange& range) {
  image.color_map = weight_colors(state);
  image.spread = state[kMapView.color_spread];
  image.low = 0.0F;
  image.high = range.high > 0.0F ? range.high : 1.0F;
}

void set_difference_colors(shell::HeatmapImage& image, const shell::Theme& theme, const ValueRange& range,
                           float least_reach) {
  const float reach = std::max({std::abs(range.low), std::abs(range.high), least_reach});
  image.color_map = signed_colors(theme);
  image.low = -reach;
  image.high = reach;
}

float shared_reach(Frame& frame, const TileQuery& shown) {
  const auto question = reach_question(shown.quantity, shown.block.kind, shown.batch);
  const Analysed* answer = question ? frame.ask(*question) : nullptr;
  const auto* found = answer && answer->is_done ? answer->as<ValueReach>() : nullptr;
  return found ? found->reach : 0.0F;
}

void set_signed_colors(Frame& frame, shell::HeatmapImage& image, const TileQuery& shown, const ValueRange& range,
                       float least_reach) {
  const float reach = shared_reach(frame, shown);
  set_difference_colors(image, frame.ui.theme(), reach > 0.0F ? ValueRange{.low = -reach, .high = reach} : range,
                        least_reach);
}

void color_matrix(Frame& frame, shell::HeatmapImage& image, const ShownTile& shown) {
  const QuantityId of = shown.query.quantity;
  if (of == QuantityId(attention::Stage::Weights)) return set_weight_colors(image, frame.state, shown, false);
  if (quantity(of).colors == ColorKind::Sequential) return set_share_colors(image, frame.state, shown.facts->range);
  set_signed_colors(frame, image, shown.query, shown.facts->range, 1e-6F);
}

float shown_concentration(const ShownTile& shown, attention::KeyRange queries, std::uint32_t max_rows) {
  const attention::TileRequest& request = shown.tile->request;
  const auto in_tile = [&](std::uint32_t query) {
    return std::clamp(query, request.row, request.row + request.rows) - request.row;
  };
  const attention::KeyRange rows(in_tile(queries.begin), in_tile(queries.end));
  const bool is_of_all = rows.begin == 0 && rows.end == request.rows;
  return is_of_all ? shown.facts->concentration : concentration(*shown.tile, rows, max_rows);
}

shell::HeatmapImage signed_image(const Frame& frame, std::span<const float> values, std::uint32_t rows, float reach) {
  shell::HeatmapImage image;
  shell::use_theme(image, frame.ui.theme());
  image.rows = rows;
  image.columns = static_cast<std::uint32_t>(values.size() / std::max(rows, 1U));
  image.values = values;
  image.revision = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const float value : values)
    image.revision = (image.revision ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3ULL;
  set_difference_colors(image, frame.ui.theme(), {.low = -reach, .high = reach}, 0.0F);
  return image;
}

void name_image(shell::HeatmapImage& image, const ShownTile& shown_tile, std::uint32_t place) {
  const TileQuery& query = shown_tile.query;
  std::uint64_t key = mix(place, static_cast<std::uint64_t>(query.block.kind));
  for (const std::uint32_t part :
       {query.block.layer.value, query.batch, query.head, static_cast<std::uint32_t>(query.quantity.index()), query.row,
        query.rows, query.column, query.columns, query.pool, static_cast<std::uint32_t>(query.pooling), query.sampled_rows,
        query.pooled_columns}) {
    key = mix(key, part);
  }
  image.key = key;
  image.revision = shown_tile.revision();
}

shell::HeatmapImage heatmap_of(const ShownTile& shown_tile, std::uint32_t place, const shell::Theme& theme) {
  const attention::Tile& tile = *shown_tile.tile;
  shell::HeatmapImage image;
  shell::use_theme(image, theme);
  name_image(image, shown_tile, place);
  image.rows = tile.request.tile_rows();
  image.columns = tile.request.tile_columns();
  image.values = tile.values;
  const bool has_missing = shown_tile.facts != nullptr && shown_tile.facts->has_missing;
  if (comes_after_mask(tile.request.stage) || has_missing) image.masked = tile.masked;
  return image;
}

void draw_heatmap(const Frame& frame, const shell::HeatmapImage& image) {
  frame.ui.heatmaps().draw(ImGui::GetWindowDrawList(), image);
}

}  // namespace headlight::app
