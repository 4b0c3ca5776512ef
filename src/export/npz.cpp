#include <algorithm>
#include <cstring>
#include <list>
#include <utility>

#include <zip.h>

#include "core/atomic_file.h"
#include "core/error.h"
#include "export/file_array.h"

namespace headlight::exporting {
namespace {

/// What the library reads one entry from, while it writes the archive.
class EntrySource {
 public:
  EntrySource(const FileArray& array, std::uint64_t before, std::uint64_t total, const WriteObserver& observe)
      : array_(array), first_(array, before, total, observe), reader_(first_), header_(array.npy_header()) {}

  std::uint64_t size() const { return header_.size() + array_.byte_count(); }
  const std::exception_ptr& failure() const { return failure_; }

  /// The library's callback: `data` is its buffer or structure, of `length` bytes.
  static zip_int64_t answer(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) {
    return static_cast<EntrySource*>(self)->answer(data, length, command);
  }

 private:
  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN:
        begin();
        return 0;
      case ZIP_SOURCE_READ:
        return read(static_cast<char*>(data), length);
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE:
        return 0;
      case ZIP_SOURCE_STAT: {
        zip_stat_t about;
        zip_stat_init(&about);
        about.size = size();
        about.valid = ZIP_STAT_SIZE;
        std::memcpy(data, &about, sizeof(about));
        return sizeof(about);
      }
      case ZIP_SOURCE_ERROR: {
        const int codes[2] = {ZIP_ER_INTERNAL, 0};
        std::memcpy(data, codes, sizeof(codes));
        return sizeof(codes);
      }
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                              ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
      default:
        return -1;
    }
  }

  void begin() {
    reader_ = first_;
    unread_ = header_;
  }

  /// The library is C: no exception may pass through it.
  zip_int64_t read(char* to, zip_uint64_t most) {
    try {
      while (unread_.empty()) {
        const auto part = reader_.next();
        if (!part) return 0;
        unread_ = *part;
      }
    } catch (...) {
      failure_ = std::current_exception();
      return -1;
    }
    const std::size_t some = unread_.copy(to, most);
    unread_.remove_prefix(some);
    return static_cast<zip_int64_t>(some);
  }

  const FileArray& array_;
  ArrayReader first_, reader_;  ///< before its first part; and where the library is
  std::string header_;
  std::string_view unread_;
  std::exception_ptr failure_;
};

/// An archive that is being made; without close() nothing is written.
class NewArchive {
 public:
  explicit NewArchive(std::filesystem::path path) : path_(std::move(path)), staged_(path_) {
    int code = 0;
    zip_ = zip_open(utf8(staged_.temporary()).c_str(), ZIP_CREATE | ZIP_EXCL, &code);
    if (zip_ != nullptr) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail(why);
  }
  ~NewArchive() {
    if (zip_ != nullptr) zip_discard(zip_);
  }
  NewArchive(const NewArchive&) = delete;
  NewArchive& operator=(const NewArchive&) = delete;

  void add(const std::string& name, EntrySource& entry) {
    add(name, zip_source_function(zip_, &EntrySource::answer, &entry));
  }
  void add(const StoredFile& file) { add(file.name, zip_source_file(zip_, utf8(file.path).c_str(), 0, -1)); }
  void add(const std::string& name, const std::string& text) {
    add(name, zip_source_buffer(zip_, text.data(), text.size(), 0));
  }

  void close() {
    if (zip_close(zip_) != 0) fail(zip_strerror(zip_));
    zip_ = nullptr;
    staged_.finish();
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error("can't write {}: {}; choose another folder or free some space", utf8(path_), why);
  }

  void add(const std::string& name, zip_source_t* source) {
    const zip_int64_t index = source != nullptr ? zip_file_add(zip_, name.c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      zip_source_free(source);
      fail(zip_strerror(zip_));
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    constexpr time_t kFirstZipTime = 315'619'200;  // 1980-01-02: the same numbers give the same file
    if (zip_set_file_compression(zip_, entry, ZIP_CM_STORE, 0) != 0) fail(zip_strerror(zip_));
    if (zip_file_set_mtime(zip_, entry, kFirstZipTime, 0) != 0) fail(zip_strerror(zip_));
  }

  std::filesystem::path path_;
  StagedPath staged_;
  zip_t* zip_ = nullptr;
};

}  // namespace

void write_npz(const std::filesystem::path& path, std::span<const FileArray> arrays,
               const std::map<std::string, std::string>& texts, const WriteObserver& observe) {
  std::uint64_t total = 1, before = 0;
  for (const FileArray& array : arrays) total += array.byte_count();
  std::list<EntrySource> sources;  // must outlive the archive
  NewArchive archive(path);
  for (const FileArray& array : arrays) {
    archive.add(array.name + ".npy", sources.emplace_back(array, before, total, observe));
    before += array.byte_count();
  }
  for (const auto& [name, text] : texts) archive.add(name, text);
  try {
    archive.close();
  } catch (const Error&) {
    for (const EntrySource& source : sources) {
      if (source.failure()) std::rethrow_exception(source.failure());
    }
    throw;
  }
}

void write_zip(const std::filesystem::path& path, std::span<const StoredFile> files,
               const std::map<std::string, std::string>& texts) {
  NewArchive archive(path);
  for (const StoredFile& file : files) archive.add(file);
  for (const auto& [name, text] : texts) archive.add(name, text);
  archive.close();
}

}  // namespace headlight::exporting
