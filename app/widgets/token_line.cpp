#include "app/widgets/token_line.h"

#include "app/cells/stage_text.h"
#include "app/shell/click_area.h"
#include "app/widgets/controls.h"
#include "app/widgets/text.h"

namespace headlight::app {
namespace {

constexpr float kLineHeight = 22.0F;
constexpr float kLineGap = 4.0F;
constexpr float kLinePadding = 7.0F;
constexpr float kMostChip = 160.0F;
constexpr float kTitle = 52.0F;
constexpr float kDeepestLineShade = 150.0F;  // of 255: the text stays readable
constexpr float kLineWheelStep = 80.0F;

std::string text_of(const TokenLine& line, std::uint32_t token) {
  const std::string* text = token_text(*line.tokens, line.item, token);
  return text != nullptr ? *text : std::to_string(token);
}

void lay_out(const Frame& frame, const TokenLine& line, TokenLineMemory& memory) {
  memory.run = frame.result.run;
  memory.item = line.item;
  memory.tokens = line.tokens;
  memory.chosen.reset();
  memory.ends.resize(line.tokens->length);
  float at = 0.0F;
  for (std::uint32_t token = 0; token < line.tokens->length; ++token) {
    const float text = text_width(frame.ui.fonts().small, text_of(line, token));
    at += std::min(std::ceil(text) + 2.0F * kLinePadding, kMostChip) + kLineGap;
    memory.ends[token] = at;
  }
}

/// Half of a token would read as another one, so a chip that the line's border cuts has no text.
void draw_chip(Frame& frame, const TokenLine& line, const view::Rect& chip, std::uint32_t token, bool is_hovered,
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
  if (!is_whole) return;
  const std::string text = fit_text(font, text_of(line, token), chip.size.x - 2.0F * kLinePadding + 1.0F);
  const glm::vec2 at = chip.origin + glm::vec2(kLinePadding, (chip.size.y - font_size(font)) * 0.5F);
  put_text(font, glm::round(at), is_padding && !is_chosen ? theme.text_dim : theme.text, text);
}

void draw_chips(Frame& frame, const TokenLine& line, TokenLineMemory& memory, TokenLineEvents& events) {
  const glm::vec2 origin = to_glm(ImGui::GetCursorScreenPos());
  const shell::ControlGroup group(frame.ui.keyboard(), "tokens");
  const float room = ImGui::GetContentRegionAvail().x;
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
    const view::Rect chip{.origin = origin + glm::vec2(begin_of(token), 0.0F),
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

}  // namespace

TokenLineEvents draw_token_line(Frame& frame, const TokenLine& line, TokenLineMemory& memory) {
  TokenLineEvents events;
  if (!line.tokens || line.tokens->length == 0) return events;
  if (memory.run != frame.result.run || memory.item != line.item || memory.tokens != line.tokens) {
    lay_out(frame, line, memory);
  }
  const glm::vec2 start = to_glm(ImGui::GetCursorScreenPos());
  const float width = ImGui::GetContentRegionAvail().x;
  const float buttons = 2.0F * kLineHeight + kLineGap;
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
  step("next", ImGuiDir_Right, right + kLineHeight + kLineGap, line.chosen + 1 < line.tokens->length, line.chosen + 1,
       "The next token.");
  ImGui::PopStyleVar();
  ImGui::PopID();
  ImGui::SetCursorScreenPos(start);
  ImGui::Dummy(ImVec2(width, kTokenLineHeight));
  return events;
}

}  // namespace headlight::app
