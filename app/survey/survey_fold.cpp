#include "app/survey/survey_fold.h"

#include <cstring>
#include <utility>

#include <fmt/ranges.h>
#include <zlib.h>

#include "core/atomic_file.h"
#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::string_view kAnySurveyMagic = "headlight survey ";
constexpr std::string_view kSurveyMagic = "headlight survey 2\n";

using Checksum = std::uint32_t;

/// CRC-32 of all that is before it in the file.
Checksum checksum_of(std::string_view bytes) {
  return static_cast<Checksum>(
      ::crc32_z(::crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// The file's bytes without its check sum.
std::string read_checked(const std::filesystem::path& file) {
  std::string bytes = read_file(file);
  if (!bytes.starts_with(kSurveyMagic)) {
    const bool is_older = bytes.starts_with(kAnySurveyMagic);
    throw Error("{} is {}", utf8(file),
                is_older ? "of another version of headlight, whose metrics are other numbers; measure again with --restart"
                         : "no survey's; remove it, or choose another --out");
  }
  Checksum written = 0;
  if (bytes.size() >= kSurveyMagic.size() + sizeof(written)) {
    std::memcpy(&written, bytes.data() + bytes.size() - sizeof(written), sizeof(written));
    bytes.resize(bytes.size() - sizeof(written));
    if (written == checksum_of(bytes)) return bytes;
  }
  throw Error("{} is damaged: its check sum is wrong; measure again with --restart", utf8(file));
}

}  // namespace

std::string SurveyIdentity::text() const {
  std::vector<std::string_view> names;
  for (const evaluation::HeadMetric metric : measures.metrics) names.push_back(evaluation::metric_name(metric));
  return fmt::format("corpus {}; model {}; {} layers of {} heads; metrics {}; texts of {} tokens at most; {} examples{}",
                     corpus, model, measures.layers, measures.heads, fmt::join(names, ","), measures.most_tokens,
                     measures.top,
                     !measures.is_chat ? ""
                     : measures.thinks ? "; chats"
                                       : "; chats without thinking");
}

SurveyFold::SurveyFold(SurveyIdentity identity, std::uint64_t shards, std::filesystem::path file)
    : identity_(std::move(identity)), shards_(shards), file_(std::move(file)), sum_(identity_.measures) {
  if (!std::filesystem::exists(file_)) return;
  const std::string bytes = read_checked(file_);
  const std::string head = std::string(kSurveyMagic) + identity_.text() + "\n";
  if (!bytes.starts_with(head)) {
    const std::size_t end = bytes.find('\n', kSurveyMagic.size());
    throw Error("{} is of another survey ({}); choose another --out, or --restart", utf8(file_),
                bytes.substr(kSurveyMagic.size(), end - kSurveyMagic.size()));
  }
  if (bytes.size() < head.size() + sizeof(folded_)) throw Error("{} is damaged; add --restart", utf8(file_));
  std::memcpy(&folded_, bytes.data() + head.size(), sizeof(folded_));
  if (folded_ > shards_) throw Error("{} is damaged; add --restart", utf8(file_));
  sum_ = evaluation::decode_statistics(std::string_view(bytes).substr(head.size() + sizeof(folded_)), identity_.measures);
  next_ = folded_;
}

std::optional<std::uint64_t> SurveyFold::take() {
  if (next_ == shards_ || next_ - folded_ >= kMaxAhead) return std::nullopt;
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
  bytes += encode(sum_);
  const Checksum checksum = checksum_of(bytes);
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));  // NOLINT
  write_file_atomically(file_, bytes);
}

}  // namespace headlight::app
