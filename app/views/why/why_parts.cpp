#include "app/views/why/why_parts.h"

#include <numeric>
#include <sstream>

#include "app/engine/analyses/head_metric_text.h"

namespace headlight::app {
namespace {

using attribution::Writer, attribution::WriterKind;

constexpr std::size_t kListedPairs = 50;
constexpr std::size_t kMostTrail = 64;

std::string attention_name(model::BlockRef block) {
  const char* kind = block.kind == model::BlockKind::Cross         ? "cross"
                     : block.kind == model::BlockKind::DecoderSelf ? "self"
                                                                   : "attn";
  return fmt::format("{} {}", kind, block.layer.value);
}

/// "A0", "H5", "M0", "tok": a group's name where there is little room.
std::string short_name(const Writer& writer, bool is_folded) {
  const std::uint32_t layer = writer.block.layer.value;
  if (is_folded) return fmt::format("{}{}", writer.block.kind == model::BlockKind::Cross ? "X" : "A", layer);
  if (writer.kind == WriterKind::Head) return fmt::format("H{}", writer.head);
  if (writer.kind == WriterKind::FeedForward) return fmt::format("M{}", layer);
  return writer.kind == WriterKind::Bias ? "b" : writer_name(writer).substr(0, 3);
}

/// The sum over the pairs of two groups.
ScorePart sum_of(const ScoreParts& found, const WriterGroup& query, const WriterGroup& key) {
  ScorePart sum;
  for (const std::size_t u : query.members) {
    for (const std::size_t v : key.members) sum += found.pair(u, v);
  }
  return sum;
}

WriterGroup everything(const std::vector<Writer>& writers) {
  WriterGroup all{.name = "sum", .short_name = "\u03A3", .members = std::vector<std::size_t>(writers.size())};
  std::iota(all.members.begin(), all.members.end(), std::size_t{0});
  return all;
}

WriterGroup single(std::size_t writer) {
  WriterGroup one;
  one.members = {writer};
  return one;
}

/// Indices of pairs, the largest part first.
std::vector<std::size_t> largest_pairs(const ScoreParts& found, bool is_raw) {
  std::vector<std::size_t> order(found.pairs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t pair) { return std::abs(found.pairs[pair].value(is_raw)); });
  return order;
}

}  // namespace

std::string writer_name(const Writer& writer) {
  switch (writer.kind) {
    case WriterKind::Token:
      return "token";
    case WriterKind::Position:
      return "position";
    case WriterKind::Type:
      return "token type";
    case WriterKind::Change:
      return "change";
    case WriterKind::Before:
      return fmt::format("before {}", writer.block.layer.value);
    case WriterKind::Head:
      return (writer.block.kind == model::BlockKind::Cross ? "cross " : "") + head_name({writer.block, writer.head});
    case WriterKind::AttentionBias:
      return "b_O " + attention_name(writer.block);
    case WriterKind::FeedForward:
      return fmt::format("MLP {}", writer.block.layer.value);
    case WriterKind::Bias:
      break;
  }
  return "biases";
}

std::vector<WriterGroup> groups_of(const std::vector<Writer>& writers, const std::set<model::BlockRef>& unfolded) {
  std::vector<WriterGroup> groups;
  for (std::size_t i = 0; i < writers.size(); ++i) {
    const Writer& writer = writers[i];
    const bool is_attention = writer.kind == WriterKind::Head || writer.kind == WriterKind::AttentionBias;
    const bool is_folded = is_attention && !unfolded.contains(writer.block);
    if (is_folded && !groups.empty() && groups.back().folds == writer.block) {
      groups.back().members.push_back(i);
      continue;
    }
    WriterGroup& group = groups.emplace_back();
    group.name = is_folded ? attention_name(writer.block) : writer_name(writer);
    group.short_name = short_name(writer, is_folded);
    group.members = {i};
    if (is_attention) group.folds = writer.block;
    if (writer.kind == WriterKind::Head && !is_folded) group.head = HeadRef{writer.block, writer.head};
  }
  return groups;
}

Grid why_grid(const ScoreParts& found, const std::vector<WriterGroup>& queries, const std::vector<WriterGroup>& keys,
              bool is_raw) {
  Grid grid{.title = is_raw ? "part of the score" : "part, less the row\u2019s mean"};
  grid.rows.title = "query written by";
  grid.columns.title = "key written by";
  const auto with_sum = [](std::vector<WriterGroup> groups, const std::vector<Writer>& writers) {
    groups.push_back(everything(writers));
    return groups;
  };
  const std::vector<WriterGroup> rows = with_sum(queries, found.queries), columns = with_sum(keys, found.keys);
  for (const WriterGroup& column : columns) grid.columns.tokens.push_back(column.short_name);
  for (const WriterGroup& row : rows) {
    grid.rows.tokens.push_back(row.name);
    auto& cells = grid.cells.emplace_back();
    for (const WriterGroup& column : columns) cells.push_back(sum_of(found, row, column).value(is_raw));
  }
  return grid;
}

