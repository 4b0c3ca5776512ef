#include "app/widgets/prompt_panel.h"

#include <charconv>

#include <fmt/ranges.h>

#include "app/engine/prompt_lines.h"
#include "app/state/map_settings.h"
#include "app/widgets/controls.h"
#include "app/widgets/form.h"
#include "app/widgets/token_side.h"
#include "app/widgets/whole_words.h"

namespace headlight::app {
namespace {

using IdLines = std::vector<std::vector<std::uint32_t>>;

/// Reads numbers with anything between them, line by line; lines without any are left out.
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

/// Draws the ids' field instead of the text while ids are given. An empty field keeps the last ids, so that a run is always
/// possible.
void draw_ids(Frame& frame, PromptPanelMemory& memory, Form& form) {
  IdLines& ids = frame.state.model().ids;
  draw_prompt_caption(frame, "Token ids; each line is one item of the batch");
  if (read_ids(memory.typed_ids) != ids && !memory.typed_ids.empty()) memory.typed_ids.clear();
  if (memory.typed_ids.empty()) memory.typed_ids = ids_text(ids);
  frame.ui.text_field("##ids", memory.typed_ids, {.height = 2.0F * ImGui::GetFrameHeight()});
  mark_last_item(frame, "text.ids");
  if (IdLines read = read_ids(memory.typed_ids); !read.empty()) ids = std::move(read);
  if (!form.button("from_text", "Use the text again")) return;
  ids.clear();
  frame.state.model().target_ids.clear();
}

/// Offers the text's current ids, as a starting point; a single one where the text has none.
void offer_ids(Frame& frame) {
  const TextStyleScope ink(frame);
  const char* label = "As ids";
  const float width = button_width(label);
  ImGui::SameLine(ImGui::GetContentRegionMax().x - width);
  const bool was_clicked = draw_small_button(frame, "text.to_ids", label, "Give token ids instead of a text");
  if (!was_clicked) return;
  IdLines& ids = frame.state.model().ids;
  const inference::LanguageModel* model = frame.result.model.get();
  if (model && frame.result.prompt && utf8(model->path) == model_path(frame.state.source)) {
    for (const std::vector<text::Token>& line : frame.result.prompt->tokens) {
      std::vector<std::uint32_t>& item = ids.emplace_back();
      for (const text::Token& token : line) item.push_back(token.id);
    }
  }
  if (ids.empty()) ids = {{0}};
}

bool has_lines(const std::string& text) { return text.find('\n') != std::string::npos; }

/// Offers "26 lines: make a batch" beside the number of tokens, where lines are one text.
void offer_batch(Frame& frame) {
  State& state = frame.state;
  const std::size_t lines = item_lines(state.text()).size();
  if (!state.model().joins_lines || state.model().is_chat || lines < 2) return;
  const TextStyleScope ink(frame, frame.ui.theme().text);
  const std::string label = fmt::format("{} lines: make a batch", lines);
  ImGui::SameLine();
  if (width_left() < button_width(label.c_str())) ImGui::NewLine();
  if (draw_small_button(frame, "text.make_batch", label.c_str(),
                        "Each line becomes a text of its own, computed beside the others."))
    state.model().joins_lines = false;
}

/// Draws the switches of a model that has a chat template, or why the template can't be run.
void draw_chat_switches(Frame& frame, Form& form) {
  Model& choice = frame.state.model();
  const inference::LanguageModel* model = frame.result.model.get();
  if (!choice.is_chat && (!model || !model->chat)) {
    if (model && !model->chat_problem.empty()) form.note(fmt::format("No chat: {}", model->chat_problem));
    return;
  }
  form.toggle(
      "chat", "Chat", choice.is_chat, {},
      "The model's template writes the text as the chat that it was trained on: its tokens are among the text's, and the "
      "answer comes next.");
  if (!choice.is_chat) return;
  if (has_lines(frame.state.text())) choice.joins_lines = true;
  if (model && model->chat && model->chat->can_think()) {
    int thinking = static_cast<int>(choice.thinking);
    form.segments("thinks", "Thinking", std::array{"unset", "on", "off"}, thinking,
                  "The template's switch. Unset, the template does what it does by itself; off, the model answers without "
                  "writing thoughts first.");
    choice.thinking = static_cast<text::Thinking>(thinking);
  }
}

}  // namespace

std::string ids_text(const IdLines& lines) {
  std::string text;
  for (const std::vector<std::uint32_t>& line : lines) {
    text += fmt::format("{}{}", text.empty() ? "" : "\n", fmt::join(line, ", "));
  }
  return text;
}

void draw_prompt_source(Frame& frame, PromptPanelMemory& memory) {
  State& state = frame.state;
  const std::optional<PromptSide> source = prompt_side(frame, false);
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "text");
  memory.in_source.reset();
  if (!state.model().ids.empty()) return draw_ids(frame, memory, form);
  const bool is_chat = state.model().is_chat;
  const bool had_lines = has_lines(state.text());
  memory.in_source =
      draw_prompt_box(frame,
                      {.name = "text.edit",
                       .text = state.text(),
                       .hint = is_chat ? "Type a question, or lines system: \u2026, user: \u2026" : "Type or paste a text",
                       .shown = &memory.source_tokens},
                      source ? &*source : nullptr, memory.pointed_source);
  // A typed or pasted text is one text; a batch, whose lines were there before, stays one.
  if (!had_lines && has_lines(state.text())) state.model().joins_lines = true;
  if (source && memory.in_source) point_at_token(frame, source->tokens, *memory.in_source);
}

