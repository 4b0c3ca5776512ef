#include "app/views/lines/lines_drawing.h"

#include "app/state/comparison.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/thumbnail.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

constexpr float kGap = 16.0F;
constexpr float kSliderWidth = 110.0F;
constexpr float kChipHeight = 22.0F;
constexpr float kSwatch = 10.0F;
constexpr float kChipGap = 4.0F;
constexpr float kMaxChipRows = 3.0F;
constexpr const char* kWord = "heads";

void draw_title(Frame& frame, const inference::BlockShape& shape) {
  const Selection& selection = frame.state.selection;
  const shell::FontSet& fonts = frame.ui.fonts();
  const LineChoices& choices = frame.state.view.lines;
  std::uint32_t shown = 0;
  for (std::uint32_t head = 0; head < shape.heads; ++head) shown += shows_head(choices, head, selection.head) ? 1U : 0U;
  draw_view_title(frame, choices.shows_selected
                             ? fmt::format("Layer {} · head {}", selection.block.layer.value, selection.head)
                             : fmt::format("Layer {} · {} of {} head{}", selection.block.layer.value, shown, shape.heads,
                                           shape.heads == 1 ? "" : "s"));
  frame.mark("lines.title", last_item_rect());
  explain_last_item(frame,
                    "Each line is a weight from the query at the left to the key at the right: the larger it is, the more "
                    "opaque, by its square root. Of two runs it is a weight\u2019s change: red where there is more, blue "
                    "where there is less.");
  std::string about = fmt::format("{} · {} × {}", kind_name(frame.result, selection.block.kind), shape.queries, shape.keys);
  if (shape.batch > 1) about += fmt::format(" · line {} of {}", selection.batch + 1, shape.batch);
  continue_line(text_width(fonts.small, about), kGap);
  draw_title_note(frame, about);
  place_sentence(frame);
}

void draw_threshold(Frame& frame) {
  write_label(frame.ui.fonts().small, frame.ui.theme().text, frame.shows_difference() ? "from change" : "from weight");
  ImGui::SameLine(0.0F, 8.0F);
  ImGui::SetNextItemWidth(kSliderWidth);
  ImGui::SliderFloat("##threshold", &frame.state.view.lines.threshold, kMinLineWeight, kMaxLineWeight, "",
                     ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp);
  mark_last_item(frame, "lines.threshold", "Smaller weights have no line. Ctrl and click to type.");
  float& threshold = frame.state.view.lines.threshold;
  step_by_keys(frame, threshold, kMinLineWeight, kMaxLineWeight, 0.1F * threshold);  // the scale is logarithmic
  ImGui::SameLine(0.0F, 8.0F);
  const std::string shown = fmt::format("{:.2g}", threshold);
  const float left = ImGui::GetCursorPosX();
  write_label(frame.ui.fonts().small, frame.ui.theme().text, shown);
  ImGui::SameLine(left + text_width(frame.ui.fonts().small, "0.00088"));  // what follows stays
  ImGui::Dummy({0.0F, ImGui::GetFrameHeight()});
}

void choose_part(Frame& frame) {
  const std::array<std::string, 5> labels = {"all", "A → A", "A → B", "B → A", "B → B"};
  continue_line(segmented_width(frame, labels), kGap);
  choose_segment(frame, "lines.pair", labels, frame.state.view.lines.pair_part);
}

/// Draws the number of lines, which changes with the item under the pointer. So the number decides neither where the text
/// begins nor how high the header is, which would move that item away from the pointer, and back in the next frame.
void draw_count(Frame& frame, const LineSet& shown) {
  const auto counted = [](std::size_t count) { return fmt::format("{} line{}", count, count == 1 ? "" : "s"); };
  std::string of_locked;
  if (const auto& locked = frame.state.view.locked) {
    of_locked =
        fmt::format(" of the locked {} alone; Esc shows the others", locked->side == MapSide::Query ? "query" : "key");
  }
  const std::string text =
      (shown.found > shown.lines.size() ? fmt::format("the strongest {} of {} lines", shown.lines.size(), shown.found)
                                        : counted(shown.found)) +
      of_locked;
  ImFont* font = frame.ui.fonts().small;
  constexpr std::size_t kWide = 88'888;  // at least as wide as most numbers
  continue_line(text_width(font, counted(kWide) + of_locked), kGap);
  const std::string fitting = fit_text(font, text, width_left());
  write_label(font, frame.ui.theme().text_dim, fitting);
  frame.mark("lines.count", last_item_rect());
  if (fitting != text) explain_last_item(frame, text.c_str());
}

