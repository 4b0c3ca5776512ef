#include "app/views/view.h"

#include "app/state/map_settings.h"

#include <glm/geometric.hpp>

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/token_words.h"
#include "app/figures/figure_kind.h"
#include "app/state/comparison.h"
#include "app/state/side_by_side_settings.h"
#include "app/views/side_by_side/sides_choice.h"
#include "app/widgets/controls.h"
#include "app/widgets/map_axes.h"
#include "app/widgets/map_layers.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/range_bar.h"
#include "app/widgets/sentence.h"
#include "app/widgets/thumbnail.h"
#include "app/widgets/tile_numbers.h"
#include "export/figures.h"

namespace headlight::app {
namespace {

constexpr float kMapGap = 20.0F;
constexpr float kAbove = 6.0F;                        // above the maps and below them
constexpr float kFooter = 20.0F, kBarWidth = 120.0F;  // of the colour bar
constexpr const char* kWeight = "weight";
constexpr float kStackRatio = 1.25F;  // a region that is so much higher than wide has its maps one below the other
constexpr float kWheelZoom = 1.2F;    // a step of the wheel
constexpr float kClickSlack = 4.0F;   // UI units that the pointer may move during a click
constexpr std::uint32_t kLeftPlace = 0x5B, kRightPlace = 0x5C;

using attention::Cell;

/// One side: the query of its weights, and their title.
struct Side {
  TileQuery map;
  std::string title;
};

/// The places of both sides. Sizes and margins are equal.
struct Rooms {
  std::array<glm::vec2, 2> origins;     ///< of the titles
  glm::vec2 size{0.0F}, margins{0.0F};  ///< of title, tokens and cells; of title and tokens
  std::array<chart::Rect, 2> areas;     ///< of the cells
};

Side left_side(const Frame& frame) {
  const Selection& selection = frame.state.selection;
  const TileQuery map = shown_map(selection, frame.result.shapes, tile_of(frame, attention::Stage::Weights));
  const HeadRef head = selection.head_ref();
  std::string title = selection.mean == HeadMean::None    ? head_name(head)
                      : selection.mean == HeadMean::Layer ? fmt::format("mean of layer {}", selection.block.layer.value)
                                                          : "mean of all heads";
  return {.map = map, .title = std::move(title)};
}

Side right_side(const Frame& frame, const HeadRef& head) {
  Side side = left_side(frame);
  if (frame.state[kSideBySideView.right] == SideMap::Baseline) {
    side.map.quantity = baseline_of(side.map.quantity);
    side.title += fmt::format(" of {} \u201C{}\u201D", baseline_name(frame.state), frame.state.compare.baseline->name);
    return side;
  }
  if (frame.state[kSideBySideView.right] == SideMap::LayerMean) {
    side.map.quantity = kMeanOfLayer;
    side.map.head = 0;
    side.title = fmt::format("mean of layer {}", side.map.block.layer.value);
    return side;
  }
  return {.map = {.block = head.block, .batch = frame.state.selection.batch, .head = head.head}, .title = head_name(head)};
}

/// Sets colours and range of weights up to `largest`, or the range that the user has fixed.
void set_shared_colors(shell::HeatmapImage& image, const State& state, float largest) {
  set_weight_colors(image, state, {}, false);
  if (!state.view.color_limits.contains(attention::Stage::Weights) && largest > 0.0F) image.high = largest;
}

/// Returns the query for a region of one of the maps.
TileQuery query_of(const Frame& frame, TileQuery map, const chart::Region& region) {
  map.row = region.row;
  map.rows = std::max(region.rows, 1U);
  map.column = region.column;
  map.columns = std::max(region.columns, 1U);
  map.pool = region.pool;
  map.pooled_columns = region.pooled_columns;
  map.pooling = !map.is_exact() ? frame.state[kMapView.pooling] : attention::Pooling::Max;
  return map;
}

/// Returns a token's word with its position where that is needed.
std::string word_at(const AxisTokens& tokens, std::uint32_t token, std::string (*word)(const std::string&)) {
  return word(tokens.label(token)) + position_among(tokens.texts, token);
}

/// Two maps of weights with one pointer, one zoom and one colour scale: the selected head, and beside it another head or the
/// same one in the baseline.
class SideBySideView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!frame.result.input || !selected_shape(frame)) return;
    const SideMap beside = frame.state[kSideBySideView.right];
    const bool is_baseline = beside == SideMap::Baseline;
    const HeadRef other = beside == SideMap::OtherHead ? other_head(frame) : HeadRef{};
    const bool has_right = !is_baseline || frame.state.compare.baseline;
    const Side left = left_side(frame);
    const Side right = has_right ? right_side(frame, other) : left;
    draw_view_title(frame, has_right ? fmt::format("{} beside {}", left.title, right.title) : left.title);
    choose_sides(frame, other);
    place_sentence(frame, kBelowControls);
    if (!has_right) {
      return draw_empty_note(
          frame, "side_by_side.no_baseline", "There is no baseline",
          "Keep this run as baseline (Ctrl+D) and change the text, the masks or the model, or open a second text "
          "(Ctrl+T): both runs stand side by side.");
    }
    if (is_baseline && !frame.result.baseline_error.empty()) {
      return draw_empty_note(frame, "side_by_side.refused", "The baseline can't stand beside this one",
                             frame.result.baseline_error);
    }
    draw_maps(frame, left, right);
  }

  /// Returns both maps on one scale; none where they aren't known cell by cell.
  std::unique_ptr<exporting::Drawing> figure() const override {
    if (!kept_.tiles[0] || !kept_.tiles[1]) return nullptr;
    exporting::PanelsFigure figure{.title = "Side by side", .subtitle = {}, .panels = {}, .style = {}};
    for (std::size_t side = 0; side < 2; ++side) {
      exporting::HeatmapFigure& panel = figure.panels.emplace_back();
      panel.title = kept_.titles[side];
      panel.map = exporting::make_map(*kept_.tiles[side]);
      panel.rows = {.title = queries_.at(side).name, .tokens = kept_.queries.at(side), .length = queries_.at(side).real.end};
      panel.columns = {.title = keys_.at(side).name, .tokens = kept_.keys.at(side), .length = keys_.at(side).real.end};
      panel.style.color_map = kept_.color_map;
    }
    share_scale(figure.panels);
    return exporting::make_drawing(std::move(figure));
  }

 private:
  /// Keeps the figure's parts: both whole maps, where they are known.
  void keep(const Frame& frame, const Side& left, const Side& right, const inference::BlockShape& shape) {
    const auto texts = [](const AxisTokens& tokens) {
      return tokens.texts != nullptr ? *tokens.texts : std::vector<std::string>();
    };
    kept_ = {.titles = {left.title, right.title},
             .tiles = {},
             .queries = {texts(queries_[0]), texts(queries_[1])},
             .keys = {texts(keys_[0]), texts(keys_[1])},
             .color_map = frame.state[kMapView.color_map]};
    for (std::size_t side = 0; side < 2; ++side) {
      TileQuery whole = side == 0 ? left.map : right.map;
      whole.row = whole.column = 0;
      whole.rows = shape.queries;
      whole.columns = shape.keys;
      const auto known = frame.result.tiles.find(whole);
      if (known != frame.result.tiles.end()) kept_.tiles[side] = known->second.tile;
    }
  }

  void draw_maps(Frame& frame, const Side& left, const Side& right) {
    const model::BlockKind kind = frame.state.selection.block.kind;
    const inference::BlockShape& shape = *selected_shape(frame);
    for (std::size_t side = 0; side < 2; ++side) {
      const bool is_baseline =
          side == 1 && frame.state[kSideBySideView.right] == SideMap::Baseline && frame.result.baseline_input;
      const model::ModelInput& input = is_baseline ? *frame.result.baseline_input : *frame.result.input;
      AxisTokens& queries = queries_.at(side);
      queries = axis_tokens(frame, input.queries(kind), shape.queries, query_range(frame),
                            rows_write_tokens(frame) ? "reads" : "query");
      auto written = written_tokens(frame);
      if (written && is_baseline) written = written_texts(*input.target, frame.state.selection.batch);
      if (written) {
        queries.texts = &(written_.at(side) = std::move(*written));
        queries.name = "writes";
      }
      keys_.at(side) = axis_tokens(frame, input.keys(kind), shape.keys, key_range(frame), "key");
    }
    keep(frame, left, right, shape);
    ImGui::Dummy({0.0F, kAbove});
    const glm::vec2 begin = cursor_position();
    const glm::vec2 room = room_beside_bar();
    const Rooms rooms = lay_out(frame, {.origin = begin, .size = {room.x, std::max(room.y - kFooter, 1.0F)}}, shape);
    for (std::size_t side = 0; side < 2; ++side)
      handle_pointer(frame, viewport(frame, rooms.areas[side], shape), side, side == 0 ? left.map : right.map);
    const chart::Viewport first_port = viewport(frame, rooms.areas[0], shape);
    const chart::Viewport second_port = viewport(frame, rooms.areas[1], shape);
    const auto map_of = [&](const Side& side, const chart::Viewport& port, std::uint32_t place) {
      return TiledMap(frame, port, place, [&](const chart::Region& region) { return query_of(frame, side.map, region); });
    };
    const TiledMap first = map_of(left, first_port, kLeftPlace), second = map_of(right, second_port, kRightPlace);
    float largest = 0.0F, most = 0.0F;
    for (const TiledMap* map : {&first, &second}) {
      if (!map->known().tile) continue;
      largest = std::max(largest, weight_limits(*map->known().facts, frame.state[kMapView.color_range]).high);
      most = std::max(most, map->known().facts->range.high);
    }
    const auto colors = [&](shell::HeatmapImage& image, const ShownTile&) {
      set_shared_colors(image, frame.state, largest);
    };
    first.draw(colors);
    second.draw(colors);
    draw_frame(frame, first_port, rooms, left, 0);
    draw_frame(frame, second_port, rooms, right, 1);
    frame.mark("side_by_side.left", first_port.visible());
    frame.mark("side_by_side.other", second_port.visible());
    const float end = std::max(rooms.areas[0].end().y, rooms.areas[1].end().y);
    shell::HeatmapImage bar;
    set_shared_colors(bar, frame.state, largest);
    const chart::Rect colors_at{.origin = {begin.x + room.x - kBarWidth, end + 2.0F * kAbove}, .size = {kBarWidth, 5.0F}};
    draw_small_color_bar(frame, colors_at, bar, most);
    ImFont* font = frame.ui.fonts().small;
    put_text(font, colors_at.origin - glm::vec2(text_width(font, kWeight) + 8.0F, kAbove), frame.ui.theme().text_dim,
             kWeight);
    frame.says = sentence(frame, {&left.map, &right.map});
    if (!frame.says.empty()) return;
    const std::optional<std::uint32_t> marked = least_at_;
    frame.says = shared_sentence(first.exact(), second.exact());
    if (least_at_ != marked) frame.ui.request_redraw(2);  // its row is marked then
  }

  /// Returns the room that is left of the pane, as wide without a scroll bar as with one: maps grow with their width, so
  /// that they would bring the bar in one frame and, smaller beside it, send it away in the next.
  static glm::vec2 room_beside_bar() {
    const ImGuiStyle& style = ImGui::GetStyle();
    const float end = ImGui::GetWindowWidth() - style.WindowPadding.x - style.ScrollbarSize;
    return {std::max(end - ImGui::GetCursorPosX(), 1.0F), height_left()};
  }

  static chart::Viewport viewport(const Frame& frame, const chart::Rect& area, const inference::BlockShape& shape) {
    return {area, shape.queries, shape.keys, frame.transient.zoom, frame.transient.pan};
  }

  /// Lays out both maps with their titles and tokens, next to each other or, in a high region, one below the other. A map
  /// that isn't zoomed takes no more height than its cells.
  Rooms lay_out(const Frame& frame, const chart::Rect& all, const inference::BlockShape& shape) const {
    Rooms rooms;
    const float line = ImGui::GetTextLineHeightWithSpacing();
    const bool is_stacked = all.size.y > all.size.x * kStackRatio;
    rooms.size = is_stacked ? glm::vec2(all.size.x, (all.size.y - kMapGap) * 0.5F)
                            : glm::vec2((all.size.x - kMapGap) * 0.5F, all.size.y);
    const auto margins = [&](std::size_t side) {
      return measure_axes(frame, queries_.at(side), keys_.at(side), rooms.size - glm::vec2(0.0F, line));
    };
    rooms.margins = glm::max(margins(0), margins(1)) + glm::vec2(0.0F, line);
    const auto overhang_of = [&](std::size_t side) {
      return measure_overhang(frame, queries_.at(side), keys_.at(side), rooms.margins, rooms.size);
    };
    const float overhang = std::max(overhang_of(0), overhang_of(1));
    const glm::vec2 most = glm::max(rooms.size - rooms.margins - glm::vec2(overhang, 4.0F), 1.0F);
    const chart::Viewport whole({.origin = {}, .size = most}, shape.queries, shape.keys);
    const glm::vec2 cells(most.x, std::min(most.y, whole.visible().size.y * frame.transient.zoom));
    rooms.origins[0] = all.origin;
    rooms.origins[1] = all.origin + (is_stacked ? glm::vec2(0.0F, cells.y + rooms.margins.y + kMapGap)
                                                : glm::vec2(rooms.size.x + kMapGap, 0.0F));
    for (std::size_t side = 0; side < 2; ++side) {
      rooms.areas[side] = {.origin = rooms.origins[side] + rooms.margins, .size = cells};
    }
    return rooms;
  }

  /// Handles zoom, pan, pin and hover on one of the maps, which act on both.
  void handle_pointer(Frame& frame, chart::Viewport shown, std::size_t side, const TileQuery& map) {
    const ImGuiIO& io = ImGui::GetIO();
    const glm::vec2 pointer = to_glm(io.MousePos);
    ImGui::SetCursorScreenPos(shown.visible().origin);
    ImGui::PushID(static_cast<int>(side));
    click_area("cells", glm::max(shown.visible().size, 1.0F));
    ImGui::PopID();
    const bool is_hovered = ImGui::IsItemHovered();
    if (is_hovered && io.MouseWheel != 0.0F) shown = shown.zoomed_at(pointer, std::pow(kWheelZoom, io.MouseWheel));
    if (ImGui::IsItemActivated()) pressed_at_ = pointer;
    if (ImGui::IsItemActive() && shown.zoom() > 1.0F) shown = shown.moved(to_glm(io.MouseDelta));
    const std::optional<chart::CellPosition> at = shown.cell_at(pointer);
    if (is_hovered && at) {
      const Cell cell{.query = at->row, .key = at->column};
      frame.point_at(cell);
      frame.transient.pointed_number = NumberRef{.of = std::string(quantity(map.quantity).id),
                                                 .block = map.block,
                                                 .batch = map.batch,
                                                 .head = map.head,
                                                 .row = cell.query,
                                                 .column = cell.key};
      if (ImGui::IsItemDeactivated() && !io.KeyCtrl && glm::length(pointer - pressed_at_) <= kClickSlack) {
        std::optional<Cell>& pinned = frame.state.view.pinned;
        pinned = pinned == cell ? std::nullopt : std::optional(cell);
      }
    }
    frame.transient.zoom = shown.zoom();
    frame.transient.pan = shown.pan();
  }

  /// Draws the title, the tokens, and the cell under the pointer or the pinned one.
  void draw_frame(Frame& frame, const chart::Viewport& shown, const Rooms& rooms, const Side& side,
                  std::size_t index) const {
    ImFont* font = frame.ui.fonts().strong;
    const std::string title = fit_text(font, side.title, rooms.size.x);
    frame.ui.ensure_glyphs(title);
    put_text(font, rooms.origins[index], frame.ui.theme().text, title);
    const std::optional<Cell>& at = frame.transient.hovered ? frame.transient.hovered : frame.state.view.pinned;
    const bool is_inside = at && at->query < shown.rows() && at->key < shown.columns();
    draw_axes(frame, shown, rooms.margins - glm::vec2(0.0F, ImGui::GetTextLineHeightWithSpacing()), queries_.at(index),
              keys_.at(index),
              is_inside ? MarkedLabels{.query = at->query, .key = at->key} : MarkedLabels{.query = least_at_, .key = {}});
    if (!is_inside) return;
    const chart::Rect cell = shown.rect_of({.row = at->query, .column = at->key});
    const chart::Rect cells = shown.visible();
    ImGui::PushClipRect(cells.origin - 2.0F, cells.end() + 2.0F, true);
    const shell::Color color = frame.ui.theme().text;
    outline_rect({cells.origin.x - 1.0F, cell.origin.y}, {cells.end().x + 1.0F, cell.end().y}, color);
    outline_rect({cell.origin.x, cells.origin.y - 1.0F}, {cell.end().x, cells.end().y + 1.0F}, color);
    ImGui::PopClipRect();
  }

  /// Says how much both look at the cell under the pointer, or the pinned one; empty: there is none, or it isn't known.
  Sentence sentence(Frame& frame, const std::array<const TileQuery*, 2>& maps) const {
    const std::optional<Cell>& cell = frame.transient.hovered ? frame.transient.hovered : frame.state.view.pinned;
    Sentence said;
    for (std::size_t side = 0; cell && side < 2; ++side) {
      const TileQuery& map = *maps.at(side);
      const auto weight = TileNumbers(frame, map.block, map.batch, map.head).value(map.quantity, cell->query, cell->key);
      if (!weight) return {};
      said += fmt::format("{} {} looks at {}: {}", side == 0 ? "Left" : "; right",
                          word_at(queries_.at(side), cell->query, query_word), word_at(keys_.at(side), cell->key, key_word),
                          number_word(*weight, kWeightDigits));
    }
    return said.empty() ? said : said + ".";
  }

  /// Returns "Rows have 66 % of their weight in common on average …, least 12 % at “cat”.", and marks that row. Where a mask
  /// leaves the first row a single key, it says so.
  Sentence shared_sentence(const attention::Tile* left, const attention::Tile* right) {
    const auto shared = left && right ? shared_weight(*left, *right, queries_[0].real) : std::nullopt;
    least_at_ = shared ? std::optional(shared->least_at) : std::nullopt;
    if (!shared) return {};
    const bool is_first_out = shared->left_out == 1 && shared->leaves_out_first;
    const char* rows = shared->left_out == 0 ? "Rows" : is_first_out ? "Rows after the first" : "Rows with two keys or more";
    return fmt::format("{} have {} of their weight in common on average (of both weights the smaller), least {} at {}.",
                       rows, number_word(100.0 * shared->mean, "{:.0f} %"), number_word(100.0 * shared->least, "{:.0f} %"),
                       word_at(queries_[0], shared->least_at, query_word));
  }

  struct Kept {
    std::array<std::string, 2> titles;
    std::array<std::shared_ptr<const attention::Tile>, 2> tiles;
    std::array<std::vector<std::string>, 2> queries, keys;
    chart::ColorMap color_map = chart::ColorMap::Viridis;
  };

  Kept kept_;  ///< of the frame that was drawn last
  std::array<std::vector<std::string>, 2> written_;
  std::optional<std::uint32_t> least_at_;     ///< the row that the sentence names, where no cell is pointed at
  std::array<AxisTokens, 2> queries_, keys_;  ///< of each side, of the frame that is drawn
  glm::vec2 pressed_at_{0.0F};                ///< where the button went down
};

}  // namespace

std::unique_ptr<ViewPanel> open_side_by_side_view() { return std::make_unique<SideBySideView>(); }

}  // namespace headlight::app
