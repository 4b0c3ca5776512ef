#include "app/data/survey/ranks.h"

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
#include "platform/process.h"

namespace headlight::app {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStatusBytes = 8;  // "running ", "stopped " or "ended   ", at the file's beginning
constexpr std::size_t kMarkBytes = 256;

}  // namespace

RankMark::RankMark(const fs::path& folder, int rank, int ranks) {
  who_ = fmt::format("rank {} of {} ({}, process {})", rank, ranks, platform::host_name(), platform::process_id());
  make_directories(folder);
  const fs::path file = folder / fmt::format("rank-{}", rank);
  std::error_code error;
  fs::remove(file, error);  // of a run before
  error.clear();
  file_ = platform::create_file(file, error);
  if (error) throw Error("{} can't be written: {}", utf8(file), error.message());
  write("running ");
  stopped_.emplace(file_.number(), "stopped ");
}

RankMark::~RankMark() {
  stopped_.reset();
  platform::write_at(file_.number(), "ended   ", 0);
}

void RankMark::begin(std::uint64_t shard) { write(fmt::format("running {} died in shard {}", who_, shard)); }

void RankMark::write(const std::string& status) {
  std::string bytes = status;
  if (bytes.size() == kStatusBytes) bytes += who_ + " died before its first shard";
  bytes.resize(kMarkBytes - 1, ' ');
  bytes += '\n';
  const std::lock_guard lock(mutex_);
  platform::write_at(file_.number(), bytes, 0);  // a full disk costs the name, no result
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
