#include "app/commands/command_list.h"

namespace headlight::app {

std::vector<Command> step_commands() {
  using shell::kControl;
  using shell::Key;
  return {
      {.id = "steps.earlier",
       .label = "Show the earlier step of training",
       .help = "Shows the checkpoint, or the step of a live link, before this one.",
       .words = "checkpoint, Earlier",
       .keys = {{Key::PageUp, kControl, "Ctrl+Page Up"}},
       .run = of_window(&CommandHost::step, StepCommand::Earlier),
       .is_enabled = of_window(&CommandHost::can_step, StepCommand::Earlier),
       .refusal = "There is no earlier step: no other checkpoint of this model was found, or this is the first"},
      {.id = "steps.later",
       .label = "Show the later step of training",
       .help = "Shows the checkpoint, or the step of a live link, after this one.",
       .words = "checkpoint, Later",
       .keys = {{Key::PageDown, kControl, "Ctrl+Page Down"}},
       .run = of_window(&CommandHost::step, StepCommand::Later),
       .is_enabled = of_window(&CommandHost::can_step, StepCommand::Later),
       .refusal = "There is no later step: no other checkpoint of this model was found, or this is the last"},
      {.id = "steps.play",
       .label = "Play the steps of training, or stop",
       .help = "Shows one checkpoint or step after the other, at most four a second; any change stops it.",
       .words = "checkpoint, Play, Stop",
       .works_while_loading = true,
       .run = of_window(&CommandHost::step, StepCommand::Play),
       .is_enabled = of_window(&CommandHost::can_step, StepCommand::Play)},
      {.id = "steps.save",
       .label = "Save all steps of training",
       .help = "Writes the captures of all steps of a live link and its curves into one file.",
       .words = "link, Save all steps",
       .menu = {"File", "Save all steps\u2026", 1},
       .run = of_window(&CommandHost::step, StepCommand::Save),
       .is_enabled = of_window(&CommandHost::can_step, StepCommand::Save)},
  };
}

}  // namespace headlight::app
