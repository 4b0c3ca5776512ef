#pragma once

#include "app/state/setting.h"

namespace headlight::app {

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
       .flag_value = "CELL"}};
};
inline const NotebookSettings kNotebookView;

}  // namespace headlight::app
