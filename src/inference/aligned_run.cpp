#include "inference/aligned_run.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>

#include "core/error.h"

namespace headlight::inference {
namespace {

using attention::Stage;
using attention::Tile;
using attention::TileRequest;

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kStripCells = std::size_t{1} << 20;  ///< of the other run, that are evaluated at once

/// The counterparts of consecutive tokens: the first and the last of the other run's tokens that are among them.
struct Span {
  std::uint32_t first = 0, count = 0;  ///< 0: none of them has a counterpart
};

Span span_of(std::span<const std::uint32_t> tokens) {
  Span span;
  for (const std::uint32_t token : tokens) {
    if (token == kNoCounterpart) continue;
    if (span.count == 0) span.first = token;
    span.count = token - span.first + 1;
  }
  return span;
}

/// Copies the rows of tokens with a counterpart from `rows`, which begin with the row of token `first`.
void gather_rows(std::span<const std::uint32_t> tokens, std::size_t width, std::span<const float> rows, std::uint32_t first,
                 float* to) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == kNoCounterpart) continue;
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>((tokens[i] - first) * width), width, to + i * width);
  }
}

/// [outer, batch, token, width] with the other run's tokens, as this run's.
Tensor gather_tokens(const Tensor& other, std::size_t outer, const InputCounterparts::Items& items) {
  if (other.is_empty() || items.empty()) return other;
  const std::size_t axes = other.shape.size();
  const std::uint32_t width = other.shape[axes - 1], length = other.shape[axes - 2];
  Shape shape = other.shape;
  shape[axes - 2] = static_cast<std::uint32_t>(items.front().size());
  Tensor gathered(std::move(shape));
  std::ranges::fill(gathered.values, kNoNumber);
  const std::size_t rows = std::size_t{length} * width;
  for (std::size_t part = 0; part < outer * items.size(); ++part) {
    const std::vector<std::uint32_t>& tokens = items[part % items.size()];
    gather_rows(tokens, width, std::span(other.values).subspan(part * rows, rows), 0,
                gathered.values.data() + part * tokens.size() * width);
  }
  return gathered;
}

/// Not 0 in the upper half, where versions, which count, have no bits.
std::uint64_t hash_of(const InputCounterparts& pairs) {
  std::size_t hash = 0;
  for (const InputCounterparts::Items& items : {pairs.source, pairs.target}) {
    for (const std::vector<std::uint32_t>& tokens : items) {
      const std::string_view bytes(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(std::uint32_t));
      hash = hash * 31 + std::hash<std::string_view>()(bytes) + 1;
    }
  }
  return (std::uint64_t{hash} | 1U) << 32;
}

/// One value of a pooled tile, cell by cell.
class Square {
 public:
  explicit Square(const TileRequest& request)
      : is_of_weights_(request.stage == Stage::Weights),
        takes_largest_(is_of_weights_ && request.pooling == attention::Pooling::Max) {}

  void add(float value, bool is_masked) {
    if (is_masked) {
      fill_ = value;
      if (!is_of_weights_) return;  // the mean of those that are visible
    } else {
      is_masked_ = false;
    }
    largest_ = std::max(largest_, value);
    sum_ += double{value};
    ++count_;
  }
  bool is_masked() const { return is_masked_; }
  float value() const {
    if (count_ == 0) return fill_.value_or(kNoNumber);
    return takes_largest_ ? largest_ : static_cast<float>(sum_ / static_cast<double>(count_));
  }

 private:
  bool is_of_weights_, takes_largest_;
  bool is_masked_ = true;
  float largest_ = -std::numeric_limits<float>::infinity();
  double sum_ = 0.0;
  std::size_t count_ = 0;
  std::optional<float> fill_;
};

}  // namespace

AlignedRun::AlignedRun(std::shared_ptr<const Run> run, model::ModelInput input,
                       std::shared_ptr<const InputCounterparts> pairs, std::uint32_t line)
    : Run({.network = run->inputs().network,
           .input = std::move(input),
           .masks = run->inputs().masks,
           .interventions = run->inputs().interventions},
          run->timing()),
      run_(std::move(run)),
      pairs_(std::move(pairs)),
      pairs_hash_(hash_of(*pairs_)),
      line_(line) {}

const AlignedRun::Line& AlignedRun::line(const InputCounterparts::Items& items, std::uint32_t item) const {
  const bool is_of_copies = run_->inputs().input.source.batch != pairs_->source.size();
  return items.at(is_of_copies ? line_ : item);
}

