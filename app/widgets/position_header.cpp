#include "app/widgets/position_header.h"

#include "app/cells/stage_text.h"
#include "app/widgets/controls.h"
#include "app/widgets/text.h"

namespace headlight::app {
void choose_position(Frame& frame, std::uint32_t token) {
  State& state = frame.state;
  if (&frame.result.input->queries(state.selection.block.kind) != &predicted_tokens(frame.result)) {
    state.selection.block.kind = model::BlockKind::DecoderSelf;
    clamp_selection(state, frame.result.shapes);
  }
  attention::Cell cell = state.view.pinned.value_or(attention::Cell{});
  cell.query = token;
  state.view.pinned = cell;
}

const model::TokenBatch& predicted_tokens(const EngineResult& result) {
  return result.input->target ? *result.input->target : result.input->source;
}

std::string predicted_token_text(const EngineResult& result, std::uint32_t batch, std::uint32_t token) {
  const std::string* text = token_text(predicted_tokens(result), batch, token);
  return text != nullptr ? *text : std::to_string(token);
}

bool draw_position_header(Frame& frame, const std::string& name, const std::string& title,
                          const PredictionPosition& position, const char* copied) {
  const float spacing = ImGui::GetStyle().ItemSpacing.x;
  const float automatic = button_width("Automatic");
  const float copy = copied ? button_width(kCopyCsv) + kCopyGap : 0.0F;
  const float controls = 2.0F * ImGui::GetFrameHeight() + spacing + copy + (position.is_chosen ? automatic + spacing : 0.0F);
  const float right = ImGui::GetContentRegionMax().x - controls;
  draw_view_title(frame, title, right - spacing - ImGui::GetCursorPosX());
  ImGui::SameLine(right);
  if (position.is_chosen) {
    if (draw_button(frame, name + ".automatic", "Automatic",
                    predicts_next(frame.result) ? "Back to the end of the text." : "Back to the first mask."))
      frame.state.view.pinned.reset();
    ImGui::SameLine();
  }
  if (draw_arrow_button(frame, name + ".previous", ImGuiDir_Left, "The prediction one token earlier.",
                        position.token > position.first)) {
    choose_position(frame, position.token - 1);
  }
  ImGui::SameLine();
  if (draw_arrow_button(frame, name + ".next", ImGuiDir_Right, "The prediction one token later.",
                        position.token + 1 < position.end)) {
    choose_position(frame, position.token + 1);
  }
  const bool copies = copied && draw_copy_button(frame, name + ".copy", copied);
  const std::string token = predicted_token_text(frame.result, position.batch, position.token);
  frame.ui.ensure_glyphs(token);
  const std::string about = fmt::format("{} \u201C{}\u201D, position {} of 0 to {}",
                                        position.kind == PredictionPosition::Kind::Next ? "after" : "at", token,
                                        position.token - position.first, position.end - position.first - 1);
  ImFont* font = frame.ui.fonts().body;
  write_text(font, frame.ui.theme().text_dim, fit_text(font, about, ImGui::GetContentRegionAvail().x));
  return copies;
}

}  // namespace headlight::app
