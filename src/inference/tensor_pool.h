#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "attention/run.h"
#include "gpu/stream.h"
#include "model/config.h"
#include "ops/attention_blocks.h"
#include "ops/device_tensor.h"

namespace headlight::inference {

/// What a tensor of a pass is for.
enum class Role : std::uint8_t {
  State,   ///< a layer's input; number `layers` is the last one's output
  Middle,  ///< a decoder layer between its two attentions
  Normed,  ///< what attention reads where a norm comes before it
  Query,
  Key,
  Value,
  Stats,
  Merged,
  Output,
  Memory,   ///< the encoder's result as the decoder reads it
  Vectors,  ///< token vectors before the embedding's norm and projection
  NormedVectors,
  Places,       ///< what is added behind the projection
  Attended,     ///< scratch of a layer, shared by all: the state between attention and feed-forward
  NormedState,  ///< … what the feed-forward reads
  Gate,         ///< … and so on
  Inner,
  Branch,
};

struct TensorKey {
  model::BlockKind kind = model::BlockKind::EncoderSelf;
  std::uint32_t layer = 0;  ///< 0 for scratch
  Role role = Role::State;

  auto operator<=>(const TensorKey&) const = default;
};

struct TensorSize {
  std::uint32_t items = 1, heads = 1, tokens = 1, width = 1;
};

/// The tensors of a pass. A pool begins with what the one before it left: a tensor of the same name and size is used again,
/// with the numbers in it, so that a keystroke allocates nothing and finds what needn't be computed again.
class TensorPool {
 public:
  /// The tensor of this name and size; a new one holds zeros.
  attention::DeviceTensorPtr get(gpu::Stream& stream, const TensorKey& key, const TensorSize& size,
                                 std::string_view purpose);

  /// One scratch serves every attention of these sizes; the stream's barriers keep them apart.
  const ops::AttentionScratch* scratch(gpu::Context& context, std::uint32_t heads, std::uint32_t queries, std::uint32_t keys,
                                       std::uint32_t items);

  /// Drops what nobody asked for since the last call: tensors of a model that is gone.
  void drop_unused();

 private:
  struct Entry {
    attention::DeviceTensorPtr tensor;
    bool is_used = false;
  };
  struct ScratchEntry {
    std::shared_ptr<const ops::AttentionScratch> scratch;
    bool is_used = false;
  };
  std::map<TensorKey, Entry> tensors_;
  std::vector<attention::DeviceTensorPtr> retired_;  ///< scratch of other sizes in the same pass
  std::map<std::array<std::uint32_t, 4>, ScratchEntry> scratches_;
};

}  // namespace headlight::inference