/// Draws lines as they are drawn of three weights, where there is room for them.
void draw_opacities(Frame& frame) {
  constexpr std::array kWeights = {0.1F, 0.5F, 1.0F};
  constexpr float kStroke = 20.0F, kInner = 4.0F, kBetween = 10.0F;
  ImFont* font = frame.ui.fonts().small;
  const auto written = [](float weight) { return fmt::format("{}", weight); };
  float width = -kBetween;
  for (const float weight : kWeights) width += kBetween + kStroke + kInner + text_width(font, written(weight));
  ImGui::SameLine(0.0F, kGap);
  if (width_left() < width) return ImGui::NewLine();
  glm::vec2 at = cursor_position();
  const float drop = text_drop(font, ImGui::GetFrameHeight());
  for (const float weight : kWeights) {
    const float y = at.y + drop + 0.5F * font_size(font);
    draw_line({at.x, y}, {at.x + kStroke, y}, line_color(frame, frame.state.selection.head, weight), kLineThickness);
    put_text(font, {at.x + kStroke + kInner, at.y + drop}, frame.ui.theme().text_dim, written(weight));
    at.x += kStroke + kInner + text_width(font, written(weight)) + kBetween;
  }
  ImGui::Dummy({width, ImGui::GetFrameHeight()});
}

class Legend {
 public:
  Legend(Frame& frame, std::uint32_t heads)
      : frame_(frame),
        choices_(frame.state.view.lines),
        heads_(heads),
        selected_(frame.state.selection.head),
        font_(frame.ui.fonts().small),
        number_width_(text_width(font_, fmt::format("{}", heads > 0 ? heads - 1 : 0))) {}

  std::optional<std::uint32_t> draw() {
    const float width = width_left() - ImGui::GetStyle().ScrollbarSize;
    const auto across = std::max(std::floor((width + kChipGap) / (chip_width() + kChipGap)), 1.0F);
    // "selected", "all" and "none" are as wide as seven chips at most.
    const float rows = std::ceil((static_cast<float>(heads_) + 7.0F) / across);
    const float height = std::min(rows, kMaxChipRows) * (kChipHeight + kChipGap);
    begin_bare_region("legend", {0.0F, height});
    origin_ = at_ = cursor_position();
    end_x_ = origin_.x + width;
    const shell::ControlGroup group(frame_.ui.keyboard(), "heads");
    const chart::Rect word = place(std::ceil(text_width(font_, kWord)) + 4.0F);
    put_text(font_, {word.origin.x, word.origin.y + text_drop(font_, kChipHeight)}, frame_.ui.theme().text_dim, kWord);
    for (std::uint32_t head = 0; head < heads_; ++head) draw_chip(head);
    if (heads_ > 1) {
      if (draw_word("selected", "lines.selected", "Draws the selected head alone, whichever it is.")) {
        choices_.shows_selected = true;
        choices_.hidden_heads.clear();
      }
      if (draw_word("all", "lines.all", "Draws all heads of the layer.")) {
        choices_.shows_selected = false;
        choices_.hidden_heads.clear();
      }
      if (draw_word("none", "lines.none", "Draws no head.")) {
        choices_.shows_selected = false;
        choices_.hidden_heads.clear();
        for (std::uint32_t head = 0; head < heads_; ++head) choices_.hidden_heads.push_back(head);
      }
    }
    ImGui::EndChild();
    return hovered_;
  }

 private:
  float chip_width() const { return std::ceil(6.0F + kSwatch + 5.0F + number_width_ + 7.0F); }

  /// Returns the next place of this width, on a line of its own where the present one is full.
  chart::Rect place(float width) {
    if (at_.x > origin_.x && at_.x + width > end_x_) at_ = {origin_.x, at_.y + (kChipHeight + kChipGap)};
    const chart::Rect rect{.origin = at_, .size = {width, kChipHeight}};
    at_.x += width + kChipGap;
    ImGui::SetCursorScreenPos(rect.origin);
    return rect;
  }