Table pairs_table(const ScoreParts& found, bool is_raw, bool all) {
  const std::vector<std::size_t> order = largest_pairs(found, is_raw);
  const std::size_t listed = all ? order.size() : std::min(order.size(), kListedPairs);
  struct Row {
    std::string query, key;
    ScorePart part;
  };
  std::vector<Row> rows;
  for (const std::size_t pair : std::span(order).first(listed)) {
    rows.push_back({writer_name(found.queries[pair / found.keys.size()]), writer_name(found.keys[pair % found.keys.size()]),
                    found.pairs[pair]});
  }
  for (const auto& [name, part] : found.others) rows.push_back({name, "", part});
  if (listed < order.size()) {
    ScorePart rest;
    for (const std::size_t pair : std::span(order).subspan(listed)) rest += found.pairs[pair];
    rows.push_back({fmt::format("{} other pairs", order.size() - listed), "", rest});
  }
  Table table{.rows = rows.size()};
  table.add({.title = "query\u2019s", .name = "query_writer"}, [&](std::size_t row) { return rows[row].query; });
  table.add({.title = "key\u2019s", .name = "key_writer"}, [&](std::size_t row) { return rows[row].key; });
  table.add({.title = "part", .name = is_raw ? "part" : "part_less_mean", .bar = BarKind::Signed, .is_wide = true},
            [&](std::size_t row) { return CellNumber(rows[row].part.value(is_raw)); });
  table.add({.title = "row\u2019s mean", .name = "row_mean", .is_shown = false},
            [&](std::size_t row) { return CellNumber(rows[row].part.mean); });
  return table;
}

std::vector<WriterRow> writer_rows(const ScoreParts& found) {
  std::vector<WriterRow> rows;
  for (std::size_t i = 0; i < found.queries.size(); ++i) rows.push_back({found.queries[i], i, {}});
  for (std::size_t i = 0; i < found.keys.size(); ++i) {
    const auto same = std::ranges::find(rows, found.keys[i], &WriterRow::writer);
    if (same == rows.end()) {
      rows.push_back({found.keys[i], {}, i});
    } else {
      same->key = i;
    }
  }
  return rows;
}

Table writers_table(const ScoreParts& found, const std::vector<WriterRow>& rows, bool is_raw) {
  const WriterGroup queries = everything(found.queries), keys = everything(found.keys);
  Table table{.rows = rows.size()};
  table.add({.title = "writer"}, [&](std::size_t row) { return writer_name(rows[row].writer); });
  table.add({.title = "as query",
             .name = "as_query",
             .formula = "The sum of its pairs with all that wrote the key.",
             .bar = BarKind::Signed},
            [&](std::size_t row) {
              if (!rows[row].query) return CellNumber();
              return CellNumber(sum_of(found, single(*rows[row].query), keys).value(is_raw));
            });
  table.add({.title = "as key",
             .name = "as_key",
             .formula = "The sum of its pairs with all that wrote the query.",
             .bar = BarKind::Signed},
            [&](std::size_t row) {
              if (!rows[row].key) return CellNumber();
              return CellNumber(sum_of(found, queries, single(*rows[row].key)).value(is_raw));
            });
  const auto add = [&](const char* title, const char* name, const char* formula, auto member) {
    table.add({.title = title, .name = name, .formula = formula, .decimals = 3}, [&](std::size_t row) {
      const auto without = found.without.find(rows[row].writer);
      return without == found.without.end() ? CellNumber() : without->second.*member;
    });
  };
  add("no query", "weight_without_in_query", "The weight without it in the query, the norm\u2019s scale as it is.",
      &WeightsWithout::query);
  add("no keys", "weight_without_in_keys", "The weight without it in all keys of the row, norms\u2019 scales as they are.",
      &WeightsWithout::keys);
  add("neither", "weight_without_in_both", "The weight without it in the query and in all keys of the row.",
      &WeightsWithout::both);
  return table;
}

Sentence why_sentence(const ScoreParts& found, bool is_raw, const std::string& query, const std::string& key) {
  const auto size = [&](const ScorePart& part) { return std::abs(part.value(is_raw)); };
  const auto most = static_cast<std::size_t>(std::ranges::max_element(found.pairs, {}, size) - found.pairs.begin());
  const std::string about = is_raw ? "" : fmt::format(" above its mean over {} keys", found.visible);
  return fmt::format(
      "The score of {} with {} is {}{}; its largest part, {}, is of {} in the query with {} in the key.", query, key,
      number_word(found.score.value(is_raw)), about, number_word(found.pairs[most].value(is_raw), "{:+.2f}"),
      writer_name(found.queries[most / found.keys.size()]), writer_name(found.keys[most % found.keys.size()]));
}

std::vector<TrailCell> read_trail(const std::string& text) {
  std::vector<TrailCell> cells;
  std::istringstream words(text);
  std::uint32_t kind = 0, layer = 0, head = 0, query = 0, key = 0;
  while (cells.size() < kMostTrail && words >> kind >> layer >> head >> query >> key) {
    if (kind >= model::kBlockKinds) break;
    cells.push_back({{{static_cast<model::BlockKind>(kind), LayerIndex{layer}}, head}, query, key});
  }
  return cells;
}

std::string write_trail(const std::vector<TrailCell>& cells) {
  std::string text;
  for (const TrailCell& cell : cells) {
    text += fmt::format("{}{} {} {} {} {}", text.empty() ? "" : " ", static_cast<unsigned>(cell.head.block.kind),
                        cell.head.block.layer.value, cell.head.head, cell.query, cell.key);
  }
  return text;
}

}  // namespace headlight::app
