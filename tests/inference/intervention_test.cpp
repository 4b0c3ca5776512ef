// Interventions as values: what is refused, what two lists have in common, head gains as interventions.
#include "inference/intervention.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "inference/reference_run.h"
#include "support/error_message.h"

namespace intervention_test {

using namespace headlight;
using namespace headlight::inference;
using model::BlockKind;
using model::Site;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
constexpr model::BlockRef kEncoder{BlockKind::EncoderSelf, LayerIndex{0}}, kCross{BlockKind::Cross, LayerIndex{1}};

/// Two layers of self- and cross-attention behind two of an encoder: 4 heads, 2 KV heads, d_k 3, d_v 5.
model::Network make_network() {
  const model::AttentionLayer layer{.config = {.d_model = 8, .heads = 4, .d_k = 3, .d_v = 5, .kv_heads = 2}};
  model::Layers layers{.encoder = {layer, layer}};
  layers.decoder = {{layer, layer}, {layer, layer}};
  model::Network network;
  network.layers = std::make_shared<const model::Layers>(std::move(layers));
  return network;
}

/// Two tokens on both sides.
model::ModelInput two_tokens() {
  const model::TokenBatch tokens{.batch = 1, .length = 2, .lengths = {2}};
  return {.source = tokens, .target = tokens};
}

std::string refusal(const Interventions& interventions) {
  return test::error_message([&] { check(make_network(), interventions); });
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("interventions that fit the network are accepted") {
    check(make_network(), Interventions{});
    check(make_network(), Interventions{{.site = Site::Query, .scope = {}, .operation = Add{{1, 2, 3}}},
                                        {.site = Site::Key, .scope = {.head = 1}, .operation = Add{{1, 2, 3}}},
                                        {.site = Site::Value, .scope = {.layer = 1}, .operation = Add{{1, 2, 3, 4, 5}}},
                                        {.scope = {.kind = BlockKind::Cross, .head = 3}, .operation = Scale{0.0f}}});
  }

  TEST_CASE("what the network doesn't have and what isn't finite is refused by the intervention's number") {
    CHECK(refusal({{.scope = scope_of(kEncoder, 0), .operation = Scale{1.0f}},
                   {.scope = scope_of(kCross, 4), .operation = Scale{0.0f}}}) ==
          "intervention 2 on the head outputs of the cross attention in layer 1: there is no head 4 among 4");
    CHECK(refusal({{.site = Site::Value, .scope = {.head = 2}, .operation = Scale{0.0f}}}) ==
          "intervention 1 on the values of the encoder attention in layer 0: there is no head 2 among 2");
    CHECK(refusal({{.scope = {.kind = BlockKind::Cross, .layer = 2}, .operation = Scale{}}}) ==
          "intervention 1 on the head outputs: the network has no cross attention in layer 2");
    CHECK(refusal({{.scope = {.layer = 7}, .operation = Scale{}}}) ==
          "intervention 1 on the head outputs: the network has no such attention in layer 7");
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      CHECK(test::is_one_line(refusal({{.scope = {}, .operation = Scale{bad}}})));
      CHECK(test::is_one_line(refusal({{.scope = {}, .operation = Add{{0, bad, 0, 0, 0}}}})));
    }
    CHECK(refusal({{.scope = {}, .operation = Scale{kNan}}}) ==
          "intervention 1 on the head outputs of the encoder attention in layer 0: its gain is nan: give a finite number");
    CHECK(
        refusal({{.site = Site::Key, .scope = {}, .operation = Add{{1, 2, 3, 4, 5}}}}) ==
        "intervention 1 on the keys of the encoder attention in layer 0: its vector has 5 numbers where a head has 3: give "
        "as many");
    CHECK(test::is_one_line(refusal({{.scope = {}, .operation = Add{}}})));
  }

