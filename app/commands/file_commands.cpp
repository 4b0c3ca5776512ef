#include "app/commands/command_groups.h"

namespace headlight::app {
namespace {

using shell::kControl;
using shell::kControlShift;
using shell::Key;

bool has_run(const CommandContext& context) { return !context.shapes.empty(); }

}  // namespace

std::vector<Command> file_commands() {
  return {
      {.id = "file.open_model",
       .label = "Open a model",
       .group = "File",
       .help = "Opens a language model: a folder, a file or one from the Hugging Face cache.",
       .keys = {{Key::O, kControl, "Ctrl+O"}},
       .menu = {.menu = "File", .label = "Open model\u2026", .section = 0},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.browse_models(); }},
      {.id = "file.open_session",
       .label = "Open a session",
       .group = "File",
       .help = "Opens a file with texts, model, masks and gains that was saved before.",
       .keys = {{Key::O, kControlShift, "Ctrl+Shift+O"}},
       .menu = {.menu = "File", .label = "Open session\u2026", .section = 1},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.open_session(); }},
      {.id = "file.save_session",
       .label = "Save the session",
       .group = "File",
       .help = "Writes texts, model, masks and gains into a file, to go on with them another time.",
       .keys = {{Key::S, kControl, "Ctrl+S"}},
       .menu = {.menu = "File", .label = "Save session", .section = 1},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.save_session(); }},
      {.id = "file.save_session_as",
       .label = "Save the session under another name",
       .group = "File",
       .help = "Asks for the file to write the session into.",
       .menu = {.menu = "File", .label = "Save session as\u2026", .section = 1},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.save_session_as(); }},
      {.id = "file.export",
       .label = "Export",
       .group = "File",
       .help = "Writes maps as figures and numbers.",
       .keys = {{Key::E, kControl, "Ctrl+E"}},
       .menu = {.menu = "File", .label = "Export\u2026", .section = 2},
       .run = [](const CommandContext& context) { context.window.open_export_dialog(); },
       .is_enabled = has_run},
      {.id = "file.copy_figure",
       .label = "Copy the map as an image",
       .group = "File",
       .help = "Puts the selected head's map on the clipboard as an image.",
       .keys = {{Key::C, kControlShift, "Ctrl+Shift+C"}},
       .menu = {.menu = "Edit", .label = "Copy figure", .section = 1},
       .run = [](const CommandContext& context) { context.window.copy_figure(); },
       .is_enabled = has_run},
      {.id = "file.copy_cell",
       .label = "Copy the pinned cell's numbers",
       .group = "File",
       .help = "Puts the pinned cell's tokens, weight and score on the clipboard.",
       .keys = {{Key::C, kControl, "Ctrl+C"}},
       .menu = {.menu = "Edit", .label = "Copy cell", .section = 1},
       .run = [](const CommandContext& context) { context.window.copy_cell(); },
       .is_enabled = [](const CommandContext& context) { return context.state.view.pinned.has_value(); },
       .refusal = "No cell is pinned: click one, then copy it."},
      {.id = "file.save_screenshot",
       .label = "Save a screenshot",
       .group = "File",
       .help = "Writes the window as a PNG.",
       .keys = {{Key::S, kControlShift, "Ctrl+Shift+S"}},
       .menu = {.menu = "File", .label = "Save screenshot\u2026", .section = 2},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.open_screenshot_dialog(ScreenshotArea::Window); }},
      {.id = "file.save_view",
       .label = "Save the view as an image",
       .group = "File",
       .help = "Writes the view in the middle of the window as a PNG.",
       .menu = {.menu = "File", .label = "Save view as image\u2026", .section = 2},
       .run = [](const CommandContext& context) { context.window.open_screenshot_dialog(ScreenshotArea::View); },
       .is_enabled = has_run},
      {.id = "file.quit",
       .label = "Quit",
       .group = "File",
       .help = "Closes the window; everything chosen is there again at the next start.",
       .keys = {{Key::Q, kControl, "Ctrl+Q"}},
       .menu = {.menu = "File", .label = "Quit", .section = 3},
       .works_while_loading = true,
       .run = [](const CommandContext& context) { context.window.quit(); }},
  };
}

}  // namespace headlight::app
