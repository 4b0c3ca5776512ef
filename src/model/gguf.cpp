#include "model/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "core/error.h"
#include "core/file.h"
#include "model/mapped_file.h"

namespace headlight::model {
namespace {

/// How ggml stores numbers: blocks of `numbers` in `bytes`.
struct GgmlType {
  std::string_view name;
  std::uint32_t numbers, bytes;
  std::optional<ElementType> element_type;  ///< none: Headlight doesn't decode it
};

/// Those that weights don't have. Sizes as in the table GGML_QUANT_SIZES of the Python package gguf; missing numbers were
/// withdrawn.
constexpr std::array<std::pair<std::uint32_t, GgmlType>, 8> kOtherTypes{{{9, {"Q8_1", 32, 40, {}}},
                                                                         {15, {"Q8_K", 256, 292, {}}},
                                                                         {24, {"I8", 1, 1, {}}},
                                                                         {25, {"I16", 1, 2, {}}},
                                                                         {26, {"I32", 1, 4, {}}},
                                                                         {27, {"I64", 1, 8, {}}},
                                                                         {28, {"F64", 1, 8, {}}},
                                                                         {41, {"Q1_0", 128, 18, {}}}}};

/// By its number in files; none for one that ggml doesn't have.
std::optional<GgmlType> ggml_type(std::uint32_t id) {
  if (const std::optional<ElementType> type = element_type_of_ggml(id)) {
    return GgmlType{to_string(*type), block_numbers(*type), block_bytes(*type), type};
  }
  const auto* found = std::ranges::find(kOtherTypes, id, &std::pair<std::uint32_t, GgmlType>::first);
  if (found == kOtherTypes.end()) return std::nullopt;
  return found->second;
}

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 22;  // of a list that is copied; vocabularies have a tenth
constexpr std::uint64_t kMaxTensors = std::uint64_t{1} << 20;
using Values = std::map<std::string, GgufValue, std::less<>>;

std::uint32_t read_version(FileCursor& cursor, const std::filesystem::path& path) {
  if (cursor.remaining() < kMagic.size() || std::memcmp(cursor.take(kMagic.size(), "").data(), kMagic.data(), 4) != 0) {
    cursor.fail("it doesn't begin with 'GGUF'");
  }
  const auto version = cursor.number<std::uint32_t>("its version");
  if (version == 0x02000000u || version == 0x03000000u) cursor.fail("its numbers are big-endian, which isn't supported");
  if (version < 2) cursor.fail("it has version {}, but only 2 and 3 are supported", version);
  if (version > 3) {
    throw Error(
        "{} has GGUF version {}, which is newer than 3, the last that this Headlight reads: look for a newer Headlight",
        utf8(path), version);
  }
  return version;
}

/// A length of 64 bits and as many characters.
std::string_view text(FileCursor& cursor, std::string_view what) {
  return cursor.text(cursor.number<std::uint64_t>(what), what);
}

GgufType read_type(FileCursor& cursor, std::string_view what) {
  const auto type = cursor.number<std::uint32_t>(what);
  if (type >= kGgufTypes) cursor.fail("{} has the unknown type {}", what, type);
  return static_cast<GgufType>(type);
}

/// Moves past `count` values of a type; skips nested lists, which no known key has, up to this depth.
void skip_values(FileCursor& cursor, GgufType type, std::uint64_t count, std::string_view what, int depth) {
  constexpr int kDeepest = 4;
  if (const std::uint32_t bytes = value_bytes(type); bytes != 0) {
    if (count > cursor.remaining() / bytes) cursor.fail("it ends inside {}, a list of {} values", what, count);
    cursor.take(count * bytes, what);
    return;
  }
  if (count > kMaxElements) cursor.fail("{} is a list of {} values, more than {}", what, count, kMaxElements);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (type == GgufType::String) {
      text(cursor, what);
      continue;
    }
    if (depth == kDeepest) cursor.fail("{} holds lists more than {} deep", what, kDeepest);
    const GgufType element = read_type(cursor, what);
    const auto elements = cursor.number<std::uint64_t>(what);
    skip_values(cursor, element, elements, what, depth + 1);
  }
}

Values read_values(FileCursor& cursor, std::uint64_t count, std::span<const std::byte> file) {
  Values values;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key(text(cursor, "a key"));
    const std::string what = fmt::format("the value of '{}'", printable(key));
    GgufValue value{.type = read_type(cursor, what), .is_list = false, .count = 1, .bytes = {}};
    if (value.type == GgufType::Array) {
      value.is_list = true;
      value.type = read_type(cursor, what);
      value.count = cursor.number<std::uint64_t>(what);
    }
    const std::size_t begin = cursor.position();
    skip_values(cursor, value.type, value.count, what, 0);
    value.bytes = file.subspan(begin, cursor.position() - begin);
    if (!values.emplace(key, value).second) cursor.fail("the key '{}' is there twice", printable(key));
  }
  return values;
}

/// A tensor whose position is known only once the header has been read.
struct PlacedTensor {
  StoredTensor tensor;
  std::uint64_t offset = 0, bytes = 0;
};

