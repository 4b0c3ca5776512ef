#include "inference/prompt.h"

#include <algorithm>

#include "core/error.h"
#include "inference/language_model.h"
#include "text/chat_template.h"

namespace headlight::inference {
namespace {

using Lines = std::vector<std::vector<text::Token>>;  ///< [batch][real token]

/// More would overflow sizes long before a device holds it.
constexpr std::size_t kMaxPromptTokens = 1u << 22;

std::string count_of(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// One side of a prompt on its way to a batch: the encoder's tokens or the decoder's.
class Side {
 public:
  Side(const LanguageModel& model, const model::Embedding* embedding, const text::Tokenizer* tokenizer,
       std::string_view name)
      : model_(model), embedding_(embedding), tokenizer_(tokenizer), name_(name) {}

  /// Throws Error when there is none.
  const text::Tokenizer& tokenizer() const {
    if (tokenizer_ == nullptr) throw Error("{}; give token ids instead of text", model_.tokenizer_problem);
    return *tokenizer_;
  }

  Lines from_ids(const std::vector<std::vector<std::uint32_t>>& lines) const {
    Lines result;
    for (const std::vector<std::uint32_t>& ids : lines) {
      std::vector<text::Token>& tokens = result.emplace_back();
      for (const std::uint32_t id : ids) tokens.push_back(token(id));
    }
    return result;
  }

  text::Token token(std::uint32_t id) const {
    text::Token result;
    result.id = id;
    result.text = tokenizer_ != nullptr ? std::string(tokenizer_->token_string(id)) : std::to_string(id);
    return result;
  }

  /// Throws Error for lines that the network can't take.
  void check(const Lines& lines, bool stretches_positions) const {
    if (lines.empty()) throw Error("the {} has no line: type at least one token", name_);
    const std::uint32_t vocabulary = embedding_ == nullptr ? 0 : embedding_->table.axis(0);
    const bool has_table = embedding_ != nullptr && !embedding_->positions.is_empty();
    const std::uint32_t longest = stretches_positions && has_table ? 0 : position_limit(model_, embedding_);
    std::size_t padded = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::vector<text::Token>& line = lines[i];
      if (line.empty()) throw Error(ErrorKind::NoToken, "{} has no token: type at least one", where(i, lines.size()));
      if (longest != 0 && line.size() > longest) {
        throw Error(has_table ? ErrorKind::TooFewPositions : ErrorKind::Other,
                    "{} has {}, but the model has positions for {}: shorten it", where(i, lines.size()),
                    count_of(line.size(), "token"), longest);
      }
      for (const text::Token& token : line) {
        if (token.id < vocabulary) continue;
        throw Error("{}: token id {} is not among the model's {}", where(i, lines.size()), token.id, vocabulary);
      }
      padded = std::max(padded, line.size());
    }
    if (padded > kMaxPromptTokens / lines.size()) {
      throw Error("{} of up to {} are more than the {} tokens that one batch may have: give fewer or shorter lines",
                  count_of(lines.size(), "line"), count_of(padded, "token"), kMaxPromptTokens);
    }
  }

  model::TokenBatch batch(const Lines& lines, PaddingSide padding) const {
    model::TokenBatch result;
    result.batch = static_cast<std::uint32_t>(lines.size());
    for (const std::vector<text::Token>& line : lines) {
      result.lengths.push_back(static_cast<std::uint32_t>(line.size()));
      result.length = std::max(result.length, result.lengths.back());
    }
    const std::size_t cells = std::size_t{result.batch} * result.length;
    result.ids.assign(cells, model::kPaddingId);
    const bool has_types = embedding_ != nullptr && !embedding_->types.is_empty();
    if (has_types) result.types.assign(cells, 0);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::size_t start = padding == PaddingSide::Left ? result.length - lines[i].size() : 0;
      if (padding == PaddingSide::Left) result.starts.push_back(static_cast<std::uint32_t>(start));
      std::vector<std::string>& labels = result.texts.emplace_back(result.length, "<pad>");
      const std::vector<std::string> readable = labels_of(lines[i]);
      for (std::size_t t = 0; t < lines[i].size(); ++t) {
        const text::Token& token = lines[i][t];
        const std::size_t cell = i * result.length + start + t;
        result.ids[cell] = token.id;
        // RoBERTa has one type for both sentences.
        if (has_types) result.types[cell] = std::min(token.sequence, embedding_->types.axis(0) - 1);
        labels[start + t] = readable[t];
      }
    }
    return result;
  }

 private:
  std::string where(std::size_t line, std::size_t lines) const {
    return lines == 1 ? fmt::format("the {}", name_) : fmt::format("line {} of the {}", line, name_);
  }

