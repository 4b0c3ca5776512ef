#include "export/file_name.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace file_name_test {

using namespace headlight;
using namespace headlight::exporting;
using attention::Stage;
using model::BlockKind;
using model::BlockRef;

TEST_SUITE("cpu") {
  TEST_CASE("names say the content and leave out kinds and batch items where there is only one") {
    FileNaming naming{.layers = 2, .batch = 1, .heads = 12, .has_kinds = true};
    CHECK(naming.matrix({BlockKind::EncoderSelf, {0}}, 0, 3, Stage::Weights, "png") ==
          "encoder_layer-00_batch-0_head-03_weights.png");
    CHECK(naming.stage(BlockKind::Cross, Stage::Weights, "npy") == "cross_weights.npy");
    CHECK(naming.mean({BlockKind::Cross, {1}}, true, 0, "png") == "cross_layer-01_batch-0_mean_weights.png");
    CHECK(naming.mean({BlockKind::Cross, {0}}, false, 0, "svg") == "cross_batch-0_mean_weights.svg");
    naming.has_norms = true;
    CHECK(naming.matrix({BlockKind::EncoderSelf, {0}}, 0, 3, Stage::Weights, "png") ==
          "encoder_layer-00_batch-0_head-03_norms.png");
    CHECK(naming.stage(BlockKind::Cross, Stage::Weights, "npy") == "cross_norms.npy");
    CHECK(naming.mean({BlockKind::Cross, {0}}, false, 0, "svg") == "cross_batch-0_mean_norms.svg");
    CHECK(naming.contact_sheet({BlockKind::Cross, {0}}, 0, Stage::Weights, "png") == "cross_layer-00_heads_norms.png");
    CHECK(naming.stage(BlockKind::Cross, Stage::Scores, "npy") == "cross_scores.npy");
    naming.has_differences = true;
    CHECK(naming.stage(BlockKind::Cross, Stage::Weights, "npy") == "cross_difference_norms.npy");
    CHECK(naming.contact_sheet({BlockKind::Cross, {0}}, 0, Stage::Weights, "png") ==
          "cross_layer-00_heads_difference_norms.png");
    naming.has_norms = false;
    CHECK(naming.matrix({BlockKind::EncoderSelf, {0}}, 0, 3, Stage::Weights, "png") ==
          "encoder_layer-00_batch-0_head-03_difference_weights.png");
    naming.has_differences = false;
    naming.has_kinds = false;
    CHECK(naming.matrix({BlockKind::EncoderSelf, {1}}, 0, 11, Stage::Q, "csv") == "layer-01_batch-0_head-11_q.csv");
    CHECK(naming.matrix({BlockKind::EncoderSelf, {1}}, 0, 11, Stage::X, "csv") == "layer-01_batch-0_x.csv");
    CHECK(naming.contact_sheet({BlockKind::EncoderSelf, {0}}, 0, Stage::Weights, "png") == "layer-00_heads.png");
    CHECK(naming.contact_sheet({BlockKind::EncoderSelf, {0}}, 0, Stage::Scores, "svg") == "layer-00_heads_scores.svg");
    CHECK(naming.stage(BlockKind::EncoderSelf, Stage::Weights, "npy") == "weights.npy");
    naming.batch = 3;
    CHECK(naming.contact_sheet({BlockKind::EncoderSelf, {0}}, 2, Stage::Weights, "png") == "layer-00_batch-2_heads.png");
  }

  TEST_CASE("names sort as layer, batch item and head do") {
    const FileNaming naming{.layers = 120, .batch = 11, .heads = 101};
    std::vector<std::string> names;
    for (const std::uint32_t layer : {0U, 2U, 10U, 99U, 119U}) {
      for (const std::uint32_t batch : {0U, 2U, 10U}) {
        for (const std::uint32_t head : {0U, 9U, 10U, 100U}) {
          names.push_back(naming.matrix({BlockKind::EncoderSelf, {layer}}, batch, head, Stage::Weights, "png"));
        }
      }
    }
    CHECK(std::is_sorted(names.begin(), names.end()));
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  }
}

}  // namespace file_name_test
