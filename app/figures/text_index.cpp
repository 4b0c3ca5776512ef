#include "app/figures/text_index.h"

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using exporting::Json;

constexpr JsonLimits kLineLimits{.bytes = std::size_t{64} << 20, .values = std::size_t{1} << 16, .depth = 32};

}  // namespace

TextIndex::TextIndex(const std::filesystem::path& folder, const Json& settings)
    : folder_(folder), path_(folder / "index.jsonl") {
  make_directories(folder);
  file_.open(path_, std::ios::binary | std::ios::app);
  if (!file_) throw Error("can't write {}: {}; choose another folder", utf8(path_), std::strerror(errno));
  std::error_code failure;
  lock_ = platform::lock_file(path_, false, failure);
  if (failure == std::errc::operation_would_block)
    throw Error("another export is writing into {}: wait for its end, or name another folder", utf8(folder));
  std::string content = read_file(path_);
  const std::size_t whole = content.rfind('\n') + 1;  // after the last line that was finished; npos + 1 is 0
  if (whole < content.size()) {
    std::filesystem::resize_file(path_, whole, failure);
    if (failure) throw Error("can't write {}: {}", utf8(path_), failure.message());
  }
  content.resize(whole);
  read(content, settings);
  if (content.empty()) append({{"settings", settings}});
}

void TextIndex::read(const std::string& content, const Json& settings) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < content.size(); ++number) {
    const std::size_t end = content.find('\n', begin);
    const auto fail = [&](const std::string& what) {
      throw Error("{}, line {}: {}; remove it, or name another folder", utf8(path_), number + 1, what);
    };
    const Result<nlohmann::json> line = parse_json(std::string_view(content).substr(begin, end - begin), kLineLimits);
    begin = end + 1;
    if (!line) fail(line.error());
    if (!line->is_object()) fail("it is no object");
    if (number == 0) {
      if (!line->contains("settings")) fail("it has no settings");
      if (line->at("settings") == nlohmann::json(settings)) continue;
      throw Error("{} is of an export with other flags; name another folder, or remove this one", utf8(folder_));
    }
    IndexedText text;
    try {
      text = {.line = line->at("line"), .folder = line->at("folder"), .text = line->at("text"), .files = line->at("files")};
    } catch (const nlohmann::json::exception&) {
      fail("it isn't a finished text");
    }
    // As folder_of() names them: nothing outside of this folder is moved.
    if (!text.folder.empty() &&
        (!text.folder.starts_with(fmt::format("{:06}", text.line)) || text.folder.find('/') != std::string::npos))
      fail("its folder isn't one of this export's");
    texts_[text.line] = std::move(text);
  }
}

void TextIndex::move(std::uint64_t line, const std::string& folder) {
  const auto found = texts_.find(line);
  if (found == texts_.end() || found->second.folder.empty() || found->second.folder == folder) return;
  std::error_code failure;
  if (std::filesystem::is_directory(folder_ / found->second.folder, failure)) {
    std::filesystem::rename(folder_ / found->second.folder, folder_ / folder, failure);
    if (failure) {
      throw Error("can't rename {} to {}: {}; name another folder", utf8(folder_ / found->second.folder), folder,
                  failure.message());
    }
  }
  IndexedText moved = found->second;
  moved.folder = folder;
  add(moved);
}

bool TextIndex::has(std::uint64_t line, const std::string& text) const {
  const auto found = texts_.find(line);
  if (found == texts_.end() || found->second.text != text) return false;
  const IndexedText& known = found->second;
  std::error_code failure;
  std::size_t files = 0;
  for (std::filesystem::directory_iterator one(folder_ / known.folder, failure), end; !failure && one != end;
       one.increment(failure)) {
    if (one->is_regular_file()) ++files;
  }
  return known.folder.empty() || files >= known.files;
}

void TextIndex::add(const IndexedText& text) {
  Json line = {{"line", text.line}, {"folder", text.folder}, {"text", text.text}, {"files", text.files}};
  if (!text.note.empty()) line["note"] = text.note;
  append(line);
  texts_[text.line] = text;
}

void TextIndex::append(const Json& line) {
  file_ << to_text(line, -1) << '\n' << std::flush;
  if (!file_) throw Error("can't write {}: {}; free some space, then go on", utf8(path_), std::strerror(errno));
}

}  // namespace headlight::app
