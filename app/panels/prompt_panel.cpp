#include "panels/prompt_panel.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/prompt_lines.h"
#include "panels/form.h"
#include "panels/ink.h"
#include "panels/token_side.h"

namespace headlight::app {
namespace {

constexpr int kFewestRows = 2;
constexpr int kMostRows = 7;

/// One box of text and where its items' lines stand in it.
struct Box {
  const char* name;
  std::string& text;
  const char* hint;
  std::uint32_t sequence = 0;  ///< of the tokens that come from it
};

/// The tokens of one side of the run.
struct Side {
  const model::TokenBatch& tokens;
  const std::vector<std::vector<text::Token>>& prompt;  ///< [batch][real token]
  bool is_query = false, is_key = false;                ///< in the selected kind of attention
};

LineRange line_of(const State& state, const Box& box, std::uint32_t item) {
  if (&box.text != &state.text) return partner_line(state.text, item, box.text);
  const std::vector<LineRange> items = item_lines(state.text);
  return item < items.size() ? items[item] : LineRange{};
}

/// The bytes of a token in its box; none for special tokens and those of another box.
std::optional<LineRange> bytes_of(const State& state, const Box& box, const Side& side, ChipTarget target) {
  if (target.item >= side.prompt.size() || target.token < side.tokens.start(target.item)) return std::nullopt;
  const std::vector<text::Token>& line = side.prompt[target.item];
  const std::uint32_t index = target.token - side.tokens.start(target.item);
  if (index >= line.size() || line[index].bytes.is_empty() || line[index].sequence != box.sequence) return std::nullopt;
  const LineRange range = line_of(state, box, target.item);
  return LineRange{.begin = range.begin + line[index].bytes.begin,
                   .end = std::min(range.begin + line[index].bytes.end, range.end)};
}

/// The token whose characters a byte of the box belongs to.
std::optional<ChipTarget> token_at(const State& state, const Box& box, const Side& side, std::size_t byte) {
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

void draw_caption(Frame& frame, const char* text) {
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  ImGui::TextUnformatted(text);
}

/// Tokens under the pointer, on the map or among the chips, tinted in their roles' colours.
std::vector<shell::TextMark> marks_of(const Frame& frame, const Box& box, const Side& side,
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

/// Draws a box; returns the token that somebody points at in it, with the mouse or else the caret.
std::optional<ChipTarget> draw_box(Frame& frame, const Box& box, const Side* side,
                                   const std::optional<ChipTarget>& pointed) {
  const auto lines = static_cast<int>(std::count(box.text.begin(), box.text.end(), '\n')) + 1;
  const float rows = static_cast<float>(std::clamp(lines, kFewestRows, kMostRows));
  const float height = rows * ImGui::GetTextLineHeight() + 2.0F * ImGui::GetStyle().FramePadding.y + 2.0F;
  std::vector<shell::TextMark> marks;
  if (side) marks = marks_of(frame, box, *side, pointed);
  shell::TextPointer pointer;
  frame.ui.text_field(fmt::format("##{}", box.name).c_str(), box.text,
                      {.height = height, .hint = box.hint, .marks = marks, .pointer = &pointer});
  mark_last_item(frame, box.name);
  for (const shell::TextMark& mark : marks)
    frame.mark(fmt::format("{}.mark.{}-{}", box.name, mark.begin, mark.end), last_item_rect());
  if (!side) return std::nullopt;
  if (pointer.hovered) return token_at(frame.state, box, *side, *pointer.hovered);
  if (!pointer.caret) return std::nullopt;
  // The caret stands behind what was typed last.
  return token_at(frame.state, box, *side, *pointer.caret > 0 ? *pointer.caret - 1 : 0);
}

std::optional<Side> side_of(const Frame& frame, bool is_target) {
  const EngineResult& result = frame.result;
  if (result.run == 0 || !result.prompt || (is_target && !result.input->target)) return std::nullopt;
  const model::TokenBatch& tokens = is_target ? *result.input->target : result.input->source;
  const model::BlockKind kind = frame.state.selection.block.kind;
  return Side{.tokens = tokens,
              .prompt = is_target ? result.prompt->target_tokens : result.prompt->tokens,
              .is_query = &result.input->queries(kind) == &tokens,
              .is_key = &result.input->keys(kind) == &tokens};
}

void draw_chips(Frame& frame, const char* name, const Side& side, ChipLayout& layout, std::optional<ChipTarget>& remembered,
                const std::optional<ChipTarget>& in_text) {
  const std::optional<ChipTarget> hovered = draw_token_side(frame, name, side.tokens, layout, in_text);
  const bool is_same = hovered.has_value() == remembered.has_value() &&
                       (!hovered || (hovered->item == remembered->item && hovered->token == remembered->token));
  if (!is_same) frame.ui.request_redraw();  // the boxes above are drawn already
  remembered = hovered;
}

using IdLines = std::vector<std::vector<std::uint32_t>>;

/// Numbers with anything between them, line by line; lines without any are left out.
IdLines read_ids(const std::string& text) {
  IdLines lines;
  for (const LineRange range : line_ranges(text)) {
    std::vector<std::uint32_t> ids;
    const char* end = text.data() + range.end;
    for (const char* at = text.data() + range.begin; at < end;) {
      std::uint32_t id = 0;
      const auto [next, failure] = std::from_chars(at, end, id);
      if (failure == std::errc()) ids.push_back(id);
      at = next > at ? next : at + 1;
    }
    if (!ids.empty()) lines.push_back(std::move(ids));
  }
  return lines;
}

std::string write_ids(const IdLines& lines) {
  std::string text;
  for (const std::vector<std::uint32_t>& line : lines) {
    text += fmt::format("{}{}", text.empty() ? "" : "\n", fmt::join(line, ", "));
  }
  return text;
}

/// In place of the text while ids are given. An empty field keeps the last ids, so that there is always something to run.
void draw_ids(Frame& frame, PromptPanelMemory& memory, Form& form) {
  IdLines& ids = frame.state.model.ids;
  draw_caption(frame, "Token ids; each line is one item of the batch");
  if (read_ids(memory.typed_ids) != ids && !memory.typed_ids.empty()) memory.typed_ids.clear();
  if (memory.typed_ids.empty()) memory.typed_ids = write_ids(ids);
  frame.ui.text_field("##ids", memory.typed_ids, {.height = 2.0F * ImGui::GetFrameHeight()});
  mark_last_item(frame, "text.ids");
  if (IdLines read = read_ids(memory.typed_ids); !read.empty()) ids = std::move(read);
  if (!form.button("from_text", "Use the text again")) return;
  ids.clear();
  frame.state.model.target_ids.clear();
}

/// The ids that the text has now, to go on from them; a single one where the text has none.
void offer_ids(Frame& frame) {
  const Ink ink(frame.ui.fonts().small, frame.ui.theme().text_dim);
  const char* label = "As ids";
  const float width = ImGui::CalcTextSize(label).x + 2.0F * ImGui::GetStyle().FramePadding.x;
  ImGui::SameLine(ImGui::GetContentRegionMax().x - width);
  const bool was_clicked = ImGui::SmallButton(label);
  mark_last_item(frame, "text.to_ids");
  explain_last_item(frame, "Give token ids instead of a text");
  if (!was_clicked) return;
  IdLines& ids = frame.state.model.ids;
  const inference::LanguageModel* model = frame.result.model.get();
  if (model && frame.result.prompt && model->path.string() == frame.state.model.path) {
    for (const std::vector<text::Token>& line : frame.result.prompt->tokens) {
      std::vector<std::uint32_t>& item = ids.emplace_back();
      for (const text::Token& token : line) item.push_back(token.id);
    }
  }
  if (ids.empty()) ids = {{0}};
}

/// The text, its second sentence where the model takes one, and their tokens.
void draw_source(Frame& frame, PromptPanelMemory& memory, Form& form, const std::string& error) {
  State& state = frame.state;
  const inference::LanguageModel* model = frame.result.model.get();
  const bool has_target = model && model->description.is_encoder_decoder;
  const bool has_pairs = model && inference::takes_pairs(model->description);
  const std::optional<Side> source = side_of(frame, false);
  draw_caption(frame, has_target ? "Source: each line is one item of the batch" : "Each line is one item of the batch");
  offer_ids(frame);
  std::optional<ChipTarget> in_text = draw_box(frame, {.name = "text.edit", .text = state.text, .hint = "Type a text"},
                                               source ? &*source : nullptr, memory.pointed_source);
  if (!error.empty()) form.warning(error);
  if (has_pairs) {
    draw_caption(frame, "Second sentence; may be empty");
    const std::optional<ChipTarget> in_pair = draw_box(
        frame, {.name = "text.pair", .text = state.model.pair_text, .hint = "Read together with the first", .sequence = 1},
        source ? &*source : nullptr, memory.pointed_source);
    if (in_pair) in_text = in_pair;
  }
  if (source) draw_chips(frame, "chips.source", *source, memory.source, memory.pointed_source, in_text);
}

}  // namespace

void draw_prompt_panel(Frame& frame, PromptPanelMemory& memory, const std::string& error) {
  frame.transient.pointed_query.reset();
  frame.transient.pointed_key.reset();
  State& state = frame.state;
  const inference::LanguageModel* model = frame.result.model.get();
  const bool has_target = model && model->description.is_encoder_decoder;
  const std::optional<Side> source = side_of(frame, false);
  const std::optional<Side> target = side_of(frame, true);
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "text");
  const bool has_ids = !state.model.ids.empty();
  if (has_ids) {
    draw_ids(frame, memory, form);
    if (!error.empty()) form.warning(error);
    if (source) draw_chips(frame, "chips.source", *source, memory.source, memory.pointed_source, {});
  } else {
    draw_source(frame, memory, form, error);
  }
  if (has_target) {
    draw_caption(frame, "Target: what the decoder has written so far");
    IdLines& ids = state.model.target_ids;
    const std::string hint = ids.empty() ? "May be empty" : "Ids are given: " + write_ids(ids) + "; type to replace them";
    const std::optional<ChipTarget> in_target =
        draw_box(frame, {.name = "text.target", .text = state.model.target_text, .hint = hint.c_str()},
                 target ? &*target : nullptr, memory.pointed_target);
    if (!state.model.target_text.empty()) ids.clear();  // what is typed counts
    if (target) draw_chips(frame, "chips.target", *target, memory.target, memory.pointed_target, in_target);
  }
  if (source) draw_caption(frame, token_count_text(source->tokens).c_str());
  if (has_ids) return;
  form.toggle("special", "Special tokens", state.model.adds_special, {},
              "Those that the model's tokenizer adds, like [CLS] or <s>. Models were trained with them.");
}

}  // namespace headlight::app
