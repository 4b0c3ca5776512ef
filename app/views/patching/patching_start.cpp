#include "app/views/patching/patching_parts.h"

#include "app/state/comparison.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

void draw_edit_button(Frame& frame) {
  if (!draw_button(frame, "patching.edit", "Edit the text", "Puts the caret into the text: change a word.")) return;
  frame.transient.text_focus = TextFocus::AtEnd;
  frame.ui.request_redraw(2);
}

void draw_keep_button(Frame& frame, const char* label = "Keep as baseline and edit the text",
                      const char* explanation = "Keeps this run to compare with, and puts the caret into the text.") {
  if (!draw_button(frame, "patching.keep_baseline", label, explanation)) return;
  frame.start_command("compare.freeze");
  frame.transient.text_focus = TextFocus::AtEnd;
}

}  // namespace

bool draw_patching_start(Frame& frame) {
  const EngineResult& result = frame.result;
  const SharedValue<BaselineRun>& baseline = frame.state.compare.baseline;
  if (!baseline) {
    draw_empty_note(
        frame, "patching.no_baseline", "Patching needs two texts",
        "Open a second text (Ctrl+T) and change a word in it. Activations of one run are put into the other, place "
        "by place: where that carries the prediction over is where the difference is.");
    go_below_note();
    if (draw_button(frame, "patching.second_text", "Open a second text",
                    "A second text below the first, to compare it with.")) {
      frame.start_command("compare.second_text");
    }
    ImGui::SameLine();
    draw_keep_button(frame);
    return false;
  }
  if (baseline->inputs == run_inputs(frame.state) && has_second_text(frame.state)) {
    draw_empty_note(frame, "patching.edit_second", "Now change a word of the second text",
                    "Both texts are the same. They may have different numbers of tokens.");
    return false;
  }
  if (baseline->inputs == run_inputs(frame.state)) {
    draw_empty_note(
        frame, "patching.edit_first", "Now change the text",
        "The baseline is this very one. Change a word; a mask or a head that is changed gives another run, too.");
    go_below_note();
    draw_edit_button(frame);
    return false;
  }
  if (is_capture(baseline->inputs.source)) {
    draw_empty_note(
        frame, "patching.capture", "The baseline is a capture",
        "It holds attention alone, no activations that could be put into this run. Keep a run of this model as baseline "
        "(Ctrl+D), then change a word of its text.");
    go_below_note();
    draw_keep_button(frame);
    return false;
  }
  if (result.baseline_error.empty()) return true;
  const bool has_target = result.input && result.input->target;
  const std::string text = fmt::format(
      "They can't be compared: {}. {}", result.baseline_error,
      has_target ? "What the model translates itself isn't part of the baseline: write the target yourself, in both runs."
                 : "");
  frame.ui.ensure_glyphs(text);
  draw_empty_note(frame, "patching.refused", "These two runs don't fit", text);
  go_below_note();
  draw_edit_button(frame);
  ImGui::SameLine();
  draw_keep_button(frame, "Keep this run instead", "This run becomes the baseline: then change its text.");
  return false;
}

}  // namespace headlight::app
