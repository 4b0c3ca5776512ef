#include "export/file_array.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "export/json.h"
#include "export/markup.h"
#include "files/npy.h"

namespace headlight::exporting {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as in memory");

/// An array whose bytes are in memory.
FileArray array_in_memory(FileArray array, std::string bytes) {
  array.read = [bytes = std::make_shared<const std::string>(std::move(bytes))](std::size_t, std::string& to) {
    to += *bytes;
  };
  return array;
}

/// An npy, or a safetensors whose header is there.
class PlainArrayFile final : public ArrayFile {
 public:
  PlainArrayFile(const std::filesystem::path& path, std::span<const FileArray> arrays, std::string_view header)
      : ArrayFile(arrays), file_(path) {
    file_.append(header);
    // Numbers of 8 bytes first, so that each array begins at a multiple of its numbers' size.
    std::ranges::stable_sort(order_, std::greater<>(), [&](std::size_t array) { return arrays_[array].value_size(); });
  }
  void finish() override { file_.finish(); }

 protected:
  void write(std::string_view bytes) override { file_.append(bytes); }

 private:
  AtomicFile file_;
};

const char* safetensors_type(const FileArray& array) {
  if (array.type == ArrayType::Text) throw Error("{} holds texts, and .safetensors has numbers only", array.name);
  return array.type == ArrayType::F32 ? "F32" : "I64";
}

}  // namespace

std::string FileArray::npy_header() const {
  if (type == ArrayType::Text) return files::npy_header(fmt::format("<U{}", text_length), shape);
  return files::npy_header(type == ArrayType::F32 ? "<f4" : "<i8", shape);
}

std::size_t FileArray::value_size() const {
  if (type == ArrayType::Text) return std::size_t{4} * text_length;
  return type == ArrayType::F32 ? 4 : 8;
}

std::uint64_t FileArray::byte_count() const { return std::uint64_t{element_count(shape)} * value_size(); }

ArrayFile::ArrayFile(std::span<const FileArray> arrays) : arrays_(arrays.begin(), arrays.end()) {
  for (FileArray& array : arrays_) {
    array.read = {};
    total_ += array.byte_count();
    order_.push_back(order_.size());
  }
}

std::optional<ArrayFile::Part> ArrayFile::next() const {
  return at_ < order_.size() ? std::optional(Part{.array = order_[at_], .part = part_}) : std::nullopt;
}

void ArrayFile::append(std::string_view bytes) {
  const FileArray& array = arrays_[order_[at_]];
  if (part_ == 0) begin(array);
  write(bytes);
  found_ += bytes.size();
  written_ += bytes.size();
  if (++part_ < array.parts) return;
  if (found_ != array.byte_count())
    throw Error("{} got {} bytes, its shape needs {}", array.name, found_, array.byte_count());
  end();
  ++at_;
  part_ = found_ = 0;
}

void append_numbers(std::span<const float> values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

std::unique_ptr<ArrayFile> open_npy(const std::filesystem::path& path, const FileArray& array) {
  return std::make_unique<PlainArrayFile>(path, std::span(&array, 1), array.npy_header());
}

std::unique_ptr<ArrayFile> open_safetensors(const std::filesystem::path& path, std::span<const FileArray> arrays,
                                            const std::map<std::string, std::string>& metadata) {
  Json header = {{"__metadata__", Json::object()}};
  for (const auto& [key, text] : metadata) header["__metadata__"][key] = text;
  std::vector<const FileArray*> order;  // PlainArrayFile's
  for (const FileArray& array : arrays) order.push_back(&array);
  std::ranges::stable_sort(order, std::greater<>(), &FileArray::value_size);
  std::uint64_t end = 0;
  for (const FileArray* array : order) {
    const std::uint64_t begin = end;
    end += array->byte_count();
    header[array->name] = {{"dtype", safetensors_type(*array)}, {"shape", array->shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = to_text(header, -1);
  constexpr std::size_t kAlignment = 8;
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  std::string size(sizeof(std::uint64_t), '\0');
  const std::uint64_t length = text.size();
  std::memcpy(size.data(), &length, sizeof(length));
  return std::make_unique<PlainArrayFile>(path, arrays, size + text);
}

FileArray array_of(std::string name, Tensor tensor) {
  FileArray array{.name = std::move(name), .shape = tensor.shape, .read = {}};
  array.read = [tensor = std::make_shared<const Tensor>(std::move(tensor))](std::size_t, std::string& to) {
    append_numbers(tensor->values, to);
  };
  return array;
}

FileArray array_of(std::string name, const std::vector<std::vector<std::string>>& texts) {
  std::vector<std::vector<std::u32string>> points;
  std::size_t columns = 0, longest = 1;
  for (const std::vector<std::string>& row : texts) {
    std::vector<std::u32string>& line = points.emplace_back();
    for (const std::string& text : row) longest = std::max(longest, line.emplace_back(code_points(text)).size());
    columns = std::max(columns, row.size());
  }
  std::u32string all;
  all.reserve(points.size() * columns * longest);
  for (std::vector<std::u32string>& line : points) {
    line.resize(columns);
    for (std::u32string& text : line) {
      text.resize(longest);
      all += text;
    }
  }
  return array_in_memory({.name = std::move(name),
                          .type = ArrayType::Text,
                          .text_length = static_cast<std::uint32_t>(longest),
                          .shape = {static_cast<std::uint32_t>(points.size()), static_cast<std::uint32_t>(columns)},
                          .read = {}},
                         std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(char32_t)));
}

FileArray array_of(std::string name, Shape shape, std::vector<std::int64_t> numbers) {
  return array_in_memory({.name = std::move(name), .type = ArrayType::I64, .shape = std::move(shape), .read = {}},
                         std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)));
}

}  // namespace headlight::exporting
