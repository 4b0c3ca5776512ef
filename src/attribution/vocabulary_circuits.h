#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "model/head_weight.h"
#include "model/network.h"

namespace headlight::attribution {

/// The effect of a head on single tokens, from weights alone (Elhage et al. 2021): which logits it raises when it reads
/// a token (OV); which keys a query token seeks, and which queries seek a key token (QK).
enum class TokenCircuit : std::uint8_t { Written, Keys, Queries };

/// The positions of the query and the key; without them token vectors have no positions and queries and keys aren't
/// rotated.
struct CircuitPositions {
  std::uint32_t query = 0, key = 0;

  auto operator<=>(const CircuitPositions&) const = default;
};

/// Why the block's heads have no such circuit, in one line; empty: they have.
std::string why_no_circuit(const model::Network& network, model::BlockRef block, TokenCircuit circuit);
/// Do positions change its order of tokens: are they in token vectors, or do they rotate queries and keys?
bool has_circuit_positions(const model::Network& network, model::BlockRef block);

/// Tokens of the vocabulary that the circuit is about: rows of the unembedding, or of the embedding.
std::uint32_t circuit_vocabulary(const model::Network& network, model::BlockRef block, TokenCircuit circuit);

/// Consecutive tokens' vectors as the block's attention would read them, were they the whole state: embedded, without
/// positions where there is none, and through the norm before the attention, [count, d_model]. Exact in a first layer.
Tensor read_vectors(const model::Network& network, model::BlockRef block, std::uint32_t first, std::uint32_t count,
                    std::optional<std::uint32_t> position);

/// γ ∘ center(W_O·(W_V·x + b_V)) [d_model] of the token's vector x as read_vectors() has it without a position: times W_U it
/// is by how much the head raises each logit, once it attends to this token alone, but for the final norm's division. The
/// final norm's gain γ, and of a LayerNorm the centring, are folded in; its bias, b_O and the unembedding's bias, which no
/// token changes, are left out.
std::vector<float> written_direction(const model::Network& network, model::BlockRef block, std::uint32_t head,
                                     std::uint32_t token);

/// Scores of one query token with key tokens, or of one key token with query tokens: scale · q·k with biases and norms of
/// queries and keys, before soft caps and biases that are added to scores.
class CircuitScores {
 public:
  /// `circuit`: Keys or Queries; `token`: the one that is the other side.
  CircuitScores(const model::Network& network, model::BlockRef block, std::uint32_t head, TokenCircuit circuit,
                std::uint32_t token, const std::optional<CircuitPositions>& positions);

  /// Returns the projection that vectors of the listed side are multiplied with.
  const model::Linear& projection() const { return listed_.linear; }
  /// Returns the position of the listed side's tokens.
  std::optional<std::uint32_t> position() const { return listed_.position; }
  /// Returns the scores, given the listed tokens' products with the projection, [token, out].
  std::vector<double> of(const Tensor& projected) const;

 private:
  /// Queries or keys of the head; of all heads where a norm spans them.
  struct Side {
    model::Linear linear;
    const std::optional<model::Norm>* norm;
    std::uint32_t heads = 1, head = 0;
    std::optional<std::uint32_t> position;
  };
  Side side(model::Projection projection, std::uint32_t head, std::optional<std::uint32_t> position) const;
  /// [token, d_k] normed, cut and rotated.
  std::vector<double> finished(const Side& side, const Tensor& projected) const;

  const model::Layers& layers_;
  const model::AttentionLayer& layer_;
  Side listed_;
  std::vector<double> fixed_;  ///< [d_k] times the scale
};

/// Why it can't be said of an attention's heads whether they copy, in one line; empty: it can.
std::string why_no_copying(const model::AttentionLayer& layer, model::BlockKind kind);

/// Does a head write back what it reads? Re Σλ ÷ Σ|λ| of the eigenvalues λ of W_V·W_O (Elhage et al. 2021, "A Mathematical
/// Framework for Transformer Circuits", there with embedding and unembedding around it): 1 where every direction comes back
/// with the same sign, −1 with the opposite one, about 0 for weights at random. The weights are as they are stored: biases,
/// norms and their gains are left out. The eigenvalues that aren't 0 are those of W_O·W_V, [d_v, d_v]. In double precision;
/// d_model·d_v² multiply-adds and some 30·d_v³ for the eigenvalues: 10 ms for d_v = 64 and d_model = 768.
/// None: all eigenvalues are 0, or a weight isn't finite. Only where why_no_copying() is empty.
std::optional<double> ov_copying(const model::AttentionLayer& layer, std::uint32_t head);

/// Returns the same ratio of the eigenvalues of a matrix [size, size], row-major.
std::optional<double> eigenvalue_ratio(std::span<const double> matrix, std::uint32_t size);

}  // namespace headlight::attribution
