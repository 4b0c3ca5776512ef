#include "model/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"

namespace headlight::model {
namespace {

using Json = nlohmann::json;

/// Reads one header; every error names the file.
class HeaderReader {
 public:
  explicit HeaderReader(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}

  std::vector<StoredTensor> read(std::map<std::string, std::string>& metadata) {
    const std::span<const std::byte> bytes = file_->bytes();
    if (bytes.size() < sizeof(std::uint64_t)) fail("it has {} bytes, fewer than its header's length takes", bytes.size());
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    if (length > bytes.size() - sizeof(length)) {
      fail("its header should have {} bytes, but the whole file has {}", length, bytes.size());
    }
    const Json header = parse(bytes.subspan(sizeof(length), length));
    data_ = bytes.subspan(sizeof(length) + length);

    std::vector<StoredTensor> tensors;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(entry, metadata);
      } else {
        tensors.push_back(read_tensor(name, entry));
      }
    }
    expect_disjoint(tensors);
    return tensors;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{} is no usable safetensors file: {}; download it again", utf8(file_->path()),
                fmt::format(format, std::forward<Args>(args)...));
  }

  Json parse(std::span<const std::byte> text) const {
    constexpr JsonLimits kLimits{.bytes = std::size_t{100} << 20, .depth = 8, .allows_repeated_keys = false};
    Result<Json> header = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, kLimits);
    if (!header) fail("its header: {}", header.error());
    if (!header->is_object()) fail("its header is not a JSON object");
    return std::move(header).value();
  }

  void read_metadata(const Json& entry, std::map<std::string, std::string>& metadata) const {
    if (!entry.is_object()) fail("'__metadata__' is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) fail("'__metadata__' holds something else than text under '{}'", printable(key));
      metadata[key] = value.get<std::string>();
    }
  }

  StoredTensor read_tensor(const std::string& name, const Json& entry) const {
    const std::string label = printable(name);
    const auto part = [&](const char* key) -> const Json& {
      if (!entry.is_object() || !entry.contains(key)) fail("tensor '{}' has no {}", label, key);
      return entry.at(key);
    };
    const Json& type_name = part("dtype");
    const DataType* type = type_name.is_string() ? find_data_type(type_name.get_ref<const std::string&>()) : nullptr;
    if (type == nullptr) fail("tensor '{}' has the unknown dtype {}", label, shown(type_name));

    Shape shape = read_shape(label, part("shape"));
    const Json& offsets = part("data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) {
      fail("tensor '{}' has no two data_offsets", label);
    }
    const auto begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    if (begin > end || end > data_.size()) {
      fail("tensor '{}' should be bytes {} to {}, but {} bytes follow the header", label, begin, end, data_.size());
    }
    const std::optional<std::uint64_t> count = checked_element_count(shape);
    if (!count || *count * type->bits != (end - begin) * 8) {
      fail("tensor '{}' of shape {} in {} doesn't fit its {} bytes", label, headlight::to_string(shape), type->name,
           end - begin);
    }
    return {.name = name,
            .type = std::string(type->name),
            .element_type = type->element_type,
            .shape = std::move(shape),
            .bytes = data_.subspan(begin, end - begin),
            .file = file_};
  }

  Shape read_shape(const std::string& label, const Json& axes) const {
    Shape shape;
    if (!axes.is_array()) fail("the shape of tensor '{}' is not a list", label);
    for (const Json& axis : axes) {
      if (!axis.is_number_unsigned() || axis.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
        fail("tensor '{}' has the axis {}", label, shown(axis));
      }
      shape.push_back(axis.get<std::uint32_t>());
    }
    return shape;
  }

  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> data_;
};

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path) {
  const auto file = std::make_shared<const MappedFile>(path);
  tensors_ = TensorTable(HeaderReader(file).read(metadata_));
  file->expect_intact();
}

const StoredTensor& SafetensorsFile::at(std::string_view name) const {
  if (const StoredTensor* tensor = tensors_.find(name)) return *tensor;
  throw Error("{} has no tensor '{}'", utf8(path_), printable(name));
}

}  // namespace headlight::model
