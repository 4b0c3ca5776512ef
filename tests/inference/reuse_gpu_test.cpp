// Runs that take over what the run before computed, against fresh ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "inference/session.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/random.h"

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;

namespace {

// Kernels for few rows may add up in another order than those for many. Relative to the largest number of a tensor where
// that is more than 1.
constexpr double kSame = 1e-6;  // observed 0 on llvmpipe

struct Loaded {
  std::shared_ptr<const model::Network> network;
  model::ModelDescription description;
};

Loaded load(std::string_view name) {
  model::LoadedNetwork loaded = model::load_network(test::golden_model_path(name));
  return {std::make_shared<const model::Network>(std::move(loaded.network)), std::move(loaded.description)};
}

/// What a person edits.
struct Desk {
  std::vector<std::vector<std::uint32_t>> source, target;  ///< [item][token]
  attention::MaskSet masks;
  HeadGains gains;
  bool pads_left = false;

  model::TokenBatch batch_of(const std::vector<std::vector<std::uint32_t>>& texts) const {
    model::TokenBatch tokens{.batch = static_cast<std::uint32_t>(texts.size())};
    for (const auto& text : texts) tokens.length = std::max(tokens.length, static_cast<std::uint32_t>(text.size()));
    for (const auto& text : texts) {
      const auto padding = tokens.length - static_cast<std::uint32_t>(text.size());
      if (pads_left) tokens.ids.insert(tokens.ids.end(), padding, 0u);
      tokens.ids.insert(tokens.ids.end(), text.begin(), text.end());
      if (!pads_left) tokens.ids.insert(tokens.ids.end(), padding, 0u);
      tokens.lengths.push_back(static_cast<std::uint32_t>(text.size()));
      tokens.starts.push_back(pads_left ? padding : 0);
    }
    return tokens;
  }
  model::ModelInput input() const {
    model::ModelInput input{.source = batch_of(source)};
    if (!target.empty()) input.target = batch_of(target);
    return input;
  }
};

std::vector<std::uint32_t> random_text(test::Random& random, std::uint32_t length, std::uint32_t vocabulary) {
  std::vector<std::uint32_t> text(length);
  for (std::uint32_t& id : text) id = random.below(vocabulary);
  return text;
}

Desk make_desk(test::Random& random, const Loaded& model) {
  Desk desk;
  desk.source = {random_text(random, 9, model.description.vocabulary)};
  if (model.description.is_encoder_decoder) desk.target = {random_text(random, 6, model.description.vocabulary)};
  for (const BlockKind kind : {BlockKind::EncoderSelf, BlockKind::DecoderSelf, BlockKind::Cross}) {
    desk.masks[kind].rule.causal = test::is_causal(model.description, kind);
    desk.masks[kind].rule.key_padding = true;
  }
  return desk;
}

RunTiming run(Session& session, const Loaded& model, const Desk& desk) {
  return session.run(model.network, desk.input(), desk.masks, desk.gains);
}

double relative_difference(const Tensor& left, const Tensor& right) {
  const test::Deviation deviation =
      test::deviation(left.values, std::vector<double>(right.values.begin(), right.values.end()));
  double largest = 1.0;
  for (const float value : right.values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return deviation.max_abs / largest;
}

/// Of everything that a person can look at: maps and outputs of every block, hidden states, logits.
double difference(Session& left, Session& right) {
  if (left.blocks() != right.blocks()) return 1e9;
  double worst = 0.0;
  for (const model::BlockRef block : left.blocks()) {
    for (const Stage stage : {Stage::Weights, Stage::Output}) {
      worst = std::max(worst, relative_difference(left.stage(block, stage), right.stage(block, stage)));
    }
  }
  for (const Stack stack : {Stack::Encoder, Stack::Decoder}) {
    worst = std::max(worst, relative_difference(left.hidden(stack), right.hidden(stack)));
  }
  return std::max(worst, relative_difference(left.logits(), right.logits()));
}

/// Edits at random, one after the other; each returns its name.
class Editor {
 public:
  Editor(test::Random& random, const Loaded& model, Desk& desk) : random_(random), model_(model), desk_(desk) {}

  std::string edit() {
    const bool in_target = !desk_.target.empty() && random_.chance(0.6);
    auto& texts = in_target ? desk_.target : desk_.source;
    auto& text = texts[random_.below(static_cast<std::uint32_t>(texts.size()))];
    const auto length = static_cast<std::uint32_t>(text.size());
    const std::string where = in_target ? " in the target" : "";
    switch (random_.below(12)) {
      case 0:
      case 1:
        return append(text, random_.between(1, 3)) + where;
      case 2:
        return append(text, is_limited() ? 9 : 58) + where;
      case 3:
        text[random_.below(length)] = id();
        return "change a token" + where;
      case 4:
        text.resize(length - random_.below(std::min(length, 12u)));
        return "delete at the end" + where;
      case 5:
        if (length >= most()) return "nothing";
        text.insert(text.begin() + random_.below(length + 1), id());
        return "insert" + where;
      case 6:
        return change_batch();
      case 7:
      case 8:
        return paint();
      case 9: {
        attention::MaskRule& rule = desk_.masks[kind()].rule;
        rule.causal = !rule.causal;
        return "toggle causal";
      }
      case 10:
        desk_.gains[{block(), random_.below(heads())}] = random_.pick({0.0f, 0.5f, 1.0f});
        return "change a gain";
      default:
        break;
    }
    desk_.pads_left = !desk_.pads_left;
    return "pad on the other side";
  }

 private:
  std::uint32_t id() { return random_.below(model_.description.vocabulary); }
  bool is_limited() const { return model_.description.is_length_limited; }
  std::uint32_t most() const { return is_limited() ? model_.description.max_length : 140; }
  std::uint32_t heads() const { return model_.description.heads; }
  model::BlockRef block() {
    const auto blocks = model_.network->blocks();
    return blocks[random_.below(static_cast<std::uint32_t>(blocks.size()))];
  }
  BlockKind kind() { return block().kind; }

  std::string append(std::vector<std::uint32_t>& text, std::uint32_t count) {
    if (text.size() + count > most()) {
      text.resize(4);
      return "cut";
    }
    for (std::uint32_t i = 0; i < count; ++i) text.push_back(id());
    return "append " + std::to_string(count);
  }

  std::string change_batch() {
    for (auto* texts : {&desk_.source, &desk_.target}) {
      if (texts->empty()) continue;
      if (texts->size() > 2) {
        texts->pop_back();
      } else {
        texts->push_back(random_text(random_, random_.between(1, 10), model_.description.vocabulary));
      }
    }
    return "change the batch";
  }

  std::string paint() {
    attention::MaskSpec& mask = desk_.masks[kind()];
    if (mask.painted.size() > 3) {
      mask.painted.clear();
      return "erase the paint";
    }
    attention::PaintScope scope;
    if (random_.chance(0.7)) scope.layer = random_.below(model_.description.layers);
    if (random_.chance(0.5)) scope.head = random_.below(heads());
    const bool is_visible = random_.chance(0.4);
    const std::uint32_t query = random_.below(10);
    mask.painted[scope][{query, random_.chance(0.7) ? random_.below(query + 1) : random_.below(10)}] = is_visible;
    return is_visible ? "show a cell" : "hide a cell";
  }

  test::Random& random_;
  const Loaded& model_;
  Desk& desk_;
};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "reused and fresh runs are equal, whatever is edited") {
    double worst = 0.0;
    std::uint32_t reusing = 0, seed = 0;
    for (const std::string name : {"gpt2", "llama", "gemma2", "bloom", "bert", "t5", "marian"}) {
      const Loaded model = load(name);
      test::Random random(++seed);
      Desk desk = make_desk(random, model);
      Session session(context), fresh(context);
      for (int i = 0; i < 45; ++i) {
        const std::string edit = i == 0 ? "open" : Editor(random, model, desk).edit();
        fresh.unload();
        const RunTiming anew = run(fresh, model, desk), timing = run(session, model, desk);
        CHECK(anew.reused_tokens + anew.reused_layers == 0);
        CHECK(timing.dispatches <= anew.dispatches);
        reusing += timing.dispatches < anew.dispatches || timing.reused_tokens > 0 ? 1u : 0u;
        const double off = difference(session, fresh);
        INFO(name, ", step ", i, ": ", edit);
        CHECK(off < kSame);
        worst = std::max(worst, off);
      }
    }
    CAPTURE(worst);
    CHECK(worst < kSame);
    CHECK(reusing > 100);  // or the walk tests nothing
  }