  void draw_chip(std::uint32_t head) {
    const chart::Rect rect = place(chip_width());
    const std::string name = fmt::format("lines.head.{}", head);
    const bool is_clicked = click_area(name.c_str(), rect.size);
    const bool is_hovered = ImGui::IsItemHovered();
    mark_last_item(frame_, name, "A click hides the head or shows it beside the others, a double click shows it alone.");
    if (is_hovered) hovered_ = head;
    // The release that ends a double click is no click of its own.
    int& ends_double_click = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("double click"), 0);
    if (is_clicked && (ends_double_click == 0 || frame_.ui.keyboard().is_active()))
      toggle_head(choices_, head, selected_, heads_);
    if (is_hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
      ends_double_click = ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) ? 1 : 0;
      if (ends_double_click != 0) show_only(choices_, head, heads_);
    }
    const shell::Theme& theme = frame_.ui.theme();
    const bool is_shown = shows_head(choices_, head, selected_);
    const bool is_selected = frame_.state.selection.head == head && frame_.state.selection.mean == HeadMean::None;
    const shell::Color packed = shell::mark_on(theme.field, chart::pack(chart::head_color(head)), theme.text);
    const glm::vec2 low = rect.origin;
    fill_rect(rect, is_hovered ? theme.hover : is_shown ? theme.field : theme.background, 4.0F);
    outline_rect(rect, is_selected ? theme.accent : theme.border, 4.0F);
    const glm::vec2 swatch(low.x + 6.0F, low.y + (kChipHeight - kSwatch) * 0.5F);
    const glm::vec2 swatch_end = swatch + kSwatch;
    // Filled or hollow: the colour alone doesn't say whether the head is shown.
    if (is_shown) {
      fill_rect(swatch, swatch_end, packed, 2.0F);
    } else {
      outline_rect(swatch, swatch_end, packed, 2.0F);
    }
    put_text(font_, {swatch_end.x + 5.0F, low.y + text_drop(font_, kChipHeight)}, is_shown ? theme.text : theme.text_dim,
             fmt::format("{}", head));
  }

  bool draw_word(const char* word, const char* name, const char* tip) {
    const chart::Rect rect = place(std::ceil(text_width(font_, word)) + 12.0F);
    const bool is_clicked = click_area(name, rect.size);
    mark_last_item(frame_, name, tip);
    const shell::Theme& theme = frame_.ui.theme();
    put_text(font_, {rect.origin.x + 6.0F, rect.origin.y + text_drop(font_, kChipHeight)},
             ImGui::IsItemHovered() ? theme.accent_hover : theme.accent, word);
    return is_clicked;
  }

  Frame& frame_;
  LineChoices& choices_;
  std::uint32_t heads_, selected_;
  ImFont* font_;
  float number_width_;
  glm::vec2 origin_{0.0F}, at_{0.0F};
  float end_x_ = 0.0F;
  std::optional<std::uint32_t> hovered_;
};

}  // namespace

bool shows_head(const LineChoices& choices, std::uint32_t head, std::uint32_t selected) {
  return choices.shows_selected ? head == selected : !std::ranges::binary_search(choices.hidden_heads, head);
}

void toggle_head(LineChoices& choices, std::uint32_t head, std::uint32_t selected, std::uint32_t heads) {
  if (choices.shows_selected) show_only(choices, selected, heads);
  const auto at = std::ranges::lower_bound(choices.hidden_heads, head);
  if (at != choices.hidden_heads.end() && *at == head) {
    choices.hidden_heads.erase(at);
  } else {
    choices.hidden_heads.insert(at, head);
  }
}

void show_only(LineChoices& choices, std::uint32_t head, std::uint32_t heads) {
  choices.shows_selected = false;
  choices.hidden_heads.clear();
  for (std::uint32_t other = 0; other < heads; ++other) {
    if (other != head) choices.hidden_heads.push_back(other);
  }
}

std::optional<std::uint32_t> draw_lines_header(Frame& frame, bool has_pair, const LineSet& shown) {
  const inference::BlockShape& shape = *selected_shape(frame);
  draw_title(frame, shape);
  draw_threshold(frame);
  if (has_pair) choose_part(frame);
  draw_count(frame, shown);
  draw_opacities(frame);
  return Legend(frame, shape.heads).draw();
}

}  // namespace headlight::app
