#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace headlight::app {

/// The user's note about a head.
struct HeadNote {
  std::string label;  ///< a few words, by which the head is found
  std::string text;

  bool is_empty() const { return label.empty() && text.empty(); }
  bool operator==(const HeadNote&) const = default;
};
/// Notes by the head's name, "L5H1"; heads without a note have none.
using HeadNotes = std::map<std::string, HeadNote>;

/// Reads the notes of the file beside a survey; empty where there is none. Throws Error naming the file where it holds
/// something else.
HeadNotes read_notes(const std::filesystem::path& survey);
/// Writes that file. Throws Error naming it.
void write_notes(const std::filesystem::path& survey, const HeadNotes& notes);

}  // namespace headlight::app
