// The results that a pass may reuse from the previous one.
#include "inference/reuse.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "model/network.h"

namespace reuse_test {

using namespace headlight;
using namespace headlight::inference;
using model::BlockKind;

namespace {

constexpr std::uint32_t kLayers = 3;

model::AttentionLayer plain_layer() { return {.config = {.d_model = 4, .heads = 2, .d_k = 2, .d_v = 2}}; }

std::shared_ptr<const model::Network> make_network(bool has_decoder, std::vector<model::Rotary> rotaries = {}) {
  model::Layers layers;
  for (std::uint32_t i = 0; i < kLayers; ++i) layers.encoder.push_back(plain_layer());
  for (std::uint32_t i = 0; i < kLayers && has_decoder; ++i) layers.decoder.push_back({plain_layer(), plain_layer()});
  layers.rotaries = std::move(rotaries);
  auto network = std::make_shared<model::Network>();
  network->source_embedding = std::make_shared<const model::Embedding>();
  if (has_decoder) network->target_embedding = std::make_shared<const model::Embedding>();
  network->layers = std::make_shared<const model::Layers>(std::move(layers));
  return network;
}

model::TokenBatch tokens(std::uint32_t length, std::uint32_t batch = 1) {
  model::TokenBatch result{.batch = batch, .length = length, .lengths = std::vector<std::uint32_t>(batch, length)};
  result.ids.resize(std::size_t{batch} * length);
  std::iota(result.ids.begin(), result.ids.end(), 0u);
  return result;
}

PassInputs causal_pass(std::uint32_t length) {
  static const auto network = make_network(false);
  PassInputs pass{.network = network, .input = {.source = tokens(length)}, .masks = {}, .interventions = {}};
  pass.masks[BlockKind::EncoderSelf].rule.causal = true;
  return pass;
}

/// A bidirectional encoder and a causal decoder.
PassInputs translation(std::uint32_t source, std::uint32_t target) {
  static const auto network = make_network(true);
  PassInputs pass{
      .network = network, .input = {.source = tokens(source), .target = tokens(target)}, .masks = {}, .interventions = {}};
  pass.masks[BlockKind::DecoderSelf].rule.causal = true;
  return pass;
}

Intervention scaled(model::BlockRef block, std::uint32_t head, float gain) {
  return {.scope = scope_of(block, head), .operation = Scale{gain}};
}

attention::MaskSpec& mask(PassInputs& pass) { return pass.masks[BlockKind::EncoderSelf]; }

/// Leading tokens that `after` reuses from `before`, when all layers agree; none: they differ.
std::optional<std::uint32_t> taken_over(const PassInputs& after, const PassInputs& before) {
  const StackPlan plan = plan_pass(after, &before).encoder;
  for (const ops::Rows rows : plan.layers) {
    if (rows.first != plan.embedded.first || rows.end() != after.input.source.length) return std::nullopt;
  }
  return plan.embedded.end() == after.input.source.length ? std::optional(plan.embedded.first) : std::nullopt;
}

/// Layers that compute nothing; all others compute everything.
std::optional<std::uint32_t> unchanged_layers(const StackPlan& plan, std::uint32_t length) {
  std::uint32_t unchanged = 0;
  while (unchanged < plan.layers.size() && plan.layers[unchanged].count == 0) ++unchanged;
  for (std::size_t i = unchanged; i < plan.layers.size(); ++i) {
    if (plan.layers[i].first != 0 || plan.layers[i].count != length) return std::nullopt;
  }
  return unchanged;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("without a previous pass, everything is computed") {
    const PassPlan plan = plan_pass(causal_pass(9), nullptr);
    CHECK(unchanged_layers(plan.encoder, 9) == 0);
    CHECK(plan.encoder.embedded.count == 9);
    CHECK(plan.reused_tokens() == 0);
    CHECK(plan.reused_layers() == 0);
    CHECK(plan.encoder.layers.size() == kLayers);
  }

  TEST_CASE("nothing changed: nothing is computed") {
    const PassInputs pass = causal_pass(9);
    const PassPlan plan = plan_pass(pass, &pass);
    CHECK(plan.encoder.computes_nothing());
    CHECK(plan.reused_tokens() == 9);
    CHECK(plan.reused_layers() == kLayers);
  }

  TEST_CASE("tokens before the first edit of a causal text are reused") {
    const PassInputs before = causal_pass(9);
    CHECK(taken_over(causal_pass(10), before) == 9);
    CHECK(taken_over(causal_pass(20), before) == 9);
    CHECK(taken_over(causal_pass(5), before) == 5);
    PassInputs changed = before;
    changed.input.source.ids[4] = 77;
    CHECK(taken_over(changed, before) == 4);
    changed.input.source.ids[2] = 78;
    CHECK(taken_over(changed, before) == 2);
    changed.input.source.ids[0] = 79;
    CHECK(taken_over(changed, before) == 0);
    PassInputs inserted = causal_pass(10);
    std::rotate(inserted.input.source.ids.begin() + 3, inserted.input.source.ids.end() - 1, inserted.input.source.ids.end());
    CHECK(taken_over(inserted, before) == 3);
  }

  TEST_CASE("positions, types, lengths and starts of tokens count like the tokens") {
    const PassInputs before = causal_pass(9);
    PassInputs now = before;
    now.input.source.positions = {0, 1, 2, 3, 4, 6, 7, 8, 9};
    CHECK(taken_over(now, before) == 5);
    now.input.source.positions = {0, 1, 2, 3, 4, 5, 6, 7, 8};  // the defaults, explicitly
    CHECK(taken_over(now, before) == 9);
    now = before;
    now.input.source.types = {0, 0, 0, 0, 0, 0, 1, 1, 1};
    CHECK(taken_over(now, before) == 6);
    now = before;
    now.input.source.lengths = {7};
    CHECK(taken_over(now, before) == 7);
    now = before;
    now.input.source.starts = {2};
    CHECK(taken_over(now, before) == 0);
  }

  TEST_CASE("the first edit of any item of a batch counts, and another batch size recomputes everything") {
    PassInputs before = causal_pass(9);
    before.input.source = tokens(9, 3);
    PassInputs now = before;
    now.input.source.ids[9 + 6] = 99;
    CHECK(taken_over(now, before) == 6);
    now.input.source.ids[18 + 2] = 99;
    CHECK(taken_over(now, before) == 2);
    now.input.source = tokens(9, 2);
    CHECK(taken_over(now, before) == 0);
  }

  TEST_CASE("texts whose tokens attend to later ones are reused as a whole or not at all") {
    const auto is_kept_while_typing = [](const std::function<void(attention::MaskSpec&)>& change) {
      // 63 and 64 tokens: tensors have a capacity of 64 with either kind of mask.
      PassInputs before = causal_pass(64), now = causal_pass(64);
      change(mask(before));
      change(mask(now));
      CHECK(taken_over(now, before) == 64);
      now.input.source.ids[40] = 1000;
      const auto kept = taken_over(now, before);
      CHECK(kept.has_value());
      return kept == 40;
    };
    CHECK(is_kept_while_typing([](attention::MaskSpec&) {}));
    CHECK(is_kept_while_typing([](attention::MaskSpec& spec) { spec.rule.window = 5; }));
    CHECK(is_kept_while_typing([](attention::MaskSpec& spec) { spec.painted[{}].paint({9, 3}, true); }));
    CHECK(is_kept_while_typing([](attention::MaskSpec& spec) { spec.painted[{}].paint({9, 9}, true); }));
    CHECK(is_kept_while_typing([](attention::MaskSpec& spec) { spec.painted[{}].paint({3, 9}, false); }));
    CHECK_FALSE(is_kept_while_typing([](attention::MaskSpec& spec) { spec.rule.causal = false; }));
    CHECK_FALSE(is_kept_while_typing([](attention::MaskSpec& spec) { spec.rule.prefix = 4; }));
    CHECK_FALSE(is_kept_while_typing([](attention::MaskSpec& spec) { spec.painted[{}].paint({3, 9}, true); }));
    CHECK_FALSE(is_kept_while_typing([](attention::MaskSpec& spec) { spec.painted[{.layer = 2}].paint({3, 9}, true); }));
    // A fully masked row is uniform over all existing keys.
    CHECK_FALSE(is_kept_while_typing([](attention::MaskSpec& spec) { spec.fill = attention::MaskFill::MinusOneBillion; }));
  }

  TEST_CASE("layers before the first change of mask or intervention are kept whole") {
    const PassInputs before = causal_pass(9);
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      PassInputs now = before;
      mask(now).painted[{.layer = layer}].paint({7, 3}, false);
      CHECK(unchanged_layers(plan_pass(now, &before).encoder, 9) == layer);
      CHECK(plan_pass(now, &before).reused_layers() == layer);
      CHECK(unchanged_layers(plan_pass(before, &now).encoder, 9) == layer);
      now = before;
      now.interventions = {scaled({BlockKind::EncoderSelf, LayerIndex{layer}}, 1, 0.0f)};
      CHECK(unchanged_layers(plan_pass(now, &before).encoder, 9) == layer);
      PassInputs later = now;
      later.interventions[0].operation = Scale{0.5f};
      CHECK(unchanged_layers(plan_pass(later, &now).encoder, 9) == layer);
      later.interventions[0].operation = Scale{1.0f};  // the same as not listed
      CHECK(plan_pass(later, &before).encoder.computes_nothing());
    }
    PassInputs everywhere = before;
    mask(everywhere).painted[{.head = 1}].paint({7, 3}, false);
    CHECK(unchanged_layers(plan_pass(everywhere, &before).encoder, 9) == 0);
    PassInputs windowed = before;
    mask(windowed).rule.window = 3;
    CHECK(unchanged_layers(plan_pass(windowed, &before).encoder, 9) == 0);
    PassInputs with_matrix = before;
    mask(with_matrix).matrix = attention::BooleanMask{.queries = 9, .keys = 9, .keep = std::vector<std::uint8_t>(81, 1)};
    CHECK(unchanged_layers(plan_pass(with_matrix, &before).encoder, 9) == 0);
    CHECK(plan_pass(with_matrix, &with_matrix).encoder.computes_nothing());
  }

