#pragma once

#include <optional>
#include <string>

#include "model/architectures/sizes.h"
#include "model/architectures/tensors.h"
#include "model/network.h"

namespace headlight::model {

/// Builds a family's layers from its tensors.
class LayerBuilder {
 public:
  LayerBuilder(const Family& family, const Sizes& sizes, FamilyTensors& tensors)
      : family_(family), sizes_(sizes), tensors_(tensors) {}

  /// Layer `number` of the encoder or of the only stack.
  AttentionLayer layer(std::uint32_t number) const;
  /// Layer `number` of the decoder, whose self-attention adds position bias `bias` when it has one.
  DecoderLayer decoder_layer(std::uint32_t number, std::optional<std::uint32_t> bias) const;

 private:
  /// Full names of `names` in one layer, without the family's prefix.
  std::string in_layer(const StackNames& stack, std::uint32_t number, Names names) const;
  AttentionLayer attention(const StackNames& stack, std::uint32_t number, const AttentionNames& names,
                           AttentionConfig config) const;
  void add_feed_forward(const StackNames& stack, std::uint32_t number, std::uint32_t d_ff, AttentionLayer& layer) const;
  BranchNorms norms(const StackNames& stack, std::uint32_t number, Names norm, Names inside) const;
  Norm norm(const std::string& name, std::uint32_t width) const;
  AttentionConfig config(const StackSizes& stack) const;

  const Family& family_;
  const Sizes& sizes_;
  FamilyTensors& tensors_;
};

}  // namespace headlight::model
