#include "app/widgets/token_chips.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kChipHeight = 22.0F;
constexpr float kChipGap = 4.0F;
constexpr float kItemGap = 10.0F;
constexpr float kChipGutter = 22.0F;  // the lines' numbers; only in a batch
constexpr float kChipPadding = 7.0F;
constexpr float kPadPadding = 4.0F;  // of pad tokens, which are many and have no content
constexpr float kTallest = 132.0F;   // of the area; more tokens scroll

constexpr float kDeepestChipShade = 140.0F;  // of 255: the text stays readable

const char* const kPaddingText = "pad";

bool is_special(const ChipMarks& marks, const model::TokenBatch& tokens, std::uint32_t item, std::uint32_t token) {
  if (!marks.special || item >= marks.special->size() || token < tokens.start(item)) return false;
  const std::vector<text::Token>& line = (*marks.special)[item];
  const std::uint32_t index = token - tokens.start(item);
  return index < line.size() && line[index].is_special;
}

void lay_out(ChipLayout& layout, const model::TokenBatch& tokens, const ChipMarks& marks, const ImFont& font, float width) {
  layout.chips.clear();
  layout.item_top.clear();
  const float left = tokens.batch > 1 ? kChipGutter : 0.0F;
  glm::vec2 at(0.0F);
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    layout.item_top.push_back(at.y);
    at.x = left;
    for (std::uint32_t token = 0; token < tokens.length; ++token) {
      if (token_text(tokens, item, token) == nullptr) break;
      const bool is_padding = token < tokens.start(item) || token - tokens.start(item) >= tokens.lengths[item];
      if (is_padding && !marks.shows_padding) continue;
      const char* text = is_padding ? kPaddingText : tokens.texts[item][token].c_str();
      const float wanted =
          font.CalcTextSizeA(font_size(&font), FLT_MAX, 0.0F, text).x + 2.0F * (is_padding ? kPadPadding : kChipPadding);
      const float chip = std::min(std::ceil(wanted), width - left);
      if (at.x > left && at.x + chip > width) at = {left, at.y + (kChipHeight + kChipGap)};
      layout.chips.push_back({.origin = at,
                              .width = chip,
                              .item = item,
                              .token = token,
                              .is_padding = is_padding,
                              .is_special = is_special(marks, tokens, item, token)});
      at.x += chip + kChipGap;
    }
    at.y += kChipHeight + (item + 1 < tokens.batch ? kItemGap : 0.0F);
  }
  layout.item_top.push_back(at.y);
}

struct ChipColors {
  shell::Color ground, text, border;
};

ChipColors colors_of(const ChipLayout::Chip& chip, const ChipMarks& marks, bool is_hovered, const shell::Theme& theme) {
  const bool is_selected_item = chip.item == marks.item;
  ChipColors colors{.ground = theme.field, .text = theme.text, .border = theme.border};
  if (chip.is_padding) colors = {.ground = theme.padding, .text = theme.text_dim, .border = 0};
  if (chip.is_special) colors = {.ground = 0, .text = theme.text_dim, .border = theme.border};
  if (is_selected_item && marks.key == chip.token)
    colors = {.ground = theme.key_fill, .text = theme.text, .border = theme.key};
  if (is_selected_item && marks.query == chip.token) {
    colors = {.ground = theme.query_fill, .text = theme.text, .border = theme.query};
  }
  if (is_selected_item && marks.pinned == chip.token) colors.border = theme.accent;
  if (is_hovered) colors.border = theme.accent_hover;
  return colors;
}

void draw_chip_tooltip(Frame& frame, const model::TokenBatch& tokens, const ChipLayout::Chip& chip, const view::Rect& box) {
  const Tooltip tooltip(frame, box);
  ImGui::PushTextWrapPos(360.0F);
  ImGui::TextUnformatted(chip.is_padding ? "padding" : tokens.texts[chip.item][chip.token].c_str());
  ImGui::PopTextWrapPos();
  const std::size_t at = std::size_t{chip.item} * tokens.length + chip.token;
  std::string detail = fmt::format("token {}", chip.token);
  if (tokens.batch > 1) detail += fmt::format(" of line {}", chip.item + 1);
  if (chip.is_special) detail += ", special";
  if (!chip.is_padding && at < tokens.ids.size()) detail += fmt::format(", id {}", tokens.ids[at]);
  write_text(frame.ui.fonts().small, frame.ui.theme().text_dim, detail);
}

}  // namespace

