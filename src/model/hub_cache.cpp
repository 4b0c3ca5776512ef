#include "model/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "model/gguf.h"
#include "platform/folders.h"

namespace headlight::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRepository = "models--";
constexpr std::size_t kLongestRevision = 256;

/// An environment variable as a path, "~" being the home folder; none when it isn't set.
std::optional<fs::path> path_variable(const char* name) {
  const std::optional<fs::path> path = platform::path_variable(name);
  const fs::path home = platform::home_folder();
  if (!path || home.empty() || *path->begin() != "~") return path;
  return home / path->lexically_relative("~");
}

/// The entries of a folder, sorted; none when it can't be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Bytes of a regular file at the end of all links; none for everything else.
std::optional<std::uint64_t> file_bytes(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error) return std::nullopt;
  return bytes;
}

/// "models--openai-community--gpt2" is "openai-community/gpt2".
std::string repository_name(std::string folder) {
  folder.erase(0, kRepository.size());
  for (std::size_t at = folder.find("--"); at != std::string::npos; at = folder.find("--", at + 1)) {
    folder.replace(at, 2, 1, '/');
  }
  return folder;
}

/// The snapshot that the cache knows by the name of a branch or tag; empty when there is none.
fs::path snapshot_of(const fs::path& repository, const fs::path& name) {
  const fs::path reference = repository / "refs" / name;
  if (!file_bytes(reference)) return {};
  std::string revision = read_beginning(reference, kLongestRevision);
  revision.resize(std::min(revision.find_first_of(" \t\r\n"), revision.size()));
  const fs::path named = repository / "snapshots" / fs::path(revision).filename();
  return !revision.empty() && is_folder(named) ? named : fs::path();
}

/// The snapshot that the cache calls "main", else the newest; empty when there is none.
fs::path snapshot(const fs::path& repository) {
  if (fs::path main = snapshot_of(repository, "main"); !main.empty()) return main;
  fs::path newest;
  fs::file_time_type newest_time = fs::file_time_type::min();
  for (const fs::path& candidate : entries(repository / "snapshots")) {
    std::error_code error;
    const fs::file_time_type time = fs::last_write_time(candidate, error);
    if (error || !is_folder(candidate) || (!newest.empty() && time <= newest_time)) continue;
    newest = candidate;
    newest_time = time;
  }
  return newest;
}

/// The model whose files are in `folder` itself, and every GGUF file there as a model of its own.
void add_models(const std::string& name, const fs::path& folder, bool is_repository, std::vector<FoundModel>& found) {
  std::uint64_t bytes = 0, torch_bytes = 0;
  for (const fs::path& file : entries(folder)) {
    const bool is_gguf = file.extension() == ".gguf";
    const bool is_torch = file.extension() == ".bin" && utf8(file.filename()).starts_with("pytorch_model");
    if (!is_gguf && !is_torch && file.extension() != ".safetensors") continue;
    const std::optional<std::uint64_t> size = file_bytes(file);
    if (!size) continue;
    const fs::path first = is_gguf ? first_gguf_part(file) : file;
    if (first != file && !found.empty() && found.back().path == first) {
      found.back().bytes += *size;  // a further part
    } else if (is_gguf) {
      const std::string file_name = utf8(file.filename());
      found.push_back(
          {.name = is_repository ? fmt::format("{}/{}", name, file_name) : file_name, .path = file, .bytes = *size});
    } else {
      (is_torch ? torch_bytes : bytes) += *size;
    }
  }
  // Many repositories have the same weights in both formats.
  if (bytes == 0) bytes = torch_bytes;
  const bool is_model = file_bytes(folder / "config.json") || file_bytes(folder / "adapter_config.json");
  if (bytes != 0 && is_model) found.push_back({.name = name, .path = folder, .bytes = bytes});
}

}  // namespace

std::string model_name(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path folder = whole.has_filename() ? whole : whole.parent_path();
  const std::string repository = utf8(folder.parent_path().parent_path().filename());
  const bool is_snapshot = folder.parent_path().filename() == "snapshots" && repository.starts_with(kRepository);
  return is_snapshot ? repository_name(repository) : utf8(folder.filename());
}

fs::path hub_cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto cache = path_variable(name)) return *cache;
  }
  if (const auto home = path_variable("HF_HOME")) return *home / "hub";
  if (const auto cache = path_variable("XDG_CACHE_HOME")) return *cache / "huggingface" / "hub";
  return platform::home_folder() / ".cache" / "huggingface" / "hub";
}

std::vector<FoundModel> find_models(const fs::path& folder) {
  std::vector<FoundModel> found;
  add_models(utf8(fs::path(folder / "").parent_path().filename()), folder, false, found);
  for (const fs::path& entry : entries(folder)) {
    if (!is_folder(entry)) continue;
    const std::string name = utf8(entry.filename());
    if (!name.starts_with(kRepository)) {
      add_models(name, entry, false, found);
    } else if (const fs::path revision = snapshot(entry); !revision.empty()) {
      add_models(repository_name(name), revision, true, found);
    }
  }
  std::ranges::sort(found, {}, [](const FoundModel& model) { return std::tie(model.name, model.path); });
  return found;
}

fs::path find_revision(const fs::path& cache, std::string_view name, std::string_view revision) {
  std::string folder(kRepository);
  for (const char letter : name) folder += letter == '/' ? std::string("--") : std::string(1, letter);
  const fs::path repository = cache / folder;
  if (fs::path named = snapshot_of(repository, revision); !named.empty()) return named;
  std::vector<fs::path> fitting;
  std::string known;
  for (const fs::path& one : entries(repository / "snapshots")) {
    const std::string commit = utf8(one.filename());
    known += fmt::format("{}{}", known.empty() ? "" : ", ", commit);
    if (!revision.empty() && commit.starts_with(revision) && is_folder(one)) fitting.push_back(one);
  }
  if (fitting.size() == 1) return fitting.front();
  throw Error("{}@{}: {} has {} of this name: {}", name, revision, utf8(repository),
              fitting.empty() ? "no revision" : "several revisions",
              known.empty() ? "download it" : fmt::format("choose one of {}", known));
}

std::map<std::string, std::string> revision_names(const fs::path& repository) {
  constexpr std::size_t kMaxNames = 4'096;
  const auto has_number = [](const std::string& name) { return name.find_first_of("0123456789") != std::string::npos; };
  std::map<std::string, std::string> names;
  const fs::path references = repository / "refs";
  std::error_code error;
  std::size_t count = 0;
  for (fs::recursive_directory_iterator entry(references, error), end; !error && entry != end && count < kMaxNames;
       entry.increment(error)) {
    const fs::path reference = entry->path().lexically_relative(references);
    const fs::path snapshot = snapshot_of(repository, reference);
    if (snapshot.empty()) continue;
    ++count;
    std::string& name = names[utf8(snapshot.filename())];
    if (name.empty() || (has_number(utf8(reference)) && !has_number(name))) name = utf8(reference);
  }
  return names;
}

}  // namespace headlight::model
