#include "attribution/frozen_reader.h"

#include <cmath>
#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
// GCC takes Eigen's loops, where it inlines them, for overruns and for reads of uninitialised memory, in some versions.
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wnull-dereference"
#endif
#include <Eigen/Core>

namespace headlight::attribution {
namespace {

using DoubleRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowsMap = Eigen::Map<const DoubleRows>;

Eigen::Index index(std::size_t number) { return static_cast<Eigen::Index>(number); }

RowsMap as_rows(const std::vector<double>& values, std::size_t width) {
  return {values.data(), index(values.size() / width), index(width)};
}

std::vector<double> numbers_of(const DoubleRows& rows) { return {rows.data(), rows.data() + rows.size()}; }

std::vector<double> numbers_of(const model::Parameter& parameter) {
  const Tensor tensor = parameter.tensor();
  return {tensor.values.begin(), tensor.values.end()};
}

std::string why_not_written(const model::AttentionLayer& layer) {
  if (!layer.weights || !layer.weights->output) return "heads before it have no W_O and write into no residual stream";
  if (layer.config.merge != model::MergeOrder::Concatenate) {
    return "heads before it are merged without a transpose, so a row of W_O's input mixes tokens";
  }
  return {};
}

}  // namespace

std::string why_no_writers(const model::Network& network, model::BlockRef block) {
  const model::AttentionLayer& own = network.layer(block);
  if (!own.weights) return "its queries and keys are given, not projected";
  if (own.config.clip > 0.0F) return "it cuts queries and keys off, so they are no sum of parts";
  if (!network.layer_numbers.empty()) return "layers without attention are between its layers";
  const model::Layers& layers = *network.layers;
  const bool is_encoder = block.kind == model::BlockKind::EncoderSelf;
  for (std::uint32_t i = 0; i < (is_encoder ? block.layer.value : layers.encoder.size()); ++i) {
    if (std::string why = why_not_written(layers.encoder[i]); !why.empty()) return why;
  }
  for (std::uint32_t i = 0; !is_encoder && i <= block.layer.value; ++i) {
    const model::DecoderLayer& layer = layers.decoder[i];
    const bool reads_self = i < block.layer.value || block.kind == model::BlockKind::Cross;
    std::string why = layer.self && reads_self ? why_not_written(*layer.self) : std::string();
    if (why.empty() && i < block.layer.value) why = why_not_written(layer.cross);
    if (!why.empty()) return why;
  }
  return {};
}

FrozenReader::FrozenReader(std::uint32_t first, std::uint32_t d_k, std::uint32_t width, std::uint32_t count)
    : width_(width), map_(std::size_t{d_k} * width), scales_(count, 1.0), biases_(model::reference::zeros({count, d_k})) {
  for (std::size_t i = 0; i < d_k; ++i) map_[i * width + first + i] = 1.0;
}

void FrozenReader::turn(const model::Rotary& rotary, const model::TokenBatch& tokens, std::uint32_t item,
                        std::uint32_t first) {
  const std::uint32_t length = tokens.position_count(item);
  const double factor = rotary.factor(length);
  is_interleaved_ = rotary.is_interleaved;
  for (std::uint32_t token = first; token < first + count(); ++token) {
    for (const double frequency : rotary.frequencies(length)) {
      const double angle = tokens.position(item, token) * frequency;
      angles_.insert(angles_.end(), {factor * std::cos(angle), factor * std::sin(angle)});
    }
  }
}

void FrozenReader::add_bias(std::span<const double> bias) {
  for (std::size_t i = 0; i < d_k(); ++i) {
    double sum = 0.0;
    for (std::size_t column = 0; column < width_; ++column) sum += map_[i * width_ + column] * bias[column];
    for (std::size_t token = 0; token < scales_.size(); ++token) biases_.values[token * d_k() + i] += scales_[token] * sum;
  }
}

void FrozenReader::pass_bias(const model::Parameter& bias) {
  if (!bias.is_empty()) add_bias(numbers_of(bias));
}

void FrozenReader::pass_norm(const model::Norm& norm, const Rows& rows, std::uint32_t at) {
  const std::vector<double> weight = numbers_of(norm.weight);
  if (!norm.bias.is_empty()) add_bias(std::span<const double>(numbers_of(norm.bias)).subspan(at, width_));
  const auto width = static_cast<double>(width_);
  const bool is_centred = norm.kind == model::Norm::Kind::Layer;
  for (std::size_t row = 0; row < map_.size(); row += width_) {
    double mean = 0.0;
    for (std::size_t i = 0; i < width_; ++i) {
      map_[row + i] *= weight[at + i] + double{norm.weight_offset};
      mean += map_[row + i] / width;
    }
    for (std::size_t i = 0; is_centred && i < width_; ++i) map_[row + i] -= mean;
  }
  for (std::size_t token = 0; token < scales_.size(); ++token) {
    const auto row = std::span(rows.values).subspan(token * width_, width_);
    double mean = 0.0, squares = 0.0;
    for (const double value : row) mean += is_centred ? value / width : 0.0;
    for (const double value : row) squares += (value - mean) * (value - mean) / width;
    scales_[token] /= std::sqrt(squares + double{norm.epsilon});
  }
}

void FrozenReader::pass_linear(const model::Linear& linear) {
  if (linear.has_bias()) pass_bias(linear.bias);
  const std::vector<double> weight = numbers_of(linear.weight);
  const DoubleRows product = as_rows(map_, width_) * as_rows(weight, linear.in());
  width_ = linear.in();
  map_ = numbers_of(product);
}

void FrozenReader::pass_scale(double factor) {
  for (double& scale : scales_) scale *= factor;
}

void FrozenReader::rotate(Rows& rows, bool is_back) const {
  const std::size_t pairs = angles_.size() / 2 / scales_.size();
  for (std::size_t token = 0; token < scales_.size(); ++token) {
    double* row = &rows.values[token * d_k()];
    for (std::size_t i = 0; i < pairs; ++i) {
      const double cosine = angles_[2 * (token * pairs + i)];
      const double sine = is_back ? -angles_[2 * (token * pairs + i) + 1] : angles_[2 * (token * pairs + i) + 1];
      double& first = row[is_interleaved_ ? 2 * i : i];
      double& second = row[is_interleaved_ ? 2 * i + 1 : i + pairs];
      const double turned = first * cosine - second * sine;
      second = second * cosine + first * sine;
      first = turned;
    }
  }
}

FrozenReader::Rows FrozenReader::of(const Rows& part, std::uint32_t first_column) const {
  const auto map = as_rows(map_, width_).middleCols(index(first_column), index(part.shape.back()));
  DoubleRows found = as_rows(part.values, part.shape.back()) * map.transpose();
  for (std::size_t token = 0; token < scales_.size(); ++token) found.row(index(token)) *= scales_[token];
  Rows rows{.shape = biases_.shape, .values = numbers_of(found)};
  rotate(rows, false);
  return rows;
}

FrozenReader::Rows FrozenReader::take_biases() {
  Rows rows = std::exchange(biases_, model::reference::zeros(biases_.shape));
  rotate(rows, false);
  return rows;
}

std::vector<double> FrozenReader::direction(std::span<const double> result) const {
  Rows back{.shape = {1, d_k()}, .values = {result.begin(), result.end()}};
  rotate(back, true);
  const DoubleRows row = as_rows(back.values, d_k()) * as_rows(map_, width_) * scales_.front();
  return numbers_of(row);
}

HeadReader::HeadReader(FrozenReader reader, const model::AttentionLayer& layer)
    : reader_(std::move(reader)), d_v_(layer.config.d_v) {
  // A few tokens: their rows go through W_O. Many: T · W_O is computed once.
  const std::size_t d_k = reader_.d_k();
  const model::Linear& output = *layer.weights->output;
  if (reader_.count() * (d_k + d_v_) >= d_k * d_v_) {
    reader_.pass_linear(output);
    return;
  }
  reader_.pass_bias(output.bias);
  weight_ = numbers_of(output.weight);
}

FrozenReader::Rows HeadReader::of(std::uint32_t head, const FrozenReader::Rows& merged) const {
  const auto own = as_rows(merged.values, merged.shape.back()).middleCols(index(std::size_t{head} * d_v_), index(d_v_));
  if (weight_.empty()) {
    return reader_.of({.shape = {merged.shape[0], d_v_}, .values = numbers_of(own)}, head * d_v_);
  }
  const auto weight = as_rows(weight_, merged.shape.back()).middleCols(index(std::size_t{head} * d_v_), index(d_v_));
  const DoubleRows rows = own * weight.transpose();
  return reader_.of({.shape = {merged.shape[0], static_cast<std::uint32_t>(rows.cols())}, .values = numbers_of(rows)});
}

std::vector<double> HeadReader::direction(std::uint32_t head, std::span<const double> result) const {
  const std::vector<double> written = reader_.direction(result);
  const auto first = std::size_t{head} * d_v_;
  if (weight_.empty()) return {written.begin() + index(first), written.begin() + index(first + d_v_)};
  const std::size_t width = weight_.size() / written.size();
  const DoubleRows row = as_rows(written, written.size()) * as_rows(weight_, width).middleCols(index(first), index(d_v_));
  return numbers_of(row);
}

}  // namespace headlight::attribution
