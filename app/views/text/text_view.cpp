#include "app/views/view.h"

#include "app/state/map_settings.h"

#include "app/figures/shaded_text.h"
#include "app/state/comparison.h"
#include "app/views/text/text_side.h"
#include "app/widgets/controls.h"
#include "app/widgets/patch_picture.h"
#include "app/widgets/prediction_bars.h"
#include "app/widgets/sentence.h"
#include "app/widgets/thumbnail.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr float kGap = 16.0F;
constexpr float kHeaderRoom = 84.0F;  // of the title and two lines below it
constexpr float kKeysPart = 0.6F;     // of the height that keys may take above queries
constexpr float kRowsGap = 20.0F;     // above the rows
constexpr float kMaxRowLabel = 120.0F;
constexpr float kMaxRowAir = 0.5F;  // of a row's own height
constexpr std::uint32_t kMaxRows = 64;

std::string title(const Selection& selection) {
  switch (selection.mean) {
    case HeadMean::Layer:
      return fmt::format("Layer {} · mean of its heads", selection.block.layer.value);
    case HeadMean::Kind:
      return "Mean of all heads";
    case HeadMean::None:
      break;
  }
  return fmt::format("Layer {} · head {}", selection.block.layer.value, selection.head);
}

/// The values that the two blocks are laid out for: the blocks are made anew when these change.
struct BlocksOf {
  std::uint64_t run = 0;
  model::BlockRef block;
  std::uint32_t batch = 0;
  float width = 0.0F, height = 0.0F;
  float scale = 1.0F;
  std::vector<std::string> written = {};  ///< written_tokens(): a prediction names the last one

  bool operator==(const BlocksOf&) const = default;
};

