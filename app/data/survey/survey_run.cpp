#include "app/data/survey/survey_run.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "app/data/survey/ranks.h"
#include "app/data/survey/survey_activations.h"
#include "app/engine/gpu_runner.h"
#include "core/error.h"
#include "core/file.h"

namespace headlight::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kMarksFolder = "ranks";
constexpr std::chrono::seconds kBetweenSaves{5};
constexpr int kSaveShare = 50;     // saving takes a fiftieth of the time at most
constexpr int kShortWait_ms = 1;   // between looks for messages of other ranks
constexpr int kLongWait_ms = 100;  // without other ranks
/// Shards that wait for a thread, so that it never waits for rank 0.
constexpr std::size_t kSpareShards = 1;

/// Connects the threads that measure shards, one a device, with the main thread of their rank. Any thread may call it.
class ShardDesk {
 public:
  using Result = std::pair<std::uint64_t, evaluation::CorpusStatistics>;

  // The main thread calls these functions.
  void offer(std::uint64_t shard) {
    {
      const std::lock_guard lock(mutex_);
      shards_.push_back(shard);
      ++under_way_;
    }
    offered_.notify_one();
  }
  /// Lets take() return none from now on.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    offered_.notify_all();
  }
  /// Shards that are offered or being measured.
  std::size_t under_way() const {
    const std::lock_guard lock(mutex_);
    return under_way_;
  }
  /// Returns what was measured since the last call; waits for `patience_ms` at most. Throws what a measuring thread failed
  /// with.
  std::vector<Result> results(int patience_ms) {
    std::unique_lock lock(mutex_);
    given_.wait_for(lock, std::chrono::milliseconds(patience_ms), [&] { return failure_ != nullptr || !results_.empty(); });
    if (failure_) std::rethrow_exception(failure_);
    return std::exchange(results_, {});
  }

  // A thread that measures calls these functions.
  std::optional<std::uint64_t> take() {
    std::unique_lock lock(mutex_);
    offered_.wait(lock, [&] { return is_closed_ || !shards_.empty(); });
    if (is_closed_) return std::nullopt;
    const std::uint64_t shard = shards_.front();
    shards_.pop_front();
    return shard;
  }
  void give(std::uint64_t shard, evaluation::CorpusStatistics&& found) {
    {
      const std::lock_guard lock(mutex_);
      results_.emplace_back(shard, std::move(found));
      --under_way_;
    }
    given_.notify_one();
  }
  void fail(std::exception_ptr reason) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::move(reason);
    }
    given_.notify_one();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable offered_, given_;
  std::deque<std::uint64_t> shards_;
  std::vector<Result> results_;
  std::size_t under_way_ = 0;
  bool is_closed_ = false;
  std::exception_ptr failure_;
};

