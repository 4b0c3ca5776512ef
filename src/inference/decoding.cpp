#include "inference/decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.h"

namespace headlight::inference {
namespace {

using Ids = std::vector<std::uint32_t>;
using ItemTokens = std::vector<std::vector<text::Token>>;

bool contains(const Ids& ids, std::uint32_t id) { return std::ranges::find(ids, id) != ids.end(); }

/// ln p of one token under the softmax of a row; −inf logits have no share.
double log_share(std::span<const float> logits, std::uint32_t id) {
  const float largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - largest));
  return static_cast<double>(logits[id] - largest) - std::log(sum);
}

/// Some items of a batch, in this order, without the columns that none of them uses.
model::TokenBatch kept_items(const model::TokenBatch& tokens, std::span<const std::uint32_t> items) {
  std::uint32_t first = tokens.length;
  for (const std::uint32_t item : items) first = std::min(first, tokens.start(item));
  model::TokenBatch kept;
  kept.batch = static_cast<std::uint32_t>(items.size());
  kept.length = tokens.length - first;
  for (const std::uint32_t item : items) {
    kept.lengths.push_back(tokens.lengths[item]);
    kept.starts.push_back(tokens.start(item) - first);
    const std::size_t row = std::size_t{item} * tokens.length;
    for (std::size_t cell = row + first; cell < row + tokens.length; ++cell) {
      kept.ids.push_back(tokens.ids[cell]);
      if (!tokens.types.empty()) kept.types.push_back(tokens.types[cell]);
      if (!tokens.positions.empty()) kept.positions.push_back(tokens.positions[cell]);
    }
  }
  return kept;
}

/// The arguments of decode(), which all its batches share.
struct Task {
  Session& session;
  std::shared_ptr<const Run>& run;  ///< the newest
  const LanguageModel& model;
  const DecodingSettings& settings;
  Ids ends, suppressed;
  std::uint32_t positions = 0;  ///< of the side that is written; 0: no limit
};

/// Lines that are written together, a column of tokens at a time. Padding is on the left, so that every line's next token
/// is in the same column and all columns before it stay as they are, which is what a session can reuse.
class Batch {
 public:
  Batch(const Task& task, const Prompt& prompts, std::span<const std::size_t> items, std::vector<Decoded>& results)
      : task_(task), items_(items.begin(), items.end()), results_(results) {
    PromptText text{.lines = {}, .padding = PaddingSide::Left};
    const auto ids_of = [](const std::vector<text::Token>& tokens) {
      Ids ids;
      for (const text::Token& token : tokens) ids.push_back(token.id);
      return ids;
    };
    for (const std::size_t item : items_) {
      text.ids.push_back(ids_of(prompts.tokens[item]));
      if (!prompts.target_tokens.empty()) text.target_ids.push_back(ids_of(prompts.target_tokens[item]));
      SamplingSettings sampling = task.settings.sampling;
      sampling.seed += item;
      samplers_.emplace_back(sampling);
    }
    input_ = make_prompt(task.model, text).input;
    input_.source.texts.clear();  // only views need the labels, and every pass would copy them
    if (input_.target) input_.target->texts.clear();
    is_alive_.assign(items_.size(), true);
    alive_ = items_.size();
  }

  bool is_done() const { return alive_ == 0; }
  std::size_t alive() const { return alive_; }

