#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace headlight::model {

/// The name of a tensor in a file.
struct StoredName {
  std::filesystem::path file;
  std::string tensor;  ///< printable; empty where nothing is stored at the address
};

/// The tensor whose bytes are at `address` in a mapped file (Parameter::address()). For messages: it reads the file's
/// header again. Any thread.
StoredName stored_name(const std::byte* address);

}  // namespace headlight::model
