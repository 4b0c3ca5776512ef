#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/numbers.h"

namespace headlight::capture {

/// One array of a file, as the file describes it.
struct StoredArray {
  std::string name;
  Shape shape;
  /// Its numbers with these four axes, of as many numbers as `shape` has. Throws Error where their type can't be read.
  std::function<std::shared_ptr<const Numbers>(Shape four_axes)> open;
};

/// What a file holds: those of its arrays that were wanted, and texts by name.
struct StoredCapture {
  std::vector<StoredArray> arrays;
  std::map<std::string, std::string> metadata = {};
};

/// Is an array of this name wanted?
using NameFilter = bool (*)(std::string_view name);

/// A .safetensors file, and a zip archive of .npy files. Both throw Error in one line for whatever violates the format.
StoredCapture read_safetensors_capture(const std::filesystem::path& path, NameFilter is_wanted);
StoredCapture read_npz_capture(const std::filesystem::path& path, NameFilter is_wanted);

}  // namespace headlight::capture
