#include <imgui.h>

#include "app/engine/continuation.h"
#include "app/state/model_changes.h"
#include "app/widgets/controls.h"
#include "app/window/sidebar/panels.h"
#include "app/window/workspace.h"
#include "inference/torch_snippet.h"

namespace headlight::app {

void Workspace::follow_arrival(double now_s) {
  const bool arrives = desk_.is_arriving();
  types_in_dialog_ = desk_.ui.is_typing() && (types_in_dialog_ || has_popup());
  if (arrives && is_writing()) {
    desk_.ui.leave_text_field();
    resumes_text_ = true;
  } else if (!arrives && std::exchange(resumes_text_, false)) {
    desk_.transient.text_focus = TextFocus::AtEnd;
  }
  if (!arrives && !desk_.engine->progress().load) {
    arrival_began_s_.reset();
  } else if (!arrival_began_s_) {
    arrival_began_s_ = now_s;
  }
}

void Workspace::follow_staleness(double now_s) {
  const bool is_stale =
      desk_.result.run != 0 && desk_.result.first_layers == 0 && !desk_.is_current() && !desk_.is_arriving();
  if (!is_stale) {
    stale_since_s_.reset();
  } else if (!stale_since_s_) {
    stale_since_s_ = now_s;
  }
}

std::string Workspace::arriving_name() {
  if (is_model(desk_.state.source)) return model_name(desk_.result.model.get(), model_path(desk_.state.source));
  if (is_capture(desk_.state.source)) return utf8(std::filesystem::path(capture_path(desk_.state.source)).filename());
  const PresetInfo* preset = desk_.catalog.preset(notebook_name(desk_.state.source));
  return preset ? preset->title : "the playground";
}

void Workspace::go_on_generating() {
  if (!desk_.generation.is_running()) return;
  if (!desk_.result.error.empty() && desk_.result.revision == desk_.revision) {
    desk_.generation.stop(desk_.state, desk_.result.error);
  } else if (desk_.is_current() && desk_.requested_inputs == run_inputs(desk_.state)) {
    desk_.generation.step(desk_.state, desk_.result);
    desk_.ensure_glyphs();
  }
  if (!desk_.generation.is_running()) desk_.stop_generating();
}

bool Workspace::can_generate() const {
  return desk_.is_current() && desk_.result.has_logits && desk_.result.model && predicts_next(desk_.result);
}

void Workspace::start_generating() {
  desk_.undo.observe(desk_.state, desk_.now_s, false);
  desk_.undo.seal();
  desk_.generation.start(desk_.state, desk_.result);
}

bool Workspace::has_two_texts(const State& state) const {
  return desk_.result.model && desk_.result.model->description.is_encoder_decoder &&
         desk_.result.model->path == model_path(state.source);
}

bool Workspace::can_open_second_text() const {
  if (is_model(desk_.state.source)) return !has_two_texts(desk_.state) && desk_.state.model().ids.empty();
  return is_playground(desk_.state.source) && !desk_.state.playground().cross;
}

void Workspace::copy_torch() {
  if (!desk_.result.network || !desk_.result.input || !desk_.result.inputs) return;
  const RunInputs& inputs = *desk_.result.inputs;
  try {
    if (!inputs.gains.empty() || !inputs.patterns.empty() || !inputs.changes.empty()) {
      throw Error(
          "the snippet has a network's numbers and masks alone: take back what was changed of heads and activations");
    }
    const PresetInfo* preset = desk_.catalog.preset(notebook_name(inputs.source));
    const std::string changes = run_changes(inputs, nullptr, *desk_.result.network);
    const std::string remark = changes_note(inputs.source, changes);
    const std::string text = inference::torch_snippet(preset != nullptr ? preset->title : "playground", remark,
                                                      *desk_.result.network, *desk_.result.input, inputs.masks);
    ImGui::SetClipboardText(text.c_str());
    desk_.tell("A PyTorch program that prints these numbers is on the clipboard.");
  } catch (const Error& error) {
    desk_.warn(fmt::format("Not copied: {}", error.what()));
  }
}

void Workspace::draw_model_panel(Frame& frame) {
  const PresetInfo* preset = desk_.catalog.preset(notebook_name(frame.state.source));
  const std::string error = error_of(ErrorSection::Model);
  if (is_capture(frame.state.source)) {
    if (draw_capture_panel(frame, desk_.typed, error)) ask_for_file(FilePurpose::OpenCapture);
    return;
  }
  // The model on screen may still be another one: the chosen one can be on its way, or find no way to run this text.
  const std::string& path = model_path(frame.state.source);
  const auto is_chosen = [&](const auto& model) { return model && utf8(model->path) == path; };
  const inference::LanguageModel* chosen = is_chosen(desk_.result.model) ? desk_.result.model.get()
                                           : is_chosen(models_.opened()) ? models_.opened()
                                                                         : nullptr;
  bool& shows_details = desk_.settings.panes.shows_details;
  const bool opens_browser = path.empty()
                                 ? app::draw_model_panel(frame, desk_.typed, preset, error, shows_details, preset_editor_)
                                 : draw_language_model_panel(frame, desk_.typed, chosen, error, shows_details);
  if (opens_browser) models_.browse();
}

void Workspace::draw_chip_panel(Frame& frame, std::string_view panel) {
  if (panel == "text") {
    draw_text_settings(frame, text_);
  } else if (panel == "model") {
    draw_model_panel(frame);
  } else if (panel == "mask") {
    draw_masks_panel(frame, desk_.typed, expression_drafts_, error_of(ErrorSection::Masks));
  } else if (panel == "compare") {
    draw_compare_panel(frame, desk_.typed, can_open_second_text());
  } else if (panel == "changes") {
    chips_.draw_changes(frame);
  }
  for (Feature* feature : features_) {
    if (feature->chip(frame).id == panel) feature->panel(frame);
  }
}

}  // namespace headlight::app
