#include "text/stage_json.h"

#include "text/unicode.h"

namespace headlight::text {
namespace {

/// Calls `build` and adds this place to the errors it throws.
template <typename Build>
auto build_at(const JsonPlace& place, Build build) {
  try {
    return build();
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& error) {
    place.fail(fmt::format("is unusable: {}", error.what()));
  }
}

template <typename Pointer>
std::vector<Pointer> read_all(const JsonPlace& list, Pointer (*read)(const JsonPlace&)) {
  constexpr std::size_t kMost = 512;
  const std::size_t count = list.value().size();
  if (count > kMost) list.fail(fmt::format("has {} stages, more than {}", count, kMost));
  std::vector<Pointer> stages;
  for (const JsonPlace& item : list.items()) stages.push_back(read(item));
  return stages;
}

[[noreturn]] void refuse_type(const JsonPlace& place, std::string_view stage) {
  place.at("type").fail(fmt::format("is \"{}\": Headlight knows no {} of this type", place.at("type").string(), stage));
}

/// {"String": "…"} or {"Regex": "…"}.
Regex read_pattern(const JsonPlace& place) {
  if (const auto literal = place.find("String"))
    return build_at(*literal, [&] { return Regex::of_literal(literal->string()); });
  const JsonPlace regex = place.at("Regex");
  return build_at(regex, [&] { return Regex(regex.string()); });
}

char32_t read_character(const JsonPlace& place) {
  const std::string& text = place.string();
  std::size_t at = 0;
  const char32_t c = text.empty() ? 0 : next_code_point(text, at);
  if (text.empty() || at != text.size()) place.fail(fmt::format("must be one character, but is \"{}\"", text));
  return c;
}

SplitBehavior read_behavior(const JsonPlace& place) {
  const std::string& name = place.string();
  if (name == "Removed") return SplitBehavior::Removed;
  if (name == "Isolated") return SplitBehavior::Isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::MergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::MergedWithNext;
  if (name == "Contiguous") return SplitBehavior::Contiguous;
  place.fail(fmt::format("is \"{}\": must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous", name));
}

PrependScheme read_prepend_scheme(const JsonPlace& place) {
  const std::optional<JsonPlace> scheme = place.find("prepend_scheme");
  // Older files say add_prefix_space instead.
  if (!scheme) return place.boolean_or("add_prefix_space", true) ? PrependScheme::Always : PrependScheme::Never;
  const std::string& name = scheme->string();
  if (name == "always") return PrependScheme::Always;
  if (name == "first") return PrependScheme::First;
  if (name == "never") return PrependScheme::Never;
  scheme->fail(fmt::format("is \"{}\": must be always, first or never", name));
}

NormalizerPointer read_bert_normalizer(const JsonPlace& place) {
  BertNormalizerOptions options;
  options.cleans_text = place.boolean_or("clean_text", true);
  options.spaces_out_chinese = place.boolean_or("handle_chinese_chars", true);
  options.lowercases = place.boolean_or("lowercase", true);
  if (const auto strips = place.find("strip_accents")) options.strips_accents = strips->boolean();
  return make_bert_normalizer(options);
}

NormalizerPointer read_precompiled(const JsonPlace& place) {
  const JsonPlace map = place.at("precompiled_charsmap");
  const std::optional<std::string> bytes = decode_base64(map.string());
  if (!bytes) map.fail("isn't base64");
  return build_at(map, [&] { return make_precompiled_normalizer(PrecompiledMap(*bytes)); });
}

std::uint32_t read_pair_id(const JsonPlace& place) {
  const std::vector<JsonPlace> pair = place.items();
  if (pair.size() != 2) place.fail("must be a token and an id");
  return pair[1].id();
}

Template read_template(const JsonPlace& parts, const JsonPlace& specials) {
  constexpr std::size_t kMost = 256;  // tokens around texts; models have fewer than ten
  Template built;
  std::size_t tokens = parts.value().size();
  const auto expect_few = [&] {
    if (tokens > kMost) parts.fail(fmt::format("puts more than {} texts and tokens together", kMost));
  };
  expect_few();
  for (const JsonPlace& part : parts.items()) {
    if (const auto sequence = part.find("Sequence")) {
      const std::string source = sequence->at("id").string();
      if (source != "A" && source != "B") sequence->at("id").fail(fmt::format("is \"{}\": must be A or B", source));
      built.push_back({.type = sequence->at("type_id").id(), .source = source == "A" ? 0U : 1U});
      continue;
    }
    const JsonPlace special = part.at("SpecialToken");
    TemplatePart placed{.type = special.at("type_id").id()};
    const JsonPlace ids = specials.at(special.at("id").string()).at("ids");
    tokens += ids.value().size();
    expect_few();
    for (const JsonPlace& id : ids.items()) placed.ids.push_back(id.id());
    built.push_back(std::move(placed));
  }
  return built;
}

OffsetTrimming read_trimming(const JsonPlace& place) {
  return {.trims = place.boolean_or("trim_offsets", true), .adds_prefix_space = place.boolean_or("add_prefix_space", true)};
}

}  // namespace

NormalizerPointer read_normalizer(const JsonPlace& place) {
  const std::string type = place.at("type").string();
  if (type == "BertNormalizer") return read_bert_normalizer(place);
  if (type == "NFC") return make_canonical_normalizer(CanonicalForm::Nfc);
  if (type == "NFD") return make_canonical_normalizer(CanonicalForm::Nfd);
  if (type == "NFKC") return make_canonical_normalizer(CanonicalForm::Nfkc);
  if (type == "NFKD") return make_canonical_normalizer(CanonicalForm::Nfkd);
  if (type == "Lowercase") return make_lowercase_normalizer();
  if (type == "StripAccents") return make_strip_accents_normalizer();
  if (type == "Strip")
    return make_strip_normalizer(place.boolean_or("strip_left", true), place.boolean_or("strip_right", true));
  if (type == "Replace") return make_replace_normalizer(read_pattern(place.at("pattern")), place.at("content").string());
  if (type == "Prepend") return make_prepend_normalizer(place.at("prepend").string());
  if (type == "Nmt") return make_nmt_normalizer();
  if (type == "Precompiled") return read_precompiled(place);
  if (type == "ByteLevel") return make_byte_level_normalizer();
  if (type == "Sequence") return make_normalizer_sequence(read_all(place.at("normalizers"), read_normalizer));
  refuse_type(place, "normalizer");
}

PreTokenizerPointer read_pre_tokenizer(const JsonPlace& place) {
  const std::string type = place.at("type").string();
  if (type == "ByteLevel")
    return make_byte_level_pre_tokenizer(place.boolean_or("add_prefix_space", true), place.boolean_or("use_regex", true));
  if (type == "Whitespace") return make_whitespace_pre_tokenizer();
  if (type == "WhitespaceSplit") return make_whitespace_split_pre_tokenizer();
  if (type == "BertPreTokenizer") return make_bert_pre_tokenizer();
  if (type == "Metaspace") {
    MetaspaceOptions options;
    options.replacement.clear();
    append_utf8(options.replacement, read_character(place.at("replacement")));
    options.prepend = read_prepend_scheme(place);
    options.splits = place.boolean_or("split", true);
    return make_metaspace_pre_tokenizer(std::move(options));
  }
  if (type == "Split")
    return make_split_pre_tokenizer(read_pattern(place.at("pattern")), read_behavior(place.at("behavior")),
                                    place.boolean_or("invert", false));
  if (type == "Digits") return make_digits_pre_tokenizer(place.boolean_or("individual_digits", false));
  if (type == "Punctuation") {
    const std::optional<JsonPlace> behavior = place.find("behavior");
    return make_punctuation_pre_tokenizer(behavior ? read_behavior(*behavior) : SplitBehavior::Isolated);
  }
  if (type == "CharDelimiterSplit") return make_delimiter_pre_tokenizer(read_character(place.at("delimiter")));
  if (type == "FixedLength") {
    const std::uint32_t length = place.id_or("length", 5);
    if (length == 0) place.at("length").fail("must not be 0");
    return make_fixed_length_pre_tokenizer(length);
  }
  if (type == "Sequence") return make_pre_tokenizer_sequence(read_all(place.at("pretokenizers"), read_pre_tokenizer));
  refuse_type(place, "pre-tokenizer");
}

PostProcessorPointer read_post_processor(const JsonPlace& place) {
  const std::string type = place.at("type").string();
  if (type == "TemplateProcessing") {
    const JsonPlace specials = place.at("special_tokens");
    return make_template_post_processor(read_template(place.at("single"), specials),
                                        read_template(place.at("pair"), specials));
  }
  if (type == "BertProcessing")
    return make_bert_post_processor(read_pair_id(place.at("sep")), read_pair_id(place.at("cls")));
  if (type == "RobertaProcessing")
    return make_roberta_post_processor(read_pair_id(place.at("sep")), read_pair_id(place.at("cls")), read_trimming(place));
  if (type == "ByteLevel") return make_byte_level_post_processor(read_trimming(place));
  if (type == "Sequence") return make_post_processor_sequence(read_all(place.at("processors"), read_post_processor));
  refuse_type(place, "post-processor");
}

DecoderPointer read_decoder(const JsonPlace& place) {
  const std::string type = place.at("type").string();
  if (type == "ByteLevel") return make_byte_level_decoder();
  if (type == "WordPiece")
    return make_word_piece_decoder(place.string_or("prefix", "##"), place.boolean_or("cleanup", true));
  if (type == "Metaspace")
    return make_metaspace_decoder(read_character(place.at("replacement")),
                                  read_prepend_scheme(place) != PrependScheme::Never);
  if (type == "ByteFallback") return make_byte_fallback_decoder();
  if (type == "Fuse") return make_fuse_decoder();
  if (type == "Replace") return make_replace_decoder(read_pattern(place.at("pattern")), place.at("content").string());
  if (type == "Strip")
    return make_strip_decoder(read_character(place.at("content")), place.id_or("start", 0), place.id_or("stop", 0));
  if (type == "BPEDecoder") return make_bpe_decoder(place.string_or("suffix", "</w>"));
  if (type == "CTC")
    return make_ctc_decoder(place.string_or("pad_token", "<pad>"), place.string_or("word_delimiter_token", "|"),
                            place.boolean_or("cleanup", true));
  if (type == "Sequence") return make_decoder_sequence(read_all(place.at("decoders"), read_decoder));
  refuse_type(place, "decoder");
}

}  // namespace headlight::text
