#include "text/pipeline.h"

#include <algorithm>

#include "core/json.h"
#include "text/json_node.h"
#include "text/model_json.h"

namespace headlight::text {
namespace {

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
