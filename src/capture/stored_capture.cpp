#include "capture/stored_capture.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "files/npy.h"
#include "model/safetensors.h"
#include "model/stored_tensor.h"
#include "model/zip_file.h"

namespace headlight::capture {

namespace {

constexpr model::FormatWords kWords{
    .kind = ".npz file", .advice = "copy it again, or save it again with numpy.savez", .part = "array"};
/// The most bytes of a .npy header that are read: NumPy's have 128, or a little more with many axes.
constexpr std::size_t kHeaderBytes = std::size_t{64} << 10;
/// The most bytes of all compressed arrays of a file together: their numbers are kept in memory.
constexpr std::uint64_t kMaxInflated = std::uint64_t{2} << 30;

/// An array of an archive, from the member's byte `begin` on. Its bytes are compared with the archive's CRC-32 when the
/// first of them is read; a compressed one is in memory from then on.
class NpzNumbers final : public Numbers {
 public:
  NpzNumbers(std::string name, Shape shape, NumberType type, std::shared_ptr<const model::ZipFile> zip,
             const model::ZipMember& member, std::uint64_t begin)
      : Numbers(std::move(name), std::move(shape)), type_(type), zip_(std::move(zip)), member_(member), begin_(begin) {}

  void read(const Rectangle& cells, float* to) const override {
    if (bytes_.empty()) open();
    for (std::uint32_t row = 0; row < cells.rows; ++row) {
      const std::byte* from = bytes_.data() + element(cells, row) * byte_count(type_);
      rounded_ += decode(type_, from, cells.columns, to + std::size_t{row} * cells.columns);
    }
    zip_->file()->expect_intact();
  }
  std::uint64_t rounded() const override { return rounded_; }

 private:
  void open() const {
    if (member_.is_compressed) {
      inflated_ = zip_->unpacked(member_);
    } else {
      zip_->expect_saved(member_);
    }
    bytes_ = (member_.is_compressed ? std::span<const std::byte>(inflated_) : member_.bytes).subspan(begin_);
  }

  NumberType type_;
  std::shared_ptr<const model::ZipFile> zip_;
  const model::ZipMember& member_;
  std::uint64_t begin_ = 0;
  mutable std::vector<std::byte> inflated_;
  mutable std::span<const std::byte> bytes_;
  mutable std::uint64_t rounded_ = 0;
};

std::optional<NumberType> number_type_of(std::string_view type, Content content) {
  if (type == "<f4") return NumberType::F32;
  if (type == "<f2") return NumberType::F16;
  if (type == "<f8") return NumberType::F64;
  if (type == "|u1" && content == Content::Pixels) return NumberType::U8;
  return std::nullopt;
}

files::NpyHeader header_of(const model::ZipFile& zip, const model::ZipMember& member, Content content) {
  const auto fail = [&](std::string_view why) {
    throw Error("{}: array '{}': {}", utf8(zip.file()->path()), model::printable(member.name), why);
  };
  files::NpyHeader header;
  const std::vector<std::byte> unpacked =
      member.is_compressed ? zip.unpacked(member, kHeaderBytes) : std::vector<std::byte>();
  const std::span<const std::byte> bytes = member.is_compressed ? unpacked : member.bytes;
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kHeaderBytes));
  try {
    header = files::read_npy_header(head, member.size);
  } catch (const Error& error) {
    fail(error.what());
  }
  if (header.is_fortran) fail("it is stored column by column; save numpy.ascontiguousarray of it");
  if (!number_type_of(header.type, content)) {
    const bool is_image = content == Content::Pixels;
    fail(fmt::format("numbers of type {} are no {}; save it as {}float32, float16 or float64", header.type,
                     is_image ? "image" : "attention", is_image ? "uint8, " : ""));
  }
  return header;
}

}  // namespace

