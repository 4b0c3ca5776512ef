#include "export/run_json.h"

#include <doctest/doctest.h>

#include "core/error.h"

namespace run_json_test {

using namespace headlight;
using namespace headlight::exporting;
using model::BlockKind;

namespace {

model::ModelInput make_input() {
  model::ModelInput input;
  input.source.batch = 2;
  input.source.length = 3;
  input.source.lengths = {3, 1};
  input.source.texts = {{"life", "is", "short"}, {"eat", "<pad>", "<pad>"}};
  return input;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a run's description holds tokens, masks, settings and what was written") {
    const model::ModelInput input = make_input();
    RunDescription run;
    run.program = "headlight 0.1.0";
    run.model = {{"d_model", 64}, {"seed", 123}};
    run.input = &input;
    run.kinds = {BlockKind::EncoderSelf};
    run.selection = {{"layer", nullptr}, {"head", 3}};
    run.stages.push_back({"weights.npy", "weights", {1, 2, 1, 3, 3}, {"layer", "batch", "head", "query", "key"}});
    attention::MaskSpec& mask = run.masks[BlockKind::EncoderSelf];
    mask.rule.causal = true;
    mask.fill = attention::MaskFill::MinusOneBillion;
    mask.painted[{.layer = {}, .batch = {}, .head = 3}].paint({0, 2}, true);
    mask.matrix = attention::BooleanMask{1, 1, 2, 3, {1, 0, 1, 0, 0, 1}};

    const Json document = Json::parse(encode_run_json(run));
    CHECK(document["program"] == "headlight 0.1.0");
    CHECK(document["model"]["seed"] == 123);
    CHECK(document["tokens"]["texts"][1][2] == "<pad>");
    CHECK(document["tokens"]["lengths"] == Json({3, 1}));
    CHECK_FALSE(document.contains("target_tokens"));
    CHECK_FALSE(document.contains("view"));
    const Json& written = document["masks"]["encoder"];
    CHECK(written["rule"] == "causal");
    CHECK(written["key_padding"] == true);
    CHECK(written["fill"] == "-1e9");
    CHECK(written["matrix"]["keep"] == Json::parse(R"([[["101", "001"]]])"));
    CHECK(written["matrix"]["shape"] == Json({1, 1, 2, 3}));
    REQUIRE(written["painted"].size() == 1);
    CHECK(written["painted"][0] == Json::parse(R"({"layer":null,"batch":null,"head":3,"query":0,"key":2,"visible":true})"));
    CHECK(document["stages"][0]["axes"][4] == "key");
    CHECK(document["stages"][0]["shape"] == Json({1, 2, 1, 3, 3}));
    CHECK_FALSE(document["masks"].contains("cross"));
  }

  TEST_CASE("cross-attention writes both sides") {
    model::ModelInput input = make_input();
    input.target = input.source;
    input.target->texts[0][0] = "vie";
    RunDescription run;
    run.input = &input;
    run.view = {{"color_map", "viridis"}};
    const Json document = Json::parse(encode_run_json(run));
    CHECK(document["target_tokens"]["texts"][0][0] == "vie");
    CHECK(document["view"]["color_map"] == "viridis");
  }
}

}  // namespace run_json_test
