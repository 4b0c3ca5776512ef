// Real weights: all-MiniLM-L6-v2, which isn't in the repository (tests/download/minilm.sh).
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "inference/golden_run.h"
#include "model/safetensors.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/skip.h"

namespace minilm_gpu_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

/// Token ids, padded on the right.
model::TokenBatch read_tokens(const model::SafetensorsFile& file) {
  const Shape shape = file.shape("ids");
  model::TokenBatch tokens{.batch = shape[0], .length = shape[1]};
  for (const std::int64_t id : file.integers("ids")) tokens.ids.push_back(static_cast<std::uint32_t>(id));
  const auto mask = file.integers("mask");
  for (std::size_t row = 0; row + tokens.length <= mask.size(); row += tokens.length) {
    std::uint32_t length = 0;
    for (std::size_t i = row; i < row + tokens.length; ++i) length += static_cast<std::uint32_t>(mask[i]);
    tokens.lengths.push_back(length);
  }
  return tokens;
}

}  // namespace

// These tests need the weights that tests/download/minilm.sh fetches.
TEST_SUITE("given") {
  TEST_CASE_FIXTURE(test::OnGpu, "MiniLM: maps of every head and the last state are transformers'") {
    const char* folder = std::getenv("HEADLIGHT_MINILM");
    if (folder == nullptr) {
      return test::skip("HEADLIGHT_MINILM doesn't name a folder with all-MiniLM-L6-v2's config.json and model.safetensors");
    }
    const model::SafetensorsFile golden(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "minilm.safetensors");
    const model::LoadedNetwork loaded = model::load_network(std::filesystem::path(folder));
    const auto network = std::make_shared<const model::Network>(loaded.network);
    CHECK(loaded.description.layers == 6);
    CHECK(loaded.description.heads == 12);
    const model::ModelInput input{.source = read_tokens(golden)};
    const Tensor maps = golden.tensor("attentions"), last = golden.tensor("last_hidden");
    for (const Precision precision : {Precision::F32, Precision::F16}) {
      test::RunningSession session(context);
      session.load(network->layers, precision);
      session.run(network, input, {});
      double worst = 0.0;
      for (const model::BlockRef block : session.blocks()) {
        const Tensor found = session.stage(block, attention::Stage::Weights);
        test::raise_to(
            worst,
            test::row_deviation(found.shape, found.values, test::part_of(maps, block.layer.value), input.source).largest);
      }
      const Tensor output = session.encoder_output();
      const test::RowDeviation states = test::row_deviation(output.shape, output.values, last.values, input.source);
      const double relative = states.largest / states.root_square;
      const bool is_exact = precision == Precision::F32;
      INFO("attention ", worst, ", hidden ", relative);
      CHECK(worst < (is_exact ? 1e-5 : 3e-3));     // observed 1.5e-6 and 6.8e-4
      CHECK(relative < (is_exact ? 3e-5 : 1e-2));  // observed 5.3e-6 and 2.8e-3
    }
  }
}

}  // namespace minilm_gpu_test
