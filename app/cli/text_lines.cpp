#include "app/cli/text_lines.h"

#include <algorithm>
#include <charconv>
#include <iostream>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

void check_utf8(const std::string& line) {
  const std::size_t broken = find_invalid_utf8(line);
  if (broken != std::string::npos) throw Error("byte {} is not UTF-8: convert the text", broken);
}

constexpr std::string_view kSeparators = " \t\r\n,";
constexpr std::size_t kLongestQuote = 40;

std::string excerpt(std::string_view text) {
  return fmt::format("'{}{}'", text.substr(0, kLongestQuote), text.size() > kLongestQuote ? "…" : "");
}

std::vector<std::uint32_t> ids_of_json(const std::string& line) {
  const Result<nlohmann::json> value = parse_json(line);
  if (!value) throw Error("{}: {}", excerpt(line), value.error());
  if (value->is_object() && !value->contains("ids")) throw Error("the object has no \"ids\"");
  const nlohmann::json& list = value->is_object() ? value->at("ids") : *value;
  if (!list.is_array()) throw Error("\"ids\" is no list");
  std::vector<std::uint32_t> ids;
  ids.reserve(list.size());
  for (const nlohmann::json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0xffff'ffffu) {
      throw Error("{} is no token id: give whole numbers from 0", excerpt(shown(id)));
    }
    ids.push_back(id.get<std::uint32_t>());
  }
  return ids;
}

std::vector<std::uint32_t> parse_numbers(std::string_view line) {
  std::vector<std::uint32_t> ids;
  for (std::size_t begin = line.find_first_not_of(kSeparators); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSeparators, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    std::uint32_t id = 0;
    const auto [stop, failure] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (failure != std::errc() || stop != word.data() + word.size()) {
      throw Error("{} is no token id: give whole numbers from 0", excerpt(word));
    }
    ids.push_back(id);
    begin = line.find_first_not_of(kSeparators, end);
  }
  return ids;
}

}  // namespace

TextLines::TextLines(const std::vector<std::string>& given, bool reads_input)
    : given_(given), is_interactive_(reads_input && platform::is_terminal(platform::kStandardInput)) {
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

std::vector<std::uint32_t> parse_ids(const std::string& line) {
  const std::size_t first = line.find_first_not_of(kSeparators);
  if (first == std::string::npos) return {};
  return line[first] == '[' || line[first] == '{' ? ids_of_json(line) : parse_numbers(line);
}

}  // namespace headlight::app
