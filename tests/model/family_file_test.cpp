// Families as JSON: those in the program, a model's own beside its weights, and files that are broken.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "inference/reference_run.h"
#include "model/altered_model.h"

namespace family_file_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;
using nlohmann::json;

namespace {

/// The logits, or the last states, of a golden model's first case.
std::vector<double> numbers_of(const std::filesystem::path& folder, const std::string& golden) {
  const LoadedNetwork loaded = load_network(folder);
  const GoldenCase one = load_golden_cases(golden).front();
  const reference::Run run = reference::run(loaded.network, one.input, trained_mask(loaded.description, one),
                                            -std::numeric_limits<double>::infinity());
  return run.logits.values.empty() ? run.encoder_output.values : run.logits.values;
}

std::string repository_file(const char* path) {
  return read_file(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "../.." / path);
}

/// The JSON after a line of MODELS.md.
std::string example_after(std::string_view line) {
  const std::string text = repository_file("docs/MODELS.md");
  const std::size_t begin = text.find("```json\n", text.find(line)) + 8;
  return text.substr(begin, text.find("```", begin) - begin);
}

std::string complaint_of(std::string_view text) {
  std::string found = error_message([&] { read_family(text, "f.json"); });
  CHECK_MESSAGE(is_one_line(found), found);
  return found;
}

/// A folder with a golden model's files.
void copy_model(const std::string& golden, const std::filesystem::path& to) {
  for (const auto& entry : std::filesystem::directory_iterator(golden_model_path(golden))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model") || name.starts_with("pytorch_model"))
      std::filesystem::create_symlink(entry.path(), to / name);
  }
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every golden model has the same bits with its family's file beside it, under any model_type or none") {
    std::size_t count = 0;
    for (const std::string& golden : golden_models()) {
      CAPTURE(golden);
      const TemporaryDirectory folder;
      copy_model(golden, folder.path());
      json config = config_of(golden);
      const Family& family = *find_family(config.at("model_type").get<std::string>());
      const auto file =
          std::ranges::find_if(families().files, [&](const auto& one) { return &one.second == &family; })->first;
      json own = json::parse(repository_file(fmt::format("assets/families/{}.json", file).c_str()));
      for (const char* key : {"gguf", "model_type"}) own.erase(key);
      count % 2 == 0 ? (config["model_type"] = "of-a-laboratory", 0u) : config.erase("model_type");
      write_file_atomically(folder.path() / "config.json", config.dump());
      write_file_atomically(folder.path() / "headlight-family.json", own.dump());
      CHECK(numbers_of(folder.path(), golden) == numbers_of(golden_model_path(golden), golden));
      CHECK(load_network(folder.path()).description.family_file == "headlight-family.json");
      CHECK(load_network(golden_model_path(golden)).description.family_file.empty());
      ++count;
    }
    CHECK(count > 80);
  }

