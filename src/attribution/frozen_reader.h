#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/network.h"
#include "model/reference.h"

namespace headlight::attribution {

/// A writer: it wrote a part of the residual stream that queries or keys are read from.
enum class WriterKind : std::uint8_t {
  Token,          ///< the embedding's row of the token, or the vector that the input has
  Position,       ///< the embedding's row of the position
  Type,           ///< the embedding's row of the token type
  Change,         ///< what an intervention wrote into the token vectors
  Before,         ///< all of the stream before `block`: of post-norm stacks, which rescale it again and again
  Head,           ///< a head's output through W_O
  AttentionBias,  ///< b_O, with the bias of a norm of the attention's output
  FeedForward,    ///< the feed-forward after `block`, with what an intervention wrote there
  Bias,           ///< biases of norms and of the projection, the same for every token but for the norms' scales
};

struct Writer {
  WriterKind kind = WriterKind::Token;
  model::BlockRef block = {};
  std::uint32_t head = 0;

  auto operator<=>(const Writer&) const = default;
};

/// Why a score of this attention isn't a sum over what was written before, in one line; empty: it is one.
std::string why_no_writers(const model::Network& network, model::BlockRef block);

/// The queries or keys of one head as a linear function of what was written into the residual stream of some tokens t, with
/// mean and scale of every norm held at their real values:
///   q_t = R_t · (σ_t · T · x_t + b_t)
/// R: rotary positions; T [d_k, width]; σ_t: the product of the norms' scales. It begins at the queries themselves, T = 1,
/// and goes back through what made them. In double precision.
class FrozenReader {
 public:
  using Rows = model::reference::Array;  ///< [token, width]

  /// Reads numbers [first, first + d_k) of `width` ones of `count` tokens.
  FrozenReader(std::uint32_t first, std::uint32_t d_k, std::uint32_t width, std::uint32_t count);

  /// Turns the results by the positions of tokens [first, first + count) of a line.
  void turn(const model::Rotary& rotary, const model::TokenBatch& tokens, std::uint32_t item, std::uint32_t first);
  /// Goes back through a norm that read these rows; its weights begin at `at`.
  void pass_norm(const model::Norm& norm, const Rows& rows, std::uint32_t at = 0);
  void pass_linear(const model::Linear& linear);
  void pass_bias(const model::Parameter& bias);
  void pass_scale(double factor);

  /// Returns R_t · σ_t · T · x_t [token, d_k] of a part x of the rows, in T's columns from `first_column` on.
  Rows of(const Rows& part, std::uint32_t first_column = 0) const;
  /// Returns R_t · b_t [token, d_k] of the biases that were passed since the last call.
  Rows take_biases();
  /// Returns the direction [width] of which a part's product is `result` · of(part). Of one token.
  std::vector<double> direction(std::span<const double> result) const;

  std::uint32_t count() const { return static_cast<std::uint32_t>(scales_.size()); }
  std::uint32_t d_k() const { return biases_.shape[1]; }

 private:
  void add_bias(std::span<const double> bias);
  void rotate(Rows& rows, bool is_back) const;

  std::size_t width_;
  std::vector<double> map_;     ///< T [d_k, width]
  std::vector<double> scales_;  ///< [token] σ
  Rows biases_;                 ///< [token, d_k] b
  std::vector<double> angles_;  ///< [token, pair, 2] cosine and sine; empty: nothing turns
  bool is_interleaved_ = false;
};

/// The outputs of an attention's heads as a reader of what W_O returned reads them.
class HeadReader {
 public:
  /// `reader` has passed all that follows W_O.
  HeadReader(FrozenReader reader, const model::AttentionLayer& layer);

  /// Returns the part of b_O and of the biases that the reader had passed.
  FrozenReader::Rows take_bias() { return reader_.take_biases(); }
  /// Returns the part of one head; `merged` [token, heads·d_v] is W_O's input.
  FrozenReader::Rows of(std::uint32_t head, const FrozenReader::Rows& merged) const;
  /// Returns the direction [d_v] of which the head's output times it is `result` · of(head). Of one token.
  std::vector<double> direction(std::uint32_t head, std::span<const double> result) const;

 private:
  FrozenReader reader_;
  std::uint32_t d_v_;
  std::vector<double> weight_;  ///< W_O [d_model, heads·d_v]; empty: the reader has passed it
};

}  // namespace headlight::attribution
