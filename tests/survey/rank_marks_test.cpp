// Marks that ranks leave about themselves, and that the next run reads.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "app/data/survey/ranks.h"
#include "support/temporary_directory.h"

namespace rank_marks_test {

using namespace headlight;
using namespace headlight::app;

namespace {

/// A rank in a process of its own that begins a shard and then ends: by itself, or by a signal.
void run_rank(const std::filesystem::path& folder, int rank, int signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    {
      RankMark mark(folder, rank, 3);
      mark.begin(17);
      const platform::LastWords of_progress(platform::kStandardError, "\n");  // as a terminal's progress bar has them
      if (signal != 0) static_cast<void>(std::raise(signal));
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((signal == 0 ? WIFEXITED(status) : WIFSIGNALED(status)));
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a rank that was killed is named, one that was told to end or ended isn't") {
    const TemporaryDirectory folder;
    const std::filesystem::path marks = folder.path() / "ranks";
    CHECK(take_dead_ranks(marks).empty());
    run_rank(marks, 0, 0);
    run_rank(marks, 1, SIGTERM);
    run_rank(marks, 2, SIGKILL);
    const std::vector<std::string> dead = take_dead_ranks(marks);
    REQUIRE(dead.size() == 1);
    CHECK(dead[0].find("rank 2 of 3 (") == 0);
    CHECK(dead[0].find(") died in shard 17") != std::string::npos);
    CHECK(take_dead_ranks(marks).empty());
    run_rank(marks, 0, SIGINT);
    CHECK(take_dead_ranks(marks).empty());
  }
}

}  // namespace rank_marks_test
