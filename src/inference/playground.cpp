#include "inference/playground.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/positions.h"
#include "model/torch_random.h"
#include "platform/memory.h"
#include "text/word_vocabulary.h"

namespace headlight::inference {
namespace {

/// The typed texts as padded batches of word ids.
struct WordBatch {
  model::TokenBatch text;
  std::optional<model::TokenBatch> key_text;  ///< as many sequences as `text`
  std::uint32_t vocabulary = 0;               ///< rows that the embedding of both texts needs
};

std::string count_lines(std::size_t count) { return fmt::format("{} line{}", count, count == 1 ? "" : "s"); }

/// Refuses a text that is too long before anything is built from it.
void check_size(std::string_view text, std::string_view when_empty) {
  std::size_t lines = 0;
  std::size_t longest = 0;
  std::size_t number = 0;
  for (const std::size_t words : text::count_words_per_line(text)) {
    ++number;
    if (words > kMaxTokens) {
      throw Error("line {} has {} tokens, but at most {} fit: shorten it or break it into several lines", number, words,
                  kMaxTokens);
    }
    if (words > 0) ++lines;
    longest = std::max(longest, words);
  }
  if (lines == 0) throw Error("{}", when_empty);
  if (lines * longest > kMaxBatchTokens) {
    throw Error("{} padded to {} tokens make {} tokens, but at most {} fit: shorten the text", count_lines(lines), longest,
                lines * longest, kMaxBatchTokens);
  }
}

model::TokenBatch pad(const std::vector<std::vector<text::Token>>& lines) {
  model::TokenBatch batch;
  batch.batch = static_cast<std::uint32_t>(lines.size());
  for (const std::vector<text::Token>& line : lines) {
    batch.lengths.push_back(static_cast<std::uint32_t>(line.size()));
    batch.length = std::max(batch.length, batch.lengths.back());
  }
  for (const std::vector<text::Token>& line : lines) {
    std::vector<std::string>& labels = batch.texts.emplace_back();
    for (const text::Token& token : line) {
      batch.ids.push_back(token.id);
      labels.push_back(token.text);
    }
    batch.ids.insert(batch.ids.end(), batch.length - line.size(), model::kPaddingId);
    labels.resize(batch.length, "<pad>");
  }
  return batch;
}

/// Lines become batch items, padded to the longest with kPaddingId. One line of `key_text` serves every line of `text`.
/// Throws Error in one line: invalid UTF-8, no word, more words than kMaxTokens or kMaxBatchTokens, different numbers of
/// lines.
WordBatch batch_words(std::string_view text, std::string_view key_text) {
  std::vector<std::string_view> texts = {text};
  if (!key_text.empty()) texts.push_back(key_text);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (find_invalid_utf8(texts[i]) != std::string_view::npos) continue;  // the tokenizer says where
    check_size(texts[i], i == 0 ? "there is no word in the text: type at least one"
                                : "there is no word in the second text: type at least one or clear it");
  }
  Result<std::vector<text::WordTokens>> tokenized = text::tokenize_words(texts);
  if (!tokenized) throw Error("{}", tokenized.error());
  std::vector<text::WordTokens> sides = std::move(tokenized).value();