bool has_pair(const Frame& frame) {
  const inference::LanguageModel* model = frame.result.model.get();
  const Model& choice = frame.state.model();
  return model && inference::takes_pairs(model->description) && !choice.is_chat && choice.ids.empty();
}

void draw_prompt_pair(Frame& frame, PromptPanelMemory& memory) {
  const std::optional<PromptSide> source = prompt_side(frame, false);
  const std::optional<ChipTarget> in_pair = draw_prompt_box(frame,
                                                            {.name = "text.pair",
                                                             .text = frame.state.model().pair_text,
                                                             .hint = "A second sentence; may be empty",
                                                             .sequence = 1,
                                                             .shown = &memory.pair_tokens},
                                                            source ? &*source : nullptr, memory.pointed_source);
  if (!in_pair) return;
  memory.in_source = in_pair;
  point_at_token(frame, source->tokens, *in_pair);
}

namespace {

void draw_prompt_switches(Frame& frame) {
  State& state = frame.state;
  if (const std::optional<PromptSide> source = prompt_side(frame, false)) {
    std::string count = token_count_text(source->tokens);
    if (const std::optional<PromptSide> target = prompt_side(frame, true)) {
      count += fmt::format(" → {}", token_count_text(target->tokens));
    }
    draw_prompt_caption(frame, count.c_str());
  } else {
    draw_prompt_caption(frame, "");
  }
  if (!state.model().ids.empty()) return;
  offer_batch(frame);
  if (const std::string misfit = misfit_text(frame); !misfit.empty()) {
    const float end = ImGui::GetContentRegionMax().x - 2.0F;  // a letter at the edge would be clipped
    write_wrapped(frame.ui.fonts().small, frame.ui.theme().text_dim, misfit, end);
    frame.mark("text.misfit", last_item_rect());
  }
  NumberBeingTyped no_numbers;
  Form form(frame, no_numbers, "text");
  if (has_lines(state.text()) && !state.model().is_chat) {
    form.toggle("join_lines", "Lines are one text", state.model().joins_lines, {},
                "All lines together are one item of the batch, as of a document. Otherwise each line is one.");
  }
  if (frame.result.model && frame.result.model->words) {
    form.setting(kMapView.whole_words, frame.state);
  }
  draw_chat_switches(frame, form);
  if (state.model().is_chat) return;
  form.toggle("special", "Special tokens", state.model().adds_special, {},
              "Those that the model's tokenizer adds, like [CLS] or <s>. Models were trained with them.");
}

}  // namespace

void offer_examples(Frame& frame, std::span<const Example> examples) {
  if (examples.empty()) return;
  const TextStyleScope ink(frame);
  if (draw_small_button(frame, "text.examples", "Examples")) ImGui::OpenPopup("examples");
  open_below_last_item(frame);
  if (!ImGui::BeginPopup("examples")) return;
  int index = 0;
  for (const Example& example : examples) {
    if (draw_entry(frame, fmt::format("text.example.{}", index++), example.title)) show_example(frame.state, example);
  }
  ImGui::EndPopup();
}

void draw_prompt_settings(Frame& frame, PromptPanelMemory& memory) {
  const Model& choice = frame.state.model();
  const bool has_ids = !choice.ids.empty();
  draw_prompt_caption(frame, has_ids ? "Token ids" : choice.is_chat ? "Chat" : "Text");
  explain_last_item(frame, choice.is_chat ? "Lines system:, user: and assistant: begin turns; anything else is the user's."
                                          : "Line breaks are part of the text, until its lines are made a batch.");
  if (!has_ids) {
    ImGui::SameLine();
    offer_examples(frame, examples_for(frame.state));
    offer_ids(frame);
  }
  if (const std::optional<PromptSide> source = prompt_side(frame, false))
    draw_prompt_chips(frame, "chips.source", *source, memory.source, memory.pointed_source, memory.in_source);
  draw_whole_words(frame, "text.words", frame.state.text(), false);
  if (const std::optional<PromptSide> target = prompt_side(frame, true)) {
    ImGui::Dummy({1.0F, 2.0F});
    draw_prompt_caption(frame, "Target");
    draw_prompt_chips(frame, "chips.target", *target, memory.target, memory.pointed_target, memory.in_target);
    draw_whole_words(frame, "text.target_words", choice.target_text.empty() ? memory.translation : choice.target_text, true);
  }
  draw_prompt_switches(frame);
}

}  // namespace headlight::app