  void step() {
    // Another batch is computed from its first token on, which pays where most of this one would be computed for nothing.
    constexpr std::size_t kWorthwhile = 4;
    if (alive_ * kWorthwhile <= items_.size()) drop_ended();
    task_.run = task_.session.run({.network = task_.model.network, .input = input_, .masks = task_.model.masks},
                                  std::move(task_.run));
    const auto layer = static_cast<std::uint32_t>(input_.target ? task_.model.network->layers->decoder.size()
                                                                : task_.model.network->layers->encoder.size());
    std::vector<StateRef> states;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (is_alive_[i]) states.push_back({.batch = i, .token = tokens().length - 1, .layer = layer});
    }
    Tensor logits = task_.run->logits(states);  // [state, vocabulary]
    const std::size_t width = logits.axis(1);
    Ids column(items_.size(), model::kPaddingId);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::uint32_t item = states[i].batch;
      column[item] = take(item, std::span(logits.values).subspan(i * width, width));
    }
    append(column);
  }

 private:
  model::TokenBatch& tokens() { return input_.target ? *input_.target : input_.source; }

  void drop_ended() {
    Ids kept;
    for (std::uint32_t item = 0; item < items_.size(); ++item) {
      if (is_alive_[item]) kept.push_back(item);
    }
    input_.source = kept_items(input_.source, kept);
    if (input_.target) input_.target = kept_items(*input_.target, kept);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      items_[i] = items_[kept[i]];
      samplers_[i] = samplers_[kept[i]];
    }
    items_.resize(kept.size());
    samplers_.erase(samplers_.begin() + static_cast<std::ptrdiff_t>(kept.size()), samplers_.end());
    is_alive_.assign(kept.size(), true);
  }

  /// Chooses an item's next token; padding where the item ends with or before it.
  std::uint32_t take(std::uint32_t item, std::span<float> logits) {
    for (const std::uint32_t id : task_.suppressed) {
      if (id < logits.size()) logits[id] = -std::numeric_limits<float>::infinity();
    }
    const std::uint32_t id = samplers_[item].choose(logits);
    Decoded& result = results_[items_[item]];
    result.log_probability += log_share(logits, id);
    result.has_ended = contains(task_.ends, id);
    if (!result.has_ended) result.ids.push_back(id);
    const bool is_full = task_.positions != 0 && tokens().lengths[item] >= task_.positions;
    if (!result.has_ended && !is_full && result.ids.size() < task_.settings.most_tokens) return id;
    is_alive_[item] = false;
    --alive_;
    return model::kPaddingId;
  }

  void append(const Ids& column) {
    model::TokenBatch& tokens = this->tokens();
    const bool has_types = !tokens.types.empty();
    Ids ids, types, positions;
    ids.reserve(std::size_t{tokens.batch} * (tokens.length + 1));
    for (std::uint32_t item = 0; item < tokens.batch; ++item) {
      const auto row = static_cast<std::ptrdiff_t>(std::size_t{item} * tokens.length);
      ids.insert(ids.end(), tokens.ids.begin() + row, tokens.ids.begin() + row + tokens.length);
      ids.push_back(column[item]);
      for (std::uint32_t token = 0; token < tokens.length; ++token) positions.push_back(tokens.position(item, token));
      // Behind its end a line has padding, for which there may be no position: the last one's does, it means nothing.
      const std::uint32_t last = positions.back();
      positions.push_back(column[item] == model::kPaddingId ? last : last + 1);
      if (has_types) types.insert(types.end(), tokens.types.begin() + row, tokens.types.begin() + row + tokens.length);
      if (has_types) types.push_back(0);
      if (column[item] != model::kPaddingId) ++tokens.lengths[item];
    }
    tokens.ids = std::move(ids);
    tokens.types = std::move(types);
    tokens.positions = std::move(positions);
    ++tokens.length;
  }

  const Task& task_;
  std::vector<std::size_t> items_;  ///< numbers of the lines
  std::vector<Decoded>& results_;   ///< of all lines
  model::ModelInput input_;
  std::vector<Sampler> samplers_;
  std::vector<bool> is_alive_;
  std::size_t alive_ = 0;
};

void check(const LanguageModel& model, const DecodingSettings& settings) {
  const model::ModelDescription& description = model.description;
  if (!description.has_logits) throw Error("{} has no head over a vocabulary: it can't write", description.name);
  if (!can_write(description)) {
    throw Error("{} ({}) fills gaps at most: it can't write", description.name, description.family);
  }
  if (settings.most_tokens == 0 || settings.items_at_once == 0) throw Error("decoding needs room for at least one token");
}

/// The lines' numbers, those of similar length side by side, the longest first: what the device can't hold shows at once.
std::vector<std::size_t> by_length(const Prompt& prompts) {
  std::vector<std::size_t> order(prompts.tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto length = [&](std::size_t line) {
    const std::size_t target = prompts.target_tokens.empty() ? 0 : prompts.target_tokens[line].size();
    return std::pair(prompts.tokens[line].size(), target);
  };
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) { return length(left) > length(right); });
  return order;
}

}  // namespace

bool can_write(const model::ModelDescription& description) {
  return description.has_logits && (description.is_causal || description.is_encoder_decoder);
}

std::vector<std::uint32_t> end_tokens(const LanguageModel& model) {
  Ids ends = model.description.ids.eos;
  const text::Tokenizer* tokenizer = model.predicted_tokenizer();
  const std::optional<std::uint32_t> end = tokenizer != nullptr ? tokenizer->special().end : std::nullopt;
  if (end && !contains(ends, *end)) ends.push_back(*end);
  return ends;
}

std::vector<std::uint32_t> suppressed_tokens(const LanguageModel& model) {
  const model::SpecialIds& ids = model.description.ids;
  const Ids ends = end_tokens(model);
  Ids suppressed;
  for (const std::optional<std::uint32_t>& id :
       {ids.pad, model.description.is_encoder_decoder ? ids.decoder_start : ids.bos}) {
    if (id && !contains(ends, *id) && !contains(suppressed, *id)) suppressed.push_back(*id);
  }
  return suppressed;
}

std::vector<Decoded> decode(Session& session, const LanguageModel& model, const PromptText& text,
                            const DecodingSettings& settings, const DecodingObserver& observer) {
  check(model, settings);
  const Prompt prompts = make_prompt(model, text);
  const bool has_target = !prompts.target_tokens.empty();
  const auto& embedding = has_target ? model.network->target_embedding : model.network->source_embedding;
  std::shared_ptr<const Run> run;
  const Task task{.session = session,
                  .run = run,
                  .model = model,
                  .settings = settings,
                  .ends = end_tokens(model),
                  .suppressed = suppressed_tokens(model),
                  .positions = position_limit(model, embedding.get())};
  std::vector<Decoded> results(prompts.tokens.size());
  const std::vector<std::size_t> order = by_length(prompts);
  for (std::size_t first = 0; first < order.size(); first += settings.items_at_once) {
    const std::size_t count = std::min<std::size_t>(settings.items_at_once, order.size() - first);
    Batch batch(task, prompts, std::span(order).subspan(first, count), results);
    while (!batch.is_done()) {
      batch.step();
      if (observer && !observer({.done = first + count - batch.alive(), .lines = results})) return results;
    }
  }
  return results;
}

}  // namespace headlight::inference
