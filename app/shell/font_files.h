#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace headlight::shell {

/// A font file in memory, as the atlas reads it.
struct FontFile {
  std::string path;
  int index = 0;              ///< of the face in a collection
  std::string data;           ///< the whole file
  float line_per_em = 1.2F;   ///< (ascender + descender) / em: ImGui measures fonts by lines, typography by the em
  std::vector<bool> covered;  ///< [0x10000], which code points it has
};

/// Finds installed fonts through fontconfig and keeps their files.
class FontFiles {
 public:
  FontFiles();
  ~FontFiles();
  FontFiles(const FontFiles&) = delete;
  FontFiles& operator=(const FontFiles&) = delete;

  /// The first of the families that is installed, else fontconfig's closest match. Throws Error when there is no
  /// font at all.
  const FontFile& family(std::span<const char* const> families, bool is_bold);
  /// A font that has at least one of the code points, CJK by Noto Sans CJK where installed; nullptr when no font has any.
  const FontFile* covering(std::span<const std::uint32_t> code_points);
  /// Does any installed font have the character, with outlines or as a picture?
  bool has(std::uint32_t code_point);

 private:
  struct Config;
  const FontFile& load(const std::string& path, int index, std::vector<bool> covered);

  std::unique_ptr<Config> config_;
  std::deque<FontFile> files_;
  std::unordered_map<std::uint32_t, bool> has_;  ///< what was asked so far
};

}  // namespace headlight::shell
