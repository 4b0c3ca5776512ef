#include "app/window/desk.h"

namespace headlight::app {

void Desk::post(std::function<void()> action) {
  actions.push_back(std::move(action));
  ui.request_redraw(2);
}

void Desk::ensure_glyphs() {
  for (const std::string* text :
       {&state.text(), &state.playground().key_text, &state.model().pair_text, &state.model().target_text}) {
    ui.ensure_glyphs(*text);
  }
}

bool Desk::is_current() const {
  return result.run != 0 && result.first_layers == 0 && !result.is_stale && result.revision >= inputs_revision;
}

bool Desk::is_arriving() const {
  if (result.run == 0 || !result.inputs) return false;
  const bool is_refused = !result.error.empty() && result.revision >= inputs_revision;
  return !is_refused && !names_same(result.inputs->source, state.source);
}

void Desk::stop_generating() {
  generation.stop(state);
  // The generated text is one step, and the user's next typing another.
  if (undo.observe(state, now_s, true)) ui.request_redraw(2);
  undo.seal();
}

}  // namespace headlight::app
