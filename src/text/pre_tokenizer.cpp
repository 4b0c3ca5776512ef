#include "text/stages.h"

#include <algorithm>

#include "text/byte_alphabet.h"
#include "text/json_node.h"

namespace headlight::text {
namespace {

constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Scripts that UnicodeScripts tells apart; Han, Hiragana and Katakana are one more.
constexpr std::string_view kScripts =
    "Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki "
    "Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Common "
    "Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Duployan Egyptian_Hieroglyphs Elbasan Ethiopic Georgian "
    "Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Hangul Hanunoo Hatran Hebrew Imperial_Aramaic Inherited "
    "Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Kayah_Li Kharoshthi Khmer Khojki Khudawadi "
    "Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Malayalam Mandaic Manichaean Marchen "
    "Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar "
    "Nabataean New_Tai_Lue Newa Nko Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian "
    "Old_South_Arabian Old_Turkic Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician "
    "Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sora_Sompeng "
    "Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangut Telugu Thaana Thai "
    "Tibetan Tifinagh Tirhuta Ugaritic Vai Warang_Citi Yi";

/// A stage that splits each piece by one function: void(NormalizedText, std::vector<Piece>& out).
template <typename Cut>
PreTokenizer cutting(Cut cut) {
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
PreTokenizer split_at(IsMatch is_match, SplitBehavior behavior) {
  return cutting([=](const NormalizedText& text, std::vector<Piece>& pieces) {
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

SplitBehavior read_behavior(const JsonNode& node) {
  constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous}};
  for (const auto& [name, behavior] : kBehaviors) {
    if (node.string() == name) return behavior;
  }
  node.fail(
      fmt::format("is \"{}\": must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous", node.string()));
}

/// Words as GPT-2 splits them (with use_regex), in GPT-2's alphabet of bytes.
PreTokenizer read_byte_level(const JsonNode& node) {
  return cutting([adds_prefix_space = node.boolean_or("add_prefix_space", true),
                  uses_regex = node.boolean_or("use_regex", true),
                  words = Regex(kGpt2Words)](NormalizedText text, std::vector<Piece>& pieces) {
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

/// Runs of word characters and runs of others.
PreTokenizer read_whitespace(const JsonNode& /*node*/) {
  return cutting([](const NormalizedText& text, std::vector<Piece>& pieces) {
    split(text, find_words(text.text()), SplitBehavior::Removed, pieces);
  });
}

PreTokenizer read_whitespace_split(const JsonNode& /*node*/) { return split_at(is_white_space, SplitBehavior::Removed); }

PreTokenizer in_sequence(std::vector<PreTokenizer> parts) {
  return [parts = std::move(parts)](std::vector<Piece>& pieces) {
    for (const PreTokenizer& part : parts) part(pieces);
  };
}

/// Spaces become word marks; splits before each.
PreTokenizer read_metaspace(const JsonNode& node) {
  const char32_t mark = node.at("replacement").character();
  std::string letters;
  append_utf8(letters, mark);
  return cutting([mark, letters, prepend = read_prepend_scheme(node), splits = node.boolean_or("split", true)](
                     NormalizedText text, std::vector<Piece>& pieces) {
    std::vector<ByteRange> spaces;
    for (std::size_t i = 0; i < text.text().size(); ++i) {
      if (text.text()[i] == ' ') spaces.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1)});
    }
    text.replace(spaces, letters);
    const bool may_prepend =
        prepend == PrependScheme::Always || (prepend == PrependScheme::First && text.original_begin() == 0);
    if (may_prepend && !text.text().starts_with(letters)) text.prepend(letters);
    if (splits) {
      split(text, find_spans(text.text(), [&](char32_t c) { return c == mark; }), SplitBehavior::MergedWithNext, pieces);
    } else {
      push_unless_empty(std::move(text), pieces);
    }
  });
}

/// Splits at matches of a pattern, or at the text between them when inverted.
PreTokenizer read_split(const JsonNode& node) {
  return cutting([pattern = node.at("pattern").pattern(), behavior = read_behavior(node.at("behavior")),
                  inverted = node.boolean_or("invert", false)](const NormalizedText& text, std::vector<Piece>& pieces) {
    std::vector<TextSpan> spans = to_spans(pattern.find_all(text.text()), text.text().size());
    for (TextSpan& span : spans) span.is_match = span.is_match != inverted;
    split(text, std::move(spans), behavior, pieces);
  });
}

/// Pieces of `length` characters.
PreTokenizer read_fixed_length(const JsonNode& node) {
  const std::uint32_t length = node.id_or("length", 5);
  if (length == 0) node.at("length").fail("must not be 0");
  return cutting([length](const NormalizedText& text, std::vector<Piece>& pieces) {
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

/// Runs of letters of one script, as SentencePiece cuts them. Spaces belong to the run before; before the first they are
/// left out.
PreTokenizer read_unicode_scripts(const JsonNode& /*node*/) {
  std::string pattern = R"([\p{Han}\p{Hiragana}\p{Katakana}ー][\p{Han}\p{Hiragana}\p{Katakana}ー\p{Cn}\p{Co} ]*)";
  for (std::string_view rest = kScripts; !rest.empty();) {
    const std::string_view script = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(script.size() + 1, rest.size()));
    pattern += fmt::format(R"(|[\p{{{0}}}&&[^ ー]][[\p{{{0}}}&&[^ー]]\p{{Cn}}\p{{Co}} ]*)", script);
  }
  return built_in(read_split,
                  {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Removed"}, {"invert", true}});
}

constexpr StageKind<PreTokenizer> kPreTokenizers[] = {
    {"ByteLevel", read_byte_level},
    {"Whitespace", read_whitespace},
    {"WhitespaceSplit", read_whitespace_split},
    {"BertPreTokenizer",
     [](const JsonNode& node) {
       return in_sequence({read_whitespace_split(node), split_at(is_punctuation, SplitBehavior::Isolated)});
     }},
    {"Metaspace", read_metaspace},
    {"Split", read_split},
    {"Digits",
     [](const JsonNode& node) {
       const bool individually = node.boolean_or("individual_digits", false);
       return split_at(is_numeric, individually ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
     }},
    {"Punctuation",
     [](const JsonNode& node) {
       const std::optional<JsonNode> behavior = node.find("behavior");
       return split_at(is_punctuation, behavior ? read_behavior(*behavior) : SplitBehavior::Isolated);
     }},
    {"CharDelimiterSplit",
     [](const JsonNode& node) {
       return split_at([delimiter = node.at("delimiter").character()](char32_t c) { return c == delimiter; },
                       SplitBehavior::Removed);
     }},
    {"FixedLength", read_fixed_length},
    {"UnicodeScripts", read_unicode_scripts},
    {"Sequence",
     [](const JsonNode& node) { return in_sequence(read_stages(node.at("pretokenizers"), read_pre_tokenizer)); }}};

}  // namespace

PrependScheme read_prepend_scheme(const JsonNode& node) {
  const std::optional<JsonNode> scheme = node.find("prepend_scheme");
  if (!scheme) return node.boolean_or("add_prefix_space", true) ? PrependScheme::Always : PrependScheme::Never;
  const std::string& name = scheme->string();
  if (name == "always") return PrependScheme::Always;
  if (name == "first") return PrependScheme::First;
  if (name == "never") return PrependScheme::Never;
  scheme->fail(fmt::format("is \"{}\": must be always, first or never", name));
}

PreTokenizer read_pre_tokenizer(const JsonNode& node) { return read_stage(node, kPreTokenizers, "pre-tokenizer"); }

}  // namespace headlight::text
