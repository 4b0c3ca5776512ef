#include "app/data/survey/survey_activations.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/half.h"
#include "core/json.h"
#include "files/npy.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLookedAtShards = 16;  ///< whose tokens are counted for an estimate
constexpr std::size_t kIndexColumns = 3;
constexpr std::string_view kIndexName = "index";

fs::path shard_file(const fs::path& folder, std::string_view name, std::uint64_t shard) {
  return folder / fmt::format("{}-{:06}.npy", name, shard);
}

template <typename Number>
std::string_view bytes_of(std::span<const Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

void write_array(const fs::path& path, std::string_view type, const Shape& shape, std::string_view bytes) {
  AtomicFile file(path);
  file.append(files::npy_header(type, shape));
  file.append(bytes);
  file.finish();
}

/// Returns the rows of each shard that is in the folder, by its number.
std::map<std::uint64_t, std::uint32_t> shards_in(const fs::path& folder) {
  std::map<std::uint64_t, std::uint32_t> shards;
  if (!fs::exists(folder)) return shards;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = utf8(entry.path().stem());
    if (entry.path().extension() != ".npy" || !name.starts_with(kIndexName)) continue;
    try {
      constexpr std::size_t kHeader = 256;
      const std::uint64_t number = std::stoull(name.substr(kIndexName.size() + 1));
      shards[number] = files::read_npy_header(read_beginning(entry.path(), kHeader), entry.file_size()).shape.at(0);
    } catch (const std::exception& error) {
      throw Error("{}: {}; measure again with --restart", utf8(entry.path()), error.what());
    }
  }
  return shards;
}

}  // namespace

ActivationSize estimate_activations(const OpenedSurvey& survey, const ShardRange& shards) {
  const evaluation::ActivationChoice& choice = survey.identity.measures.activations;
  const std::uint64_t count = shards.end - shards.first, looked = std::min(count, kLookedAtShards);
  std::uint64_t rows = 0, skipped = 0;
  for (std::uint64_t i = 0; i < looked; ++i) {
    const CorpusShard shard = survey.corpus->shard(shards.first + count * i / looked);
    for (const auto& ids : evaluation::corpus_rows(*survey.model, survey.identity.measures, shard.texts).ids)
      rows += (ids.size() + choice.every - 1) / choice.every;
    skipped += shard.skipped;
  }
  if (rows == 0 && skipped > 0)
    throw Error("{} has no text that can be measured: {} lines aren't UTF-8, or too long", utf8(survey.corpus->path()),
                skipped);
  ActivationSize size{.rows = looked == 0 ? 0 : rows * count / looked, .files = count * (choice.sites.size() + 1)};
  std::uint64_t row_bytes = kIndexColumns * sizeof(std::int64_t);
  for (const evaluation::ActivationSite& site : choice.sites)
    row_bytes += element_count(evaluation::row_shape(*survey.model, site)) * (choice.is_half ? 2 : 4);
  size.bytes = size.rows * row_bytes;
  return size;
}

void write_activations(const fs::path& directory, std::uint64_t shard, const evaluation::ActivationChoice& choice,
                       const evaluation::ShardActivations& kept) {
  if (kept.rows() == 0) return;
  const fs::path folder = directory / kActivationsFolder;
  make_directories(folder);
  std::vector<std::uint16_t> halves;
  for (std::size_t i = 0; i < choice.sites.size(); ++i) {
    const Tensor& site = kept.sites[i];
    const fs::path path = shard_file(folder, choice.sites[i].name(), shard);
    if (!choice.is_half) {
      write_array(path, "<f4", site.shape, bytes_of(std::span<const float>(site.values)));
      continue;
    }
    halves.resize(site.values.size());
    to_halves(site.values.data(), halves.size(), halves.data());
    write_array(path, "<f2", site.shape, bytes_of(std::span<const std::uint16_t>(halves)));
  }
  write_array(shard_file(folder, kIndexName, shard), "<i8", {kept.rows(), kIndexColumns},
              bytes_of(std::span<const std::int64_t>(kept.index)));
}

void take_activations(const fs::path& directory, const fs::path& part) {
  const fs::path from = part / kActivationsFolder, to = directory / kActivationsFolder;
  if (!fs::exists(from) || fs::equivalent(part, directory)) return;
  make_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    if (entry.path().extension() != ".npy") continue;
    const fs::path path = to / entry.path().filename();
    std::error_code reason;
    fs::remove(path, reason);
    fs::create_hard_link(entry.path(), path, reason);
    if (reason) fs::copy_file(entry.path(), path, reason);
    if (reason) throw Error("can't write {}: {}", utf8(path), reason.message());
  }
}

void describe_activations(const fs::path& directory, const SurveyResults& results) {
  const evaluation::ActivationChoice& choice = results.measures().activations;
  const fs::path folder = directory / kActivationsFolder;
  using Json = nlohmann::ordered_json;
  Json sites = Json::object(), shards = Json::array();
  for (const evaluation::ActivationSite& site : choice.sites)
    sites[site.name()] = evaluation::row_shape(results.model(), site);
  std::uint64_t all = 0;
  for (const auto& [shard, rows] : shards_in(folder)) {
    all += rows;
    shards.push_back({shard, rows});
    for (const evaluation::ActivationSite& site : choice.sites) {
      const fs::path path = shard_file(folder, site.name(), shard);
      if (!fs::exists(path)) throw Error("{} is missing; measure again with --restart", utf8(path));
    }
  }
  if (all * choice.every < results.statistics.tokens)
    throw Error("{} has activations of {} tokens, fewer than were measured; measure again with --restart", utf8(folder),
                all);
  make_directories(folder);
  write_file_atomically(folder / "activations.json", to_text(Json{{"version", 1},
                                                                  {"dtype", choice.is_half ? "float16" : "float32"},
                                                                  {"every", choice.every},
                                                                  {"rows", all},
                                                                  {"index", {"text", "position", "token"}},
                                                                  {"sites", std::move(sites)},
                                                                  {"shards", std::move(shards)}}) +
                                                         "\n");
}

}  // namespace headlight::app
