#include "app/cli/text_lines.h"

#include <iostream>
#include <optional>
#include <utility>

#include <unistd.h>

#include "app/engine/prompt_lines.h"
#include "core/error.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

void check_utf8(const std::string& line) {
  const std::size_t broken = find_invalid_utf8(line);
  if (broken != std::string::npos) throw Error("byte {} is not UTF-8: convert the text", broken);
}

}  // namespace

TextLines::TextLines(const std::vector<std::string>& given, bool reads_input)
    : is_interactive_(reads_input && isatty(STDIN_FILENO) != 0) {
  for (const std::string& text : given) {
    for (const LineRange line : line_ranges(text)) given_.push_back(text.substr(line.begin, line.end - line.begin));
  }
  if (!reads_input) return;
  input_.emplace(kStandardInput);
  std::ios::sync_with_stdio(false);
}

bool TextLines::read(std::string& line) {
  if (input_) {
    if (!input_->next(line)) return false;
  } else {
    if (count_ == given_.size()) return false;
    line = given_[count_];
    strip_line_end(line);
  }
  ++count_;
  return true;
}

std::vector<std::string> TextLines::next(std::size_t most) {
  std::vector<std::string> lines;
  if (is_interactive_) most = 1;
  std::string line;
  while (lines.size() < most && (lines.empty() || !input_ || input_->is_ready()) && read(line)) lines.push_back(line);
  return lines;
}

void answer_in_batches(TextLines& lines, std::size_t most, const std::function<void(const std::string&)>& check,
                       const std::function<void(const std::vector<std::string>&, std::size_t)>& answer) {
  std::size_t first = 0;
  for (std::vector<std::string> some = lines.next(most); !some.empty(); some = lines.next(most)) {
    std::optional<Error> problem;
    std::size_t good = 0;
    for (; good < some.size() && !problem; ++good) {
      try {
        check_utf8(some[good]);
        check(some[good]);
      } catch (const Error& error) {
        problem = Error("line {}: {}", first + good + 1, error.what());
        break;
      }
    }
    some.resize(good);
    if (!some.empty()) answer(some, first);
    first += good;
    std::cout.flush();
    if (problem) throw Error(*problem);
  }
}

std::string on_one_line(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\n') {
      result += "\\n";
    } else if (letter == '\r') {
      result += "\\r";
    } else {
      result += letter;
    }
  }
  return result;
}

void write_line(const std::string& text) {
  std::cout << text << '\n';
  if (!std::cout) throw Error("standard output can't be written; is its disk full or its reader gone?");
}

}  // namespace headlight::app
