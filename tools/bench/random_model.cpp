#include "tools/bench/random_model.h"

#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <stdlib.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"

namespace headlight::bench {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kHeadWidth = 16, kPositions = 1024;
static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

struct NamedShape {
  std::string name;
  std::vector<std::uint32_t> shape;

  std::size_t count() const {
    std::size_t product = 1;
    for (const std::uint32_t axis : shape) product *= axis;
    return product;
  }
};

/// In the names and orders of Hugging Face's GPT-2, whose linear layers are stored [in, out].
std::vector<NamedShape> tensors(std::uint32_t layers, std::uint32_t width, std::uint32_t vocabulary) {
  std::vector<NamedShape> all{{"transformer.wte.weight", {vocabulary, width}},
                              {"transformer.wpe.weight", {kPositions, width}}};
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const auto add = [&](const char* name, std::vector<std::uint32_t> shape) {
      all.push_back({fmt::format("transformer.h.{}.{}.bias", layer, name), {shape.back()}});
      all.push_back({fmt::format("transformer.h.{}.{}.weight", layer, name), std::move(shape)});
    };
    add("ln_1", {width});
    add("attn.c_attn", {width, 3 * width});
    add("attn.c_proj", {width, width});
    add("ln_2", {width});
    add("mlp.c_fc", {width, 4 * width});
    add("mlp.c_proj", {4 * width, width});
  }
  all.push_back({"transformer.ln_f.bias", {width}});
  all.push_back({"transformer.ln_f.weight", {width}});
  return all;
}

/// A safetensors file: the header's length, the header, the numbers.
std::string random_weights(const std::vector<NamedShape>& tensors) {
  constexpr float kSpread = 0.1f;
  Json header = Json::object();
  std::size_t end = 0;
  for (const NamedShape& tensor : tensors) {
    const std::size_t begin = std::exchange(end, end + tensor.count() * sizeof(float));
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string file(sizeof(length) + text.size() + end, '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  std::memcpy(file.data() + sizeof(length), text.data(), text.size());
  char* to = file.data() + sizeof(length) + text.size();
  std::mt19937 engine(1);
  std::normal_distribution<float> normal(0.0f, kSpread);
  for (const NamedShape& tensor : tensors) {
    const bool is_norm = tensor.shape.size() == 1 && tensor.name.ends_with(".weight");
    for (std::size_t i = 0; i < tensor.count(); ++i, to += sizeof(float)) {
      const float number = normal(engine) + (is_norm ? 1.0f : 0.0f);
      std::memcpy(to, &number, sizeof(float));
    }
  }
  return file;
}

}  // namespace

RandomModel::RandomModel(const std::filesystem::path& like, std::uint32_t layers, std::uint32_t heads) {
  const Json settings = read_json(like / "config.json");
  const auto vocabulary = settings.value("vocab_size", std::uint32_t{0});
  if (vocabulary == 0) throw Error("{}: no vocab_size; choose a model with one", (like / "config.json").string());
  const std::uint32_t width = heads * kHeadWidth;
  const Json config = {{"model_type", "gpt2"},
                       {"architectures", {"GPT2LMHeadModel"}},
                       {"vocab_size", vocabulary},
                       {"n_positions", kPositions},
                       {"n_embd", width},
                       {"n_layer", layers},
                       {"n_head", heads},
                       {"activation_function", "gelu_new"},
                       {"layer_norm_epsilon", 1e-5},
                       {"bos_token_id", 0},
                       {"eos_token_id", 0},
                       {"tie_word_embeddings", true}};
  std::string name = (std::filesystem::temp_directory_path() / "headlight-random-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Error("{}: a folder for a random model can't be made there", name);
  folder_ = name;
  try {
    write_file_atomically(folder_ / "config.json", config.dump());
    write_file_atomically(folder_ / "model.safetensors", random_weights(tensors(layers, width, vocabulary)));
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"}) {
      std::error_code ignored;  // one that is needed is missed when the model is opened
      std::filesystem::copy_file(like / file, folder_ / file, ignored);
    }
  } catch (...) {
    remove();
    throw;
  }
}

RandomModel::~RandomModel() { remove(); }

void RandomModel::remove() noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace headlight::bench