/// The tokens as running text, shaded by what one of them attends to, or by what attends to it.
class TextView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!selected_shape(frame) || !frame.result.input) return;
    const bool is_cross = &shown_queries(frame) != &shown_keys(frame);
    lay_out(frame, is_cross);
    const bool is_pointed_at = hovered_ || frame.transient.pointed.query || frame.transient.pointed.key;
    const LockedToken chosen = choose(frame, is_cross);
    TextShades shades = shades_of(frame, chosen);
    rows_ = row_.lines.tokens.empty() ? std::vector<TextShades>() : shades_of_all(frame, chosen.side);
    if (chosen.token < rows_.size()) {
      shades.largest = rows_[chosen.token].largest;
      shades.has_larger = rows_[chosen.token].has_larger;
    }
    draw_header(frame, is_cross, chosen, shades);
    shown_ = {.ui = &frame.ui,
              .is_cross = is_cross,
              .queries_title = queries_title(),
              .chosen = chosen,
              .shades = shades,
              .title = title(frame.state.selection)};
    const std::optional<LockedToken> before = std::exchange(hovered_, std::nullopt);
    hovered_key_.reset();
    begin_bare_region("text");
    frame.mark("text.area", window_rect());
    follow_locked(frame, chosen, is_cross);
    if (is_cross) {
      write_text(frame.ui.fonts().small, frame.ui.theme().key, "keys: the source");
      draw_block(frame, "text.source", true, MapSide::Key, chosen, shades);
      ImGui::Dummy({1.0F, 8.0F});
      write_text(frame.ui.fonts().small, frame.ui.theme().query, queries_title());
      draw_block(frame, "text.target", true, MapSide::Query, chosen, shades);
    } else {
      const MapSide shaded = chosen.side == MapSide::Query ? MapSide::Key : MapSide::Query;
      draw_block(frame, "text.token", false, shaded, chosen, shades);
      draw_all_rows(frame, shaded, chosen);
      if (!rows_.empty()) follow_row(chosen.token, is_pointed_at);
    }
    ImGui::EndChild();
    frame.transient.pointed_number = number_shown(frame, is_cross, chosen, shades);
    frame.says = sentence(frame, chosen, shades.is_difference);
    if (before != hovered_) frame.ui.request_redraw(2);  // this frame has shown what was pointed at before
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    if (shown_.ui == nullptr) return nullptr;
    ShadedText figure{.title = shown_.title,
                      .queries = spelled_out(queries_),
                      .queries_title = shown_.queries_title,
                      .keys = shown_.is_cross ? spelled_out(keys_) : std::vector<RunningToken>(),
                      .chosen = shown_.chosen,
                      .weights = shown_.shades.weights,
                      .is_difference = shown_.shades.is_difference};
    figure.query_images = queries_.images;
    figure.key_images = shown_.is_cross ? keys_.images : capture::PatchImages();
    return exporting::make_drawing(text_figure(figure));
  }

 private:
  /// Returns the title of a target's block.
  const char* queries_title() const {
    return made_for_->written.empty() ? "queries: what the decoder reads" : "queries: what the decoder writes";
  }

  /// Returns tokens as text, where they are drawn as one image each.
  std::vector<RunningToken> spelled_out(const TextBlock& block) const {
    std::vector<RunningToken> tokens = block.tokens;
    for (RunningToken& token : tokens) token.place.text = shown_.ui->unshaped(token.place.text);
    return tokens;
  }

  /// The last frame's view, for the figure.
  struct Shown {
    const shell::Ui* ui = nullptr;
    bool is_cross = false;
    const char* queries_title = "";
    LockedToken chosen = {};
    TextShades shades = {};
    std::string title = {};
  };

  void lay_out(Frame& frame, bool is_cross) {
    const Selection& selection = frame.state.selection;
    const float width = width_left() - ImGui::GetStyle().ScrollbarSize - 4.0F;
    const float height = height_left() - kHeaderRoom;
    const BlocksOf now{.run = frame.result.run,
                       .block = selection.block,
                       .batch = selection.batch,
                       .width = width,
                       .height = height,
                       .scale = frame.ui.scale(),
                       .written = written_tokens(frame).value_or(std::vector<std::string>())};
    if (std::exchange(made_for_, now) == now) return;
    const auto make = [&](float part) {
      queries_ = make_text_block(frame, MapSide::Query, width, is_cross ? height * part * (1.0F - kKeysPart) : height);
      keys_ = is_cross ? make_text_block(frame, MapSide::Key, width, height * part * kKeysPart) : TextBlock();
    };
    make(1.0F);
    if (is_cross && queries_.type != keys_.type && keys_.images.is_empty()) make(0.0F);  // both in small type
    row_ = {};
    const attention::KeyRange real = query_range(frame);
    const std::uint32_t rows = real.end - std::min(real.begin, real.end);
    if (is_cross || !queries_.images.is_empty() || rows < 2 || rows > kMaxRows) return;
    label_room_ = 0.0F;
    row_names_ = made_for_->written.empty() ? queries_.labels : made_for_->written;
    for (const std::string& label : row_names_)
      label_room_ = std::max(label_room_, text_width(frame.ui.fonts().body, label));
    label_room_ = std::min(label_room_, kMaxRowLabel) + kGap;
    const glm::vec2 room(width - label_room_, height - queries_.lines.height - kRowsGap);
    row_ = row_of(frame, queries_, room, rows);
    const float own = row_.measures.line_height;
    row_pitch_ = std::floor(std::clamp(room.y / static_cast<float>(rows), own, (1.0F + kMaxRowAir) * own));
  }

  /// Returns the token that the text is shaded by: under the pointer, here or on its chip, else the locked one, else the
  /// last one.
  LockedToken choose(Frame& frame, bool is_cross) {
    const State& state = frame.state;
    const auto of_text = [&](LockedToken token) {  // a self-attention's text is both sides
      return is_cross ? token : LockedToken{.side = state[kTextView.side], .token = token.token};
    };
    if (hovered_) return *hovered_;
    if (frame.transient.pointed.query) return of_text({MapSide::Query, *frame.transient.pointed.query});
    if (frame.transient.pointed.key) return of_text({MapSide::Key, *frame.transient.pointed.key});
    if (state.view.locked) return of_text(*state.view.locked);
    const std::uint32_t end = query_range(frame).end;
    return of_text({MapSide::Query, end > 0 ? end - 1 : 0});
  }

  static void draw_header(Frame& frame, bool is_cross, LockedToken chosen, const TextShades& shades) {
    draw_view_title(frame, title(frame.state.selection));
    frame.mark("text.title", last_item_rect());
    choose_mean(frame);
    if (!is_cross) choose_side(frame);
    const chart::Rect beside = last_item_rect();
    const float line = font_size(frame.ui.fonts().small);
    put_shade_scale(frame, chosen.side == MapSide::Query ? MapSide::Key : MapSide::Query, shades,
                    {beside.end().x + kGap * 0.5F, std::round(beside.center().y - line * 0.5F)},
                    cursor_position().x + width_left());
    place_sentence(frame, kBelowControls);
  }

  static Sentence sentence(Frame& frame, LockedToken chosen, bool is_difference) {
    const std::optional<NumberRef>& number = frame.transient.pointed_number;
    if (!number || !number->value || (!is_difference && chosen.side == MapSide::Query))
      return map_sentence(frame, {.has_axes = false});
    const std::string query = query_of(frame, number->block.kind, number->row),
                      key = key_of(frame, number->block.kind, number->column);
    return is_difference
               ? fmt::format("What {} looks at {} with has changed the most ({}): {}. Red is more, blue less.", query, key,
                             difference_caption(frame.state), number_word(*number->value, "{:+.2f}"))
               : fmt::format("{} is looked at most by {}: {}.", key, query, number_word(*number->value, kWeightDigits));
  }

  /// Returns the reference to the weight between the locked token and the one under the pointer; without both, the largest
  /// one that is shown.
  std::optional<NumberRef> number_shown(const Frame& frame, bool is_cross, LockedToken chosen,
                                        const TextShades& shades) const {
    const Selection& selection = frame.state.selection;
    NumberRef number{.of = std::string(quantity(weights_of(selection.mean)).id),
                     .block = selection.block,
                     .batch = selection.batch,
                     .head = selection.head};
    const auto put = [&](LockedToken token, std::uint32_t other) {
      const bool is_query = token.side == MapSide::Query;
      number.row = is_query ? token.token : other;
      number.column = is_query ? other : token.token;
    };
    const std::optional<LockedToken>& locked = frame.state.view.locked;
    if (locked && hovered_ && hovered_->token != locked->token && (!is_cross || hovered_->side != locked->side)) {
      put(is_cross ? *locked : LockedToken{.side = frame.state[kTextView.side], .token = locked->token}, hovered_->token);
      return number;
    }
    if (shades.weights.empty()) return std::nullopt;
    if (hovered_key_ && *hovered_key_ < shades.weights.size()) {
      put(chosen, *hovered_key_);
      number.value = double{shades.weights[*hovered_key_]};
      return number;
    }
    const auto largest = std::ranges::max_element(shades.weights, {}, [](float weight) { return std::abs(weight); });
    put(chosen, static_cast<std::uint32_t>(largest - shades.weights.begin()));
    number.value = double{*largest};
    return number;
  }

  static void choose_mean(Frame& frame) {
    const std::array<std::string, 3> labels = {"head", "layer's mean", "mean of all"};
    continue_line(segmented_width(frame, labels), kGap);
    choose_segment(frame, "text.mean", labels, frame.state.selection.mean);
  }

  static void choose_side(Frame& frame) { choose_next(frame, kTextView.side, {}, kGap); }

  /// Draws a block. `side`: of the block; of a self-attention's text, which is both sides, the one that is shaded.
  void draw_block(Frame& frame, const char* name, bool is_cross, MapSide side, LockedToken chosen,
                  const TextShades& shades) {
    const auto on_this_side = [&](const std::optional<LockedToken>& token) {
      return token && (!is_cross || token->side == side) ? std::optional(token->token) : std::nullopt;
    };
    const TextMarks marks{.side = side,
                          .name = name,
                          .shades = chosen.side == side ? nullptr : &shades,
                          .chosen = on_this_side(chosen),
                          .locked = on_this_side(frame.state.view.locked),
                          .muted = &muted_};
    const TextBlock& block = is_cross && side == MapSide::Key ? keys_ : queries_;
    const auto hovered = draw_text_block(frame, block, marks);
    if (hovered) point_at(frame, {is_cross ? side : frame.state[kTextView.side], *hovered});
  }

  /// Draws the text once for each of its tokens, shaded as it is where that token is chosen. `shaded`: the side.
  void draw_all_rows(Frame& frame, MapSide shaded, LockedToken chosen) {
    if (rows_.empty()) return;
    const shell::Theme& theme = frame.ui.theme();
    const glm::vec2 origin = cursor_position() + glm::vec2(0.0F, kRowsGap);
    const attention::KeyRange real = query_range(frame);
    const bool is_pointed_at = ImGui::IsWindowHovered();
    first_row_ = real.begin;
    row_top_ = origin.y - ImGui::GetWindowPos().y + ImGui::GetScrollY();
    for (std::uint32_t token = real.begin; token < std::min<std::size_t>(real.end, rows_.size()); ++token) {
      const chart::Rect band{.origin = origin + glm::vec2(0.0F, static_cast<float>(token - real.begin) * row_pitch_),
                             .size = {label_room_ + row_.lines.tokens.back().end().x + kGap, row_pitch_}};
      const bool is_chosen = chosen.token == token;
      const shell::Color color = chosen.side == MapSide::Query ? theme.query : theme.key;
      ImFont* font = is_chosen ? frame.ui.fonts().strong : frame.ui.fonts().body;
      const float top = band.origin.y + std::floor((row_pitch_ - row_.measures.line_height) * 0.5F);
      const float middle = top + row_.measures.line_height - row_.measures.token_height * 0.5F;
      put_text(font, {band.origin.x + 4.0F, std::round(middle - font_size(font) * 0.5F)}, color,
               fit_text(font, row_names_[token], label_room_ - 8.0F));
      ImGui::SetCursorScreenPos({band.origin.x + label_room_, top});
      const auto hovered =
          draw_text_block(frame, row_, {.side = shaded, .shades = &rows_[token], .chosen = {}, .dims_unseen = true});
      if (is_chosen) outline_rect(band, color, 4.0F, 1.5F);
      frame.mark(fmt::format("text.row.{}", token), band);
      if (!is_pointed_at || !band.contains(pointer_position())) continue;
      point_at(frame, {chosen.side, token});
      hovered_key_ = hovered;
    }
  }

  /// Lets the next frame shade the text by the token under the pointer; a click locks or releases it.
  void point_at(Frame& frame, LockedToken token) {
    hovered_ = token;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    // Ctrl and a click ask where the number is from.
    if (!ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::GetIO().KeyCtrl) return;
    std::optional<LockedToken>& locked = frame.state.view.locked;
    locked = locked == token ? std::nullopt : std::optional(token);
    locked_ = locked;
  }

  /// Brings a locked token that the keyboard has moved into view.
  void follow_locked(const Frame& frame, LockedToken chosen, bool is_cross) {
    const std::optional<LockedToken>& locked = frame.state.view.locked;
    if (locked == std::exchange(locked_, locked) || !locked || is_cross) return;
    if (chosen.token >= queries_.lines.tokens.size()) return;
    const chart::Rect& rect = queries_.lines.tokens[chosen.token];
    scroll_into_view(rect.end().y - queries_.measures.line_height, rect.end().y + 8.0F);
  }

  /// Brings the row of a token that was chosen since the view was opened into view once, unless the pointer has chosen it.
  /// The first one's weights are those of the large text.
  void follow_row(std::uint32_t token, bool is_pointed_at) {
    const std::optional<std::uint32_t> before = std::exchange(row_in_view_, token);
    if (!before || *before == token || is_pointed_at || token < first_row_) return;
    const float top = row_top_ + static_cast<float>(token - first_row_) * row_pitch_;
    scroll_into_view(top, top + row_pitch_);
  }

  std::optional<BlocksOf> made_for_;
  TextBlock queries_, keys_;
  TextBlock row_;                       ///< the text of each row; no tokens: there are none
  std::vector<std::string> row_names_;  ///< [token]
  float label_room_ = 0.0F, row_pitch_ = 0.0F;
  std::vector<TextShades> rows_;              ///< [token]
  std::optional<std::uint32_t> row_in_view_;  ///< the last one that was chosen
  std::uint32_t first_row_ = 0;               ///< its token
  float row_top_ = 0.0F;                      ///< of the first row, in the region
  std::optional<std::uint32_t> hovered_key_;  ///< the token under the pointer in a row
  MutedImages muted_;
  std::optional<LockedToken> hovered_, locked_;
  Shown shown_;
};

}  // namespace

std::unique_ptr<ViewPanel> open_text_view() { return std::make_unique<TextView>(); }

}  // namespace headlight::app
