#include "evaluation/needle.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "core/error.h"
#include "evaluation/head_maps.h"
#include "evaluation/head_survey.h"
#include "inference/prompt.h"

namespace headlight::evaluation {
namespace {

using Ids = std::vector<std::uint32_t>;

std::uint32_t layer_of_logits(const inference::LanguageModel& model) { return model.description.layers; }

/// `count` lengths from `low` to `high` at equal distances, each once.
std::vector<std::uint32_t> lengths_between(std::uint32_t low, std::uint32_t high, std::uint32_t count) {
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t share = count > 1 ? std::uint64_t{high - low} * i / (count - 1) : high - low;
    const auto length = low + static_cast<std::uint32_t>(share);
    if (lengths.empty() || lengths.back() != length) lengths.push_back(length);
  }
  return lengths;
}

std::uint32_t predicted_id(std::span<const float> logits) {
  return static_cast<std::uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace

std::vector<NeedleText> needle_texts(const inference::LanguageModel& model, std::span<const std::uint32_t> text,
                                     const NeedleGrid& grid) {
  check_has_one_stack(model);
  if (!model.description.is_causal) {
    throw Error("{} sees tokens on both sides: a needle takes a model that predicts the next token",
                model.description.family);
  }
  if (!model.description.has_logits) throw Error("{} predicts no token", model.description.name);
  const std::uint32_t limit = inference::position_limit(model, model.network->source_embedding.get());
  const std::uint32_t longest = limit == 0 ? grid.longest : std::min(grid.longest, limit);
  const std::uint32_t shortest = 4 * grid.needle;
  if (grid.needle < 2 || longest < shortest) {
    throw Error("a needle of {} tokens takes texts of {} at least, but the longest has {}: choose a shorter needle",
                grid.needle, shortest, longest);
  }
  const Ids ordinary = ordinary_ids(model);
  std::mt19937_64 generator(grid.seed);
  const auto draw = [&](const Ids& from) { return from[generator() % from.size()]; };
  const std::optional<std::uint32_t> begin = model.description.ids.bos;
  const bool has_begin = begin && (text.empty() || text.front() == *begin);
  Ids straw(text.begin() + (has_begin && !text.empty() ? 1 : 0), text.end());
  while (straw.size() < longest && text.empty() && !ordinary.empty()) straw.push_back(draw(ordinary));
  if (straw.empty()) throw Error("the text has no token for a haystack");
  const std::set<std::uint32_t> known(straw.begin(), straw.end());
  Ids drawn = ordinary;
  std::erase_if(drawn, [&](std::uint32_t id) { return known.contains(id); });
  if (drawn.size() < grid.needle) drawn = ordinary;
  if (drawn.size() < grid.needle) throw Error("the model has {} ordinary tokens, too few for a needle", drawn.size());
  std::vector<NeedleText> texts;
  for (const std::uint32_t length : lengths_between(shortest, longest, grid.lengths)) {
    const std::uint32_t room = length - 2 * grid.needle + 1 - (has_begin ? 1 : 0);
    for (std::uint32_t depth = 0; depth < grid.depths; ++depth) {
      const double share = grid.depths > 1 ? static_cast<double>(depth) / (grid.depths - 1) : 0.5;
      const auto before = static_cast<std::uint32_t>(share * room);
      Ids needle;
      while (needle.size() < grid.needle) {
        const std::uint32_t id = draw(drawn);
        if (std::ranges::find(needle, id) == needle.end()) needle.push_back(id);
      }
      NeedleText& one = texts.emplace_back();
      one.depth = share;
      if (has_begin) one.ids.push_back(*begin);
      for (std::uint32_t i = 0; i < room; ++i) {
        if (i == before) one.ids.insert(one.ids.end(), needle.begin(), needle.end());
        one.ids.push_back(straw[i % straw.size()]);
      }
      if (before == room) one.ids.insert(one.ids.end(), needle.begin(), needle.end());
      one.needle = before + (has_begin ? 1 : 0);
      one.question = static_cast<std::uint32_t>(one.ids.size());
      one.ids.insert(one.ids.end(), needle.begin(), needle.end() - 1);
    }
  }
  return texts;
}

inference::PassInputs needle_pass(const inference::LanguageModel& model, std::shared_ptr<const model::Network> network,
                                  const NeedleText& text) {
  inference::PromptText prompt;
  prompt.ids.push_back(text.ids);
  return {.network = std::move(network), .input = inference::make_prompt(model, prompt).input, .masks = model.masks};
}

std::vector<inference::StateRef> needle_states(const inference::LanguageModel& model, const NeedleText& text) {
  std::vector<inference::StateRef> states;
  for (std::uint32_t i = 0; i < text.answers(); ++i) {
    states.push_back({.token = text.question + i, .layer = layer_of_logits(model)});
  }
  return states;
}

std::vector<attention::TileRequest> needle_rows(const inference::LanguageModel& model, const NeedleText& text,
                                                std::uint32_t layer) {
  std::vector<attention::TileRequest> rows;
  for (std::uint32_t head = 0; head < model.description.heads; ++head) {
    rows.push_back({.block = {model::BlockKind::EncoderSelf, LayerIndex{layer}},
                    .head = head,
                    .row = text.question,
                    .rows = text.answers(),
                    .columns = static_cast<std::uint32_t>(text.ids.size())});
  }
  return rows;
}

void NeedleFound::add_logits(std::span<const float> logits) {
  const std::size_t width = logits.size() / text.answers();
  for (std::uint32_t i = 0; i < text.answers(); ++i) {
    is_predicted.push_back(predicted_id(logits.subspan(i * width, width)) == text.answer(i));
  }
}

void NeedleFound::add_head(std::span<const float> weights) {
  const std::size_t keys = weights.size() / text.answers();
  NeedleHits& hits = heads.emplace_back();
  for (std::uint32_t i = 0; i < text.answers(); ++i) {
    // Tokens of a needle are all different: the one in it that is the answer has this place.
    if (predicted_id(weights.subspan(i * keys, keys)) != text.needle + i + 1) continue;
    ++hits.attended;
    if (is_predicted[i]) ++hits.copied;
  }
}

std::uint32_t NeedleFound::predicted() const { return static_cast<std::uint32_t>(std::ranges::count(is_predicted, true)); }

std::optional<double> retrieval_score(std::span<const NeedleFound> found, std::size_t head, bool is_predicted) {
  std::uint64_t hits = 0, answers = 0;
  for (const NeedleFound& text : found) {
    hits += is_predicted ? text.heads[head].copied : text.heads[head].attended;
    answers += text.text.answers();
  }
  return answers == 0 ? std::nullopt : std::optional(static_cast<double>(hits) / static_cast<double>(answers));
}

std::optional<double> predicted_share(std::span<const NeedleFound> found) {
  std::uint64_t predicted = 0, answers = 0;
  for (const NeedleFound& text : found) {
    predicted += text.predicted();
    answers += text.text.answers();
  }
  return answers == 0 ? std::nullopt : std::optional(static_cast<double>(predicted) / static_cast<double>(answers));
}

std::string needle_csv(std::span<const NeedleFound> found, std::uint32_t heads_of_layer) {
  std::string csv = "length,depth,layer,head,answers,predicted,attended,copied\n";
  for (const NeedleFound& one : found) {
    for (std::size_t head = 0; head < one.heads.size(); ++head) {
      csv += fmt::format("{},{:.9g},{},{},{},{},{},{}\n", one.text.ids.size(), one.text.depth, head / heads_of_layer,
                         head % heads_of_layer, one.text.answers(), one.predicted(), one.heads[head].attended,
                         one.heads[head].copied);
    }
  }
  return csv;
}

std::vector<NeedleFound> survey_needles(inference::Session& session, const inference::LanguageModel& model,
                                        std::vector<NeedleText> texts, const Progress& progress) {
  std::vector<NeedleFound> found;
  std::shared_ptr<const inference::Run> run;
  for (NeedleText& text : texts) {
    NeedleFound& one = found.emplace_back(NeedleFound{.text = std::move(text)});
    run = session.run(needle_pass(model, model.network, one.text), std::move(run));
    one.add_logits(run->logits(needle_states(model, one.text)).values);
    for (std::uint32_t layer = 0; layer < model.description.layers; ++layer) {
      for (const attention::Tile& tile : run->evaluate(needle_rows(model, one.text, layer))) one.add_head(tile.values);
    }
    if (progress) progress(found.size(), texts.size());
  }
  return found;
}

}  // namespace headlight::evaluation
