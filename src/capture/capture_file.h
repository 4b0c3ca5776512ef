#pragma once

#include <filesystem>

#include "capture/patch_grid.h"
#include "capture/stored_capture.h"
#include "inference/prompt.h"
#include "model/network.h"

namespace headlight::capture {

struct CapturedImages;

/// Attention that another program saved in a .safetensors or .npz file, as docs/CAPTURES.md describes it. Opening
/// one maps the file and reads headers, tokens and images; its numbers are read when they are asked for.
class CaptureFile {
 public:
  /// Throws Error in one line: what is wrong, where, and what to do. Images take up to a second to read: without them
  /// nothing is said about them either.
  explicit CaptureFile(std::filesystem::path path, bool reads_images = true);

  const std::filesystem::path& path() const { return path_; }
  /// The blocks in the order of computation; at least one. A hybrid's layers have the model's numbers
  /// (Network::layer_numbers).
  const std::vector<CapturedBlock>& blocks() const { return blocks_; }
  /// Returns how the block's scores are computed; null: there is no such block.
  const CapturedScore* score(model::BlockRef block) const;
  bool is_causal() const { return is_causal_; }
  /// Layers of the captured sizes, without weights.
  const std::shared_ptr<const model::Network>& network() const { return network_; }
  /// The tokens, with labels as of a model's own text; where the file has no texts, their positions.
  const std::shared_ptr<const inference::Prompt>& prompt() const { return prompt_; }
  std::shared_ptr<const model::ModelInput> input() const { return {prompt_, &prompt_->input}; }
  /// The images among the tokens of a line; `is_source`: of an encoder's, or of the only stack's, else of the decoder's.
  const PatchImages& images(bool is_source, std::uint32_t line) const;
  /// Returns in one line which parts of the file aren't shown or are odd; may be empty.
  const std::string& note() const { return note_; }

 private:
  std::filesystem::path path_;
  std::vector<CapturedBlock> blocks_;
  bool is_causal_ = false;
  std::shared_ptr<const model::Network> network_;
  std::shared_ptr<const inference::Prompt> prompt_;
  std::shared_ptr<const CapturedImages> images_;  ///< never null
  std::string note_;
};

/// Does the file's causal mask hide later keys in this kind of attention? In an encoder and a decoder it is the decoder's.
bool is_causal(const CaptureFile& file, model::BlockKind kind);

/// Does the path name a capture: .npz, or .safetensors whose header names tensors of a capture? False where the file
/// can't be read.
bool is_capture_path(const std::filesystem::path& path);

}  // namespace headlight::capture
