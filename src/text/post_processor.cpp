#include "text/stages.h"

#include <algorithm>

#include "text/json_node.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

struct OffsetTrimming {
  bool trims = true;              ///< byte ranges lose the spaces that their tokens begin and end with
  bool adds_prefix_space = true;  ///< the first token's single space wasn't typed
};

EncodedToken special(std::uint32_t id, std::uint32_t type) { return {.id = id, .type = type, .is_special = true}; }

/// Moves `at` over `count` characters, but not beyond `limit`.
std::uint32_t forward(std::string_view text, std::uint32_t at, std::uint32_t count, std::uint32_t limit) {
  std::size_t position = at;
  for (; count > 0 && position < limit; --count) next_code_point(text, position);
  return static_cast<std::uint32_t>(position);
}

/// Moves `at` back over `count` characters, but not before `limit`; keeps it when the text has fewer.
std::uint32_t backward(std::string_view text, std::uint32_t at, std::uint32_t count, std::uint32_t limit) {
  std::size_t position = at;
  for (; count > 0; --count) {
    if (position == 0) return at;
    previous_code_point(text, position);
  }
  return std::max(static_cast<std::uint32_t>(position), limit);
}

void trim(Encoding& encoding, OffsetTrimming trimming) {
  if (!trimming.trims) return;
  for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
    EncodedToken& token = encoding.tokens[i];
    ByteRange& bytes = token.bytes;
    const bool is_first = i == 0 || bytes.begin == 0;
    const bool is_added = is_first && trimming.adds_prefix_space && token.leading == 1;
    if (token.leading > 0 && !is_added) bytes.begin = forward(encoding.text, bytes.begin, token.leading, bytes.end);
    if (token.trailing > 0) bytes.end = backward(encoding.text, bytes.end, token.trailing, bytes.begin);
  }
}

/// Special tokens before and after.
void surround(Encoding& encoding, const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after,
              std::uint32_t type) {
  std::vector<EncodedToken> tokens;
  for (const std::uint32_t id : before) tokens.push_back(special(id, type));
  for (const EncodedToken& token : encoding.tokens) tokens.push_back(token);
  for (const std::uint32_t id : after) tokens.push_back(special(id, type));
  encoding.tokens = std::move(tokens);
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
    const JsonNode named = part.at("SpecialToken");
    TemplatePart placed{.type = named.at("type_id").id()};
    const JsonNode ids = specials.at(named.at("id").string()).at("ids");
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

/// [CLS] first [SEP] second [SEP].
PostProcessor read_bert_processing(const JsonNode& node) {
  const std::uint32_t separator = read_pair_id(node.at("sep")), classification = read_pair_id(node.at("cls"));
  return [=](std::vector<Encoding>& encodings, bool adds_special) {
    for (std::size_t i = 0; adds_special && i < encodings.size(); ++i) {
      if (i == 0) {
        surround(encodings[i], {classification}, {separator}, 0);
      } else {
        surround(encodings[i], {}, {separator}, 1);
      }
    }
  };
}

/// <s> first </s></s> second </s>, all of type 0.
PostProcessor read_roberta_processing(const JsonNode& node) {
  const std::uint32_t separator = read_pair_id(node.at("sep")), classification = read_pair_id(node.at("cls"));
  return [=, trimming = read_trimming(node)](std::vector<Encoding>& encodings, bool adds_special) {
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      trim(encodings[i], trimming);
      for (EncodedToken& token : encodings[i].tokens) token.type = 0;
      if (adds_special) surround(encodings[i], {i == 0 ? classification : separator}, {separator}, 0);
    }
  };
}

constexpr StageKind<PostProcessor> kPostProcessors[] = {
    {"TemplateProcessing",
     [](const JsonNode& node) {
       const JsonNode specials = node.at("special_tokens");
       return make_template_post_processor(read_template(node.at("single"), specials),
                                           read_template(node.at("pair"), specials));
     }},
    {"BertProcessing", read_bert_processing},
    {"RobertaProcessing", read_roberta_processing},
    {"ByteLevel",
     [](const JsonNode& node) -> PostProcessor {
       return [trimming = read_trimming(node)](std::vector<Encoding>& encodings, bool) {
         for (Encoding& encoding : encodings) trim(encoding, trimming);
       };
     }},
    {"Sequence", [](const JsonNode& node) -> PostProcessor {
       return [parts = read_stages(node.at("processors"), read_post_processor)](std::vector<Encoding>& encodings,
                                                                                bool adds_special) {
         for (const PostProcessor& part : parts) part(encodings, adds_special);
       };
     }}};

}  // namespace

PostProcessor make_template_post_processor(Template single, Template pair) {
  return [single = std::move(single), pair = std::move(pair)](std::vector<Encoding>& encodings, bool adds_special) {
    if (encodings.empty() || encodings.size() > 2) return;  // another template has already run
    std::vector<Encoding> placed;
    for (const TemplatePart& part : encodings.size() == 1 ? single : pair) {
      if (part.ids.empty()) {
        if (part.source >= encodings.size()) continue;
        placed.push_back(encodings[part.source]);
        for (EncodedToken& token : placed.back().tokens) token.type = part.type;
      } else if (adds_special) {
        placed.emplace_back();
        for (const std::uint32_t id : part.ids) placed.back().tokens.push_back(special(id, part.type));
      }
    }
    encodings = std::move(placed);
  };
}

PostProcessor read_post_processor(const JsonNode& node) { return read_stage(node, kPostProcessors, "post-processor"); }

}  // namespace headlight::text
