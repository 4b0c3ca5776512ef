#include "core/line_reader.h"

#include <algorithm>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
constexpr std::size_t kMaxLineValues = std::size_t{1} << 20;
constexpr std::size_t kLongestList = 200;  // bytes of an object's names in a message

bool is_blank_line(std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; }

/// Calls `use(text, has_line_end)` for each text of a file.
template <typename Use>
void for_each_text(const std::filesystem::path& path, std::uint64_t largest, std::string_view field, Use&& use) {
  LineReader reader(path);
  const bool is_json = is_json_lines(path);
  std::uint64_t bytes = 0, number = 1;
  for (std::string line; reader.next(line); ++number) {
    bytes += line.size() + 1;
    if (bytes > largest) throw Error("{} has more than {} MiB of text", reader.name(), largest >> 20);
    try {
      const std::size_t broken = find_invalid_utf8(line);
      if (broken != std::string::npos) throw Error("byte {} is not UTF-8: convert the file", broken);
      if (!is_json) use(line, reader.had_line_end());
      if (is_json && !is_blank_line(line)) use(text_of_json_line(line, field), true);
    } catch (const Error& error) {
      throw Error("{} line {}: {}", reader.name(), number, error.what());
    }
  }
}

}  // namespace

bool LineReader::next(std::string& line) {
  line.clear();
  while (true) {
    const std::size_t end = part_.find('\n', at_);
    const std::size_t count = std::min(end, part_.size()) - at_;
    if (line.size() + count > kLongestLine) {
      throw Error("{} line {} has more than {} MiB: give a text a line", name(), lines_ + 1, kLongestLine >> 20);
    }
    line.append(part_, at_, count);
    at_ += count;
    if (end != std::string::npos) ++at_;
    if (end != std::string::npos || has_ended_) break;
    part_.resize(kReadAtOnce);
    at_ = 0;
    const std::size_t read = bytes_.read(part_.data(), part_.size());
    part_.resize(read);
    has_ended_ = read == 0;
  }
  had_line_end_ = !has_ended_;
  const bool is_line = !line.empty() || had_line_end_;
  strip_line_end(line);
  if (lines_++ == 0) strip_byte_order_mark(line);
  return is_line;
}

bool LineReader::is_ready() const { return at_ < part_.size() || has_ended_ || bytes_.is_ready(); }

void strip_line_end(std::string& line) {
  if (line.ends_with('\r')) line.pop_back();
}

void strip_byte_order_mark(std::string& line) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (line.starts_with(kMark)) line.erase(0, kMark.size());
}

bool is_json_lines(const std::filesystem::path& path) {
  const std::filesystem::path name = path.extension() == ".gz" ? path.stem() : path;
  return name.extension() == ".jsonl" || name.extension() == ".ndjson" || name.extension() == ".json";
}

nlohmann::json parse_json_line(std::string_view line, std::string_view field) {
  Result<nlohmann::json> object = parse_json(line, {.bytes = kLongestLine, .values = kMaxLineValues});
  if (!object) throw Error("{}", object.error());
  if (!object->is_object()) throw Error("found {}; expected an object as {{\"{}\": \"…\"}}", shown(*object), field);
  if (!object->contains(field)) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object->items()) names.push_back(name);
    throw Error("the object has no \"{0}\", but {1}: name the one with the text (--field), or call it \"{0}\"", field,
                names.empty() ? "nothing" : one_line(fmt::format("{}", fmt::join(names, ", ")), kLongestList));
  }
  return std::move(object).value();
}

std::string text_of_json_line(std::string_view line, std::string_view field) {
  const nlohmann::json object = parse_json_line(line, field);
  const nlohmann::json& text = *object.find(field);
  if (!text.is_string()) throw Error("\"{}\" is {}; it is a text", field, shown(text));
  return text.get<std::string>();
}

std::vector<std::string> read_texts(const std::filesystem::path& path, std::uint64_t largest, std::string_view field) {
  std::vector<std::string> texts;
  for_each_text(path, largest, field, [&](const std::string& text, bool) { texts.push_back(text); });
  if (texts.empty()) throw Error("{} is empty: it needs a line of text at least", utf8(path));
  return texts;
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t largest) {
  const bool is_json = is_json_lines(path);
  std::string all;
  for_each_text(path, largest, "text", [&](const std::string& text, bool has_line_end) {
    if (is_json && text.find('\n') != std::string::npos) {
      throw Error("the text has line breaks, and here each line is a text of its own: headlight export --texts takes it");
    }
    all += text;
    if (has_line_end) all += '\n';
  });
  if (is_json && !all.empty()) all.pop_back();
  return all;
}

}  // namespace headlight
