#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "model/mapping_guard.h"

namespace headlight::model {

/// A file in memory as the system maps it: read-only, pages arrive when somebody looks. Hold it by
/// std::shared_ptr<const MappedFile>, so that a Parameter keeps it alive as its owner. Of a file that becomes shorter while
/// it is mapped, zeros are read: whoever reads asks expect_intact() afterwards.
class MappedFile {
 public:
  /// Throws Error naming the file and the reason when it can't be opened, isn't a regular file or is empty.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Throws Error naming the file when it has become shorter since it was mapped. `how`: Read notices what was read in vain
  /// and costs nothing; Size asks the system, which also notices the end of the last page.
  enum class Check { Read, Size };
  void expect_intact(Check how = Check::Read) const;
  /// Gives the pages of a part back to the system: they come again from the file when somebody looks.
  void release(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  std::uint64_t device_ = 0, inode_ = 0;  ///< of the mapped file, whatever has its name by now
  std::optional<MappingGuard> guard_;
};

}  // namespace headlight::model
