#include <array>
#include <map>
#include <utility>
#include <vector>

#include "core/file.h"
#include "fuzz/readers.h"
#include "inference/language_model.h"
#include "model/checkpoint.h"
#include "model/gguf.h"
#include "model/linear_lens.h"
#include "model/load_network.h"
#include "model/lora.h"
#include "model/safetensors.h"
#include "model/torch_file.h"

namespace headlight::fuzz {
namespace {

namespace fs = std::filesystem;

const fs::path& golden_models() {
  static const fs::path kFolder = fs::path(HEADLIGHT_GOLDEN_DIR) / "models";
  return kFolder;
}

/// Reads columns as for the device's weights: rows become columns, in memory of exactly the size needed.
void read_columns(const model::Parameter& weight) {
  if (weight.shape().size() != 2 || weight.element_count() == 0) return;
  const std::uint32_t rows = weight.axis(0);
  std::vector<float> numbers(weight.element_count());
  weight.read_columns(0, rows, numbers.data(), rows);
}

void read_tensors(const model::TensorTable& tensors) {
  for (const model::StoredTensor& tensor : tensors.all()) {
    expect_error_at_most([&] { read_columns(tensor.parameter()); });
    expect_error_at_most([&] { (void)tensor.tensor(); });
    expect_error_at_most([&] { (void)tensor.integers(); });
  }
}

void read_safetensors(std::string_view bytes) {
  const fs::path path = write_scratch("m.safetensors", bytes);
  expect_error_at_most([&] { read_tensors(model::SafetensorsFile(path).tensors()); });
  expect_error_at_most([&] { (void)model::open_linear_lens(path, 2, 36); });
}

void read_torch(std::string_view bytes) {
  const fs::path path = write_scratch("m.bin", bytes);
  expect_error_at_most([&] { read_tensors(model::read_torch_file(path)); });
}

void read_index(std::string_view bytes) {
  static const fs::path kFolder = [] {
    fs::path folder = scratch_folder() / "sharded";
    fs::create_directories(folder);
    for (const auto& entry : fs::directory_iterator(golden_models() / "llama-sharded")) {
      fs::copy_file(entry, folder / entry.path().filename(), fs::copy_options::overwrite_existing);
    }
    return folder;
  }();
  write_scratch("sharded/model.safetensors.index.json", bytes);
  expect_error_at_most([&] { (void)model::Checkpoint(kFolder).names(); });
}

/// The golden model of the type that the config names, so that more than the type's name is checked.
const model::Checkpoint& checkpoint_for(std::string_view config) {
  static const std::map<std::string, model::Checkpoint> kCheckpoints = [] {
    std::map<std::string, model::Checkpoint> all;
    for (const auto& entry : fs::directory_iterator(golden_models())) {
      if (!fs::exists(entry.path() / "config.json") || !fs::exists(entry.path() / "model.safetensors")) continue;
      all.emplace(entry.path().filename().string(), model::Checkpoint(entry.path()));
    }
    return all;
  }();
  for (const auto& [name, checkpoint] : kCheckpoints) {
    if (config.find('"' + name + '"') != std::string_view::npos) return checkpoint;
  }
  return kCheckpoints.at("gpt2");
}

void read_config(std::string_view bytes) {
  expect_error_at_most([&] { (void)model::load_network(checkpoint_for(bytes), bytes); });
}

void read_gguf(std::string_view bytes) {
  const fs::path path = write_scratch("m.gguf", bytes);
  expect_error_at_most([&] {
    const model::GgufFile file(path);
    read_tensors(file.tensors());
    for (const std::string& key : file.keys()) {
      (void)file.value(key).description();
      expect_error_at_most([&] { (void)file.texts(key); });
      expect_error_at_most([&] { (void)file.numbers(key); });
      expect_error_at_most([&] { (void)file.integers(key); });
    }
  });
  expect_error_at_most([&] { (void)model::load_network(path); });
  expect_error_at_most([&] { (void)inference::open_tokenizer(path).encode("the cat \u00e9\U0001f600 aaa"); });
}

/// An adapter's folder, on the golden model that it names: GPT-2, or Llama.
void read_adapter(std::string_view bytes) {
  static const model::SafetensorsFile kGpt2(golden_models() / "gpt2/model.safetensors");
  static const model::SafetensorsFile kLlama(golden_models() / "llama/model.safetensors");
  const fs::path folder = empty_folder("adapter");
  for_each_file(bytes, [&](std::string_view name, std::string_view content) {
    if (name == "adapter_config.json" || name == "adapter_model.safetensors" || name == "adapter_model.bin")
      write_scratch("adapter/" + std::string(name), content);
  });
  expect_error_at_most([&] { (void)model::base_of_adapter(folder); });
  const bool is_llama = bytes.find("models/llama") != std::string_view::npos;
  expect_error_at_most([&] { read_tensors(model::with_adapter((is_llama ? kLlama : kGpt2).tensors(), folder)); });
}

/// A family of its own beside the golden Llama's config and weights.
void read_own_family(std::string_view bytes) {
  static const model::Checkpoint kModel = [] {
    fs::create_directories(scratch_folder() / "family");
    for (const char* name : {"config.json", "model.safetensors"}) {
      fs::copy_file(golden_models() / "llama" / name, scratch_folder() / "family" / name,
                    fs::copy_options::overwrite_existing);
    }
    return model::Checkpoint(scratch_folder() / "family");
  }();
  write_scratch("family/headlight-family.json", bytes);
  expect_error_at_most([&] { (void)model::load_network(kModel); });
}

constexpr std::array kModelReaders{
    Reader{"safetensors", read_safetensors}, Reader{"torch", read_torch}, Reader{"index", read_index},
    Reader{"config", read_config},           Reader{"gguf", read_gguf},   Reader{"adapter", read_adapter},
    Reader{"family", read_own_family}};

}  // namespace

std::span<const Reader> model_readers() { return kModelReaders; }

}  // namespace headlight::fuzz