  TEST_CASE("two lists do the same to a block when what touches it is the same in the same order") {
    const Intervention everywhere{.scope = {.head = 1}, .operation = Scale{0.5f}},
        here{.scope = scope_of(kCross, 1), .operation = Scale{0.5f}},
        elsewhere{.scope = scope_of(kEncoder, 1), .operation = Scale{0.5f}}, nothing{.scope = {}, .operation = Scale{1.0f}},
        added{.scope = scope_of(kCross, 1), .operation = Add{{1, 2, 3, 4, 5}}};
    CHECK(of_block(Interventions{everywhere}, kCross) == of_block(Interventions{nothing, here, elsewhere}, kCross));
    CHECK(of_block(Interventions{elsewhere, nothing}, kCross).empty());
    CHECK(of_block(Interventions{here, added}, kCross) != of_block(Interventions{added, here}, kCross));
    CHECK(of_block(Interventions{everywhere}, kEncoder) == of_block(Interventions{elsewhere}, kEncoder));
    CHECK(of_block(Interventions{everywhere}, kEncoder) != of_block(Interventions{}, kEncoder));
  }

  TEST_CASE("head gains are scaled head outputs; gains of heads that the network doesn't have are left out") {
    const HeadGains gains{{{kCross, 3}, 0.5f},
                          {{kCross, 4}, 0.0f},
                          {{kEncoder, 0}, 0.0f},
                          {{{BlockKind::EncoderSelf, LayerIndex{9}}, 0}, 0.0f}};
    const Interventions expected{{.scope = scope_of(kEncoder, 0), .operation = Scale{0.0f}},
                                 {.scope = scope_of(kCross, 3), .operation = Scale{0.5f}}};
    CHECK(interventions_of(gains, make_network()) == expected);
  }

  TEST_CASE("the reference applies a list in its order, to the covered heads of the site") {
    const Interventions list{{.scope = {.head = 1}, .operation = Scale{2.0f}},
                             {.scope = {.head = 1}, .operation = Add{{1, 2}}},
                             {.site = Site::Key, .scope = {}, .operation = Scale{0.0f}},
                             {.scope = scope_of(kCross, 0), .operation = Scale{0.0f}}};
    model::reference::Array z{{1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};  // two heads of two tokens
    const model::ModelInput input = two_tokens();
    reference_edit(list, input)(kEncoder, Site::HeadOutput, z);
    CHECK(z.values == std::vector<double>{1, 2, 3, 4, 11, 14, 15, 18});
    reference_edit(list, input)(kCross, Site::HeadOutput, z);
    CHECK(z.values == std::vector<double>{0, 0, 0, 0, 23, 30, 31, 38});
    reference_edit(list, input)(kCross, Site::Query, z);
    CHECK(z.values[4] == 23);
    reference_edit(list, input)(kEncoder, Site::Key, z);
    CHECK(z.values == std::vector<double>(8, 0.0));
  }

  TEST_CASE("an average is over the real tokens of each item, which padding leaves alone") {
    const Interventions list{{.scope = {.head = 0}, .operation = Average{}}};
    const model::TokenBatch tokens{.batch = 2, .length = 3, .lengths = {3, 2}, .starts = {0, 1}};
    const model::ModelInput input{.source = tokens};
    model::reference::Array z{{2, 1, 3, 1}, {1, 2, 6, 7, 4, 8}};
    reference_edit(list, input)(kEncoder, Site::HeadOutput, z);
    CHECK(z.values == std::vector<double>{3, 3, 3, 7, 6, 6});
    CHECK(mixes_tokens(list, BlockKind::Cross));
    CHECK_FALSE(mixes_tokens(Interventions{{.scope = scope_of(kEncoder, 0), .operation = Average{}}}, BlockKind::Cross));
    CHECK_FALSE(mixes_tokens(Interventions{{.scope = {}, .operation = Scale{2.0f}}}, BlockKind::EncoderSelf));
  }
}

}  // namespace intervention_test
