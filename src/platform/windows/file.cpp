#include "platform/file.h"

#include <array>

#include "platform/windows/handles.h"

namespace headlight::platform {
namespace {

/// Opens a file, or with flags for it a folder. Other programs may read, write, rename and delete the file meanwhile,
/// as on other systems.
Descriptor open_file(const std::filesystem::path& path, DWORD access, DWORD creation, DWORD flags, std::error_code& error) {
  constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const HANDLE handle = ::CreateFileW(path.c_str(), access, kShared, nullptr, creation, flags, nullptr);
  if (handle != INVALID_HANDLE_VALUE) return descriptor_of(handle);
  error = last_error();
  return {};
}

/// A place in a file for ReadFile(), WriteFile() and LockFileEx().
OVERLAPPED place(std::uint64_t offset) {
  OVERLAPPED at{};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32U);
  return at;
}

/// Returns the number of bytes that one call may take, of so many.
DWORD part_of(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  return static_cast<DWORD>(bytes < kMost ? bytes : kMost);
}

/// Bytes that were read; 0 at the end of a file or pipe.
std::size_t read_once(int descriptor, char* to, std::size_t most, OVERLAPPED* at, std::error_code& error) {
  DWORD count = 0;
  if (::ReadFile(handle_of(descriptor), to, part_of(most), &count, at) != 0) return count;
  const DWORD reason = ::GetLastError();
  if (reason != ERROR_HANDLE_EOF && reason != ERROR_BROKEN_PIPE) error = last_error();
  return 0;
}

/// Calls with an offset move the place where read_some() and write_all() go on; this puts it back.
class KeptPlace {
 public:
  explicit KeptPlace(int descriptor) : handle_(handle_of(descriptor)) {
    is_known_ = ::SetFilePointerEx(handle_, {}, &before_, FILE_CURRENT) != 0;
  }
  ~KeptPlace() {
    if (is_known_) ::SetFilePointerEx(handle_, before_, nullptr, FILE_BEGIN);
  }
  KeptPlace(const KeptPlace&) = delete;
  KeptPlace& operator=(const KeptPlace&) = delete;

 private:
  HANDLE handle_;
  LARGE_INTEGER before_{};
  bool is_known_ = false;
};

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::_close(number_);
}

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) {
  std::error_code ignored;
  const Descriptor file = open_file(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, ignored);
  return file ? stamp_of(file.number()) : std::nullopt;
}

std::optional<FileStamp> stamp_of(int descriptor) {
  const HANDLE handle = handle_of(descriptor);
  if (::GetFileType(handle) != FILE_TYPE_DISK) return FileStamp{.kind = FileKind::Other};
  BY_HANDLE_FILE_INFORMATION found{};
  if (::GetFileInformationByHandle(handle, &found) == 0) return std::nullopt;
  const auto joined = [](DWORD high, DWORD low) { return std::uint64_t{high} << 32U | low; };
  constexpr std::int64_t kFrom1601To1970 = 116'444'736'000'000'000;  // in units of 100 ns
  const auto written =
      static_cast<std::int64_t>(joined(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime));
  const bool is_folder = (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  return FileStamp{.device = found.dwVolumeSerialNumber,
                   .inode = joined(found.nFileIndexHigh, found.nFileIndexLow),
                   .bytes = joined(found.nFileSizeHigh, found.nFileSizeLow),
                   .written_ns = (written - kFrom1601To1970) * 100,
                   .kind = is_folder ? FileKind::Folder : FileKind::Regular};
}

Descriptor open_to_read(const std::filesystem::path& path, std::error_code& error) {
  return open_file(path, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, error);
}

std::size_t read_some(int descriptor, char* to, std::size_t most, std::error_code& error) {
  return read_once(descriptor, to, most, nullptr, error);
}

std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, std::error_code& error) {
  const KeptPlace kept(descriptor);
  std::size_t done = 0;
  while (done < count) {
    OVERLAPPED at = place(offset + done);
    const std::size_t bytes = read_once(descriptor, to + done, count - done, &at, error);
    if (bytes == 0) break;
    done += bytes;
  }
  return done;
}

bool has_more(int descriptor) {
  LARGE_INTEGER at{};
  const std::optional<FileStamp> stamp = stamp_of(descriptor);
  return stamp && stamp->kind == FileKind::Regular &&
         ::SetFilePointerEx(handle_of(descriptor), LARGE_INTEGER{}, &at, FILE_CURRENT) != 0 &&
         static_cast<std::uint64_t>(at.QuadPart) < stamp->bytes;
}