  /// Returns the tokens' labels; a token without text is shown by its id.
  std::vector<std::string> labels_of(const std::vector<text::Token>& line) const {
    std::vector<std::uint32_t> ids;
    for (const text::Token& token : line) ids.push_back(token.id);
    std::vector<std::string> labels = tokenizer_ != nullptr ? tokenizer_->labels(ids) : std::vector<std::string>(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (labels[i].empty()) labels[i] = std::to_string(ids[i]);
    }
    return labels;
  }

  const LanguageModel& model_;
  const model::Embedding* embedding_;
  const text::Tokenizer* tokenizer_;  ///< null where the model has none
  std::string_view name_;
};

/// The other side's lines, one for each: a single one serves all.
const std::string& partner(const std::vector<std::string>& lines, std::size_t index, std::size_t count,
                           std::string_view name) {
  if (lines.size() != 1 && lines.size() != count) {
    throw Error("{} for {}: give one for each, or one for all", count_of(lines.size(), name), count_of(count, "text"));
  }
  return lines.size() == 1 ? lines.front() : lines[index];
}

/// `turns`: of each line of a chat.
Lines source_tokens(const LanguageModel& model, const PromptText& text, const Side& side,
                    std::vector<std::vector<text::TurnSpan>>& turns) {
  if (!text.ids.empty()) return side.from_ids(text.ids);
  const text::Tokenizer& tokenizer = side.tokenizer();
  Lines result;
  if (text.is_chat) {
    for (const std::string& line : text.lines) {
      text::EncodedChat chat = chat_template(model).encode(tokenizer, line, text.thinking);
      result.push_back(std::move(chat.tokens));
      turns.push_back(std::move(chat.turns));
    }
    return result;
  }
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const bool has_pair = !text.pair_lines.empty();
    const std::string pair = has_pair ? partner(text.pair_lines, i, text.lines.size(), "second sentence") : std::string();
    result.push_back(pair.empty() ? tokenizer.encode(text.lines[i], text.adds_special)
                                  : tokenizer.encode_pair(text.lines[i], pair, text.adds_special));
    if (!text::has_own_token(result.back())) result.back().clear();
  }
  return result;
}

text::Token start_token(const LanguageModel& model, const Side& side) {
  std::optional<std::uint32_t> id = model.description.ids.decoder_start;
  if (!id && model.tokenizer) id = model.tokenizer->special().beginning;
  if (!id && model.tokenizer) id = model.tokenizer->special().padding;
  if (!id) throw Error("the model doesn't say which token starts its decoder: give the target as ids");
  text::Token token = side.token(*id);
  token.is_special = true;
  return token;
}

/// Was the token added at the end of a text to say that it ends?
bool is_end(const text::Token& token, const text::Tokenizer& tokenizer) {
  const std::optional<std::uint32_t> end = tokenizer.special().end;
  return token.is_special && token.bytes.is_empty() && (!end || token.id == *end);
}

std::vector<text::Token> decoder_tokens(const LanguageModel& model, const std::string& target, bool adds_special,
                                        const Side& side) {
  const text::Tokenizer& tokenizer = side.tokenizer();
  std::vector<text::Token> tokens = tokenizer.encode(target, adds_special);
  if (!text::has_own_token(tokens)) tokens.clear();
  if (!tokens.empty() && is_end(tokens.back(), tokenizer)) tokens.pop_back();
  const text::Token start = start_token(model, side);
  // A template that begins texts with the very token that the decoder starts with would have it twice.
  const bool repeats_start =
      !tokens.empty() && tokens.front().is_special && tokens.front().bytes.is_empty() && tokens.front().id == start.id;
  if (repeats_start) tokens.erase(tokens.begin());
  tokens.insert(tokens.begin(), start);
  return tokens;
}

