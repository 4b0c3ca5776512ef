#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "capture/numbers.h"
#include "model/parameter.h"

namespace headlight::capture {

/// One array of a file, as the file describes it.
struct StoredArray {
  std::string name;
  Shape shape;
  /// Its numbers with these four axes, of as many numbers as `shape` has. Throws Error where their type can't be read.
  std::function<std::shared_ptr<const Numbers>(Shape four_axes)> open;
  /// Where the file has them as they are: the numbers of an array of two axes, which are read where they are stored.
  std::function<model::Parameter()> matrix = {};
  /// Of pixels that can't be read: why, in one line; then there is neither shape nor `open`.
  std::string problem = {};
};

/// What a file holds: those of its arrays that were wanted, and texts by name.
struct StoredCapture {
  std::vector<StoredArray> arrays;
  std::map<std::string, std::string> metadata = {};
};

/// What an array of a name holds, if it is wanted.
enum class Content : std::uint8_t { None, Attention, Pixels };
using ContentOf = Content (*)(std::string_view name);

/// A .safetensors file, and a zip archive of .npy files. Both throw Error in one line for whatever violates the format.
StoredCapture read_safetensors_capture(const std::filesystem::path& path, ContentOf content_of);
StoredCapture read_npz_capture(const std::filesystem::path& path, ContentOf content_of);

}  // namespace headlight::capture
