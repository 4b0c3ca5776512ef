#include "app/engine/analyses/score_parts.h"

#include <numeric>

#include "app/engine/analyses/stream_writers.h"
#include "app/state/run_interventions.h"
#include "core/error.h"

namespace headlight::app {
namespace {

using attribution::FrozenReader, attribution::HeadReader, attribution::Writer, attribution::WriterKind;
using Rows = FrozenReader::Rows;
using attention::Stage;

/// Rows longer than this have their raw parts told first.
constexpr std::uint32_t kShortRow = 256;

double dot(std::span<const double> left, std::span<const double> right) {
  return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
}

std::span<const double> row_of(const Rows& rows, std::size_t row) {
  return std::span(rows.values).subspan(row * rows.shape.back(), rows.shape.back());
}

/// The order in which writers write: embedding, then layer by layer, the biases last.
auto place_of(const Writer& writer) {
  const bool is_of_layer = writer.kind >= WriterKind::Before && writer.kind != WriterKind::Bias;
  const bool comes_last = writer.kind == WriterKind::Bias;
  return std::tuple(comes_last, is_of_layer, writer.block.layer, writer.block.kind, writer.kind, writer.head);
}

/// A writer's vectors: of the query, or of the cell's key.
struct Written {
  Writer writer;
  std::vector<double> vector;  ///< [d_k]
  std::vector<double> mean;    ///< of keys over the row
};

void put_in_order(std::vector<Written>& parts) {
  std::ranges::stable_sort(parts, std::ranges::less(), [](const Written& part) { return place_of(part.writer); });
}

/// The row of the map that the cell is in, as the device has it.
struct ScoreRow {
  std::uint32_t first = 0;             ///< the first key that is visible
  std::vector<std::uint8_t> visible;   ///< [key from `first` to the last visible one]
  std::vector<double> score;           ///< [the same key] before the cap, without the position bias
  std::vector<double> masked;          ///< [every key]
  std::vector<double> bias, distance;  ///< [key from `first` on] position bias; what distances add; empty: there is none
  double scale = 1.0, cap = 0.0;
  Rows keys;  ///< [key from `first` on, d_k]