ChipEvents draw_token_chips(Frame& frame, const std::string& name, const model::TokenBatch& tokens, const ChipMarks& marks,
                            ChipLayout& layout) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const float full_width = ImGui::GetContentRegionAvail().x;
  const float width = full_width - ImGui::GetStyle().ScrollbarSize - 2.0F;  // there may be a scroll bar
  if (layout.run != frame.result.run || layout.width != width) {
    lay_out(layout, tokens, marks, *font, width);
    layout.run = frame.result.run;
    layout.width = width;
  }

  ChipEvents events;
  ImGui::BeginChild(name.c_str(), {full_width, std::min(layout.height() + 2.0F, kTallest)}, false,
                    ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav);
  const glm::vec2 origin = to_glm(ImGui::GetCursorScreenPos()) + glm::vec2(0.0F, 1.0F);
  const float first_y = ImGui::GetScrollY() - kChipHeight - 1.0F;
  const float last_y = ImGui::GetScrollY() + ImGui::GetWindowHeight();
  const bool is_pointed_at = ImGui::IsWindowHovered();
  const shell::ControlGroup group(frame.ui.keyboard(), "chips");
  const glm::vec2 mouse = pointer_position();

  const auto top_of = [](const ChipLayout::Chip& chip) { return chip.origin.y; };
  const auto begin = std::ranges::lower_bound(layout.chips, first_y, {}, top_of);
  for (auto chip = begin; chip != layout.chips.end() && chip->origin.y < last_y; ++chip) {
    const view::Rect rect{.origin = origin + chip->origin, .size = {chip->width, kChipHeight}};
    const bool is_hovered = is_pointed_at && rect.contains(mouse);
    const bool is_lit = marks.pointed && marks.pointed->item == chip->item && marks.pointed->token == chip->token;
    const ChipColors colors = colors_of(*chip, marks, is_hovered || is_lit, theme);
    const ImVec2 low = rect.origin, high = rect.end();
    shell::Color ground = colors.ground == 0 ? theme.panel : colors.ground;
    fill_rect(rect, colors.ground, 4.0F);
    if (chip->item == marks.item && chip->token < marks.shades.size()) {
      const float shade = std::clamp(marks.shades[chip->token], 0.0F, 1.0F);
      const shell::Color color = shell::with_alpha(theme.key, static_cast<std::uint32_t>(kDeepestChipShade * shade));
      fill_rect(rect, color, 4.0F);
      ground = shell::blended(color, ground);
    }
    if (colors.border != 0) outline_rect(rect, colors.border, 4.0F);
    const char* text = chip->is_padding ? kPaddingText : tokens.texts[chip->item][chip->token].c_str();
    const ImVec4 clip(low.x + 2.0F, low.y, high.x - 2.0F, high.y);
    ImGui::GetWindowDrawList()->AddText(font, font_size(font),
                                        {low.x + (chip->is_padding ? kPadPadding : kChipPadding),
                                         low.y + std::round((kChipHeight - font_size(font)) * 0.5F)},
                                        shell::text_on(ground, colors.text), text, nullptr, 0.0F, &clip);
    const std::string chip_name = fmt::format("{}.{}.{}", name, chip->item, chip->token);
    frame.mark(chip_name, rect);
    if (frame.ui.keyboard().offer(ImGui::GetID(chip_name.c_str()), rect))
      events.clicked = ChipTarget{.item = chip->item, .token = chip->token};
    if (!is_hovered) continue;
    events.hovered = ChipTarget{.item = chip->item, .token = chip->token};
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) events.clicked = events.hovered;
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Right)) events.right_clicked = events.hovered;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    draw_chip_tooltip(frame, tokens, *chip, rect);
  }
  for (std::uint32_t item = 0; tokens.batch > 1 && item < tokens.batch; ++item) {
    const float y = layout.item_top[item];
    if (layout.item_top[item + 1] < first_y || y > last_y) continue;
    const bool is_selected = item == marks.item;
    const std::string number = std::to_string(item + 1);
    put_text(font, {origin.x + 6.0F, origin.y + y + std::round((kChipHeight - font_size(font)) * 0.5F)},
             is_selected ? theme.text : theme.text_dim, number);
    const float end = item + 1 < tokens.batch ? layout.item_top[item + 1] - kItemGap : layout.item_top[item + 1];
    if (is_selected) fill_rect({origin.x, origin.y + y}, {origin.x + 3.0F, origin.y + end}, theme.accent, 1.5F);
  }
  ImGui::Dummy({1.0F, layout.height() + 1.0F});
  ImGui::EndChild();
  return events;
}

}  // namespace headlight::app
