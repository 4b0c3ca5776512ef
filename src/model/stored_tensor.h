#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "model/element_type.h"
#include "model/mapped_file.h"
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

/// The place of a weight's rows in a file: weights may be transposed or rearranged views of a tensor, or parts of it.
struct StoredRows {
  StoredName name;
  Shape shape = {};                      ///< of the tensor; empty where nothing is stored
  std::string type = {};                 ///< of its numbers, as the file names it: "F16", "Q4_K"
  bool is_transposed = false;            ///< the weight's rows are the tensor's columns
  std::vector<std::uint32_t> rows = {};  ///< of the tensor, or its columns, in the weight's order
};

/// Returns the places of rows [first, first + count) of a weight (or numbers of a vector). It reads the file's header
/// and two rows. Any thread.
StoredRows stored_rows(const Parameter& weight, std::uint32_t first, std::uint32_t count);

/// How safetensors files name types of numbers.
struct DataType {
  std::string_view name;  ///< "BF16"
  std::uint32_t bits;
  std::optional<ElementType> element_type;
};
/// nullptr for an unknown name.
const DataType* find_data_type(std::string_view name);

/// One tensor of a file as the file describes it. Its bytes are in `file`, which it keeps alive, or in memory of its own.
struct StoredTensor {
  std::string name;
  std::string type;                         ///< as named in the file: "F32", "I64", "Q5_1"
  std::optional<ElementType> element_type;  ///< none: a type that weights can't have
  Shape shape;                              ///< outermost axis first
  std::span<const std::byte> bytes;
  std::shared_ptr<const MappedFile> file;
  std::shared_ptr<const std::vector<std::byte>> copy =
      {};  ///< the bytes, where the file has them compressed or not in a row
  std::shared_ptr<const StoredTensor> before =
      {};  ///< where an adapter has replaced it: the model's, for what is tied to it

  /// The tensor as a weight, nothing copied. Throws Error naming tensor and file when it has more than two axes or a type
  /// that weights can't have.
  Parameter parameter() const;
  /// All numbers as float32, any number of axes. Throws Error like parameter().
  Tensor tensor() const;
  /// All numbers of a tensor of I8 … I64, U8 … U64 or BOOL in order; throws Error when it holds something else.
  std::vector<std::int64_t> integers() const;
};

/// The tensors of one file or of all shards of a model, found by name.
class TensorTable {
 public:
  TensorTable() = default;
  /// Throws Error for a name that occurs twice.
  explicit TensorTable(std::vector<StoredTensor> tensors);

  /// Sorted by name.
  const std::vector<StoredTensor>& all() const { return tensors_; }
  /// nullptr when there is none of this name.
  const StoredTensor* find(std::string_view name) const;

 private:
  std::vector<StoredTensor> tensors_;
};

/// A name fit for one line of a message (one_line()), the middle of what is very long left out.
std::string printable(std::string_view name);

/// Numbers of a tensor with these axes, nullopt beyond 64 bits.
std::optional<std::uint64_t> checked_element_count(std::span<const std::uint32_t> shape);

/// Throws Error naming two tensors whose bytes overlap.
void expect_disjoint(const std::vector<StoredTensor>& tensors);

}  // namespace headlight::model
