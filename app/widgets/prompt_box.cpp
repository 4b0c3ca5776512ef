#include "app/widgets/prompt_box.h"

#include "app/engine/prompt_lines.h"
#include "app/widgets/controls.h"
#include "app/widgets/shown_tile.h"
#include "app/widgets/token_side.h"
#include "text/chat_turns.h"

namespace headlight::app {
namespace {

constexpr float kMaxShownRows = 4.0F;

bool joins_lines(const State& state) { return is_model(state.source) && state.model().joins_lines; }

/// Calls `visit(token, bytes)` for each token of the box with its bytes in the text; special tokens have none.
template <typename Visit>
void each_token(const State& state, const PromptBox& box, const PromptSide& side, const Visit& visit) {
  const bool is_first = &box.text == &state.text();
  const std::vector<LineRange> items = is_first ? item_lines(box.text, joins_lines(state)) : std::vector<LineRange>();
  for (std::uint32_t item = 0; item < side.prompt.size(); ++item) {
    if (is_first && item >= items.size()) return;
    const LineRange range = is_first ? items[item] : partner_line(state.text(), item, box.text, joins_lines(state));
    for (std::uint32_t i = 0; i < side.prompt[item].size(); ++i) {
      const text::Token& token = side.prompt[item][i];
      if (token.sequence != box.sequence || token.bytes.is_empty()) continue;
      visit(ChipTarget{.item = item, .token = side.tokens.start(item) + i},
            LineRange{.begin = range.begin + token.bytes.begin, .end = std::min(range.begin + token.bytes.end, range.end)});
    }
  }
}

/// Returns the token that contains a byte of the box.
std::optional<ChipTarget> token_at(const State& state, const PromptBox& box, const PromptSide& side, std::size_t byte) {
  std::optional<ChipTarget> found;
  each_token(state, box, side, [&](const ChipTarget& token, const LineRange& bytes) {
    if (!found && byte >= bytes.begin && byte < bytes.end) found = token;
  });
  return found;
}

/// Marks the tokens under the pointer, on the map or among the chips, tinted in their roles' colours.
std::vector<shell::TextMark> marks_of(const Frame& frame, const PromptBox& box, const PromptSide& side,
                                      const std::optional<ChipTarget>& pointed) {
  const shell::Theme& theme = frame.ui.theme();
  const std::uint32_t item = frame.state.selection.batch;
  std::vector<shell::TextMark> marks;
  const auto mark = [&](ChipTarget target, shell::Color color) {
    each_token(frame.state, box, side, [&](const ChipTarget& token, const LineRange& bytes) {
      if (token == target) marks.push_back({.begin = bytes.begin, .end = bytes.end, .color = color});
    });
  };
  const std::optional<attention::Cell>& hovered = frame.transient.hovered;
  if (hovered && attention::is_map(frame.transient.hovered_stage)) {
    if (side.is_query) mark({.item = item, .token = hovered->query}, theme.query);
    if (side.is_key) mark({.item = item, .token = hovered->key}, theme.key);
  }
  if (pointed) mark(*pointed, theme.accent);
  return marks;
}

/// Makes the lines below all tokens, without the spaces around them.
void find_lines(BoxTokens& shown, const State& state, const PromptBox& box, const PromptSide& side) {
  shown.lines.clear();
  shown.tokens.clear();
  each_token(state, box, side, [&](const ChipTarget& token, LineRange bytes) {
    while (bytes.begin < bytes.end && box.text[bytes.begin] == ' ') ++bytes.begin;
    while (bytes.begin < bytes.end && box.text[bytes.end - 1] == ' ') --bytes.end;
    if (bytes.begin >= bytes.end || (!shown.lines.empty() && bytes.begin < shown.lines.back().end)) return;
    shown.lines.push_back({.begin = bytes.begin, .end = bytes.end, .color = shown.color, .is_line = true});
    shown.tokens.push_back(token);
  });
}

/// Tints the tokens as the followed query attends to them.
void shade_keys(Frame& frame, const BoxTokens& shown, const PromptSide& side, std::vector<shell::TextMark>& marks) {
  constexpr float kFaintest = 0.02F;
  const std::vector<float> shades = token_shades(frame, side.tokens);
  for (std::size_t i = 0; i < (shades.empty() ? 0 : shown.tokens.size()); ++i) {
    const auto [item, token] = shown.tokens[i];
    if (item != frame.state.selection.batch || token >= shades.size() || !(shades[token] >= kFaintest)) continue;
    const auto alpha = static_cast<std::uint32_t>(255.0F * std::min(shades[token], 1.0F));
    marks.push_back(
        {.begin = shown.lines[i].begin, .end = shown.lines[i].end, .color = shell::with_alpha(frame.ui.theme().key, alpha)});
  }
}

/// Adds the lines below the pinned row's and column's tokens, which are written in their roles' colours.
void mark_pinned(const Frame& frame, const BoxTokens& shown, const PromptSide& side, std::vector<shell::TextMark>& marks) {
  const std::optional<attention::Cell>& pinned = frame.state.view.pinned;
  const auto mark = [&](std::uint32_t token, shell::Color color) {
    const auto found = std::ranges::find(shown.tokens, ChipTarget{.item = frame.state.selection.batch, .token = token});
    if (found == shown.tokens.end()) return;
    shell::TextMark line = shown.lines[static_cast<std::size_t>(found - shown.tokens.begin())];
    line.color = line.ink = color;
    marks.push_back(line);
  };
  if (pinned && side.is_key) mark(pinned->key, frame.ui.theme().key);
  if (pinned && side.is_query) mark(pinned->query, frame.ui.theme().query);
}

}  // namespace

std::optional<PromptSide> prompt_side(const Frame& frame, bool is_target) {
  const EngineResult& result = frame.result;
  if (result.run == 0 || !result.prompt || (is_target && !result.input->target)) return std::nullopt;
  const model::TokenBatch& tokens = is_target ? *result.input->target : result.input->source;
  return PromptSide{.tokens = tokens,
                    .prompt = is_target ? result.prompt->target_tokens : result.prompt->tokens,
                    .is_query = &shown_queries(frame) == &tokens,
                    .is_key = &shown_keys(frame) == &tokens};
}

std::vector<std::vector<text::Token>> find_tokens(const std::string& text, const model::TokenBatch& tokens) {
  const std::vector<LineRange> lines = item_lines(text);
  std::vector<std::vector<text::Token>> found(tokens.texts.size());
  for (std::uint32_t item = 0; item < std::min(tokens.texts.size(), lines.size()); ++item) {
    const std::string_view line = std::string_view(text).substr(lines[item].begin, lines[item].end - lines[item].begin);
    std::size_t from = 0;
    for (std::uint32_t i = 0; i < std::min<std::size_t>(tokens.lengths[item], tokens.texts[item].size()); ++i) {
      const std::string& word = tokens.texts[item][i];
      text::Token& token = found[item].emplace_back();
      const std::size_t at = line.find(word, from);
      if (at == std::string_view::npos) continue;
      from = at + word.size();
      token.bytes = {.begin = static_cast<std::uint32_t>(at), .end = static_cast<std::uint32_t>(from)};
    }
  }
  return found;
}

shell::FieldFocus text_box_focus(Frame& frame) {
  return static_cast<shell::FieldFocus>(std::exchange(frame.transient.text_focus, TextFocus::None));
}

void draw_prompt_caption(Frame& frame, const char* text) { write_dim(frame, text); }

bool draw_line_field(Frame& frame, const char* name, std::string& text, shell::TextFieldOptions options, shell::Color ink) {
  const TextStyleScope style(frame.ui.fonts().line, ink != 0 ? ink : frame.ui.theme().text);
  options.height = shell::text_field_height(1.0F);
  options.most_height = shell::text_field_height(kMaxShownRows);
  const bool is_changed = frame.ui.text_field(fmt::format("##{}", name).c_str(), text, options);
  frame.mark(name, last_item_rect());
  return is_changed;
}

std::optional<ChipTarget> draw_prompt_box(Frame& frame, const PromptBox& box, const PromptSide* side,
                                          const std::optional<ChipTarget>& pointed, bool* is_changed) {
  std::vector<shell::TextMark> marks;
  if (side) marks = marks_of(frame, box, *side, pointed);
  shell::TextPointer pointer;
  const bool is_first = &box.text == &frame.state.text();
  if (is_first && is_model(frame.state.source) && frame.state.model().is_chat) {
    for (const text::ByteRange role : text::role_ranges(box.text))
      marks.push_back({.begin = role.begin, .end = role.end, .color = frame.ui.theme().output});
  }
  const std::vector<shell::TextMark> tinted = marks;
  if (box.shown && side) {
    BoxTokens& shown = *box.shown;
    const shell::Color color = shell::with_alpha(frame.ui.theme().text_dim, 0xA0);
    if (shown.run != frame.result.run || shown.color != color) {
      shown.run = frame.result.run;
      shown.color = color;
      find_lines(shown, frame.state, box, *side);
    }
    shade_keys(frame, shown, *side, marks);
    mark_pinned(frame, shown, *side, marks);
  }
  const bool was_changed =
      draw_line_field(frame, box.name, box.text,
                      {.focus = is_first ? text_box_focus(frame) : shell::FieldFocus::None,
                       .hint = box.hint,
                       .marks = marks,
                       .lines = box.shown ? std::span(std::as_const(box.shown->lines)) : std::span<const shell::TextMark>(),
                       .pointer = &pointer},
                      box.ink);
  if (is_changed != nullptr) *is_changed = was_changed;
  for (const shell::TextMark& mark : tinted)
    frame.mark(fmt::format("{}.mark.{}-{}", box.name, mark.begin, mark.end), last_item_rect());
  if (!side) return std::nullopt;
  if (pointer.hovered) {
    const std::optional<ChipTarget> token = token_at(frame.state, box, *side, *pointer.hovered);
    if (token && ImGui::IsMouseClicked(ImGuiMouseButton_Right)) open_token_menu(frame, side->tokens, *token);
    return token;
  }
  if (!pointer.caret) return std::nullopt;
  // The caret is after the last typed character.
  return token_at(frame.state, box, *side, *pointer.caret > 0 ? *pointer.caret - 1 : 0);
}

void draw_prompt_chips(Frame& frame, const char* name, const PromptSide& side, ChipLayout& layout,
                       std::optional<ChipTarget>& remembered, const std::optional<ChipTarget>& in_text) {
  const std::optional<ChipTarget> hovered = draw_token_side(frame, name, side.tokens, layout, in_text);
  // The boxes above are drawn already.
  if (std::exchange(remembered, hovered) != hovered) frame.ui.request_redraw(2);
}

}  // namespace headlight::app
