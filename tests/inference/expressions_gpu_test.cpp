// Whole passes under expressions that the user typed, against the double-precision reference, rules that say the same, and
// passes from scratch.
#include <doctest/doctest.h>

#include <algorithm>

#include "attention/expression.h"
#include "inference/desk.h"
#include "inference/playground.h"
#include "inference/prompt.h"
#include "support/expressions.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"
#include "support/visibility.h"

namespace expressions_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::ExpressionUse;
using attention::Stage;
using model::BlockKind;
using test::Desk;
using test::mask_expression;
using test::OpenModel;
using test::score_expression;

namespace {

void use(attention::MaskSpec& mask, std::string_view text, ExpressionUse of) {
  (of == ExpressionUse::Mask ? mask.mask_expression : mask.score_expression) = test::expression(text, of);
}

OpenModel with_separators(OpenModel model, std::vector<std::uint32_t> separators) {
  auto network = std::make_shared<model::Network>(*model.network);
  network->separators = std::move(separators);
  model.network = network;
  return model;
}

double off_reference(test::RunningSession& session, const OpenModel& model, const Desk& desk, std::string& worst) {
  const model::ModelInput input = desk.input();
  session.run(model.network, input, desk.masks);
  return test::max_difference(
      session,
      model::reference::run(*model.network, input, test::visibility(desk.masks, *model.network, input),
                            static_cast<double>(attention::fill_value(desk.masks.by_kind[0].fill)), {},
                            test::score_edit(desk.masks, *model.network, input)),
      worst);
}

/// Returns the largest difference of the scores, the weights and the outputs of all blocks.
double difference(test::RunningSession& left, test::RunningSession& right) {
  double worst = 0.0;
  for (const model::BlockRef block : left.blocks()) {
    for (const Stage stage : {Stage::Masked, Stage::Weights, Stage::Output}) {
      const Tensor a = left.stage(block, stage), b = right.stage(block, stage);
      for (std::size_t i = 0; i < a.values.size(); ++i) {
        if (a.values[i] == b.values[i]) continue;  // −∞ too
        test::raise_to(worst, std::abs(static_cast<double>(a.values[i]) - static_cast<double>(b.values[i])));
      }
    }
  }
  return worst;
}

constexpr const char* kOfEverything =
    "score * float(n_layers - layer) / float(n_layers) + (type_q == type_k ? 0.5 : 0.0) - 0.1 * float(segment_q - "
    "segment_k) "
    "+ (id_k % 2 == 0 ? 0.25 : 0.0) - float(head) / float(n_heads) * float(k) / float(n_k)";

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "every preset, and an expression of everything, against the reference") {
    double largest = 0.0;
    for (const std::string name : {"gpt2", "bert", "marian"}) {
      const OpenModel model = with_separators(test::open_golden_model(name), {3, 5, 8});
      test::Random random(31);
      Desk desk = test::make_desk(random, model);
      desk.source.push_back({1, 3, 4, 5});  // padded
      if (!desk.target.empty()) desk.target.push_back({2, 8, 1});
      test::RunningSession session(context);
      const attention::MaskSet trained = desk.masks;
      const auto check = [&](std::string_view mask, std::string_view score) {
        desk.masks = trained;
        for (attention::MaskSpec& spec : desk.masks.by_kind) {
          use(spec, mask, ExpressionUse::Mask);
          use(spec, score, ExpressionUse::Score);
          spec.sliders = {{"width", 3.0f}, {"cap", 2.0f}, {"temperature", 0.5f}};
        }
        std::string worst;
        const double off = off_reference(session, model, desk, worst);
        INFO(name, ": ", mask, " and ", score, ", most in ", worst);
        CHECK(off < 2e-4);
        test::raise_to(largest, off);
      };
      const bool is_first = name == "gpt2";  // compiling is what costs time
      for (const attention::ExpressionPreset& preset : attention::expression_presets()) {
        const bool is_mask = preset.use == ExpressionUse::Mask;
        if (is_first) check(is_mask ? preset.text : "", is_mask ? "" : preset.text);
      }
      check("segment_q == segment_k || type_k == 1 || k < layer + 1", kOfEverything);
    }
    CAPTURE(largest);
    CHECK(largest < 2e-4);  // observed 1.3e-5
  }

  TEST_CASE("an expression that says what a rule says gives the same weights") {
    test::WatchedContext shaders({.shaders_only = true});  // the same kernels compute both
    const OpenModel model = test::open_golden_model("gpt2");
    test::Random random(32);
    Desk desk = test::make_desk(random, model);
    desk.masks = {};
    attention::MaskSpec& mask = desk.masks[BlockKind::EncoderSelf];
    test::RunningSession by_rule(shaders), by_expression(shaders);
    for (const auto& same : {std::pair{"causal", "k <= q"},
                             {"window:3", "abs(q - k) < 3"},
                             {"prefix:4", "k < 4 || k <= q"},
                             {"causal+window:3", "k <= q && q - k < 3"}}) {
      INFO(same.second);
      mask = {.rule = attention::parse_rule(same.first).value()};
      by_rule.run(model.network, desk.input(), desk.masks);
      mask = {.mask_expression = mask_expression(same.second)};
      by_expression.run(model.network, desk.input(), desk.masks);
      CHECK(difference(by_rule, by_expression) < 1e-6);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "an expression that changes nothing leaves the rule's results") {
    const OpenModel model = test::open_golden_model("gpt2");
    test::Random random(33);
    Desk desk = test::make_desk(random, model);
    test::RunningSession plain(context), expressed(context);
    plain.run(model.network, desk.input(), desk.masks);
    attention::MaskSpec& mask = desk.masks[BlockKind::EncoderSelf];
    mask.mask_expression = mask_expression("k < n_k");
    mask.score_expression = score_expression("score");
    expressed.run(model.network, desk.input(), desk.masks);
    CHECK(difference(plain, expressed) < 1e-5);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "passes that reuse others equal passes from scratch, whatever expression is typed") {
    static constexpr std::array<const char*, 4> kMasks = {"", "q - k < 4", "k < n_k - 2 || k == q",
                                                          "id_q != id_k || k == q"};
    static constexpr std::array<const char*, 3> kScores = {"", "score - slider(slope, 0, 1) * float(q - k)",
                                                           "layer == 1 ? 2.0 * score : score"};
    const OpenModel model = test::open_golden_model("gpt2");
    test::Random random(34);
    Desk desk = test::make_desk(random, model);
    attention::MaskSpec& mask = desk.masks[BlockKind::EncoderSelf];
    test::RunningSession session(context), fresh(context);
    std::uint32_t reused = 0;
    for (int i = 0; i < 40; ++i) {
      std::string edit = "expression";
      switch (random.below(4)) {
        case 0:
          use(mask, kMasks.at(random.below(4)), ExpressionUse::Mask);
          break;
        case 1:
          use(mask, kScores.at(random.below(3)), ExpressionUse::Score);
          break;
        case 2:
          mask.sliders["slope"] = random.number() + 1.0f;
          break;
        default:
          edit = test::edit_at_random(random, model, desk);
      }
      const RunTiming timing = session.run(model.network, desk.input(), desk.masks, desk.interventions);
      reused += timing.reused_tokens > 0 ? 1u : 0u;
      fresh.forget();
      fresh.run(model.network, desk.input(), desk.masks, desk.interventions);
      INFO("step ", i, ": ", edit, ", mask ", mask.mask_expression.text(), ", score ", mask.score_expression.text());
      CHECK(difference(session, fresh) < 1e-6);
    }
    CHECK(reused > 5);  // or the walk tests nothing
  }

  TEST_CASE_FIXTURE(test::OnGpu, "typing on keeps tokens under an expression that doesn't ask how long the text is") {
    const OpenModel model = test::open_golden_model("gpt2");
    test::Random random(35);
    Desk desk = test::make_desk(random, model);
    attention::MaskSpec& mask = desk.masks[BlockKind::EncoderSelf];
    test::RunningSession session(context);
    for (const auto& one : {std::pair{"q - k < 4", true}, {"k < n_k", false}, {"k < n_q", false}}) {
      INFO(one.first);
      mask.mask_expression = mask_expression(one.first);
      session.run(model.network, desk.input(), desk.masks);
      desk.source[0].push_back(5);
      const RunTiming timing = session.run(model.network, desk.input(), desk.masks);
      CHECK((timing.reused_tokens > 0) == one.second);
      CHECK(session.run(model.network, desk.input(), desk.masks).reused_layers == model.description.layers);
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "moving a slider compiles no kernel") {
    const Playground playground = make_playground(PlaygroundSettings{}, "a few words to look at", "");
    attention::MaskSet masks;
    attention::MaskSpec& mask = masks[BlockKind::EncoderSelf];
    mask.score_expression = score_expression("score * slider(gain, 0, 4)");
    test::RunningSession session(context);
    std::size_t compiled = 0;
    session.watch_compiling([&](std::size_t done, std::size_t) { compiled = std::max(compiled, done); });
    session.run(playground.network, playground.input, masks);
    CHECK(compiled > 0);
    const Tensor before = session.stage({}, Stage::Scaled);
    compiled = 0;
    mask.sliders["gain"] = 3.0f;
    session.run(playground.network, playground.input, masks);
    CHECK(compiled == 0);
    const Tensor after = session.stage({}, Stage::Scaled);
    for (std::size_t i = 0; i < before.values.size(); ++i)
      CHECK(static_cast<double>(after.values[i]) ==
            doctest::Approx(static_cast<double>(before.values[i]) * 1.5).epsilon(1e-5));
  }

  TEST_CASE_FIXTURE(test::OnGpu, "tiles of 8,192 tokens equal what a rule gives, and nothing n × n is stored") {
    PlaygroundSettings settings;
    settings.d_model = 8;
    settings.heads = 1;
    settings.layers = 1;
    std::string text;
    for (int i = 0; i < 8192; ++i) text += i % 3 == 0 ? "a " : i % 7 == 0 ? "long " : "text ";
    const Playground playground = make_playground(settings, text, "");
    REQUIRE(playground.input.source.length == 8192);
    attention::MaskSet masks;
    test::RunningSession session(context);
    attention::MaskSpec& mask = masks[BlockKind::EncoderSelf];
    mask.rule = attention::parse_rule("causal+window:100").value();
    const std::vector<attention::TileRequest> tiles{
        {.stage = Stage::Weights, .row = 8000, .rows = 64, .column = 7900, .columns = 128},
        {.stage = Stage::Weights, .row = 0, .rows = 8192, .column = 0, .columns = 8192, .pool = 256}};
    session.run(playground.network, playground.input, masks);
    const auto by_rule = session.newest()->evaluate(tiles);
    const attention::MaskSpec hides{.mask_expression = mask_expression("k <= q && q - k < 100")};
    attention::MaskSpec scores = mask;
    scores.score_expression = score_expression("score * 1.0");
    for (const attention::MaskSpec& expressed : {hides, scores}) {
      mask = expressed;
      const std::size_t bytes = session.run(playground.network, playground.input, masks).device_bytes;
      CHECK(bytes < std::size_t{64} << 20);  // n × n floats are 256 MiB
      const auto by_expression = session.newest()->evaluate(tiles);
      for (std::size_t tile = 0; tile < tiles.size(); ++tile) {
        double worst = 0.0;
        for (std::size_t i = 0; i < by_rule[tile].values.size(); ++i) {
          test::raise_to(worst, std::abs(static_cast<double>(by_rule[tile].values[i]) -
                                         static_cast<double>(by_expression[tile].values[i])));
        }
        CHECK(worst < 1e-6);  // 7.5e-9
        CHECK(by_rule[tile].masked == by_expression[tile].masked);
      }
    }
  }
}

}  // namespace expressions_gpu_test
