#include "text/pipeline.h"

#include <algorithm>

#include "core/json.h"
#include "text/decoder.h"
#include "text/json_node.h"
#include "text/model_json.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

/// Calls `build` and adds the path of the node to the errors it throws.
template <typename Build>
auto build_at(const JsonNode& node, Build build) {
  try {
    return build();
  } catch (const LocatedError&) {
    throw;
  } catch (const Error& error) {
    node.fail(fmt::format("is unusable: {}", error.what()));
  }
}

template <typename Stage>
std::vector<Stage> read_all(const JsonNode& list, Stage (*read)(const JsonNode&)) {
  constexpr std::size_t kMax = 512;
  const std::size_t count = list.value().size();
  if (count > kMax) list.fail(fmt::format("has {} stages, more than {}", count, kMax));
  std::vector<Stage> stages;
  for (const JsonNode& item : list.items()) stages.push_back(read(item));
  return stages;
}

[[noreturn]] void refuse_type(const JsonNode& node, std::string_view stage) {
  node.at("type").fail(fmt::format("is \"{}\": Headlight knows no {} of this type", node.at("type").string(), stage));
}

/// {"String": "…"} or {"Regex": "…"}.
Regex read_pattern(const JsonNode& node) {
  if (const auto literal = node.find("String"))
    return build_at(*literal, [&] { return Regex::of_literal(literal->string()); });
  const JsonNode regex = node.at("Regex");
  return build_at(regex, [&] { return Regex(regex.string()); });
}

char32_t read_character(const JsonNode& node) {
  const std::string& text = node.string();
  std::size_t at = 0;
  const char32_t c = text.empty() ? 0 : next_code_point(text, at);
  if (text.empty() || at != text.size()) node.fail(fmt::format("must be one character, but is \"{}\"", text));
  return c;
}

SplitBehavior read_behavior(const JsonNode& node) {
  const std::string& name = node.string();
  if (name == "Removed") return SplitBehavior::Removed;
  if (name == "Isolated") return SplitBehavior::Isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::MergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::MergedWithNext;
  if (name == "Contiguous") return SplitBehavior::Contiguous;
  node.fail(fmt::format("is \"{}\": must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous", name));
}

PrependScheme read_prepend_scheme(const JsonNode& node) {
  const std::optional<JsonNode> scheme = node.find("prepend_scheme");
  // Older files say add_prefix_space instead.
  if (!scheme) return node.boolean_or("add_prefix_space", true) ? PrependScheme::Always : PrependScheme::Never;
  const std::string& name = scheme->string();
  if (name == "always") return PrependScheme::Always;
  if (name == "first") return PrependScheme::First;
  if (name == "never") return PrependScheme::Never;
  scheme->fail(fmt::format("is \"{}\": must be always, first or never", name));
}

Normalizer read_bert_normalizer(const JsonNode& node) {
  BertNormalizerOptions options;
  options.cleans_text = node.boolean_or("clean_text", true);
  options.spaces_out_chinese = node.boolean_or("handle_chinese_chars", true);
  options.lowercases = node.boolean_or("lowercase", true);
  if (const auto strips = node.find("strip_accents")) options.strips_accents = strips->boolean();
  return make_bert_normalizer(options);
}

Normalizer read_precompiled(const JsonNode& node) {
  const JsonNode map = node.at("precompiled_charsmap");
  const std::optional<std::string> bytes = decode_base64(map.string());
  if (!bytes) map.fail("isn't base64");
  return build_at(map, [&] { return make_precompiled_normalizer(PrecompiledMap(*bytes)); });
}

std::uint32_t read_pair_id(const JsonNode& node) {
  const std::vector<JsonNode> pair = node.items();
  if (pair.size() != 2) node.fail("must be a token and an id");
  return pair[1].id();
}

Template read_template(const JsonNode& parts, const JsonNode& specials) {
  constexpr std::size_t kMax = 256;  // tokens around texts; models have fewer than ten
  Template built;
  std::size_t tokens = parts.value().size();
  const auto expect_few = [&] {
    if (tokens > kMax) parts.fail(fmt::format("puts more than {} texts and tokens together", kMax));
  };
  expect_few();
  for (const JsonNode& part : parts.items()) {
    if (const auto sequence = part.find("Sequence")) {
      const std::string source = sequence->at("id").string();
      if (source != "A" && source != "B") sequence->at("id").fail(fmt::format("is \"{}\": must be A or B", source));
      built.push_back({.type = sequence->at("type_id").id(), .source = source == "A" ? 0U : 1U});
      continue;
    }
    const JsonNode special = part.at("SpecialToken");
    TemplatePart placed{.type = special.at("type_id").id()};
    const JsonNode ids = specials.at(special.at("id").string()).at("ids");
    tokens += ids.value().size();
    expect_few();
    for (const JsonNode& id : ids.items()) placed.ids.push_back(id.id());
    built.push_back(std::move(placed));
  }
  return built;
}