  TEST_CASE("an edit and a changed layer: layers below compute the edit, layers above everything") {
    const PassInputs before = causal_pass(9);
    PassInputs now = causal_pass(10);
    now.interventions = {scaled({BlockKind::EncoderSelf, LayerIndex{1}}, 0, 0.0f)};
    const StackPlan plan = plan_pass(now, &before).encoder;
    CHECK(plan.embedded.first == 9);
    CHECK(plan.layers[0].first == 9);
    CHECK(plan.layers[0].count == 1);
    CHECK(plan.layers[1].first == 0);
    CHECK(plan.layers[1].count == 10);
    CHECK(plan.layers[2].count == 10);
  }

  TEST_CASE("a causal text has capacity to grow; beyond it, everything is recomputed") {
    for (const auto& [length, room] :
         {std::pair{1u, 64u}, {64u, 64u}, {65u, 128u}, {129u, 256u}, {1024u, 1024u}, {1025u, 1536u}, {1537u, 2048u}}) {
      CHECK(plan_pass(causal_pass(length), nullptr).encoder.capacity == room);
    }
    // Many lines have room as they need it: 2,000 of one token took 64 tokens each.
    const auto room_of_lines = [](std::uint32_t length, std::uint32_t batch) {
      PassInputs pass = causal_pass(length);
      pass.input.source = tokens(length, batch);
      return plan_pass(pass, nullptr).encoder.capacity;
    };
    CHECK(room_of_lines(1, 64) == 64);
    CHECK(room_of_lines(1, 65) == 32);
    CHECK(room_of_lines(1, 2000) == 2);
    CHECK(room_of_lines(3, 2000) == 4);
    CHECK(room_of_lines(1, 1u << 20) == 1);
    PassInputs all_see_all = causal_pass(9);
    mask(all_see_all).rule.causal = false;
    CHECK(plan_pass(all_see_all, nullptr).encoder.capacity == 9);
    const PassInputs full = causal_pass(64);
    CHECK(taken_over(causal_pass(65), full) == 0);
    CHECK(taken_over(full, causal_pass(65)) == 0);
    const PassInputs outgrown = causal_pass(65);
    CHECK(taken_over(causal_pass(66), outgrown) == 65);
  }