  TEST_CASE("a researcher's own architecture opens by the example of MODELS.md") {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kNames{
        {{"model.", "net."},
         {"lm_head", "net.to_words"},
         {"embed_tokens", "words"},
         {"layers.", "blocks."},
         {"self_attn.q_proj", "attention.q"},
         {"self_attn.k_proj", "attention.k"},
         {"self_attn.v_proj", "attention.v"},
         {"self_attn.o_proj", "attention.out"},
         {"mlp.up_proj", "wide.up"},
         {"mlp.gate_proj", "wide.gate"},
         {"mlp.down_proj", "wide.down"},
         {"post_attention_layernorm", "wide.norm"},
         {"input_layernorm", "attention.norm"}}};
    const TemporaryDirectory folder;
    Safetensors file(golden_model_path("llama") / "model.safetensors");
    json header;
    for (const auto& [name, entry] : file.header.items()) {
      std::string changed = name;
      for (const auto& [theirs, own] : kNames) {
        if (const std::size_t at = changed.find(theirs); at != std::string::npos) changed.replace(at, theirs.size(), own);
      }
      header[changed] = entry;
    }
    file.header = header;
    file.write(folder.path() / "model.safetensors");
    json config = config_of("llama");
    config["model_type"] = "reader";
    for (const auto& [theirs, own] :
         {std::pair{"hidden_size", "width"}, {"num_hidden_layers", "depth"}, {"num_attention_heads", "heads"}}) {
      config[own] = config.at(theirs);
      config.erase(theirs);
    }
    write_file_atomically(folder.path() / "config.json", config.dump());
    const auto opens = [&] { return error_message([&] { load_network(folder.path()); }); };
    CHECK(holds(opens(), "model_type 'reader': Headlight doesn't know this network"));
    const std::string example = example_after("headlight-family.json");
    CHECK(std::ranges::count(example, '\n') <= 16);
    write_file_atomically(folder.path() / "headlight-family.json", example);
    CHECK(opens() == "");
    CHECK(numbers_of(folder.path(), "llama") == numbers_of(golden_model_path("llama"), "llama"));
    const ModelDescription about = load_network(folder.path()).description;
    CHECK(about.family == "Reader");
    CHECK(about.model_type == "reader");
    // Tensors that a family doesn't name are named, as those of any family.
    json other = json::parse(example);
    other["stack"]["feed_forward"]["norm"] = "norm_2";
    write_file_atomically(folder.path() / "headlight-family.json", other.dump());
    CHECK(holds(opens(), "no tensor 'net.blocks.0.norm_2.weight' of shape [32]"));
    config["model_type"] = "writer";
    write_file_atomically(folder.path() / "config.json", config.dump());
    CHECK(holds(opens(), "headlight-family.json is of model_type 'reader', but config.json is of 'writer': correct one"));
    write_file_atomically(folder.path() / "headlight-family.json", "{\n\"nme\": \"x\"}");
    CHECK(holds(opens(), "headlight-family.json, line 2: nme is no key of a family"));
    std::filesystem::remove(folder.path() / "headlight-family.json");
    std::filesystem::create_directory(folder.path() / "headlight-family.json");
    CHECK(holds(opens(), "headlight-family.json"));
    CHECK(is_one_line(opens()));
  }

