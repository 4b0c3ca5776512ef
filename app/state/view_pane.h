#pragma once

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

#include "app/state/view_choices.h"
#include "chart/viewport.h"

namespace headlight::app {

class JsonReader;

inline constexpr std::size_t kMostPanes = 6;
inline constexpr float kLeastShare = 0.1F;  ///< of a part of a pane

/// The edge of a pane at which another one is opened.
enum class PaneEdge : std::uint8_t { Left, Right, Top, Bottom };

/// A view's pane on screen, in UI units.
struct PlacedPane {
  ViewPane* pane = nullptr;
  chart::Rect rect;
};

/// The border between the two parts of a pane, which can be dragged.
struct PaneBorder {
  ViewPane* pane = nullptr;
  chart::Rect whole;  ///< both parts
  chart::Rect strip;  ///< wider than the line that is seen
};

struct PaneLayout {
  std::vector<PlacedPane> panes;  ///< from left to right and from the top down
  std::vector<PaneBorder> borders;
};

/// Lays out the panes of views in `room`. The pointers are valid until panes are opened or closed.
PaneLayout lay_out_panes(ViewPane& root, const chart::Rect& room);

/// Returns the panes of views, from left to right and from the top down, as lay_out_panes() numbers them.
std::vector<ViewPane*> panes_of(ViewPane& root);
/// Returns the pane that has the keyboard.
ViewPane& pane_with_keys(ViewChoices& view);
/// Is the view in one of the panes?
bool is_on_screen(const ViewChoices& view, std::string_view id);

/// Opens a view at an edge of a pane, which keeps its own; the new pane gets the keyboard. False: there are kMostPanes
/// already.
bool open_beside(ViewChoices& view, ViewPane& pane, PaneEdge edge, std::string_view id);
/// Gives a pane the keyboard.
void give_keys(ViewChoices& view, ViewPane& pane);
/// Closes a pane, whose place its neighbour takes; the last one shows the view Head.
void close_pane(ViewChoices& view, ViewPane& pane);

/// As files have panes; null: one pane, which follows the selection.
nlohmann::json write_panes(const ViewPane& root);
/// Throws Error where the member is anything that open_beside() can't have made.
void read_panes(const JsonReader& object, const char* key, ViewPane& root);

/// Writes the views on screen and their places to a file, atomically. Throws Error naming the file.
void save_layout(const std::filesystem::path& path, const ViewChoices& view);
/// Puts the views of a file that save_layout() has written on screen. Throws Error, with the file and the place in it, where
/// it is none; then `view` stays.
void load_layout(const std::filesystem::path& path, ViewChoices& view);

}  // namespace headlight::app