std::string number_bytes(std::uint64_t number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

std::uint64_t take_number(const std::string& bytes) {
  std::uint64_t number = 0;
  if (bytes.size() < sizeof(number)) throw Error("a message of another rank is too short");
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

/// The threads that measure, one for each device; they end with this.
class Surveyors {
 public:
  Surveyors(const std::shared_ptr<const inference::LanguageModel>& model, const CorpusFile& corpus,
            const SurveyOptions& options, std::vector<std::string> devices, RankMark& mark)
      : model_(model), corpus_(corpus), options_(options), mark_(mark) {
    for (std::string& device : devices) threads_.emplace_back([this, device = std::move(device)] { measure(device); });
  }
  ~Surveyors() {
    desk_.close();
    for (std::thread& thread : threads_) thread.join();
  }
  Surveyors(const Surveyors&) = delete;
  Surveyors& operator=(const Surveyors&) = delete;

  ShardDesk& desk() { return desk_; }
  std::size_t count() const { return threads_.size(); }
  /// Returns how many shards to have here at once.
  std::size_t room() const { return threads_.size() + kSpareShards; }

 private:
  void measure(const std::string& device) {
    std::optional<std::uint64_t> shard;
    try {
      GpuRunner runner(device);
      if (options_.opened) options_.opened(runner.device_name());
      runner.load(model_->network->layers, options_.identity.is_half ? inference::Precision::F16 : inference::Precision::F32,
                  {});
      while ((shard = desk_.take())) {
        mark_.begin(*shard);
        CorpusShard read = corpus_.shard(*shard);
        evaluation::ShardActivations kept;
        evaluation::CorpusStatistics found =
            evaluation::survey_corpus(runner.session(), *model_, options_.identity.measures, read.texts, &kept);
        write_activations(options_.directory, *shard, options_.identity.measures.activations, kept);
        found.skipped += read.skipped;
        desk_.give(*shard, std::move(found));
      }
    } catch (const std::exception& error) {
      const std::string where = shard ? fmt::format("shard {}: ", *shard) : std::string();
      desk_.fail(std::make_exception_ptr(Error(kind_of(error), "{}{}", where, error.what())));
    }
  }

  std::shared_ptr<const inference::LanguageModel> model_;
  const CorpusFile& corpus_;
  const SurveyOptions& options_;
  RankMark& mark_;
  ShardDesk desk_;
  std::vector<std::thread> threads_;
};

/// Returns the devices of this rank: where a machine has several ranks, each takes one.
std::vector<std::string> devices_of(const Ranks& ranks, const std::vector<std::string>& devices) {
  if (devices.empty()) return {std::string()};
  if (ranks.size() == 1) return devices;
  return {devices[static_cast<std::size_t>(ranks.rank_of_machine()) % devices.size()]};
}

/// Rank 0 hands out shards, measures some itself and adds all up.
class Leader {
 public:
  Leader(Ranks& ranks, SurveyFold& fold, Surveyors& surveyors, const SurveyOptions& options)
      : ranks_(ranks), fold_(fold), surveyors_(surveyors), options_(options) {}

  void run() {
    Clock::time_point saved = Clock::now();
    Clock::duration between_saves = kBetweenSaves;
    tell_progress();
    while (!fold_.is_complete()) {
      hand_out();
      const std::uint64_t before = fold_.done();
      for (ShardDesk::Result& result : surveyors_.desk().results(ranks_.size() > 1 ? kShortWait_ms : kLongWait_ms)) {
        fold_.give(result.first, std::move(result.second));
      }
      receive();
      if (fold_.done() != before) tell_progress();
      if (Clock::now() - saved < between_saves) continue;
      saved = Clock::now();
      fold_.save();
      between_saves = std::max<Clock::duration>(kBetweenSaves, kSaveShare * (Clock::now() - saved));
    }
    fold_.save();
    for (int rank = 1; rank < ranks_.size(); ++rank) ranks_.send(rank, RankMessage::Stop, {});
  }

 private:
  void hand_out() {
    while (surveyors_.desk().under_way() < surveyors_.room()) {
      const std::optional<std::uint64_t> shard = fold_.take();
      if (!shard) return;
      surveyors_.desk().offer(*shard);
    }
    for (auto& [rank, free] : free_) {
      while (free > 0) {
        const std::optional<std::uint64_t> shard = fold_.take();
        if (!shard) return;
        ranks_.send(rank, RankMessage::Shard, number_bytes(*shard));
        --free;
      }
    }
  }

  void receive() {
    while (std::optional<Ranks::Received> message = ranks_.receive()) {
      const std::uint64_t number = take_number(message->bytes);
      if (message->kind == RankMessage::Ready) {
        free_[message->from] = number;
      } else if (message->kind == RankMessage::Result) {
        const std::string_view rest = std::string_view(message->bytes).substr(sizeof(number));
        fold_.give(number, evaluation::decode_statistics(rest, options_.identity.measures));
        ++free_[message->from];
      }
    }
  }

  void tell_progress() const {
    if (!options_.progress) return;
    options_.progress({.done = fold_.done(), .shards = fold_.shards(), .texts = fold_.texts()});
  }

  Ranks& ranks_;
  SurveyFold& fold_;
  Surveyors& surveyors_;
  const SurveyOptions& options_;
  std::map<int, std::uint64_t> free_;  ///< shards that a rank could have besides
};

/// Measures, in any rank but 0, the shards that rank 0 sends.
void follow(Ranks& ranks, Surveyors& surveyors) {
  ranks.send(0, RankMessage::Ready, number_bytes(surveyors.room()));
  while (true) {
    while (std::optional<Ranks::Received> message = ranks.receive()) {
      if (message->kind == RankMessage::Stop) return;
      if (message->kind == RankMessage::Shard) surveyors.desk().offer(take_number(message->bytes));
    }
    for (const ShardDesk::Result& result : surveyors.desk().results(kShortWait_ms)) {
      ranks.send(0, RankMessage::Result, number_bytes(result.first) + encode(result.second));
    }
  }
}

}  // namespace

std::unique_ptr<SurveyFold> run_survey(Ranks& ranks, const std::shared_ptr<const inference::LanguageModel>& model,
                                       const CorpusFile& corpus, const SurveyOptions& options) {
  const std::filesystem::path marks = options.directory / kMarksFolder;
  try {
    std::unique_ptr<SurveyFold> fold;
    if (ranks.rank() == 0) {
      make_directories(options.directory);
      fold = std::make_unique<SurveyFold>(options.identity, corpus.shards(), options.directory / kStateFile, options.part);
      for (const std::string& dead : take_dead_ranks(marks)) {
        if (options.tell) options.tell(fmt::format("in the last run {}; it is measured again", dead));
      }
      if (fold->done() > 0 && options.tell) {
        options.tell(fmt::format("{} of {} shards are measured already", fold->done(), fold->shards()));
      }
      for (int rank = 1; rank < ranks.size(); ++rank) ranks.send(rank, RankMessage::Ready, number_bytes(0));
    } else {
      // The rank begins only after rank 0 has read the marks of the last run.
      while (!ranks.receive()) std::this_thread::sleep_for(std::chrono::milliseconds(kShortWait_ms));
    }
    RankMark mark(marks, ranks.rank(), ranks.size());
    Surveyors surveyors(model, corpus, options, devices_of(ranks, options.devices), mark);
    if (!fold) {
      follow(ranks, surveyors);
      return nullptr;
    }
    Leader(ranks, *fold, surveyors, options).run();
    return fold;
  } catch (const Error& error) {
    if (ranks.size() == 1) throw;
    throw Error(error.kind(), "rank {}: {}", ranks.rank(), error.what());
  }
}

}  // namespace headlight::app
