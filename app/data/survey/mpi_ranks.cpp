#include <array>
#include <cstdlib>

#include "app/data/survey/ranks.h"
#include "core/error.h"

#ifdef HEADLIGHT_MPI
#include <mpi.h>
#endif

namespace headlight::app {
namespace {

class OneRank final : public Ranks {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int rank_of_machine() const override { return 0; }
  void send(int /*to*/, RankMessage /*kind*/, const std::string& /*bytes*/) override {}
  std::optional<Received> receive() override { return std::nullopt; }
  void abort() override {}
};

/// Was the program started as one of several ranks? By the variables of Open MPI, MPICH and Slurm.
bool is_started_as_rank() {
  constexpr std::array kVariables = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  for (const char* variable : kVariables) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

#ifdef HEADLIGHT_MPI

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int provided = 0;
    // Threads that measure never call MPI.
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) throw Error("MPI doesn't start");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &rank_of_machine_);
    MPI_Comm_free(&machine);
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int rank_of_machine() const override { return rank_of_machine_; }

  void send(int to, RankMessage kind, const std::string& bytes) override {
    const int status =
        MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, static_cast<int>(kind), MPI_COMM_WORLD);
    if (status != MPI_SUCCESS) throw Error("rank {} can't be reached", to);
  }

  std::optional<Received> receive() override {
    int is_there = 0;
    MPI_Status status = {};
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
    if (is_there == 0) return std::nullopt;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Received received{.from = status.MPI_SOURCE, .kind = static_cast<RankMessage>(status.MPI_TAG), .bytes = {}};
    received.bytes.resize(static_cast<std::size_t>(size));
    MPI_Recv(received.bytes.data(), size, MPI_BYTE, received.from, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return received;
  }

  void abort() override { MPI_Abort(MPI_COMM_WORLD, 1); }

 private:
  int rank_ = 0, size_ = 1, rank_of_machine_ = 0;
};

#endif

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  if (!is_started_as_rank()) return std::make_unique<OneRank>();
#ifdef HEADLIGHT_MPI
  return std::make_unique<MpiRanks>();
#else
  throw Error("this program was built without MPI: install libopenmpi-dev and build it again, or start it without mpirun");
#endif
}

}  // namespace headlight::app
