// Weights that aren't finite are found during upload, and results that depend on them are NaN, not zero.
#include "inference/weight_findings.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/gpu.h"
#include "support/odd_model.h"
#include "support/random.h"
#include "support/running_session.h"
#include "support/temporary_directory.h"

namespace weight_findings_gpu_test {

using namespace headlight;
using namespace headlight::inference;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::shared_ptr<const model::Network> load_model(const std::filesystem::path& path) {
  return std::make_shared<const model::Network>(model::load_network(path).network);
}

/// The findings of loading GPT-2 with one number replaced.
std::vector<WeightFinding> findings(gpu::Context& context, const std::string& tensor, std::size_t index, float number,
                                    Precision precision) {
  const TemporaryDirectory folder;
  test::write_odd_model(folder.path(), "gpt2", tensor, index, number);
  const auto network = load_model(folder.path());
  test::RunningSession session(context);
  session.load(network->layers, precision);
  std::vector<WeightFinding> found = weight_findings(*network);
  for (const WeightFinding& finding : found) CHECK(finding.file == folder.path() / "model.safetensors");
  return found;
}

model::ModelInput four_tokens() { return {.source = {.length = 4, .lengths = {4}, .ids = {5, 6, 7, 8}}}; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("numbers of blocks that aren't finite are counted as those of the decoded blocks") {
    using enum model::ElementType;
    test::Random random(3);
    for (const model::ElementType type : {Q8_0, Q4_0, Q4_K, Q5_K, Q6_K, MXFP4}) {
      CAPTURE(std::string(model::to_string(type)));
      const std::size_t numbers = 500 * std::size_t{model::block_numbers(type)};
      std::vector<std::byte> blocks(500 * std::size_t{model::block_bytes(type)});
      for (std::byte& byte : blocks) byte = static_cast<std::byte>(random.chance(0.2) ? 0xfc : random.below(256));
      std::vector<float> decoded(numbers);
      model::decode(type, blocks.data(), numbers, decoded.data());
      const std::uint64_t expected = count_odd_numbers(decoded, false).not_finite;
      CHECK(expected > 0);
      CHECK(expected < numbers);
      CHECK(count_odd_blocks(blocks, type) == expected);
    }
  }

  TEST_CASE("NaN, infinities and numbers beyond float16 are counted") {
    const std::vector<float> numbers = {0.0f, -0.0f, 65504.0f,  65519.0f,   -65520.0f, 1e30f,
                                        kNan, -kNan, kInfinity, -kInfinity, 1e-45f};
    CHECK(count_odd_numbers(numbers, false).not_finite == 4);
    CHECK(count_odd_numbers(numbers, false).overflowing == 0);
    CHECK(count_odd_numbers(numbers, true).not_finite == 4);
    CHECK(count_odd_numbers(numbers, true).overflowing == 2);
    CHECK(count_odd_numbers(std::span(numbers).first(4), true).overflowing == 0);
    // Wherever among those that are looked at together it stands.
    for (std::size_t at = 0; at < 37; ++at) {
      std::vector<float> many(37, -65504.0f);
      many[at] = at % 2 == 0 ? -kNan : -kInfinity;
      CAPTURE(at);
      CHECK(count_odd_numbers(many, false).not_finite == 1);
      many[at] = 65520.0f;
      CHECK(count_odd_numbers(many, false).not_finite == 0);
      CHECK(count_odd_numbers(many, true).overflowing == 1);
    }
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("NaN and infinities are counted among numbers of 16 bits, wherever they stand") {
    for (const auto& [type, infinite] : {std::pair{model::ElementType::F16, 0x7c00}, {model::ElementType::BF16, 0x7f80}}) {
      for (std::size_t at = 0; at < 37; ++at) {
        CAPTURE(at);
        const auto limit = static_cast<std::uint16_t>(infinite);
        std::vector<std::uint16_t> words(37, static_cast<std::uint16_t>(0x8000 | (limit - 1)));
        CHECK(count_odd_words(words, type) == 0);
        words[at] = limit;
        CHECK(count_odd_words(words, type) == 1);
        words[(at + 5) % 37] = 0xffff;
        CHECK(count_odd_words(words, type) == 2);
      }
    }
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "loading names the tensor that holds NaN or an infinity, wherever it goes") {
    for (const char* tensor : {"transformer.h.1.attn.c_attn.weight", "transformer.h.0.attn.c_proj.weight",
                               "transformer.h.1.mlp.c_fc.weight", "transformer.h.0.mlp.c_proj.bias",
                               "transformer.h.1.ln_2.weight", "transformer.ln_f.bias", "transformer.wte.weight"}) {
      CAPTURE(std::string(tensor));
      for (const float number : {kNan, kInfinity, -kInfinity}) {
        const auto found = findings(context, tensor, 3, number, Precision::F32);
        REQUIRE(found.size() == 1);
        CHECK(found[0].tensor == tensor);
        CHECK(found[0].not_finite == 1);
        CHECK(found[0].overflowing == 0);
      }
    }
    CHECK(findings(context, "transformer.h.0.mlp.c_fc.weight", 3, 1.0f, Precision::F32).empty());
  }

  TEST_CASE_FIXTURE(test::OnGpu, "numbers beyond float16 are found with float16 alone, and loading again forgets them") {
    const char* const tensor = "transformer.h.0.mlp.c_fc.weight";
    CHECK(findings(context, tensor, 7, 1e5f, Precision::F32).empty());
    const auto found = findings(context, tensor, 7, -1e5f, Precision::F16);
    REQUIRE(found.size() == 1);
    CHECK(found[0].tensor == tensor);
    CHECK(found[0].not_finite == 0);
    CHECK(found[0].overflowing == 1);
    CHECK(findings(context, "transformer.h.0.mlp.c_fc.bias", 7, 1e5f, Precision::F16).empty());  // biases stay float32

    const TemporaryDirectory folder;
    test::write_odd_model(folder.path(), "gpt2", tensor, 7, 1e5f);
    const auto network = load_model(folder.path());
    test::RunningSession session(context);
    session.load(network->layers, Precision::F16);
    const std::string warning = weight_warning(*network);
    CHECK(warning.starts_with((folder.path() / "model.safetensors").string() +
                              ": tensor 'transformer.h.0.mlp.c_fc.weight' holds numbers beyond 65504"));
    CHECK(warning.find('\n') == std::string::npos);
    session.load(network->layers, Precision::F32);
    CHECK(weight_warning(*network).empty());
  }

  TEST_CASE_FIXTURE(test::OnGpu, "rows of an embedding are checked when a text uses them") {
    const TemporaryDirectory folder;
    test::write_odd_model(folder.path(), "qwen2-bidirectional", "model.embed_tokens.weight", 7 * 32 + 1, kNan);  // token 7
    const auto network = load_model(folder.path());
    test::RunningSession session(context);
    model::ModelInput input = four_tokens();
    input.source.ids[2] = 9;
    session.run(network, input, {});
    CHECK(weight_findings(*network).empty());
    session.run(network, four_tokens(), {});
    const auto found = weight_findings(*network);
    REQUIRE(found.size() == 1);
    CHECK(found[0].tensor == "model.embed_tokens.weight");
  }

  TEST_CASE_FIXTURE(test::OnGpu, "NaN propagates to every map, never as a row of zeros") {
    const TemporaryDirectory folder;
    test::write_odd_model(folder.path(), "gpt2", "transformer.h.0.attn.c_attn.weight", 0,
                          kNan);  // of W_Q in layer 0, head 0
    const auto network = load_model(folder.path());
    test::RunningSession session(context);
    attention::MaskSet masks;
    masks[model::BlockKind::EncoderSelf].rule.causal = true;
    session.run(network, four_tokens(), masks);
    for (const std::uint32_t layer : {0u, 1u}) {
      for (const std::uint32_t head : {0u, 3u}) {
        const auto tiles = session.evaluate(std::vector<attention::TileRequest>{
            {.block = {.layer = LayerIndex{layer}}, .head = head, .rows = 4, .columns = 4}});
        for (std::uint32_t row = 0; row < 4; ++row) {
          for (std::uint32_t column = 0; column < 4; ++column) {
            const float weight = tiles[0].at(row, column);
            CAPTURE(layer);
            CAPTURE(head);
            if (column > row) {
              CHECK(weight == 0.0f);  // masked
            } else if (layer == 0 && head == 3) {
              CHECK(weight > 0.0f);  // another head's queries
            } else {
              CHECK(std::isnan(weight));
            }
          }
        }
      }
    }
  }
}

}  // namespace weight_findings_gpu_test
