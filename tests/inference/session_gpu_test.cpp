// Random whole passes against the double-precision reference, and the behaviour of a session.

#include <doctest/doctest.h>

#include "inference/playground.h"
#include "inference/random_network.h"
#include "ops/tuning.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"
#include "support/temporary_directory.h"
#include "support/visibility.h"

namespace session_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using ops::AttentionKernel;
using ops::LinearKernel;

namespace {

double difference_from_reference(test::RunningSession& session, const test::NetworkCase& one, std::string& worst) {
  const double fill = static_cast<double>(attention::fill_value(one.masks.by_kind[0].fill));
  return test::max_difference(session,
                              model::reference::run(*one.network, one.input, test::visibility(one.masks, one.input), fill,
                                                    {}, test::score_edit(one.masks, *one.network, one.input)),
                              worst);
}

/// A session that runs these kernels whatever the device likes best.
test::RunningSession session_with(gpu::Context& context, const ops::Tuning& tuning) {
  const TemporaryDirectory folder;
  ops::save_tuning(context.device(), folder.path() / "tuning.json", tuning);
  test::RunningSession session(context, folder.path() / "tuning.json");
  CHECK(session.is_tuned());
  return session;
}

std::string random_text(test::Random& random, std::uint32_t lines) {
  static constexpr const char* kWords[] = {"the", "cat", "sat", "on", "a", "mat", "and", "saw", "it", "Müller"};
  std::string text;
  for (std::uint32_t line = 0; line < lines; ++line) {
    for (std::uint32_t word = random.between(1, 12); word > 0; --word) text += std::string(kWords[random.below(10)]) + " ";
    text += "\n";
  }
  return text;
}

test::NetworkCase random_playground(test::Random& random) {
  PlaygroundSettings settings;
  settings.heads = random.between(1, 6);
  const bool is_divided = random.chance(0.5);
  settings.d_model = is_divided ? settings.heads * random.between(1, 8) : random.between(1, 40);
  settings.d_k = is_divided ? 0 : random.between(1, 12);
  settings.d_v = is_divided ? 0 : random.between(1, 12);
  settings.layers = random.between(1, 3);
  settings.seed = random.below(1000);
  settings.bias = random.chance(0.5);
  settings.positions = random.chance(0.7);
  settings.output_projection = !(is_divided || settings.layers == 1) || random.chance(0.6);
  if (random.chance(0.25)) settings.scale = {.kind = model::Scale::Kind::None};
  if (random.chance(0.25)) settings.merge = model::MergeOrder::WithoutTranspose;
  const std::uint32_t lines = random.between(1, 3);
  const std::string text = random_text(random, lines), key_text = random.chance(0.4) ? random_text(random, lines) : "";
  const Playground playground = make_playground(settings, text, key_text);
  return {playground.network, playground.input, test::random_masks(random, *playground.network, playground.input)};
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "playgrounds at random: settings, texts, batches, cross-attention, masks, fills") {
    test::Random random(41);
    test::RunningSession session(context);
    for (int i = 0; i < 50; ++i) {
      const test::NetworkCase one = random_playground(random);
      session.run(one.network, one.input, one.masks);
      std::string worst;
      const double difference = difference_from_reference(session, one, worst);
      CAPTURE(i);
      CAPTURE(worst);
      CHECK(difference < 5e-5);  // observed 2.4e-6
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "networks at random: encoders, decoders, residuals, feed-forwards, bare heads, logits") {
    test::Random random(42);
    test::RunningSession session(context);
    for (int i = 0; i < 80; ++i) {
      const test::NetworkCase one = test::random_network(random);
      session.run(one.network, one.input, one.masks);
      std::string worst;
      const double difference = difference_from_reference(session, one, worst);
      CAPTURE(i);
      CAPTURE(worst);
      CHECK(difference < 5e-5);  // observed 9.4e-6
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "whole passes by every kernel") {
    for (const auto& chosen : {std::pair{LinearKernel::Naive, AttentionKernel::Naive},
                               {LinearKernel::Vec4, AttentionKernel::Blocks},
                               {LinearKernel::Vec4Texel, AttentionKernel::BlocksTexel},
                               {LinearKernel::Tiled, AttentionKernel::Tiled},
                               {LinearKernel::Shuffle, AttentionKernel::BlocksShuffle},
                               {LinearKernel::ShuffleTexel, AttentionKernel::BlocksShuffleTexel},
                               {LinearKernel::Host, AttentionKernel::Host}}) {
      const auto& linear = chosen.first;
      const auto& attention = chosen.second;
      test::Random random(43);
      test::RunningSession session = session_with(
          context, {.few_rows = linear, .many_rows = linear, .attention = attention, .texel_reads = ops::is_texel(linear)});
      for (int i = 0; i < 12; ++i) {
        const test::NetworkCase one = test::random_network(random);
        session.run(one.network, one.input, one.masks);
        std::string worst;
        const double difference = difference_from_reference(session, one, worst);
        CAPTURE(ops::to_string(attention));
        CAPTURE(i);
        CAPTURE(worst);
        CHECK(difference < 5e-5);  // observed 7.5e-6
      }
    }
  }

  TEST_CASE("whole passes on a device with small bindings") {
    test::WatchedContext small({.max_storage_range = 65'536, .max_texel_elements = 1'024});
    test::Random random(44);
    test::RunningSession session(small);
    for (int i = 0; i < 12; ++i) {
      const test::NetworkCase one = i % 2 == 0 ? random_playground(random) : test::random_network(random);
      session.run(one.network, one.input, one.masks);
      std::string worst;
      const double difference = difference_from_reference(session, one, worst);
      CAPTURE(i);
      CAPTURE(worst);
      CHECK(difference < 5e-5);  // observed 3.4e-6
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "given Q, K and V also work for a cross-attention with n_q ≠ n_k") {
    test::Random random(45);
    const model::AttentionConfig config{.d_model = 15, .heads = 3, .d_k = 4, .d_v = 5};
    model::Layers layers;
    layers.decoder.push_back({.self = {}, .cross = {.config = config}});
    auto network = std::make_shared<model::Network>();
    network->layers = std::make_shared<model::Layers>(std::move(layers));
    test::NetworkCase one{.network = network, .input = {}, .masks = {}};
    one.input.source = {.batch = 2, .length = 9, .lengths = {9, 4}};
    one.input.target = model::TokenBatch{.batch = 2, .length = 7, .lengths = {7, 7}};
    one.input.qkv = model::GivenQkv{random.tensor({2, 3, 7, 4}), random.tensor({2, 3, 9, 4}), random.tensor({2, 3, 9, 5})};
    test::RunningSession session(context);
    session.run(one.network, one.input, one.masks);
    const model::BlockRef block = session.blocks().at(0);
    CHECK(session.shape(block).queries == 7);
    CHECK(session.shape(block).keys == 9);
    CHECK_FALSE(session.shape(block).has_input);
    const auto is_visible = test::visibility(one.masks, one.input);
    model::reference::AttentionStages stages;
    const auto widened = [](const Tensor& tensor) {
      return model::reference::Array{tensor.shape, {tensor.values.begin(), tensor.values.end()}};
    };
    stages[attention::Stage::Q] = widened(one.input.qkv->query);
    stages[attention::Stage::K] = widened(one.input.qkv->key);
    stages[attention::Stage::V] = widened(one.input.qkv->value);
    model::reference::attend({config, block, is_visible, -std::numeric_limits<double>::infinity()}, stages);
    for (const Stage stage : {Stage::Scores, Stage::Masked, Stage::Weights, Stage::Heads, Stage::Merged}) {
      CHECK(test::deviation(session.stage(block, stage).values, stages[stage].values).max_abs < 2e-6);  // observed 1.3e-7
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a pass is one submission, and merging heads costs no dispatch") {
    const Playground playground = make_playground({}, "the cat sat\non it", "");  // two layers with residual and LayerNorm
    const std::pair<AttentionKernel, std::uint32_t> of_attention[] = {{AttentionKernel::Naive, 1},
                                                                      {AttentionKernel::Blocks, 3},
                                                                      {AttentionKernel::BlocksTexel, 3},
                                                                      {AttentionKernel::BlocksShuffleTexel, 3},
                                                                      {AttentionKernel::Tiled, 1}};
    for (const auto& expected : of_attention) {
      const auto& kernel = expected.first;
      const auto& dispatches = expected.second;
      CAPTURE(ops::to_string(kernel));
      test::RunningSession session = session_with(context, {.attention = kernel});
      session.run(playground.network, playground.input, {});
      session.forget();
      const std::uint64_t before = context.submissions();
      const RunTiming timing = session.run(playground.network, playground.input, {});
      // NaN and infinities are counted in the same submission, unless the device is the processor: then a function
      // counts them.
      CHECK(context.submissions() == before + (context.device().runs_host_steps ? 2 : 1));
      // Q, K and V at once, attention, output projection, LayerNorm; and the count.
      CHECK(timing.dispatches == 2 * (1 + dispatches + 1 + 1) + 1);
      CHECK(timing.wall_ms > 0.0);
      CHECK(timing.gpu_ms <= timing.wall_ms);
      CHECK(timing.device_bytes > 0);
    }
  }

  TEST_CASE("the kernel that evaluates a map is compiled with those of its pass, with one progress report") {
    const TemporaryDirectory folder;
    const std::filesystem::path shaders = folder.path() / "shaders";
    std::filesystem::copy(HEADLIGHT_SHADER_FOLDER, shaders, std::filesystem::copy_options::recursive);
    bool shaders_only = true;
    SUBCASE("with kernels") {}
    SUBCASE("with functions of the program, where the device is a processor") { shaders_only = false; }
    test::WatchedContext context({.shaders_only = shaders_only, .shader_folder = shaders});
    const Playground playground = make_playground({}, "the cat sat", "");
    test::RunningSession session(context);
    std::vector<std::pair<std::size_t, std::size_t>> heard;
    session.watch_compiling([&](std::size_t done, std::size_t total) { heard.emplace_back(done, total); });
    session.run(playground.network, playground.input, {});
    REQUIRE(heard.size() > (shaders_only ? 3U : 1U));
    const std::size_t kernels = heard.size() - 1;
    for (std::size_t i = 0; i < heard.size(); ++i) CHECK(heard[i] == std::pair(i, kernels));

    std::filesystem::remove_all(shaders);  // from now on no kernel can be compiled
    const attention::TileRequest weights{.stage = Stage::Weights, .rows = 3, .columns = 3};
    CHECK(session.evaluate(std::span(&weights, 1)).front().values.front() > 0.0f);
    session.forget();
    session.run(playground.network, playground.input, {});
    CHECK(heard.size() == kernels + 1);
    CHECK(test::error_message([&] { session.stage({}, Stage::X); }) != "");  // by another kernel
  }

  TEST_CASE_FIXTURE(test::OnGpu, "weights go up once: new masks and new texts of the same layers cost no memory twice") {
    test::RunningSession session(context);
    const std::size_t before = context.allocated_bytes();
    const Playground first = make_playground({}, "the cat sat", "");
    session.run(first.network, first.input, {});
    const std::size_t with_run = context.allocated_bytes();
    CHECK(with_run > before);
    attention::MaskSet causal;
    for (attention::MaskSpec& mask : causal.by_kind) mask.rule.causal = true;
    session.run(first.network, first.input, causal);
    const std::size_t with_room = context.allocated_bytes();  // for more typed tokens
    CHECK(with_room > with_run);
    const Playground second = make_playground({}, "the dog sat", "", first),
                     third = make_playground({}, "a longer text about it", "", first);
    CHECK(second.network == first.network);
    for (const Playground* playground : {&first, &second, &third, &first}) {
      session.forget();
      session.run(playground->network, playground->input, causal);
      CHECK(context.allocated_bytes() < with_room + 256);  // the lengths and tables of a text
    }
    for (const std::uint32_t window : {1u, 2u, 3u}) {
      for (attention::MaskSpec& mask : causal.by_kind) mask.rule.window = window;
      session.run(first.network, first.input, causal);
      CHECK(context.allocated_bytes() == with_room);
    }
    session.run(second.network, second.input, {});
    CHECK(context.allocated_bytes() == with_run);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "bad input is refused in one line and the run before stays") {
    test::RunningSession session(context);
    CHECK(session.blocks().empty());
    CHECK(session.encoder_output().is_empty());
    const Playground playground = make_playground({}, "the cat sat", "");
    session.run(playground.network, playground.input, {});
    const Tensor weights = session.stage({}, Stage::Weights);

    attention::MaskSet masks;
    masks.by_kind[0].matrix = attention::BooleanMask{.queries = 4, .keys = 4, .keep = std::vector<std::uint8_t>(16, 1)};
    CHECK(test::error_message([&] {
            session.run(playground.network, playground.input, masks);
          }).starts_with("the mask is [1, 1, 4, 4] but the attention is [batch 1, heads 8, queries 3, keys 3]"));
    model::ModelInput broken = playground.input;
    broken.source.ids[0] = 1000;
    CHECK(test::is_one_line(test::error_message([&] { session.run(playground.network, broken, {}); })));
    CHECK(session.blocks().size() == 2);
    CHECK(session.stage({}, Stage::Weights).values == weights.values);

    CHECK(test::error_message([&] { session.stage({.kind = model::BlockKind::Cross}, Stage::Weights); }) ==
          "the run has no cross attention in layer 0");
    CHECK(test::error_message([&] { session.shape({.layer = LayerIndex{2}}); }) ==
          "the run has no encoder attention in layer 2");
  }

  TEST_CASE_FIXTURE(test::OnGpu,
                    "a network without output projection has no such stage, and no logits without unembedding") {
    PlaygroundSettings settings;
    settings.layers = 1;
    settings.output_projection = false;
    const Playground playground = make_playground(settings, "the cat sat", "");
    test::RunningSession session(context);
    session.run(playground.network, playground.input, {});
    CHECK(session.logits().is_empty());
    CHECK_FALSE(session.shape({}).extent(Stage::Output).has_value());
    CHECK(test::error_message([&] { session.stage({}, Stage::Output); }) == "the encoder attention has no stage 'output'");
    CHECK(session.encoder_output().shape == Shape{1, 3, 64});
    CHECK(session.encoder_output().values == session.stage({}, Stage::Merged).values);
  }
}

}  // namespace session_gpu_test
