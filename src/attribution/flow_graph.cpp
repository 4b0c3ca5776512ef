#include "attribution/flow_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace headlight::attribution {
namespace {

/// Σ |whole| − |whole − factor · part|.
template <typename Part>
double nearer(std::span<const float> whole, std::span<const Part> part, double factor) {
  double sum = 0.0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const double value = double{whole[i]};
    sum += std::abs(value) - std::abs(value - factor * double{part[i]});
  }
  return sum;
}

/// The edges into one token's state after a layer.
std::vector<FlowEdge> edges_into(const TokenShares& token, std::uint32_t layer, double threshold) {
  std::vector<FlowEdge> edges;
  double sum = token.residual >= threshold ? token.residual : 0.0;
  for (const TermShare& term : token.terms) {
    if (term.share < threshold) continue;
    sum += term.share;
    if (edges.empty() || edges.back().from != term.key) {
      edges.push_back({.layer = layer, .from = term.key, .to = token.token});
    }
    edges.back().share += term.share;
    edges.back().heads.push_back({.head = term.head, .share = term.share});
  }
  if (token.residual >= threshold) {
    edges.push_back({.layer = layer, .from = token.token, .to = token.token, .share = token.residual, .is_residual = true});
  }
  for (FlowEdge& edge : edges) {
    edge.share /= sum;
    for (HeadShare& head : edge.heads) head.share /= sum;
    std::ranges::stable_sort(edge.heads, std::ranges::greater{}, &HeadShare::share);
  }
  return edges;
}

}  // namespace

double contribution(std::span<const float> whole, std::span<const float> part) {
  return std::max(nearer(whole, part, 1.0), kMinContribution);
}

LayerShares::LayerShares(const model::AttentionLayer& layer, std::uint32_t keys, std::vector<TokenRows> tokens)
    : heads_(layer.config.heads), keys_(keys), d_v_(layer.config.d_v), tokens_(std::move(tokens)) {
  const model::Parameter& weight = layer.weights->output->weight;
  width_ = weight.axis(0);
  output_.resize(heads_ * d_v_ * width_);
  weight.read_columns(0, weight.axis(0), output_.data(), width_);
  weight.expect_intact();
  for (float& value : output_) value *= layer.norms.scale;
  for (std::size_t row = 0; row < heads_ * d_v_; ++row) {
    double length = 0.0;
    for (std::size_t i = 0; i < width_; ++i) length += std::abs(double{output_[row * width_ + i]});
    lengths_.push_back(length);
  }
  for (TokenRows& token : tokens_) {
    for (float& value : token.written) value *= layer.norms.scale;
    std::vector<float>& row = middle_.emplace_back(token.before);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += token.written[i];
  }
  raw_.resize(tokens_.size() * heads_ * keys_);
  term_.resize(width_);
}

void LayerShares::add(std::uint32_t head, std::uint32_t first, std::span<const float> values,
                      std::span<const std::span<const float>> weights) {
  for (std::size_t at = 0; at * d_v_ < values.size(); ++at) {
    const std::span<const float> value = values.subspan(at * d_v_, d_v_);
    double length = 0.0;
    for (std::size_t i = 0; i < d_v_; ++i) length += std::abs(double{value[i]}) * lengths_[head * d_v_ + i];
    bool is_computed = false;
    for (std::size_t token = 0; token < tokens_.size(); ++token) {
      const double weight = double{weights[token][at]};
      if (weight == 0.0) continue;
      double& made = raw(token, head, first + at);
      made = kMinContribution;
      if (weight * length <= kMinContribution) continue;
      if (!std::exchange(is_computed, true)) {
        std::fill(term_.begin(), term_.end(), 0.0);
        for (std::size_t i = 0; i < d_v_; ++i) {
          const double factor = double{value[i]};
          const float* row = output_.data() + (head * d_v_ + i) * width_;
          for (std::size_t j = 0; j < width_; ++j) term_[j] += factor * double{row[j]};
        }
      }
      made =
          std::max(nearer(std::span<const float>(middle_[token]), std::span<const double>(term_), weight), kMinContribution);
    }
  }
}

std::vector<TokenShares> LayerShares::shares(double least) const {
  std::vector<TokenShares> result;
  for (std::size_t token = 0; token < tokens_.size(); ++token) {
    const TokenRows& rows = tokens_[token];
    const std::span<const double> terms = std::span(raw_).subspan(token * heads_ * keys_, heads_ * keys_);
    const double residual = contribution(middle_[token], rows.before);
    const double sum = std::accumulate(terms.begin(), terms.end(), residual);
    TokenShares& shares = result.emplace_back(TokenShares{.token = rows.token, .residual = residual / sum});
    for (std::uint32_t key = 0; key < keys_; ++key) {
      for (std::uint32_t head = 0; head < heads_; ++head) {
        const double share = terms[head * keys_ + key] / sum;
        if (share >= least) shares.terms.push_back({.key = key, .head = head, .share = share});
      }
    }
    std::vector<float> mlp = rows.after;
    for (std::size_t i = 0; i < mlp.size(); ++i) mlp[i] -= middle_[token][i];
    const double of_mlp = contribution(rows.after, mlp), of_middle = contribution(rows.after, middle_[token]);
    shares.mlp = of_mlp / (of_mlp + of_middle);
  }
  return result;
}

std::vector<FlowEdge> routes(const std::vector<std::vector<TokenShares>>& shares, std::uint32_t start, double threshold) {
  std::vector<FlowEdge> result;
  std::set<std::uint32_t> reached{start};
  for (auto layer = static_cast<std::uint32_t>(shares.size()); layer-- > 0;) {
    std::set<std::uint32_t> below;
    for (const TokenShares& token : shares[layer]) {
      if (!reached.contains(token.token)) continue;
      for (FlowEdge& edge : edges_into(token, layer, threshold)) {
        below.insert(edge.from);
        result.push_back(std::move(edge));
      }
    }
    reached = std::move(below);
  }
  return result;
}

std::vector<std::uint32_t> reached_below(const std::vector<TokenShares>& layer, double threshold) {
  std::set<std::uint32_t> below;
  for (const TokenShares& token : layer) {
    if (token.residual >= threshold) below.insert(token.token);
    for (const TermShare& term : token.terms) {
      if (term.share >= threshold) below.insert(term.key);
    }
  }
  return {below.begin(), below.end()};
}

}  // namespace headlight::attribution
