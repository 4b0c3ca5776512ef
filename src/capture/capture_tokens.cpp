#include "capture/capture_tokens.h"

#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight::capture {
namespace {

using Json = nlohmann::json;

constexpr JsonLimits kTokenLimits{.bytes = std::size_t{64} << 20, .values = std::size_t{8} << 20, .depth = 8};
/// Bytes of a token's text that are kept.
constexpr std::size_t kLongestToken = 256;

std::vector<std::string> read_line(const Json& list, const std::string& where) {
  std::vector<std::string> line;
  line.reserve(list.size());
  for (const Json& token : list) {
    if (!token.is_string()) throw Error("{}: {} is not a text; tokens are a list of texts", where, shown(token));
    line.push_back(one_line(token.get_ref<const std::string&>(), kLongestToken));
  }
  return line;
}

TokenLists read_lists(const Json& value, std::string where) {
  if (!value.is_array()) throw Error("{}: {} is not a list of texts", where, shown(value));
  TokenLists lists{.where = std::move(where)};
  const bool is_nested = !value.empty() && value.front().is_array();
  if (!is_nested) {
    lists.lines.push_back(read_line(value, lists.where));
    return lists;
  }
  for (const Json& line : value) {
    if (!line.is_array()) throw Error("{}: {} is not a list, but the first line is one", lists.where, shown(line));
    lists.lines.push_back(read_line(line, lists.where));
  }
  return lists;
}

bool read_mask(const Json& value, const std::string& where) {
  if (value == "causal") return true;
  if (value == "none") return false;
  throw Error("{}: {} is not a mask; it is \"causal\" or \"none\"", where, shown(value));
}

/// Rows and columns of patches, or a token.
constexpr std::uint32_t kMostPatches = std::uint32_t{1} << 20;
constexpr std::size_t kMostImages = std::size_t{1} << 16;

bool is_count(const Json& value) { return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMostPatches; }

std::vector<std::string> read_files_of(const Json& value, const std::string& where) {
  if (value.is_string()) return {value.get<std::string>()};
  std::vector<std::string> files;
  if (!value.is_array() || value.empty() || value.size() > kMostImages) {
    throw Error("{}: {} is no path of an image", where, shown(value));
  }
  for (const Json& file : value) {
    if (!file.is_string()) throw Error("{}: {} is no path of an image", where, shown(file));
    files.push_back(file.get<std::string>());
  }
  return files;
}

/// A capture is shown without an image that can't be: what is wrong is kept.
void take_image(ImageWords& image, const std::string& key, const Json& value, const std::string& where) {
  try {
    if (key == "image") image.files = read_files_of(value, where);
    if (key == "patches") {
      const bool are_counts = value.is_array() && value.size() == 2 && is_count(value[0]) && is_count(value[1]);
      if (!are_counts) throw Error("{}: {} is not [rows, columns]", where, shown(value));
      image.patches = {value[0].get<std::uint32_t>(), value[1].get<std::uint32_t>()};
    }
    if (key == "first_patch") {
      if (!is_count(value)) throw Error("{}: {} is no token's number", where, shown(value));
      image.first_patch = value.get<std::uint32_t>();
    }
  } catch (const Error& error) {
    image.problem = error.what();
  }
}

/// Takes one member of metadata or of the JSON beside the file.
void take(CaptureWords& words, const std::string& key, const Json& value, const std::string& file) {
  const std::string where = fmt::format("{}, {}", file, key);
  take_image(words.image, key, value, where);
  if (key == "mask") words.is_causal = read_mask(value, where);
  if (key == "tokens") words.tokens = read_lists(value, where);
  if (key == "query_tokens") words.query_tokens = read_lists(value, where);
  if (key == "key_tokens") words.key_tokens = read_lists(value, where);
}

constexpr std::array<const char*, 7> kMembers = {"tokens", "query_tokens", "key_tokens", "mask",
                                                 "image",  "patches",      "first_patch"};

/// Metadata are texts: these are no JSON.
bool is_plain_text(std::string_view key, std::string_view text) {
  return key == "mask" || (key == "image" && !text.starts_with('['));
}
bool is_of_image(std::string_view key) { return key == "image" || key == "patches" || key == "first_patch"; }

}  // namespace

CaptureWords read_words(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata) {
  CaptureWords words;
  for (const char* key : kMembers) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) continue;
    const std::string file = path.filename().string();
    if (is_plain_text(key, found->second)) {
      take(words, key, found->second, file);
      continue;
    }
    const Result<Json> value = parse_json(found->second, kTokenLimits);
    if (!value) {
      const std::string problem = fmt::format("{}, {}: {}; write it with json.dumps", file, key, value.error());
      if (!is_of_image(key)) throw Error("{}", problem);
      words.image.problem = problem;
      continue;
    }
    take(words, key, *value, file);
  }
  const std::filesystem::path beside = std::filesystem::path(path).replace_extension(".json");
  std::error_code failure;
  if (!std::filesystem::exists(beside, failure)) return words;
  const Json about = read_json(beside, kTokenLimits);
  const std::string file = beside.filename().string();
  if (about.is_array()) {
    take(words, "tokens", about, file);
    return words;
  }
  if (!about.is_object()) throw Error("{}: expected an object with tokens, found {}", beside.string(), shown(about));
  for (const char* key : kMembers) {
    if (about.contains(key)) take(words, key, about.at(key), file);
  }
  return words;
}

model::TokenBatch token_batch(const std::optional<TokenLists>& lists, std::uint32_t batch, std::uint32_t length) {
  model::TokenBatch tokens{.batch = batch, .length = length, .lengths = std::vector(batch, length)};
  if (!lists) {
    std::vector<std::string> positions;
    positions.reserve(length);
    for (std::uint32_t i = 0; i < length; ++i) positions.push_back(std::to_string(i));
    tokens.texts.assign(batch, positions);
    return tokens;
  }
  if (lists->lines.size() != batch) {
    throw Error("{}: {} list{} of tokens, but the batch has {} line{}; write one list for each line", lists->where,
                lists->lines.size(), lists->lines.size() == 1 ? "" : "s", batch, batch == 1 ? "" : "s");
  }
  for (std::size_t line = 0; line < lists->lines.size(); ++line) {
    const std::size_t found = lists->lines[line].size();
    if (found != length) {
      throw Error("{}: line {} has {} tokens, but its attention has {}; save them of the same pass, padding included",
                  lists->where, line + 1, found, length);
    }
  }
  tokens.texts = lists->lines;
  return tokens;
}

}  // namespace headlight::capture
