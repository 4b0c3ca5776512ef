#include "app/window/text_line.h"

#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/form.h"
#include "app/widgets/second_text.h"
#include "app/widgets/token_side.h"
#include "app/widgets/translator_panel.h"

namespace headlight::app {
namespace {

constexpr float kTextEdge = 12.0F, kTextTop = 6.0F;
constexpr float kTextGap = 16.0F;
constexpr float kMaxNext = 460.0F, kNextShare = 0.36F;  // of what is predicted

struct TextColumn {
  const char* name;
  std::function<void()> draw;
};

/// Draws columns of equal widths beside each other. Returns where the highest one ends.
float draw_columns(const std::vector<TextColumn>& columns, float y, float width) {
  const auto count = static_cast<float>(columns.size());
  const float each = std::max(std::floor((width - kTextGap * (count - 1.0F)) / count), 1.0F);
  float end = y, x = kTextEdge;
  for (const TextColumn& column : columns) {
    ImGui::SetCursorPos({x, y});
    begin_bare_region(column.name, {each, std::max(ImGui::GetWindowHeight() - y, 1.0F)},
                      ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoScrollbar);
    column.draw();
    end = std::max(end, y + ImGui::GetCursorPosY() - ImGui::GetStyle().ItemSpacing.y);
    ImGui::EndChild();
    x += each + kTextGap;
  }
  return end;
}

/// Returns the side of one of the playground's texts, whose tokens have no places of their own.
PromptSide playground_side(const Frame& frame, const model::TokenBatch& tokens,
                           const std::vector<std::vector<text::Token>>& found) {
  const model::BlockKind kind = frame.state.selection.block.kind;
  return {.tokens = tokens,
          .prompt = found,
          .is_query = &frame.result.input->queries(kind) == &tokens,
          .is_key = &frame.result.input->keys(kind) == &tokens};
}

bool has_run(const Frame& frame) { return frame.result.run != 0 && frame.result.input != nullptr; }

/// Returns the tokens that the playground's first text has in the run; while a change is computed that may be of the other
/// kind.
const model::TokenBatch& first_text(const model::ModelInput& input) { return input.target ? *input.target : input.source; }

void find_words(const Frame& frame, TextLineMemory& memory) {
  if (!has_run(frame) || frame.result.prompt || memory.run == frame.result.run) return;
  memory.run = frame.result.run;
  const model::ModelInput& input = *frame.result.input;
  memory.words = find_tokens(frame.state.text(), first_text(input));
  memory.keys =
      input.target ? find_tokens(frame.state.playground().key_text, input.source) : std::vector<std::vector<text::Token>>();
}

void draw_playground_box(Frame& frame, TextLineMemory& memory, bool is_second) {
  PromptPanelMemory& prompt = memory.prompt;
  const bool is_shown = has_run(frame) && !frame.result.prompt && (!is_second || frame.result.input->target);
  std::optional<PromptSide> side;
  if (is_shown && is_second) side.emplace(playground_side(frame, frame.result.input->source, memory.keys));
  if (is_shown && !is_second) side.emplace(playground_side(frame, first_text(*frame.result.input), memory.words));
  const PromptBox box = is_second ? PromptBox{.name = "text.key_edit",
                                              .text = frame.state.playground().key_text,
                                              .hint = "Keys and values; while it is empty the text attends to itself",
                                              .shown = &prompt.pair_tokens}
                                  : PromptBox{.name = "text.edit",
                                              .text = frame.state.text(),
                                              .hint = frame.state.playground().cross ? "Queries" : "Type a sentence",
                                              .shown = &prompt.source_tokens};
  const auto in_text =
      draw_prompt_box(frame, box, side ? &*side : nullptr, is_second ? prompt.pointed_target : prompt.pointed_source);
  (is_second ? prompt.in_target : prompt.in_source) = in_text;
  if (side && in_text) point_at_token(frame, side->tokens, *in_text);
}

std::vector<TextColumn> columns_of(Frame& frame, TextLineMemory& memory, bool has_two_texts, bool has_error) {
  PromptPanelMemory& prompt = memory.prompt;
  if (has_two_texts) {
    return {{"source", [&] { draw_translator_source(frame, prompt); }},
            {"target", [&frame, &prompt, has_error] { draw_translator_target(frame, prompt, has_error); }}};
  }
  if (is_model(frame.state.source)) {
    std::vector<TextColumn> columns{{"text", [&] { draw_prompt_source(frame, prompt); }}};
    if (has_pair(frame)) columns.push_back({"pair", [&] { draw_prompt_pair(frame, prompt); }});
    return columns;
  }
  if (is_playground(frame.state.source)) {
    find_words(frame, memory);
    std::vector<TextColumn> columns{{"text", [&] { draw_playground_box(frame, memory, false); }}};
    if (frame.state.playground().cross) columns.push_back({"keys", [&] { draw_playground_box(frame, memory, true); }});
    return columns;
  }
  if (!has_run(frame)) return {};
  const model::ModelInput& input = *frame.result.input;
  const auto draw_side = [&frame](const char* name, const model::TokenBatch& tokens, ChipLayout& layout) {
    if (!draw_image_side(frame, name, tokens)) draw_token_side(frame, name, tokens, layout);
  };
  std::vector<TextColumn> columns{
      {"source", [=, &input, &prompt] { draw_side("chips.source", input.source, prompt.source); }}};
  if (input.target)
    columns.push_back({"target", [=, &input, &prompt] { draw_side("chips.target", *input.target, prompt.target); }});
  return columns;
}

}  // namespace

float draw_text_line(Frame& frame, TextLineMemory& memory, bool has_two_texts, bool has_error) {
  const float width = ImGui::GetWindowWidth() - 2.0F * kTextEdge;
  const bool predicts = is_model(frame.state.source) && !has_two_texts && NextTokens::has_some(frame);
  const float next = predicts ? std::min(kMaxNext, std::floor(kNextShare * width)) : 0.0F;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0F, 4.0F));
  const std::vector<TextColumn> columns = columns_of(frame, memory, has_two_texts, has_error);
  float end = columns.empty() ? kTextTop : draw_columns(columns, kTextTop, next > 0.0F ? width - next - kTextGap : width);
  if (predicts) {
    ImGui::SetCursorPos({kTextEdge + width - std::min(memory.next_width, next), kTextTop + 4.0F});
    const float used = memory.prompt.next.draw(frame, next);
    if (used != std::exchange(memory.next_width, used)) frame.ui.request_redraw(2);
  }
  if (has_second_text(frame.state)) end = draw_columns({{"second", [&] { draw_second_text(frame); }}}, end + 4.0F, width);
  ImGui::PopStyleVar();
  return end + kTextTop;
}

