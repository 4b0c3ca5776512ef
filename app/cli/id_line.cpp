#include "app/cli/id_line.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

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

std::vector<std::uint32_t> parse_ids(const std::string& line) {
  const std::size_t first = line.find_first_not_of(kSeparators);
  if (first == std::string::npos) return {};
  return line[first] == '[' || line[first] == '{' ? ids_of_json(line) : parse_numbers(line);
}

}  // namespace headlight::app
