#include "core/lfs_pointer.h"

#include "core/error.h"

namespace headlight {

void refuse_lfs_pointer(std::string_view content, const std::filesystem::path& path) {
  constexpr std::size_t kLongest = 1024;  // of a pointer, as its specification says
  if (content.size() > kLongest || !content.starts_with("version https://git-lfs")) return;
  throw Error("{} is a Git LFS pointer, not the file itself: run `git lfs pull` in its repository, or download it again",
              path.string());
}

}  // namespace headlight
