// Activations that are kept in the present run: patches give what patching measured, steering vectors what PyTorch computes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/engine/analyses/head_knockouts.h"
#include "app/engine/analyses/patching.h"
#include "app/state/state_json.h"
#include "core/json.h"
#include "engine/two_runs.h"
#include "support/deviation.h"

namespace kept_changes_gpu_test {

using namespace headlight;
using namespace headlight::app;

TEST_SUITE("gpu") {
  TEST_CASE("a kept patch makes the present run the one that patching measured") {
    const Ids text = {5, 9, 2, 7, 5, 9, 11}, other = {5, 4, 2, 7, 5, 9, 11};
    TwoRuns runs;
    const State present = text_of("gpt2", text), baseline = text_of("gpt2", other);
    using model::Site;
    for (const Site site : {Site::Residual, Site::AttentionOutput, Site::FeedForward, Site::HeadOutput, Site::Query,
                            Site::Key, Site::Value, Site::Weights}) {
      CAPTURE(model::to_string(site));
      const bool is_heads = model::has_heads(site);
      const PatchMap map =
          is_heads ? PatchMap::Heads : static_cast<PatchMap>(static_cast<int>(site) - static_cast<int>(Site::Residual));
      const auto measured = patching_query({.map = map, .part = is_heads ? site : Site::HeadOutput},
                                           model::BlockKind::EncoderSelf, 0, 6, 3, 8);
      const auto effects = runs.find<PatchEffects>(present, baseline, measured);
      const model::BlockRef block{.layer = LayerIndex{1}};
      const auto keeping = is_heads ? keeping_query(site, block, 0, 2, 0, 7) : keeping_query(site, block, 0, 0, 6, 1);
      const auto kept = runs.find<KeptActivation>(present, baseline, keeping);
      State patched = present;
      patched.changes.push_back({.name = "a patch", .intervention = kept.intervention});
      const Result<State> read = state_from_json(to_json(patched));
      REQUIRE(read);
      CHECK(read->changes == patched.changes);
      const auto after = runs.find<PatchEffects>(patched, baseline, measured);
      CHECK(after.target.logit == effects.at(1, is_heads ? 2 : 6)->logit);
      CHECK(after.target.logit != effects.target.logit);
      patched.changes.clear();
      CHECK(runs.find<PatchEffects>(patched, baseline, measured).target.logit == effects.target.logit);
    }
  }

  TEST_CASE("one kept weight is the pass that patching it measured, and all weights of a row are its pattern") {
    const Ids text = {5, 9, 2, 7, 5, 9, 11}, other = {5, 4, 2, 7, 5, 9, 11};
    TwoRuns runs;
    const State present = text_of("gpt2", text), baseline = text_of("gpt2", other);
    const HeadRef head{.block = {.layer = LayerIndex{1}}, .head = 2};
    const auto measured = weight_patching_query({}, head, {.position = 6, .token = 3, .other = 8});
    const auto effects = runs.find<PatchEffects>(present, baseline, measured);
    REQUIRE(effects.rows() == 7);
    REQUIRE(effects.columns == 7);
    CHECK(effects.is_complete());
    CHECK_FALSE(effects.at(2, 5));  // causal: no weight in either run
    const auto kept = runs.find<KeptActivation>(present, baseline, weight_query(head, 0, 6, 1));
    State patched = present;
    patched.changes.push_back({.name = "a weight", .intervention = kept.intervention});
    const auto plain = patching_query({.map = PatchMap::Heads}, model::BlockKind::EncoderSelf, 0, 6, 3, 8);
    CHECK(runs.find<PatchEffects>(patched, baseline, plain).target.logit == effects.at(6, 1)->logit);
    CHECK(effects.at(6, 1)->logit != effects.target.logit);
    // A knocked-out head has no weighted values to change.
    State knocked = present;
    knocked.gains[{head.block, head.head}] = 0.0F;
    const EngineResult refused = runs.ask(knocked, baseline, {measured});
    REQUIRE(refused.analysed(measured));
    CHECK(refused.analysed(measured)->error.starts_with("this head's output isn't the sum of its weighted values"));
  }

  TEST_CASE("a head that is kept averaged predicts what its measurement said, also from a file") {
    const Ids text = {5, 9, 2, 7, 5, 9, 11};
    const State present = text_of("gpt2", text);
    const model::BlockRef block{.layer = LayerIndex{1}};
    const AnalysisQuery measured = knockout_query(Choices().set(kWhatIfView.ablation, Ablation::Mean), 0, 6, 3, 8);
    TwoRuns runs;
    const auto effects = runs.find<HeadKnockouts>(present, present, measured);
    State averaged = present;
    averaged.changes.push_back(
        {.name = "mean output of L1 H2",
         .intervention = inference::Intervention{
             .site = model::Site::HeadOutput, .scope = inference::scope_of(block, 2), .operation = inference::Average{}}});
    const Result<State> read = state_from_json(to_json(averaged));
    REQUIRE(read);
    CHECK(read->changes == averaged.changes);
    const auto after = runs.find<HeadKnockouts>(*read, present, measured);
    CHECK(after.present.logit == effects.without.at({.block = block, .head = 2}).logit);
    CHECK(after.present.logit != effects.present.logit);
  }

  TEST_CASE("activations that are moved do elsewhere what they did at their place") {
    // Rotary positions: before the first layer a token's stream is its vector, wherever it is.
    const Ids text = {5, 9, 2, 7, 5, 9, 11}, other = {5, 4, 2, 7, 5, 9, 11};
    Ids expected = text;
    expected[3] = 4;
    TwoRuns runs;
    const State present = text_of("llama", text), baseline = text_of("llama", other);
    const auto measured = patching_query({.map = PatchMap::Heads}, model::BlockKind::EncoderSelf, 0, 6, 3, 8);
    const auto kept = runs.find<KeptActivation>(present, baseline,
                                                keeping_query(model::Site::Residual, {.layer = LayerIndex{0}}, 0, 0, 1, 1));
    State patched = present;
    patched.changes.push_back({.name = "moved", .intervention = moved(kept.intervention, 0, 0, 3)});
    const double found = runs.find<PatchEffects>(patched, baseline, measured).target.logit;
    CHECK(found == runs.find<PatchEffects>(text_of("llama", expected), baseline, measured).target.logit);
    CHECK(found != runs.find<PatchEffects>(present, baseline, measured).target.logit);
  }

  TEST_CASE("steering vectors, means of another text, and what they do, are PyTorch's") {
    const nlohmann::json golden = read_json(std::string(HEADLIGHT_GOLDEN_DIR) + "/steering.json");
    const auto layer = golden.at("layer").get<std::uint32_t>();
    REQUIRE(golden.at("models").size() == 4);
    double farthest = 0.0;
    for (const auto& item : golden.at("models").items()) {
      const nlohmann::json& expected = item.value();
      const auto ids = [&](const char* key) { return expected.at(key).get<Ids>(); };
      const State present = text_of(item.key(), ids("ids"), ids("target_ids")),
                  baseline = text_of(item.key(), ids("other_ids"), ids("other_target_ids"));
      TwoRuns runs;
      const auto check_logits = [&](const State& changed, const nlohmann::json& one) {
        const auto logits = one.at("logits").get<std::vector<double>>();
        const bool is_decoder = !ids("target_ids").empty();
        const auto last = static_cast<std::uint32_t>(ids(is_decoder ? "target_ids" : "ids").size() - 1);
        for (std::uint32_t token = 0; token + 1 < 12; token += 5) {
          const auto query =
              patching_query({.map = PatchMap::Heads}, model::BlockKind::EncoderSelf, 0, last, token, token + 1);
          const double off =
              runs.find<PatchEffects>(changed, baseline, query).target.logit - (logits[token] - logits[token + 1]);
          test::raise_to(farthest, std::abs(off));
          CHECK(std::abs(off) < 5e-5);
        }
      };
      for (const nlohmann::json& one : expected.at("cases")) {
        CAPTURE(item.key());
        CAPTURE(one.at("kind").get<std::string>());
        CAPTURE(one.at("pooling").get<std::string>());
        const bool is_encoder = one.at("kind") == "encoder";
        const model::BlockRef block{is_encoder ? model::BlockKind::EncoderSelf : model::BlockKind::DecoderSelf,
                                    LayerIndex{layer}};
        const auto tokens = static_cast<std::uint32_t>(ids(is_encoder ? "ids" : "target_ids").size());
        const bool by_last = one.at("pooling") == "last";
        const auto kept = runs.find<KeptActivation>(
            present, baseline, steering_query(block, 0, by_last ? tokens - 1 : 0, by_last ? 1 : tokens));
        const auto& vector = std::get<inference::Add>(kept.intervention.operation).vector;
        const auto right = one.at("vector").get<std::vector<double>>();
        REQUIRE(vector.size() == right.size());
        double off = 0.0;
        for (std::size_t i = 0; i < right.size(); ++i) test::widen(off, double{vector[i]}, right[i]);
        CHECK(off < 1e-5);
        State steered = present;
        steered.changes.push_back(
            {.name = "steering", .intervention = kept.intervention, .strength = golden.at("strength").get<float>()});
        check_logits(steered, one);
      }
      for (const nlohmann::json& one : expected.at("means")) {
        CAPTURE(item.key());
        CAPTURE(one.at("kind").get<std::string>());
        const model::BlockKind kind = one.at("kind") == "encoder"   ? model::BlockKind::EncoderSelf
                                      : one.at("kind") == "decoder" ? model::BlockKind::DecoderSelf
                                                                    : model::BlockKind::Cross;
        const bool is_encoder = kind == model::BlockKind::EncoderSelf;
        const auto tokens = static_cast<std::uint32_t>(ids(is_encoder ? "ids" : "target_ids").size());
        const auto kept = runs.find<KeptActivation>(
            present, baseline,
            baseline_mean_query({kind, LayerIndex{layer}}, 0, golden.at("head").get<std::uint32_t>(), 0, tokens));
        State averaged = present;
        averaged.changes.push_back({.name = "mean", .intervention = kept.intervention});
        check_logits(averaged, one);
      }
    }
    MESSAGE("logits: farthest ", farthest);
  }
}

}  // namespace kept_changes_gpu_test
