#include "attribution/head_composition.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace headlight::attribution {
namespace {

using model::BlockKind;
using model::BlockRef;

/// Reading a number costs about as much as so many multiply-adds.
constexpr std::size_t kReadCost = 4;

std::uint32_t d_model_of(const model::AttentionLayer& layer) { return layer.weights->output->out(); }

std::string complaint(const model::AttentionLayer& layer, std::uint32_t d_model) {
  if (layer.config.merge != model::MergeOrder::Concatenate) {
    return "its heads are merged without a transpose, so a row of W_O's input mixes tokens";
  }
  const model::AttentionWeights& weights = *layer.weights;
  const bool is_one_width = weights.query.in() == d_model && weights.key.in() == d_model && weights.value.in() == d_model &&
                            weights.output->out() == d_model;
  return is_one_width ? std::string() : "its heads read and write vectors of different widths";
}

/// Returns the place of a decoder's block in its order of computation.
std::uint32_t decoder_place(const BlockRef& block) {
  return 2 * block.layer.value + (block.kind == BlockKind::Cross ? 1 : 0);
}

/// [Composition] does `reader` read for it what `writer` writes?
std::array<bool, kCompositions> reads(const BlockRef& reader, const BlockRef& writer) {
  if (writer.kind == BlockKind::EncoderSelf) {
    if (reader.kind == BlockKind::Cross) return {false, true, true};
    const bool is_before = reader.kind == BlockKind::EncoderSelf && writer.layer.value < reader.layer.value;
    return {is_before, is_before, is_before};
  }
  const bool is_before = reader.kind != BlockKind::EncoderSelf && decoder_place(writer) < decoder_place(reader);
  const bool has_own_keys = reader.kind == BlockKind::DecoderSelf;
  return {is_before, is_before && has_own_keys, is_before && has_own_keys};
}

bool any(const std::array<bool, kCompositions>& flags) { return flags[0] || flags[1] || flags[2]; }

/// A head's rows [first, first + width) of a projection as columns: [d_model, width].
std::vector<float> read_projection(const model::Linear& projection, std::uint32_t first, std::uint32_t width) {
  std::vector<float> columns(std::size_t{projection.in()} * width);
  projection.weight.read_columns(first, width, columns.data(), width);
  projection.weight.expect_intact();
  return columns;
}

/// Σ a∘b of two matrices.
double inner(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

/// The trace of left·M·right·Mᵀ, of left [rows, rows], M [rows, columns] and right [columns, columns], both symmetric.
double square_of(const std::vector<float>& left, const std::vector<float>& m, const std::vector<float>& right,
                 std::size_t rows, std::size_t columns) {
  double sum = 0.0;
  std::vector<double> above(columns), behind(columns);
  for (std::size_t row = 0; row < rows; ++row) {
    std::ranges::fill(above, 0.0);
    std::ranges::fill(behind, 0.0);
    for (std::size_t i = 0; i < rows; ++i) {
      const double factor = double{left[row * rows + i]};
      for (std::size_t j = 0; j < columns; ++j) above[j] += factor * double{m[i * columns + j]};
    }
    for (std::size_t i = 0; i < columns; ++i) {
      const double factor = double{m[row * columns + i]};
      for (std::size_t j = 0; j < columns; ++j) behind[j] += factor * double{right[i * columns + j]};
    }
    for (std::size_t j = 0; j < columns; ++j) sum += above[j] * behind[j];
  }
  return sum;
}

/// to[i, j] += Σ a[row, i]·b[row, j] over some rows.
void add_rows(const float* a, std::size_t a_width, const float* b, std::size_t b_width, std::size_t rows, float* to) {
  for (std::size_t row = 0; row < rows; ++row, a += a_width, b += b_width) {
    for (std::size_t i = 0; i < a_width; ++i) {
      const float factor = a[i];
      float* const sums = to + i * b_width;
      for (std::size_t j = 0; j < b_width; ++j) sums[j] += factor * b[j];
    }
  }
}

}  // namespace

std::string why_not_composable(const model::Network& network) {
  const std::vector<BlockRef> blocks = network.blocks();
  if (blocks.empty()) return "it has no layers";
  for (const BlockRef& block : blocks) {
    const model::AttentionLayer& layer = network.layer(block);
    if (!layer.weights || !layer.weights->output) return "its heads write into no residual stream: they have no W_O";
    if (std::string why = complaint(layer, d_model_of(network.layer(blocks.front()))); !why.empty()) return why;
  }
  return {};
}

HeadComposition::HeadComposition(std::shared_ptr<const model::Network> network, BlockRef block, std::uint32_t head,
                                 bool only_writers)
    : network_(std::move(network)), block_(block) {
  if (const std::string why = why_not_composable(*network_); !why.empty()) {
    throw Error("the heads of this model don't compose: {}", why);
  }
  if (head >= network_->layer(block).config.heads) throw Error("this network has no such head");
  targets_.push_back({.block = block, .first_head = head, .end_head = head + 1, .is_own = true});
  for (const BlockRef& other : network_->blocks()) {
    if (!any(reads(block, other)) && (only_writers || !any(reads(other, block)))) continue;
    const std::uint32_t heads = network_->layer(other).config.heads;
    targets_.push_back({.block = other, .first_head = 0, .end_head = heads, .is_own = false});
    all_heads_ += heads;
  }
  next_head_ = head;
}

bool HeadComposition::go_on(std::size_t most_work) {
  std::size_t done = 0;
  while (target_ < targets_.size() && done < most_work) done += step(most_work - done);
  return target_ == targets_.size();
}

std::size_t HeadComposition::step(std::size_t most_work) {
  const Target& target = targets_[target_];
  if (!products_.empty()) {
    Product& product = products_.back();
    const std::size_t all_rows = product.a->size() / product.a_width,
                      row_work = std::size_t{product.a_width} * product.b_width;
    const std::size_t rows = std::min(std::max<std::size_t>(most_work / row_work, 1), all_rows - product.row);
    add_rows(product.a->data() + product.row * product.a_width, product.a_width,
             product.b->data() + product.row * product.b_width, product.b_width, rows, product.to->data());
    product.row += rows;
    if (product.row == all_rows) products_.pop_back();
    return rows * row_work;
  }
  if (std::exchange(has_head_, false)) {
    end_head(target);
    if (++next_head_ < target.end_head) return 1;
    output_.clear();
    if (++target_ < targets_.size()) next_head_ = targets_[target_].first_head;
    return 1;
  }
  const model::Parameter& output = network_->layer(target.block).weights->output->weight;
  if (output_.size() < output.element_count()) return read_output(target, most_work);
  return begin_head(target);
}

std::size_t HeadComposition::read_output(const Target& target, std::size_t most_work) {
  const model::Parameter& output = network_->layer(target.block).weights->output->weight;
  const std::size_t width = output.axis(1);
  const auto first = static_cast<std::uint32_t>(output_.size() / width);
  const auto rows = static_cast<std::uint32_t>(
      std::min<std::size_t>(std::max<std::size_t>(most_work / kReadCost / width, 1), output.axis(0) - first));
  output_.resize((first + rows) * width);
  output.read(first, rows, std::span(output_).last(rows * width));
  return rows * width * kReadCost;
}

std::size_t HeadComposition::begin_head(const Target& target) {
  const model::AttentionLayer& layer = network_->layer(target.block);
  const model::AttentionConfig& config = layer.config;
  const std::uint32_t kv_head = next_head_ / (config.heads / config.kv_head_count());
  Factors& factors = target.is_own ? own_ : other_;
  factors = {.d_k = config.d_k, .d_v = config.d_v};
  const bool writes = !target.is_own && any(reads(block_, target.block));
  if (!writes) {  // it is read with them
    factors.query = read_projection(layer.weights->query, next_head_ * config.d_k, config.d_k);
    factors.key = read_projection(layer.weights->key, kv_head * config.d_k, config.d_k);
  }
  factors.value = read_projection(layer.weights->value, kv_head * config.d_v, config.d_v);
  const std::size_t stride = std::size_t{config.heads} * config.d_v;
  for (std::size_t at = std::size_t{next_head_} * config.d_v; at < output_.size(); at += stride) {
    const auto row = output_.begin() + static_cast<std::ptrdiff_t>(at);
    factors.output.insert(factors.output.end(), row, row + config.d_v);
  }
  const auto multiply = [&](const std::vector<float>& a, std::uint32_t a_width, const std::vector<float>& b,
                            std::uint32_t b_width, std::vector<float>& to) {
    to.assign(std::size_t{a_width} * b_width, 0.0F);
    products_.push_back({.a = &a, .b = &b, .a_width = a_width, .b_width = b_width, .to = &to});
  };
  if (!writes) {
    multiply(factors.query, config.d_k, factors.query, config.d_k, factors.query_gram);
    multiply(factors.key, config.d_k, factors.key, config.d_k, factors.key_gram);
  }
  multiply(factors.value, config.d_v, factors.value, config.d_v, factors.value_gram);
  multiply(factors.output, config.d_v, factors.output, config.d_v, factors.output_gram);
  if (!target.is_own) {
    const Factors& writer = writes ? other_ : own_;
    const Factors& reader = writes ? own_ : other_;
    const auto kinds = writes ? reads(block_, target.block) : reads(target.block, block_);
    if (kinds[0]) multiply(writer.output, writer.d_v, reader.query, reader.d_k, middles_[0]);
    if (kinds[1]) multiply(writer.output, writer.d_v, reader.key, reader.d_k, middles_[1]);
    if (kinds[2]) multiply(writer.output, writer.d_v, reader.value, reader.d_v, middles_[2]);
  }
  has_head_ = true;
  return (factors.query.size() + factors.key.size() + factors.value.size() + factors.output.size()) * kReadCost;
}

void HeadComposition::end_head(const Target& target) {
  if (target.is_own) return;
  ComposedHead& composed = heads_.emplace_back();
  composed.block = target.block;
  composed.head = next_head_;
  composed.writes = any(reads(block_, target.block));
  const auto kinds = composed.writes ? reads(block_, target.block) : reads(target.block, block_);
  for (std::size_t kind = 0; kind < kCompositions; ++kind) {
    if (!kinds[kind]) continue;
    composed.scores[kind] = score(static_cast<Composition>(kind), composed.writes ? other_ : own_,
                                  composed.writes ? own_ : other_, middles_[kind]);
  }
}

std::optional<double> HeadComposition::score(Composition composition, const Factors& writer, const Factors& reader,
                                             const std::vector<float>& middle) {
  const double written = inner(writer.value_gram, writer.output_gram);
  const double read = composition == Composition::Value ? inner(reader.value_gram, reader.output_gram)
                                                        : inner(reader.query_gram, reader.key_gram);
  const std::vector<float>& right = composition == Composition::Query ? reader.key_gram
                                    : composition == Composition::Key ? reader.query_gram
                                                                      : reader.output_gram;
  const std::size_t columns = composition == Composition::Value ? reader.d_v : reader.d_k;
  const double square = square_of(writer.value_gram, middle, right, writer.d_v, columns);
  const double score = std::sqrt(std::max(square, 0.0)) / std::sqrt(written * read);
  return std::isfinite(score) ? std::optional(score) : std::nullopt;
}

}  // namespace headlight::attribution
