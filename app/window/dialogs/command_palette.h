#pragma once

#include "app/frame.h"
#include "app/window/dialogs/word_search.h"

namespace headlight::app {

/// Something that the palette offers.
struct PaletteEntry {
  std::string id;           ///< "command mask.causal", "head encoder.1.4": what Settings::recent_choices names
  std::string title;        ///< searched first: "Layer 1 · head 4"
  std::string detail = {};  ///< searched too, dim after the title: "L1H4"
  std::string words = {};   ///< searched too, by commas: "Swap, Put here"; shown where one of them was typed
  std::string kind;         ///< "Head", "Model", or the group of a command
  std::string keys = {};    ///< that start it without the palette
  std::string help = {};    ///< a sentence, below the list while the entry is selected
  bool is_recent = false;   ///< among the first ones because it was chosen before
  std::function<void()> run = {};
};

/// A field over a list (Ctrl+P): beginnings of words find commands, models, notebooks, examples and heads.
class CommandPalette {
 public:
  /// Opens the palette with an empty field. Nothing is on screen until the next frame is drawn.
  void open(std::vector<PaletteEntry> entries);
  /// Replaces the entries while the palette is open; the typed text stays, and so does the selected entry if it is still
  /// found.
  void replace(std::vector<PaletteEntry> entries);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  /// Returns the list's entries, from the top, and the selected row.
  std::size_t count() const { return hits_.size(); }
  const PaletteEntry& entry(std::size_t row) const { return entries_[hits_[row].entry]; }
  std::size_t selected() const { return selected_; }

  /// Returns the entry that the user has chosen in this frame; the palette is closed then, and the caller runs it. `remark`:
  /// at the right below the list; may be empty.
  std::optional<PaletteEntry> draw(Frame& frame, const std::string& remark);

 private:
  void search();
  void draw_query(Frame& frame, bool& is_confirmed);
  /// Returns whether an entry was clicked.
  bool draw_list(Frame& frame, float height);
  bool draw_row(Frame& frame, std::size_t row);
  void draw_foot(Frame& frame, const std::string& remark) const;

  std::vector<PaletteEntry> entries_;
  WordIndex index_;
  std::vector<SearchHit> hits_;
  std::string query_;
  std::size_t selected_ = 0;  ///< of hits_
  bool is_open_ = false;
  bool is_appearing_ = false;    ///< opened and not drawn yet
  bool had_keyboard_ = false;    ///< the field, in the last frame
  bool scrolls_to_row_ = false;  ///< the keyboard has moved the selection
  float kind_width_ = 0.0F;      ///< of the column at the right, for all entries
};

}  // namespace headlight::app
