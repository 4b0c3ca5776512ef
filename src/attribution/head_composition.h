#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/network.h"

namespace headlight::attribution {

/// The use that a later head makes of an earlier head's output: for queries, keys or values.
enum class Composition : std::uint8_t { Query, Key, Value };
inline constexpr std::size_t kCompositions = 3;

/// A head that composes with the one that was asked about.
struct ComposedHead {
  model::BlockRef block;
  std::uint32_t head = 0;
  bool writes = false;  ///< it comes before the one that was asked about, which reads what it writes; else after it
  /// [Composition] none: of this kind it doesn't read what the other one writes, or a weight is all zeros.
  std::array<std::optional<double>, kCompositions> scores = {};
};

/// Why no head of the network composes with others, in one line; empty: they can be asked about.
std::string why_not_composable(const model::Network& network);

/// Composition scores of one head with every other one (Elhage et al. 2021, "A Mathematical Framework for Transformer
/// Circuits"): ‖W_OV¹·R‖_F ÷ (‖W_OV¹‖_F·‖R‖_F) of the head 1 that writes and the head 2 that reads, W_OV = W_V·W_O,
/// W_QK = W_Q·W_Kᵀ, vectors as rows, R = W_QK² (Query), W_QK²ᵀ (Key) or W_OV² (Value). 0 … 1; of independent random weights
/// about 1 ÷ √d_model. The weights are as they are stored: biases, norms and their gains, rotary positions and MLPs between
/// the heads are left out. With grouped queries a head has its KV head's W_K and W_V.
///
/// Everything is computed in factors of d_k and d_v: with M = W_O¹·W_Q² and Gram matrices G, ‖W_V·M·W_Kᵀ‖² is the trace of
/// G(W_V)·M·G(W_K)·Mᵀ. Sums over d_model in float32, the rest in double.
///
/// Encoder–decoder: heads compose that read what the other one writes. The encoder's write what encoder heads read, and the
/// keys and values of cross-attention; the decoder's what later decoder heads read, and cross-attention's queries.
class HeadComposition {
 public:
  /// `only_writers`: with heads that it reads alone. Throws Error in one line where the network has no such head, or
  /// why_not_composable().
  HeadComposition(std::shared_ptr<const model::Network> network, model::BlockRef block, std::uint32_t head,
                  bool only_writers = false);
  HeadComposition(const HeadComposition&) = delete;
  HeadComposition& operator=(const HeadComposition&) = delete;

  /// Computes about so many multiply-adds more, at least one piece of a weight. Returns whether all is done. Throws Error
  /// where a weight's file has become shorter.
  bool go_on(std::size_t most_work);
  /// The heads whose scores are known so far, by block in the order of computation, then by head.
  const std::vector<ComposedHead>& heads() const { return heads_; }
  std::size_t all_heads() const { return all_heads_; }  ///< how many it will be

 private:
  /// The weights of one head, [d_model, d] each, and their products with themselves, [d, d].
  struct Factors {
    std::uint32_t d_k = 0, d_v = 0;
    std::vector<float> query = {}, key = {}, value = {}, output = {};
    std::vector<float> query_gram = {}, key_gram = {}, value_gram = {}, output_gram = {};
  };
  /// to[i, j] += Σ a[row, i]·b[row, j], as far as it has come.
  struct Product {
    const std::vector<float>* a;
    const std::vector<float>* b;
    std::uint32_t a_width, b_width;
    std::vector<float>* to;
    std::size_t row = 0;
  };
  /// A block of which some heads are read.
  struct Target {
    model::BlockRef block;
    std::uint32_t first_head, end_head;
    bool is_own;
  };

  std::size_t step(std::size_t most_work);
  std::size_t read_output(const Target& target, std::size_t most_work);
  std::size_t begin_head(const Target& target);
  void end_head(const Target& target);
  static std::optional<double> score(Composition composition, const Factors& writer, const Factors& reader,
                                     const std::vector<float>& middle);

  std::shared_ptr<const model::Network> network_;
  model::BlockRef block_;
  std::vector<Target> targets_;  ///< the head itself first
  std::size_t target_ = 0;
  std::uint32_t next_head_ = 0;  ///< of the target
  std::vector<float> output_;    ///< [d_model, heads·d_v] W_O of the target, as far as it is read
  bool has_head_ = false;        ///< are `products_` of a head?
  std::vector<Product> products_;
  Factors own_, other_;
  std::array<std::vector<float>, kCompositions> middles_;  ///< [Composition] M
  std::vector<ComposedHead> heads_;
  std::size_t all_heads_ = 0;
};

}  // namespace headlight::attribution