  std::uint32_t count() const { return static_cast<std::uint32_t>(visible.size()); }
  double mean_of(const std::vector<double>& of) const {
    double sum = 0.0, seen = 0.0;
    for (std::size_t i = 0; i < visible.size(); ++i) {
      sum += visible[i] != 0 ? of[i] : 0.0;
      seen += visible[i];
    }
    return sum / seen;
  }
  double capped(double number) const { return cap > 0.0 ? cap * std::tanh(number / cap) : number; }
  /// Returns the weight of a key where the scores of all visible ones have changed.
  double weight(std::uint32_t key, const std::function<double(std::size_t)>& change) const {
    std::vector<double> scores = masked;
    for (std::size_t i = 0; i < visible.size(); ++i) {
      if (visible[i] != 0) scores[first + i] += capped(score[i] + change(i)) - capped(score[i]);
    }
    const double largest = *std::ranges::max_element(scores);
    double sum = 0.0;
    for (const double one : scores) sum += std::exp(one - largest);
    return std::exp(scores[key] - largest) / sum;
  }
};

void check(const ScoreQuestion& question, const AnalysisSubject& subject) {
  const auto shape = subject.shapes.find(question.head.block);
  const bool has_cell = shape != subject.shapes.end() && question.head.head < shape->second.heads &&
                        question.batch < shape->second.batch && question.query < shape->second.queries &&
                        question.key < shape->second.keys;
  if (!has_cell) throw Error("this run has no such cell");
  const std::string why = attribution::why_no_writers(*subject.network, question.head.block);
  if (!why.empty()) throw Error("this head\u2019s scores have no writers: {}", why);
  for (const inference::Intervention& one : interventions_of(*subject.inputs, *subject.network)) {
    const bool is_own = one.site == model::Site::Query || one.site == model::Site::Key || one.site == model::Site::Weights;
    const bool is_dropout = std::holds_alternative<inference::Dropout>(one.operation) && one.site == model::Site::Weights;
    const std::uint32_t head =
        one.site == model::Site::Key ? question.head.head / shape->second.group() : question.head.head;
    if (is_own && !is_dropout && one.scope.covers(question.head.block) && one.scope.head.value_or(head) == head) {
      throw Error("an intervention replaces this head\u2019s {}: they were written by nothing before",
                  one.site == model::Site::Weights ? "pattern" : to_string(one.site));
    }
  }
}

attention::TileRequest row_request(const ScoreQuestion& question, const AnalysisSubject& subject, Stage stage) {
  return {.block = question.head.block,
          .batch = question.batch,
          .head = question.head.head,
          .stage = stage,
          .row = question.query,
          .rows = 1,
          .columns = subject.shapes.at(question.head.block).keys};
}

Reads reads_of_row(const ScoreQuestion& question, const AnalysisSubject& subject) {
  const inference::BlockShape& shape = subject.shapes.at(question.head.block);
  Reads reads;
  for (const Stage stage : {Stage::Masked, Stage::Scores}) reads.tiles.push_back(row_request(question, subject, stage));
  attention::TileRequest keys = row_request(question, subject, Stage::K);
  keys.row = 0;
  keys.rows = shape.keys;
  keys.columns = shape.d_k;
  reads.tiles.push_back(keys);
  if (shape.has_content_position) reads.tiles.push_back(row_request(question, subject, Stage::ContentPosition));
  if (shape.has_position_content) reads.tiles.push_back(row_request(question, subject, Stage::PositionContent));
  return reads;
}

ScoreRow row_of(const ScoreQuestion& question, const AnalysisSubject& subject, const Answers& read) {
  const model::AttentionLayer& layer = subject.network->layer(question.head.block);
  const attention::Tile& masked = read.tiles[0];
  const std::uint32_t keys = masked.request.columns;
  if (masked.is_masked(0, question.key)) throw Error("the mask hides this key from the query, so it has no score");
  ScoreRow row;
  row.masked.assign(masked.values.begin(), masked.values.end());
  row.scale = double{layer.config.scale.factor(layer.config.d_k)};
  row.cap = double{layer.config.softcap};
  std::uint32_t end = keys;
  while (masked.is_masked(0, row.first)) ++row.first;
  while (masked.is_masked(0, end - 1)) --end;
  const model::TokenBatch& tokens = subject.input->keys(question.head.block.kind);
  const std::size_t d_k = layer.config.d_k;
  row.keys.shape = {end - row.first, layer.config.d_k};
  for (std::uint32_t key = row.first; key < end; ++key) {
    row.visible.push_back(masked.is_masked(0, key) ? 0 : 1);
    double distance = 0.0;
    for (std::size_t i = 3; i < read.tiles.size(); ++i) distance += double{read.tiles[i].values[key]} * row.scale;
    if (read.tiles.size() > 3) row.distance.push_back(distance);
    row.score.push_back(double{read.tiles[1].values[key]} * row.scale + distance);
    if (layer.config.position_bias) {
      row.bias.push_back(subject.network->layers->position_biases[*layer.config.position_bias].of_cell(
          question.head.head, question.query, key, tokens.start(question.batch)));
    }
    const auto from = read.tiles[2].values.begin() + static_cast<std::ptrdiff_t>(key * d_k);
    row.keys.values.insert(row.keys.values.end(), from, from + static_cast<std::ptrdiff_t>(d_k));
  }
  return row;
}

ReadSide side_of(const ScoreQuestion& question, bool is_of_keys, std::uint32_t first, std::uint32_t count) {
  return {.block = question.head.block,
          .batch = question.batch,
          .head = question.head.head,
          .first = first,
          .count = count,
          .is_of_keys = is_of_keys};
}

/// Puts writers and their pairs, and what else the score has, into what was found.
void put_pairs(ScoreParts& found, const ScoreRow& row, std::uint32_t key, std::vector<Written> queries,
               std::vector<Written> keys) {
  put_in_order(queries);
  put_in_order(keys);
  found.queries.clear();
  found.keys.clear();
  found.pairs.clear();
  for (const Written& of : queries) found.queries.push_back(of.writer);
  for (const Written& of : keys) found.keys.push_back(of.writer);
  for (const Written& query : queries) {
    for (const Written& of : keys) {
      found.pairs.push_back({dot(query.vector, of.vector), of.mean.empty() ? 0.0 : dot(query.vector, of.mean)});
    }
  }
  found.others.clear();
  const std::size_t at = key - row.first;
  if (!row.distance.empty()) found.others.push_back({"distance", {row.distance[at], row.mean_of(row.distance)}});
  found.has_cap = row.cap > 0.0;
  found.score = {row.score[at], row.mean_of(row.score)};
  if (row.bias.empty()) return;
  found.others.push_back({"position bias", {row.bias[at], row.mean_of(row.bias)}});
  found.score += found.others.back().second;
}

}  // namespace

ScorePart ScoreParts::sum() const {
  ScorePart sum;
  for (const ScorePart& part : pairs) sum += part;
  for (const auto& [name, part] : others) sum += part;
  return sum;
}

Task<ScoreParts> analyse(ScoreQuestion question, AnalysisSubject subject) {
  check(question, subject);
  const Answers read = co_await reads_of_row(question, subject);
  const ScoreRow row = row_of(question, subject, read);
  const std::uint32_t at = question.key - row.first;
  const auto none = [](std::size_t) { return 0.0; };
  ScoreParts found;
  found.weight = row.weight(question.key, none);
  found.visible = static_cast<std::uint32_t>(std::ranges::count(row.visible, 1));
  std::vector<Written> queries, keys;
  std::map<Writer, std::size_t> by_writer;  // of `queries`
  std::vector<double> query(row.keys.shape.back());
  // Where distances are part of the scores a query without a writer would change those too.
  const bool has_weights = row.distance.empty(), is_one_text = question.head.block.kind != model::BlockKind::Cross;
  const auto take_query = [&](const Writer& writer, Rows part, const HeadReader*) {
    for (double& number : part.values) number *= row.scale;
    std::ranges::transform(query, part.values, query.begin(), std::plus());
    by_writer[writer] = queries.size();
    queries.push_back({writer, std::move(part.values), {}});
    return true;
  };
  co_await read_writers(side_of(question, false, question.query, 1), subject, take_query);
  const auto take_key = [&](const Writer& writer, Rows part, const HeadReader*) {
    keys.push_back({writer, std::move(part.values), {}});
    return true;
  };
  if (row.count() > kShortRow) {
    co_await read_writers(side_of(question, true, question.key, 1), subject, take_key);
    put_pairs(found, row, question.key, queries, std::exchange(keys, {}));
    co_yield found;
  }
  const auto take_keys = [&](const Writer& writer, Rows part, const HeadReader*) {
    const auto own = row_of(part, at);
    Written& key = keys.emplace_back(Written{writer, {own.begin(), own.end()}, std::vector<double>(own.size())});
    std::vector<double> given(row.count()), shared;
    for (std::size_t i = 0; i < row.count(); ++i) {
      given[i] = dot(query, row_of(part, i));
      for (std::size_t d = 0; row.visible[i] != 0 && d < own.size(); ++d) key.mean[d] += row_of(part, i)[d] / found.visible;
    }
    if (!has_weights) return true;
    WeightsWithout& without = found.without[writer];
    without.keys = row.weight(question.key, [&](std::size_t i) { return -given[i]; });
    const auto of_query = by_writer.find(writer);
    if (!is_one_text || of_query == by_writer.end()) return true;
    const std::vector<double>& vector = queries[of_query->second].vector;
    without.both = row.weight(question.key, [&](std::size_t i) {
      return dot(vector, row_of(part, i)) - given[i] - dot(vector, row_of(row.keys, i));
    });
    return true;
  };
  co_await read_writers(side_of(question, true, row.first, row.count()), subject, take_keys);
  for (const Written& of : queries) {
    if (!has_weights) break;
    found.without[of.writer].query =
        row.weight(question.key, [&](std::size_t i) { return -dot(of.vector, row_of(row.keys, i)); });
  }
  put_pairs(found, row, question.key, std::move(queries), std::move(keys));
  found.has_row = true;
  co_return found;
}

Task<ScoreSources> analyse(ScoreSourcesQuestion question, AnalysisSubject subject) {
  check(question, subject);
  const auto shape = subject.shapes.find(question.writer.block);
  if (shape == subject.shapes.end() || question.writer.head >= shape->second.heads) throw Error("this run has no such head");
  const std::uint32_t token = question.is_of_key ? question.key : question.query;
  Reads reads = reads_of_row(question, subject);
  const std::size_t own = reads.tiles.size();
  attention::TileRequest request = row_request(question, subject, Stage::Q);
  request.columns = subject.shapes.at(question.head.block).d_k;
  reads.tiles.push_back(request);
  request = {.block = question.writer.block,
             .batch = question.batch,
             .head = question.writer.head,
             .stage = Stage::Weights,
             .row = token,
             .rows = 1,
             .columns = shape->second.keys};
  reads.tiles.push_back(request);
  request.stage = Stage::V;
  request.row = 0;
  request.rows = shape->second.keys;
  request.columns = shape->second.d_v;
  reads.tiles.push_back(request);
  const Answers read = co_await std::move(reads);
  const ScoreRow row = row_of(question, subject, read);
  std::vector<double> other(read.tiles[own].values.begin(), read.tiles[own].values.end());  // that the part is multiplied by
  if (!question.is_of_key) {
    const auto key = row_of(row.keys, question.key - row.first);
    other.assign(key.begin(), key.end());
    for (std::size_t i = 0; i < row.count(); ++i) {
      for (std::size_t d = 0; row.visible[i] != 0 && d < other.size(); ++d) {
        other[d] -= row_of(row.keys, i)[d] / static_cast<double>(std::ranges::count(row.visible, 1));
      }
    }
  }
  ScoreSources found;
  const Writer wanted{.kind = WriterKind::Head, .block = question.writer.block, .head = question.writer.head};
  const auto gain = subject.inputs->gains.find({wanted.block, wanted.head});
  const double factor = row.scale * double{gain == subject.inputs->gains.end() ? 1.0F : gain->second};
  const auto take = [&](const Writer& writer, const Rows&, const HeadReader* heads) {
    if (writer != wanted) return true;
    const std::vector<double> direction = heads->direction(writer.head, other);
    const std::span<const float> values = read.tiles[own + 2].values, weights = read.tiles[own + 1].values;
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const auto value = values.subspan(t * direction.size(), direction.size());
      const double sum = std::inner_product(direction.begin(), direction.end(), value.begin(), 0.0);
      found.tokens.push_back(weights[t] == 0.0F ? 0.0 : factor * double{weights[t]} * sum);
    }
    return false;
  };
  if (co_await read_writers(side_of(question, question.is_of_key, token, 1), subject, take)) {
    throw Error("this head writes nothing that the {} reads", question.is_of_key ? "key" : "query");
  }
  co_return found;
}

}  // namespace headlight::app
