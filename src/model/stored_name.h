#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace headlight::model {

/// A tensor of a file, by its name there.
struct StoredName {
  std::filesystem::path file;
  std::string tensor;  ///< printable; empty where nothing is stored at the address
};

/// The tensor whose bytes lie at `address` in a mapped file (Parameter::address()). Reads the file's header again: for
/// messages. Any thread.
StoredName stored_name(const std::byte* address);

}  // namespace headlight::model
