// Families whose residual streams are sums of what was written.
#include <doctest/doctest.h>

#include <string>

#include "attribution/additive_stack.h"
#include "attribution/flow_graph.h"
#include "attribution/logit_parts.h"
#include "model/load_network.h"
#include "support/deviation.h"
#include "support/golden_model.h"
#include "support/random.h"

namespace additive_stack_test {

using namespace headlight;
using namespace headlight::attribution;

namespace {

model::Network network(const std::string& name) { return model::load_network(test::golden_model_path(name)).network; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("pre-norm stacks are split into parts; the others are refused in words") {
    for (const std::string name : {"gpt2", "opt", "bloom", "gpt_neox", "gpt_neox-sequential", "llama", "mistral", "qwen2",
                                   "qwen3", "gemma", "phi3", "smollm3"}) {
      CAPTURE(name);
      CHECK(why_not_attributable(network(name)).empty());
    }
    CHECK(why_not_additive(network("bert")).find("post-norm") != std::string::npos);
    CHECK(why_not_attributable(network("gemma2")).find("Gemma 2") != std::string::npos);
    CHECK(why_not_attributable(network("marian")).find("an encoder and a decoder") != std::string::npos);
    CHECK(why_not_attributable(network("bert-base-model")).find("no unembedding") != std::string::npos);
    CHECK_FALSE(why_not_attributable(network("opt-post-norm")).empty());
    CHECK(why_not_attributable(network("granite")).empty());
    CHECK(why_not_attributable(network("cohere")).empty());
    CHECK_FALSE(why_not_attributable(network("olmo2")).empty());
  }

  TEST_CASE("a branch that is scaled counts as one whose W_O is") {
    const model::Network granite = network("granite");
    const model::AttentionLayer& scaled = granite.layers->encoder[1];
    const float scale = scaled.norms.scale;
    REQUIRE(scale == 0.4f);
    model::AttentionLayer folded = scaled;
    folded.norms.scale = 1.0f;
    Tensor output = folded.weights->output->weight.tensor();
    for (float& value : output.values) value *= scale;
    const std::uint32_t width = output.axis(0), tokens = 3;
    folded.weights->output->weight = std::move(output);
    test::Random random(3);
    const std::vector<double> direction = [&] {
      const Tensor numbers = random.tensor({width});
      return std::vector<double>(numbers.values.begin(), numbers.values.end());
    }();
    const std::vector<double> of_scaled = head_directions(scaled, direction), of_folded = head_directions(folded, direction);
    double worst = 0.0;
    for (std::size_t i = 0; i < of_scaled.size(); ++i) test::widen(worst, of_scaled[i], of_folded[i]);

    std::vector<TokenRows> rows{{.token = 2,
                                 .before = random.tensor({width}).values,
                                 .written = random.tensor({width}).values,
                                 .after = random.tensor({width}).values}};
    LayerShares left(scaled, tokens, rows);
    for (float& value : rows.front().written) value *= scale;
    LayerShares right(folded, tokens, rows);
    const std::vector<float> values = random.tensor({tokens, scaled.config.d_v}).values, weights{0.2f, 0.3f, 0.5f};
    const std::vector<std::span<const float>> spans{weights};
    for (LayerShares* shares : {&left, &right}) shares->add(0, 0, values, spans);
    const TokenShares one = left.shares(0.0).front(), other = right.shares(0.0).front();
    REQUIRE(one.terms.size() == other.terms.size());
    REQUIRE(!one.terms.empty());
    test::widen(worst, one.residual, other.residual);
    for (std::size_t i = 0; i < one.terms.size(); ++i) test::widen(worst, one.terms[i].share, other.terms[i].share);
    CHECK(worst < 1e-6);
  }
}

}  // namespace additive_stack_test
