#include "app/survey/shard_desk.h"

#include <chrono>

namespace headlight::app {

void ShardDesk::offer(std::uint64_t shard) {
  {
    const std::lock_guard lock(mutex_);
    shards_.push_back(shard);
    ++under_way_;
  }
  offered_.notify_one();
}

void ShardDesk::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  offered_.notify_all();
}

std::size_t ShardDesk::under_way() const {
  const std::lock_guard lock(mutex_);
  return under_way_;
}

std::vector<ShardDesk::Result> ShardDesk::results(int patience_ms) {
  std::unique_lock lock(mutex_);
  given_.wait_for(lock, std::chrono::milliseconds(patience_ms), [&] { return failure_ != nullptr || !results_.empty(); });
  if (failure_) std::rethrow_exception(failure_);
  return std::exchange(results_, {});
}

std::optional<std::uint64_t> ShardDesk::take() {
  std::unique_lock lock(mutex_);
  offered_.wait(lock, [&] { return is_closed_ || !shards_.empty(); });
  if (is_closed_) return std::nullopt;
  const std::uint64_t shard = shards_.front();
  shards_.pop_front();
  return shard;
}

void ShardDesk::give(std::uint64_t shard, evaluation::CorpusStatistics&& found) {
  {
    const std::lock_guard lock(mutex_);
    results_.emplace_back(shard, std::move(found));
    --under_way_;
  }
  given_.notify_one();
}

void ShardDesk::fail(std::exception_ptr reason) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(reason);
  }
  given_.notify_one();
}

}  // namespace headlight::app
