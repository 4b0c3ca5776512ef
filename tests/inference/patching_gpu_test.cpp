// Activations of one run put into another: what a run says of its sites, exactness, and what passes reuse.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "inference/desk.h"
#include "inference/random_network.h"
#include "support/deviation.h"
#include "support/error_message.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace patching_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;
using model::Site;

namespace {

/// A site of a block of the first batch item.
struct Place {
  model::BlockRef block;
  Site site = Site::Residual;
  std::uint32_t head = 0;
};

/// Returns the run's numbers at the place, of all tokens [token, width].
std::vector<float> values_at(const Run& run, const Place& place) {
  const BlockShape shape = run.shape(place.block);
  const Stack stack = place.block.kind == BlockKind::EncoderSelf ? Stack::Encoder : Stack::Decoder;
  ResidualRows rows{.stack = stack, .layer = place.block.layer.value, .count = shape.queries};
  if (place.site == Site::FeedForward) rows.part = StreamPart::FeedForward;
  if (place.site == Site::FeedForward || place.site == Site::Residual) {
    return run.residuals(std::span(&rows, 1)).front().values;
  }
  const bool is_head = place.site == Site::HeadOutput;
  const attention::TileRequest tile{.block = place.block,
                                    .head = place.head,
                                    .stage = is_head ? Stage::Heads : Stage::Output,
                                    .rows = shape.queries,
                                    .columns = is_head ? shape.d_v : shape.d_output};
  return run.evaluate(std::span(&tile, 1)).front().values;
}

Intervention replaced(const Place& place, std::vector<float> rows) {
  return {.site = place.site, .scope = scope_of(place.block, place.head), .operation = Replace{.rows = std::move(rows)}};
}

/// Every site that can be patched; of heads the last one.
std::vector<Place> places_of(const model::Network& network) {
  std::vector<Place> places;
  for (const model::BlockRef block : network.blocks()) {
    const model::AttentionLayer& layer = network.layer(block);
    places.push_back({.block = block, .site = Site::HeadOutput, .head = layer.config.heads - 1});
    places.push_back({.block = block, .site = Site::AttentionOutput});
    if (block.kind != BlockKind::Cross) places.push_back({.block = block, .site = Site::Residual});
    if (layer.feed_forward) places.push_back({.block = block, .site = Site::FeedForward});
  }
  return places;
}

/// Two texts of one length, of the same model.
struct TwoTexts {
  explicit TwoTexts(const std::string& name) : model(test::open_golden_model(name)) {
    test::Random random(81);
    desk = make_desk(random, model);
    other = desk;
    for (std::vector<std::uint32_t>& line : other.source) line[line.size() / 2] = line[line.size() / 2] == 5 ? 6 : 5;
    if (!other.target.empty()) other.target[0][1] = other.target[0][1] == 7 ? 8 : 7;
  }
  PassInputs pass(const test::Desk& text, Interventions interventions = {}) const {
    return {.network = model.network, .input = text.input(), .masks = text.masks, .interventions = std::move(interventions)};
  }

