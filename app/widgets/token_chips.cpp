#include "app/widgets/token_chips.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr float kLineHeight = 22.0F;
constexpr float kLineGap = 4.0F;
constexpr float kLinePadding = 7.0F;
constexpr float kMaxChip = 160.0F;
constexpr float kTitle = 52.0F;
constexpr float kDeepestLineShade = 150.0F;  // of 255: the text stays readable
constexpr float kLineWheelStep = 80.0F;

std::string text_of(const TokenLine& line, std::uint32_t token) {
  return line.names && token < line.names->size() ? (*line.names)[token] : line.tokens->name(line.item, token);
}

void lay_out(const Frame& frame, const TokenLine& line, TokenLineMemory& memory) {
  memory.run = frame.result.run;
  memory.item = line.item;
  memory.tokens = line.tokens;
  memory.names = line.names ? *line.names : std::vector<std::string>();
  memory.chosen.reset();
  memory.ends.resize(line.tokens->length);
  float at = 0.0F;
  for (std::uint32_t token = 0; token < line.tokens->length; ++token) {
    const float text = text_width(frame.ui.fonts().small, text_of(line, token));
    at += std::min(std::ceil(text) + 2.0F * kLinePadding, kMaxChip) + kLineGap;
    memory.ends[token] = at;
  }
}

/// Draws a chip. Half of a token would read as another one, so a chip that the line's border cuts has none of it.
void draw_chip(Frame& frame, const TokenLine& line, const chart::Rect& chip, std::uint32_t token, bool is_hovered,
               bool is_whole) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const bool is_chosen = token == line.chosen;
  const bool is_padding =
      line.item < line.tokens->lengths.size() &&
      (token < line.tokens->start(line.item) || token - line.tokens->start(line.item) >= line.tokens->lengths[line.item]);
  const shell::Color ground = is_chosen ? line.fill : is_padding ? theme.padding : theme.field;
  fill_rect(chip, ground, 4.0F);
  if (!is_chosen && token < line.shades.size() && line.shades[token] > 0.0F) {
    const float shade = std::min(line.shades[token], 1.0F) * kDeepestLineShade;
    fill_rect(chip, shell::with_alpha(line.color, static_cast<std::uint32_t>(shade)), 4.0F);
  }
  const shell::Color border = is_chosen ? line.color : is_hovered ? theme.accent_hover : theme.border;
  outline_rect(chip, border, 4.0F, is_chosen ? 1.5F : 1.0F);
  if (!is_whole) {
    const float left = std::max(chip.origin.x, window_rect().origin.x),
                right = std::min(chip.end().x, window_rect().end().x);
    const float width = text_width(font, "\u2026"), x = std::round((left + right - width) * 0.5F);
    if (right - left > width) put_text(font, {x, chip.origin.y + text_drop(font, chip.size.y)}, theme.text_dim, "\u2026");
    return;
  }
  const std::string text = fit_text(font, text_of(line, token), chip.size.x - 2.0F * kLinePadding + 1.0F);
  const glm::vec2 at = chip.origin + glm::vec2(kLinePadding, (chip.size.y - font_size(font)) * 0.5F);
  put_text(font, glm::round(at), is_padding && !is_chosen ? theme.text_dim : theme.text, text);
}

