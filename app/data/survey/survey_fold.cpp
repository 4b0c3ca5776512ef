#include "app/data/survey/survey_fold.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>
#include <zlib.h>

#include "core/error.h"
#include "core/file.h"

namespace headlight::app {
namespace {

constexpr std::string_view kAnySurveyMagic = "headlight survey ";
constexpr std::string_view kSurveyMagic = "headlight survey 4\n";

using Checksum = std::uint32_t;

/// Returns the CRC-32 of all that is before it in the file.
Checksum checksum_of(std::string_view bytes) {
  return static_cast<Checksum>(
      ::crc32_z(::crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Returns the file's bytes without its check sum.
std::string read_checked(const std::filesystem::path& file) {
  std::string bytes = read_file(file);
  if (!bytes.starts_with(kSurveyMagic)) {
    const bool is_older = bytes.starts_with(kAnySurveyMagic);
    throw Error("{} is {}", utf8(file),
                is_older ? "of another version of headlight, which kept other numbers; measure again with --restart"
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

namespace {

/// Names what is kept beside statistics; empty: nothing.
std::string activations_text(const evaluation::ActivationChoice& choice) {
  std::vector<std::string> names;
  for (const evaluation::ActivationSite& site : choice.sites) names.push_back(site.name());
  if (names.empty()) return "";
  return fmt::format("; {} activations of every {} tokens: {}", choice.is_half ? "float16" : "float32", choice.every,
                     fmt::join(names, ","));
}

}  // namespace

std::string SurveyIdentity::text() const {
  // Older versions wrote "; chats" where thinking was on.
  static constexpr std::array kChats = {"; chats, thinking unset", "; chats", "; chats without thinking"};
  std::vector<std::string> names;
  for (const evaluation::CorpusMetric& metric : measures.metrics) {
    names.push_back(metric.is_own() ? fmt::format("{} = {}", metric.own_name, metric.pattern) : metric.name());
  }
  const evaluation::HeadLayout& layout = measures.layout;
  const std::string decoder =
      layout.has_kinds() ? fmt::format(", decoder {} of {}", layout.decoder_layers, layout.decoder_heads) : "";
  return fmt::format(
      "corpus {}; model {}; {} layers of {} heads{}; metrics {}; texts of {} tokens at most; {} examples, {} "
      "samples{}{}{}{}",
      corpus, model, layout.layers, layout.heads, decoder, fmt::join(names, ","), measures.most_tokens, measures.top,
      measures.samples, measures.is_chat ? kChats.at(static_cast<std::size_t>(measures.thinking)) : "",
      measures.packs ? "; packed" : "", is_half ? "; float16 weights" : "", activations_text(measures.activations));
}

SurveyFold::SurveyFold(SurveyIdentity identity, std::uint64_t shards, std::filesystem::path file,
                       std::optional<ShardRange> part)
    : identity_(std::move(identity)),
      total_(shards),
      part_(part.value_or(ShardRange{0, shards})),
      folded_(part_.first),
      file_(std::move(file)) {
  if (std::filesystem::exists(file_)) {
    const ShardRange found = take_in(file_);
    if (found != part_) {
      throw Error("{} has shards {} to {} of the corpus instead of {} to {}; choose another --out, or --restart",
                  utf8(file_), found.first, found.end, part_.first, part_.end);
    }
  }
  next_ = folded_;
}

ShardRange SurveyFold::take_in(const std::filesystem::path& file) {
  const std::string bytes = read_checked(file);
  const std::string head = std::string(kSurveyMagic) + identity_.text() + "\n";
  if (!bytes.starts_with(head)) {
    const std::size_t end = bytes.find('\n', kSurveyMagic.size());
    throw Error("{} is of another survey ({}) than {}{}", utf8(file),
                bytes.substr(kSurveyMagic.size(), end - kSurveyMagic.size()), identity_.text(),
                file == file_ ? "; choose another --out, or --restart" : "");
  }
  std::string_view rest = std::string_view(bytes).substr(head.size());
  const auto take = [&]<typename Number>(Number& number) {
    if (rest.size() < sizeof(number)) throw Error("{} is damaged; add --restart", utf8(file));
    std::memcpy(&number, rest.data(), sizeof(number));
    rest.remove_prefix(sizeof(number));
  };
  std::uint64_t total = 0;
  ShardRange part;
  for (std::uint64_t* number : {&total, &part.first, &part.end}) take(*number);
  if (total != total_ || part.first > part.end || part.end > total) {
    throw Error("{} is damaged, or of a corpus of {} shards instead of {}; add --restart", utf8(file), total, total_);
  }
  // Sums of runs of shards, each beginning where the one before ends.
  for (std::uint64_t at = part.first; !rest.empty();) {
    std::uint32_t level = 0;
    std::uint64_t size = 0;
    take(level);
    take(size);
    const std::uint64_t run = level < 63 ? std::uint64_t{1} << level : 0;
    if (run == 0 || at % run != 0 || run > part.end - at || size > rest.size()) {
      throw Error("{} is damaged; add --restart", utf8(file));
    }
    const auto after = nodes_.lower_bound(at);
    if ((after != nodes_.end() && after->first < at + run) ||
        (after != nodes_.begin() && std::prev(after)->first + (std::uint64_t{1} << std::prev(after)->second.level) > at)) {
      throw Error("{} has shard {} a second time", utf8(file), at);
    }
    try {
      add(at, {.level = level, .sum = evaluation::decode_statistics(rest.substr(0, size), identity_.measures)});
    } catch (const Error& error) {
      throw Error("{}: {}; measure again with --restart", utf8(file), error.what());
    }
    rest.remove_prefix(size);
    at += run;
  }
  return part;
}

/// Pairs are added up as soon as both are there.
void SurveyFold::add(std::uint64_t first, Node&& node) {
  auto at = nodes_.emplace(first, std::move(node)).first;
  while (true) {
    const std::uint64_t size = std::uint64_t{1} << at->second.level;
    const auto other = nodes_.find(at->first ^ size);
    if (other == nodes_.end() || other->second.level != at->second.level) break;
    const auto left = other->first < at->first ? other : at, right = left == at ? other : at;
    left->second.sum.merge(right->second.sum);
    ++left->second.level;
    nodes_.erase(right);
    at = left;
  }
  if (at->first <= folded_) folded_ = std::max(folded_, at->first + (std::uint64_t{1} << at->second.level));
  for (auto next = nodes_.find(folded_); next != nodes_.end(); next = nodes_.find(folded_)) {
    folded_ += std::uint64_t{1} << next->second.level;
  }
}

std::optional<std::uint64_t> SurveyFold::take() {
  if (next_ == part_.end || next_ - folded_ >= kMaxAhead) return std::nullopt;
  return next_++;
}

void SurveyFold::give(std::uint64_t shard, evaluation::CorpusStatistics&& found) {
  add(shard, {.level = 0, .sum = std::move(found)});
}

std::uint64_t SurveyFold::texts() const {
  std::uint64_t texts = 0;
  for (const auto& [first, node] : nodes_) texts += node.sum.texts;
  return texts;
}

evaluation::CorpusStatistics SurveyFold::statistics() const {
  evaluation::CorpusStatistics sum(identity_.measures);
  for (const auto& [first, node] : nodes_) sum.merge(node.sum);
  return sum;
}

void SurveyFold::save() const {
  std::string bytes = std::string(kSurveyMagic) + identity_.text() + "\n";
  const auto put = [&](const auto& number) {                               // of this machine, as the statistics
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));  // NOLINT
  };
  for (const std::uint64_t number : {total_, part_.first, part_.end}) put(number);
  for (const auto& [first, node] : nodes_) {
    if (first >= folded_) break;
    const std::string sum = encode(node.sum);
    put(node.level);
    put(std::uint64_t{sum.size()});
    bytes += sum;
  }
  put(checksum_of(bytes));
  write_file_atomically(file_, bytes);
}

}  // namespace headlight::app
