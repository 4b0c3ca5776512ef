#include "app/views/view.h"

#include "app/views/lines/lines_drawing.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/origin_dialog.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/sentence.h"
#include "app/widgets/thumbnail.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr float kNameHeight = 20.0F;

using Tiles = std::vector<std::shared_ptr<const attention::Tile>>;

/// Everything that the lines follow from: they are found anew when it changes.
struct LineInputs {
  Tiles tiles;
  float threshold = 0.0F;
  PairPart part = PairPart::All;
  std::optional<LockedToken> token;
  bool has_pair = false;
  bool is_difference = false;  ///< of the run and the baseline

  bool operator==(const LineInputs&) const = default;
};

/// The values that labels depend on.
struct SidesOf {
  std::uint64_t run = 0;
  model::BlockRef block;
  std::uint32_t batch = 0;
  float scale = 1.0F;

  bool operator==(const SidesOf&) const = default;
};

/// The heads of a layer as lines between two columns of tokens.
class LinesView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!selected_shape(frame) || !frame.result.input) return;
    const LineSides& sides = sides_of(frame);
    ui_ = &frame.ui;
    const model::BlockRef block = frame.state.selection.block;
    title_ = fmt::format("Layer {} · {}", block.layer.value, kind_name(frame.result, block.kind));
    const bool has_pair = !sides.queries.sentences.empty() && !sides.keys.sentences.empty();
    const std::optional<std::uint32_t> hovered_head = draw_lines_header(frame, has_pair, set_);
    draw_names(frame, sides);
    begin_bare_region("lines");
    draw_area(frame, sides, has_pair, hovered_head);
    ImGui::EndChild();
    frame.says = map_sentence(frame, {.has_axes = false, .names_head = !frame.state.view.lines.shows_selected});
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    exporting::LinesFigure figure{.title = title_,
                                  .subtitle = {},
                                  .query_title = std::string(sides_.queries.name),
                                  .key_title = std::string(sides_.keys.name),
                                  .queries = figure_labels(sides_.queries),
                                  .keys = figure_labels(sides_.keys),
                                  .lines = set_.lines,
                                  .heads = heads_,
                                  .is_difference = inputs_.is_difference};
    figure.subtitle = lines_in_words(figure, set_.found, inputs_.threshold, inputs_.token);
    return exporting::make_drawing(std::move(figure));
  }

 private:
  /// Returns labels as text, where they are drawn as one image each.
  std::vector<std::string> figure_labels(const LineSide& side) const {
    std::vector<std::string> labels;
    for (const std::string& label : side.labels) labels.push_back(ui_ ? ui_->unshaped(label) : label);
    return labels;
  }

  /// Returns the sides. Labels are measured once for each run and selection; those of a target in every frame, because a
  /// prediction names the last one.
  const LineSides& sides_of(Frame& frame) {
    const Selection& selection = frame.state.selection;
    const SidesOf now{
        .run = frame.result.run, .block = selection.block, .batch = selection.batch, .scale = frame.ui.scale()};
    if (rows_write_tokens(frame) || std::exchange(sides_of_, now) != now) sides_ = line_sides(frame);
    return sides_;
  }

  /// Returns how many weights have room beside a label.
  static std::size_t printed(float width) {
    constexpr float kForThree = 620.0F;
    constexpr float kForOne = 360.0F;
    return width >= kForThree ? 3 : width >= kForOne ? 1 : 0;
  }

  static LineLayout layout_of(const Frame& frame, const LineSides& sides, glm::vec2 room, float scroll) {
    return LineLayout({.queries = static_cast<std::uint32_t>(sides.queries.labels.size()),
                       .keys = static_cast<std::uint32_t>(sides.keys.labels.size()),
                       .room = room,
                       .line_height = font_size(frame.ui.fonts().small),
                       .query_width = sides.queries.width,
                       .key_width = sides.keys.width,
                       .number_width = printed_width(frame, printed(room.x)),
                       .scroll = scroll});
  }

  /// Draws "query" over the left column and "key" over the right one.
  static void draw_names(Frame& frame, const LineSides& sides) {
    const glm::vec2 origin = cursor_position();
    const float width = width_left() - ImGui::GetStyle().ScrollbarSize;
    const LineLayout layout = layout_of(frame, sides, {width, 100.0F}, 0.0F);
    const shell::Theme& theme = frame.ui.theme();
    ImFont* font = frame.ui.fonts().small;
    constexpr float kLabelPadding = 8.0F;
    const std::string left = std::string(sides.queries.name) + " →";
    const std::string right = std::string("→ ") + sides.keys.name;
    put_text(font, {std::round(origin.x + layout.query_x() - kLabelPadding - text_width(font, left)), origin.y}, theme.query,
             left);
    put_text(font, {std::round(origin.x + layout.key_x() + kLabelPadding), origin.y}, theme.key, right);
    ImGui::Dummy({width, kNameHeight - ImGui::GetStyle().ItemSpacing.y});
  }

  void draw_area(Frame& frame, const LineSides& sides, bool has_pair, std::optional<std::uint32_t> hovered_head) {
    const glm::vec2 origin = to_glm(ImGui::GetWindowPos());
    const glm::vec2 room = {ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize, ImGui::GetWindowHeight()};
    const LineLayout layout = layout_of(frame, sides, room, ImGui::GetScrollY());
    frame.mark("lines.area", {.origin = origin, .size = room});
    follow_locked(frame, layout);
    const std::optional<LockedToken> hovered = handle_pointer(frame, layout, origin);
    const std::optional<LockedToken> token = hovered ? hovered : pointed_elsewhere(frame);
    LineInputs inputs{.tiles = {},
                      .threshold = frame.state.view.lines.threshold,
                      .part = frame.state.view.lines.pair_part,
                      .token = token ? token : frame.state.view.locked,
                      .has_pair = has_pair,
                      .is_difference = frame.shows_difference()};
    const bool asks_nothing = ask(frame, layout, inputs, hovered_head);
    update(frame, std::move(inputs), sides);
    const WeightLine* pointed = point_at_line(frame, layout, hovered, origin);
    draw_lines(frame, {.layout = layout,
                       .sides = sides,
                       .set = set_,
                       .token = inputs_.token,
                       .locked = frame.state.view.locked,
                       .hovered = hovered,
                       .told = frame.state.view.pinned ? frame.state.view.pinned : told_cell(frame),
                       .pointed = pointed,
                       .printed = printed(room.x),
                       .is_difference = inputs_.is_difference,
                       .origin = origin});
    draw_empty(frame, layout, origin, room, asks_nothing);
    ImGui::SetCursorPos({0.0F, 0.0F});
    ImGui::Dummy({1.0F, layout.content_height()});
  }

  /// Brings a locked token that the keyboard has moved into view, and once the last query, which the sentence is about.
  void follow_locked(const Frame& frame, const LineLayout& layout) {
    const std::optional<LockedToken>& locked = frame.state.view.locked;
    const std::uint32_t end = query_range(frame).end;
    const std::pair shown(end, ImGui::GetWindowHeight());
    const bool is_new = std::exchange(followed_end_, shown) != shown;
    if (locked != std::exchange(locked_, locked) && locked) {
      ImGui::SetScrollY(layout.scroll_to(locked->token));
    } else if (is_new && !locked && end > 0) {
      ImGui::SetScrollY(layout.scroll_to(end - 1));
    }
  }

  /// Locks the token that is clicked, and releases it when it is clicked again. Returns the one under the pointer.
  std::optional<LockedToken> handle_pointer(Frame& frame, const LineLayout& layout, glm::vec2 origin) {
    if (!ImGui::IsWindowHovered()) return std::nullopt;
    const std::optional<LockedToken> hovered = layout.token_at(pointer_position() - origin);
    if (!hovered) return std::nullopt;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    frame.point_at(*hovered);
    // Ctrl and a click ask where the number is from.
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && !ImGui::GetIO().KeyCtrl) {
      std::optional<LockedToken>& locked = frame.state.view.locked;
      locked = locked == hovered ? std::nullopt : hovered;
      locked_ = locked;
    }
    return hovered;
  }

  /// Returns the line under the pointer, or the heaviest one of the token there; its tooltip says what it is.
  const WeightLine* point_at_line(Frame& frame, const LineLayout& layout, std::optional<LockedToken> hovered,
                                  glm::vec2 origin) const {
    if (!ImGui::IsWindowHovered()) return nullptr;
    const std::vector<WeightLine>& lines = set_.lines;
    const std::optional<std::size_t> found = layout.line_at(lines, pointer_position() - origin);
    const bool is_of_token = hovered && inputs_.token == hovered && !lines.empty();  // the lines are its own
    const WeightLine* line = found ? &lines[*found] : is_of_token ? &lines.back() : nullptr;
    if (line == nullptr) return nullptr;
    NumberRef& number = frame.transient.pointed_number.emplace(number_of(
        frame, attention::to_string(attention::Stage::Weights), {.query = line->query, .key = line->key}, line->weight));
    number.head = line->head;
    if (!found) return nullptr;
    frame.point_at(attention::Cell{.query = line->query, .key = line->key});
    return line;
  }

  /// Returns the token whose chip the pointer is over.
  static std::optional<LockedToken> pointed_elsewhere(const Frame& frame) {
    if (frame.transient.pointed.query) return LockedToken{MapSide::Query, *frame.transient.pointed.query};
    if (frame.transient.pointed.key) return LockedToken{MapSide::Key, *frame.transient.pointed.key};
    return std::nullopt;
  }

  /// Asks for the tiles of the heads that are drawn. Returns whether there are none.
  bool ask(Frame& frame, const LineLayout& layout, LineInputs& inputs, std::optional<std::uint32_t> hovered_head) {
    const Selection& selection = frame.state.selection;
    const inference::BlockShape& shape = *selected_shape(frame);
    LineRegion region =
        region_to_ask(shape.queries, shape.keys, layout.visible(MapSide::Query), layout.visible(MapSide::Key));
    const bool is_whole = region.queries.count() == shape.queries && region.keys.count() == shape.keys;
    if (!is_whole && inputs.token) {  // of one token all lines are known, however long the text is
      const std::uint32_t token = inputs.token->token;
      const bool is_query = inputs.token->side == MapSide::Query;
      region.queries = is_query ? TokenSpan{token, token + 1} : TokenSpan{0, shape.queries};
      region.keys = is_query ? TokenSpan{0, shape.keys} : TokenSpan{token, token + 1};
    }
    bool asks_nothing = true;
    largest_ = 0.0F;
    heads_.clear();
    if (region.queries.count() == 0 || region.keys.count() == 0) return asks_nothing;
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      const bool is_drawn = hovered_head ? head == *hovered_head : shows_head(frame.state.view.lines, head, selection.head);
      if (!is_drawn) continue;
      asks_nothing = false;
      heads_.push_back(head);
      TileQuery wanted = tile_of(frame, attention::Stage::Weights,
                                 {.row = region.queries.begin,
                                  .rows = region.queries.count(),
                                  .column = region.keys.begin,
                                  .columns = region.keys.count()});
      wanted.head = head;
      const EngineTile* known = frame.ask(frame.compared(wanted));
      if (!known) continue;
      inputs.tiles.push_back(known->tile);
      const ValueRange& range = known->facts->range;
      largest_ = std::max(largest_, inputs.is_difference ? std::max(-range.low, range.high) : known->facts->largest_weight);
    }
    return asks_nothing;
  }

  void update(Frame& frame, LineInputs inputs, const LineSides& sides) {
    if (inputs == inputs_) return;
    frame.ui.request_redraw(2);  // the header has counted the lines of before
    inputs_ = std::move(inputs);
    std::vector<const attention::Tile*> tiles;
    for (const auto& tile : inputs_.tiles) tiles.push_back(tile.get());
    set_ = select_lines(tiles, {.threshold = inputs_.threshold,
                                .token = inputs_.token,
                                .query_sentences = sides.queries.sentences,
                                .key_sentences = sides.keys.sentences,
                                .part = inputs_.part});
  }

  /// Writes, between the columns, what to do where there are no lines.
  void draw_empty(Frame& frame, const LineLayout& layout, glm::vec2 origin, glm::vec2 room, bool asks_nothing) const {
    if (!set_.lines.empty()) return;
    const std::string text =
        asks_nothing            ? "No head is chosen: click one above."
        : inputs_.tiles.empty() ? "computing…"
        : largest_ < inputs_.threshold
            ? fmt::format("The largest {} is {}: choose a smaller one above.", inputs_.is_difference ? "change" : "weight",
                          chart::format_number(largest_, 6))
            : "Nothing here is that large: choose a smaller one above.";
    ImFont* font = frame.ui.fonts().small;
    const std::vector<std::string> lines = break_lines(font, text, layout.key_x() - layout.query_x() - 24.0F);
    const float middle = (layout.query_x() + layout.key_x()) * 0.5F;
    float y = std::min(room.y, layout.content_height()) * 0.5F - font_size(font) * 0.6F * static_cast<float>(lines.size());
    for (const std::string& line : lines) {
      put_text(font, {std::round(origin.x + middle - text_width(font, line) * 0.5F), std::round(origin.y + y)},
               frame.ui.theme().text_dim, line);
      y += font_size(font) * 1.2F;
    }
    frame.mark("lines.empty", {.origin = {origin.x + layout.query_x(), origin.y}, .size = {1.0F, 1.0F}});
  }

  LineSides sides_;
  std::optional<SidesOf> sides_of_;
  LineInputs inputs_;
  LineSet set_;
  std::optional<LockedToken> locked_;
  /// The end of the queries, whose last one was brought into view, and the height of the view that it was in.
  std::pair<std::uint32_t, float> followed_end_;
  float largest_ = 0.0F;  ///< weight of the tiles that are shown
  // These members are of the last frame, for the vector image.
  std::vector<std::uint32_t> heads_;
  std::string title_;
  const shell::Ui* ui_ = nullptr;
};

}  // namespace

std::unique_ptr<ViewPanel> open_lines_view() { return std::make_unique<LinesView>(); }

}  // namespace headlight::app
