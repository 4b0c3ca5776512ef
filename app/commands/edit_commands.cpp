#include "app/commands/command_list.h"

namespace headlight::app {
namespace {

using shell::kControl;
using shell::kControlShift;
using shell::Key;

/// Is there a model's text, to which the settings of its tokenizer apply?
bool reads_with_model(const CommandContext& context) { return is_model(context.state.source); }

}  // namespace

std::vector<Command> edit_commands() {
  return {
      {.id = "edit.write_text",
       .label = "Write into the text box",
       .help = "Puts the caret at the end of the text.",
       .words = "Edit the text, Examples, As ids, Use the text again, Translate by itself, Write it yourself, The model "
                "writes it again",
       .keys = {{Key::Slash, {}, "/"}, {Key::L, kControl, "Ctrl+L"}},
       .menu = {"Edit", "Write into the text box", 3},
       .run = of_window(&CommandHost::write_text)},
      {.id = "edit.origin",
       .label = "Where is this number from?",
       .help = "Shows which tensors, inputs and operation made the number under the pointer, or the pinned cell. "
               "Ctrl+click does so too.",
       .words = "From?",
       .keys = {{Key::O, {}, "O"}},
       .menu = {"Edit", "Where is this number from?", 1},
       .menus_of = kOfCell,
       .run = [](const CommandContext& context) { context.transient.asked_number = context.transient.pointed_number; },
       .is_enabled = [](const CommandContext& context) { return context.transient.pointed_number.has_value(); },
       .refusal = "Point at a number or click a cell first, then press O."},
      {.id = "edit.undo",
       .label = "Undo",
       .help = "Takes back the last change.",
       .keys = {{Key::Z, kControl, "Ctrl+Z"}},
       .menu = {"Edit", "Undo", 0},
       .works_while_loading = true,
       .run = of_window(&CommandHost::undo_change),
       .is_enabled = [](const CommandContext& context) { return !context.window.undo_label().empty(); },
       .object = of_window(&CommandHost::undo_label)},
      {.id = "edit.redo",
       .label = "Redo",
       .help = "Makes the change again.",
       .keys = {{Key::Y, kControl, "Ctrl+Y"}, {Key::Z, kControlShift, "Ctrl+Shift+Z"}},
       .menu = {"Edit", "Redo", 0},
       .works_while_loading = true,
       .run = of_window(&CommandHost::redo_change),
       .is_enabled = [](const CommandContext& context) { return !context.window.redo_label().empty(); },
       .object = of_window(&CommandHost::redo_label)},
      {.id = "edit.history",
       .label = "History",
       .help = "Lists every step and branch of what was changed, to go to any of them.",
       .keys = {{Key::H, kControl, "Ctrl+H"}},
       .menu = {"Edit", "History", 0},
       .works_while_loading = true,
       .run = of_window(&CommandHost::toggle_history)},
      {.id = "text.stretch",
       .label = "Take longer texts by stretched positions, or not",
       .help = "Takes texts that are longer than the model's table of positions, which is interpolated.",
       .words = "Take the whole text",
       .run = [](const CommandContext& context) { context.state.model().stretches_positions ^= true; },
       .is_enabled = reads_with_model,
       .is_checked =
           [](const CommandContext& context) {
             return reads_with_model(context) && context.state.model().stretches_positions;
           }},
      {.id = "text.special",
       .label = "Special tokens on or off",
       .help = "Those that the model's tokenizer adds, like [CLS] or <s>.",
       .run = [](const CommandContext& context) { context.state.model().adds_special ^= true; },
       .is_enabled = reads_with_model,
       .is_checked =
           [](const CommandContext& context) { return reads_with_model(context) && context.state.model().adds_special; }},
  };
}

}  // namespace headlight::app
