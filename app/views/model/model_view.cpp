#include "app/views/view.h"

#include "app/state/map_settings.h"

#include <glm/geometric.hpp>

#include "app/engine/analyses/head_metric_text.h"
#include "app/figures/view_figures.h"
#include "app/state/comparison.h"
#include "app/views/model/film_strip.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/head_tools.h"
#include "app/widgets/range_bar.h"
#include "app/widgets/thumbnail.h"

namespace headlight::app {
namespace {

constexpr float kMinEdge = 64.0F, kMaxEdge = 320.0F;
constexpr float kLeastEdge = 56.0F;  // where smaller maps make one more line whole
constexpr float kGap = 10.0F;
constexpr float kCaption = 20.0F;
constexpr float kLayerGap = 8.0F;
constexpr float kMaxGrowth = 1.6F;  // of the chosen size, to fill a line
constexpr float kUsualEdge = 104.0F;
constexpr float kMargin = 6.0F;                              // below the last map
constexpr float kColumnGap = 16.0F;                          // before the selected map's column
constexpr float kLeastColumn = 320.0F, kColumnShare = 0.3F;  // its width, of the view's
constexpr float kLeastMaps = 560.0F;                         // width that the maps keep
constexpr float kPin = 9.0F;
constexpr std::uint32_t kModelPlace = 0x7C;
/// The most heads that are evaluated before they are scrolled to, for the film strip.
constexpr std::size_t kMaxPrefetched = 512;
constexpr std::uint32_t kMaxPrefetchedTokens = 2'048;

/// The places of the thumbnails, from the upper left corner of all: lines of equal boxes, each layer beginning one where
/// they are in the order of layers.
struct Lines {
  glm::vec2 map{0.0F};              ///< width and height of a map
  std::size_t columns = 1;          ///< on a line
  std::vector<float> tops;          ///< of each head
  std::vector<std::size_t> places;  ///< of each head on its line
  float height = 0.0F;

