#include "model/checkpoint_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "model/lora.h"
#include "model/safetensors.h"
#include "model/torch_file.h"

namespace headlight::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAdapter =
    "a LoRA adapter without its adapter_config.json, which names the model that it changes: download the whole folder";
constexpr std::string_view kMeta =
    "they are the files that its makers train with: download the converted model, beside a config.json, or convert it in "
    "Python with transformers";
constexpr std::string_view kOriginal =
    "Headlight reads safetensors, PyTorch's files and GGUF: download the model in one of them, or convert it in Python with "
    "transformers";

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// Files of a folder with this extension, sorted.
std::vector<fs::path> files_with(std::string_view extension, const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == extension && is_file(entry->path())) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

/// The shard of each tensor, from the index file.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const nlohmann::json index = read_json(path);
  const auto weight_map = index.is_object() ? index.find("weight_map") : index.end();
  if (weight_map == index.end() || !weight_map->is_object() || weight_map->empty()) {
    throw Error("{} has no weight_map, which says which file holds which tensor: download it again", utf8(path));
  }
  std::map<std::string, std::string> shards;
  for (const auto& [name, file] : weight_map->items()) {
    // A shard is in its index's folder: a downloaded index must not name other paths.
    if (!file.is_string() || fs::path(file.get<std::string>()).filename() != file.get<std::string>()) {
      throw Error("{}: the file of tensor '{}' is not the name of a file beside it", utf8(path), printable(name));
    }
    shards.emplace(name, file.get<std::string>());
  }
  return shards;
}

/// The tensors under the names of the model itself: torch.compile, FSDP and activation checkpointing put a component into
/// names. Names that would then be there twice stay as they are.
TensorTable without_wrappers(const TensorTable& table) {
  constexpr std::array<std::string_view, 3> kWrappers{"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."};
  std::vector<StoredTensor> tensors = table.all();
  for (StoredTensor& tensor : tensors) {
    for (const std::string_view wrapper : kWrappers) {
      for (std::size_t at = 0; (at = tensor.name.find(wrapper, at)) != std::string::npos;)
        tensor.name.erase(at, wrapper.size());
    }
  }
  std::set<std::string_view> names;
  const bool is_unique =
      std::ranges::all_of(tensors, [&](const StoredTensor& one) { return names.insert(one.name).second; });
  return is_unique ? TensorTable(std::move(tensors)) : table;
}

CheckpointFiles open_shards(const fs::path& index) {
  const std::map<std::string, std::string> shard_of = read_index(index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : shard_of) shards.insert(shard);
  const fs::path folder = index.parent_path();
  const auto is_there = [&](const std::string& shard) { return is_file(folder / shard); };
  if (const auto missing = std::ranges::find_if_not(shards, is_there); missing != shards.end()) {
    throw Error("{}: {} is missing, one of {} files ({} are there): download the model again", utf8(folder),
                printable(*missing), shards.size(), std::ranges::count_if(shards, is_there));
  }

  CheckpointFiles files;
  std::vector<StoredTensor> tensors;
  for (const std::string& shard : shards) {
    files.paths.push_back(folder / shard);
    const TensorTable table = read_tensors(folder / shard);
    for (const StoredTensor& tensor : table.all()) {
      const auto found = shard_of.find(tensor.name);
      if (found == shard_of.end() || found->second == shard) tensors.push_back(tensor);
    }
  }
  files.tensors = TensorTable(std::move(tensors));
  for (const auto& [name, shard] : shard_of) {
    if (files.tensors.find(name) == nullptr) {
      throw Error("{}: tensor '{}' should be in {}, but isn't: download the model again", utf8(index), printable(name),
                  printable(shard));
    }
  }
  files.tensors = without_wrappers(files.tensors);
  return files;
}

