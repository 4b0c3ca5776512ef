#include "model/stored_name.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "model/checkpoint_files.h"
#include "model/mapped_file.h"

namespace headlight::model {
namespace {

/// Calls use(tensor) with the tensor of a file that has the offset, if any.
template <typename Use>
void find_at(const TensorTable& tensors, std::size_t offset, const Use& use) {
  for (const StoredTensor& tensor : tensors.all()) {
    if (tensor.copy) continue;
    const auto begin = static_cast<std::size_t>(tensor.bytes.data() - tensor.file->bytes().data());
    if (offset >= begin && offset < begin + tensor.bytes.size()) return use(tensor);
  }
}

template <typename Use>
void find_in_file(const MappedAddress& mapped, const Use& use) {
  try {
    find_at(read_tensors(mapped.path), mapped.offset, use);
  } catch (const Error&) {
    return;  // the file has changed since it was mapped
  }
}

/// Does a row of the weight have the numbers of a row of the tensor? A square weight's shape doesn't say.
bool has_row(const Parameter& tensor, const Parameter& weight, std::uint32_t row) {
  const std::uint32_t source = weight.rows(row, 1).first_row(), width = weight.axis(1);
  if (tensor.axis(1) != width || source >= tensor.axis(0)) return false;
  std::vector<float> of_weight(width), of_tensor(width);
  weight.read(row, 1, of_weight);
  tensor.read(source, 1, of_tensor);
  return of_weight == of_tensor;
}

}  // namespace

StoredName stored_name(const std::byte* address) {
  const std::optional<MappedAddress> mapped = find_mapped_address(address);
  if (!mapped) return {};
  StoredName name{mapped->path, {}};
  find_in_file(*mapped, [&](const StoredTensor& tensor) { name.tensor = printable(tensor.name); });
  return name;
}

StoredRows stored_rows(const Parameter& weight, std::uint32_t first, std::uint32_t count) {
  StoredRows result;
  const std::optional<MappedAddress> mapped = weight.is_empty() ? std::nullopt : find_mapped_address(weight.address());
  if (!mapped || first >= weight.axis(0)) return result;
  result.name.file = mapped->path;
  find_in_file(*mapped, [&](const StoredTensor& tensor) {
    result.name.tensor = printable(tensor.name);
    result.shape = tensor.shape;
    result.type = tensor.type;
    const bool is_matrix = tensor.shape.size() == 2 && weight.shape().size() == 2;
    result.is_transposed = is_matrix && !has_row(tensor.parameter(), weight, first);
  });
  for (std::uint32_t row = first; row < std::min(first + count, weight.axis(0)); ++row) {
    result.rows.push_back(weight.rows(row, 1).first_row());
  }
  return result;
}

}  // namespace headlight::model