  /// Maps of about `edge`, up to `growth` times as large where that fills the width. `per_layer`: the heads of a layer,
  /// whose lines are equally long; 0: all heads are in one order.
  Lines(const std::vector<HeadRef>& heads, float width, float edge, float growth, float aspect, std::size_t per_layer) {
    columns = static_cast<std::size_t>(std::max((width + kGap) / (edge + kGap), 1.0F));
    if (per_layer > 0) {
      const std::size_t lines = (per_layer + columns - 1) / columns;
      columns = (per_layer + lines - 1) / lines;
    }
    const auto count = static_cast<float>(columns);
    const float filling = std::min((width - kGap * (count - 1.0F)) / count, growth * edge);
    map.x = std::floor(std::max(filling, 1.0F));
    map.y = std::floor(map.x * std::clamp(aspect, 0.4F, 1.5F));
    const bool is_by_layer = per_layer > 0;
    const float line = map.y + kCaption + kGap;
    std::size_t in_line = 0;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const bool begins_layer = is_by_layer && i > 0 && heads[i].block != heads[i - 1].block;
      if (in_line == columns || begins_layer) {
        height += line + (begins_layer ? kLayerGap : 0.0F);
        in_line = 0;
      }
      tops.push_back(height);
      places.push_back(in_line++);
    }
    if (!heads.empty()) height += line;
  }
  glm::vec2 origin(std::size_t head) const { return {static_cast<float>(places[head]) * (map.x + kGap), tops[head]}; }
};

/// Shows every head of every layer as a thumbnail large enough to read, in the order and through the filter of any metric,
/// above a film strip.
class ModelView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    const std::optional<attention::Cell> was_pointed = std::exchange(pointed_, std::nullopt);
    if (was_pointed) frame.point_at(*was_pointed);
    const ShownMetrics metrics = ask_metrics(frame);
    const model::BlockKind kind = frame.state.selection.block.kind;
    const std::vector<HeadRef> heads = listed_heads(frame.result.shapes, kind, frame.state.heads, metrics.found);
    reveals_ = move_through_heads(frame, heads, columns_) || reveals_;
    film_.handle_keys(frame);
    draw_title(frame, heads.size());
    place_sentence(frame);
    draw_head_tools(frame, "model", metrics);
    draw_head_note(frame, "model", metrics, hovered_, true);
    const float room = height_left(), strip = FilmStrip::height(room), column = width_of_column(frame, heads, room);
    const bool has_column = column > 0.0F;
    ImGui::BeginChild("heads", has_column ? ImVec2(width_left() - column - kColumnGap, room)
                                          : ImVec2(0.0F, std::max(room - strip - 12.0F, 60.0F)));
    hovered_.reset();
    if (has_heads_to_show(frame, "model", metrics, heads.empty())) draw_heads(frame, heads, metrics);
    ImGui::EndChild();
    if (has_column) {
      ImGui::SameLine(0.0F, kColumnGap);
      ImGui::BeginChild("film");
      film_.draw_column(frame);
      ImGui::EndChild();
    } else {
      ImGui::SetCursorPosY(ImGui::GetCursorPosY() + 6.0F);
      film_.draw(frame, strip);
    }
    keep(frame, heads);
    if (pointed_ != was_pointed) frame.ui.request_redraw(2);  // the other maps show it a frame later
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    HeadMaps maps;
    for (const auto& [head, tile] : tiles_) {
      if (!tile) return nullptr;  // computed soon
      maps.emplace_back(head, exporting::make_map(*tile));
    }
    if (maps.empty()) return nullptr;
    const auto* found = dynamic_cast<const HeadMetricsFound*>(metrics_.get());
    return exporting::make_drawing(model_sheet(kept_, std::move(maps), found, choices_), exporting::DrawingFormat::Svg);
  }

 private:
  /// Returns the width that the maps leave to the selected one, where all of them fit into the height `room` beside it; 0:
  /// it is in the strip below.
  float width_of_column(const Frame& frame, const std::vector<HeadRef>& heads, float room) const {
    if (heads.empty() || edge_ || !frame.result.shapes.contains(heads.front().block)) return 0.0F;
    const float width = width_left(), least = std::max(kLeastColumn, kColumnShare * width);
    if (width - least < kLeastMaps) return 0.0F;
    const Lines lines = fitting_lines(frame, heads, {width - least - kColumnGap, room});
    if (lines.height + kMargin > room) return 0.0F;
    const float taken = static_cast<float>(lines.columns) * (lines.map.x + kGap) + 2.0F * kGap;
    return std::floor(std::min(width - taken, room));
  }

  /// Lays out the largest maps of which all fit into the room, or whole lines of them where the list is scrolled.
  Lines fitting_lines(const Frame& frame, const std::vector<HeadRef>& heads, glm::vec2 room) const {
    const inference::BlockShape& shape = frame.result.shapes.at(heads.front().block);
    const float aspect = static_cast<float>(shape.queries) / static_cast<float>(std::max(shape.keys, 1U));
    const float width = room.x - 4.0F - ImGui::GetStyle().ScrollbarSize;
    const std::size_t per_layer = frame.state.heads.order ? 0 : shape.heads;
    const auto lines_of = [&](float edge, float growth) {
      return Lines(heads, width, std::min(edge, width), growth, aspect, per_layer);
    };
    const auto fits = [&](const Lines& all) { return all.height + kMargin <= room.y; };
    if (edge_) return lines_of(*edge_, kMaxGrowth);
    if (!fits(lines_of(kMinEdge, 1.0F))) {
      // As many whole lines as have room for maps that can be read: a part of a line shows no map.
      const Lines usual = lines_of(kUsualEdge, kMaxGrowth);
      const float rest = kCaption + kGap + kLayerGap;
      for (float count = std::ceil(room.y / (usual.map.y + rest)); count >= 1.0F; --count) {
        const float tall = std::floor(room.y / count) - rest, wide = tall * usual.map.x / std::max(usual.map.y, 1.0F);
        if (wide >= kLeastEdge) return lines_of(std::floor(std::min(wide, usual.map.x)), 1.0F);
      }
      return usual;
    }
    float edge = kMaxEdge;
    while (edge > kMinEdge && !fits(lines_of(edge, 1.0F))) edge -= 4.0F;
    return lines_of(edge, 1.0F);
  }

  /// Keeps the figure's maps: all listed heads, where they are few enough to be asked for before they are scrolled to.
  void keep(const Frame& frame, const std::vector<HeadRef>& heads) {
    tiles_.clear();
    if (heads.empty() || heads.size() > kMaxPrefetched) return;
    for (const HeadRef& head : heads) {
      const TileQuery request = frame.compared(thumbnail_request(frame, head.block, head.head, asked_edge_));
      const auto known = frame.result.tiles.find(request);
      tiles_.emplace_back(head, known == frame.result.tiles.end() ? nullptr : known->second.tile);
    }
    const State& state = frame.state;
    const Selection& selection = state.selection;
    const Analysed* measured =
        frame.result.analysed(HeadMetricsQuestion{.kind = selection.block.kind, .batch = selection.batch});
    metrics_ = measured == nullptr ? nullptr : measured->result;
    choices_ = state.heads;
    kept_ = {.title = "Heads by what they do", .subtitle = {}, .panels = {}, .style = {}};
    kept_.subtitle = kind_name(frame.result, selection.block.kind) + order_in_words(state.heads);
    if (!sample_.empty()) kept_.subtitle += "; " + sample_;
    kept_.value_title =
        frame.shows_difference() ? difference_caption(frame.state) : quantity(attention::Stage::Weights).value_title;
    kept_.style.color_map = state[kMapView.color_map];
    kept_.style.scale = chart::ScaleKind::Maximum;
    if (frame.shows_difference()) kept_.style = exporting::diverging(kept_.style);
  }

  /// Draws title, order, and the thumbnails' size.
  void draw_title(Frame& frame, std::size_t listed) {
    constexpr float kOrder = 130.0F, kSlider = 70.0F, kSizeGap = 6.0F, kScaleGap = 20.0F;
    const float size = kSlider + kSizeGap + text_width(frame.ui.fonts().small, "888 px");
    HeadChoices& choices = frame.state.heads;
    draw_view_title(frame, "Model");
    frame.mark("model.title", last_item_rect());
    ImGui::SameLine(0.0F, 12.0F);
    const std::string count = fmt::format("{} {}", listed, listed == 1 ? "head" : "heads");
    const std::string axes = count + " \u00B7 rows: queries, columns: keys";
    const float room = width_left() - kOrder - size - 3.0F * ImGui::GetFrameHeight();
    draw_title_note(frame, text_width(frame.ui.fonts().small, axes) <= room ? axes : count);
    if (!sample_.empty()) {
      ImGui::SameLine(0.0F, 12.0F);
      draw_sample_note(frame, "model.sample", sample_);
    }
    const float gap = ImGui::GetStyle().ItemSpacing.x, turn = choices.order ? ImGui::GetFrameHeight() + gap : 0.0F;
    const float width = kOrder + turn + size + gap;
    const shell::FontSet& fonts = frame.ui.fonts();
    const float down = ImGui::GetStyle().FramePadding.y + std::round(font_ascent(fonts.title) - font_ascent(fonts.small));
    put_scale(frame, scale_of_maps(frame), {last_item_rect().end().x + kScaleGap, last_item_rect().origin.y + down},
              cursor_position().x + width_left() - width - kScaleGap);
    continue_line_at_right(width, 12.0F);
    ImGui::SetNextItemWidth(kOrder);
    choose_metric(frame, "model.order", "by layer", choices.order, "The order of the heads: by layer, or by a metric.");
    if (choices.order) {
      ImGui::SameLine();
      choices.lowest_first ^= draw_arrow_button(frame, "model.turn", choices.lowest_first ? ImGuiDir_Up : ImGuiDir_Down,
                                                "Turns the order round: the highest or the lowest first.");
    }
    ImGui::SameLine();
    ImGui::SetNextItemWidth(kSlider);
    float edge = edge_.value_or(std::clamp(asked_edge_, kMinEdge, kMaxEdge));
    const float before = edge;
    ImGui::SliderFloat("##size", &edge, kMinEdge, kMaxEdge, "", ImGuiSliderFlags_AlwaysClamp);
    mark_last_item(frame, "model.size", "The size of the maps: as large as fit until you choose one.");
    step_by_keys(frame, edge, kMinEdge, kMaxEdge, 4.0F);
    if (edge != before) edge_ = edge;
    ImGui::SameLine(0.0F, kSizeGap);
    write_label(frame.ui.fonts().small, frame.ui.theme().text_dim, fmt::format("{:.0f} px", edge));
  }

  void draw_heads(Frame& frame, const std::vector<HeadRef>& heads, const ShownMetrics& metrics) {
    const inference::BlockShape& shape = frame.result.shapes.at(heads.front().block);
    const Lines lines = fitting_lines(frame, heads, {width_left(), ImGui::GetWindowHeight()});
    columns_ = lines.columns;
    sample_ = sample_in_words(thumbnail_request(frame, heads.front().block, 0, std::max(lines.map.x, lines.map.y)));
    reveal_selected(frame, heads, lines);
    const glm::vec2 origin = cursor_position();
    const float top = ImGui::GetScrollY(), bottom = top + ImGui::GetWindowHeight();
    const shell::ControlGroup group(frame.ui.keyboard(), "heads");
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (lines.tops[i] + lines.map.y + kCaption < top || lines.tops[i] > bottom) continue;
      const chart::Rect box{.origin = glm::round(origin + lines.origin(i) + 3.0F), .size = lines.map};
      draw_head(frame, heads[i], box, metrics.of(heads[i]));
    }
    asked_edge_ = std::max(lines.map.x, lines.map.y);
    prefetch(frame, heads, shape, asked_edge_);
    ImGui::SetCursorScreenPos(origin);
    ImGui::Dummy({1.0F, lines.height + 6.0F});
  }

  /// Scrolls to the selected head when the keyboard, the film strip or another panel has chosen another one.
  void reveal_selected(const Frame& frame, const std::vector<HeadRef>& heads, const Lines& lines) {
    const HeadRef selected = frame.state.selection.head_ref();
    const bool is_moved = std::exchange(selected_, selected) != selected;
    if (!std::exchange(reveals_, false) && !is_moved) return;
    const auto at = static_cast<std::size_t>(std::ranges::find(heads, selected) - heads.begin());
    if (at >= heads.size()) return;
    scroll_into_view(lines.tops[at], lines.tops[at] + lines.map.y + kCaption + 6.0F);
  }

  void draw_head(Frame& frame, const HeadRef& head, const chart::Rect& box, const evaluation::HeadMetrics* metrics) {
    const HeadThumbnailEvents events =
        draw_head_thumbnail(frame, {.head = head,
                                    .name = fmt::format("model.map.{}.{}", head.block.layer.value, head.head),
                                    .box = box,
                                    .caption = kCaption,
                                    .place = kModelPlace,
                                    .cover = [&] { film_.cover(frame, head.block, box); }});
    draw_caption(frame, head, box, metrics, events.is_selected);
    const bool is_pin = draw_pin(frame, head, box, events.is_clicked, events.is_hovered);
    if (events.is_clicked && !is_pin) {
      select_head(frame.state.selection, head);
      selected_ = head;  // stays where it is, for a double click
    }
    if (events.is_hovered) {
      hovered_ = head;
      const bool is_on_caption = ImGui::GetIO().MousePos.y > box.end().y;
      frame.transient.pointed_number =
          is_on_caption ? captioned_number(frame, head, metrics) : number_under_pointer(frame.compared(events.shown), box);
      if (!is_on_caption) pointed_ = cell_of(frame.transient.pointed_number);
    }
    const bool is_double = events.is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    // A key has no double click: the selected head is opened.
    const bool is_pressed_again = events.is_clicked && events.is_selected && frame.ui.keyboard().is_active();
    if (!is_pin && (is_double || is_pressed_again)) open_head(frame, head);
  }

  /// Draws "L3 H1" and what it does, or the metric by which heads are ordered.
  static void draw_caption(Frame& frame, const HeadRef& head, const chart::Rect& box, const evaluation::HeadMetrics* metrics,
                           bool is_selected) {
    const shell::Theme& theme = frame.ui.theme();
    ImFont* font = frame.ui.fonts().small;
    std::string text = head_caption(head, metrics, frame.state.heads);
    const float room = box.size.x + kGap - 4.0F;  // into the gap
    // Below a small map the number stays, and what it measures is seen.
    if (text_width(font, text) > room && text.size() > head_name(head).size())
      text = head_name(head) + text.substr(text.rfind(' '));
    put_text(font, {box.origin.x, box.end().y + 4.0F}, is_selected ? theme.accent : theme.text_dim,
             fit_text(font, text, room));
  }

  /// Returns the reference to the metric in the caption.
  static std::optional<NumberRef> captioned_number(const Frame& frame, const HeadRef& head,
                                                   const evaluation::HeadMetrics* metrics) {
    if (!metrics) return std::nullopt;
    const HeadChoices& choices = frame.state.heads;
    const bool has_badge = choices.shows_badges && !badge_text(*metrics).empty();
    const auto metric = choices.order ? choices.order : has_badge ? strongest_metric(*metrics) : std::nullopt;
    if (!metric) return std::nullopt;
    const evaluation::PatternScoring scoring = choices.order ? choices.scoring : evaluation::PatternScoring();
    return number_of(head, frame.state.selection.batch, *metric, *metrics, scoring);
  }

  /// Draws the ring in the upper right corner; returns whether the pointer is on it.
  static bool draw_pin(Frame& frame, const HeadRef& head, const chart::Rect& box, bool is_clicked, bool is_hovered) {
    const bool is_pinned_head = is_pinned(frame.state.heads, head);
    if (!is_pinned_head && !is_hovered) return false;
    const shell::Theme& theme = frame.ui.theme();
    const glm::vec2 center(box.end().x - kPin - 3.0F, box.origin.y + kPin + 3.0F);
    const bool is_on_pin = is_hovered && glm::distance(pointer_position(), center) <= kPin + 2.0F;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddCircleFilled(center, kPin, theme.popup);
    if (is_pinned_head) {
      list->AddCircleFilled(center, 5.0F, theme.accent);
    } else {
      list->AddCircle(center, 5.0F, is_on_pin ? theme.text : theme.text_dim, 0, 1.5F);
    }
    if (is_clicked && is_on_pin) toggle_pin(frame.state.heads, head);
    if (is_on_pin) explain_last_item(frame, "Pins the head, or unpins it (Space): pinned heads can be shown alone.");
    return is_on_pin;
  }

  static void prefetch(Frame& frame, const std::vector<HeadRef>& heads, const inference::BlockShape& shape, float edge) {
    if (heads.size() > kMaxPrefetched || std::max(shape.queries, shape.keys) > kMaxPrefetchedTokens) return;
    for (const HeadRef& head : heads) frame.ask(thumbnail_request(frame, head.block, head.head, edge));
  }

  FilmStrip film_;
  std::optional<float> edge_;  ///< chosen; none: as large as fit
  std::size_t columns_ = 1;    ///< in the previous frame
  std::string sample_;         ///< of the maps' rows, in the previous frame
  bool reveals_ = false;
  std::optional<HeadRef> hovered_;          ///< in the previous frame
  std::optional<attention::Cell> pointed_;  ///< in the previous frame, of the head's map; lit in all maps
  std::optional<HeadRef> selected_;         ///< in the previous frame
  // These members are of the last frame, for the figure.
  exporting::ContactSheet kept_;  ///< without maps and metrics
  HeadChoices choices_;
  std::vector<std::pair<HeadRef, std::shared_ptr<const attention::Tile>>> tiles_;
  std::shared_ptr<const AnalysisResult> metrics_;
  float asked_edge_ = 1.0F;  ///< of the maps on screen
};

}  // namespace

std::unique_ptr<ViewPanel> open_model_view() { return std::make_unique<ModelView>(); }

}  // namespace headlight::app
