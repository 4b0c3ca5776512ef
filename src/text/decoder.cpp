#include "text/stages.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "text/byte_alphabet.h"
#include "text/json_node.h"
#include "text/unicode.h"
#include "text/utf8_repair.h"
#include "text/vocabulary.h"

namespace headlight::text {
namespace {

using Parts = std::vector<std::string>;

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string result;
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != std::string_view::npos; found = text.find(from, at)) {
    result.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  return result.append(text, at);
}

std::string clean_up(std::string text) {
  constexpr std::array<std::array<std::string_view, 2>, 11> kRules = {{{" .", "."},
                                                                       {" ?", "?"},
                                                                       {" !", "!"},
                                                                       {" ,", ","},
                                                                       {" ' ", "'"},
                                                                       {" n't", "n't"},
                                                                       {" 'm", "'m"},
                                                                       {" do not", " don't"},
                                                                       {" 's", "'s"},
                                                                       {" 've", "'ve"},
                                                                       {" 're", "'re"}}};
  for (const auto& [from, to] : kRules) text = replace_all(text, from, to);
  return text;
}

std::string join(const Parts& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += part;
  return joined;
}

/// Runs of tokens like "<0xE2>" become characters, or U+FFFD each.
void decode_byte_tokens(Parts& parts) {
  Parts decoded;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    const RepairedUtf8 repaired(bytes);
    if (repaired.text() == bytes) {
      decoded.push_back(bytes);
    } else {
      decoded.insert(decoded.end(), bytes.size(), "\xEF\xBF\xBD");
    }
    bytes.clear();
  };
  for (std::string& part : parts) {
    const int byte = byte_of_token(part);
    if (byte >= 0) {
      bytes += static_cast<char>(byte);
      continue;
    }
    flush();
    decoded.push_back(std::move(part));
  }
  flush();
  parts = std::move(decoded);
}

std::size_t total_bytes(const Parts& parts) {
  std::size_t bytes = 0;
  for (const std::string& part : parts) bytes += part.size();
  return bytes;
}

/// The most bytes that decoders may return for an input of `bytes`.
std::size_t limit_of(std::size_t bytes) { return 65'536 + 64 * bytes; }

void expect_within_limit(std::size_t bytes, std::size_t limit) {
  if (bytes > limit) throw Error("the tokenizer's decoders make more than {} bytes of these tokens", limit);
}

std::string strip(std::string_view part, std::string_view content, std::size_t from_start, std::size_t from_end) {
  for (; from_start > 0 && part.starts_with(content); --from_start) part.remove_prefix(content.size());
  for (; from_end > 0 && part.ends_with(content); --from_end) part.remove_suffix(content.size());
  return std::string(part);
}

/// Letters of GPT-2's alphabet become the bytes they encode; invalid UTF-8 becomes U+FFFD.
void decode_letters(Parts& parts) {
  std::string bytes;
  for (const std::string& part : parts) append_letter_bytes(bytes, part);
  parts.assign(1, std::string(RepairedUtf8(bytes).text()));
}

/// Spaces between words; cleanup removes them before punctuation and English contractions.
Decoder read_word_piece_decoder(const JsonNode& node) {
  return [prefix = node.string_or("prefix", "##"), cleans_up = node.boolean_or("cleanup", true)](Parts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string& part = parts[i];
      if (i > 0) part = part.starts_with(prefix) ? part.substr(prefix.size()) : " " + part;
      if (cleans_up) part = clean_up(std::move(part));
    }
  };
}

std::string one_letter(const JsonNode& node) {
  std::string letters;
  append_utf8(letters, node.character());
  return letters;
}

/// Word marks become spaces; those of the first token are removed where encoding puts one there.
Decoder read_metaspace_decoder(const JsonNode& node) {
  return [mark = one_letter(node.at("replacement")),
          drops_first = read_prepend_scheme(node) != PrependScheme::Never](Parts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = replace_all(parts[i], mark, i == 0 && drops_first ? "" : " ");
  };
}

Decoder read_replace_decoder(const JsonNode& node) {
  return [pattern = node.at("pattern").pattern(), content = node.at("content").string()](Parts& parts) {
    for (std::string& part : parts) {
      if (part.empty()) continue;
      std::string replaced;
      std::size_t at = 0;
      const std::size_t limit = limit_of(part.size());
      for (const ByteRange& match : pattern.find_all(part)) {
        replaced.append(part, at, match.begin - at).append(content);
        expect_within_limit(replaced.size(), limit);
        at = match.end;
      }
      part = replaced.append(part, at);
    }
  };
}

/// Removes up to so many of one character from either end of each part.
Decoder read_strip_decoder(const JsonNode& node) {
  return [content = one_letter(node.at("content")), from_start = node.id_or("start", 0),
          from_end = node.id_or("stop", 0)](Parts& parts) {
    for (std::string& part : parts) part = strip(part, content, from_start, from_end);
  };
}

/// The suffix that marks the end of a word becomes a space.
Decoder read_bpe_decoder(const JsonNode& node) {
  return [suffix = node.string_or("suffix", "</w>")](Parts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = replace_all(parts[i], suffix, i + 1 == parts.size() ? "" : " ");
  };
}

/// Connectionist temporal classification: repetitions and padding are removed.
Decoder read_ctc_decoder(const JsonNode& node) {
  return [padding = node.string_or("pad_token", "<pad>"), word_delimiter = node.string_or("word_delimiter_token", "|"),
          cleans_up = node.boolean_or("cleanup", true)](Parts& parts) {
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (std::string& part : parts) {
      part = replace_all(part, padding, "");
      if (cleans_up) part = replace_all(clean_up(std::move(part)), word_delimiter, " ");
    }
    std::erase(parts, "");
  };
}

Decoder read_decoder_sequence(const JsonNode& node) {
  return [decoders = read_stages(node.at("decoders"), read_decoder)](Parts& parts) {
    const std::size_t limit = limit_of(total_bytes(parts));
    for (const Decoder& decoder : decoders) {
      decoder(parts);
      expect_within_limit(total_bytes(parts), limit);
    }
  };
}

constexpr StageKind<Decoder> kDecoders[] = {
    {"ByteLevel", [](const JsonNode&) -> Decoder { return decode_letters; }},
    {"WordPiece", read_word_piece_decoder},
    {"Metaspace", read_metaspace_decoder},
    {"ByteFallback", [](const JsonNode&) -> Decoder { return decode_byte_tokens; }},
    {"Fuse", [](const JsonNode&) -> Decoder { return [](Parts& parts) { parts.assign(1, join(parts)); }; }},
    {"Replace", read_replace_decoder},
    {"Strip", read_strip_decoder},
    {"BPEDecoder", read_bpe_decoder},
    {"CTC", read_ctc_decoder},
    {"Sequence", read_decoder_sequence}};

}  // namespace

Decoder read_decoder(const JsonNode& node) { return read_stage(node, kDecoders, "decoder"); }

}  // namespace headlight::text
