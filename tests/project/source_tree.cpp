#include "project/source_tree.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

bool is_written_by_hand(const std::string& path) {
  static constexpr std::array kSkipped = {".png", ".jpg", ".svg", ".npy", ".json", ".safetensors", ".ttf", ".ico", ".pyc"};
  const std::string extension = fs::path(path).extension().string();
  return std::find(kSkipped.begin(), kSkipped.end(), extension) == kSkipped.end() &&
         path.find("golden/") == std::string::npos && !path.starts_with("tests/fuzz/seeds/");
}

std::string read(const fs::path& path) {
  std::string text(fs::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

std::vector<SourceFile> read_tree() {
  const fs::path root = HEADLIGHT_SOURCE_DIR;
  std::vector<SourceFile> files;
  const auto add = [&](const fs::directory_entry& entry) {
    const std::string path = fs::relative(entry.path(), root).generic_string();
    const bool is_git_link = path == ".git";  // in a worktree, a file that names the repository's folder
    if (entry.is_regular_file() && !is_git_link && is_written_by_hand(path)) files.push_back({path, read(entry.path())});
  };
  for (const auto& entry : fs::directory_iterator(root)) add(entry);
  for (const char* folder : {"app", "assets", "cmake", "docs", "scripts", "shaders", "src", "tests", "tools", ".ci"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) add(entry);
  }
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace

const std::vector<SourceFile>& source_tree() {
  static const std::vector<SourceFile> kFiles = read_tree();
  return kFiles;
}

std::vector<std::string> includes_of(const std::string& text) {
  static const std::regex kInclude(R"re((?:^|\n)[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|(<[^>\n]+>)))re");
  std::vector<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), kInclude), end; match != end; ++match) {
    names.push_back((*match)[1].matched ? (*match)[1].str() : (*match)[2].str());
  }
  return names;
}

}  // namespace headlight::test
