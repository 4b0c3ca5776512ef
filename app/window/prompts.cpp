#include "app/data/prompts/prompt_room.h"

#include "app/state/comparison.h"
#include "app/state/logits_settings.h"
#include "app/state/view_pane.h"
#include "app/window/desk.h"

namespace headlight::app {
namespace {

/// The prompts of the chosen set: measured while their view is open, and shown when they are asked for.
class Prompts final : public Feature {
 public:
  Prompts(Desk& desk, PromptRoom& room) : Feature(desk), room_(room) {}

  void begin_frame() override {
    // Prompts aren't measured while a model, or a precision, is on its way: the one on show would be brought back to the
    // device.
    const auto& shown = desk_.result.inputs;
    const bool stays = shown && !desk_.is_arriving() && precision_of(shown->source) == precision_of(desk_.state.source);
    room_.allow(stays);
    if (!is_on_screen(desk_.state.view, "prompts")) room_.rest();
    if (const std::optional<AskedPrompt> asked = room_.take_asked()) show(*asked);
  }

  std::string pending() const override { return room_.is_busy() ? "prompts are measured" : ""; }

 private:
  /// Shows the text with the corrupted one as the second, the answers as the tokens whose logits are explained: one step of
  /// the history.
  void show(const AskedPrompt& asked) {
    if (!is_model(desk_.state.source)) return;
    desk_.stop_generating();
    desk_.undo.seal();
    State& state = desk_.state;
    Model& model = state.model();
    model.text = asked.prompt.text;
    model.ids.clear();
    model.pair_text.clear();
    model.is_chat = false;
    model.joins_lines = asked.prompt.text.find('\n') != std::string::npos;
    state.selection.batch = 0;
    state.view.pinned.reset();
    state.set(kLogitsView.token, asked.answer);
    state.set(kLogitsView.other, asked.wrong);
    state.patching.token = asked.token;
    if (!asked.prompt.corrupted.empty()) {
      compare_with_text(state, asked.prompt.corrupted);
    } else if (has_second_text(state)) {
      stop_comparing(state);
    }
    if (asked.tab == "patching" && state[kPromptsView.experiment] == PromptExperiment::Paths)
      state.patching.map = PatchMap::Paths;
    if (!asked.tab.empty()) state.view.tab = asked.tab;
    desk_.ensure_glyphs();
    desk_.ui.ensure_glyphs(asked.prompt.corrupted);
    desk_.ui.request_redraw(2);
  }

  PromptRoom& room_;
};

}  // namespace

std::unique_ptr<Feature> prompts_feature(Desk& desk, PromptRoom& room) { return std::make_unique<Prompts>(desk, room); }

}  // namespace headlight::app
