#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace headlight::app {

/// What the user says of a head.
struct HeadNote {
  std::string label;  ///< a few words, by which the head is found
  std::string text;

  bool is_empty() const { return label.empty() && text.empty(); }
  bool operator==(const HeadNote&) const = default;
};
/// By the head's name, "L5H1"; heads without a note have none.
using HeadNotes = std::map<std::string, HeadNote>;

/// Of the file beside a survey; empty where there is none. Throws Error naming the file where it holds something else.
HeadNotes read_notes(const std::filesystem::path& survey);
/// Throws Error naming the file.
void write_notes(const std::filesystem::path& survey, const HeadNotes& notes);

}  // namespace headlight::app
