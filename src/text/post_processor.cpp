#include "text/post_processor.h"

#include <algorithm>

#include "text/unicode.h"

namespace headlight::text {
namespace {

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

PostProcessor make_bert_post_processor(std::uint32_t separator, std::uint32_t classification) {
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

PostProcessor make_roberta_post_processor(std::uint32_t separator, std::uint32_t classification, OffsetTrimming trimming) {
  return [=](std::vector<Encoding>& encodings, bool adds_special) {
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      trim(encodings[i], trimming);
      for (EncodedToken& token : encodings[i].tokens) token.type = 0;
      if (adds_special) surround(encodings[i], {i == 0 ? classification : separator}, {separator}, 0);
    }
  };
}

PostProcessor make_byte_level_post_processor(OffsetTrimming trimming) {
  return [=](std::vector<Encoding>& encodings, bool) {
    for (Encoding& encoding : encodings) trim(encoding, trimming);
  };
}

PostProcessor make_post_processor_sequence(std::vector<PostProcessor> post_processors) {
  return [parts = std::move(post_processors)](std::vector<Encoding>& encodings, bool adds_special) {
    for (const PostProcessor& part : parts) part(encodings, adds_special);
  };
}

}  // namespace headlight::text
