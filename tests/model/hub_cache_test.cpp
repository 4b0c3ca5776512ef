#include "model/hub_cache.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "core/file.h"
#include "platform/process.h"
#include "support/error_message.h"
#include "support/system.h"
#include "support/temporary_directory.h"

namespace hub_cache_test {

using namespace headlight;
using namespace headlight::model;

namespace fs = std::filesystem;

namespace {

/// Sets an environment variable until the test is over. An empty one counts as none.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    platform::set_variable(name, value);
  }
  ~Variable() { platform::set_variable(name_, before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

void write(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  write_file_atomically(path, content);
}

void make_model(const fs::path& folder, std::string_view weights) {
  write(folder / "config.json", "{}");
  write(folder / "model.safetensors", weights);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the cache's path follows Hugging Face's variables, in their order") {
#ifdef _WIN32
    const Variable home("USERPROFILE", "/home/u");
#else
    const Variable home("HOME", "/home/u");
#endif
    const Variable cache("XDG_CACHE_HOME", ""), hf_home("HF_HOME", ""), hub("HF_HUB_CACHE", "");
    CHECK(hub_cache_folder() == "/home/u/.cache/huggingface/hub");
    const Variable cache_set("XDG_CACHE_HOME", "/cache");
    CHECK(hub_cache_folder() == "/cache/huggingface/hub");
    const Variable home_set("HF_HOME", "~/models");
    CHECK(hub_cache_folder() == "/home/u/models/hub");
    const Variable hub_set("HF_HUB_CACHE", "/hub");
    CHECK(hub_cache_folder() == "/hub");
    const Variable older("HUGGINGFACE_HUB_CACHE", "/older");
    CHECK(hub_cache_folder() == "/hub");
    const Variable hub_empty("HF_HUB_CACHE", "");
    CHECK(hub_cache_folder() == "/older");
    const Variable older_empty("HUGGINGFACE_HUB_CACHE", "");
    CHECK(hub_cache_folder() == "/home/u/models/hub");
  }

  TEST_CASE("a cache lists the main revision of each model, through its links") {
    const TemporaryDirectory cache;
    const fs::path gpt2 = cache.path() / "models--openai-community--gpt2";
    write(gpt2 / "blobs" / "w", "12345");
    write(gpt2 / "blobs" / "c", "{}");
    write(gpt2 / "refs" / "main", "abc\n");
    make_model(gpt2 / "snapshots" / "older", "1");
    fs::create_directories(gpt2 / "snapshots" / "abc");
    test::link_or_copy("../../blobs/w", gpt2 / "snapshots" / "abc" / "model.safetensors");
    test::link_or_copy("../../blobs/c", gpt2 / "snapshots" / "abc" / "config.json");

    // Sharded, and without refs: the newest revision.
    const fs::path llama = cache.path() / "models--llama";
    make_model(llama / "snapshots" / "a", "old");
    std::error_code refused;  // MinGW's library sets no folder's time, and reads whole seconds of it
    fs::last_write_time(llama / "snapshots" / "a", fs::file_time_type::clock::now() - std::chrono::hours(5), refused);
    if (refused) std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    write(llama / "snapshots" / "b" / "config.json", "{}");
    write(llama / "snapshots" / "b" / "model-00001-of-00002.safetensors", "123");
    write(llama / "snapshots" / "b" / "model-00002-of-00002.safetensors", "4567");

    write(cache.path() / "models--o--quantised" / "refs" / "main", "r");
    write(cache.path() / "models--o--quantised" / "snapshots" / "r" / "q4.gguf", "GGUF");
    write(cache.path() / "models--o--quantised" / "snapshots" / "r" / "q8.gguf", "GGUF8");

    // None of these is a model: no weights, no config, a broken link, a data set, a reference to a path outside of the
    // cache.
    write(cache.path() / "models--o--empty" / "snapshots" / "r" / "config.json", "{}");
    write(cache.path() / "models--o--weights" / "snapshots" / "r" / "model.safetensors", "1");
    write(cache.path() / "models--o--broken" / "snapshots" / "r" / "config.json", "{}");
    test::link_or_copy("../../blobs/gone", cache.path() / "models--o--broken" / "snapshots" / "r" / "model.safetensors");
    test::link_or_copy("nowhere", cache.path() / "models--o--link");
    write(cache.path() / "models--o--out" / "refs" / "main", "../../../models--openai-community--gpt2/snapshots/older");
    write(cache.path() / "version.txt", "1");

    const std::vector<FoundModel> expected{
        {.name = "llama", .path = llama / "snapshots" / "b", .bytes = 7},
        {.name = "o/quantised/q4.gguf",
         .path = cache.path() / "models--o--quantised" / "snapshots" / "r" / "q4.gguf",
         .bytes = 4},
        {.name = "o/quantised/q8.gguf",
         .path = cache.path() / "models--o--quantised" / "snapshots" / "r" / "q8.gguf",
         .bytes = 5},
        {.name = "openai-community/gpt2", .path = gpt2 / "snapshots" / "abc", .bytes = 5}};
    const std::vector<FoundModel> found = find_models(cache.path());
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(found[i].name);
      CHECK(found[i] == expected[i]);
    }
  }

  TEST_CASE("a revision is a branch, a tag or the beginning of a commit") {
    const TemporaryDirectory cache;
    const fs::path model = cache.path() / "models--o--m", snapshots = model / "snapshots";
    make_model(snapshots / "abc1", "1");
    make_model(snapshots / "abd2", "2");
    write(model / "refs" / "v1.0", "abc1\n");
    write(model / "refs" / "refs" / "pr" / "2", "abd2");
    write(model / "refs" / "gone", "eeee");
    CHECK(find_revision(cache.path(), "o/m", "v1.0") == snapshots / "abc1");
    CHECK(find_revision(cache.path(), "o/m", "refs/pr/2") == snapshots / "abd2");
    CHECK(find_revision(cache.path(), "o/m", "abd") == snapshots / "abd2");
    CHECK(find_revision(cache.path(), "o/m", "abc1") == snapshots / "abc1");
    const auto complaint = [&](std::string_view name, std::string_view revision) {
      return test::error_message([&] { (void)find_revision(cache.path(), name, revision); });
    };
    CHECK(complaint("o/m", "ab") ==
          "o/m@ab: " + model.string() + " has several revisions of this name: choose one of abc1, abd2");
    CHECK(complaint("o/m", "gone") ==
          "o/m@gone: " + model.string() + " has no revision of this name: choose one of abc1, abd2");
    CHECK(complaint("o/m", "").find("has no revision") != std::string::npos);
    CHECK(complaint("o/m", "../../x").find("has no revision") != std::string::npos);
    CHECK(complaint("o/none", "main").find("has no revision of this name: download it") != std::string::npos);
  }

  TEST_CASE("PyTorch's files count where a folder has no others, and the parts of a GGUF file are one model") {
    const TemporaryDirectory folder;
    write(folder.path() / "m" / "config.json", "{}");
    write(folder.path() / "m" / "training_args.bin", "12345");
    CHECK(find_models(folder.path()).empty());
    write(folder.path() / "m" / "pytorch_model-00001-of-00002.bin", "123");
    write(folder.path() / "m" / "pytorch_model-00002-of-00002.bin", "4567");
    for (const char* part : {"q-00001-of-00002.gguf", "q-00002-of-00002.gguf"}) write(folder.path() / part, "GGUF");
    std::vector<FoundModel> found = find_models(folder.path());
    REQUIRE(found.size() == 2);
    CHECK(found[0] == FoundModel{.name = "m", .path = folder.path() / "m", .bytes = 7});
    CHECK(found[1].path == folder.path() / "q-00001-of-00002.gguf");
    CHECK(found[1].bytes == 8);
    write(folder.path() / "m" / "model.safetensors", "12");
    CHECK(find_models(folder.path()).front().bytes == 2);
  }

  TEST_CASE("any folder lists itself and what is in it") {
    const TemporaryDirectory folder;
    make_model(folder.path() / "mine", "1234");
    write(folder.path() / "small.gguf", "GGUF");
    write(folder.path() / "deep" / "er" / "model.safetensors", "1");
    const std::vector<FoundModel> found = find_models(folder.path());
    REQUIRE(found.size() == 2);
    CHECK(found[0] == FoundModel{.name = "mine", .path = folder.path() / "mine", .bytes = 4});
    CHECK(found[1] == FoundModel{.name = "small.gguf", .path = folder.path() / "small.gguf", .bytes = 4});

    const std::vector<FoundModel> itself = find_models(folder.path() / "mine" / "");
    REQUIRE(itself.size() == 1);
    CHECK(itself[0].name == "mine");
    CHECK(itself[0].bytes == 4);
  }

  TEST_CASE("an unreadable or missing folder has no models") {
    const TemporaryDirectory folder;
    CHECK(find_models(folder.path() / "none").empty());
    make_model(folder.path() / "closed", "1");
    make_model(folder.path() / "open", "1");
    fs::permissions(folder.path() / "closed", fs::perms::none);
    // Root can read everything.
    std::error_code refused;
    static_cast<void>(fs::directory_iterator(folder.path() / "closed", refused));
    const std::size_t readable = refused ? 1 : 2;
    CHECK(find_models(folder.path()).size() == readable);
    fs::permissions(folder.path() / "closed", fs::perms::owner_all);
  }
}

}  // namespace hub_cache_test
