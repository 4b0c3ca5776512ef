#include "app/survey/rank_marks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "core/atomic_file.h"
#include "core/error.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStatusBytes = 8;  // "running ", "stopped " or "ended   ", at the file's beginning
constexpr std::size_t kMarkBytes = 256;
volatile std::sig_atomic_t mark_file = -1;  // of this process; a signal's handler writes to it

/// Only what a signal's handler may call.
void note_signal(int number) {
  if (mark_file >= 0) static_cast<void>(!::pwrite(mark_file, "stopped ", kStatusBytes, 0));
  std::signal(number, SIG_DFL);
  static_cast<void>(std::raise(number));
}

}  // namespace

RankMark::RankMark(const fs::path& folder, int rank, int ranks) {
  std::array<char, 128> host = {};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  who_ = fmt::format("rank {} of {} ({}, process {})", rank, ranks, host.data(), ::getpid());
  make_directories(folder);
  const fs::path file = folder / fmt::format("rank-{}", rank);
  mark_file = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (mark_file < 0) throw Error("{} can't be written: {}", file.string(), std::strerror(errno));
  write("running ");
  interrupted_before_ = std::signal(SIGINT, note_signal);
  ended_before_ = std::signal(SIGTERM, note_signal);
}

RankMark::~RankMark() {
  std::signal(SIGINT, interrupted_before_);
  std::signal(SIGTERM, ended_before_);
  const int file = mark_file;
  mark_file = -1;
  static_cast<void>(!::pwrite(file, "ended   ", kStatusBytes, 0));
  ::close(file);
}

void RankMark::begin(std::uint64_t shard) { write(fmt::format("running {} died in shard {}", who_, shard)); }

void RankMark::write(const std::string& status) {
  std::string bytes = status;
  if (bytes.size() == kStatusBytes) bytes += who_ + " died before its first shard";
  bytes.resize(kMarkBytes - 1, ' ');
  bytes += '\n';
  const std::lock_guard lock(mutex_);
  static_cast<void>(!::pwrite(mark_file, bytes.data(), bytes.size(), 0));  // a full disk costs the name, no result
}

std::vector<std::string> take_dead_ranks(const fs::path& folder) {
  std::vector<std::string> dead;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    std::string mark = read_file(entry.path(), std::uint64_t{1} << 16);
    if (mark.starts_with("running ")) {
      mark = mark.substr(kStatusBytes);
      mark.resize(mark.find_last_not_of(" \n") + 1);
      dead.push_back(one_line(mark));
    }
  }
  fs::remove_all(folder, ignored);
  std::ranges::sort(dead);
  return dead;
}

}  // namespace headlight::app