OffsetTrimming read_trimming(const JsonNode& node) {
  return {.trims = node.boolean_or("trim_offsets", true), .adds_prefix_space = node.boolean_or("add_prefix_space", true)};
}

Normalizer read_normalizer(const JsonNode& node) {
  const std::string type = node.at("type").string();
  if (type == "BertNormalizer") return read_bert_normalizer(node);
  if (type == "NFC") return make_canonical_normalizer(CanonicalForm::Nfc);
  if (type == "NFD") return make_canonical_normalizer(CanonicalForm::Nfd);
  if (type == "NFKC") return make_canonical_normalizer(CanonicalForm::Nfkc);
  if (type == "NFKD") return make_canonical_normalizer(CanonicalForm::Nfkd);
  if (type == "Lowercase") return make_lowercase_normalizer();
  if (type == "StripAccents") return make_strip_accents_normalizer();
  if (type == "Strip")
    return make_strip_normalizer(node.boolean_or("strip_left", true), node.boolean_or("strip_right", true));
  if (type == "Replace") return make_replace_normalizer(read_pattern(node.at("pattern")), node.at("content").string());
  if (type == "Prepend") return make_prepend_normalizer(node.at("prepend").string());
  if (type == "Nmt") return make_nmt_normalizer();
  if (type == "Precompiled") return read_precompiled(node);
  if (type == "ByteLevel") return make_byte_level_normalizer();
  if (type == "Sequence") return make_normalizer_sequence(read_all(node.at("normalizers"), read_normalizer));
  refuse_type(node, "normalizer");
}

PreTokenizer read_pre_tokenizer(const JsonNode& node) {
  const std::string type = node.at("type").string();
  if (type == "ByteLevel")
    return make_byte_level_pre_tokenizer(node.boolean_or("add_prefix_space", true), node.boolean_or("use_regex", true));
  if (type == "Whitespace") return make_whitespace_pre_tokenizer();
  if (type == "WhitespaceSplit") return make_whitespace_split_pre_tokenizer();
  if (type == "BertPreTokenizer") return make_bert_pre_tokenizer();
  if (type == "Metaspace") {
    MetaspaceOptions options;
    options.replacement.clear();
    append_utf8(options.replacement, read_character(node.at("replacement")));
    options.prepend = read_prepend_scheme(node);
    options.splits = node.boolean_or("split", true);
    return make_metaspace_pre_tokenizer(std::move(options));
  }
  if (type == "Split")
    return make_split_pre_tokenizer(read_pattern(node.at("pattern")), read_behavior(node.at("behavior")),
                                    node.boolean_or("invert", false));
  if (type == "Digits") return make_digits_pre_tokenizer(node.boolean_or("individual_digits", false));
  if (type == "Punctuation") {
    const std::optional<JsonNode> behavior = node.find("behavior");
    return make_punctuation_pre_tokenizer(behavior ? read_behavior(*behavior) : SplitBehavior::Isolated);
  }
  if (type == "CharDelimiterSplit") return make_delimiter_pre_tokenizer(read_character(node.at("delimiter")));
  if (type == "FixedLength") {
    const std::uint32_t length = node.id_or("length", 5);
    if (length == 0) node.at("length").fail("must not be 0");
    return make_fixed_length_pre_tokenizer(length);
  }
  if (type == "Sequence") return make_pre_tokenizer_sequence(read_all(node.at("pretokenizers"), read_pre_tokenizer));
  refuse_type(node, "pre-tokenizer");
}

PostProcessor read_post_processor(const JsonNode& node) {
  const std::string type = node.at("type").string();
  if (type == "TemplateProcessing") {
    const JsonNode specials = node.at("special_tokens");
    return make_template_post_processor(read_template(node.at("single"), specials),
                                        read_template(node.at("pair"), specials));
  }
  if (type == "BertProcessing") return make_bert_post_processor(read_pair_id(node.at("sep")), read_pair_id(node.at("cls")));
  if (type == "RobertaProcessing")
    return make_roberta_post_processor(read_pair_id(node.at("sep")), read_pair_id(node.at("cls")), read_trimming(node));
  if (type == "ByteLevel") return make_byte_level_post_processor(read_trimming(node));
  if (type == "Sequence") return make_post_processor_sequence(read_all(node.at("processors"), read_post_processor));
  refuse_type(node, "post-processor");
}

