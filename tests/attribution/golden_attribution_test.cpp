// Attributions of predictions against an implementation in numpy that is itself compared with transformers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "attribution/dense_flow.h"
#include "attribution/flow_graph.h"
#include "attribution/golden_case.h"
#include "attribution/logit_parts.h"
#include "attribution/rollout.h"
#include "attribution/value_norms.h"
#include "support/deviation.h"

namespace golden_attribution_test {

using namespace headlight;
using namespace headlight::attribution;
using test::AttributionCase;

namespace {

const std::vector<std::string> kModels = {"gpt2", "llama"};

/// The shares of some tokens in what a layer leaves of them.
std::vector<TokenShares> shares_of(const AttributionCase& golden, std::uint32_t layer,
                                   const std::vector<std::uint32_t>& tokens, double least) {
  std::vector<TokenRows> rows;
  for (const std::uint32_t token : tokens) {
    rows.push_back({.token = token,
                    .before = golden.state(layer, token),
                    .written = golden.written(layer, token),
                    .after = golden.state(layer + 1, token)});
  }
  LayerShares shares(golden.layer(layer), golden.tokens, std::move(rows));
  for (std::uint32_t head = 0; head < golden.layer(layer).config.heads; ++head) {
    const std::vector<float> values = golden.values(layer, head);
    const std::size_t d_v = golden.layer(layer).config.d_v;
    // The keys come in two pieces, as a long text's do.
    for (std::uint32_t first = 0; first < golden.tokens; first += 5) {
      const std::size_t count = std::min(5U, golden.tokens - first);
      std::vector<std::vector<float>> weights;
      for (const std::uint32_t token : tokens) {
        const std::vector<float> row = golden.weights(layer, head, token);
        weights.emplace_back(row.begin() + first, row.begin() + static_cast<std::ptrdiff_t>(first + count));
      }
      const std::vector<std::span<const float>> spans(weights.begin(), weights.end());
      shares.add(head, first, std::span(values).subspan(first * d_v, count * d_v), spans);
    }
  }
  return shares.shares(least);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("direct logit attribution: heads, biases, MLPs and source tokens sum to the logit") {
    for (const std::string& name : kModels) {
      const AttributionCase golden(name);
      const nlohmann::json& expected = golden.golden.at("logits");
      for (const bool is_pair : {false, true}) {
        CAPTURE(name);
        CAPTURE(is_pair);
        const nlohmann::json& target = expected.at("targets").at(is_pair ? 1 : 0);
        LogitTarget asked{.token = expected.at("token")};
        if (is_pair) asked.other = expected.at("other").get<std::uint32_t>();
        const std::vector<float> residual = golden.state(golden.layers(), golden.last);
        const LogitDirection direction = logit_direction(*golden.loaded.network.layers, residual, asked);
        const double logit = target.at("logit");
        double worst = 0.0;
        const auto compare = [&](double found, const nlohmann::json& wanted) {
          test::raise_to(worst, std::abs(found - wanted.get<double>()) / std::abs(logit));
        };
        double sum = direction.constant + direction.of(golden.state(0, golden.last));
        compare(direction.of(golden.state(0, golden.last)), target.at("embedding"));
        compare(direction.of(residual) + direction.constant, target.at("logit"));
        for (std::uint32_t layer = 0; layer < golden.layers(); ++layer) {
          const nlohmann::json& wanted = target.at("layers").at(layer);
          const std::vector<double> directions = head_directions(golden.layer(layer), direction.direction);
          const LayerLogits parts =
              layer_logits(golden.layer(layer), direction, directions, golden.merged(layer, golden.last),
                           golden.state(layer, golden.last), golden.state(layer + 1, golden.last));
          compare(parts.attention_bias, wanted.at("bias"));
          compare(parts.mlp, wanted.at("mlp"));
          sum += parts.attention() + parts.mlp;
          const std::size_t d_v = golden.layer(layer).config.d_v;
          for (std::uint32_t head = 0; head < parts.heads.size(); ++head) {
            compare(parts.heads[head], wanted.at("heads").at(head));
            std::vector<double> sources(golden.tokens);
            add_source_logits(std::span(directions).subspan(head * d_v, d_v), golden.weights(layer, head, golden.last),
                              golden.values(layer, head), sources);
            for (std::uint32_t key = 0; key < golden.tokens; ++key) {
              compare(sources[key], wanted.at("sources").at(head).at(key));
            }
          }
        }
        CHECK(std::abs(sum - logit) / std::abs(logit) < 1e-4);  // observed 1.1e-7
        CHECK(worst < 2e-6);                                    // observed 2.2e-7
      }
    }
  }

  TEST_CASE("norms of weighted values, in parts and of all keys together") {
    for (const std::string name : {"gpt2", "llama", "bert"}) {
      CAPTURE(name);
      const AttributionCase golden(name);
      double worst = 0.0;
      for (std::uint32_t layer = 0; layer < golden.layers(); ++layer) {
        const std::size_t d_v = golden.layer(layer).config.d_v;
        for (std::uint32_t head = 0; head < golden.layer(layer).config.heads; ++head) {
          const std::vector<float> values = golden.values(layer, head);
          ValueNorms value_norms(golden.layer(layer), head);
          while (!value_norms.prepare()) continue;
          const std::vector<double> norms = value_norms.of(values);
          const std::vector<double> few = value_norms.of(std::span(values).first(2 * d_v));
          REQUIRE(few.size() == 2);
          for (std::size_t key = 0; key < few.size(); ++key) CHECK(few[key] == norms[key]);
          const std::uint32_t queries[] = {5, golden.last};
          for (std::size_t row = 0; row < 2; ++row) {
            const std::vector<float> weights = golden.weights(layer, head, queries[row]);
            for (std::uint32_t key = 0; key < golden.tokens; ++key) {
              const double wanted = golden.golden.at("norms").at(layer).at(head).at(row).at(key);
              test::raise_to(worst, std::abs(double{weights[key]} * norms[key] - wanted));
            }
          }
        }
      }
      CHECK(worst < 2e-6);  // observed 2.5e-7
    }
  }

  TEST_CASE("shares of terms, residual stream and MLP in what a layer leaves of a token") {
    for (const std::string& name : kModels) {
      CAPTURE(name);
      const AttributionCase golden(name);
      double worst = 0.0;
      for (std::uint32_t layer = 0; layer < golden.layers(); ++layer) {
        const std::vector<TokenShares> found = shares_of(golden, layer, {golden.last}, 0.0);
        const nlohmann::json& wanted = golden.golden.at("shares").at(layer);
        test::raise_to(worst, std::abs(found.front().residual - wanted.at("residual").get<double>()));
        test::raise_to(worst, std::abs(found.front().mlp - wanted.at("mlp").get<double>()));
        double sum = found.front().residual;
        for (const TermShare& term : found.front().terms) {
          sum += term.share;
          test::raise_to(worst, std::abs(term.share - wanted.at("heads").at(term.head).at(term.key).get<double>()));
        }
        CHECK(sum == doctest::Approx(1.0).epsilon(1e-9));
        REQUIRE(found.front().terms.size() == std::size_t{golden.tokens} * golden.layer(layer).config.heads);
      }
      CHECK(worst < 1e-6);  // observed 2.1e-8
    }
  }

  TEST_CASE("information-flow routes: the same edges, heads and shares, found from above with what is reachable only") {
    for (const std::string& name : kModels) {
      CAPTURE(name);
      const AttributionCase golden(name);
      const double threshold = golden.golden.at("threshold");
      std::vector<std::vector<TokenShares>> shares(golden.layers());
      std::vector<std::uint32_t> reached{golden.last};
      for (std::uint32_t layer = golden.layers(); layer-- > 0;) {
        shares[layer] = shares_of(golden, layer, reached, threshold / 2.0);  // more than is needed
        reached = reached_below(shares[layer], threshold);
      }
      const std::vector<FlowEdge> edges = routes(shares, golden.last, threshold);
      const nlohmann::json& wanted = golden.golden.at("routes");
      REQUIRE(edges.size() == wanted.size());
      for (const nlohmann::json& edge : wanted) {
        const bool is_residual = edge.at("heads").empty();
        const auto found = std::ranges::find_if(edges, [&](const FlowEdge& other) {
          return other.layer == edge.at("layer") && other.from == edge.at("from") && other.to == edge.at("to") &&
                 other.is_residual == is_residual;
        });
        REQUIRE(found != edges.end());
        CHECK(found->share == doctest::Approx(edge.at("share").get<double>()).epsilon(1e-5));
        REQUIRE(found->heads.size() == edge.at("heads").size());
        for (const nlohmann::json& head : edge.at("heads")) {
          const auto part = std::ranges::find(found->heads, head.at(0).get<std::uint32_t>(), &HeadShare::head);
          REQUIRE(part != found->heads.end());
          CHECK(part->share == doctest::Approx(head.at(1).get<double>()).epsilon(1e-5));
        }
      }
      // A higher threshold keeps fewer of them; one above every share keeps none.
      CHECK(routes(shares, golden.last, 2.0 * threshold).size() < edges.size());
      CHECK(routes(shares, golden.last, 1.1).empty());
    }
  }

  TEST_CASE("attention rollout and attention flow of the mean over heads") {
    for (const std::string& name : kModels) {
      CAPTURE(name);
      const AttributionCase golden(name);
      const double residual_weight = golden.golden.at("residual_weight");
      std::vector<std::vector<double>> capacities(golden.layers());
      std::vector<double> row(golden.tokens);
      row[golden.last] = 1.0;
      std::vector<FlowEdge> edges;
      for (std::uint32_t layer = golden.layers(); layer-- > 0;) {
        std::vector<double> below(golden.tokens);
        std::vector<double>& matrix = capacities[layer];
        for (std::uint32_t query = 0; query < golden.tokens; ++query) {
          const std::uint32_t heads = golden.layer(layer).config.heads;
          std::vector<double> mean(golden.tokens);
          for (std::uint32_t head = 0; head < heads; ++head) {
            const std::vector<float> weights = golden.weights(layer, head, query);
            for (std::size_t key = 0; key < mean.size(); ++key) mean[key] += double{weights[key]} / heads;
          }
          roll_down(row[query], layer, query, mean, residual_weight, 0.001, below, edges);
          for (std::size_t key = 0; key < mean.size(); ++key) matrix.push_back((1.0 - residual_weight) * mean[key]);
          matrix[std::size_t{query} * golden.tokens + query] += residual_weight;
        }
        row = below;
      }
      for (std::uint32_t token = 0; token < golden.tokens; ++token) {
        CHECK(row[token] == doctest::Approx(golden.golden.at("rollout").at(token).get<double>()).epsilon(1e-5));
        CHECK(test::largest_flow(capacities, golden.last, token, 0.01).value ==
              doctest::Approx(golden.golden.at("flow").at(token).get<double>()).epsilon(1e-5));
      }
      CHECK_FALSE(edges.empty());
    }
  }
}

}  // namespace golden_attribution_test
