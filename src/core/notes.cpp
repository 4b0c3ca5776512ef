#include "core/notes.h"

#include <algorithm>
#include <mutex>

namespace headlight {
namespace {

struct Notes {
  std::mutex mutex;
  std::vector<std::string> lines;
};

Notes& kept() {
  static Notes notes;
  return notes;
}

}  // namespace

void add_note(const std::string& line) {
  Notes& notes = kept();
  const std::lock_guard lock(notes.mutex);
  if (std::ranges::find(notes.lines, line) == notes.lines.end()) notes.lines.push_back(line);
}

std::vector<std::string> added_notes() {
  Notes& notes = kept();
  const std::lock_guard lock(notes.mutex);
  return notes.lines;
}

}  // namespace headlight