/// A GGUF file with all its parts: the first one has the metadata.
CheckpointFiles open_gguf(const fs::path& path) {
  const fs::path first = first_gguf_part(path);
  CheckpointFiles files{.paths = {}, .tensors = {}, .gguf = GgufFile(is_file(first) ? first : path)};
  const std::int64_t parts = files.gguf->integer_or("split.count", 1);
  std::vector<StoredTensor> tensors;
  for (std::int64_t part = 1; part <= std::max<std::int64_t>(parts, 1); ++part) {
    files.paths.push_back(parts > 1 ? gguf_part(first, part, parts) : files.gguf->path());
    if (!is_file(files.paths.back())) {
      throw Error("{}: {} is missing, one of the {} parts of the model: download it, too", utf8(first.parent_path()),
                  utf8(files.paths.back().filename()), parts);
    }
    const GgufFile file(files.paths.back());
    if (const std::int64_t number = file.integer_or("split.no", part - 1); number != part - 1) {
      throw Error("{} says that it is part {} of the model, but its name says {}: download the model again",
                  utf8(file.path()), number + 1, part);
    }
    tensors.insert(tensors.end(), file.tensors().all().begin(), file.tensors().all().end());
  }
  files.tensors = TensorTable(std::move(tensors));
  if (const auto expected = files.gguf->integer_or("split.tensors.count", -1);
      expected >= 0 && std::cmp_not_equal(expected, files.tensors.all().size())) {
    throw Error("{} and its parts have {} tensors, not {}: download the model again", utf8(first),
                files.tensors.all().size(), expected);
  }
  return files;
}

/// Says which other format of a model a folder holds, by its typical files.
std::string describe_folder(const fs::path& folder) {
  struct Other {
    std::string_view file, what;
  };
  constexpr std::array<Other, 13> kOthers{{
      {"adapter_model.safetensors", kAdapter},
      {"model.onnx", kOriginal},
      {"onnx/model.onnx", kOriginal},
      {"tf_model.h5", kOriginal},
      {"tf_model.h5.index.json", kOriginal},
      {"model.ckpt.index", kOriginal},
      {"flax_model.msgpack", kOriginal},
      {"flax_model.msgpack.index.json", kOriginal},
      {"openvino_model.xml", kOriginal},
      {"rust_model.ot", kOriginal},
      {"weights.npz", kOriginal},
      {"consolidated.safetensors", kMeta},
      {"consolidated.00.pth", kMeta},
  }};
  const auto found = std::ranges::find_if(kOthers, [&](const Other& other) { return is_file(folder / other.file); });
  if (found == kOthers.end()) return "";
  if (found->what == kAdapter) return fmt::format("{} holds {}", utf8(folder), kAdapter);
  return fmt::format("{} holds its weights as {} only: {}", utf8(folder), found->file, found->what);
}

/// Shards without their index: "model-00001-of-00003.safetensors" and the others of their number; none when there are none.
std::optional<CheckpointFiles> open_numbered(const fs::path& folder, const fs::path& whole) {
  const std::string begin = utf8(whole.stem()) + "-", end = utf8(whole.extension());
  CheckpointFiles files;
  std::vector<StoredTensor> tensors;
  unsigned parts = 0;
  for (const fs::path& file : files_with(end, folder)) {
    const std::string name = utf8(file.filename());
    unsigned part = 0, of = 0;
    if (!name.starts_with(begin) || std::sscanf(name.c_str() + begin.size(), "%5u-of-%5u", &part, &of) != 2) continue;
    files.paths.push_back(file);
    parts = of;
    const TensorTable table = read_tensors(file);
    tensors.insert(tensors.end(), table.all().begin(), table.all().end());
  }
  if (files.paths.empty()) return std::nullopt;
  if (files.paths.size() != parts) {
    throw Error("{}: {} of {} files of weights are there, and no {}.index.json: download the model again", utf8(folder),
                files.paths.size(), parts, utf8(whole));
  }
  files.tensors = without_wrappers(TensorTable(std::move(tensors)));
  return files;
}

