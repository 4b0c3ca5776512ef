#include "app/widgets/second_text.h"

#include "app/state/comparison.h"
#include "app/widgets/controls.h"
#include "app/widgets/prompt_box.h"

namespace headlight::app {
namespace {

constexpr std::uint32_t kMaxShownTokens = 200;

/// The second text's tokens of the selected line beside the first text's.
struct ComparedTokens {
  const Frame& frame;
  const model::TokenBatch& first;
  const model::TokenBatch& second;

  std::uint32_t item() const { return frame.state.selection.batch; }
  bool has_line() const { return item() < second.texts.size() && item() < first.texts.size(); }
  std::uint32_t begin() const { return second.start(item()); }
  std::uint32_t shown_end() const { return begin() + std::min(second.lengths[item()], kMaxShownTokens); }
  /// False: it has another counterpart in the first text, or none.
  bool is_same(std::uint32_t token) const {
    const std::optional<std::uint32_t> place = frame.result.from_baseline(item(), token);
    return place && *place < first.length && first.texts[item()][*place] == second.texts[item()][token];
  }
  std::string summary() const {
    std::uint32_t differing = 0;
    for (std::uint32_t token = begin(); token < shown_end(); ++token) differing += is_same(token) ? 0U : 1U;
    const std::uint32_t count = second.lengths[item()];
    return differing == 0 ? fmt::format("{} tokens, the same as in the first text", count)
                          : fmt::format("{} tokens, {} differ", count, differing);
  }
};

/// Draws the tokens; those that aren't the same in the accent.
void draw_tokens(Frame& frame, const ComparedTokens& tokens) {
  const shell::Theme& theme = frame.ui.theme();
  const TextStyleScope small(frame);
  for (std::uint32_t token = tokens.begin(); token < tokens.shown_end(); ++token) {
    const std::string& text = tokens.second.texts[tokens.item()][token];
    frame.ui.ensure_glyphs(text);
    if (token > tokens.begin()) continue_line(ImGui::CalcTextSize(text.c_str()).x, 4.0F);
    ImGui::PushStyleColor(ImGuiCol_Text, tokens.is_same(token) ? theme.text_dim : theme.accent);
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopStyleColor();
    frame.mark(fmt::format("text.second.token.{}", token), last_item_rect());
  }
}

void draw_head(Frame& frame, const std::string& summary) {
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
  if (summary.empty()) return;
  ImGui::SameLine(0.0F, 12.0F);
  ImGui::TextUnformatted(summary.c_str());
  frame.mark("text.second.summary", last_item_rect());
}

}  // namespace

void draw_second_text(Frame& frame) {
  std::optional<ComparedTokens> tokens;
  if (frame.result.baseline_error.empty() && frame.result.input && frame.result.baseline_tokens)
    tokens.emplace(ComparedTokens{frame, frame.result.input->source, frame.result.baseline_tokens->source});
  if (tokens && !tokens->has_line()) tokens.reset();
  draw_head(frame, tokens ? tokens->summary() : "");
  std::string text = second_text(frame.state);
  const bool takes_keys = std::exchange(frame.transient.focuses_second_text, false);
  const bool is_changed = draw_line_field(frame, "text.second", text,
                                          {.focus = takes_keys ? shell::FieldFocus::SelectAll : shell::FieldFocus::None,
                                           .hint = "What the first text is compared with"});
  if (is_changed) compare_with_text(frame.state, std::move(text));
  if (!frame.result.baseline_error.empty()) {
    write_wrapped(frame.ui.fonts().small, frame.ui.theme().warning,
                  fmt::format("It can't be compared: {}.", frame.result.baseline_error));
  } else if (tokens) {
    draw_tokens(frame, *tokens);
  }
}

}  // namespace headlight::app
