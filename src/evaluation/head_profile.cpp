#include "evaluation/head_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace headlight::evaluation {

TokenSketch::TokenSketch(std::vector<TokenCount> counts) : counters_(std::move(counts)) { shrink(); }

TokenSketch::TokenSketch(std::vector<TokenCount> counters, double missed) : counters_(std::move(counters)), missed_(missed) {
  constexpr double kRounding = 1.0 + 1e-9;  // of two sums that are rounded by themselves
  bool is_right = counters_.size() <= kCounters && missed >= 0.0;
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const TokenCount& counter = counters_[i];
    is_right = is_right && (i == 0 || counters_[i - 1].key < counter.key) && counter.count > 0 && counter.sure > 0.0 &&
               std::isfinite(counter.mass) && std::isfinite(counter.sure) && counter.sure <= counter.mass * kRounding;
  }
  if (!is_right) throw Error("the survey's statistics have a list of tokens that can't be");
}

void TokenSketch::merge(const TokenSketch& other) {
  std::vector<TokenCount> both;
  both.reserve(counters_.size() + other.counters_.size());
  auto left = counters_.begin();
  for (const TokenCount& right : other.counters_) {
    while (left != counters_.end() && left->key < right.key) both.push_back(*left++);
    both.push_back(right);
    if (left == counters_.end() || left->key != right.key) continue;
    both.back().mass += left->mass;
    both.back().count += left->count;
    both.back().sure += left->sure;
    ++left;
  }
  both.insert(both.end(), left, counters_.end());
  counters_ = std::move(both);
  missed_ += other.missed_;
  shrink();
}

void TokenSketch::shrink() {
  if (counters_.size() > kCounters) {
    std::vector<double> sure;
    sure.reserve(counters_.size());
    for (const TokenCount& counter : counters_) sure.push_back(counter.sure);
    const auto first_without_room = sure.begin() + kCounters;
    std::ranges::nth_element(sure, first_without_room, std::greater());
    for (TokenCount& counter : counters_) counter.sure -= *first_without_room;
    missed_ += *first_without_room;
  }
  std::erase_if(counters_, [](const TokenCount& counter) { return counter.sure <= 0.0; });
}

std::vector<TokenCount> TokenSketch::heaviest(std::size_t most) const {
  std::vector<TokenCount> sorted = counters_;
  std::ranges::sort(sorted, {}, [](const TokenCount& counter) { return std::tuple(-counter.mass, counter.key); });
  sorted.resize(std::min(sorted.size(), most));
  return sorted;
}

namespace {

double spread_of(double squares, double mean, double count) {
  return count > 0.0 ? std::sqrt(std::max(squares / count - mean * mean, 0.0)) : 0.0;
}

/// Returns the length of the part of [from, to) that is in [bin, bin + 1).
double overlap(double from, double to, std::uint32_t bin) {
  return std::max(std::min(to, bin + 1.0) - std::max<double>(from, bin), 0.0);
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
  for (double HeadProfile::*sum : {&HeadProfile::first, &HeadProfile::self, &HeadProfile::self_squares,
                                   &HeadProfile::distance, &HeadProfile::distance_squares}) {
    this->*sum += next.*sum;
  }
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

ProfileMeter::ProfileMeter(std::size_t heads, Lines lines, Lines targets)
    : sides_{lines, targets}, profiles_(heads), pairs_(heads) {
  for (const Lines side : sides_) {
    for (const auto& line : side) vocabulary_.insert(vocabulary_.end(), line.begin(), line.end());
  }
  std::ranges::sort(vocabulary_);
  vocabulary_.erase(std::unique(vocabulary_.begin(), vocabulary_.end()), vocabulary_.end());
  for (std::size_t side = 0; side < sides_.size(); ++side) {
    for (const auto& line : sides_[side]) {
      auto& numbers = numbers_[side].emplace_back();
      for (const std::uint32_t id : line) {
        numbers.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(vocabulary_, id) - vocabulary_.begin()));
      }
    }
  }
  as_query_.resize(heads * vocabulary_.size());
  as_key_.resize(heads * vocabulary_.size());
}

void ProfileMeter::add(std::size_t head, std::size_t line, const WeightMap& map, model::BlockKind kind) {
  add_rows(profiles_[head], map);
  if (map.is_cross()) add_stretched(profiles_[head], map);
  const auto tokens = [&](std::size_t side) { return TextTokens{sides_[side][line], numbers_[side][line]}; };
  add_tokens(head, map, tokens(kind == model::BlockKind::EncoderSelf ? 0 : 1),
             tokens(kind == model::BlockKind::DecoderSelf ? 1 : 0));
}

