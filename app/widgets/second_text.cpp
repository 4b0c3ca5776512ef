#include "app/widgets/second_text.h"

#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/prompt_box.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kMaxShownTokens = 200;

/// Draws tokens of the selected line; those that differ from their counterparts in the first text, or have none, in the
/// accent.
void draw_tokens(Frame& frame, const model::TokenBatch& first, const model::TokenBatch& second) {
  const std::uint32_t item = frame.state.selection.batch;
  if (item >= second.texts.size() || item >= first.texts.size()) return;
  const shell::Theme& theme = frame.ui.theme();
  const std::uint32_t begin = second.start(item), end = begin + std::min(second.lengths[item], kMaxShownTokens);
  std::uint32_t differing = 0;
  const TextStyleScope small(frame, theme.text_dim);
  for (std::uint32_t token = begin; token < end; ++token) {
    const std::string& text = second.texts[item][token];
    const std::optional<std::uint32_t> place = frame.result.from_baseline(item, token);
    const bool is_same = place && *place < first.length && first.texts[item][*place] == text;
    if (!is_same) ++differing;
    frame.ui.ensure_glyphs(text);
    if (token > begin) continue_line(ImGui::CalcTextSize(text.c_str()).x, 4.0F);
    ImGui::PushStyleColor(ImGuiCol_Text, is_same ? theme.text_dim : theme.accent);
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopStyleColor();
    frame.mark(fmt::format("text.second.token.{}", token), last_item_rect());
  }
  const std::uint32_t count = second.lengths[item];
  const std::string summary = differing == 0 ? fmt::format("{} tokens, the same as in the first text", count)
                                             : fmt::format("{} tokens, {} differ", count, differing);
  ImGui::TextUnformatted(summary.c_str());
  frame.mark("text.second.summary", last_item_rect());
}

void draw_head(Frame& frame) {
  draw_prompt_caption(frame, "Second text");
  const TextStyleScope small(frame);
  ImGui::SameLine();
  if (draw_small_button(frame, "text.second.exchange", "Exchange",
                        "The second text becomes the first, and the first the second."))
    frame.start_command("compare.exchange");
  ImGui::SameLine();
  if (draw_small_button(frame, "text.second.close", "Close###close second",
                        "Closes the second text: maps show the first one alone."))
    frame.start_command("compare.stop");
}

}  // namespace

void draw_second_text(Frame& frame) {
  draw_head(frame);
  std::string text = second_text(frame.state);
  const bool takes_keys = std::exchange(frame.transient.focuses_second_text, false);
  const bool is_changed = draw_line_field(frame, "text.second", text,
                                          {.focus = takes_keys ? shell::FieldFocus::SelectAll : shell::FieldFocus::None,
                                           .hint = "What the first text is compared with"});
  if (is_changed) compare_with_text(frame.state, std::move(text));
  if (!frame.result.baseline_error.empty()) {
    write_wrapped(frame.ui.fonts().small, frame.ui.theme().warning,
                  fmt::format("It can't be compared: {}.", frame.result.baseline_error));
  } else if (frame.result.input && frame.result.baseline_tokens) {
    draw_tokens(frame, frame.result.input->source, frame.result.baseline_tokens->source);
  }
}

}  // namespace headlight::app
