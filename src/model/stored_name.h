#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/parameter.h"

namespace headlight::model {

/// The name of a tensor in a file.
struct StoredName {
  std::filesystem::path file;
  std::string tensor;  ///< printable; empty where nothing is stored at the address
};

/// The tensor whose bytes are at `address` in a mapped file (Parameter::address()). For messages: it reads the file's
/// header again. Any thread.
StoredName stored_name(const std::byte* address);

/// Where rows of a weight are stored: weights may be transposed or rearranged views of a tensor, or parts of it.
struct StoredRows {
  StoredName name;
  Shape shape = {};                      ///< of the tensor; empty where nothing is stored
  std::string type = {};                 ///< of its numbers, as the file names it: "F16", "Q4_K"
  bool is_transposed = false;            ///< the weight's rows are the tensor's columns
  std::vector<std::uint32_t> rows = {};  ///< of the tensor, or its columns, in the weight's order
};

/// Of rows [first, first + count) of a weight (or numbers of a vector). It reads the file's header and two rows. Any thread.
StoredRows stored_rows(const Parameter& weight, std::uint32_t first, std::uint32_t count);

}  // namespace headlight::model
