#include "app/widgets/prompt_box.h"

#include "app/engine/prompt_lines.h"
#include "app/widgets/controls.h"
#include "app/widgets/token_side.h"
#include "text/chat_turns.h"

namespace headlight::app {
namespace {

constexpr float kFewestRows = 2.0F;
constexpr float kMaxPromptRows = 7.0F;

LineRange line_of(const State& state, const PromptBox& box, std::uint32_t item) {
  if (&box.text != &state.text()) return partner_line(state.text(), item, box.text, state.model().joins_lines);
  const std::vector<LineRange> items = item_lines(state.text(), state.model().joins_lines);
  return item < items.size() ? items[item] : LineRange{};
}

/// Returns the byte range of a token in its box; none for special tokens and those of another box.
std::optional<LineRange> bytes_of(const State& state, const PromptBox& box, const PromptSide& side, ChipTarget target) {
  if (target.item >= side.prompt.size() || target.token < side.tokens.start(target.item)) return std::nullopt;
  const std::vector<text::Token>& line = side.prompt[target.item];
  const std::uint32_t index = target.token - side.tokens.start(target.item);
  if (index >= line.size() || line[index].bytes.is_empty() || line[index].sequence != box.sequence) return std::nullopt;
  const LineRange range = line_of(state, box, target.item);
  return LineRange{.begin = range.begin + line[index].bytes.begin,
                   .end = std::min(range.begin + line[index].bytes.end, range.end)};
}

/// Returns the token that contains a byte of the box.
std::optional<ChipTarget> token_at(const State& state, const PromptBox& box, const PromptSide& side, std::size_t byte) {
  for (std::uint32_t item = 0; item < side.prompt.size(); ++item) {
    const LineRange range = line_of(state, box, item);
    if (byte < range.begin || byte > range.end) continue;
    for (std::uint32_t i = 0; i < side.prompt[item].size(); ++i) {
      const text::Token& token = side.prompt[item][i];
      if (token.sequence != box.sequence || token.bytes.is_empty()) continue;
      if (byte - range.begin < token.bytes.begin || byte - range.begin >= token.bytes.end) continue;
      return ChipTarget{.item = item, .token = side.tokens.start(item) + i};
    }
  }
  return std::nullopt;
}

/// Marks the tokens under the pointer, on the map or among the chips, tinted in their roles' colours.
std::vector<shell::TextMark> marks_of(const Frame& frame, const PromptBox& box, const PromptSide& side,
                                      const std::optional<ChipTarget>& pointed) {
  const shell::Theme& theme = frame.ui.theme();
  const std::uint32_t item = frame.state.selection.batch;
  std::vector<shell::TextMark> marks;
  const auto mark = [&](ChipTarget target, shell::Color color) {
    if (const auto bytes = bytes_of(frame.state, box, side, target)) {
      marks.push_back({.begin = bytes->begin, .end = bytes->end, .color = color});
    }
  };
  const std::optional<attention::Cell>& hovered = frame.transient.hovered;
  if (hovered && attention::is_map(frame.transient.hovered_stage)) {
    if (side.is_query) mark({.item = item, .token = hovered->query}, theme.query);
    if (side.is_key) mark({.item = item, .token = hovered->key}, theme.key);
  }
  if (pointed) mark(*pointed, theme.accent);
  return marks;
}

}  // namespace

std::optional<PromptSide> prompt_side(const Frame& frame, bool is_target) {
  const EngineResult& result = frame.result;
  if (result.run == 0 || !result.prompt || (is_target && !result.input->target)) return std::nullopt;
  const model::TokenBatch& tokens = is_target ? *result.input->target : result.input->source;
  const model::BlockKind kind = frame.state.selection.block.kind;
  return PromptSide{.tokens = tokens,
                    .prompt = is_target ? result.prompt->target_tokens : result.prompt->tokens,
                    .is_query = &result.input->queries(kind) == &tokens,
                    .is_key = &result.input->keys(kind) == &tokens};
}

shell::FieldFocus text_box_focus(Frame& frame) {
  return static_cast<shell::FieldFocus>(std::exchange(frame.transient.text_focus, TextFocus::None));
}

void draw_prompt_caption(Frame& frame, const char* text) {
  write_text(frame.ui.fonts().small, frame.ui.theme().text_dim, text);
}

std::optional<ChipTarget> draw_prompt_box(Frame& frame, const PromptBox& box, const PromptSide* side,
                                          const std::optional<ChipTarget>& pointed, bool* is_changed) {
  std::vector<shell::TextMark> marks;
  if (side) marks = marks_of(frame, box, *side, pointed);
  shell::TextPointer pointer;
  const bool is_first = &box.text == &frame.state.text();
  if (is_first && frame.state.model().is_chat) {
    for (const text::ByteRange role : text::role_ranges(box.text))
      marks.push_back({.begin = role.begin, .end = role.end, .color = frame.ui.theme().output});
  }
  ImGui::PushStyleColor(ImGuiCol_Text, box.ink != 0 ? box.ink : frame.ui.theme().text);
  const bool was_changed = frame.ui.text_field(fmt::format("##{}", box.name).c_str(), box.text,
                                               {.height = shell::text_field_height(kFewestRows),
                                                .most_height = shell::text_field_height(kMaxPromptRows),
                                                .focus = is_first ? text_box_focus(frame) : shell::FieldFocus::None,
                                                .hint = box.hint,
                                                .marks = marks,
                                                .pointer = &pointer});
  ImGui::PopStyleColor();
  if (is_changed != nullptr) *is_changed = was_changed;
  frame.mark(box.name, last_item_rect());
  for (const shell::TextMark& mark : marks)
    frame.mark(fmt::format("{}.mark.{}-{}", box.name, mark.begin, mark.end), last_item_rect());
  if (!side) return std::nullopt;
  if (pointer.hovered) return token_at(frame.state, box, *side, *pointer.hovered);
  if (!pointer.caret) return std::nullopt;
  // The caret is after the last typed character.
  return token_at(frame.state, box, *side, *pointer.caret > 0 ? *pointer.caret - 1 : 0);
}

void draw_prompt_chips(Frame& frame, const char* name, const PromptSide& side, ChipLayout& layout,
                       std::optional<ChipTarget>& remembered, const std::optional<ChipTarget>& in_text) {
  const std::optional<ChipTarget> hovered = draw_token_side(frame, name, side.tokens, layout, in_text);
  const bool is_same = hovered.has_value() == remembered.has_value() &&
                       (!hovered || (hovered->item == remembered->item && hovered->token == remembered->token));
  if (!is_same) frame.ui.request_redraw(2);  // the boxes above are drawn already
  remembered = hovered;
}

}  // namespace headlight::app