StoredCapture read_npz_capture(const std::filesystem::path& path, ContentOf content_of) {
  const auto zip = std::make_shared<const model::ZipFile>(path, kWords);
  StoredCapture stored;
  std::uint64_t inflated = 0;
  for (const model::ZipMember& member : zip->members()) {
    std::string_view name = member.name;
    constexpr std::string_view kSuffix = ".npy";
    if (!name.ends_with(kSuffix)) continue;
    name.remove_suffix(kSuffix.size());
    const Content content = content_of(name);
    if (content == Content::None) continue;
    if (member.is_compressed) {
      zip->expect_possible(member);
      if (member.size > kMaxInflated - inflated) {
        throw Error(
            "{}: its compressed arrays would take more than {} GiB of memory; save it with numpy.savez, without "
            "compression",
            utf8(path), kMaxInflated >> 30);
      }
      inflated += member.size;
    }
    files::NpyHeader header;
    try {
      header = header_of(*zip, member, content);
    } catch (const Error& error) {
      if (content != Content::Pixels) throw;
      stored.arrays.push_back({.name = std::string(name), .shape = {}, .open = {}, .problem = error.what()});
      continue;
    }
    const NumberType type = *number_type_of(header.type, content);
    stored.arrays.push_back({.name = std::string(name),
                             .shape = header.shape,
                             .open = [name = std::string(name), type, zip, &member,
                                      begin = header.begin](Shape four_axes) -> std::shared_ptr<const Numbers> {
                               return std::make_shared<const NpzNumbers>(name, std::move(four_axes), type, zip, member,
                                                                         begin);
                             }});
  }
  return stored;
}

namespace {

std::optional<NumberType> number_type(std::string_view name, Content content) {
  if (name == "F32") return NumberType::F32;
  if (name == "F16") return NumberType::F16;
  if (name == "BF16") return NumberType::BF16;
  if (name == "F64") return NumberType::F64;
  if (name == "U8" && content == Content::Pixels) return NumberType::U8;
  return std::nullopt;
}

std::optional<model::ElementType> element_type(std::string_view name) {
  if (name == "F32") return model::ElementType::F32;
  if (name == "F16") return model::ElementType::F16;
  return name == "BF16" ? std::optional(model::ElementType::BF16) : std::nullopt;
}

/// Opens the file. Its errors advise to save it again, since a user who saved a capture can't download it.
model::SafetensorsFile open_file(const std::filesystem::path& path) {
  try {
    return model::SafetensorsFile(path);
  } catch (const Error& error) {
    std::string message = error.what();
    constexpr std::string_view kAdvice = "download it again";
    if (message.ends_with(kAdvice)) message.replace(message.size() - kAdvice.size(), kAdvice.size(), "save it again");
    throw Error("{}", message);
  }
}

}  // namespace

StoredCapture read_safetensors_capture(const std::filesystem::path& path, ContentOf content_of) {
  const model::SafetensorsFile file = open_file(path);
  StoredCapture stored{.arrays = {}, .metadata = file.metadata()};
  for (const model::StoredTensor& tensor : file.tensors().all()) {
    const Content content = content_of(tensor.name);
    if (content == Content::None) continue;
    std::function<model::Parameter()> matrix;
    if (const auto type = element_type(tensor.type); type && tensor.shape.size() == 2)
      matrix = [tensor, type] { return model::Parameter(tensor.shape, *type, tensor.bytes, tensor.file); };
    stored.arrays.push_back({.name = tensor.name,
                             .shape = tensor.shape,
                             .open = [tensor, content](Shape four_axes) -> std::shared_ptr<const Numbers> {
                               const std::optional<NumberType> type = number_type(tensor.type, content);
                               if (!type) {
                                 throw Error("{}: tensor '{}' has the type {}; save it as {}F32, F16, BF16 or F64",
                                             utf8(tensor.file->path()), model::printable(tensor.name), tensor.type,
                                             content == Content::Pixels ? "U8, " : "");
                               }
                               return mapped_numbers(tensor.name, std::move(four_axes), *type, tensor.bytes, tensor.file);
                             },
                             .matrix = std::move(matrix)});
  }
  return stored;
}

}  // namespace headlight::capture