void ProfileMeter::add_rows(HeadProfile& profile, const WeightMap& map) {
  const std::uint32_t n = map.size, keys = map.keys(), first = map.is_cross() ? 0 : 1;
  columns_.assign(keys, 0.0);
  diagonals_.assign(std::size_t{n} + keys - 1, 0.0);
  given_.assign(n, 0.0);
  strongest_.assign(n, {0, 0.0});
  for (std::uint32_t query = 0; query < n; ++query) {
    const double* row = map.row(query).data();
    double *columns = columns_.data(), *diagonal = diagonals_.data() + (n - 1 - query);
    std::uint32_t end = keys, strongest = 0;  // keys after `end` get nothing, most of all those that a causal mask hides
    while (end > 1 && row[end - 1] == 0.0) --end;
    double given = 0.0, most = 0.0;
    for (std::uint32_t key = 0; key < end; ++key) {
      const double weight = row[key];
      columns[key] += weight;
      diagonal[key] += weight;
      if (key < first) continue;
      given += weight;
      if (weight <= most) continue;
      most = weight;
      strongest = key;
    }
    given_[query] = given;
    strongest_[query] = {strongest, most};
    profile.first += row[0];
    if (map.is_cross()) continue;
    profile.self_squares += row[query] * row[query];
    if (query >= kMapTokens) continue;
    for (std::uint32_t key = 0; key < std::min(n, kMapTokens); ++key) profile.map[query * kMapTokens + key] += row[key];
  }
  profile.queries += n;
  for (std::uint32_t place = 0; place < keys; ++place) profile.positions[place_bin(place)] += columns_[place];
  if (map.is_cross()) return;
  profile.self += diagonals_[n - 1];
  for (std::uint32_t place = 0; place < n; ++place) {
    const double before = diagonals_[n - 1 - place], after = place > 0 ? diagonals_[n - 1 + place] : 0.0, far = place;
    profile.before[place_bin(place)] += before;
    profile.after[place_bin(place)] += after;
    profile.distance += far * (before + after);
    profile.distance_squares += far * far * (before + after);
    if (place < kNearBins) profile.cells[place] += n - place;
    if (place < kMapTokens) ++profile.texts[place];
  }
}

void ProfileMeter::add_stretched(HeadProfile& profile, const WeightMap& map) {
  const double tall = double{kMapTokens} / map.size, wide = double{kMapTokens} / map.keys();
  for (std::uint32_t query = 0; query < map.size; ++query) {
    std::array<double, kMapTokens> row = {};
    for (std::uint32_t key = 0; key < map.keys(); ++key) {
      const double from = key * wide, to = (key + 1) * wide;
      for (auto bin = static_cast<std::uint32_t>(from); bin < std::min(to, double{kMapTokens}); ++bin) {
        row[bin] += map.at(query, key) * overlap(from, to, bin) / wide;
      }
    }
    const double from = query * tall, to = (query + 1) * tall;
    for (auto bin = static_cast<std::uint32_t>(from); bin < std::min(to, double{kMapTokens}); ++bin) {
      for (std::uint32_t key = 0; key < kMapTokens; ++key)
        profile.map[bin * kMapTokens + key] += row[key] * overlap(from, to, bin);
    }
  }
  for (std::uint64_t& texts : profile.texts) ++texts;
}

void ProfileMeter::add_tokens(std::size_t head, const WeightMap& map, TextTokens queries, TextTokens keys) {
  TokenCount* as_query = as_query_.data() + head * vocabulary_.size();
  TokenCount* as_key = as_key_.data() + head * vocabulary_.size();
  for (std::uint32_t place = 0; place < map.size; ++place) {
    const std::uint32_t number = queries.numbers[place];
    as_query[number].mass += given_[place];
    ++as_query[number].count;
    const auto& [key, weight] = strongest_[place];
    if (weight > 0.0) pairs_[head].emplace_back(std::uint64_t{queries.ids[place]} << 32 | keys.ids[key], weight);
  }
  for (std::uint32_t place = map.is_cross() ? 0 : 1; place < map.keys(); ++place) {
    const std::uint32_t number = keys.numbers[place];
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
