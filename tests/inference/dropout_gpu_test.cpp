// Dropout: which numbers are dropped, that the device drops those that the reference does at every site, and that the mean
// over many seeds is the number without it.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "attention/dropout.h"
#include "core/error.h"
#include "inference/notebooks.h"
#include "inference/playground.h"
#include "inference/reference_run.h"
#include "support/deviation.h"
#include "support/gpu.h"
#include "support/running_session.h"
#include "support/stages.h"
#include "support/visibility.h"

namespace dropout_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using attention::Stage;
using model::BlockKind;
using model::Site;

namespace {

constexpr std::array kSites{Site::Weights, Site::Residual, Site::AttentionOutput, Site::FeedForward, Site::Inner,
                            Site::Query,   Site::Key,      Site::Value,           Site::HeadOutput};

/// A network with its text and masks.
struct Subject {
  std::string name;
  std::shared_ptr<const model::Network> network;
  model::ModelInput input;
  attention::MaskSet masks;
};

Subject of_preset(const std::string& name) {
  const Notebook notebook = make_notebook(name);
  return {name, notebook.network, notebook.input, notebook.masks};
}

/// Two layers over two lines, the first of so many words.
Subject of_playground(std::uint32_t words, attention::MaskFill fill) {
  std::string text;
  for (std::uint32_t word = 0; word < words; ++word) text += fmt::format("w{} ", word % 7);
  const Playground playground = make_playground({.d_model = 24, .heads = 3, .layers = 2}, text + "\none two three", "");
  Subject subject{fmt::format("{} words", words), playground.network, playground.input, {}};
  subject.masks[BlockKind::EncoderSelf].rule.window = 5;
  subject.masks[BlockKind::EncoderSelf].fill = fill;
  for (std::uint32_t key = 0; key < 3; ++key) {  // a row that sees nothing
    subject.masks[BlockKind::EncoderSelf].painted[{.layer = 1}].paint({.query = 0, .key = key}, false);
  }
  return subject;
}

Interventions dropout_at(Site site, float probability, std::uint32_t seed) {
  return {{.site = site, .scope = {}, .operation = Dropout{.probability = probability, .seed = seed}}};
}

double largest_difference(test::RunningSession& session, const Subject& subject, const Interventions& interventions,
                          std::string& worst) {
  session.run(subject.network, subject.input, subject.masks, interventions);
  const auto expected = model::reference::run(
      *subject.network, subject.input, reference_rules(*subject.network, subject.input, subject.masks, interventions));
  return test::max_difference(session, expected, worst);
}

/// Mean and standard error of each number over seeds.
class Mean {
 public:
  void add(const std::vector<float>& values) {
    sum_.resize(values.size());
    squares_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = static_cast<double>(values[i]);
      sum_[i] += value;
      squares_[i] += value * value;
    }
    ++count_;
  }
  /// The largest distance from the expected numbers, in standard errors.
  double largest_deviation(const std::vector<float>& expected) const {
    double largest = 0.0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double mean = sum_[i] / count_, variance = std::max(squares_[i] / count_ - mean * mean, 0.0);
      const double off = std::abs(mean - static_cast<double>(expected[i]));
      const double error = std::sqrt(variance / count_);
      if (off > 1e-6) largest = std::max(largest, off / std::max(error, 1e-12));
    }
    return largest;
  }

 private:
  std::vector<double> sum_, squares_;
  double count_ = 0.0;
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("dropout drops its share, otherwise in each block, site, head, row and seed") {
    const attention::DropoutPlan plan = attention::dropout_plan(0.3f, 5, Site::Weights, {});
    CHECK(plan.factor == doctest::Approx(1.0 / 0.7));
    const auto dropped = [](const attention::DropoutPlan& of, std::uint32_t head, std::uint32_t row) {
      std::vector<bool> cells;
      for (std::uint32_t column = 0; column < 2000; ++column) cells.push_back(of.factor_of(0, head, row, column) == 0.0f);
      return cells;
    };
    const std::vector<bool> cells = dropped(plan, 0, 0);
    // The standard error of 2,000 draws is 0.0102.
    CHECK(std::abs(static_cast<double>(std::ranges::count(cells, true)) / 2000.0 - 0.3) < 0.04);  // observed 0.006
    for (const std::vector<bool>& other :
         {dropped(plan, 1, 0), dropped(plan, 0, 1), dropped(attention::dropout_plan(0.3f, 6, Site::Weights, {}), 0, 0),
          dropped(attention::dropout_plan(0.3f, 5, Site::Residual, {}), 0, 0),
          dropped(attention::dropout_plan(0.3f, 5, Site::Weights, {.layer = LayerIndex{1}}), 0, 0)}) {
      std::size_t both = 0;
      for (std::size_t i = 0; i < cells.size(); ++i) both += cells[i] && other[i] ? 1U : 0U;
      CHECK(std::abs(static_cast<double>(both) / 2000.0 - 0.09) < 0.03);  // independent: 0.3²
    }
    CHECK(attention::dropout_plan(0.0f, 5, Site::Weights, {}).factor_of(0, 0, 0, 0) == 1.0f);
  }

  TEST_CASE("dropout that can't be is refused") {
    const Notebook notebook = make_notebook("notebook-004-encoder");
    CHECK_THROWS_AS(check(*notebook.network, dropout_at(Site::Inner, 1.0f, 0)), Error);
    CHECK_THROWS_AS(check(*notebook.network, dropout_at(Site::Inner, -0.1f, 0)), Error);
    CHECK_NOTHROW(check(*notebook.network, dropout_at(Site::Inner, 0.99f, 0)));
    Interventions of_head = dropout_at(Site::Weights, 0.5f, 0);
    CHECK_NOTHROW(check(*notebook.network, of_head));
    of_head[0].scope.head = 0;
    CHECK_THROWS_AS(check(*notebook.network, of_head), Error);
    CHECK_THROWS_AS(check(*make_notebook("notebook-001").network, dropout_at(Site::Inner, 0.5f, 0)), Error);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "dropout: the device drops what the reference drops, at every site") {
    using attention::MaskFill;
    test::RunningSession session(context);
    for (const Subject& subject :
         {of_preset("notebook-000"), of_preset("notebook-002"), of_preset("notebook-004-encoder"),
          of_playground(1, MaskFill::NegativeInfinity), of_playground(63, MaskFill::MinusOneBillion),
          of_playground(65, MaskFill::NegativeInfinity), of_playground(129, MaskFill::MinusOneBillion)}) {
      for (const Site site : kSites) {
        const Interventions interventions = dropout_at(site, 0.4f, 11);
        if (!fits(*subject.network, interventions[0])) continue;
        std::string worst;
        const double difference = largest_difference(session, subject, interventions, worst);
        CAPTURE(subject.name);
        CAPTURE(to_string(site));
        CAPTURE(worst);
        CHECK(difference < 5e-5);  // observed 1.5e-5
      }
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "dropped weights are exactly 0, and the others the weight times 1 / (1 - p)") {
    const Subject subject = of_playground(65, attention::MaskFill::NegativeInfinity);
    test::RunningSession session(context);
    session.run(subject.network, subject.input, subject.masks);
    const Tensor plain = session.stage({}, Stage::Weights);
    session.run(subject.network, subject.input, subject.masks, dropout_at(Site::Weights, 0.25f, 3));
    const Tensor changed = session.stage({}, Stage::Weights);
    const attention::DropoutPlan plan = attention::dropout_plan(0.25f, 3, Site::Weights, {});
    std::size_t at = 0, dropped = 0;
    double largest = 0.0;
    for (std::uint32_t item = 0; item < 2; ++item) {
      for (std::uint32_t head = 0; head < 3; ++head) {
        for (std::uint32_t query = 0; query < 65; ++query) {
          for (std::uint32_t key = 0; key < 65; ++key, ++at) {
            const float factor = plan.factor_of(item, head, query, key);
            if (factor == 0.0f) CHECK(changed.values[at] == 0.0f);
            dropped += factor == 0.0f && plain.values[at] > 0.0f ? 1U : 0U;
            test::widen(largest, static_cast<double>(changed.values[at]),
                        static_cast<double>(plain.values[at]) * static_cast<double>(factor));
          }
        }
      }
    }
    CHECK(largest < 1e-6);  // observed 1.2e-7
    CHECK(dropped > 100);
    // Pooled, the largest and the mean are of the cells that dropout leaves.
    for (const attention::Pooling pooling : {attention::Pooling::Max, attention::Pooling::Mean}) {
      const attention::TileRequest request{.batch = 0, .head = 1, .rows = 65, .columns = 65, .pool = 65, .pooling = pooling};
      const auto first = changed.values.begin() + 65 * 65;
      const double sum = std::accumulate(first, first + 65 * 65, 0.0);
      const double expected = pooling == attention::Pooling::Max
                                  ? static_cast<double>(*std::max_element(first, first + 65 * 65))
                                  : sum / (65.0 * 65.0);
      CHECK(static_cast<double>(session.evaluate({&request, 1})[0].values[0]) == doctest::Approx(expected).epsilon(1e-5));
    }
    // Every bit is as it was when dropout is off.
    session.run(subject.network, subject.input, subject.masks, dropout_at(Site::Weights, 0.0f, 3));
    CHECK(session.stage({}, Stage::Weights).values == plain.values);
  }

  TEST_CASE_FIXTURE(test::OnGpu, "over many seeds the mean of what a site holds is the number without dropout") {
    const Subject subject = of_preset("notebook-004-encoder");
    test::RunningSession session(context);
    const auto held_by = [&](Site site) {
      const auto part = [&](StreamPart which) {
        const ResidualRows request{.count = 8, .part = which};
        return session.residuals({&request, 1})[0].values;
      };
      switch (site) {
        case Site::Weights:
          return session.stage({}, Stage::Weights).values;
        case Site::Residual:
          return session.stage({}, Stage::X).values;
        case Site::AttentionOutput:
          return session.stage({}, Stage::Output).values;
        case Site::Inner:
          return session.stage({}, Stage::FfnActive).values;
        default:
          return part(StreamPart::FeedForward);
      }
    };
    constexpr std::uint32_t kSeeds = 600;
    for (const Site site : {Site::Weights, Site::Residual, Site::AttentionOutput, Site::FeedForward, Site::Inner}) {
      session.run(subject.network, subject.input, subject.masks);
      const std::vector<float> plain = held_by(site);
      Mean mean;
      for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
        session.run(subject.network, subject.input, subject.masks, dropout_at(site, 0.3f, seed));
        mean.add(held_by(site));
      }
      CAPTURE(to_string(site));
      // The largest of some 100 numbers is expected at 2.6 standard errors; the chance of 5 is 1 in 10,000.
      const double deviation = mean.largest_deviation(plain);
      CHECK(deviation < 5.0);
      CHECK(deviation > 0.0);  // observed 1.3 to 2.9
    }
  }

  TEST_CASE_FIXTURE(test::OnGpu, "a longer text drops the same numbers of the tokens that were there") {
    const Playground shorter = make_playground({.d_model = 16, .heads = 2}, "a b c d e", "");
    const Playground longer = make_playground({.d_model = 16, .heads = 2}, "a b c d e f", "", shorter);
    attention::MaskSet masks;
    masks[BlockKind::EncoderSelf].rule.causal = true;
    test::RunningSession session(context);
    const Interventions interventions = dropout_at(Site::Weights, 0.5f, 1);
    session.run(shorter.network, shorter.input, masks, interventions);
    const Tensor before = session.stage({}, Stage::Weights);
    session.run(longer.network, longer.input, masks, interventions);
    const Tensor after = session.stage({}, Stage::Weights);
    for (std::uint32_t query = 0; query < 5; ++query) {
      for (std::uint32_t key = 0; key < 5; ++key)
        CHECK((before.at({0, 1, query, key}) == 0.0f) == (after.at({0, 1, query, key}) == 0.0f));
    }
  }
}

}  // namespace dropout_gpu_test