void draw_chips(Frame& frame, const TokenLine& line, TokenLineMemory& memory, TokenLineEvents& events) {
  const glm::vec2 origin = cursor_position();
  const shell::ControlGroup group(frame.ui.keyboard(), "tokens");
  const float room = width_left();
  const auto begin_of = [&](std::uint32_t token) { return token == 0 ? 0.0F : memory.ends[token - 1]; };
  if (memory.chosen != line.chosen && line.chosen < memory.ends.size()) {
    ImGui::SetScrollX(std::max((begin_of(line.chosen) + memory.ends[line.chosen] - room) * 0.5F, 0.0F));
    memory.chosen = line.chosen;
  }
  const float scrolled = ImGui::GetScrollX();
  const auto first = std::upper_bound(memory.ends.begin(), memory.ends.end(), scrolled);
  for (auto at = first; at != memory.ends.end(); ++at) {
    const auto token = static_cast<std::uint32_t>(at - memory.ends.begin());
    if (begin_of(token) > scrolled + room) break;
    const chart::Rect chip{.origin = origin + glm::vec2(begin_of(token), 0.0F),
                           .size = {*at - begin_of(token) - kLineGap, kLineHeight}};
    ImGui::SetCursorScreenPos(chip.origin);
    if (click_area(fmt::format("{}", token).c_str(), chip.size)) events.chosen = token;
    mark_last_item(frame, fmt::format("{}.{}", line.name, token), line.explanation);
    if (token == line.chosen) frame.ui.keyboard().prefer_last();
    const bool is_hovered = ImGui::IsItemHovered();
    if (is_hovered) events.hovered = token;
    const bool is_whole = begin_of(token) >= scrolled - 1.0F && *at - kLineGap <= scrolled + room + 1.0F;
    draw_chip(frame, line, chip, token, is_hovered, is_whole);
  }
  ImGui::SetCursorScreenPos(origin);
  ImGui::Dummy(ImVec2(memory.ends.empty() ? 1.0F : memory.ends.back(), kLineHeight));
  const float wheel = ImGui::GetIO().MouseWheel + ImGui::GetIO().MouseWheelH;
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem) && wheel != 0.0F) {
    ImGui::SetScrollX(std::clamp(scrolled - wheel * kLineWheelStep, 0.0F, ImGui::GetScrollMaxX()));
  }
}

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

