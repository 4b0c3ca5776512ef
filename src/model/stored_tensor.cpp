#include "model/stored_tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/utf8.h"
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

namespace {

constexpr std::array<DataType, 21> kDataTypes{DataType{"F32", 32, ElementType::F32},
                                              DataType{"F16", 16, ElementType::F16},
                                              DataType{"BF16", 16, ElementType::BF16},
                                              DataType{"F64", 64, {}},
                                              DataType{"I64", 64, {}},
                                              DataType{"I32", 32, {}},
                                              DataType{"I16", 16, {}},
                                              DataType{"I8", 8, {}},
                                              DataType{"U64", 64, {}},
                                              DataType{"U32", 32, {}},
                                              DataType{"U16", 16, {}},
                                              DataType{"U8", 8, {}},
                                              DataType{"BOOL", 8, {}},
                                              DataType{"F8_E4M3", 8, {}},
                                              DataType{"F8_E5M2", 8, {}},
                                              DataType{"F8_E8M0", 8, {}},
                                              DataType{"F6_E2M3", 6, {}},
                                              DataType{"F6_E3M2", 6, {}},
                                              DataType{"F4", 4, {}},
                                              DataType{"C64", 64, {}},
                                              DataType{"F8_E4M3FNUZ", 8, {}}};

constexpr std::string_view kDouble = "F64";  ///< its numbers are rounded to float32

template <typename T>
std::vector<std::int64_t> integers_of(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> result(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < result.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    result[i] = static_cast<std::int64_t>(value);
  }
  return result;
}

struct IntegerReader {
  std::string_view type;
  std::vector<std::int64_t> (*read)(std::span<const std::byte>);
};
constexpr std::array<IntegerReader, 9> kIntegerReaders{
    IntegerReader{"I64", integers_of<std::int64_t>},  IntegerReader{"I32", integers_of<std::int32_t>},
    IntegerReader{"I16", integers_of<std::int16_t>},  IntegerReader{"I8", integers_of<std::int8_t>},
    IntegerReader{"U64", integers_of<std::uint64_t>}, IntegerReader{"U32", integers_of<std::uint32_t>},
    IntegerReader{"U16", integers_of<std::uint16_t>}, IntegerReader{"U8", integers_of<std::uint8_t>},
    IntegerReader{"BOOL", integers_of<std::uint8_t>}};

ElementType weight_type(const StoredTensor& tensor) {
  if (tensor.element_type) return *tensor.element_type;
  throw Error("{}: tensor '{}' is stored as {}, which can't be read as weights: choose a file in F32, F16 or BF16{}",
              utf8(tensor.file->path()), printable(tensor.name), tensor.type,
              tensor.file->path().extension() == ".gguf" ? " or any of GGUF's quantised types" : "");
}

}  // namespace

const DataType* find_data_type(std::string_view name) {
  const auto found = std::ranges::find(kDataTypes, name, &DataType::name);
  return found == kDataTypes.end() ? nullptr : &*found;
}

Parameter StoredTensor::parameter() const {
  const ElementType weights = type == kDouble ? ElementType::F32 : weight_type(*this);
  if (shape.size() > 2) {
    throw Error("{}: tensor '{}' has shape {}, but weights have one or two axes", utf8(file->path()), printable(name),
                headlight::to_string(shape));
  }
  if (const std::uint32_t row = shape.empty() ? 1 : shape.back();
      row % block_numbers(weights) != 0 || (shape.size() < 2 && block_numbers(weights) != 1)) {
    throw Error("{}: tensor '{}' of shape {} can't be {}, which stores {} numbers of a row together", utf8(file->path()),
                printable(name), headlight::to_string(shape), type, block_numbers(weights));
  }
  if (type == kDouble) return tensor();
  if (copy) return {shape, weights, bytes, std::shared_ptr<const void>(copy)};
  return {shape, weights, bytes, file};
}

Tensor StoredTensor::tensor() const {
  Tensor result(shape);
  if (type == kDouble) {
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      double number = 0.0;
      std::memcpy(&number, bytes.data() + i * sizeof(double), sizeof(double));
      result.values[i] = static_cast<float>(number);
    }
    file->expect_intact();
    return result;
  }
  const ElementType weights = weight_type(*this);
  decode(weights, bytes.data(), result.values.size(), result.values.data());
  file->expect_intact();
  return result;
}

std::vector<std::int64_t> StoredTensor::integers() const {
  for (const IntegerReader& reader : kIntegerReaders) {
    if (reader.type == type) return reader.read(bytes);
  }
  throw Error("{}: tensor '{}' is stored as {}, but integers are expected", utf8(file->path()), printable(name), type);
}

TensorTable::TensorTable(std::vector<StoredTensor> tensors) : tensors_(std::move(tensors)) {
  std::ranges::sort(tensors_, {}, &StoredTensor::name);
  const auto twice = std::ranges::adjacent_find(tensors_, {}, &StoredTensor::name);
  if (twice != tensors_.end()) {
    throw Error("{}: there are two tensors named '{}': the file is damaged, download it again",
                utf8(std::next(twice)->file->path()), printable(twice->name));
  }
}

const StoredTensor* TensorTable::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &StoredTensor::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

std::string printable(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  return one_line(name, kLongest);
}

std::optional<std::uint64_t> checked_element_count(std::span<const std::uint32_t> shape) {
  // With a 0 among the axes the others may have any size.
  if (std::ranges::find(shape, 0u) != shape.end()) return 0;
  std::uint64_t count = 1;
  for (const std::uint32_t axis : shape) {
    if (count > (std::uint64_t{1} << 56) / axis) return std::nullopt;
    count *= axis;
  }
  return count;
}

void expect_disjoint(const std::vector<StoredTensor>& tensors) {
  std::vector<const StoredTensor*> ordered;
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.bytes.empty()) ordered.push_back(&tensor);
  }
  std::ranges::sort(ordered, {}, [](const StoredTensor* tensor) { return tensor->bytes.data(); });
  const auto overlap = std::ranges::adjacent_find(ordered, [](const StoredTensor* first, const StoredTensor* second) {
    return second->bytes.data() < first->bytes.data() + first->bytes.size();
  });
  if (overlap == ordered.end()) return;
  throw Error("{}: tensors '{}' and '{}' share bytes: the file is damaged, download it again",
              utf8((*overlap)->file->path()), printable((*overlap)->name), printable((*std::next(overlap))->name));
}

}  // namespace headlight::model
