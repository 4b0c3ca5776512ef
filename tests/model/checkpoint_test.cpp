#include "model/checkpoint.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "model/file_bytes.h"
#include "support/error_message.h"
#include "support/system.h"

namespace checkpoint_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace fs = std::filesystem;

namespace {

/// A safetensors file of one tensor of two numbers.
std::string one_tensor(std::string_view name, float first) {
  return safetensors(R"({")" + std::string(name) + R"(":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})",
                     FileBytes().number(first).number(first + 1.0f).bytes());
}

void write(const fs::path& path, std::string_view content) { write_file_atomically(path, content); }

std::string complaint(const fs::path& path) {
  const std::string message = error_message([&] { (void)Checkpoint(path); });
  CHECK((message.empty() || is_one_line(message)));
  return message;
}

constexpr std::string_view kIndex =
    R"({"metadata":{"total_size":16},"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})";

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a folder has its tensors, its config and its unused tensors") {
    const TemporaryDirectory folder;
    write(folder.path() / "config.json", R"({"model_type":"gpt2"})");
    write(folder.path() / "model.safetensors", safetensors(R"({"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},
      "ids":{"dtype":"I32","shape":[1],"data_offsets":[8,12]},"extra":{"dtype":"F16","shape":[2],"data_offsets":[12,16]}})",
                                                           FileBytes().number(1.0f).number(2.0f).zeros(8).bytes()));
    Checkpoint checkpoint(folder.path());
    CHECK(checkpoint.path() == folder.path());
    CHECK(checkpoint.folder() == folder.path());
    CHECK(checkpoint.files() == std::vector<fs::path>{folder.path() / "model.safetensors"});
    CHECK(checkpoint.total_bytes() == 16);
    CHECK(checkpoint.element_count() == 5);
    CHECK(checkpoint.config() == R"({"model_type":"gpt2"})");
    CHECK(checkpoint.names() == std::vector<std::string>{"extra", "ids", "w"});
    CHECK(checkpoint.has("w"));
    CHECK_FALSE(checkpoint.has("v"));
    CHECK(checkpoint.shape("w") == Shape{1, 2});
    CHECK(checkpoint.type("extra") == "F16");
    CHECK(checkpoint.gguf() == nullptr);

    CHECK(checkpoint.unasked() == std::vector<std::string>{"extra", "ids", "w"});
    Checkpoint other = checkpoint;
    CHECK(checkpoint.find("w", {1, 2}).tensor().values == std::vector<float>{1.0f, 2.0f});
    CHECK(checkpoint.unasked() == std::vector<std::string>{"extra", "ids"});
    CHECK(other.unasked().size() == 3);
    CHECK(other.find("w").address() == checkpoint.find("w").address());

    const std::string file = (folder.path() / "model.safetensors").string();
    CHECK(error_message([&] {
            (void)checkpoint.find("v", {3, 4});
          }) ==
          folder.path().string() + " has no tensor 'v' of shape [3, 4]: the files and the config don't belong together");
    CHECK(error_message([&] {
            (void)checkpoint.find("w", {2, 1});
          }) ==
          file + ": tensor 'w' has shape [1, 2], but [2, 1] is expected: the files and the config don't belong together");
    CHECK(error_message([&] { (void)checkpoint.find("ids"); }).find("stored as I32") != std::string::npos);
    CHECK(error_message([&] { (void)checkpoint.shape("v"); }) == folder.path().string() + " has no tensor 'v'");
  }

  TEST_CASE("shards are one checkpoint, and the index decides between two tensors of one name") {
    const TemporaryDirectory folder;
    write(folder.path() / "model.safetensors.index.json", kIndex);
    write(folder.path() / "1.safetensors", one_tensor("a", 1.0f));
    write(folder.path() / "2.safetensors", safetensors(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
      "a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                                       FileBytes().number(5.0f).number(6.0f).bytes()));
    Checkpoint checkpoint(folder.path());
    CHECK(checkpoint.names() == std::vector<std::string>{"a", "b"});
    CHECK(checkpoint.files().size() == 2);
    CHECK(checkpoint.total_bytes() == 12);
    CHECK(checkpoint.find("a", {1, 2}).tensor().values == std::vector<float>{1.0f, 2.0f});
    CHECK(checkpoint.find("b", {1}).tensor().values == std::vector<float>{5.0f});
    CHECK_FALSE(checkpoint.has_config());
    CHECK(error_message([&] { (void)checkpoint.config(); }) ==
          folder.path().string() + " has no config.json beside its weights: download the whole model folder");

    // A whole file takes precedence over an index, as in transformers.
    write(folder.path() / "model.safetensors", one_tensor("whole", 1.0f));
    CHECK(Checkpoint(folder.path()).names() == std::vector<std::string>{"whole"});
  }

  TEST_CASE("numbered shards without their index are one checkpoint where all are there") {
    for (const std::string_view name : {"model-0000{}-of-00002.safetensors", "pytorch_model-0000{}-of-00002.bin"}) {
      const TemporaryDirectory folder;
      const auto shard = [&](int part) { return folder.path() / fmt::format(fmt::runtime(name), part); };
      if (name.ends_with(".bin")) {
        for (int part = 1; part <= 2; ++part) {
          fs::copy_file(fs::path(HEADLIGHT_GOLDEN_DIR) / "torch" / shard(part).filename(), shard(part));
        }
      } else {
        write(shard(1), one_tensor("a", 1.0f));
        write(shard(2), one_tensor("b", 2.0f));
        write(folder.path() / "model-of-another-kind.safetensors", one_tensor("c", 3.0f));
      }
      const Checkpoint checkpoint(folder.path());
      CHECK(checkpoint.files() == std::vector<fs::path>{shard(1), shard(2)});
      CHECK(checkpoint.names().size() >= 2);
      fs::remove(shard(1));
      CHECK(complaint(folder.path()).find("1 of 2 files of weights are there") != std::string::npos);
    }
  }

  TEST_CASE("float64 weights are rounded to float32") {
    const TemporaryDirectory folder;
    write(folder.path() / "model.safetensors", safetensors(R"({"w":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]}})",
                                                           FileBytes().number(1.0 / 3.0).number(-2.0).bytes()));
    Checkpoint checkpoint(folder.path());
    CHECK(checkpoint.find("w", {1, 2}).tensor().values == std::vector<float>{1.0f / 3.0f, -2.0f});
  }

  TEST_CASE("links are followed, as the Hugging Face cache has them") {
    const TemporaryDirectory folder;
    fs::create_directories(folder.path() / "blobs");
    fs::create_directories(folder.path() / "snapshots" / "abc");
    write(folder.path() / "blobs" / "b1", one_tensor("a", 1.0f));
    write(folder.path() / "blobs" / "b2", "{}");
    link_or_copy("../../blobs/b1", folder.path() / "snapshots" / "abc" / "model.safetensors");
    link_or_copy("../../blobs/b2", folder.path() / "snapshots" / "abc" / "config.json");
    const Checkpoint checkpoint(folder.path() / "snapshots" / "abc");
    CHECK(checkpoint.names() == std::vector<std::string>{"a"});
    CHECK(checkpoint.config() == "{}");
  }

  TEST_CASE("an index of missing files is refused by name") {
    const TemporaryDirectory folder;
    const std::string base = folder.path().string(), index = (folder.path() / "model.safetensors.index.json").string();
    write(folder.path() / "1.safetensors", one_tensor("a", 1.0f));
    write(index, kIndex);
    CHECK(complaint(folder.path()) ==
          base + ": 2.safetensors is missing, one of 2 files (1 are there): download the model again");
    write(folder.path() / "2.safetensors", one_tensor("c", 1.0f));
    CHECK(complaint(folder.path()) ==
          index + ": tensor 'b' should be in 2.safetensors, but isn't: download the model again");
    write(index, "{");
    CHECK(complaint(folder.path()) == index + ": not JSON (line 1, column 2)");
    for (const std::string_view content : {"[]", "{}", R"({"weight_map":{}})", R"({"weight_map":[1]})"}) {
      write(index, content);
      CHECK(complaint(folder.path()) ==
            index + " has no weight_map, which says which file holds which tensor: download it again");
    }
    for (const std::string_view content : {R"({"weight_map":{"a":"../1.safetensors"}})",
                                           R"({"weight_map":{"a":"/etc/passwd"}})", R"({"weight_map":{"a":3}})"}) {
      write(index, content);
      CHECK(complaint(folder.path()) == index + ": the file of tensor 'a' is not the name of a file beside it");
    }
  }

  TEST_CASE("the refusal of a path without a checkpoint says what to choose instead") {
    const TemporaryDirectory folder;
    const std::string base = folder.path().string();
    CHECK(complaint(folder.path()) ==
          base + " holds no model.safetensors: choose the folder of a model, as `hf download` writes it");
    for (const char* name : {"checkpoint-500", "checkpoint-1000", "checkpoint-90", "checkpoint-best"})
      fs::create_directory(folder.path() / name);
    CHECK(complaint(folder.path()) == base + " holds a training's checkpoints: open one of them, for example " +
                                          (folder.path() / "checkpoint-1000").string());
    const fs::path none = folder.path() / "none";
    CHECK(complaint(none) == "can't open " + none.string() + ": " + reason_against(none));
    link_or_copy(folder.path() / "gone", folder.path() / "model.safetensors");
    write(folder.path() / "tf_model.h5", "content");
    CHECK(complaint(folder.path()).starts_with(base + " holds its weights as tf_model.h5 only: "));
  }

  TEST_CASE("the refusal of another model format names it and says what to do") {
    const auto with = [](const char* name) {
      const TemporaryDirectory folder;
      fs::create_directories((folder.path() / name).parent_path());
      write(folder.path() / "config.json", R"({"model_type":"bert"})");
      write(folder.path() / name, "content");
      const std::string found = complaint(folder.path());
      CHECK(found.starts_with(folder.path().string() + " holds "));
      return found;
    };
    CHECK(with("adapter_model.safetensors").find("a LoRA adapter without its adapter_config.json") != std::string::npos);
    for (const char* name : {"model.onnx", "onnx/model.onnx", "tf_model.h5", "flax_model.msgpack", "model.ckpt.index",
                             "openvino_model.xml", "rust_model.ot", "weights.npz"})
      CHECK(with(name).find(std::string(" holds its weights as ") + name + " only: Headlight reads safetensors") !=
            std::string::npos);
    for (const char* name : {"consolidated.safetensors", "consolidated.00.pth"})
      CHECK(with(name).find(" only: they are the files that its makers train with: download the converted model") !=
            std::string::npos);
    CHECK(with("README.md").find("holds no model.safetensors") != std::string::npos);
  }

  TEST_CASE("files of ggml before GGUF are named") {
    const TemporaryDirectory folder;
    for (const std::string_view magic : {"lmgg", "fmgg", "tjgg", "algg"}) {
      write(folder.path() / "ggml-model-q4_0.bin", FileBytes().raw(magic).zeros(64).bytes());
      CHECK(complaint(folder.path() / "ggml-model-q4_0.bin").find(" is a file of ggml from before GGUF: ") !=
            std::string::npos);
    }
  }

  TEST_CASE("a Git LFS pointer instead of weights or config is reported as one") {
    constexpr std::string_view kPointer =
        "version https://git-lfs.github.com/spec/v1\noid "
        "sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
        "size 548105171\n";
    const TemporaryDirectory folder;
    const std::string what =
        " is a Git LFS pointer, not the file itself: run `git lfs pull` in its repository, or download it again";
    write(folder.path() / "model.safetensors", kPointer);
    CHECK(complaint(folder.path()) == (folder.path() / "model.safetensors").string() + what);
    write(folder.path() / "tiny.gguf", kPointer);
    CHECK(complaint(folder.path() / "tiny.gguf") == (folder.path() / "tiny.gguf").string() + what);
    write(folder.path() / "model.safetensors", one_tensor("a", 1.0f));
    write(folder.path() / "config.json", kPointer);
    const Checkpoint checkpoint(folder.path());
    CHECK(error_message([&] { (void)checkpoint.config(); }) == (folder.path() / "config.json").string() + what);
  }

  TEST_CASE("a GGUF file in parts is the whole one, whichever part is opened") {
    const fs::path formats = fs::path(HEADLIGHT_GOLDEN_DIR) / "formats";
    Checkpoint whole(fs::path(HEADLIGHT_GOLDEN_DIR) / "models" / "gguf" / "llama-q4_0.gguf");
    const auto part = [](int number) { return fmt::format("llama-q4_0-0000{}-of-00003.gguf", number); };
    const TemporaryDirectory folder;
    for (int number = 1; number <= 3; ++number) fs::copy_file(formats / part(number), folder.path() / part(number));
    for (const fs::path& opened : {folder.path(), folder.path() / part(1), folder.path() / part(3)}) {
      Checkpoint parts(opened);
      CHECK(parts.files().size() == 3);
      CHECK(parts.gguf()->text("general.architecture") == "llama");
      REQUIRE(parts.names() == whole.names());
      for (const std::string& name : whole.names()) CHECK(parts.find(name) == whole.find(name));
    }
    const std::string base = folder.path().string();
    fs::rename(folder.path() / part(2), folder.path() / "kept");
    CHECK(complaint(folder.path()) ==
          base + ": " + part(2) + " is missing, one of the 3 parts of the model: download it, too");
    fs::copy_file(folder.path() / part(3), folder.path() / part(2));
    CHECK(complaint(folder.path()) ==
          (folder.path() / part(2)).string() +
              " says that it is part 3 of the model, but its name says 2: download the model again");
    fs::remove(folder.path() / part(1));
    CHECK(complaint(folder.path() / part(3)).find(part(1) + " is missing") != std::string::npos);
  }

  TEST_CASE("real folders and GGUF files open") {
    const fs::path models = fs::path(HEADLIGHT_GOLDEN_DIR) / "models";
    Checkpoint whole(models / "llama"), sharded(models / "llama-sharded");
    CHECK(sharded.files().size() > 1);
    CHECK(whole.names() == sharded.names());
    for (const std::string& name : whole.names()) CHECK(whole.find(name) == sharded.find(name));
    CHECK(whole.unasked().empty());

    Checkpoint gpt2(models / "gpt2"), gguf(models / "gguf" / "gpt2.gguf");
    REQUIRE(gguf.gguf() != nullptr);
    CHECK(gguf.gguf()->text("general.architecture") == "gpt2");
    CHECK(gguf.folder() == models / "gguf");
    CHECK(error_message([&] { (void)Checkpoint(models / "gguf"); }).find("open one of them") != std::string::npos);
    const TemporaryDirectory folder;
    link_or_copy(models / "gguf" / "gpt2.gguf", folder.path() / "only.gguf");
    CHECK(Checkpoint(folder.path()).names() == gguf.names());
    CHECK(Checkpoint(folder.path()).files().front() == folder.path() / "only.gguf");
  }
}

}  // namespace checkpoint_test
