#include "model/checkpoint.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/file.h"
#include "model/checkpoint_files.h"

namespace headlight::model {

struct Checkpoint::Contents {
  std::filesystem::path path, folder;
  CheckpointFiles files;
};

Checkpoint::Checkpoint(const std::filesystem::path& path) {
  auto contents = std::make_shared<Contents>();
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  contents->path = path;
  contents->folder = is_folder ? path : path.parent_path();
  contents->files = is_folder ? open_checkpoint_folder(path) : open_checkpoint_file(path);
  if (!contents->files.base.empty()) contents->folder = contents->files.base;
  is_asked_.resize(contents->files.tensors.all().size());
  contents_ = std::move(contents);
}

const std::filesystem::path& Checkpoint::path() const { return contents_->path; }
const std::filesystem::path& Checkpoint::folder() const { return contents_->folder; }
const std::vector<std::filesystem::path>& Checkpoint::files() const { return contents_->files.paths; }

std::uint64_t Checkpoint::total_bytes() const {
  const auto& all = contents_->files.tensors.all();
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const StoredTensor& tensor) { return sum + tensor.bytes.size(); });
}

std::uint64_t Checkpoint::element_count() const {
  const auto& all = contents_->files.tensors.all();
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0}, [](std::uint64_t sum, const StoredTensor& tensor) {
    return sum + headlight::element_count(tensor.shape);
  });
}

bool Checkpoint::has_adapter() const { return !contents_->files.base.empty(); }
const GgufFile* Checkpoint::gguf() const { return contents_->files.gguf ? &*contents_->files.gguf : nullptr; }

bool Checkpoint::has_config() const {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder() / "config.json", ignored);
}

std::string Checkpoint::config() const {
  if (!has_config()) {
    throw Error("{} has no config.json beside its weights: download the whole model folder", utf8(folder()));
  }
  return read_file(folder() / "config.json", std::uint64_t{16} << 20);
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : contents_->files.tensors.all()) names.push_back(tensor.name);
  return names;
}

bool Checkpoint::has(std::string_view name) const { return contents_->files.tensors.find(name) != nullptr; }
const Shape& Checkpoint::shape(std::string_view name) const { return at(name).shape; }
std::string_view Checkpoint::type(std::string_view name) const { return at(name).type; }

Parameter Checkpoint::find(std::string_view name, std::span<const std::uint32_t> expected) {
  const StoredTensor* tensor = contents_->files.tensors.find(name);
  if (tensor == nullptr) {
    throw Error("{} has no tensor '{}' of shape {}: {}", utf8(path()), printable(name), headlight::to_string(expected),
                mismatch());
  }
  if (!std::ranges::equal(tensor->shape, expected)) {
    throw Error("{}: tensor '{}' has shape {}, but {} is expected: {}", utf8(tensor->file->path()), printable(name),
                headlight::to_string(tensor->shape), headlight::to_string(expected), mismatch());
  }
  if (expected.size() != 3) return take(*tensor);
  StoredTensor rows = *tensor;
  rows.shape = {expected[0] * expected[1], expected[2]};
  is_asked_[static_cast<std::size_t>(tensor - contents_->files.tensors.all().data())] = true;
  return rows.parameter();
}

Parameter Checkpoint::find(std::string_view name) { return take(at(name)); }

std::optional<Parameter> Checkpoint::before_adapter(std::string_view name) const {
  const StoredTensor& tensor = at(name);
  return tensor.before ? std::optional(tensor.before->parameter()) : std::nullopt;
}

Checkpoint Checkpoint::without_prefix(std::string_view prefix) const {
  std::vector<StoredTensor> tensors = contents_->files.tensors.all();
  for (StoredTensor& tensor : tensors) {
    if (tensor.name.starts_with(prefix) && !has(std::string_view(tensor.name).substr(prefix.size())))
      tensor.name.erase(0, prefix.size());
  }
  auto contents = std::make_shared<Contents>(*contents_);
  contents->files.tensors = TensorTable(std::move(tensors));
  Checkpoint renamed = *this;
  renamed.contents_ = std::move(contents);
  return renamed;
}

std::string_view Checkpoint::mismatch() const {
  return has_adapter() ? "the adapter and its model don't belong together"
                       : "the files and the config don't belong together";
}

std::vector<std::string> Checkpoint::unasked() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < is_asked_.size(); ++i) {
    if (!is_asked_[i]) names.push_back(contents_->files.tensors.all()[i].name);
  }
  return names;
}

const StoredTensor& Checkpoint::at(std::string_view name) const {
  if (const StoredTensor* tensor = contents_->files.tensors.find(name)) return *tensor;
  throw Error("{} has no tensor '{}'", utf8(path()), printable(name));
}

Parameter Checkpoint::take(const StoredTensor& tensor) {
  Parameter parameter = tensor.parameter();
  is_asked_[static_cast<std::size_t>(&tensor - contents_->files.tensors.all().data())] = true;
  return parameter;
}

}  // namespace headlight::model
