#include "evaluation/head_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace headlight::evaluation {
namespace {

double spread_of(double squares, double mean, double count) {
  return count > 0.0 ? std::sqrt(std::max(squares / count - mean * mean, 0.0)) : 0.0;
}

template <typename Numbers>
void add_all(Numbers& to, const Numbers& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

std::uint32_t place_bin(std::uint32_t place) {
  if (place < kNearBins) return place;
  return std::min(kNearBins - 6 + static_cast<std::uint32_t>(std::bit_width(place - 1)), kPlaceBins - 1);
}

std::uint32_t place_bin_end(std::uint32_t bin) { return bin < kNearBins ? bin : 64U << (bin - kNearBins); }

void HeadProfile::merge(const HeadProfile& next) {
  queries += next.queries;
  first += next.first;
  self += next.self;
  self_squares += next.self_squares;
  distance += next.distance;
  distance_squares += next.distance_squares;
  add_all(before, next.before);
  add_all(after, next.after);
  add_all(positions, next.positions);
  add_all(cells, next.cells);
  add_all(texts, next.texts);
  add_all(map, next.map);
  query_tokens.merge(next.query_tokens);
  key_tokens.merge(next.key_tokens);
  pairs.merge(next.pairs);
}

double HeadProfile::all() const {
  double sum = 0.0;
  for (const double weight : positions) sum += weight;
  return sum;
}

double HeadProfile::mean_distance() const { return all() > 0.0 ? distance / all() : 0.0; }

double HeadProfile::distance_spread() const { return spread_of(distance_squares, mean_distance(), all()); }

double HeadProfile::self_spread() const {
  const auto count = static_cast<double>(queries);
  return spread_of(self_squares, queries > 0 ? self / count : 0.0, count);
}

ProfileMeter::ProfileMeter(std::size_t heads, std::span<const std::vector<std::uint32_t>> lines)
    : lines_(lines), profiles_(heads), pairs_(heads) {
  for (const auto& line : lines) vocabulary_.insert(vocabulary_.end(), line.begin(), line.end());
  std::ranges::sort(vocabulary_);
  vocabulary_.erase(std::ranges::unique(vocabulary_).begin(), vocabulary_.end());
  for (const auto& line : lines) {
    auto& numbers = numbers_.emplace_back();
    for (const std::uint32_t id : line) {
      numbers.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(vocabulary_, id) - vocabulary_.begin()));
    }
  }
  as_query_.resize(heads * vocabulary_.size());
  as_key_.resize(heads * vocabulary_.size());
}

void ProfileMeter::add(std::size_t head, std::size_t line, const WeightMap& map) {
  add_rows(profiles_[head], map);
  add_tokens(head, line, map);
}

void ProfileMeter::add_rows(HeadProfile& profile, const WeightMap& map) {
  const std::uint32_t n = map.size;
  columns_.assign(n, 0.0);
  diagonals_.assign(std::size_t{2} * n - 1, 0.0);
  given_.assign(n, 0.0);
  strongest_.assign(n, {0, 0.0});
  for (std::uint32_t query = 0; query < n; ++query) {
    const double* row = map.weights.data() + std::size_t{query} * n;
    double* diagonal = diagonals_.data() + (n - 1 - query);
    for (std::uint32_t key = 0; key < n; ++key) columns_[key] += row[key];
    for (std::uint32_t key = 0; key < n; ++key) diagonal[key] += row[key];
    profile.first += row[0];
    profile.self_squares += row[query] * row[query];
    for (std::uint32_t key = 1; key < n; ++key) {
      given_[query] += row[key];
      if (row[key] > strongest_[query].second) strongest_[query] = {key, row[key]};
    }
    if (query >= kMapTokens) continue;
    for (std::uint32_t key = 0; key < std::min(n, kMapTokens); ++key) profile.map[query * kMapTokens + key] += row[key];
  }
  profile.queries += n;
  profile.self += diagonals_[n - 1];
  for (std::uint32_t place = 0; place < n; ++place) {
    const double before = diagonals_[n - 1 - place], after = place > 0 ? diagonals_[n - 1 + place] : 0.0, far = place;
    profile.before[place_bin(place)] += before;
    profile.after[place_bin(place)] += after;
    profile.positions[place_bin(place)] += columns_[place];
    profile.distance += far * (before + after);
    profile.distance_squares += far * far * (before + after);
    if (place < kNearBins) profile.cells[place] += n - place;
    if (place < kMapTokens) ++profile.texts[place];
  }
}

void ProfileMeter::add_tokens(std::size_t head, std::size_t line, const WeightMap& map) {
  TokenCount* as_query = as_query_.data() + head * vocabulary_.size();
  TokenCount* as_key = as_key_.data() + head * vocabulary_.size();
  for (std::uint32_t place = 0; place < map.size; ++place) {
    const std::uint32_t number = numbers_[line][place];
    as_query[number].mass += given_[place];
    ++as_query[number].count;
    const auto& [key, weight] = strongest_[place];
    if (weight > 0.0) {
      pairs_[head].emplace_back(std::uint64_t{lines_[line][place]} << 32 | lines_[line][key], weight);
    }
    if (place == 0) continue;
    as_key[number].mass += columns_[place];
    ++as_key[number].count;
  }
}

std::vector<TokenCount> ProfileMeter::counts_of(const TokenCount* tally) const {
  std::vector<TokenCount> counts;
  for (std::size_t number = 0; number < vocabulary_.size(); ++number) {
    if (tally[number].mass <= 0.0) continue;
    TokenCount& count = counts.emplace_back(tally[number]);
    count.key = vocabulary_[number];
    count.sure = count.mass;
  }
  return counts;
}

std::vector<HeadProfile> ProfileMeter::take() {
  for (std::size_t head = 0; head < profiles_.size(); ++head) {
    profiles_[head].query_tokens = TokenSketch(counts_of(as_query_.data() + head * vocabulary_.size()));
    profiles_[head].key_tokens = TokenSketch(counts_of(as_key_.data() + head * vocabulary_.size()));
    std::ranges::stable_sort(pairs_[head], {}, &Pair::first);  // equal pairs are added up in the order of texts
    std::vector<TokenCount> counts;
    for (const auto& [pair, weight] : pairs_[head]) {
      if (counts.empty() || counts.back().key != pair) counts.push_back({.key = pair});
      counts.back().mass += weight;
      counts.back().sure += weight;
      ++counts.back().count;
    }
    profiles_[head].pairs = TokenSketch(std::move(counts));
  }
  return std::move(profiles_);
}

}  // namespace headlight::evaluation
