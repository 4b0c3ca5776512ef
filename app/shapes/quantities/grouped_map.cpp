#include "app/shapes/quantities/grouped_map.h"

#include <algorithm>
#include <cstddef>

namespace headlight::app {

TokenGroups group_tokens(std::span<const GroupedToken> tokens, bool joins_words, bool leaves_out_special) {
  TokenGroups groups;
  bool goes_on = false;  // a word that the next token may belong to
  for (const GroupedToken& token : tokens) {
    if (token.is_left_out || (token.is_special && leaves_out_special)) {
      groups.of_token.push_back(TokenGroups::kLeftOut);
      goes_on = false;
      continue;
    }
    const bool joins = joins_words && goes_on && !token.begins_word && !token.is_special;
    if (!joins) ++groups.count;
    groups.of_token.push_back(groups.count - 1);
    goes_on = !token.is_special;
  }
  return groups;
}

GroupedMap group_weights(const attention::Tile& weights, const TokenGroups& queries, const TokenGroups& keys,
                         bool renormalizes) {
  GroupedMap map;
  map.rows = queries.count;
  map.columns = keys.count;
  const std::size_t cells = std::size_t{map.rows} * map.columns;
  std::vector<double> sums(cells, 0.0);
  std::vector<double> row(map.columns);
  std::vector<std::uint32_t> queries_of(map.rows, 0);
  map.masked.assign(cells, 1);
  for (std::uint32_t query = 0; query < queries.of_token.size(); ++query) {
    const std::uint32_t group = queries.of_token[query];
    if (group == TokenGroups::kLeftOut) continue;
    ++queries_of[group];
    std::ranges::fill(row, 0.0);
    double kept = 0.0;
    const std::size_t first = std::size_t{group} * map.columns;
    for (std::uint32_t key = 0; key < keys.of_token.size(); ++key) {
      const std::uint32_t column = keys.of_token[key];
      if (column == TokenGroups::kLeftOut) continue;
      row[column] += double{weights.at(query, key)};
      kept += double{weights.at(query, key)};
      if (!weights.is_masked(query, key)) map.masked[first + column] = 0;
    }
    const double factor = !renormalizes ? 1.0 : kept == 0.0 ? 0.0 : 1.0 / kept;
    for (std::uint32_t column = 0; column < map.columns; ++column) sums[first + column] += row[column] * factor;
  }
  map.values.reserve(cells);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    map.values.push_back(static_cast<float>(sums[cell] / queries_of[cell / map.columns]));
    map.largest = std::max(map.largest, map.values.back());
  }
  return map;
}

Marginals marginals_of(std::span<const float> values, std::uint32_t rows, std::uint32_t columns, std::uint32_t first_counted,
                       std::uint32_t end_counted, bool has_self) {
  std::vector<double> received(columns, 0.0);
  Marginals marginals;
  std::uint32_t count = 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const bool counts = row >= first_counted && row < end_counted;
    count += counts ? 1U : 0U;
    double given = 0.0;
    for (std::uint32_t column = 0; column < columns; ++column) {
      const double value = values[std::size_t{row} * columns + column];
      if (!has_self || row != column) given += value;
      if (counts) received[column] += value;
    }
    marginals.given.push_back(static_cast<float>(given));
  }
  for (const double sum : received) marginals.received.push_back(static_cast<float>(sum / std::max(count, 1U)));
  return marginals;
}

}  // namespace headlight::app