  WordBatch batch{.text = pad(sides[0].lines), .key_text = std::nullopt, .vocabulary = sides[0].vocabulary};
  if (sides.size() == 2) {
    std::vector<std::vector<text::Token>>& keys = sides[1].lines;
    if (keys.size() == 1) keys.resize(sides[0].lines.size(), std::vector<text::Token>(keys.front()));
    if (keys.size() != sides[0].lines.size()) {
      throw Error("{} of text attend{} to {} of keys: give both texts the same number of lines",
                  count_lines(sides[0].lines.size()), sides[0].lines.size() == 1 ? "s" : "", count_lines(keys.size()));
    }
    batch.key_text = pad(keys);
  }
  return batch;
}

void expect_range(std::string_view what, std::uint32_t value, std::uint32_t largest) {
  if (value < 1 || value > largest) throw Error("{} is {}, but must be 1 … {}", what, value, largest);
}

/// The numbers of heads that d_model can be split into: "1, 2, 5, 10".
std::string divisors(std::uint32_t d_model) {
  std::string list;
  for (std::uint32_t heads = 1; heads <= std::min(d_model, kMaxHeads); ++heads) {
    if (d_model % heads == 0) list += fmt::format("{}{}", list.empty() ? "" : ", ", heads);
  }
  return list;
}

/// Sizes with the defaults filled in. Throws Error for the first setting that can't work.
model::AttentionConfig resolve(const PlaygroundSettings& settings) {
  expect_range("d_model", settings.d_model, kMaxWidth);
  expect_range("the number of heads", settings.heads, kMaxHeads);
  expect_range("the number of layers", settings.layers, kMaxLayers);
  if ((settings.d_k == 0 || settings.d_v == 0) && settings.d_model % settings.heads != 0) {
    throw Error("d_model {} can't be split into {} heads: choose heads that divide it ({}) or set d_k and d_v",
                settings.d_model, settings.heads, divisors(settings.d_model));
  }
  const model::AttentionConfig config{.d_model = settings.d_model,
                                      .heads = settings.heads,
                                      .d_k = settings.d_k == 0 ? settings.d_model / settings.heads : settings.d_k,
                                      .d_v = settings.d_v == 0 ? settings.d_model / settings.heads : settings.d_v,
                                      .scale = settings.scale,
                                      .merge = settings.merge};
  expect_range("d_k", config.d_k, kMaxWidth);
  expect_range("d_v", config.d_v, kMaxWidth);
  for (const auto& [name, width] : {std::pair{"d_k", config.d_k}, std::pair{"d_v", config.d_v}}) {
    if (width * config.heads > kMaxHeadsWidth) {
      throw Error("{} heads of {} {} are {} wide together, but at most {} is possible: choose a smaller {}", config.heads,
                  name, width, width * config.heads, kMaxHeadsWidth, name);
    }
  }
  if (settings.scale.kind == model::Scale::Kind::Value && !std::isfinite(settings.scale.value)) {
    throw Error("the scale is {}, but must be a finite number", settings.scale.value);
  }
  const std::uint32_t merged = config.heads * config.d_v;
  if (!settings.output_projection && settings.layers > 1 && merged != config.d_model) {
    throw Error(
        "without an output projection {} layers need heads·d_v = d_model, but {}·{} = {} is not {}: turn the projection on, "
        "use one layer or change d_v",
        settings.layers, config.heads, config.d_v, merged, config.d_model);
  }
  return config;
}

/// Refuses weights that this computer can't hold before a minute is spent on drawing them.
void check_memory(const PlaygroundSettings& settings, const model::AttentionConfig& config, std::uint32_t vocabulary) {
  const std::size_t rows = std::size_t{config.heads} * (2 * config.d_k + (settings.output_projection ? 2 : 1) * config.d_v);
  const std::size_t numbers = (rows * settings.layers + vocabulary) * config.d_model;
  const double needed = static_cast<double>(numbers) * sizeof(float) / (1 << 30);
  const double available = static_cast<double>(platform::physical_bytes()) / (1 << 30);
  if (needed > available) {
    throw Error("the weights need {:.1f} GiB but this computer has {:.1f} GiB: choose a smaller d_model or fewer layers",
                needed, available);
  }
}

std::shared_ptr<const model::Layers> draw_layers(const PlaygroundSettings& settings, const model::AttentionConfig& config,
                                                 bool cross) {
  const auto layers = std::make_shared<model::Layers>();
  model::TorchRandom random(settings.seed);
  const std::uint32_t d_merged = config.heads * config.d_v;
  for (std::uint32_t i = 0; i < settings.layers; ++i) {
    model::AttentionLayer layer{.config = config};
    model::AttentionWeights& weights = layer.weights.emplace();
    weights.query = random.linear(config.d_model, config.heads * config.d_k, settings.bias);
    weights.key = random.linear(config.d_model, config.heads * config.d_k, settings.bias);
    weights.value = random.linear(config.d_model, d_merged, settings.bias);
    if (settings.output_projection) weights.output = random.linear(d_merged, config.d_model, settings.bias);
    if (settings.layers > 1) {
      const Shape width = {config.d_model};
      layer.norms.after = {.weight = Tensor(width, std::vector<float>(config.d_model, 1.0f)), .bias = Tensor(width)};
    }
    if (cross) {
      layers->decoder.push_back({.self = std::nullopt, .cross = std::move(layer)});
    } else {
      layers->encoder.push_back(std::move(layer));
    }
  }
  return layers;
}

std::shared_ptr<const model::Embedding> draw_embedding(const PlaygroundSettings& settings, std::uint32_t vocabulary,
                                                       std::uint32_t length) {
  // Room for more tokens than there are: one more word needs no new positions.
  static constexpr std::uint32_t kStep = 64;
  const auto embedding = std::make_shared<model::Embedding>();
  embedding->table = model::TorchRandom(settings.seed).embedding(vocabulary, settings.d_model);
  if (settings.positions) {
    embedding->positions = model::sinusoidal_positions((length + kStep - 1) / kStep * kStep, settings.d_model);
  }
  return embedding;
}

/// Do both draw the same layers?
bool same_layers(const PlaygroundSettings& a, PlaygroundSettings b) {
  b.positions = a.positions;
  return a == b;
}

bool serves(const model::Embedding& embedding, const PlaygroundSettings& of, const PlaygroundSettings& wanted,
            std::uint32_t vocabulary, std::uint32_t length) {
  return of.seed == wanted.seed && of.d_model == wanted.d_model && of.positions == wanted.positions &&
         embedding.table.axis(0) == vocabulary && (!wanted.positions || embedding.positions.axis(0) >= length);
}

}  // namespace

Playground make_playground(const PlaygroundSettings& settings, const std::string& text, const std::string& key_text,
                           const Playground& previous) {
  const model::AttentionConfig config = resolve(settings);
  WordBatch words = batch_words(text, key_text);
  const bool cross = words.key_text.has_value();
  const std::uint32_t length = std::max(words.text.length, cross ? words.key_text->length : 0);
  check_memory(settings, config, words.vocabulary);

  const model::Network* before = previous.network.get();
  const bool keeps_layers =
      before != nullptr && before->layers->encoder.empty() == cross && same_layers(previous.settings, settings);
  const bool keeps_embedding =
      before != nullptr && serves(*before->source_embedding, previous.settings, settings, words.vocabulary, length);
  model::Network network;
  network.layers = keeps_layers ? before->layers : draw_layers(settings, config, cross);
  network.source_embedding = keeps_embedding ? before->source_embedding : draw_embedding(settings, words.vocabulary, length);
  if (cross) network.target_embedding = network.source_embedding;

  Playground playground;
  playground.settings = settings;
  playground.vocabulary = words.vocabulary;
  playground.network =
      keeps_layers && keeps_embedding ? previous.network : std::make_shared<model::Network>(std::move(network));
  if (cross) {
    playground.input.source = std::move(*words.key_text);
    playground.input.target = std::move(words.text);
  } else {
    playground.input.source = std::move(words.text);
  }
  return playground;
}

}  // namespace headlight::inference
