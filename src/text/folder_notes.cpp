#include "text/folder_notes.h"

#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/json.h"
#include "text/json_node.h"

namespace headlight::text {
namespace {

struct Role {
  const char* key;
  std::optional<std::string> SpecialTokenStrings::*token_string;
};
/// The roles are in the order in which tokens missing from the vocabulary get their ids.
constexpr std::array<Role, 7> kRoles = {{{"bos_token", &SpecialTokenStrings::beginning},
                                         {"eos_token", &SpecialTokenStrings::end},
                                         {"unk_token", &SpecialTokenStrings::unknown},
                                         {"sep_token", &SpecialTokenStrings::separator},
                                         {"pad_token", &SpecialTokenStrings::padding},
                                         {"cls_token", &SpecialTokenStrings::classification},
                                         {"mask_token", &SpecialTokenStrings::mask}}};

/// "<s>" or {"content": "<s>", "lstrip": false, …}.
std::optional<AddedToken> read_token(const JsonNode& node) {
  if (node.value().is_string()) return AddedToken{.content = node.string(), .is_normalized = false, .is_special = true};
  if (!node.value().is_object()) return std::nullopt;
  return AddedToken{.content = node.at("content").string(),
                    .single_word = node.boolean_or("single_word", false),
                    .left_strip = node.boolean_or("lstrip", false),
                    .right_strip = node.boolean_or("rstrip", false),
                    .is_normalized = node.boolean_or("normalized", false),
                    .is_special = node.boolean_or("special", true)};
}

/// The notes while they are being read.
struct Reading {
  FolderNotes notes;
  std::unordered_map<std::string, std::size_t> known;  ///< content of a token -> its place among the notes' special tokens

  /// A token that is known keeps its place and its rules, unless it turns out to be special.
  void add(AddedToken token) {
    const auto [entry, is_new] = known.emplace(token.content, notes.special_tokens.size());
    if (is_new) {
      notes.special_tokens.push_back(std::move(token));
    } else if (AddedToken& before = notes.special_tokens[entry->second]; token.is_special && !before.is_special) {
      before = std::move(token);
    }
  }
};

/// {"32000": {"content": "<pad>", …}, …}: sorted by id, so that tokens beyond the vocabulary get the ids listed here.
void read_added(const JsonNode& root, Reading& reading) {
  const std::optional<JsonNode> node = root.find("added_tokens_decoder");
  if (!node || !node->value().is_object()) return;
  std::map<std::uint64_t, AddedToken> tokens;
  for (const auto& [id, value] : node->value().items()) {
    if (id.empty() || id.size() > 10 || id.find_first_not_of("0123456789") != std::string::npos)
      node->at(id).fail("must be the value of an id");
    if (std::optional<AddedToken> token = read_token(node->at(id))) tokens.emplace(std::stoull(id), std::move(*token));
  }
  for (auto& [id, token] : tokens) reading.add(std::move(token));
}

void read_special(const JsonNode& root, Reading& reading) {
  for (const Role& role : kRoles) {
    const std::optional<JsonNode> node = root.find(role.key);
    const std::optional<AddedToken> token = node ? read_token(*node) : std::nullopt;
    if (!token) continue;
    if (!(reading.notes.special.*role.token_string)) reading.notes.special.*role.token_string = token->content;
    reading.add(*token);
  }
  const std::optional<JsonNode> more = root.find("additional_special_tokens");
  if (!more || !more->value().is_array()) return;
  for (const JsonNode& item : more->items()) {
    if (std::optional<AddedToken> token = read_token(item)) reading.add(std::move(*token));
  }
}

std::optional<bool> flag(const JsonNode& root, std::string_view key) {
  const std::optional<JsonNode> node = root.find(key);
  return node && node->value().is_boolean() ? std::optional(node->boolean()) : std::nullopt;
}

/// A number of tokens that the tokenizer adds itself.
std::optional<std::uint32_t> small_count(const JsonNode& root, std::string_view key) {
  constexpr std::uint32_t kMax = 65'536;
  const std::optional<JsonNode> node = root.find(key);
  if (!node) return std::nullopt;
  const std::uint32_t count = node->id();
  if (count > kMax) node->fail(fmt::format("is {}, more than {}", count, kMax));
  return count;
}

/// Calls `read` with the file's content if the file exists.
template <typename Read>
void read_if_there(const std::filesystem::path& file, Read read) {
  if (!std::filesystem::exists(file)) return;
  const nlohmann::json document = read_json(file);
  const JsonNode root(document, fmt::format("{}: ", utf8(file)));
  read(root);
}

/// added_tokens.json of older folders, {"<mask>": 50257, …}, by id: plain tokens unless another file names them as special.
std::vector<AddedToken> read_older_added(const std::filesystem::path& folder) {
  std::map<std::uint32_t, std::string> by_id;
  read_if_there(folder / "added_tokens.json", [&](const JsonNode& root) {
    if (!root.value().is_object()) root.fail("tokens and their ids are an object");
    for (const auto& [content, id] : root.value().items()) by_id.emplace(root.at(content).id(), content);
  });
  std::vector<AddedToken> tokens;
  for (auto& [id, content] : by_id) tokens.push_back({.content = std::move(content)});
  return tokens;
}

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
  return result;
}

}  // namespace

bool FolderNotes::is(std::string_view family) const {
  return lower(tokenizer_class).starts_with(lower(family)) || model_type == family;
}

std::vector<AddedToken> FolderNotes::added_after(std::vector<AddedToken> first) const {
  std::unordered_set<std::string> known;
  for (const AddedToken& token : first) known.insert(token.content);
  for (const AddedToken& token : special_tokens) {
    if (known.insert(token.content).second) first.push_back(token);
  }
  return first;
}

FolderNotes read_folder_notes(const std::filesystem::path& folder) {
  Reading reading;
  FolderNotes& notes = reading.notes;
  read_if_there(folder / "config.json", [&](const JsonNode& root) { notes.model_type = root.string_or("model_type", ""); });
  const std::vector<AddedToken> older = read_older_added(folder);
  const auto add_older = [&] {
    for (const AddedToken& token : older) reading.add(token);
  };
  read_if_there(folder / "tokenizer_config.json", [&](const JsonNode& root) {
    read_added(root, reading);
    add_older();
    read_special(root, reading);
    notes.tokenizer_class = root.string_or("tokenizer_class", "");
    if (notes.tokenizer_class.ends_with("Fast")) notes.tokenizer_class.resize(notes.tokenizer_class.size() - 4);
    notes.adds_beginning = flag(root, "add_bos_token");
    notes.adds_end = flag(root, "add_eos_token");
    notes.adds_prefix_space = flag(root, "add_prefix_space");
    notes.lowercases = flag(root, "do_lower_case");
    notes.strips_accents = flag(root, "strip_accents");
    notes.spaces_out_chinese = flag(root, "tokenize_chinese_chars");
    notes.is_legacy = flag(root, "legacy");
    notes.keeps_accents = flag(root, "keep_accents");
    notes.splits_punctuation = flag(root, "split_by_punct");
    notes.puts_language_last = flag(root, "legacy_behaviour");
    notes.extra_ids = small_count(root, "extra_ids");
    notes.offset = small_count(root, "offset");
    const auto language = root.find("src_lang");
    if (language && language->value().is_string()) notes.source_language = language->string();
    notes.language_codes = root.string_or("language_codes", "");
  });
  add_older();
  read_if_there(folder / "special_tokens_map.json", [&](const JsonNode& root) { read_special(root, reading); });
  return std::move(reading.notes);
}

}  // namespace headlight::text
