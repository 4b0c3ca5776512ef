// The metadata that each architecture's networks depend on: the keys in its table, and no others.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/file.h"
#include "inference/reference_run.h"
#include "model/architectures/families.h"
#include "model/file_bytes.h"
#include "model/gguf.h"
#include "model/load_network.h"
#include "support/golden_model.h"
#include "support/temporary_directory.h"

namespace gguf_keys_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace {

/// Types of values in GGUF's metadata.
enum : std::uint32_t { Unsigned = 4, Float = 6, Bool = 7, String = 8, Array = 9 };

/// The numbers that a pass computes and the facts that the user sees of the model, or the error.
struct Outcome {
  std::string error, facts;
  std::vector<double> numbers;

  bool operator==(const Outcome&) const = default;
};

/// A golden file, to be changed.
struct Golden {
  explicit Golden(const std::string& name)
      : path(golden_model_path("gguf") / (name + ".gguf")),
        bytes(read_file(path)),
        cases(read_golden_cases(golden_model_path("gguf") / (name + ".reference.safetensors"))),
        architecture(GgufFile(path).text("general.architecture")),
        family(find_gguf_family(architecture)) {}

  Outcome outcome(const std::string& changed) const {
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "m.gguf", changed);
    Outcome found;
    try {
      const LoadedNetwork loaded = load_network(folder.path() / "m.gguf");
      const ModelDescription& about = loaded.description;
      found.facts =
          fmt::format("{} {} {} {} {}", about.heads, about.kv_heads, about.max_length, about.window, about.is_causal);
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const reference::Run run =
          reference::run(loaded.network, cases.front().input, trained_mask(about, cases.front()), -kInfinity);
      found.numbers = run.logits.values.empty() ? run.encoder_output.values : run.logits.values;
    } catch (const Error& error) {
      found.error = std::string(error.what()).substr(folder.path().string().size());
    }
    return found;
  }

  /// The keys of its architecture, without its name.
  std::vector<std::string> keys() const {
    std::vector<std::string> found;
    for (const std::string& key : GgufFile(path).keys()) {
      if (key.starts_with(architecture + ".")) found.push_back(key.substr(architecture.size() + 1));
    }
    return found;
  }
  std::size_t place(const std::string& key) const {
    const std::string needle = FileBytes().text(fmt::format("{}.{}", architecture, key)).bytes();
    return bytes.find(needle) + needle.size();
  }
  /// Returns the file with another value of the key; the same bytes where it is a text.
  std::string with_other_value(const std::string& key) const {
    std::string changed = bytes;
    std::size_t at = place(key);
    std::uint32_t type = 0;
    std::memcpy(&type, bytes.data() + at, sizeof(type));
    at += sizeof(type);
    if (type == Array) {
      std::memcpy(&type, bytes.data() + at, sizeof(type));
      at += sizeof(type) + sizeof(std::uint64_t);
    }
    if (type == Bool) changed[at] = static_cast<char>(1 - changed[at]);
    std::uint32_t whole = 0;
    float number = 0.0f;
    std::memcpy(&whole, bytes.data() + at, sizeof(whole));
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    whole += 2;
    number = number * 1.5f + 0.25f;
    if (type == Unsigned) std::memcpy(changed.data() + at, &whole, sizeof(whole));
    if (type == Float) std::memcpy(changed.data() + at, &number, sizeof(number));
    return changed;
  }
  std::string without(const std::string& key) const {
    std::string changed = bytes;
    changed[place(key) - 1] = '~';
    return changed;
  }

  std::filesystem::path path;
  std::string bytes;
  std::vector<GoldenCase> cases;
  std::string architecture;
  const Family* family;
};

