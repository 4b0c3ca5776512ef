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

}  // namespace headlight::capture
