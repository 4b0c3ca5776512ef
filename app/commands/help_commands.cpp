#include "app/commands/command_list.h"

namespace headlight::app {
namespace {

using shell::kControl;
using shell::Key;

}  // namespace

std::vector<Command> help_commands() {
  return {
      {.id = "help.palette",
       .label = "Find a command, a model or a head",
       .help = "Lists commands, models, notebooks, examples and heads, and finds them by a few letters.",
       .keys = {{Key::P, kControl, "Ctrl+P"}},
       .menu = {.menu = "Help", .label = "Find a command\u2026", .section = 0},
       .works_while_loading = true,
       .works_in_popups = true,
       .run = [](const CommandContext& context) { context.window.toggle_palette(); }},
      {.id = "help.dismiss",
       .label = "Leave the text or brush, close, unpin",
       .help = "Closes what was opened last, lays the brush down, or unpins the cell.",
       .keys = {{Key::Escape, {}, "Esc"}},
       .works_while_loading = true,
       .works_in_popups = true,
       .run = [](const CommandContext& context) { context.window.dismiss(); }},
      {.id = "help.welcome",
       .label = "Welcome panel (Tab, Enter: choose)",
       .help = "Shows the cards to begin with above the panels.",
       .keys = {{Key::F2, {}, "F2"}},
       .menu = {.menu = "Help", .label = "Welcome", .section = 1},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.toggle_welcome(); }},
      {.id = "help.lessons",
       .label = "Lessons",
       .help = "Lists the lessons in the sidebar: a course about attention, and the five notebooks.",
       .words = "Again, Restart",
       .keys = {{Key::F4, {}, "F4"}},
       .menu = {.menu = "Help", .label = "Lessons", .section = 1},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.toggle_lessons(); }},
      {.id = "help.next_card",
       .label = "Lesson: next card",
       .help = "Goes on to the next card of the lesson.",
       .words = "Next, Skip, Finish",
       .keys = {{Key::Period, kControl, "Ctrl+."}},
       .run = [](const CommandContext& context) { context.window.go_on_in_lesson(); },
       .is_enabled = [](const CommandContext& context) { return context.window.plays_lesson(); },
       .refusal = "No lesson is open: F4 lists them."},
      {.id = "help.previous_card",
       .label = "Lesson: card before",
       .help = "Goes back to the card before, or from the first one to the list of lessons.",
       .words = "Back",
       .keys = {{Key::Comma, kControl, "Ctrl+,"}},
       .run = [](const CommandContext& context) { context.window.go_back_in_lesson(); },
       .is_enabled = [](const CommandContext& context) { return context.window.plays_lesson(); },
       .refusal = "No lesson is open: F4 lists them."},
      {.id = "help.keys",
       .label = "Keys and words",
       .help = "Lists all keys, and what the words on screen mean.",
       .keys = {{Key::F1, {}, "F1"}},
       .menu = {.menu = "Help", .label = "Keys and words", .section = 1},
       .works_while_loading = true,
       .works_in_popups = true,
       .run = [](const CommandContext& context) { context.window.toggle_help(); }},
      {.id = "help.check",
       .label = "Check this machine",
       .help = "Checks what every Vulkan device says and computes, in the background; the report can be copied.",
       .words = "Diagnose, GPU, driver",
       .menu = {.menu = "Help", .label = "Check this machine\u2026", .section = 1},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.check_machine(); }},
      {.id = "help.about",
       .label = "About",
       .help = "Shows the version, the devices and the licence.",
       .menu = {.menu = "Help", .label = "About", .section = 1},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.show_about(); }},
  };
}

}  // namespace headlight::app
