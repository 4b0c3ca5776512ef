#pragma once

#include <compare>
#include <cstdint>

#include "attention/layer_graph.h"

namespace headlight::app {

/// A matrix of the steps: a stage of the run, a weight or the memory.
class StepMatrix {
 public:
  enum class Other : std::uint8_t {
    Memory,           ///< [key token, d_model] that cross-attention's keys and values come from
    TokenVectors,     ///< rows of the embedding's table, scaled [token, d_model]; of layer 0, as the next three
    PositionVectors,  ///< [token, d_model]
    TypeVectors,      ///< of token types, as BERT has them [token, d_model]
    EmbeddingSum,     ///< their sum, where a norm follows it
    AllQueries,       ///< of all heads side by side [token, heads·d_k]
    AllKeys,          ///< the keys of all KV heads side by side [key token, KV heads·d_k]
    AllValues,        ///< the values of all KV heads side by side [key token, KV heads·d_v]
    AllHeads,         ///< what all heads compute [token, heads·d_v]
    ExpertLoad,       ///< the share of the line's tokens that the router gives to each expert [1, experts]
    QueryWeight,      ///< as LayerWeight has them: W_Q [d_model, d_k] of one head, or of all
    KeyWeight,        ///< W_K [d_model, d_k], of the KV head
    ValueWeight,      ///< W_V [d_model, d_v], of the KV head
    OutputWeight,     ///< W_O [heads·d_v, d_model]
    GateWeight,       ///< W_G [d_model, d_ff] of a gated feed-forward
    HiddenWeight,     ///< W_1 [d_model, d_ff]
    FfnWeight,        ///< W_2 [d_ff, d_model]
    RouterWeight,     ///< W_R [d_model, experts]
  };

  constexpr StepMatrix(attention::Stage stage) : index_(static_cast<std::uint8_t>(stage)) {}  // NOLINT: a stage is a matrix
  constexpr StepMatrix(Other other)                                                           // NOLINT: it is a matrix
      : index_(static_cast<std::uint8_t>(attention::kStages + static_cast<std::size_t>(other))) {}
  constexpr StepMatrix(attention::LayerWeight weight)  // NOLINT: a weight is a matrix
      : StepMatrix(static_cast<Other>(static_cast<std::size_t>(Other::QueryWeight) + static_cast<std::size_t>(weight))) {}

  constexpr bool is_stage() const { return index_ < attention::kStages; }
  /// Precondition: is_stage().
  constexpr attention::Stage stage() const { return static_cast<attention::Stage>(index_); }
  /// Precondition: it is no stage.
  constexpr Other other() const { return static_cast<Other>(index_ - attention::kStages); }
  /// Precondition: is_weight().
  constexpr attention::LayerWeight weight() const {
    return static_cast<attention::LayerWeight>(index_ - StepMatrix(Other::QueryWeight).index_);
  }
  constexpr bool is_map() const { return is_stage() && attention::is_map(stage()); }
  constexpr bool is_weight() const { return index_ >= StepMatrix(Other::QueryWeight).index_; }
  /// Are its rows the keys' tokens?
  constexpr bool has_key_rows() const {
    return (is_stage() && attention::is_of_keys(stage())) || *this == StepMatrix(Other::Memory) ||
           *this == StepMatrix(Other::AllKeys) || *this == StepMatrix(Other::AllValues);
  }

  constexpr auto operator<=>(const StepMatrix&) const = default;

 private:
  std::uint8_t index_;  ///< stages first
};

}  // namespace headlight::app