  TEST_CASE("switching causality recomputes everything, and so does a visible cell above the diagonal") {
    const PassInputs causal = causal_pass(9);
    PassInputs open = causal;
    mask(open).rule.causal = false;
    CHECK(taken_over(open, causal) == 0);
    CHECK(taken_over(causal, open) == 0);
    PassInputs ahead = causal_pass(9);
    mask(ahead).painted[{.layer = 2}].paint({3, 5}, true);
    CHECK(taken_over(ahead, causal) == 0);  // other room: the tensors are others
    // With the same capacity the layers before the cell are reused.
    const PassInputs full = causal_pass(64);
    PassInputs full_ahead = full;
    mask(full_ahead).painted[{.layer = 2}].paint({3, 5}, true);
    CHECK(unchanged_layers(plan_pass(full_ahead, &full).encoder, 64) == 2);
    CHECK(unchanged_layers(plan_pass(full, &full_ahead).encoder, 64) == 2);
    full_ahead.input.source.ids[63] = 1000;
    CHECK(taken_over(full_ahead, full) == 0);
  }

  TEST_CASE("LongRoPE: a text that crosses the original length is rotated and computed again") {
    const model::Rotary rotary{
        .dimensions = 2, .inverse_frequencies = {1.0}, .long_inverse_frequencies = {0.5}, .original_length = 10};
    const auto network = make_network(false, {rotary});
    const auto pass = [&](std::uint32_t length) {
      PassInputs result = causal_pass(length);
      result.network = network;
      return result;
    };
    CHECK(taken_over(pass(10), pass(9)) == 9);
    CHECK(taken_over(pass(11), pass(10)) == 0);
    CHECK(taken_over(pass(10), pass(11)) == 0);
    CHECK(taken_over(pass(12), pass(11)) == 11);
  }