Lines target_tokens(const LanguageModel& model, const PromptText& text, const Side& side, std::size_t count) {
  if (!text.target_ids.empty()) {
    if (text.target_ids.size() != 1) return side.from_ids(text.target_ids);
    return side.from_ids(std::vector(count, text.target_ids.front()));
  }
  if (text.target_lines.empty()) return Lines(count, {start_token(model, side)});
  Lines result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(decoder_tokens(model, partner(text.target_lines, i, count, "target"), text.adds_special, side));
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> target_ids(const LanguageModel& model, const std::string& target) {
  const Side side(model, model.network->target_embedding.get(), model.target_tokenizer.get(), "target");
  std::vector<std::uint32_t> ids;
  for (const text::Token& token : decoder_tokens(model, target, true, side)) ids.push_back(token.id);
  return ids;
}

std::uint32_t position_limit(const LanguageModel& model, const model::Embedding* embedding) {
  std::uint32_t limit = model.description.is_length_limited ? model.description.max_length : 0;
  if (embedding != nullptr && !embedding->positions.is_empty()) {
    const std::uint32_t rows = embedding->positions.axis(0) - embedding->position_offset;
    limit = limit == 0 ? rows : std::min(limit, rows);
  }
  return limit;
}

Prompt make_prompt(const LanguageModel& model, const PromptText& text) {
  Prompt prompt;
  const Side source(model, model.network->source_embedding.get(), model.tokenizer.get(), "text");
  std::vector<std::vector<text::TurnSpan>> turns;
  prompt.tokens = source_tokens(model, text, source, turns);
  source.check(prompt.tokens, text.stretches_positions);
  prompt.input.source = source.batch(prompt.tokens, text.padding);
  for (std::uint32_t line = 0; line < turns.size(); ++line) {
    const std::uint32_t start = prompt.input.source.start(line);
    std::vector<model::TokenSpan>& spans = prompt.input.source.spans.emplace_back();
    for (const text::TurnSpan& turn : turns[line])
      spans.push_back({.name = turn.role, .first = start + turn.first, .end = start + turn.end});
  }
  const bool has_target = !text.target_lines.empty() || !text.target_ids.empty();
  if (model.network->layers->decoder.empty()) {
    if (has_target) throw Error("{} has no decoder: it takes no target", model.description.family);
    return prompt;
  }
  const Side target(model, model.network->target_embedding.get(), model.target_tokenizer.get(), "target");
  prompt.target_tokens = target_tokens(model, text, target, prompt.tokens.size());
  target.check(prompt.target_tokens, text.stretches_positions);
  if (prompt.target_tokens.size() != prompt.tokens.size()) {
    throw Error("{} for {}: give one for each, or one for all", count_of(prompt.target_tokens.size(), "target"),
                count_of(prompt.tokens.size(), "text"));
  }
  prompt.input.target = target.batch(prompt.target_tokens, text.padding);
  return prompt;
}

std::vector<std::uint32_t> token_segments(const model::TokenBatch& tokens, std::span<const std::uint32_t> separators) {
  std::vector<std::uint32_t> segments(tokens.ids.size());
  std::uint32_t segment = 0;
  for (std::size_t at = 0; at < segments.size(); ++at) {
    if (at % tokens.length == 0) segment = 0;
    segments[at] = segment;
    segment += std::ranges::find(separators, tokens.ids[at]) != separators.end() ? 1u : 0u;
  }
  return segments;
}

std::uint32_t layer_count(const model::Network& network, model::BlockKind kind) {
  const bool is_encoder = kind == model::BlockKind::EncoderSelf;
  return static_cast<std::uint32_t>(is_encoder ? network.layers->encoder.size() : network.layers->decoder.size());
}

MaskTokens::MaskTokens(const model::Network& network, const model::ModelInput& input, model::BlockKind kind,
                       const attention::MaskSpec& mask)
    : network_(network), kind_(kind), queries_(input.queries(kind)), keys_(input.keys(kind)) {
  if (!mask.mask_expression.needs().segments && !mask.score_expression.needs().segments) return;
  query_segments_ = token_segments(queries_, network.separators);
  key_segments_ = token_segments(keys_, network.separators);
}

attention::ExpressionTokens MaskTokens::all() const {
  return {.query_ids = queries_.ids,
          .key_ids = keys_.ids,
          .query_types = queries_.types,
          .key_types = keys_.types,
          .query_segments = query_segments_,
          .key_segments = key_segments_};
}

attention::ExpressionMap MaskTokens::map(std::uint32_t layer, std::uint32_t item, std::uint32_t head) const {
  const auto of_item = [&](const std::vector<std::uint32_t>& all, std::uint32_t length) {
    return all.empty() ? std::span<const std::uint32_t>() : std::span(all).subspan(std::size_t{item} * length, length);
  };
  return {.layer = layer,
          .layers = layer_count(network_, kind_),
          .head = head,
          .heads = network_.layer({kind_, LayerIndex{layer}}).config.heads,
          .queries = queries_.length,
          .keys = keys_.length,
          .tokens = {.query_ids = of_item(queries_.ids, queries_.length),
                     .key_ids = of_item(keys_.ids, keys_.length),
                     .query_types = of_item(queries_.types, queries_.length),
                     .key_types = of_item(keys_.types, keys_.length),
                     .query_segments = of_item(query_segments_, queries_.length),
                     .key_segments = of_item(key_segments_, keys_.length)}};
}

}  // namespace headlight::inference
