#include "app/commands/command_list.h"

namespace headlight::app {

std::vector<Command> generation_commands() {
  return {
      {.id = "generation.start",
       .label = "Generate: let the model write on after the text",
       .help = "Lets the model write on, token by token, after the text.",
       .run = of_window(&CommandHost::start_generating),
       .is_enabled =
           [](const CommandContext& context) { return context.window.can_generate() && !context.window.is_generating(); }},
      {.id = "generation.stop",
       .label = "Stop generating",
       .help = "Ends the writing; what was written stays.",
       .words = "Stop",
       .run = of_window(&CommandHost::stop_generating),
       .is_enabled = of_window(&CommandHost::is_generating)},
  };
}

}  // namespace headlight::app
