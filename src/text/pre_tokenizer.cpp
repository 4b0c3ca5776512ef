#include "text/pre_tokenizer.h"

#include "text/byte_alphabet.h"

namespace headlight::text {
namespace {

constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A stage that splits each piece by one function: void(NormalizedText, std::vector<Piece>& out).
template <typename Cut>
PreTokenizer make_cutting_pre_tokenizer(Cut cut) {
  return [cut = std::move(cut)](std::vector<Piece>& pieces) {
    std::vector<Piece> parts;
    parts.reserve(pieces.size());
    std::size_t bytes = 0;
    for (Piece& piece : pieces) {
      const std::size_t before = parts.size();
      if (piece.added) {
        parts.push_back(std::move(piece));
      } else {
        cut(std::move(piece.text), parts);
      }
      for (std::size_t i = before; i < parts.size(); ++i) bytes += parts[i].text.text().size();
      if (!parts.empty()) parts.back().text.expect_within_limit(bytes);
    }
    pieces = std::move(parts);
  };
}

/// Splits at single characters.
template <typename IsMatch>
PreTokenizer make_character_split(IsMatch is_match, SplitBehavior behavior) {
  return make_cutting_pre_tokenizer([=](const NormalizedText& text, std::vector<Piece>& pieces) {
    split(text, find_spans(text.text(), is_match), behavior, pieces);
  });
}

void push_unless_empty(NormalizedText text, std::vector<Piece>& pieces) {
  if (!text.is_empty()) pieces.push_back({std::move(text), std::nullopt});
}

/// Runs of word characters, runs of others, and the white space between them as matches.
std::vector<TextSpan> find_words(std::string_view text) {
  enum class Kind { Space, Word, Other };
  const auto kind_of = [](char32_t c) {
    if (is_white_space(c)) return Kind::Space;
    return is_word_character(c) ? Kind::Word : Kind::Other;
  };
  std::vector<TextSpan> spans;
  Kind last = Kind::Space;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = static_cast<std::uint32_t>(at);
    const Kind kind = kind_of(next_code_point(text, at));
    const auto end = static_cast<std::uint32_t>(at);
    if (!spans.empty() && kind == last) {
      spans.back().range.end = end;
    } else {
      spans.push_back({{begin, end}, kind == Kind::Space});
    }
    last = kind;
  }
  return spans;
}

}  // namespace

PreTokenizer make_byte_level_pre_tokenizer(bool adds_prefix_space, bool uses_regex) {
  return make_cutting_pre_tokenizer([=, words = Regex(kGpt2Words)](NormalizedText text, std::vector<Piece>& pieces) {
    if (adds_prefix_space && !text.text().starts_with(' ')) text.prepend(" ");
    const std::size_t first = pieces.size();
    if (uses_regex) {
      split(text, to_spans(words.find_all(text.text()), text.text().size()), SplitBehavior::Isolated, pieces);
    } else {
      push_unless_empty(std::move(text), pieces);
    }
    for (std::size_t i = first; i < pieces.size(); ++i) to_byte_letters(pieces[i].text);
  });
}

PreTokenizer make_whitespace_pre_tokenizer() {
  return make_cutting_pre_tokenizer([](const NormalizedText& text, std::vector<Piece>& pieces) {
    split(text, find_words(text.text()), SplitBehavior::Removed, pieces);
  });
}

PreTokenizer make_whitespace_split_pre_tokenizer() { return make_character_split(is_white_space, SplitBehavior::Removed); }

PreTokenizer make_bert_pre_tokenizer() {
  return make_pre_tokenizer_sequence(
      {make_whitespace_split_pre_tokenizer(), make_punctuation_pre_tokenizer(SplitBehavior::Isolated)});
}

PreTokenizer make_metaspace_pre_tokenizer(MetaspaceOptions options) {
  std::size_t at = 0;
  const char32_t mark = next_code_point(options.replacement, at);
  return make_cutting_pre_tokenizer([options = std::move(options), mark](NormalizedText text, std::vector<Piece>& pieces) {
    std::vector<ByteRange> spaces;
    for (std::size_t i = 0; i < text.text().size(); ++i) {
      if (text.text()[i] == ' ') spaces.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1)});
    }
    text.replace(spaces, options.replacement);
    const bool may_prepend =
        options.prepend == PrependScheme::Always || (options.prepend == PrependScheme::First && text.original_begin() == 0);
    if (may_prepend && !text.text().starts_with(options.replacement)) text.prepend(options.replacement);
    if (options.splits) {
      split(text, find_spans(text.text(), [&](char32_t c) { return c == mark; }), SplitBehavior::MergedWithNext, pieces);
    } else {
      push_unless_empty(std::move(text), pieces);
    }
  });
}

PreTokenizer make_split_pre_tokenizer(Regex pattern, SplitBehavior behavior, bool inverted) {
  return make_cutting_pre_tokenizer(
      [=, pattern = std::move(pattern)](const NormalizedText& text, std::vector<Piece>& pieces) {
        std::vector<TextSpan> spans = to_spans(pattern.find_all(text.text()), text.text().size());
        for (TextSpan& span : spans) span.is_match = span.is_match != inverted;
        split(text, std::move(spans), behavior, pieces);
      });
}

PreTokenizer make_digits_pre_tokenizer(bool individually) {
  return make_character_split(is_numeric, individually ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
}

PreTokenizer make_punctuation_pre_tokenizer(SplitBehavior behavior) {
  return make_character_split(is_punctuation, behavior);
}

PreTokenizer make_delimiter_pre_tokenizer(char32_t delimiter) {
  return make_character_split([delimiter](char32_t c) { return c == delimiter; }, SplitBehavior::Removed);
}

PreTokenizer make_fixed_length_pre_tokenizer(std::size_t length) {
  return make_cutting_pre_tokenizer([length](const NormalizedText& text, std::vector<Piece>& pieces) {
    std::size_t begin = 0;
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.text().size();) {
      next_code_point(text.text(), at);
      if (++count % length != 0 && at < text.text().size()) continue;
      pieces.push_back({text.slice(begin, at), std::nullopt});
      begin = at;
    }
  });
}

PreTokenizer make_pre_tokenizer_sequence(std::vector<PreTokenizer> pre_tokenizers) {
  return [parts = std::move(pre_tokenizers)](std::vector<Piece>& pieces) {
    for (const PreTokenizer& part : parts) part(pieces);
  };
}

}  // namespace headlight::text
