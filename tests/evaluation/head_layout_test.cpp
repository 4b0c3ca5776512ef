// Places of heads of several kinds: by block and head, by name, and as axes of arrays.
#include <doctest/doctest.h>

#include "evaluation/head_layout.h"

namespace head_layout_test {

using namespace headlight;
using namespace headlight::evaluation;
using model::BlockKind;

TEST_SUITE("cpu") {
  TEST_CASE("places of heads go through kinds, layers and heads, and back") {
    const HeadLayout layout{.layers = 3, .heads = 4, .decoder_layers = 2, .decoder_heads = 5};
    CHECK(layout.count() == 3 * 4 + 2 * 2 * 5);
    std::size_t place = 0;
    for (const BlockKind kind : {BlockKind::EncoderSelf, BlockKind::DecoderSelf, BlockKind::Cross}) {
      const bool is_encoder = kind == BlockKind::EncoderSelf;
      for (std::uint32_t layer = 0; layer < (is_encoder ? 3U : 2U); ++layer) {
        for (std::uint32_t head = 0; head < (is_encoder ? 4U : 5U); ++head, ++place) {
          CHECK(layout.find({kind, LayerIndex{layer}}, head) == place);
          CHECK(layout.at(place).block == model::BlockRef{kind, LayerIndex{layer}});
          CHECK(layout.at(place).head == head);
        }
      }
    }
    CHECK(place == layout.count());
    CHECK(layout.find({BlockKind::EncoderSelf, LayerIndex{0}}, 4) == layout.count());
    CHECK(layout.find({BlockKind::Cross, LayerIndex{2}}, 0) == layout.count());
    CHECK(layout.name(0) == "encoder L0H0");
    CHECK(layout.name(31) == "cross L1H4");
    CHECK(layout.shape({7}, {9}) == Shape{7, 32, 9});
  }

  TEST_CASE("heads of one kind have the names and axes that they always had") {
    const HeadLayout layout{.layers = 3, .heads = 4};
    CHECK(layout.count() == 12);
    CHECK(layout.name(7) == "L1H3");
    CHECK(layout.shape({7}, {9}) == Shape{7, 3, 4, 9});
    CHECK(layout.find({BlockKind::Cross, LayerIndex{0}}, 0) == layout.count());
  }
}

}  // namespace head_layout_test