BlockShape AlignedRun::shape(model::BlockRef block) const {
  BlockShape shape = run_->shape(block);
  shape.queries = static_cast<std::uint32_t>(pairs_->queries(block.kind).front().size());
  shape.keys = static_cast<std::uint32_t>(pairs_->keys(block.kind).front().size());
  return shape;
}

std::vector<Tile> AlignedRun::evaluate(std::span<const TileRequest> requests) const {
  std::vector<Tile> tiles;
  for (const TileRequest& request : requests) {
    const bool has_stage = shape(request.block).extent(request.stage).has_value();
    if (!has_stage) throw Error("the run has no such matrix");
    tiles.push_back(is_map(request.stage) ? evaluate_map(request) : evaluate_vectors(request));
  }
  return tiles;
}

Tile AlignedRun::evaluate_map(const TileRequest& request) const {
  const Line& rows = line(pairs_->queries(request.block.kind), request.batch);
  const auto columns =
      std::span(line(pairs_->keys(request.block.kind), request.batch)).subspan(request.column, request.columns);
  const Span across = span_of(columns);
  Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
  tile.row_max.assign(request.rows, -std::numeric_limits<float>::infinity());
  tile.row_sum.assign(request.rows, 0.0F);
  const std::uint32_t squares = request.tile_columns();
  const auto rows_at_once = static_cast<std::uint32_t>(std::max<std::size_t>(kStripCells / std::max(across.count, 1U), 1));
  for (std::uint32_t top = 0; top < request.rows; top += request.pool) {
    std::vector<Square> line_of_squares(squares, Square(request));
    const std::uint32_t bottom = std::min(top + request.pool, request.rows);
    const std::uint32_t sampled = request.sampled_rows > 0 ? std::min(top + request.sampled_rows, bottom) : bottom;
    for (std::uint32_t begin = top; begin < bottom; begin += rows_at_once) {
      const std::uint32_t end = std::min(begin + rows_at_once, bottom);
      const auto part = std::span(rows).subspan(request.row + begin, end - begin);
      const Span down = span_of(part);
      if (down.count == 0 || across.count == 0) continue;
      TileRequest exact = request;
      exact.row = down.first;
      exact.rows = down.count;
      exact.column = across.first;
      exact.columns = across.count;
      exact.pool = 1;
      exact.sampled_rows = exact.pooled_columns = 0;
      const Tile cells = std::move(run_->evaluate(std::span(&exact, 1)).front());
      for (std::uint32_t row = begin; row < end; ++row) {
        if (part[row - begin] == kNoCounterpart) continue;
        const std::uint32_t at = part[row - begin] - down.first;
        if (!cells.row_max.empty()) {
          tile.row_max[row] = cells.row_max[at];
          tile.row_sum[row] = cells.row_sum[at];
        }
        if (row >= sampled) continue;
        for (std::uint32_t column = 0; column < request.columns; ++column) {
          if (columns[column] == kNoCounterpart) continue;
          const std::uint32_t key = columns[column] - across.first;
          line_of_squares[column / request.column_pool()].add(cells.at(at, key), cells.is_masked(at, key));
        }
      }
    }
    for (const Square& square : line_of_squares) {
      tile.values.push_back(square.value());
      tile.masked.push_back(square.is_masked() ? 1 : 0);
    }
  }
  return tile;
}

Tile AlignedRun::evaluate_vectors(const TileRequest& request) const {
  const bool is_of_keys = attention::is_of_keys(request.stage);
  const model::BlockKind kind = request.block.kind;
  const Line& all = line(is_of_keys ? pairs_->keys(kind) : pairs_->queries(kind), request.batch);
  const auto rows = std::span(all).subspan(request.row, request.rows);
  Tile tile{.request = request, .values = {}, .masked = {}, .row_max = {}, .row_sum = {}};
  const std::uint32_t width = request.tile_columns();
  tile.values.assign(std::size_t{request.tile_rows()} * width, kNoNumber);
  for (std::uint32_t top = 0; top < request.rows; top += request.pool) {
    const auto part = rows.subspan(top, std::min(request.pool, request.rows - top));
    const Span down = span_of(part);
    if (down.count == 0) continue;
    TileRequest other = request;  // rows one by one, columns pooled as they are asked for
    other.row = down.first;
    other.rows = down.count;
    other.pooled_columns = request.column_pool();
    other.pool = 1;
    const Tile vectors = std::move(run_->evaluate(std::span(&other, 1)).front());
    for (std::uint32_t column = 0; column < width; ++column) {
      double sum = 0.0;
      std::size_t count = 0;
      for (const std::uint32_t token : part) {
        if (token == kNoCounterpart) continue;
        sum += double{vectors.at(token - down.first, column)};
        ++count;
      }
      tile.values[std::size_t{top / request.pool} * width + column] = static_cast<float>(sum / static_cast<double>(count));
    }
  }
  return tile;
}

