#include "app/analyses/head_similarity.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "app/analyses/line_tokens.h"
#include "core/error.h"
#include "evaluation/head_divergence.h"

namespace headlight::app {
namespace {

/// Cells of tiles that are read in one step, and cells of pairs that are compared in one: some 10 ms each.
constexpr std::size_t kReadCells = std::size_t{1} << 17;
constexpr std::size_t kSimilarityStepCells = std::size_t{1} << 18;
/// Cells of all heads together that are kept: 2 MiB.
constexpr std::size_t kKeptCells = std::size_t{1} << 19;

/// Cells of a part's tile.
constexpr std::size_t kPartCells = std::size_t{1} << 16;
constexpr std::uint32_t kSimilarityStrips = 16;

/// A rectangle of a map.
struct SimilarityPart {
  std::uint32_t row = 0, rows = 0, column = 0, columns = 0;

  std::size_t cells() const { return std::size_t{rows} * columns; }
};

/// Reads the same part of every head's map, then compares every two heads in it, part by part.
class SimilarityTask final : public AnalysisTask {
 public:
  SimilarityTask(const AnalysisQuery& query, const AnalysisSubject& subject);

  Reads next(std::size_t most_cells) override;
  void take(const Answers& answers) override;
  bool is_done() const override { return is_done_; }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  void finish();

  std::uint32_t batch_;
  HeadSimilarity found_;
  std::optional<evaluation::HeadDivergence> divergence_;
  std::vector<SimilarityPart> parts_;
  std::size_t part_ = 0;        ///< that is read or compared
  std::size_t head_ = 0;        ///< that is read next; behind the last: they are being compared
  std::vector<float> weights_;  ///< [head][cell] of the part, as far as they are read
  bool is_done_ = false;
};

SimilarityTask::SimilarityTask(const AnalysisQuery& query, const AnalysisSubject& subject) : batch_(query.batch) {
  const model::BlockKind kind = query.block.kind;
  for (const auto& [block, shape] : subject.shapes) {
    if (block.kind != kind) continue;
    for (std::uint32_t head = 0; head < shape.heads; ++head) found_.heads.push_back({.block = block, .head = head});
  }
  if (found_.heads.empty()) throw Error("this run has no such attention");
  if (found_.heads.size() == 1) throw Error("there is one head only, and nothing to compare it with");
  if (found_.heads.size() > kMostComparedHeads) {
    throw Error("of at most {} heads every two can be compared; here are {}", kMostComparedHeads, found_.heads.size());
  }
  const inference::BlockShape& shape = subject.shapes.at(found_.heads.front().block);
  if (batch_ >= shape.batch) throw Error("this run has {} lines", shape.batch);
  const attention::KeyRange queries = real_tokens(subject.input->queries(kind), batch_, shape.queries);
  const attention::KeyRange keys = real_tokens(subject.input->keys(kind), batch_, shape.keys);
  const std::uint32_t columns = keys.end - keys.begin;
  if (queries.begin == queries.end || columns == 0) throw Error("this line has no tokens");
  const auto heads = static_cast<std::uint32_t>(found_.heads.size());
  const std::size_t most = std::min(kKeptCells / heads, kPartCells);
  const auto most_columns = static_cast<std::uint32_t>(std::min<std::size_t>(columns, most));
  const auto most_rows = static_cast<std::uint32_t>(most / most_columns);
  for (const RowStrip& strip : compared_rows(queries, columns, heads)) {
    found_.compared_queries += strip.count;
    for (std::uint32_t row = 0; row < strip.count; row += most_rows) {
      for (std::uint32_t column = 0; column < columns; column += most_columns) {
        parts_.push_back({.row = strip.first + row,
                          .rows = std::min(most_rows, strip.count - row),
                          .column = keys.begin + column,
                          .columns = std::min(most_columns, columns - column)});
      }
    }
  }
  found_.queries = queries.end - queries.begin;
  divergence_.emplace(heads);
}

AnalysisTask::Reads SimilarityTask::next(std::size_t most_cells) {
  Reads reads;
  const SimilarityPart& part = parts_[part_];
  const std::size_t count = std::max<std::size_t>(std::min(most_cells, kReadCells) / part.cells(), 1);
  for (std::size_t head = head_; head < std::min(head_ + count, found_.heads.size()); ++head) {
    reads.tiles.push_back({.block = found_.heads[head].block,
                           .batch = batch_,
                           .head = found_.heads[head].head,
                           .stage = attention::Stage::Weights,
                           .row = part.row,
                           .rows = part.rows,
                           .column = part.column,
                           .columns = part.columns});
  }
  return reads;  // nothing while heads are compared
}

void SimilarityTask::take(const Answers& answers) {
  if (head_ < found_.heads.size()) {
    for (const attention::Tile& tile : answers.tiles) {
      weights_.insert(weights_.end(), tile.values.begin(), tile.values.end());
    }
    head_ += answers.tiles.size();
    if (head_ == found_.heads.size()) divergence_->begin(std::exchange(weights_, {}));
    return;
  }
  if (!divergence_->go_on(kSimilarityStepCells)) return;
  head_ = 0;
  ++part_;
  if (part_ == parts_.size()) finish();
}

void SimilarityTask::finish() {
  found_.divergences = divergence_->means(found_.compared_queries);
  const bool is_finite = std::ranges::all_of(found_.divergences, [](float value) { return std::isfinite(value); });
  if (is_finite) {
    found_.order = evaluation::order_by_similarity(found_.divergences, static_cast<std::uint32_t>(found_.heads.size()));
  }
  is_done_ = true;
}

std::shared_ptr<const AnalysisResult> SimilarityTask::result() const {
  return is_done_ ? std::make_shared<const HeadSimilarity>(found_) : nullptr;
}

std::unique_ptr<AnalysisTask> begin_head_similarity(const AnalysisQuery& query, const AnalysisSubject& subject) {
  return std::make_unique<SimilarityTask>(query, subject);
}

}  // namespace

constexpr Analysis kHeadSimilarity{.id = "head-similarity", .title = "how alike heads are", .begin = &begin_head_similarity};

std::vector<RowStrip> compared_rows(attention::KeyRange queries, std::uint32_t keys, std::uint32_t heads) {
  const std::uint32_t count = queries.end - queries.begin;
  const std::size_t pairs = std::max<std::size_t>(std::size_t{heads} * (heads - 1) / 2, 1);
  const std::size_t most = std::max<std::size_t>(kMostComparedCells / (pairs * std::max(keys, 1U)), 1);
  if (count <= most) return {{.first = queries.begin, .count = count}};
  const std::uint32_t strips = std::min(kSimilarityStrips, static_cast<std::uint32_t>(most));
  const auto rows = static_cast<std::uint32_t>(most / strips);
  std::vector<RowStrip> compared;
  for (std::uint32_t strip = 1; strip <= strips; ++strip) {
    const std::uint64_t behind = strips == 1 ? count - rows : std::uint64_t{count - rows} * (strip - 1) / (strips - 1);
    compared.push_back({.first = queries.begin + static_cast<std::uint32_t>(behind), .count = rows});
  }
  return compared;
}

AnalysisQuery similarity_query(const Selection& selection) {
  return {.analysis = &kHeadSimilarity, .block = {.kind = selection.block.kind, .layer = {}}, .batch = selection.batch};
}

}  // namespace headlight::app
