// A library for LD_PRELOAD that makes reads of one file fail, whichever way the program reads it.
//
// HEADLIGHT_READ_FAULT="NAME KIND N": the Nth read (from 1 on) of the file whose path ends in NAME fails. KIND is EIO or
// ENOMEM, "end", which gives no byte once, as network file systems do, or what a program has to bear: EINTR and EAGAIN,
// once, or "short", from there on half of what was asked for or is left. HEADLIGHT_READ_COUNTS names a file for the number
// of reads of NAME. NAME "threads" stands for threads that are started: the Nth is not. NAME "allocations" stands for those
// of 4,096 bytes and more by operator new: the Nth throws std::bad_alloc. Lack of memory shows there first, and CLI11
// and nlohmann::json make smaller ones in functions that are noexcept.
#undef _FORTIFY_SOURCE  // with it the system's headers define read() and fread() inline
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

namespace {

struct Fault {
  std::string name, kind;
  int number = 0;
};

Fault read_fault() {
  Fault fault;
  const char* text = std::getenv("HEADLIGHT_READ_FAULT");
  std::array<char, 256> name{};
  std::array<char, 16> kind{};
  if (text != nullptr && std::sscanf(text, "%255s %15s %d", name.data(), kind.data(), &fault.number) >= 1) {
    fault.name = name.data();
    fault.kind = kind.data();
  }
  return fault;
}

bool counts_allocations() {
  const char* text = std::getenv("HEADLIGHT_READ_FAULT");
  return text != nullptr && std::string_view(text).starts_with("allocations ");
}

const Fault& fault() {
  static const Fault kFault = read_fault();
  return kFault;
}

std::atomic<int> g_reads = 0;

bool is_watched(int descriptor) {
  if (fault().name.empty()) return false;
  std::array<char, 64> link{};
  std::array<char, 4096> path{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  const ssize_t length = ::readlink(link.data(), path.data(), path.size());
  return length > 0 && std::string_view(path.data(), static_cast<std::size_t>(length)).ends_with(fault().name);
}

/// Returns half of the bytes that are left of a file from `at` on, among those asked for: 1 at least, so that it isn't
/// taken for the end.
std::size_t half(int descriptor, off_t at, std::size_t count) {
  struct stat status {};
  const off_t left = ::fstat(descriptor, &status) == 0 && at < status.st_size ? status.st_size - at : 0;
  return std::clamp<std::size_t>(std::min(count, static_cast<std::size_t>(left)) / 2, 1, std::max<std::size_t>(count, 1));
}

/// Counts a read of a watched file. False where it fails, with errno; shortens `count` where it has to be short.
bool may_read(int descriptor, off_t at, std::size_t& count) {
  const int number = ++g_reads;
  if (fault().kind == "short" && number >= fault().number) count = half(descriptor, at, count);
  if (number != fault().number) return true;
  if (fault().kind == "EINTR") errno = EINTR;
  if (fault().kind == "EIO") errno = EIO;
  if (fault().kind == "EAGAIN") errno = EAGAIN;
  if (fault().kind == "ENOMEM") errno = ENOMEM;
  return fault().kind == "short";
}

ssize_t failed() { return fault().kind == "end" ? 0 : -1; }

/// Is it this call's turn to fail?
bool fails(std::string_view what) { return fault().name == what && ++g_reads == fault().number; }

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

using Read = ssize_t (*)(int, void*, std::size_t);
using ReadAt = ssize_t (*)(int, void*, std::size_t, off_t);
using ReadFile = std::size_t (*)(void*, std::size_t, std::size_t, std::FILE*);

ssize_t read_with_faults(int descriptor, void* to, std::size_t count) {
  static const Read kRead = next<Read>("read");
  if (is_watched(descriptor) && !may_read(descriptor, ::lseek(descriptor, 0, SEEK_CUR), count)) return failed();
  return kRead(descriptor, to, count);
}

ssize_t read_at_with_faults(int descriptor, void* to, std::size_t count, off_t at) {
  static const ReadAt kReadAt = next<ReadAt>("pread64");
  if (is_watched(descriptor) && !may_read(descriptor, at, count)) return failed();
  return kReadAt(descriptor, to, count, at);
}

/// Reads a stream. The C library calls read(2) for it itself, out of reach: the stream's error is set as that call
/// would set it.
std::size_t read_file_with_faults(void* to, std::size_t size, std::size_t count, std::FILE* file) {
  static const ReadFile kRead = next<ReadFile>("fread");
  constexpr int kErrorSeen = 0x20;  // glibc's _IO_ERR_SEEN
  const bool is_fault = fault().kind == "EIO" || fault().kind == "ENOMEM";
  std::size_t bytes = size * count;
  if (!is_watched(::fileno(file)) || may_read(::fileno(file), 0, bytes) || !is_fault) return kRead(to, size, count, file);
  file->_flags |= kErrorSeen;
  return 0;
}

__attribute__((destructor)) void write_count() {
  const char* path = std::getenv("HEADLIGHT_READ_COUNTS");
  if (path == nullptr) return;
  if (std::FILE* file = std::fopen(path, "w")) {
    std::fprintf(file, "%d\n", g_reads.load());
    std::fclose(file);
  }
}

}  // namespace

#define HEADLIGHT_EXPORTED extern "C" __attribute__((visibility("default")))

HEADLIGHT_EXPORTED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                                      void* argument) {
  static const auto kCreate = next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  // Threads of std::thread alone fail: a driver that can't start its own waits for them for ever.
  Dl_info caller{};
  const bool is_ours = ::dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != nullptr &&
                       std::string_view(caller.dli_fname).find("libstdc++") != std::string_view::npos;
  return is_ours && fails("threads") ? EAGAIN : kCreate(thread, attributes, start, argument);
}
HEADLIGHT_EXPORTED ssize_t read(int descriptor, void* to, std::size_t count) {
  return read_with_faults(descriptor, to, count);
}
HEADLIGHT_EXPORTED ssize_t __read_chk(int descriptor, void* to, std::size_t count, std::size_t /*room*/) {
  return read_with_faults(descriptor, to, count);
}
HEADLIGHT_EXPORTED ssize_t pread(int descriptor, void* to, std::size_t count, off_t at) {
  return read_at_with_faults(descriptor, to, count, at);
}
HEADLIGHT_EXPORTED ssize_t pread64(int descriptor, void* to, std::size_t count, off_t at) {
  return read_at_with_faults(descriptor, to, count, at);
}
HEADLIGHT_EXPORTED ssize_t __pread_chk(int descriptor, void* to, std::size_t count, off_t at, std::size_t /*room*/) {
  return read_at_with_faults(descriptor, to, count, at);
}
HEADLIGHT_EXPORTED ssize_t __pread64_chk(int descriptor, void* to, std::size_t count, off_t at, std::size_t /*room*/) {
  return read_at_with_faults(descriptor, to, count, at);
}
HEADLIGHT_EXPORTED std::size_t fread(void* to, std::size_t size, std::size_t count, std::FILE* file) {
  return read_file_with_faults(to, size, count, file);
}
HEADLIGHT_EXPORTED std::size_t __fread_chk(void* to, std::size_t /*room*/, std::size_t size, std::size_t count,
                                           std::FILE* file) {
  return read_file_with_faults(to, size, count, file);
}

// The lookup whether allocations count makes no allocation, unlike fault().
void* operator new(std::size_t bytes) {
  static const bool kCounts = counts_allocations();
  constexpr std::size_t kLeast = 4096;
  if (kCounts && bytes >= kLeast) {
    static const int kFailing = fault().number;
    if (++g_reads == kFailing) throw std::bad_alloc();
  }
  void* memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
