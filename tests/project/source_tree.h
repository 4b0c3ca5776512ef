#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headlight::test {

/// A text file of the repository.
struct SourceFile {
  std::string path;  ///< from the root, with forward slashes: "src/core/error.h"
  std::string text;

  std::string name() const { return path.substr(path.find_last_of('/') + 1); }
  std::string extension() const { return std::filesystem::path(path).extension().string(); }
};

/// Every hand-written file: the top-level files and the folders of the tree; no build outputs, images, golden data or fuzzer
/// seeds.
const std::vector<SourceFile>& source_tree();

/// The names in quotes or angle brackets of the file's #include lines, brackets kept: "core/error.h", "<vector>".
std::vector<std::string> includes_of(const std::string& text);

}  // namespace headlight::test
