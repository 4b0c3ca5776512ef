#pragma once

#include "attention/block_shape.h"
#include "capture/attention_of.h"
#include "capture/captured_mask.h"
#include "capture/numbers.h"
#include "capture/stored_capture.h"
#include "model/config.h"

namespace headlight::capture {

/// One attention block of a capture: its weights, or queries and keys from which they are computed; and its values. Rows of
/// tokens that were in a cache are 0.
struct CapturedBlock {
  model::BlockRef ref;
  attention::BlockShape shape;
  CapturedMask mask = {};
  CapturedScore score = {};                                ///< of queries and keys
  std::shared_ptr<const Numbers> weights = {};             ///< [batch, heads, n_q, n_k]
  std::shared_ptr<const Numbers> queries = {}, keys = {};  ///< [batch, heads, n, d_k]; null with weights
  std::shared_ptr<const Numbers> values = {};              ///< [batch, kv_heads, n_k, d_v]; may be null
  model::Parameter output = {};                            ///< W_O [d_model, heads·d_v]; may be empty
  bool has_unread = false;  ///< the file has queries, keys, biases or sinks beside the weights, which aren't read
};

/// Returns what an array of this name holds, if a capture reads it: "attention.0", "cross_q.3", "sinks.0", "image",
/// "image.1".
Content content_of(std::string_view name);
/// Returns the number in an image's name, 1 of "image.1"; nullopt: the name isn't one of an image.
std::optional<std::uint32_t> image_number(std::string_view name);

/// The blocks of a file's arrays in the order of computation, at least one, without their masks' tokens. `cached`: tokens
/// whose keys are there and whose rows are not. Throws Error in one line that begins with `file`.
std::vector<CapturedBlock> make_blocks(std::string file, const StoredCapture& stored, std::uint32_t cached);

}  // namespace headlight::capture
