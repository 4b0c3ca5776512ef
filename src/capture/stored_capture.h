#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "attention/layer_graph.h"
#include "capture/attention_of.h"
#include "capture/capture_tokens.h"
#include "capture/numbers.h"
#include "capture/patch_grid.h"
#include "model/config.h"
#include "model/parameter.h"

namespace headlight::capture {

/// One array of a file, as the file describes it.
struct StoredArray {
  std::string name;
  Shape shape;
  /// Opens its numbers with these four axes, whose product is the number of numbers of `shape`. Throws Error where
  /// their type can't be read.
  std::function<std::shared_ptr<const Numbers>(Shape four_axes)> open;
  /// Opens an array of two axes in place: its numbers are read where they are stored. Empty where the file doesn't have
  /// them as they are.
  std::function<model::Parameter()> matrix = {};
  /// The reason why pixels can't be read, in one line; then there is neither shape nor `open`.
  std::string problem = {};
};

/// The content of a file: those of its arrays that were wanted, and texts by name.
struct StoredCapture {
  std::vector<StoredArray> arrays;
  std::map<std::string, std::string> metadata = {};
};

/// The kind of array that a name stands for, if a capture wants it.
enum class Content : std::uint8_t { None, Attention, Pixels };
using ContentOf = Content (*)(std::string_view name);

/// A .safetensors file, and a zip archive of .npy files. Both throw Error in one line for whatever violates the format.
StoredCapture read_safetensors_capture(const std::filesystem::path& path, ContentOf content_of);
StoredCapture read_npz_capture(const std::filesystem::path& path, ContentOf content_of);

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

/// The images of a capture, whose patches are tokens of a side: an encoder's (or a single stack's), or a decoder's.
struct CapturedImages {
  static constexpr std::size_t kSource = 0, kTarget = 1, kSides = 2;

  /// [side][line], or one for all lines alike; empty: all tokens are words.
  std::array<std::vector<PatchImages>, kSides> of_sides = {};
  /// A note in one line about images that are wrong or odd; empty: there are none.
  std::string note = {};

  const PatchImages& of(std::size_t side, std::uint32_t line) const;
};

/// The file that images are read from, and its metadata about them.
struct ImageSource {
  std::filesystem::path capture;         ///< the file; images are beside it or below
  const ImageMetadata* words = nullptr;  ///< never null
  /// `image`, or `image.0`, `image.1`, … of the capture, in this order.
  std::vector<const StoredArray*> pixels = {};
  struct Side {
    std::uint32_t batch = 0, tokens = 0;              ///< 0 tokens: there is none
    const std::optional<Positions>* spans = nullptr;  ///< of its lines; null or none: nothing is said
  };
  std::array<Side, CapturedImages::kSides> sides = {};
};

/// Never throws Error: a capture is shown without an image that can't be.
CapturedImages read_images(const ImageSource& source);

/// Names tokens without texts: patches by row and column, "3,7", a class token "[class]", others by their positions.
std::vector<std::string> patch_names(const PatchImages& images, std::uint32_t tokens);

}  // namespace headlight::capture