Decoder read_decoder(const JsonNode& node) {
  const std::string type = node.at("type").string();
  if (type == "ByteLevel") return make_byte_level_decoder();
  if (type == "WordPiece") return make_word_piece_decoder(node.string_or("prefix", "##"), node.boolean_or("cleanup", true));
  if (type == "Metaspace")
    return make_metaspace_decoder(read_character(node.at("replacement")), read_prepend_scheme(node) != PrependScheme::Never);
  if (type == "ByteFallback") return make_byte_fallback_decoder();
  if (type == "Fuse") return make_fuse_decoder();
  if (type == "Replace") return make_replace_decoder(read_pattern(node.at("pattern")), node.at("content").string());
  if (type == "Strip")
    return make_strip_decoder(read_character(node.at("content")), node.id_or("start", 0), node.id_or("stop", 0));
  if (type == "BPEDecoder") return make_bpe_decoder(node.string_or("suffix", "</w>"));
  if (type == "CTC")
    return make_ctc_decoder(node.string_or("pad_token", "<pad>"), node.string_or("word_delimiter_token", "|"),
                            node.boolean_or("cleanup", true));
  if (type == "Sequence") return make_decoder_sequence(read_all(node.at("decoders"), read_decoder));
  refuse_type(node, "decoder");
}

std::vector<AddedToken> read_added_tokens(const JsonNode& node) {
  std::vector<AddedToken> tokens;
  for (const JsonNode& item : node.items()) {
    tokens.push_back({.content = item.at("content").string(),
                      .single_word = item.boolean_or("single_word", false),
                      .left_strip = item.boolean_or("lstrip", false),
                      .right_strip = item.boolean_or("rstrip", false),
                      .is_normalized = item.boolean_or("normalized", true),
                      .is_special = item.boolean_or("special", false)});
  }
  return tokens;
}

/// Does a stage, or one in a sequence of stages, have this type?
bool has_stage(const nlohmann::json& stage, std::string_view type) {
  if (stage.is_object()) {
    const auto name = stage.find("type");
    const auto* text = name == stage.end() ? nullptr : name->get_ptr<const std::string*>();
    if (text != nullptr && *text == type) return true;
  }
  return stage.is_structured() &&
         std::any_of(stage.begin(), stage.end(), [&](const nlohmann::json& part) { return has_stage(part, type); });
}

/// Words marked by "▁" come from Metaspace, or from normalizers that insert the mark.
bool has_word_marks(const nlohmann::json& stage) {
  if (const auto* text = stage.get_ptr<const std::string*>()) return *text == "▁";
  return stage.is_structured() && std::any_of(stage.begin(), stage.end(), has_word_marks);
}

TokenStringKind find_token_string_kind(const JsonNode& root) {
  for (const std::string_view key : {"normalizer", "pre_tokenizer", "decoder"}) {
    const std::optional<JsonNode> stage = root.find(key);
    if (!stage) continue;
    if (has_stage(stage->value(), "ByteLevel")) return TokenStringKind::ByteLetters;
    if (has_word_marks(stage->value())) return TokenStringKind::WordMarks;
  }
  return TokenStringKind::Plain;
}

}  // namespace

Stages read_tokenizer_json(std::string_view text, std::string_view file) {
  const Result<nlohmann::json> parsed = parse_json(text);
  if (!parsed) throw Error("{}: {}", file, parsed.error());
  const nlohmann::json& document = *parsed;
  const JsonNode root(document, fmt::format("{}: ", file));
  if (!document.is_object()) root.fail(fmt::format("a tokenizer is an object, but this is {}", document.type_name()));
  if (const auto version = root.find("version"); version && version->string() != "1.0")
    version->fail(fmt::format("is \"{}\": Headlight knows version 1.0", version->string()));

  Stages stages;
  if (const auto node = root.find("normalizer")) stages.normalizer = read_normalizer(*node);
  if (const auto node = root.find("pre_tokenizer")) stages.pre_tokenizer = read_pre_tokenizer(*node);
  stages.model = read_word_model(root.at("model"));
  if (const auto node = root.find("post_processor")) stages.post_processor = read_post_processor(*node);
  if (const auto node = root.find("decoder")) stages.decoder = read_decoder(*node);
  if (const auto node = root.find("added_tokens")) stages.added = read_added_tokens(*node);
  stages.token_string_kind = find_token_string_kind(root);
  return stages;
}

}  // namespace headlight::text