/// Some keys are read under the names that they have in config.json.
bool is_read(const Golden& golden, const std::string& key) {
  if (key == "vocab_size") return false;                                                    // the embedding's table says it
  if (golden.architecture == "gemma-embedding" && key == "attention.causal") return false;  // it never is
  if (golden.architecture == "bert" && key == "context_length") return false;               // the table of positions says it
  if (golden.architecture == "t5encoder" && key == "decoder_block_count") return false;
  if (key == "feed_forward_length" && reads(*golden.family, "expert_count")) {
    return golden.architecture == "llama";  // all layers of the others have experts, which have a width of their own
  }
  if (key == "attention.sliding_window_pattern") return reads(*golden.family, "sliding_window_pattern");
  return reads(*golden.family, key);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("metadata of a GGUF file that its family doesn't read changes nothing") {
    constexpr std::size_t kCountAt = 16, kValuesAt = 24, kAlignment = 32;
    std::set<std::string> known{"sliding_window", "no_rope_layers", "layer_norm_eps", "hidden_act", "scale_embedding"};
    for (const Family& other : families().gguf) {
      for (const std::string_view key : keys_of(other)) known.emplace(key);
    }
    for (const std::string& name : golden_gguf_files()) {
      CAPTURE(name);
      const Golden golden(name);
      std::set<std::string> foreign = known;
      const std::vector<std::string> present = golden.keys();
      std::erase_if(foreign, [&](const std::string& key) {
        return reads(*golden.family, key) || std::ranges::count(present, key) > 0;
      });
      CHECK(foreign.size() > 8);
      const auto changed = [&](bool is_whole) {
        FileBytes values;
        for (const std::string& key : foreign) {
          values.text(golden.architecture + "." + key).number<std::uint32_t>(is_whole ? Unsigned : Float);
          is_whole ? values.number(1u) : values.number(0.3f);
        }
        // The tensors after the metadata stay aligned.
        values.text("padding").number<std::uint32_t>(String);
        const std::size_t length = kAlignment - (values.bytes().size() + sizeof(std::uint64_t)) % kAlignment;
        values.text(std::string(length, ' '));
        std::uint64_t count = 0;
        std::memcpy(&count, golden.bytes.data() + kCountAt, sizeof(count));
        count += foreign.size() + 1;
        std::string bytes = golden.bytes;
        std::memcpy(bytes.data() + kCountAt, &count, sizeof(count));
        return bytes.insert(kValuesAt, values.bytes());
      };
      const Outcome own = golden.outcome(golden.bytes);
      CHECK(own.error.empty());
      for (const bool is_whole : {false, true}) CHECK(golden.outcome(changed(is_whole)) == own);
    }
  }

  TEST_CASE("another value of a key that a GGUF file's family reads changes the network or is refused, of others nothing") {
    std::size_t read = 0;
    for (const std::string& name : golden_gguf_files()) {
      CAPTURE(name);
      const Golden golden(name);
      const Outcome own = golden.outcome(golden.bytes);
      for (const std::string& key : golden.keys()) {
        CAPTURE(key);
        const std::string changed = golden.with_other_value(key);
        if (changed == golden.bytes) continue;  // a text
        const Outcome other = golden.outcome(changed);
        CAPTURE(other.error);
        CHECK((other == own) != is_read(golden, key));
        read += is_read(golden, key) ? 1u : 0u;
      }
    }
    CHECK(read > 300);
  }

  TEST_CASE("a GGUF file without a key that its network needs is refused by the key's name") {
    std::size_t count = 0;
    for (const std::string& name : golden_gguf_files()) {
      CAPTURE(name);
      const Golden golden(name);
      std::set<std::string> needed{"block_count", "embedding_length", "attention.head_count"};
      needed.insert(golden.family->needs.begin(), golden.family->needs.end());
      if (golden.architecture == "bert") needed.erase("context_length");
      for (const std::string& key : needed) {
        CAPTURE(key);
        const std::string error = golden.outcome(golden.without(key)).error;
        CHECK_MESSAGE(error.find(fmt::format(": {} is missing, but must be ", key)) != std::string::npos, error);
        CHECK(error.ends_with(capture_hint(golden.architecture)));
        ++count;
      }
    }
    CHECK(count > 240);
  }
}

}  // namespace gguf_keys_test
