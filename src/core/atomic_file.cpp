#include "core/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <random>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_stamp.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStaged = ".staged";

/// Returns errno of a file or folder that can't be synced; 0: it is on the disk, or its file system doesn't support that.
int sync(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) return errno;
  const int error = ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  ::close(descriptor);
  return error;
}

constexpr mode_t kMode = 0666;  // minus the umask
constexpr std::string_view kTemporary = ".tmp";
constexpr std::size_t kRandomDigits = 16;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw Error("can't write {}: {}; choose another folder or free some space", path.string(), std::strerror(error));
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

/// What a killed program left of those that are `is_ours(name, file)`; one that is still being written is younger.
void remove_leftovers(const fs::path& path, bool (*is_ours)(const std::string& name, const std::string& file)) {
  constexpr std::time_t kOld_s = 3600;
  const std::string file = path.filename().string();
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(path), error), end; !error && entry != end; entry.increment(error)) {
    if (!is_ours(entry->path().filename().string(), file)) continue;
    struct stat status {};
    const bool is_old = ::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                        std::time(nullptr) - status.st_mtime > kOld_s;
    if (is_old) ::unlink(entry->path().c_str());
  }
}

}  // namespace

void refuse_lfs_pointer(std::string_view content, const std::filesystem::path& path) {
  constexpr std::size_t kLongest = 1024;  // of a pointer, as its specification says
  if (content.size() > kLongest || !content.starts_with("version https://git-lfs")) return;
  throw Error("{} is a Git LFS pointer, not the file itself: run `git lfs pull` in its repository, or download it again",
              path.string());
}

AtomicFile::AtomicFile(fs::path path, Staging staging) : path_(std::move(path)) {
  if (staging == Staging::Named || !open_nameless()) open_named();
}

AtomicFile::~AtomicFile() {
  if (file_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

bool AtomicFile::open_nameless() {
#ifdef O_TMPFILE
  if (::access("/proc/self/fd", X_OK) != 0) return false;  // linkat() names the file by its path there
  const int descriptor = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
  if (descriptor < 0) return false;
  file_.reset(::fdopen(descriptor, "wb"));
  if (!file_) ::close(descriptor);
#endif
  return file_ != nullptr;
}

void AtomicFile::open_named() {
  remove_leftovers(path_, is_temporary_of);
  temporary_ = random_name(path_, kTemporary);
  const int descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
  if (descriptor < 0) fail(path_, errno);
  file_.reset(::fdopen(descriptor, "wb"));
  if (!file_) {
    ::close(descriptor);
    fail(path_, ENOMEM);
  }
}

/// linkat() can't replace a file, so the nameless file gets a temporary name first.
void AtomicFile::give_name() {
  const std::string source = fmt::format("/proc/self/fd/{}", ::fileno(file_.get()));
  const fs::path name = random_name(path_, kTemporary);
  if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) fail(path_, errno);
  temporary_ = name;
}

void AtomicFile::append(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail(path_, errno);
}

void AtomicFile::finish() {
  if (std::fflush(file_.get()) != 0) fail(path_, errno);
  // Pipes and some network file systems don't support fsync().
  if (::fsync(::fileno(file_.get())) != 0 && errno != EINVAL && errno != ENOTSUP) fail(path_, errno);
  if (temporary_.empty()) give_name();
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) fail(path_, error.value());
  file_.reset();
  sync(folder_of(path_), O_DIRECTORY);  // the new name; not every file system supports it
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
  const std::optional<FileStamp> stamp = stamp_of(file.number());
  const auto refuse_size = [&] { throw Error("can't read {}: it has more than {} bytes", path.string(), largest); };
  const std::uint64_t size = stamp ? stamp->bytes : 0;
  if (size > largest) refuse_size();
  // Files of /proc report no size, so reading continues to the end.
  std::string content;
  content.resize(size + 1);
  std::size_t end = 0;
  while (const std::size_t bytes = read_some(file.number(), content.data() + end, content.size() - end, path.string())) {
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
  content.resize(read_at(file.number(), content.data(), most, 0, path.string()));
  return content;
}

void make_directories(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw Error("can't create the folder {}: {}; choose another one", directory.string(), error.message());
}

StagedPath::StagedPath(fs::path path) : path_(std::move(path)) {
  remove_leftovers(path_, is_staged_of);
  temporary_ = random_name(path_, kStaged);
}

StagedPath::~StagedPath() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void StagedPath::finish() {
  if (const int error = sync(temporary_, 0); error != 0) fail(path_, error);
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) fail(path_, error.value());
  temporary_.clear();
  sync(folder_of(path_), O_DIRECTORY);
}

}  // namespace headlight