void lay_out(ChipLayout& layout, const model::TokenBatch& tokens, const ChipMarks& marks, ImFont& font, float width) {
  layout.chips.clear();
  layout.item_top.clear();
  const float left = tokens.batch > 1 ? kChipGutter : 0.0F;
  glm::vec2 at(0.0F);
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    layout.item_top.push_back(at.y);
    at.x = left;
    for (std::uint32_t token = 0; token < tokens.length; ++token) {
      if (tokens.label(item, token) == nullptr) break;
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

void draw_chip_tooltip(Frame& frame, const model::TokenBatch& tokens, const ChipMarks& marks, const ChipLayout::Chip& chip,
                       const chart::Rect& box) {
  const Tooltip tooltip(frame, box);
  ImGui::PushTextWrapPos(360.0F);
  ImGui::TextUnformatted(chip.is_padding ? "padding" : tokens.texts[chip.item][chip.token].c_str());
  ImGui::PopTextWrapPos();
  const std::size_t at = std::size_t{chip.item} * tokens.length + chip.token;
  std::string detail = fmt::format("token {}", chip.token);
  if (tokens.batch > 1) detail += fmt::format(" of line {}", chip.item + 1);
  if (chip.is_special) detail += ", special";
  if (!chip.is_padding && at < tokens.ids.size()) detail += fmt::format(", id {}", tokens.ids[at]);
  write_dim(frame, detail);
  const std::string about =
      marks.about && !chip.is_padding ? marks.about({.item = chip.item, .token = chip.token}) : std::string();
  if (!about.empty()) write_text(frame.ui.fonts().small, frame.ui.theme().text, about);
}

}  // namespace

ChipEvents draw_token_chips(Frame& frame, const std::string& name, const model::TokenBatch& tokens, const ChipMarks& marks,
                            ChipLayout& layout) {
  const shell::Theme& theme = frame.ui.theme();
  ImFont* font = frame.ui.fonts().small;
  const float full_width = width_left();
  const float width = full_width - ImGui::GetStyle().ScrollbarSize - 2.0F;  // there may be a scroll bar
  if (layout.run != frame.result.run || layout.width != width) {
    lay_out(layout, tokens, marks, *font, width);
    layout.run = frame.result.run;
    layout.width = width;
  }

  ChipEvents events;
  ImGui::BeginChild(name.c_str(), {full_width, std::min(layout.height() + 2.0F, kTallest)}, false,
                    ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav);
  const glm::vec2 origin = cursor_position() + glm::vec2(0.0F, 1.0F);
  const float first_y = ImGui::GetScrollY() - kChipHeight - 1.0F;
  const float last_y = ImGui::GetScrollY() + ImGui::GetWindowHeight();
  const bool is_pointed_at = ImGui::IsWindowHovered();
  const shell::ControlGroup group(frame.ui.keyboard(), "chips");
  const glm::vec2 mouse = pointer_position();

  const auto top_of = [](const ChipLayout::Chip& chip) { return chip.origin.y; };
  const auto begin = std::ranges::lower_bound(layout.chips, first_y, {}, top_of);
  for (auto chip = begin; chip != layout.chips.end() && chip->origin.y < last_y; ++chip) {
    const chart::Rect rect{.origin = origin + chip->origin, .size = {chip->width, kChipHeight}};
    const bool is_hovered = is_pointed_at && rect.contains(mouse);
    const bool is_lit = marks.pointed == ChipTarget{.item = chip->item, .token = chip->token};
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
    ImGui::GetWindowDrawList()->AddText(
        font, font_size(font),
        {low.x + (chip->is_padding ? kPadPadding : kChipPadding), low.y + text_drop(font, kChipHeight)},
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
    draw_chip_tooltip(frame, tokens, marks, *chip, rect);
  }
  for (std::uint32_t item = 0; tokens.batch > 1 && item < tokens.batch; ++item) {
    const float y = layout.item_top[item];
    if (layout.item_top[item + 1] < first_y || y > last_y) continue;
    const bool is_selected = item == marks.item;
    const std::string number = std::to_string(item + 1);
    put_text(font, {origin.x + 6.0F, origin.y + y + text_drop(font, kChipHeight)}, is_selected ? theme.text : theme.text_dim,
             number);
    const float end = item + 1 < tokens.batch ? layout.item_top[item + 1] - kItemGap : layout.item_top[item + 1];
    if (is_selected) fill_rect({origin.x, origin.y + y}, {origin.x + 3.0F, origin.y + end}, theme.accent, 1.5F);
  }
  ImGui::Dummy({1.0F, layout.height() + 1.0F});
  ImGui::EndChild();
  return events;
}

TokenLineEvents draw_token_line(Frame& frame, const TokenLine& line, TokenLineMemory& memory) {
  TokenLineEvents events;
  if (!line.tokens || line.tokens->length == 0) return events;
  const bool is_renamed = line.names && memory.names != *line.names;
  if (is_renamed || memory.run != frame.result.run || memory.item != line.item || memory.tokens != line.tokens) {
    lay_out(frame, line, memory);
  }
  const glm::vec2 start = cursor_position();
  const float width = width_left();
  const std::string number = fmt::format("token {}", line.chosen);  // between the buttons that change it
  const float number_width = std::ceil(text_width(frame.ui.fonts().small, number)) + 2.0F * kLineGap;
  const float buttons = 2.0F * kLineHeight + number_width;
  put_text(frame.ui.fonts().strong, {start.x, start.y + 2.0F}, line.color, line.title);

  ImGui::PushID(line.name);
  ImGui::SetCursorScreenPos(ImVec2(start.x + kTitle, start.y));
  ImGui::BeginChild(
      "chips", {std::max(width - kTitle - buttons - 8.0F, 1.0F), kTokenLineHeight}, false,
      ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  draw_chips(frame, line, memory, events);
  ImGui::EndChild();

  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(4.0F, 2.0F));
  const auto step = [&](const char* id, ImGuiDir direction, float x, bool is_possible, std::uint32_t to, const char* tip) {
    ImGui::SetCursorScreenPos(ImVec2(x, start.y));
    if (draw_arrow_button(frame, fmt::format("{}.{}", line.name, id), direction, tip, is_possible)) events.chosen = to;
  };
  const float right = start.x + width - buttons;
  step("previous", ImGuiDir_Left, right, line.chosen > 0, line.chosen - 1, "The token before.");
  put_text(frame.ui.fonts().small,
           {right + kLineHeight + kLineGap, start.y + text_drop(frame.ui.fonts().small, kLineHeight)},
           frame.ui.theme().text_dim, number);
  step("next", ImGuiDir_Right, right + kLineHeight + number_width, line.chosen + 1 < line.tokens->length, line.chosen + 1,
       "The next token.");
  ImGui::PopStyleVar();
  ImGui::PopID();
  ImGui::SetCursorScreenPos(start);
  ImGui::Dummy(ImVec2(width, kTokenLineHeight));
  return events;
}

}  // namespace headlight::app
