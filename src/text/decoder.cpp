#include "text/decoder.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "text/byte_alphabet.h"
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

}  // namespace

Decoder make_byte_level_decoder() {
  return [](Parts& parts) {
    std::string bytes;
    for (const std::string& part : parts) append_letter_bytes(bytes, part);
    parts.assign(1, std::string(RepairedUtf8(bytes).text()));
  };
}

Decoder make_word_piece_decoder(std::string prefix, bool cleans_up) {
  return [=](Parts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string& part = parts[i];
      if (i > 0) part = part.starts_with(prefix) ? part.substr(prefix.size()) : " " + part;
      if (cleans_up) part = clean_up(std::move(part));
    }
  };
}

Decoder make_metaspace_decoder(char32_t mark, bool drops_first) {
  std::string mark_utf8;
  append_utf8(mark_utf8, mark);
  return [=](Parts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = replace_all(parts[i], mark_utf8, i == 0 && drops_first ? "" : " ");
  };
}

Decoder make_byte_fallback_decoder() { return decode_byte_tokens; }

Decoder make_fuse_decoder() {
  return [](Parts& parts) { parts.assign(1, join(parts)); };
}

Decoder make_replace_decoder(Regex pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](Parts& parts) {
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

Decoder make_strip_decoder(char32_t content, std::size_t from_start, std::size_t from_end) {
  std::string content_utf8;
  append_utf8(content_utf8, content);
  return [=](Parts& parts) {
    for (std::string& part : parts) part = strip(part, content_utf8, from_start, from_end);
  };
}

Decoder make_bpe_decoder(std::string suffix) {
  return [suffix = std::move(suffix)](Parts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = replace_all(parts[i], suffix, i + 1 == parts.size() ? "" : " ");
  };
}

Decoder make_ctc_decoder(std::string padding, std::string word_delimiter, bool cleans_up) {
  return [=](Parts& parts) {
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (std::string& part : parts) {
      part = replace_all(part, padding, "");
      if (cleans_up) part = replace_all(clean_up(std::move(part)), word_delimiter, " ");
    }
    std::erase(parts, "");
  };
}

Decoder make_decoder_sequence(std::vector<Decoder> decoders) {
  return [decoders = std::move(decoders)](Parts& parts) {
    const std::size_t limit = limit_of(total_bytes(parts));
    for (const Decoder& decoder : decoders) {
      decoder(parts);
      expect_within_limit(total_bytes(parts), limit);
    }
  };
}

}  // namespace headlight::text
