#include "app/survey/survey_fold.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/atomic_file.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::string_view kAnySurvey = "headlight survey ";
/// Files of version 1 have other numbers by the same names (survey_files.h).
constexpr std::string_view kSurveyMagic = "headlight survey 2\n";

}  // namespace

std::string SurveyIdentity::text() const {
  std::vector<std::string_view> names;
  for (const evaluation::HeadMetric metric : measures.metrics) names.push_back(evaluation::metric_name(metric));
  return fmt::format("corpus {}; model {}; {} layers of {} heads; metrics {}; texts of {} tokens at most; {} examples",
                     corpus, model, measures.layers, measures.heads, fmt::join(names, ","), measures.most_tokens,
                     measures.top);
}

SurveyFold::SurveyFold(SurveyIdentity identity, std::uint64_t shards, std::filesystem::path file)
    : identity_(std::move(identity)), shards_(shards), file_(std::move(file)), sum_(identity_.measures) {
  if (!std::filesystem::exists(file_)) return;
  const std::string bytes = read_file(file_);
  const std::string head = std::string(kSurveyMagic) + identity_.text() + "\n";
  if (!bytes.starts_with(kAnySurvey)) throw Error("{} is no survey's; remove it, or choose another --out", file_.string());
  if (!bytes.starts_with(kSurveyMagic)) {
    throw Error(
        "{} is of another version of headlight, whose metrics are other numbers; add --restart, or choose another --out",
        file_.string());
  }
  if (!bytes.starts_with(head)) {
    const std::size_t end = bytes.find('\n', kSurveyMagic.size());
    throw Error("{} is of another survey ({}); choose another --out, or --restart", file_.string(),
                bytes.substr(kSurveyMagic.size(), end - kSurveyMagic.size()));
  }
  if (bytes.size() < head.size() + sizeof(folded_)) throw Error("{} is damaged; add --restart", file_.string());
  std::memcpy(&folded_, bytes.data() + head.size(), sizeof(folded_));
  if (folded_ > shards_) throw Error("{} is damaged; add --restart", file_.string());
  sum_ = evaluation::decode_statistics(std::string_view(bytes).substr(head.size() + sizeof(folded_)), identity_.measures);
  next_ = folded_;
}

std::optional<std::uint64_t> SurveyFold::take() {
  if (next_ == shards_ || next_ - folded_ >= kMostAhead) return std::nullopt;
  return next_++;
}

void SurveyFold::give(std::uint64_t shard, evaluation::CorpusStatistics&& found) {
  waiting_.emplace(shard, std::move(found));
  for (auto next = waiting_.begin(); next != waiting_.end() && next->first == folded_; next = waiting_.erase(next)) {
    sum_.merge(next->second);
    ++folded_;
  }
}

void SurveyFold::save() const {
  std::string bytes = std::string(kSurveyMagic) + identity_.text() + "\n";
  bytes.append(reinterpret_cast<const char*>(&folded_), sizeof(folded_));  // NOLINT: as the statistics, of this machine
  write_file_atomically(file_, bytes + encode(sum_));
}

}  // namespace headlight::app
