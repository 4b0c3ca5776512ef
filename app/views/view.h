#pragma once

#include "app/figures/job.h"
#include "app/frame.h"
#include "export/drawing.h"

namespace headlight::app {

/// A view on screen, with what it keeps from frame to frame.
class ViewPanel {
 public:
  virtual ~ViewPanel() = default;
  /// Draws into the whole current child region. Called only of runs that View::why_empty() has nothing against. Gives the
  /// sentence its place below the title (place_sentence()), and where it isn't a map's puts it into Frame::says.
  virtual void draw(Frame& frame) = 0;
  /// Returns what was drawn last as a figure for a paper, on white; null: this view has none. May throw Error.
  virtual std::unique_ptr<exporting::Drawing> figure() const { return nullptr; }

 protected:
  ViewPanel() = default;
  ViewPanel(const ViewPanel&) = default;
  ViewPanel& operator=(const ViewPanel&) = default;
};

/// The function by which view_table.cpp makes a view.
using OpenView = std::unique_ptr<ViewPanel>();

/// A way of looking at a run, in the middle of the window: a tab, an entry of the View menu, a choice of --tab.
struct View {
  std::string_view id;     ///< lower-case words: "steps". Settings, sessions and --tab name the view by it
  std::string_view title;  ///< of its tab: "Steps"
  std::string_view group;  ///< heading of its tab, its keys and its part of the View menu; a group's views follow each other
  std::string_view help;   ///< one sentence: the tab's tooltip
  shell::Shortcut key;     ///< shows it
  OpenView* open;
  /// The matrices that it shows: what the export dialog proposes.
  ExportContents (*exported)(const State&);
  /// The keys that the view itself takes, in the status line before those of every view: "Page ↑ ↓ matrix".
  std::string_view keys = {};
  /// Do the arrow keys move in the view itself, instead of through layers and heads?
  bool takes_arrows = false;
  /// Do Page Up and Page Down move in the view itself, instead of through the lines of a batch?
  bool takes_pages = false;
  /// Folds what is unfolded in the view: the effect of Esc. Returns whether there was something. Null: Esc does nothing in
  /// it.
  bool (*fold)(State&) = nullptr;
  /// The labels of the view's buttons, separated by commas: the palette finds the view by them.
  std::string_view words = {};
  /// The context menus that offer the view: bits of MenuTarget.
  std::uint8_t menus_of = 0;
  /// Does it show the maps of all heads, so that the grid beside it would show them twice?
  bool shows_all_heads = false;
  /// Returns what the view needs that the source of this run lacks, in two sentences or more that dim its tab and take the
  /// view's place, the first as a title; empty: it draws. Null: it draws any run.
  std::string (*why_empty)(const Frame&) = nullptr;
};

}  // namespace headlight::app
