#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attention/block_shape.h"
#include "capture/numbers.h"
#include "model/network.h"

namespace headlight::capture {

/// One attention block of a capture: its weights, or queries and keys from which they are computed.
struct CapturedBlock {
  model::BlockRef ref;
  attention::BlockShape shape;
  std::shared_ptr<const Numbers> weights = {};             ///< [batch, heads, n_q, n_k]
  std::shared_ptr<const Numbers> queries = {}, keys = {};  ///< [batch, heads, n, d_k]; null with weights
};

/// Attention that another program saved in a .safetensors or .npz file, as docs/CAPTURES.md describes it. Opening
/// one maps the file and reads headers and tokens; its numbers are read when they are asked for.
class CaptureFile {
 public:
  /// Throws Error in one line: what is wrong, where, and what to do.
  explicit CaptureFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  /// In the order of computation; at least one.
  const std::vector<CapturedBlock>& blocks() const { return blocks_; }
  bool is_causal() const { return is_causal_; }
  /// Layers of the captured sizes, without weights.
  const std::shared_ptr<const model::Network>& network() const { return network_; }
  /// The tokens' texts; where the file has none, their positions.
  const std::shared_ptr<const model::ModelInput>& input() const { return input_; }
  /// What of the file isn't shown, in one line; may be empty.
  const std::string& note() const { return note_; }

 private:
  std::filesystem::path path_;
  std::vector<CapturedBlock> blocks_;
  bool is_causal_ = false;
  std::shared_ptr<const model::Network> network_;
  std::shared_ptr<const model::ModelInput> input_;
  std::string note_;
};

/// By its name: .npz, or .safetensors whose header names tensors of a capture. False where it can't be read.
bool is_capture_path(const std::filesystem::path& path);

}  // namespace headlight::capture
