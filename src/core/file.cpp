#include "core/file.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "core/error.h"
#include "core/utf8.h"
#include "platform/folders.h"

namespace headlight {

namespace {

void expect_read(const std::string& name, const std::error_code& error) {
  if (error) throw Error("can't read {}: {}", name, error.message());
}

/// A read that gives nothing before the file's end, as network file systems do, would pass for its end.
[[noreturn]] void fail_short(const std::string& name) {
  throw Error("can't read {}: a read ended before the file's end; try again", name);
}

}  // namespace

Descriptor open_to_read(const std::filesystem::path& path) {
  std::error_code error;
  Descriptor file = platform::open_to_read(path, error);
  platform::FileKind kind = platform::FileKind::Regular;
  if (file) {
    const std::optional<platform::FileStamp> stamp = platform::stamp_of(file.number());
    if (!stamp) error = std::make_error_code(std::errc::io_error);
    if (stamp) kind = stamp->kind;
  }
  if (kind == platform::FileKind::Folder) error = std::make_error_code(std::errc::is_a_directory);
  expect_read(utf8(path), error);
  if (kind == platform::FileKind::Other) throw Error("can't read {}: it is a pipe or a device, not a file", utf8(path));
  return file;
}

std::size_t read_some(int descriptor, char* to, std::size_t most, const std::string& name) {
  std::error_code error;
  const std::size_t count = platform::read_some(descriptor, to, most, error);
  expect_read(name, error);
  if (count == 0 && most > 0 && platform::has_more(descriptor)) fail_short(name);
  return count;
}

std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, const std::string& name) {
  std::error_code error;
  const std::size_t done = platform::read_at(descriptor, to, count, offset, error);
  expect_read(name, error);
  const std::optional<platform::FileStamp> stamp = platform::stamp_of(descriptor);
  if (done < count && stamp && offset + done < stamp->bytes) fail_short(name);
  return done;
}

namespace {

PassingFile* passing_file = nullptr;

}  // namespace

std::filesystem::path passing_place() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) throw Error("TMPDIR names no folder for files that pass through: {}; correct it, or unset it", error.message());
  return folder;
}

PassingFolder::PassingFolder() {
  std::random_device random;
  path_ = passing_place() / fmt::format("headlight-{:08x}{:08x}", random(), random());
  std::error_code error;
  platform::make_private_folder(path_, error);
  if (error) throw Error("can't create the folder {}: {}; choose another one with TMPDIR", utf8(path_), error.message());
}

PassingFolder::~PassingFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

PassingFile::PassingFile(const std::filesystem::path& path) : path_(path) { passing_file = this; }
PassingFile::~PassingFile() { passing_file = nullptr; }

PassingFile* PassingFile::at(const std::filesystem::path& path) {
  return passing_file != nullptr && passing_file->path_ == path ? passing_file : nullptr;
}

void PassingFile::read(const std::function<void(std::string_view)>& use) const {
  std::string part(std::size_t{1} << 16, '\0');
  std::size_t count = 1;
  for (std::uint64_t at = 0; count > 0; at += count) {
    count = read_at(file_.number(), part.data(), part.size(), at, utf8(path_));
    use({part.data(), count});
  }
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStaged = ".staged";

constexpr std::string_view kTemporary = ".tmp";
constexpr std::size_t kRandomDigits = 16;
constexpr std::size_t kWrittenAtOnce = std::size_t{64} << 10;

void expect_written(const fs::path& path, const std::error_code& error) {
  if (error) throw Error("can't write {}: {}; choose another folder or free some space", utf8(path), error.message());
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// "settings.json.9f86d081884c7d65.tmp" in the same folder: the name can't be guessed in advance.
fs::path random_name(fs::path path, std::string_view ending) {
  std::random_device random;
  const std::uint64_t number = std::uint64_t{random()} << 32 | random();
  return path += fmt::format(".{:0{}x}{}", number, kRandomDigits, ending);
}

bool is_temporary_of(const std::string& name, const std::string& file) {
  if (name.size() != file.size() + 1 + kRandomDigits + kTemporary.size() || !name.starts_with(file + ".")) return false;
  const std::string_view digits = std::string_view(name).substr(file.size() + 1, kRandomDigits);
  return name.ends_with(kTemporary) && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Libraries append to the staged name what they write first.
bool is_staged_of(const std::string& name, const std::string& file) {
  return name.starts_with(file + ".") && name.find(kStaged, file.size() + 1) != std::string::npos;
}

/// Removes files of a killed program that are `is_ours(name, file)` and older than an hour; one that is still being
/// written is younger.
void remove_leftovers(const fs::path& path, bool (*is_ours)(const std::string& name, const std::string& file)) {
  constexpr auto kOld = std::chrono::hours(1);
  const std::string file = utf8(path.filename());
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(path), error), end; !error && entry != end; entry.increment(error)) {
    if (!is_ours(utf8(entry->path().filename()), file)) continue;
    std::error_code ignored;
    const bool is_old = fs::is_regular_file(entry->symlink_status(ignored)) &&
                        fs::file_time_type::clock::now() - entry->last_write_time(ignored) > kOld;
    if (is_old && !ignored) fs::remove(entry->path(), ignored);
  }
}

}  // namespace

