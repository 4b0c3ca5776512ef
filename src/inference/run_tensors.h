#pragma once

#include <array>
#include <compare>

#include "attention/run.h"
#include "gpu/stream.h"
#include "model/config.h"
#include "ops/attention_blocks.h"
#include "ops/device_tensor.h"

namespace headlight::inference {

/// The purpose of a tensor of a pass.
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
  Memory,  ///< the encoder's result as the decoder reads it
  Edited,  ///< a layer's input that an intervention changed
  // The roles from here on are scratch of a pass, which no run keeps.
  Vectors,  ///< token vectors before the embedding's norm and projection
  NormedVectors,
  Positions,    ///< position embeddings that are added after the projection
  Attended,     ///< the state between attention and feed-forward
  NormedState,  ///< what the feed-forward reads
  Gate,
  Inner,
  Branch,
  // Stages that are computed again for a question have these.
  AttentionSum,
  FeedForwardSum,
  PlainInner,  ///< before the activation
  PlainGate,
  // A mixture of experts has these.
  Router,
  Gates,
  Routing,  ///< words of ops::routing_numbers()
  ExpertInner,
  ExpertGate,
  ExpertOutput,
  SharedOutput,
  SharedGate,
};
constexpr bool is_scratch(Role role) { return role >= Role::Vectors; }

struct TensorKey {
  model::BlockKind kind = model::BlockKind::EncoderSelf;
  std::uint32_t layer = 0;  ///< 0 for scratch
  Role role = Role::State;

  auto operator<=>(const TensorKey&) const = default;
};

struct TensorSize {
  std::uint32_t items = 1, heads = 1, tokens = 1, width = 1;
};

/// Tensors that passes need only while they run: one set for all passes of a session, so that a pass of known sizes
/// allocates none. One submission after another uses them; the stream's barriers keep their layers apart.
class ScratchTensors {
 public:
  attention::DeviceTensorPtr get(gpu::Stream& stream, const TensorKey& key, const TensorSize& size,
                                 std::string_view purpose);
  /// Returns the scratch for attention by blocks of queries; one for each size.
  const ops::AttentionScratch* attention(gpu::Context& context, std::uint32_t heads, std::uint32_t queries,
                                         std::uint32_t keys, std::uint32_t items);
  /// Drops what wasn't asked for since the last call: tensors of a model that is gone. Call it when nothing is running.
  void drop_unused();

 private:
  struct Entry {
    attention::DeviceTensorPtr tensor;
    bool is_used = false;
  };
  struct AttentionEntry {
    std::shared_ptr<const ops::AttentionScratch> scratch;
    bool is_used = false;
  };
  std::map<TensorKey, Entry> tensors_;
  std::vector<attention::DeviceTensorPtr> replaced_;  ///< other sizes in the same pass
  std::map<std::array<std::uint32_t, 4>, AttentionEntry> attention_;
};

/// The tensors of one run, by name. A run that is made from another, its base, shares with it every tensor of which it
/// writes nothing, or only rows that no run has written yet; of the others it begins with a copy.
class RunTensors {
 public:
  /// A run without a base.
  RunTensors() = default;
  /// `overwrites_base`: nothing will read the base once this run is submitted, so its tensors needn't be copied where no
  /// third run shares them. The base must outlive the recording.
  RunTensors(const RunTensors& base, bool overwrites_base) : base_(&base), overwrites_base_(overwrites_base) {}

  /// The tensor of this name, of which the pass writes `rows` and keeps the rows before them. A new one holds zeros.
  attention::DeviceTensorPtr get(gpu::Stream& stream, const TensorKey& key, const TensorSize& size, ops::Rows rows,
                                 std::string_view purpose);

  /// Null where the run has none of this name.
  attention::DeviceTensorPtr find(const TensorKey& key) const;

  /// Does the pass write rows that the base reads?
  bool destroys_base() const { return destroys_base_; }
  /// The pass was computed: notes the rows that are written, and forgets the base.
  void commit();

 private:
  /// One tensor and how many of its rows any run has written.
  struct Shared {
    attention::DeviceTensorPtr tensor;
    std::uint32_t written = 0;
  };
  struct Entry {
    std::shared_ptr<Shared> shared;
    std::uint32_t written = 0;  ///< once the pass is computed
    bool is_own = false;        ///< no other run reads the tensor then
  };

  std::map<TensorKey, Entry> tensors_;
  const RunTensors* base_ = nullptr;
  bool overwrites_base_ = false;
  bool destroys_base_ = false;
};

}  // namespace headlight::inference