  TEST_CASE_FIXTURE(test::OnGpu, "typing recomputes the new tokens, an edit what follows it, nothing costs nothing") {
    for (const std::string name : {"gpt2", "llama", "gemma2", "bloom"}) {
      CAPTURE(name);
      const Loaded model = load(name);
      test::Random random(3);
      Desk desk = make_desk(random, model);
      Session session(context);
      const std::uint32_t all = run(session, model, desk).dispatches, layers = model.description.layers;
      const auto check = [&](std::uint32_t tokens, std::uint32_t of_layers, std::uint32_t dispatches) {
        const RunTiming timing = run(session, model, desk);
        CHECK(timing.reused_tokens == tokens);
        CHECK(timing.reused_layers == of_layers);
        CHECK(timing.dispatches == dispatches);
      };
      check(9, layers, 0);
      desk.source[0].push_back(5);
      check(9, 0, all);
      desk.source[0][4] = (desk.source[0][4] + 1) % model.description.vocabulary;
      check(4, 0, all);
      desk.source[0].pop_back();
      check(9, layers, 0);
      desk.source[0].insert(desk.source[0].begin() + 6, 7u);
      check(6, 0, all);
      session.forget();
      check(0, 0, all);
      desk.source.push_back({1, 2, 3});
      check(0, 0, all);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a mask or a gain of one layer recomputes from there") {
    for (const std::string name : {"llama", "gemma2", "t5"}) {
      CAPTURE(name);
      const Loaded model = load(name);
      test::Random random(4);
      Desk desk = make_desk(random, model);
      Session session(context);
      const std::uint32_t all = run(session, model, desk).dispatches, layers = model.description.layers;
      const std::uint32_t behind = model.description.decoder_layers;  // which must be computed again, too
      std::uint32_t cost = all;
      for (std::uint32_t layer = 0; layer < layers; ++layer) {
        desk.masks[BlockKind::EncoderSelf].painted[{.layer = layer}][{7, 2}] = false;
        const RunTiming painted = run(session, model, desk);
        CHECK(painted.reused_layers == layer);
        desk.gains[{{BlockKind::EncoderSelf, LayerIndex{layer}}, 1}] = 0.0f;
        const RunTiming scaled = run(session, model, desk);
        CHECK(scaled.reused_layers == layer);
        CHECK(scaled.dispatches == painted.dispatches + 1);  // the gain itself
        if (layer > 0) CHECK(painted.dispatches < cost);
        if (behind == 0) CHECK(painted.dispatches == all / layers * (layers - layer));
        cost = painted.dispatches;
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a new target of an encoder–decoder leaves the encoder as it is") {
    for (const std::string name : {"t5", "marian"}) {
      CAPTURE(name);
      const Loaded model = load(name);
      test::Random random(5);
      Desk desk = make_desk(random, model);
      Session session(context);
      const RunTiming first = run(session, model, desk);
      desk.target[0].push_back(3);
      const RunTiming typed = run(session, model, desk);
      CHECK(typed.reused_tokens == 6);
      CHECK(typed.reused_layers == model.description.layers);
      CHECK(typed.dispatches < first.dispatches);
      desk.source[0][0] = (desk.source[0][0] + 1) % model.description.vocabulary;
      const RunTiming other = run(session, model, desk);
      CHECK(other.reused_tokens == 0);
      CHECK(other.reused_layers == 0);
      CHECK(other.dispatches == first.dispatches);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a text that is too long is refused, and the run before is still there and taken over") {
    const Loaded model = load("gpt2");
    test::Random random(6);
    const Desk desk = make_desk(random, model);
    Session session(context);
    run(session, model, desk);
    const Tensor weights = session.stage({}, Stage::Weights), logits = session.logits();
    Desk too_long = desk;
    too_long.source[0] = random_text(random, model.description.max_length + 1, model.description.vocabulary);
    const std::string message = test::error_message([&] { run(session, model, too_long); });
    CAPTURE(message);
    CHECK(test::is_one_line(message));
    CHECK(session.stage({}, Stage::Weights).values == weights.values);
    CHECK(session.logits().values == logits.values);
    const RunTiming again = run(session, model, desk);
    CHECK(again.dispatches == 0);
    CHECK(session.logits().values == logits.values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "two sessions on one device don't disturb each other") {
    const Loaded gpt2 = load("gpt2"), llama = load("llama");
    test::Random random(7);
    Desk left = make_desk(random, gpt2), right = make_desk(random, llama);
    Session first(context), second(context), fresh(context);
    for (int i = 0; i < 4; ++i) {
      run(first, gpt2, left);
      run(second, llama, right);
      left.source[0].push_back(random.below(80));
      right.source[0][random.below(9)] = random.below(80);
      run(first, gpt2, left);
      run(second, llama, right);
      fresh.unload();
      run(fresh, gpt2, left);
      CHECK(difference(first, fresh) < kSame);
      fresh.unload();
      run(fresh, llama, right);
      CHECK(difference(second, fresh) < kSame);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "one session, another model and back: nothing of the one is taken for the other's") {
    const Loaded gpt2 = load("gpt2"), llama = load("llama");
    test::Random random(8);
    Desk desk = make_desk(random, gpt2);
    Session session(context), fresh(context);
    run(session, gpt2, desk);
    CHECK(run(session, llama, desk).reused_tokens == 0);
    fresh.unload();
    run(fresh, llama, desk);
    CHECK(difference(session, fresh) == 0.0);
    CHECK(run(session, gpt2, desk).reused_tokens == 0);
    fresh.unload();
    run(fresh, gpt2, desk);
    CHECK(difference(session, fresh) == 0.0);
  }
}
