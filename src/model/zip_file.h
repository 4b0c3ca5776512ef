#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "model/mapped_file.h"

namespace headlight::model {

/// One file in a zip archive.
struct ZipMember {
  std::string_view name;             ///< in the mapped archive
  std::span<const std::byte> bytes;  ///< as stored
  std::uint64_t size = 0;            ///< unpacked
  std::uint32_t crc = 0;             ///< CRC-32 of the unpacked bytes
  bool is_compressed = false;
};

/// A zip archive, mapped: what torch.save and numpy.savez write, stored or deflated, with 64-bit sizes where they are needed
/// (format: PKWARE's APPNOTE.TXT). Any thread.
class ZipFile {
 public:
  /// Reads the archive's directory. Throws Error naming the file for everything that violates the format.
  ZipFile(const std::filesystem::path& path, FormatWords words);

  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  /// In the directory's order.
  const std::vector<ZipMember>& members() const { return members_; }
  /// nullptr when there is none of this name.
  const ZipMember* find(std::string_view name) const;

  /// The bytes of a deflated member, or the first `most` of them. Throws Error when all of them aren't those that were
  /// saved, and before it takes memory when there can't be so many.
  std::vector<std::byte> unpacked(const ZipMember& member, std::uint64_t most = ~std::uint64_t{0}) const;
  /// Reads a stored member whole; throws Error when its bytes aren't those that were saved.
  void expect_saved(const ZipMember& member) const;
  /// Throws Error when a deflated member claims more bytes than it can hold.
  void expect_possible(const ZipMember& member) const;

 private:
  template <typename... Args>
  [[noreturn]] void fail(const ZipMember& member, fmt::format_string<Args...> format, Args&&... args) const;
  void read_directory();
  ZipMember read_member(FileCursor& directory);

  std::shared_ptr<const MappedFile> file_;
  FormatWords words_;
  std::vector<ZipMember> members_;
  std::map<std::string_view, std::size_t> places_;  ///< of two with the same name the first
};

}  // namespace headlight::model