PlacedTensor read_tensor(FileCursor& cursor, const std::shared_ptr<const MappedFile>& file) {
  constexpr std::uint32_t kMaxAxes = 4;
  PlacedTensor placed;
  StoredTensor& tensor = placed.tensor;
  tensor.name = text(cursor, "a tensor's name");
  tensor.file = file;
  const std::string label = printable(tensor.name);
  const std::string what = fmt::format("the description of tensor '{}'", label);
  const auto axes = cursor.number<std::uint32_t>(what);
  if (axes > kMaxAxes) cursor.fail("tensor '{}' has {} axes, more than {}", label, axes, kMaxAxes);
  tensor.shape.resize(axes);
  for (std::uint32_t i = axes; i-- > 0;) {
    const auto axis = cursor.number<std::uint64_t>(what);
    if (axis > std::numeric_limits<std::uint32_t>::max()) cursor.fail("tensor '{}' has the axis {}", label, axis);
    tensor.shape[i] = static_cast<std::uint32_t>(axis);
  }
  const auto id = cursor.number<std::uint32_t>(what);
  const std::optional<GgmlType> type = ggml_type(id);
  if (!type) cursor.fail("tensor '{}' has the unknown ggml type {}", label, id);
  tensor.type = type->name;
  tensor.element_type = type->element_type;
  placed.offset = cursor.number<std::uint64_t>(what);

  const std::optional<std::uint64_t> count = checked_element_count(tensor.shape);
  const std::uint32_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (!count || row % type->numbers != 0) {
    cursor.fail("tensor '{}' of shape {} can't be stored as {}", label, headlight::to_string(tensor.shape), type->name);
  }
  placed.bytes = *count / type->numbers * type->bytes;
  return placed;
}

/// Bytes that tensors are aligned to.
std::uint64_t read_alignment(const FileCursor& cursor, const Values& values) {
  constexpr std::int64_t kDefault = 32, kMax = 1 << 20;
  const auto found = values.find("general.alignment");
  if (found == values.end()) return kDefault;
  const auto alignment = found->second.integers();
  if (!alignment || alignment->size() != 1 || alignment->front() < 1 || alignment->front() > kMax ||
      !std::has_single_bit(static_cast<std::uint64_t>(alignment->front()))) {
    cursor.fail("its general.alignment is not a power of two");
  }
  return static_cast<std::uint64_t>(alignment->front());
}

std::vector<StoredTensor> place(const FileCursor& cursor, std::vector<PlacedTensor> placed, std::uint64_t alignment,
                                std::span<const std::byte> file) {
  const std::uint64_t begin = (cursor.position() + alignment - 1) / alignment * alignment;
  const std::uint64_t size = begin < file.size() ? file.size() - begin : 0;
  std::vector<StoredTensor> tensors;
  for (auto& [tensor, offset, bytes] : placed) {
    if (offset % alignment != 0) {
      cursor.fail("tensor '{}' begins at {}, no multiple of {}", printable(tensor.name), offset, alignment);
    }
    if (bytes != 0 && (offset > size || bytes > size - offset)) {
      cursor.fail("tensor '{}' should be {} bytes at {}, but only {} bytes of numbers are there", printable(tensor.name),
                  bytes, offset, size);
    }
    if (bytes != 0) tensor.bytes = file.subspan(begin + offset, bytes);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

bool GgufFile::is_gguf(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && read_beginning(path, kMagic.size()) == kMagic;
}

std::filesystem::path first_gguf_part(const std::filesystem::path& path) {
  // "-00002-of-00003.gguf"
  constexpr std::size_t kSuffix = 20, kDigits = 5;
  std::string name = utf8(path.filename());
  if (name.size() <= kSuffix || !name.ends_with(".gguf")) return path;
  std::string suffix = name.substr(name.size() - kSuffix);
  std::ranges::replace_if(
      suffix, [](char c) { return c >= '0' && c <= '9'; }, '0');
  if (suffix != "-00000-of-00000.gguf") return path;
  return path.parent_path() / name.replace(name.size() - kSuffix + 1, kDigits, "00001");
}

std::filesystem::path gguf_part(const std::filesystem::path& first, std::int64_t part, std::int64_t parts) {
  constexpr std::string_view kFirst = "00001-of-00000.gguf";
  std::string name = utf8(first.filename());
  name.resize(name.size() - std::min(name.size(), kFirst.size()));
  return first.parent_path() / fmt::format("{}{:05}-of-{:05}.gguf", name, part, parts);
}

GgufFile::GgufFile(const std::filesystem::path& path) : file_(std::make_shared<const MappedFile>(path)) {
  FileCursor cursor(*file_, file_->bytes(), {.kind = "GGUF file", .advice = "download it again"});
  version_ = read_version(cursor, path);
  const auto tensor_count = cursor.number<std::uint64_t>("its number of tensors");
  const auto value_count = cursor.number<std::uint64_t>("its number of keys");
  if (tensor_count > kMaxTensors) cursor.fail("it says that it has {} tensors, more than {}", tensor_count, kMaxTensors);
  values_ = read_values(cursor, value_count, file_->bytes());
  std::vector<PlacedTensor> placed;
  for (std::uint64_t i = 0; i < tensor_count; ++i) placed.push_back(read_tensor(cursor, file_));
  std::vector<StoredTensor> tensors = place(cursor, std::move(placed), read_alignment(cursor, values_), file_->bytes());
  expect_disjoint(tensors);
  tensors_ = TensorTable(std::move(tensors));
  file_->expect_intact();
}

std::vector<std::string> GgufFile::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : values_) keys.push_back(key);
  return keys;
}

const GgufValue& GgufFile::value(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    throw Error("{} has no metadata under '{}': choose a GGUF file made by a newer converter", utf8(path()), printable(key));
  }
  return found->second;
}

void GgufFile::fail_type(std::string_view key, std::string_view expected) const {
  throw Error("{}: '{}' is {}, but {} is expected", utf8(path()), printable(key), value(key).description(), expected);
}

void GgufFile::expect_copyable(std::string_view key) const {
  const std::uint64_t count = value(key).count;
  if (count > kMaxElements) {
    throw Error("{}: '{}' is a list of {} values, more than {}", utf8(path()), printable(key), count, kMaxElements);
  }
}

}  // namespace headlight::model