/// Whole files or shards, in the order in which transformers looks for them; none when there are none.
std::optional<CheckpointFiles> open_weights(const fs::path& folder) {
  for (const std::string_view name : {"model.safetensors", "pytorch_model.bin"}) {
    const fs::path file = folder / name, index = folder / fmt::format("{}.index.json", name);
    if (is_file(file)) return open_checkpoint_file(file);
    if (is_file(index)) return open_shards(index);
    if (auto files = open_numbered(folder, name)) return files;
  }
  return std::nullopt;
}

CheckpointFiles open_adapter(const fs::path& folder) {
  const fs::path base = base_of_adapter(folder);
  std::optional<CheckpointFiles> files = open_weights(base);
  if (!files) throw Error("{}: its model {} has neither safetensors nor PyTorch's files", utf8(folder), utf8(base));
  files->tensors = with_adapter(files->tensors, folder);
  files->paths.push_back(folder / "adapter_model.safetensors");
  files->base = base;
  return *std::move(files);
}

/// "checkpoint-500": of the folders that transformers' Trainer writes into its output folder, the one of the latest step;
/// empty when there is none.
std::string newest_training_checkpoint(const fs::path& folder) {
  constexpr std::string_view kBegin = "checkpoint-";
  std::string newest;
  std::uint64_t newest_step = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = utf8(entry->path().filename());
    std::uint64_t step = 0;
    const char* const last = name.data() + name.size();
    if (!name.starts_with(kBegin) || std::from_chars(name.data() + kBegin.size(), last, step).ptr != last) continue;
    std::error_code ignored;
    if (!entry->is_directory(ignored) || (!newest.empty() && step < newest_step)) continue;
    newest = name;
    newest_step = step;
  }
  return newest;
}

}  // namespace

TensorTable read_tensors(const fs::path& path) {
  if (GgufFile::is_gguf(path)) return GgufFile(path).tensors();
  return is_torch_file(path) ? read_torch_file(path) : SafetensorsFile(path).tensors();
}

CheckpointFiles open_checkpoint_file(const fs::path& path) {
  // ggml, ggmf, ggjt, ggla: the lowest byte comes first.
  constexpr std::array<std::string_view, 4> kBeforeGguf{"lmgg", "fmgg", "tjgg", "algg"};
  if (is_file(path) && std::ranges::find(kBeforeGguf, read_beginning(path, 4)) != kBeforeGguf.end()) {
    throw Error(
        "{} is a file of ggml from before GGUF: download the model as GGUF, or convert it with llama.cpp's "
        "convert_llama_ggml_to_gguf.py",
        utf8(path));
  }
  if (GgufFile::is_gguf(path) || path.extension() == ".gguf") return open_gguf(path);
  return {.paths = {path}, .tensors = without_wrappers(read_tensors(path))};
}

CheckpointFiles open_checkpoint_folder(const fs::path& folder) {
  if (auto files = open_weights(folder)) return *std::move(files);
  if (has_adapter(folder)) return open_adapter(folder);
  std::vector<fs::path> gguf_files = files_with(".gguf", folder);
  std::erase_if(gguf_files, [](const fs::path& file) { return first_gguf_part(file) != file; });
  if (gguf_files.size() == 1) return open_checkpoint_file(gguf_files.front());
  if (gguf_files.size() > 1) {
    throw Error("{} holds {} GGUF files: open one of them, for example {}", utf8(folder), gguf_files.size(),
                utf8(gguf_files.front().filename()));
  }
  if (const std::string other = describe_folder(folder); !other.empty()) throw Error("{}", other);
  if (const std::string checkpoint = newest_training_checkpoint(folder); !checkpoint.empty()) {
    throw Error("{} holds a training's checkpoints: open one of them, for example {}", utf8(folder),
                utf8(folder / checkpoint));
  }
  throw Error("{} holds no model.safetensors: choose the folder of a model, as `hf download` writes it", utf8(folder));
}

}  // namespace headlight::model
