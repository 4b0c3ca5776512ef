#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "attention/layer_graph.h"
#include "attention/mask_words.h"
#include "attention/stage.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "model/config.h"
#include "ops/attention.h"
#include "ops/device_tensor.h"

namespace headlight::attention {

/// One row of pooled values while the exact rows of its squares are added.
class PooledRow {
 public:
  PooledRow(const TileRequest& request, bool takes_largest)
      : pool_(request.column_pool()),
        is_pooled_(request.pool > 1 || request.column_pool() > 1),
        takes_largest_(takes_largest),
        values_(request.tile_columns(), takes_largest ? -std::numeric_limits<double>::infinity() : 0.0),
        counts_(request.tile_columns(), 0) {}

  /// Adds the cells [first, end) of an exact row.
  void add(std::span<const float> line, std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t begin = first; begin < end;) {
      const std::uint32_t at = begin / pool_, next = std::min((at + 1) * pool_, end);
      add_to(at, line.subspan(begin, next - begin));
      begin = next;
    }
  }
  bool is_empty(std::size_t at) const { return counts_[at] == 0; }
  float value(std::size_t at) const {
    const bool is_mean = is_pooled_ && !takes_largest_;
    return static_cast<float>(is_mean ? values_[at] / static_cast<double>(counts_[at]) : values_[at]);
  }

 private:
  void add_to(std::size_t at, std::span<const float> cells) {
    counts_[at] += cells.size();
    if (!is_pooled_) {
      values_[at] = double{cells.front()};
    } else if (!takes_largest_) {
      for (const float cell : cells) values_[at] += double{cell};
    } else {
      bool is_odd = std::isnan(values_[at]);
      float largest = -std::numeric_limits<float>::infinity();
      for (const float cell : cells) {
        is_odd |= !(std::abs(cell) <= std::numeric_limits<float>::max());
        largest = std::max(largest, cell);
      }
      // A number among them must not hide one that isn't finite.
      values_[at] = is_odd ? std::numeric_limits<double>::quiet_NaN() : std::max(values_[at], double{largest});
    }
  }

  std::uint32_t pool_;  ///< columns of a square
  bool is_pooled_;
  bool takes_largest_;
  std::vector<double> values_;
  std::vector<std::uint64_t> counts_;
};

/// Tensors are shared between a run and the next one, which may take over what it would compute again.
using DeviceTensorPtr = std::shared_ptr<const ops::DeviceTensor>;

/// The tensors that one attention block left on the device: all that its maps can be evaluated from.
struct BlockRun {
  model::BlockRef ref;
  model::AttentionConfig config;
  BlockShape shape;
  DeviceTensorPtr x;       ///< [batch, 1, query, d_model], what Q is projected from; null when Q, K and V were given
  DeviceTensorPtr q;       ///< [batch, head, query, d_k], after norm and rotary positions where there are any
  DeviceTensorPtr k, v;    ///< [batch, KV head, key, d]
  DeviceTensorPtr stats;   ///< [batch, head, query] (m, l)
  DeviceTensorPtr merged;  ///< [batch, 1, query, heads · padded d_v]
  DeviceTensorPtr output;  ///< [batch, 1, query, d_out], null without an output projection
  /// Stages of the stream, [batch, 1, query, width]: only those that are asked for, where they are computed again.
  std::map<Stage, DeviceTensorPtr> stream;
  std::shared_ptr<const DeviceMask> mask;
  ops::MergedLayout layout;
  /// Blocks of two runs with the same version hold the same numbers in every stage; 0: unknown.
  std::uint64_t version = 0;

  /// Returns the inputs of the attention kernels for some of the queries.
  ops::AttentionInputs inputs(ops::Rows queries) const;
};

/// The tensors that one forward pass left on the device.
struct AttentionRun {
  std::vector<BlockRun> blocks;  ///< in the order of computation
  /// [batch, 1, token, d_model]: the token vectors, then what each layer returned; empty without such a stack.
  std::vector<DeviceTensorPtr> encoder_states, decoder_states;

  /// Throws Error when the run has no such block.
  const BlockRun& block(model::BlockRef ref) const;
};

/// Tiles whose evaluation is recorded on a stream, to be read when its submission is done.
class RecordedTiles {
 public:
  /// Returns how many of the requests, from the first on, one submission evaluates: at least one. Throws Error when the
  /// first one alone is more than the device binds.
  static std::size_t count(const gpu::Context& context, std::span<const TileRequest> requests);
  /// Throws Error naming the stage when a request lies outside its matrix or the block has no such stage. `run` and
  /// `requests` must outlive this.
  RecordedTiles(gpu::Stream& stream, ops::Kernels& kernels, const AttentionRun& run, std::span<const TileRequest> requests);

  /// Returns the tiles in the order of the requests.
  std::vector<Tile> read(const gpu::Submission& submission) const;

 private:
  std::span<const TileRequest> requests_;
  std::vector<bool> is_hidden_;  ///< of each request: the mask's rule hides all its cells, nothing is computed of them
  std::optional<gpu::Download> values_;
  std::vector<gpu::Download> stats_;  ///< of the maps among the requests
};

/// Evaluates the requests on the device, as many as fit into one submission at a time, and waits for them.
/// Throws Error naming the stage when a request lies outside its matrix or the block has no such stage.
std::vector<Tile> evaluate(ops::Kernels& kernels, const AttentionRun& run, std::span<const TileRequest> requests);

}  // namespace headlight::attention