void refuse_lfs_pointer(std::string_view content, const std::filesystem::path& path) {
  constexpr std::size_t kLongest = 1024;  // of a pointer, as its specification says
  if (content.size() > kLongest || !content.starts_with("version https://git-lfs")) return;
  throw Error("{} is a Git LFS pointer, not the file itself: run `git lfs pull` in its repository, or download it again",
              utf8(path));
}

AtomicFile::AtomicFile(fs::path path, Staging staging) : path_(std::move(path)) {
  std::error_code error;
  if (PassingFile::at(path_) != nullptr) {
    file_ = platform::create_scratch(folder_of(path_), error);
    expect_written(path_, error);
    return;
  }
  if (staging == Staging::Nameless) file_ = platform::create_nameless(folder_of(path_));
  if (file_) return;
  remove_leftovers(path_, is_temporary_of);
  temporary_ = random_name(path_, kTemporary);
  file_ = platform::create_file(temporary_, error);
  expect_written(path_, error);
}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  file_ = {};
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void AtomicFile::append(std::string_view bytes) {
  waiting_ += bytes;
  if (waiting_.size() < kWrittenAtOnce) return;
  expect_written(path_, platform::write_all(file_.number(), waiting_));
  waiting_.clear();
}

void AtomicFile::finish() {
  expect_written(path_, platform::write_all(file_.number(), waiting_));
  if (PassingFile* passing = PassingFile::at(path_)) return passing->take(std::move(file_));
  expect_written(path_, platform::sync_file(file_.number()));
  if (temporary_.empty()) {  // no system replaces a file by a nameless one, so that it gets a temporary name first
    const fs::path name = random_name(path_, kTemporary);
    expect_written(path_, platform::give_name(file_.number(), name));
    temporary_ = name;
  }
  file_ = {};
  expect_written(path_, platform::replace_file(temporary_, path_, random_name(path_, kTemporary)));
  temporary_.clear();
  platform::sync_folder(folder_of(path_));  // the new name
}

void write_private_file(const fs::path& path, std::string_view content) {
  make_private_directory(path.parent_path());
  AtomicFile file(path);
  file.make_private();
  file.append(content);
  file.finish();
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.append(content);
  file.finish();
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> content) {
  write_file_atomically(path, std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
}

std::string read_file(const fs::path& path, std::uint64_t largest) {
  const Descriptor file = open_to_read(path);
  const std::optional<platform::FileStamp> stamp = platform::stamp_of(file.number());
  const auto refuse_size = [&] { throw Error("can't read {}: it has more than {} bytes", utf8(path), largest); };
  const std::uint64_t size = stamp ? stamp->bytes : 0;
  if (size > largest) refuse_size();
  // Files of /proc report no size, so reading continues to the end.
  std::string content;
  content.resize(size + 1);
  std::size_t end = 0;
  while (const std::size_t bytes = read_some(file.number(), content.data() + end, content.size() - end, utf8(path))) {
    end += bytes;
    if (end > largest) refuse_size();
    if (end == content.size()) content.resize(std::min<std::uint64_t>(2 * end, largest + 1));
  }
  content.resize(end);
  refuse_lfs_pointer(content, path);
  return content;
}

std::string read_beginning(const fs::path& path, std::size_t most) {
  const Descriptor file = open_to_read(path);
  std::string content(most, '\0');
  content.resize(read_at(file.number(), content.data(), most, 0, utf8(path)));
  return content;
}

void make_directories(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw Error("can't create the folder {}: {}; choose another one", utf8(directory), error.message());
}

void make_private_directory(const fs::path& directory) {
  make_directories(directory);
  std::error_code ignored;  // another user's folder, or a file system without permissions
  fs::permissions(directory, fs::perms::owner_all, ignored);
}

StagedPath::StagedPath(fs::path path) : path_(std::move(path)) {
  remove_leftovers(path_, is_staged_of);
  temporary_ = random_name(path_, kStaged);
}

StagedPath::~StagedPath() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void StagedPath::finish() {
  if (PassingFile* passing = PassingFile::at(path_)) return passing->take(open_to_read(temporary_));
  expect_written(path_, platform::sync_file(temporary_));
  expect_written(path_, platform::replace_file(temporary_, path_, random_name(path_, kTemporary)));
  temporary_.clear();
  platform::sync_folder(folder_of(path_));
}

}  // namespace headlight