  TEST_CASE("other layers, another embedding, vectors and given Q, K and V recompute everything") {
    const PassInputs before = causal_pass(9);
    PassInputs now = before;
    now.network = make_network(false);
    CHECK(taken_over(now, before) == 0);
    auto embedded = std::make_shared<model::Network>(*before.network);
    embedded->source_embedding = std::make_shared<const model::Embedding>();
    now.network = embedded;
    CHECK(taken_over(now, before) == 0);
    auto bare = std::make_shared<model::Network>(*before.network);
    bare->source_embedding = nullptr;
    now.network = bare;
    now.input.source.vectors = Tensor({1, 9, 4});
    CHECK(taken_over(now, now) == 0);
    now.input.source.vectors = {};
    now.input.qkv = model::GivenQkv{};
    CHECK(taken_over(now, now) == 0);
  }

  TEST_CASE("typing into the target keeps the encoder; a changed encoder input recomputes everything after it") {
    const PassInputs before = translation(7, 5);
    PassPlan plan = plan_pass(translation(7, 6), &before);
    CHECK(plan.encoder.computes_nothing());
    CHECK(plan.decoder.embedded.first == 5);
    CHECK(plan.decoder.layers[2].count == 1);
    CHECK(plan.reused_tokens() == 5);
    CHECK(plan.reused_layers() == kLayers);

    plan = plan_pass(translation(8, 6), &before);
    CHECK(unchanged_layers(plan.encoder, 8) == 0);
    CHECK(unchanged_layers(plan.decoder, 6) == 0);
    CHECK(plan.decoder.embedded.count == 6);

    PassInputs now = before;
    now.interventions = {scaled({BlockKind::EncoderSelf, LayerIndex{2}}, 0, 0.0f)};
    plan = plan_pass(now, &before);
    CHECK(unchanged_layers(plan.encoder, 7) == 2);
    CHECK(unchanged_layers(plan.decoder, 5) == 0);

    for (const BlockKind kind : {BlockKind::DecoderSelf, BlockKind::Cross}) {
      now = before;
      now.masks[kind].painted[{.layer = 1}].paint({4, 2}, false);
      plan = plan_pass(now, &before);
      CHECK(plan.encoder.computes_nothing());
      CHECK(unchanged_layers(plan.decoder, 5) == 1);
      CHECK(plan.reused_layers() == kLayers + 1);
    }
    // Every target token may attend to the whole source: that doesn't break causality.
    now = translation(7, 6);
    now.masks[BlockKind::Cross].painted[{}].paint({0, 6}, true);
    PassInputs painted = before;
    painted.masks[BlockKind::Cross].painted[{}].paint({0, 6}, true);
    CHECK(plan_pass(now, &painted).decoder.embedded.first == 5);
  }

  TEST_CASE("keys and values of a cross-attention are kept unless the encoder or an intervention on them changes") {
    const PassInputs before = translation(7, 5);
    const auto computed = [&](const PassInputs& now, const PassInputs* base) {
      std::vector<std::uint32_t> counts;
      for (const ops::Rows rows : plan_pass(now, base).memory) counts.push_back(rows.count);
      return counts;
    };
    using Counts = std::vector<std::uint32_t>;
    CHECK(computed(before, nullptr) == Counts{7, 7, 7});
    CHECK(computed(before, &before) == Counts{0, 0, 0});
    CHECK(computed(translation(7, 6), &before) == Counts{0, 0, 0});
    CHECK(computed(translation(8, 5), &before) == Counts{8, 8, 8});
    for (const model::Site site : {model::Site::Query, model::Site::Key, model::Site::Value, model::Site::HeadOutput}) {
      PassInputs now = before;
      now.interventions = {
          {.site = site, .scope = scope_of({BlockKind::Cross, LayerIndex{1}}, 0), .operation = Scale{0.5f}}};
      const bool is_of_keys = site == model::Site::Key || site == model::Site::Value;
      CHECK(computed(now, &before) == (is_of_keys ? Counts{0, 7, 0} : Counts{0, 0, 0}));
      CHECK(computed(before, &now) == (is_of_keys ? Counts{0, 7, 0} : Counts{0, 0, 0}));
      CHECK(computed(now, &now) == Counts{0, 0, 0});
      CHECK(unchanged_layers(plan_pass(now, &before).decoder, 5) == 1);
    }
  }

  TEST_CASE("a shorter source of a causal encoder is another memory") {
    PassInputs before = translation(7, 5), now = translation(6, 5);
    for (PassInputs* pass : {&before, &now}) mask(*pass).rule.causal = true;
    const PassPlan plan = plan_pass(now, &before);
    CHECK(plan.encoder.computes_nothing());
    CHECK(unchanged_layers(plan.decoder, 5) == 0);
  }
}

}  // namespace reuse_test
