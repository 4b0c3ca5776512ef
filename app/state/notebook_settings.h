#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// Reads the id of a cell that some notebook has. Throws UsageError.
SettingValue parse_cell_flag(const std::string& flag, const std::string& text);

/// The choices of the view Notebook.
struct NotebookSettings : SettingGroup {
  NotebookSettings() : SettingGroup{.name = "notebook", .view = "notebook", .is_look = true} {}

  Setting<std::string> cell{
      *this,
      {.key = "cell",
       .undo = "Open notebook\u2019s cell",
       .most = 32,
       .flag = "--notebook-cell",
       .flag_help = "the cell that the view Notebook opens: its number, or the word that the list has in its place",
       .flag_value = "CELL",
       .parse_flag = &parse_cell_flag}};
};
inline const NotebookSettings kNotebookView;

}  // namespace headlight::app
