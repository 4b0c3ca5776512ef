#include "app/sidebar/capture_panel.h"

#include <filesystem>

#include "app/state/linked_step_path.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

/// How many layers and heads of each kind of attention there are.
void draw_sizes(Form& form, const BlockShapes& shapes) {
  std::map<model::BlockKind, std::uint32_t> layers;
  for (const auto& [block, shape] : shapes) ++layers[block.kind];
  for (const auto& [kind, count] : layers) {
    const inference::BlockShape& first = shapes.lower_bound({.kind = kind, .layer = {}})->second;
    const char* label = layers.size() == 1                      ? "Layers"
                        : kind == model::BlockKind::EncoderSelf ? "Encoder"
                        : kind == model::BlockKind::DecoderSelf ? "Decoder"
                                                                : "Cross";
    form.value(label, fmt::format("{} \u00D7 {} heads", count, first.heads));
  }
}

void draw_facts_of_capture(Form& form, const EngineResult& result) {
  draw_sizes(form, result.shapes);
  const inference::BlockShape& shape = result.shapes.begin()->second;
  if (shape.batch > 1) form.value("Lines", std::to_string(shape.batch), "Of the batch; each has maps of its own.");
  form.value("Weights", shape.only_weights ? "as saved" : "of q and k",
             "As they were saved; or the softmax of the queries and keys that were saved.");
  if (const auto& patches = result.capture->patches()) {
    form.value("Patches", fmt::format("{} \u00D7 {}", patches->rows, patches->columns),
               "Rows and columns of the image's patches, which are its tokens. The view Text shows weights on the image.");
  }
  if (result.capture->is_causal()) form.value("Mask", "causal", "As the file says: no query sees a later key.");
}

}  // namespace

bool draw_capture_panel(Frame& frame, NumberBeingTyped& typed, const std::string& error) {
  Form form(frame, typed, "capture");
  const std::string& path = capture_path(frame.state.source);
  const std::string name = std::filesystem::path(path).filename().string();
  frame.ui.ensure_glyphs(name);
  ImGui::PushTextWrapPos(0.0F);
  write_text(frame.ui.fonts().strong, frame.ui.theme().text, name);
  frame.mark("capture.name", last_item_rect());
  explain_last_item(frame, path.c_str());
  ImGui::PopTextWrapPos();
  if (!error.empty()) form.warning(error);
  ImGui::Spacing();
  const EngineResult& result = frame.result;
  const bool is_shown = result.capture && (result.capture->path() == path || are_linked_steps(result.capture->path(), path));
  if (is_shown && !result.shapes.empty()) draw_facts_of_capture(form, result);
  if (is_shown && !result.capture->note().empty()) {
    form.warning(result.capture->note());
    frame.mark("capture.note", last_item_rect());
  }
  if (is_shown && !result.capture_warning.empty()) {
    form.warning(fmt::format("Of the rows read so far: {}.", result.capture_warning));
    frame.mark("capture.warning", last_item_rect());
  }
  ImGui::Spacing();
  const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) * 0.5F;
  const bool opens_another = form.button("open", "Open another\u2026", half);
  ImGui::SameLine();
  if (form.button("close", "Close", half)) select_capture(frame.state, "");
  return opens_another;
}

}  // namespace headlight::app
