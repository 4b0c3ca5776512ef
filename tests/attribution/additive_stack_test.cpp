// Which families' residual streams are sums of what was written.
#include <doctest/doctest.h>

#include <string>

#include "attribution/additive_stack.h"
#include "model/load_network.h"
#include "support/golden_model.h"

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
  }
}

}  // namespace additive_stack_test