bool has_input(int descriptor) {
  DWORD bytes = 0;
  const HANDLE handle = handle_of(descriptor);
  if (::GetFileType(handle) != FILE_TYPE_PIPE) return ::WaitForSingleObject(handle, 0) != WAIT_TIMEOUT;
  return ::PeekNamedPipe(handle, nullptr, 0, nullptr, &bytes, nullptr) == 0 || bytes > 0;
}

bool is_terminal(int descriptor) {
  DWORD mode = 0;
  return ::GetConsoleMode(handle_of(descriptor), &mode) != 0;
}

Descriptor create_file(const std::filesystem::path& path, std::error_code& error) {
  return open_file(path, GENERIC_WRITE, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, error);
}

Descriptor create_nameless(const std::filesystem::path& /*folder*/) { return {}; }

std::error_code give_name(int /*nameless*/, const std::filesystem::path& /*path*/) {
  return std::make_error_code(std::errc::not_supported);
}

/// Windows doesn't replace a file that is open, but moves it aside.
std::error_code replace_file(const std::filesystem::path& by, const std::filesystem::path& path,
                             const std::filesystem::path& aside) {
  if (::MoveFileExW(by.c_str(), path.c_str(), MOVEFILE_REPLACE_EXISTING) != 0) return {};
  const std::error_code error = last_error();
  const int reason = error.value();
  const bool is_open =
      reason == ERROR_ACCESS_DENIED || reason == ERROR_SHARING_VIOLATION || reason == ERROR_USER_MAPPED_FILE;
  if (!is_open || ::MoveFileExW(path.c_str(), aside.c_str(), 0) == 0) return error;
  if (::MoveFileExW(by.c_str(), path.c_str(), 0) == 0) {
    ::MoveFileExW(aside.c_str(), path.c_str(), 0);
    return error;
  }
  ::DeleteFileW(aside.c_str());  // it goes when it is closed; one that is mapped stays
  return {};
}

Descriptor create_scratch(const std::filesystem::path& folder, std::error_code& error) {
  std::array<wchar_t, MAX_PATH> name{};
  if (::GetTempFileNameW(folder.c_str(), L"hea", 0, name.data()) == 0) {  // which creates it
    error = last_error();
    return {};
  }
  return open_file(name.data(), GENERIC_READ | GENERIC_WRITE, OPEN_EXISTING, FILE_FLAG_DELETE_ON_CLOSE, error);
}

std::error_code write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    DWORD count = 0;
    if (::WriteFile(handle_of(descriptor), bytes.data(), part_of(bytes.size()), &count, nullptr) == 0) return last_error();
    bytes.remove_prefix(count);
  }
  return {};
}

std::error_code write_at(int descriptor, std::string_view bytes, std::uint64_t offset) {
  const KeptPlace kept(descriptor);
  DWORD count = 0;
  OVERLAPPED at = place(offset);
  const bool is_written = ::WriteFile(handle_of(descriptor), bytes.data(), part_of(bytes.size()), &count, &at) != 0;
  return is_written ? std::error_code() : last_error();
}

std::error_code sync_file(int descriptor) {
  if (::GetFileType(handle_of(descriptor)) != FILE_TYPE_DISK) return {};
  return ::FlushFileBuffers(handle_of(descriptor)) != 0 ? std::error_code() : last_error();
}

std::error_code sync_file(const std::filesystem::path& path) {
  std::error_code error;
  const Descriptor file = open_file(path, GENERIC_WRITE, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, error);
  return file ? sync_file(file.number()) : error;
}

void make_private(int /*descriptor*/) {}  // the user's folders are

void sync_folder(const std::filesystem::path& /*folder*/) {}  // NTFS journals names

Descriptor lock_file(const std::filesystem::path& path, bool is_new, std::error_code& error) {
  Descriptor file =
      open_file(path, GENERIC_READ | GENERIC_WRITE, is_new ? CREATE_NEW : OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, error);
  // Others can't read what is locked: a byte that no file has.
  OVERLAPPED at = place(std::uint64_t{1} << 62U);
  constexpr DWORD kHow = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  if (!file || ::LockFileEx(handle_of(file.number()), kHow, 0, 1, 0, &at) != 0) return file;
  error = last_error();
  return {};
}

}  // namespace headlight::platform
