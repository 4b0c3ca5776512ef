#include "capture/capture_tokens.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"
#include "text/byte_alphabet.h"
#include "text/label.h"
#include "text/unicode.h"

namespace headlight::capture {
namespace {

using Json = nlohmann::json;

/// Bytes of a token's label that are kept.
constexpr std::size_t kLongestLabel = 256;
constexpr std::string_view kWordMark = "▁", kContinuation = "##";

/// Tokens that tokenizers add around texts. Others are spelled in the same way, such as "<|endoftext|>".
constexpr std::array<std::string_view, 10> kSpecialTokens = {"<s>",   "</s>",  "<pad>", "<mask>", "<bos>",
                                                             "<eos>", "[CLS]", "[SEP]", "[PAD]",  "[MASK]"};

bool is_special(std::string_view token) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kFrames = {{{"<|", "|>"}, {"<｜", "｜>"}}};
  return std::ranges::find(kSpecialTokens, token) != kSpecialTokens.end() ||
         std::ranges::any_of(kFrames, [&](const auto& frame) {
           return token.size() > frame.first.size() + frame.second.size() && token.starts_with(frame.first) &&
                  token.ends_with(frame.second);
         });
}

/// Is it UTF-8, but for characters of which the beginning or the end was cut off?
bool is_cut_from_utf8(std::string_view bytes) {
  constexpr std::size_t kMaxContinuations = 3;
  std::size_t at = 0;
  const auto is_continuation = [&] { return (static_cast<unsigned char>(bytes[at]) & 0xC0U) == 0x80U; };
  while (at < std::min(bytes.size(), kMaxContinuations) && is_continuation()) ++at;
  while (at < bytes.size()) {
    const Utf8Sequence sequence = utf8_sequence(bytes, at);
    at += sequence.length;
    if (!sequence.is_valid && at < bytes.size()) return false;
  }
  return true;
}

/// Has it a letter of the alphabet that stands for another byte than its own?
bool has_letter(std::string_view token) {
  constexpr char32_t kFirstLetter = 0x100;
  for (std::size_t at = 0; at < token.size();) {
    if (text::next_code_point(token, at) >= kFirstLetter) return true;
  }
  return false;
}

bool are_byte_letters(std::span<const std::vector<std::string>> lines) {
  bool has_any = false;
  for (const std::vector<std::string>& line : lines) {
    std::string bytes;
    for (const std::string& token : line) {
      if (is_special(token)) {  // nothing goes on across one
        if (!is_cut_from_utf8(bytes)) return false;
        bytes.clear();
        continue;
      }
      if (!text::append_letter_bytes(bytes, token)) return false;
      has_any = has_any || has_letter(token);
    }
    if (!is_cut_from_utf8(bytes)) return false;
  }
  return has_any;
}

bool goes_on(std::string_view piece) { return piece.size() > kContinuation.size() && piece.starts_with(kContinuation); }

bool any_begins(std::span<const std::vector<std::string>> lines, std::string_view mark) {
  return std::ranges::any_of(lines, [&](const auto& line) {
    return std::ranges::any_of(line, [&](const std::string& token) { return token.starts_with(mark); });
  });
}

text::TokenStringKind kind_of(Spelling spelling) {
  return spelling == Spelling::ByteLetters ? text::TokenStringKind::ByteLetters
         : spelling == Spelling::WordMarks ? text::TokenStringKind::WordMarks
                                           : text::TokenStringKind::Plain;
}

constexpr JsonLimits kTokenLimits{.bytes = std::size_t{64} << 20, .values = std::size_t{8} << 20, .depth = 8};

std::vector<std::string> read_line(const Json& list, const std::string& where) {
  std::vector<std::string> line;
  line.reserve(list.size());
  for (const Json& token : list) {
    if (!token.is_string()) throw Error("{}: {} is not a text; tokens are a list of texts", where, shown(token));
    line.push_back(token.get<std::string>());
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

/// Rows and columns of patches, tokens, or the number of one.
constexpr std::uint32_t kMaxCount = std::uint32_t{1} << 20;
constexpr double kMaxScale = 1e6;
constexpr std::size_t kMaxImages = std::size_t{1} << 16;

bool is_count(const Json& value) { return value.is_number_unsigned() && value.get<std::uint64_t>() <= kMaxCount; }

LineNumbers read_numbers(const Json& value, std::string where) {
  if (!value.is_array()) throw Error("{}: {} is not a list with a number for each line", where, shown(value));
  LineNumbers found{.where = std::move(where)};
  for (const Json& number : value) {
    if (!is_count(number)) throw Error("{}: {} is no number of tokens", found.where, shown(number));
    found.numbers.push_back(number.get<std::uint32_t>());
  }
  return found;
}

/// An object {"image": 0, "patches": [rows, columns], "first": token, "step": tokens}.
ImageSpan read_span(const Json& value, const std::string& where) {
  const auto count = [&](const char* key, std::uint32_t otherwise) {
    const auto found = value.find(key);
    if (found == value.end()) return otherwise;
    if (!is_count(*found)) throw Error("{}: {} is no number of tokens, in \"{}\"", where, shown(*found), key);
    return found->get<std::uint32_t>();
  };
  const auto patches = value.is_object() ? value.find("patches") : value.end();
  const bool has_size = patches != value.end() && patches->is_array() && patches->size() == 2 && is_count((*patches)[0]) &&
                        is_count((*patches)[1]) && value.contains("first");
  if (!has_size) {
    throw Error("{}: {} is no position of an image, {{\"image\": 0, \"patches\": [rows, columns], \"first\": token}}", where,
                shown(value));
  }
  ImageSpan span{.image = count("image", 0),
                 .grid = {.rows = (*patches)[0].get<std::uint32_t>(),
                          .columns = (*patches)[1].get<std::uint32_t>(),
                          .first = count("first", 0),
                          .step = count("step", 0)}};
  if (span.grid.rows == 0 || span.grid.columns == 0 || span.grid.row_step() < span.grid.columns) {
    throw Error("{}: {} × {} patches with {} tokens from row to row are none", where, span.grid.rows, span.grid.columns,
                span.grid.row_step());
  }
  return span;
}

Positions read_positions(const Json& value, std::string where) {
  if (!value.is_array()) throw Error("{}: {} is not a list of images' positions", where, shown(value));
  Positions found{.where = std::move(where)};
  const bool is_nested = !value.empty() && value.front().is_array();
  const Json lines = is_nested ? value : Json::array({value});
  std::size_t count = 0;
  for (const Json& line : lines) {
    if (!line.is_array()) throw Error("{}: {} is not a list, but the first line is one", found.where, shown(line));
    std::vector<ImageSpan>& spans = found.lines.emplace_back();
    for (const Json& span : line) {
      if (++count > kMaxImages) throw Error("{}: there are more than {} images", found.where, kMaxImages);
      spans.push_back(read_span(span, found.where));
    }
  }
  return found;
}

/// `max`: of a number; all are positive, or 0 (null in JSON), which says nothing.
LayerNumbers read_layer_numbers(const Json& value, std::string where, double max) {
  LayerNumbers found{.where = std::move(where)};
  for (const Json& number : value.is_array() ? value : Json::array({value})) {
    const double one = number.is_null() ? 0.0 : number.is_number() ? number.get<double>() : -1.0;
    if (!(one >= 0.0 && one <= max)) {
      throw Error("{}: {} is no number from 0 to {:g}, nor a list of such", found.where, shown(number), max);
    }
    found.numbers.push_back(one);
  }
  return found;
}

std::vector<std::uint32_t> read_layers(const Json& value, const std::string& where) {
  std::vector<std::uint32_t> layers;
  for (const Json& number : value.is_array() ? value : Json::array({value})) {
    const bool is_next = is_count(number) && (layers.empty() || number.get<std::uint32_t>() > layers.back());
    if (!is_next) throw Error("{}: {} is no ascending list of layers", where, shown(value));
    layers.push_back(number.get<std::uint32_t>());
  }
  return layers;
}

std::uint32_t read_cached(const Json& value, const std::string& where) {
  if (!is_count(value)) throw Error("{}: {} is no number of tokens", where, shown(value));
  return value.get<std::uint32_t>();
}

std::vector<std::string> read_files_of(const Json& value, const std::string& where) {
  if (value.is_string()) return {value.get<std::string>()};
  std::vector<std::string> files;
  if (!value.is_array() || value.empty() || value.size() > kMaxImages) {
    throw Error("{}: {} is no path of an image", where, shown(value));
  }
  for (const Json& file : value) {
    if (!file.is_string()) throw Error("{}: {} is no path of an image", where, shown(file));
    files.push_back(file.get<std::string>());
  }
  return files;
}

/// A capture is shown without an image that can't be: what is wrong is kept.
void take_image(ImageMetadata& image, const std::string& key, const Json& value, const std::string& where) {
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
  if (key == "layers") words.model_layers = read_layers(value, where);
  if (key == "cached") words.cached = read_cached(value, where);
  if (key == "note" && value.is_string()) words.note = one_line(value.get<std::string>());
  const auto take_side = [&](SideWords& side, std::string_view prefix) {
    if (!key.starts_with(prefix)) return;
    const std::string_view name = std::string_view(key).substr(prefix.size());
    if (name == "tokens") side.tokens = read_lists(value, where);
    if (name == "lengths") side.lengths = read_numbers(value, where);
    if (name == "starts") side.starts = read_numbers(value, where);
    if (name == "positions") side.positions = read_positions(value, where);
  };
  const auto take_score = [&](ScoreWords& scores, std::string_view prefix) {
    if (!key.starts_with(prefix)) return;
    const std::string_view name = std::string_view(key).substr(prefix.size());
    if (name == "scale") scores.scale = read_layer_numbers(value, where, kMaxScale);
    if (name == "softcap") scores.softcap = read_layer_numbers(value, where, kMaxScale);
    if (name == "window") scores.window = read_layer_numbers(value, where, kMaxCount);
  };
  take_score(words.scores, "");
  for (std::size_t kind = 0; kind < model::kBlockKinds; ++kind)
    take_score(words.scores_of_kind[kind], fmt::format("{}_", to_string(static_cast<model::BlockKind>(kind))));
  take_side(words.plain, "");
  take_side(words.queries, "query_");
  take_side(words.keys, "key_");
}

constexpr std::array<const char*, 31> kMembers = {
    "tokens",        "lengths",         "starts",          "query_tokens",    "query_lengths",
    "query_starts",  "key_tokens",      "key_lengths",     "key_starts",      "mask",
    "cached",        "image",           "patches",         "first_patch",     "scale",
    "softcap",       "window",          "encoder_scale",   "encoder_softcap", "encoder_window",
    "decoder_scale", "decoder_softcap", "decoder_window",  "cross_scale",     "cross_softcap",
    "cross_window",  "positions",       "query_positions", "key_positions",   "layers",
    "note"};

/// Metadata are texts: these are no JSON.
bool is_plain_text(std::string_view key, std::string_view text) {
  return key == "mask" || key == "note" || (key == "image" && !text.starts_with('['));
}
bool is_of_image(std::string_view key) { return key == "image" || key == "patches" || key == "first_patch"; }

std::string lines_text(std::size_t count) { return fmt::format("{} line{}", count, count == 1 ? "" : "s"); }

/// Sets which tokens of each line are real, by `lengths` and `starts`.
void set_padding(model::TokenBatch& batch, const SideWords& words) {
  for (const std::optional<LineNumbers>* list : {&words.lengths, &words.starts}) {
    if (!*list || (*list)->numbers.size() == batch.batch) continue;
    throw Error("{}: {} numbers, but the batch has {}; write one for each line", (*list)->where, (*list)->numbers.size(),
                lines_text(batch.batch));
  }
  if (words.starts) batch.starts = words.starts->numbers;
  for (std::uint32_t line = 0; line < batch.batch; ++line) {
    const std::uint32_t start = batch.start(line), room = batch.length - std::min(start, batch.length);
    const std::uint32_t count = words.lengths ? words.lengths->numbers[line] : room;
    if (count == 0 || count > room) {
      throw Error("{}: line {} would have {} tokens from token {} on, but its attention has {}; padding is not counted",
                  words.lengths ? words.lengths->where : words.starts->where, line + 1, count, start, batch.length);
    }
    batch.lengths[line] = count;
  }
}

/// Texts of all tokens, padding included, and the real ones as tokens.
void set_texts(SideTokens& side, const TokenLists& lists) {
  model::TokenBatch& batch = side.batch;
  if (lists.lines.size() != batch.batch) {
    throw Error("{}: {} list{} of tokens, but the batch has {}; write one list for each line", lists.where,
                lists.lines.size(), lists.lines.size() == 1 ? "" : "s", lines_text(batch.batch));
  }
  const Spelling spelling = spelling_of(lists.lines);
  for (std::uint32_t line = 0; line < batch.batch; ++line) {
    const std::vector<std::string>& texts = lists.lines[line];
    if (texts.size() != batch.length) {
      throw Error("{}: line {} has {} tokens, but its attention has {}; save them of the same pass, padding included",
                  lists.where, line + 1, texts.size(), batch.length);
    }
    SpelledLine spelled = spell(texts, spelling);
    batch.texts.push_back(std::move(spelled.labels));
    const auto first = spelled.tokens.begin() + batch.start(line);
    side.tokens.emplace_back(first, first + batch.lengths[line]);
  }
}

}  // namespace

CaptureWords read_words(const std::filesystem::path& path, const std::map<std::string, std::string>& metadata) {
  CaptureWords words;
  for (const char* key : kMembers) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) continue;
    const std::string file = utf8(path.filename());
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
  const std::string file = utf8(beside.filename());
  if (about.is_array()) {
    take(words, "tokens", about, file);
    return words;
  }
  if (!about.is_object()) throw Error("{}: expected an object with tokens, found {}", utf8(beside), shown(about));
  for (const char* key : kMembers) {
    if (about.contains(key)) take(words, key, about.at(key), file);
  }
  return words;
}

std::optional<double> CaptureWords::number(std::optional<LayerNumbers> ScoreWords::*what, model::BlockRef block,
                                           std::size_t layers) const {
  const std::optional<LayerNumbers>& of_kind = scores_of_kind[static_cast<std::size_t>(block.kind)].*what;
  const std::optional<LayerNumbers>& list = of_kind ? of_kind : scores.*what;
  if (!list) return std::nullopt;
  const std::size_t count = list->numbers.size();
  if (count != 1 && count != layers) {
    throw Error("{}: {} numbers, but there are {} layers; write one number, or one for each layer", list->where, count,
                layers);
  }
  const double number = list->numbers[count == 1 ? 0 : block.layer.value];
  return number == 0.0 ? std::nullopt : std::optional(number);
}

SideWords with_missing(SideWords words, const SideWords& others) {
  if (!words.tokens) words.tokens = others.tokens;
  if (!words.lengths) words.lengths = others.lengths;
  if (!words.starts) words.starts = others.starts;
  if (!words.positions) words.positions = others.positions;
  return words;
}

SideTokens side_tokens(const SideWords& words, std::uint32_t batch, std::uint32_t length) {
  SideTokens side{.batch = {.batch = batch, .length = length, .lengths = std::vector(batch, length)}};
  set_padding(side.batch, words);
  if (words.tokens) {
    set_texts(side, *words.tokens);
    return side;
  }
  std::vector<std::string> positions;
  positions.reserve(length);
  for (std::uint32_t i = 0; i < length; ++i) positions.push_back(std::to_string(i));
  side.batch.texts.assign(batch, positions);
  return side;
}

Spelling spelling_of(std::span<const std::vector<std::string>> lines) {
  if (are_byte_letters(lines)) return Spelling::ByteLetters;
  if (any_begins(lines, kWordMark)) return Spelling::WordMarks;
  if (any_begins(lines, kContinuation)) return Spelling::WordPieces;
  return any_begins(lines, " ") ? Spelling::Spaces : Spelling::Words;
}

SpelledLine spell(std::span<const std::string> line, Spelling spelling) {
  SpelledLine spelled;
  std::vector<std::string_view> strings;
  const bool has_spaces = spelling == Spelling::Words || spelling == Spelling::WordPieces;  // between all tokens
  std::uint32_t at = 0;
  for (const std::string& token : line) {
    const bool is_added = is_special(token);
    strings.push_back(is_added ? std::string_view() : token);
    if (has_spaces && !goes_on(token)) ++at;
    const auto end = is_added ? at : at + static_cast<std::uint32_t>(token.size());
    spelled.tokens.push_back({.text = token, .bytes = {.begin = at, .end = end}, .is_special = is_added});
    at = end;
  }
  if (!has_spaces) spelled.labels = text::to_labels(strings, kind_of(spelling));
  spelled.labels.resize(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    spelled.labels[i] = one_line(has_spaces || strings[i].empty() ? line[i] : spelled.labels[i], kLongestLabel);
  }
  return spelled;
}

}  // namespace headlight::capture