Tensor AlignedRun::hidden(Stack stack) const {
  const Tensor other = run_->hidden(stack);
  return gather_tokens(other, other.is_empty() ? 0 : other.axis(0),
                       stack == Stack::Encoder ? pairs_->source : pairs_->target);
}

Tensor AlignedRun::encoder_output() const { return gather_tokens(run_->encoder_output(), 1, pairs_->source); }

Tensor AlignedRun::logits() const { return gather_tokens(run_->logits(), 1, pairs_->predicted()); }

Tensor AlignedRun::logits(std::span<const StateRef> states) const {
  const InputCounterparts::Items& items = pairs_->predicted();
  std::vector<StateRef> others;
  for (StateRef state : states) {
    const std::uint32_t token = line(items, state.batch).at(state.token);
    // One row at least, so that its width is known.
    state.token = token == kNoCounterpart ? 0 : token;
    others.push_back(state);
  }
  Tensor logits = run_->logits(others);
  const std::size_t width = states.empty() ? 0 : logits.values.size() / states.size();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (line(items, states[i].batch)[states[i].token] != kNoCounterpart) continue;
    std::fill_n(logits.values.begin() + static_cast<std::ptrdiff_t>(i * width), width, kNoNumber);
  }
  return logits;
}

std::vector<Tensor> AlignedRun::residuals(std::span<const ResidualRows> requests) const {
  std::vector<Tensor> found;
  for (const ResidualRows& request : requests) {
    const Line& all = line(request.stack == Stack::Encoder ? pairs_->source : pairs_->target, request.batch);
    const auto tokens = std::span(all).subspan(request.first, request.count);
    const Span down = span_of(tokens);
    ResidualRows other = request;
    other.first = down.first;
    other.count = std::max(down.count, 1U);
    const Tensor rows = std::move(run_->residuals(std::span(&other, 1)).front());
    Tensor gathered({request.count, rows.axis(1)});
    std::ranges::fill(gathered.values, kNoNumber);
    gather_rows(tokens, rows.axis(1), rows.values, down.first, gathered.values.data());
    found.push_back(std::move(gathered));
  }
  return found;
}

Interventions AlignedRun::own(const Interventions& changes) const {
  Interventions own;
  for (const Intervention& change : changes) {
    const auto* replace = std::get_if<Replace>(&change.operation);
    if (replace == nullptr) {
      own.push_back(change);
      continue;
    }
    const model::BlockRef block{.kind = change.scope.kind.value(), .layer = LayerIndex{change.scope.layer.value()}};
    const Line& all = line(is_of_keys(change.site) ? pairs_->keys(block.kind) : pairs_->queries(block.kind), replace->item);
    const std::size_t width = run_->shape(block).extent(attention::stage_of(change.site)).value().columns;
    const std::size_t count = std::min(replace->rows.size() / width, all.size() - replace->first);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t token = all[replace->first + i];
      if (token == kNoCounterpart) continue;
      const auto row = replace->rows.begin() + static_cast<std::ptrdiff_t>(i * width);
      const std::vector<float> numbers(row, row + static_cast<std::ptrdiff_t>(width));
      auto* before = own.empty() ? nullptr : std::get_if<Replace>(&own.back().operation);
      const bool goes_on = i > 0 && before != nullptr && before->first + before->rows.size() / width == token;
      if (goes_on) {
        before->rows.insert(before->rows.end(), numbers.begin(), numbers.end());
      } else {
        Intervention one = change;
        one.operation = Replace{.item = replace->item, .first = token, .rows = numbers};
        own.push_back(std::move(one));
      }
    }
  }
  return own;
}

std::shared_ptr<const Run> aligned_to(const Run& run, std::shared_ptr<const Run> other, TokenIdentity identity) {
  const model::ModelInput &ours = run.inputs().input, &theirs = other->inputs().input;
  const bool has_ids = !ours.source.ids.empty() && !theirs.source.ids.empty() && !ours.qkv && !theirs.qkv;
  if (!has_ids || ours.source.batch != theirs.source.batch || ours.target.has_value() != theirs.target.has_value())
    return other;
  auto pairs = input_counterparts(ours, theirs, identity);
  if (!pairs) return other;
  model::ModelInput input = by_positions_of(ours, theirs, *pairs);
  return std::make_shared<const AlignedRun>(std::move(other), std::move(input), std::move(pairs));
}

}  // namespace headlight::inference