void draw_text_settings(Frame& frame, TextLineMemory& memory) {
  if (is_model(frame.state.source)) return draw_prompt_settings(frame, memory.prompt);
  if (!is_playground(frame.state.source)) return;
  PromptPanelMemory& prompt = memory.prompt;
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "text");
  draw_prompt_caption(frame, "Each line is one item of the batch");
  ImGui::SameLine();
  offer_examples(frame, examples_for(frame.state));
  const bool shows_cross = has_run(frame) && frame.result.input->target.has_value();
  if (has_run(frame) && !frame.result.prompt)
    draw_prompt_chips(frame, "chips.query", playground_side(frame, first_text(*frame.result.input), memory.words),
                      prompt.target, prompt.pointed_source, prompt.in_source);
  form.toggle("cross", "Cross-attention", frame.state.playground().cross, {},
              "The text attends to a second text instead of to itself.");
  if (frame.state.playground().cross && shows_cross)
    draw_prompt_chips(frame, "chips.key", playground_side(frame, frame.result.input->source, memory.keys), prompt.source,
                      prompt.pointed_target, prompt.in_target);
}

std::string text_label(const Frame& frame) {
  return has_run(frame)
             ? token_count_text(frame.result.input->target && is_playground(frame.state.source) ? *frame.result.input->target
                                                                                                : frame.result.input->source)
             : "Text";
}

}  // namespace headlight::app
