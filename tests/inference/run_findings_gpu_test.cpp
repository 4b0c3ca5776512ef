// Counts of a pass's numbers that are NaN or infinite, made on the device: by functions of the program and by kernels,
// against whole maps.
#include "inference/weight_findings.h"

#include <doctest/doctest.h>

#include <cmath>

#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/odd_model.h"
#include "support/running_session.h"
#include "support/temporary_directory.h"

namespace run_findings_gpu_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

std::shared_ptr<const model::Network> load_model(const std::filesystem::path& path) {
  return std::make_shared<const model::Network>(model::load_network(path).network);
}

model::ModelInput tokens_of(std::uint32_t count) {
  model::ModelInput input{.source = {.length = count, .lengths = {count}}};
  for (std::uint32_t token = 0; token < count; ++token) input.source.ids.push_back(5 + token % 7);
  return input;
}

/// Returns the number of heads of all layers.
std::uint64_t heads_of(const model::Network& network) {
  std::uint64_t heads = 0;
  for (const model::BlockRef block : network.blocks()) heads += network.layer(block).config.heads;
  return heads;
}

/// Rows of a run's maps that hold a NaN.
std::uint64_t rows_with_nan(const Run& run) {
  std::uint64_t rows = 0;
  for (const model::BlockRef block : run.blocks()) {
    const Tensor weights = run.stage(block, attention::Stage::Weights);
    const std::size_t keys = weights.axis(3);
    for (std::size_t row = 0; row < weights.values.size() / keys; ++row) {
      const auto begin = weights.values.begin() + static_cast<std::ptrdiff_t>(row * keys);
      rows += std::any_of(begin, begin + static_cast<std::ptrdiff_t>(keys), [](float weight) { return std::isnan(weight); })
                  ? 1U
                  : 0U;
    }
  }
  return rows;
}

const Run* run_of(test::RunningSession& session, const std::shared_ptr<const model::Network>& network,
                  const model::ModelInput& input, const attention::MaskSet& masks = {},
                  const Interventions& interventions = {}) {
  session.run(network, input, masks, interventions);
  return &*session.newest();
}

attention::MaskSet causal() {
  attention::MaskSet masks;
  masks[model::BlockKind::EncoderSelf].rule.causal = true;
  return masks;
}

void check_overflow(gpu::Context& context) {
  const TemporaryDirectory folder;
  test::write_scaled_model(folder.path(), "gpt2", "transformer.h.1.attn.c_attn.weight", 1e22F);
  const auto network = load_model(folder.path());
  test::RunningSession session(context);
  for (const std::uint32_t tokens : {5U, 6U, 7U, 3U}) {  // the next one keeps rows of the one before
    CAPTURE(tokens);
    const Run& run = *run_of(session, network, tokens_of(tokens), causal());
    const std::uint64_t expected = rows_with_nan(run);
    REQUIRE(expected > 0);
    CHECK(run.findings().rows == expected);
    CHECK(run.findings().all_rows == std::uint64_t{tokens} * heads_of(*network));
    CHECK(run.findings().first_block == model::BlockRef{model::BlockKind::EncoderSelf, LayerIndex{1}});
    CHECK(run.findings().last_state > 0);
    CHECK_FALSE(run.findings().are_numbers());
  }
}

void check_clean(gpu::Context& context) {
  const auto network = load_model(test::golden_model_path("gpt2"));
  test::RunningSession session(context);
  model::ModelInput two = tokens_of(6);  // a line of four tokens, padded on the left, and one of six
  two.source.batch = 2;
  two.source.lengths = {4, 6};
  two.source.starts = {2, 0};
  two.source.ids.insert(two.source.ids.end(), two.source.ids.begin(), two.source.ids.end());
  CHECK(run_of(session, network, two, causal())->findings().are_numbers());
  // A row that the mask hides whole has no weights under \u2212\u221E, and they aren't NaN.
  attention::MaskSet masks = causal();
  for (std::uint32_t key = 0; key < 6; ++key) masks[model::BlockKind::EncoderSelf].painted[{}].paint({3, key}, false);
  const Run& hidden = *run_of(session, network, tokens_of(6), masks);
  CHECK(hidden.findings().are_numbers());
  CHECK(hidden.findings().all_rows == std::uint64_t{6} * heads_of(*network));
  CHECK(rows_with_nan(hidden) == 0);
  CHECK(run_warning(hidden.findings()).empty());
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a warning says how many rows, where they begin, and nothing of clean runs") {
    CHECK(run_warning({.all_rows = 12}).empty());
    const model::BlockRef block{model::BlockKind::Cross, LayerIndex{2}};
    CHECK(run_warning({.rows = 3, .all_rows = 12, .first_block = block})
              .starts_with("3 of 12 rows of attention have scores that aren't finite, the first in cross layer 2; "));
    CHECK(run_warning({.all_rows = 12, .last_state = 7})
              .starts_with("7 numbers of the last layer's output are NaN or infinite; "));
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "rows whose scores overflow are counted, in runs that keep rows too") {
    check_overflow(context);
    check_clean(context);
  }

  TEST_CASE("kernels count the same") {
    test::WatchedContext shaders({.shaders_only = true});
    check_overflow(shaders);
    check_clean(shaders);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "numbers that overflow behind the last attention are counted where they end") {
    const auto network = load_model(test::golden_model_path("gpt2"));
    test::RunningSession session(context);
    const auto last = static_cast<std::uint32_t>(network->layers->encoder.size()) - 1;
    const Interventions huge = {{.site = model::Site::FeedForward,
                                 .scope = {.kind = model::BlockKind::EncoderSelf, .layer = last},
                                 .operation = Scale{.gain = 3e38F}},
                                {.site = model::Site::FeedForward,
                                 .scope = {.kind = model::BlockKind::EncoderSelf, .layer = last},
                                 .operation = Scale{.gain = 3e38F}}};
    const Run& run = *run_of(session, network, tokens_of(4), causal(), huge);
    CHECK(run.findings().rows == 0);
    CHECK(run.findings().last_state > 0);
    CHECK(run_of(session, network, tokens_of(4), causal())->findings().are_numbers());
  }
}

}  // namespace run_findings_gpu_test