  test::OpenModel model;
  test::Desk desk, other;
};

const std::vector<std::string> kModels = {"gpt2", "llama", "gemma2", "gpt_neox", "bert", "t5", "marian", "deberta-v3"};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "a run's own activations put into it change no bit, at any site") {
    for (const std::string& name : kModels) {
      CAPTURE(name);
      const TwoTexts texts(name);
      Session session(context);
      const std::shared_ptr<const Run> run = session.run(texts.pass(texts.desk));
      const std::vector<float> logits = run->logits().values;
      for (const Place& place : places_of(*texts.model.network)) {
        CAPTURE(to_string(place.block.kind));
        CAPTURE(place.block.layer.value);
        CAPTURE(to_string(place.site));
        const std::vector<float> values = values_at(*run, place);
        const auto patched = session.run(texts.pass(texts.desk, {replaced(place, values)}), run);
        CHECK(patched->logits().values == logits);
        CHECK(values_at(*patched, place) == values);
        CHECK(run->logits().values == logits);  // as it was
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "another text's residual stream before a layer makes it that text from there on") {
    for (const std::string& name : kModels) {
      CAPTURE(name);
      const TwoTexts texts(name);
      Session session(context), alone(context);
      const std::shared_ptr<const Run> run = session.run(texts.pass(texts.desk)),
                                       other = session.run(texts.pass(texts.other), run);
      const std::vector<float> logits = run->logits().values;
      for (const Place& place : places_of(*texts.model.network)) {
        CAPTURE(to_string(place.block.kind));
        CAPTURE(place.block.layer.value);
        CAPTURE(to_string(place.site));
        const std::vector<float> values = values_at(*other, place);
        const Interventions changes{replaced(place, values)};
        const auto patched = session.run(texts.pass(texts.desk, changes), run);
        CHECK(values_at(*patched, place) == values);
        CHECK(patched->logits().values == alone.run(texts.pass(texts.desk, changes))->logits().values);
        CHECK(run->logits().values == logits);
        const bool is_everything = place.site == Site::Residual && texts.desk.target.empty();
        // A GPU may take other tiles for other rows than those of the run of the other text.
        if (!is_everything) continue;
        const std::vector<float> all = other->logits().values;
        const std::vector<double> wanted(all.begin(), all.end());
        CHECK(test::deviation(patched->logits().values, wanted).max_abs <= test::between_tiles(1e-5));
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "layers below a patch are shared, and tokens typed behind it keep it") {
    const TwoTexts texts("gpt2");
    Session session(context), alone(context);
    const std::shared_ptr<const Run> run = session.run(texts.pass(texts.desk));
    const Place place{.block = {BlockKind::EncoderSelf, LayerIndex{1}}, .site = Site::Residual};
    std::vector<float> row(run->shape(place.block).d_model, 0.25F);
    Intervention one = replaced(place, row);
    std::get<Replace>(one.operation).first = 1;
    std::shared_ptr<const Run> patched = session.run(texts.pass(texts.desk, {one}), run);
    CHECK(patched->timing().reused_layers == 1);
    test::Desk longer = texts.desk;
    longer.source[0].push_back(3);
    const auto typed = session.run(texts.pass(longer, {one}), patched);
    CHECK(typed->logits().values == alone.run(texts.pass(longer, {one}))->logits().values);
    const auto back = session.run(texts.pass(texts.desk), patched);
    CHECK(back->logits().values == run->logits().values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "rows that can't be put anywhere are refused or change nothing") {
    const TwoTexts texts("gpt2");
    Session session(context);
    const std::shared_ptr<const Run> run = session.run(texts.pass(texts.desk));
    const std::vector<float> logits = run->logits().values;
    const Place place{.block = {BlockKind::EncoderSelf, LayerIndex{0}}, .site = Site::Residual};
    const std::uint32_t width = run->shape(place.block).d_model;
    for (const std::size_t size : {std::size_t{0}, std::size_t{width} + 1}) {
      CHECK(test::is_one_line(test::error_message(
          [&] { session.run(texts.pass(texts.desk, {replaced(place, std::vector<float>(size, 1.0F))}), run); })));
    }
    Intervention beyond = replaced(place, std::vector<float>(width, 1.0F));
    std::get<Replace>(beyond.operation).first = 4'000'000'000;
    CHECK(session.run(texts.pass(texts.desk, {beyond}), run)->logits().values == logits);
    beyond.operation = Replace{.item = 99, .rows = std::vector<float>(width, 1.0F)};
    CHECK(session.run(texts.pass(texts.desk, {beyond}), run)->logits().values == logits);
    const ResidualRows none{.layer = 99, .count = 1, .part = StreamPart::FeedForward};
    CHECK_THROWS_AS(run->residuals(std::span(&none, 1)), Error);
  }
}

}  // namespace patching_gpu_test