  TEST_CASE("a broken family file is named with line and key") {
    const auto with = [](const std::string& line) { return complaint_of("{\n\"like\": \"llama\",\n" + line + "\n}"); };
    CHECK(error_message([] { read_family("{\"like\": \"llama\"}", "f.json"); }) == "");
    // Not JSON, or too much of it.
    CHECK(holds(with("\"is_gated\": tru"), "f.json: not JSON (line 3, column 16"));
    CHECK(holds(with("\"name\": \"\xff\""), "f.json: not JSON (line 3, column 10"));
    CHECK(holds(complaint_of(""), "f.json: not JSON (line 1"));
    CHECK(holds(complaint_of("[1]"), "f.json isn't a JSON object"));
    CHECK(holds(complaint_of("{\"name\": \"" + std::string(70'000, 'a') + "\"}"), "JSON of 70012 bytes"));
    CHECK(holds(with("\"defaults\": {\"a\": " + std::string(9'000, '[')), "f.json, line 3: nested more than 8 deep"));
    CHECK(holds(with("\"stack\":\n" + std::string(9, '{')), "f.json, line 4: nested more than 8 deep"));
    // Keys.
    CHECK(holds(with("\"colour\": 1"), "f.json, line 3: colour is no key of a family: "));
    CHECK(holds(with("\"gguf\": {}"), "f.json, line 3: gguf is no key of a family: "));
    CHECK(holds(with("\"stack\": {\n\"attention\": {\n\"querry\": \"q\"}}"),
                "f.json, line 5: stack.attention.querry is no key"));
    CHECK(holds(with("\"is_gated\": true,\n\"name\": \"a\",\n\"is_gated\": false"),
                "f.json, line 5: the key is_gated is there twice"));
    CHECK(holds(with("\"stack\": {\"layer\": \"a\", \"table\": \"b\",\n\"layer\": \"c\"}"),
                "f.json, line 4: the key stack.layer is there twice"));
    CHECK(holds(with("\"is_gated\": true, \"is\\u005fgated\": true"), "the key 'is_gated' is there twice"));
    CHECK(holds(with("\"" + std::string(30'000, 'k') + "\": {\"a\": 1}"), "f.json, line 3: kkkkkkkk"));
    // Values.
    CHECK(holds(with("\"is_gated\": \"yes\""), "f.json, line 3: is_gated is \"yes\", but must be true or false"));
    CHECK(holds(with("\"is_gated\":\nnull"), "f.json, line 3: is_gated is null: leave it out"));
    CHECK(holds(with("\"stack\": 3"), "f.json, line 3: stack is 3, but must be an object"));
    CHECK(
        holds(with("\"stack\": {\"table\": \"t\",\n\"layer\": 7}"), "f.json, line 4: stack.layer is 7, but must be a text"));
    CHECK(holds(with("\"epsilon\": 2"), "f.json, line 3: epsilon is 2, but must be a number from 0 to 1"));
    CHECK(holds(with("\"head_size\": 0.5"), "f.json, line 3: head_size is 0.5, but must be a whole number from 0 to "));
    CHECK(holds(with("\"rope_theta\": 0"), "f.json, line 3: rope_theta is 0, but must be a number from 1.000001 to "));
    CHECK(holds(with("\"window\": 1e99"), "f.json, line 3: window is 1e+99, but must be a whole number"));
    CHECK(holds(with("\"norm\": \"batch\""), "f.json, line 3: norm is \"batch\", but must be one of layer, rms"));
    CHECK(holds(with("\"reads\": [1]"), "f.json, line 3: reads is [1], but must be a list of texts"));
    CHECK(holds(with("\"defaults\": []"), "f.json, line 3: defaults is [], but must be an object"));
    CHECK(holds(with("\"ignored\": \"" + std::string(300, '*') + "\""), "but must be a text of 256 bytes at most"));
    // A key is missing.
    CHECK(holds(complaint_of("{}"), "f.json, line 1: name is missing"));
    CHECK(
        holds(complaint_of("{\"name\": \"a\",\n\"stack\": {\"table\": \"t\"}}"), "f.json, line 2: stack.layer is missing"));
    CHECK(holds(with("\"kind\": \"encoder-decoder\""), "f.json, line 1: decoder.table is missing"));
    CHECK(holds(with("\"stack\": {\"attention\": {\"query\": \"\"}}"), "f.json, line 3: stack.attention.query is missing"));
    CHECK(holds(complaint_of("{\n\"like\": \"nothing\"}"),
                "f.json, line 2: like is \"nothing\", but must be a file's name in"));
    CHECK(holds(complaint_of("{\"like\": 1}"), "f.json, line 1: like is 1, but must be a text"));
  }

  TEST_CASE("families that are like one another are refused by file, line and key") {
    const auto complaint_of_files = [](std::initializer_list<FamilyFile> files) {
      return error_message([&] { read_families(files); });
    };
    CHECK(holds(
        complaint_of_files({{"a", "{\"like\": \"b\"}"}, {"b", "{\n\"like\": \"c\"}"}, {"c", "{\n\n\"like\": \"a\"}"}}),
        "assets/families/c.json, line 3: like is \"a\", but must be a file's name in assets/families, of a family that "
        "isn't like this one"));
    CHECK(holds(complaint_of_files({{"a", "{\"like\": \"a\"}"}}), "assets/families/a.json, line 1: like is \"a\""));
    CHECK(
        holds(complaint_of_files({{"a", "{\n\"model_type\": \"a\"}"}}), "assets/families/a.json, line 1: name is missing"));
  }

  TEST_CASE("a star in a family's patterns takes time that grows with names, not beyond") {
    // Thirty stars that nearly fit: trying all ways would take years.
    std::string pattern;
    for (int i = 0; i < 30; ++i) pattern += "*a";
    const TemporaryDirectory folder;
    Safetensors file(golden_model_path("llama") / "model.safetensors");
    const std::size_t end = file.numbers.size();
    file.header[std::string(200, 'a') + "b"] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {end, end + 4}}};
    file.numbers.append(4, '\0');
    file.write(folder.path() / "model.safetensors");
    std::filesystem::copy(golden_model_path("llama") / "config.json", folder.path() / "config.json");
    write_file_atomically(folder.path() / "headlight-family.json", json{{"like", "llama"}, {"ignored", pattern}}.dump());
    CHECK(load_network(folder.path()).description.unused_tensors.size() == 1);
  }
}

}  // namespace family_file_test
