#pragma once

#include <fstream>
#include <map>

#include "core/file.h"
#include "export/json.h"

namespace headlight::app {

/// A finished text of an export of many.
struct IndexedText {
  std::uint64_t line = 0;   ///< of the input, from 0
  std::string folder = {};  ///< its files'; empty where there are none
  std::string text = {};    ///< with what was given beside it
  std::size_t files = 0;
  std::string note = {};  ///< why there are none
};

/// index.jsonl of a folder with an export of many texts: its first line has the settings, each other a finished text. It
/// grows a line at a time, so that an interrupted export goes on after its last finished text; what is left of a line that
/// wasn't finished is cut off.
class TextIndex {
 public:
  /// Opens the folder's index, or begins one. Throws Error where it is damaged, of other settings, or another export's now.
  TextIndex(const std::filesystem::path& folder, const exporting::Json& settings);

  /// The line's folder has this name now: where it was written under another one, it is renamed. Throws Error where it
  /// can't be.
  void move(std::uint64_t line, const std::string& folder);
  /// Was this text finished on this line, and are its files there?
  bool has(std::uint64_t line, const std::string& text) const;
  /// Throws Error where the line can't be written.
  void add(const IndexedText& text);

 private:
  void read(const std::string& content, const exporting::Json& settings);
  void append(const exporting::Json& line);

  std::filesystem::path folder_, path_;
  std::map<std::uint64_t, IndexedText> texts_;
  std::ofstream file_;
  Descriptor lock_;  ///< so that no other export writes into the folder meanwhile
};

}  // namespace headlight::app
