// Commands on trained models: what they list, refuse and warn of.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exported.h"
#include "files/npy.h"
#include "inference/notebooks.h"
#include "model/altered_model.h"
#include "model/file_bytes.h"
#include "support/decode_npy.h"
#include "support/golden_model.h"
#include "support/odd_model.h"

namespace model_commands_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

/// Why nothing is exported of a model with these flags.
std::string refusal(std::string_view model, std::vector<std::string> more, int status) {
  more.insert(more.begin(), {"--model", golden_path(model), "--format", "npy"});
  return test::export_complaint(more, status);
}

/// The tokens that an export with these flags read.
nlohmann::json tokens_of_model(const fs::path& model, std::vector<std::string> more) {
  more.insert(more.begin(), {"--model", model.string(), "--stages", "weights", "--format", "npy"});
  return test::Exported(more).json("run.json")["tokens"];
}

/// A Llama of 70 billion numbers in float16 whose file takes no room: its weights are a hole.
void write_huge_model(const fs::path& folder) {
  constexpr std::uint32_t kWidth = 8192, kInner = 28672, kKeys = 1024, kLayers = 80, kVocabulary = 128256;
  nlohmann::json header = nlohmann::json::object();
  std::uint64_t end = 0;
  const auto add = [&](const std::string& name, const Shape& shape) {
    const std::uint64_t begin = end;
    end += 2 * element_count(shape);
    header[name + ".weight"] = {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {begin, end}}};
  };
  add("model.embed_tokens", {kVocabulary, kWidth});
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    for (const char* name : {"self_attn.q_proj", "self_attn.o_proj"}) add(prefix + name, {kWidth, kWidth});
    for (const char* name : {"self_attn.k_proj", "self_attn.v_proj"}) add(prefix + name, {kKeys, kWidth});
    for (const char* name : {"mlp.gate_proj", "mlp.up_proj"}) add(prefix + name, {kInner, kWidth});
    add(prefix + "mlp.down_proj", {kWidth, kInner});
    for (const char* name : {"input_layernorm", "post_attention_layernorm"}) add(prefix + name, {kWidth});
  }
  add("model.norm", {kWidth});
  add("lm_head", {kVocabulary, kWidth});
  const fs::path file = folder / "model.safetensors";
  write_file_atomically(file, test::safetensors(header.dump(), ""));
  fs::resize_file(file, fs::file_size(file) + end);
  const nlohmann::json config = {{"model_type", "llama"},       {"hidden_size", kWidth},
                                 {"intermediate_size", kInner}, {"num_hidden_layers", kLayers},
                                 {"num_attention_heads", 64},   {"num_key_value_heads", 8},
                                 {"vocab_size", kVocabulary},   {"max_position_embeddings", 8192},
                                 {"rms_norm_eps", 1e-5},        {"tie_word_embeddings", false}};
  write_file_atomically(folder / "config.json", config.dump());
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("what was rounded or guessed is said once, on standard error and in JSON") {
    const TemporaryDirectory directory;
    test::Safetensors file(test::golden_model_path("gpt2") / "model.safetensors");
    std::string numbers;
    for (std::size_t at = 0; at < file.numbers.size(); at += sizeof(float)) {
      float number = 0.0f;
      std::memcpy(&number, file.numbers.data() + at, sizeof number);
      numbers += test::FileBytes().number(static_cast<double>(number)).bytes();
    }
    file.numbers = numbers;
    for (auto& [name, entry] : file.header.items()) {
      if (name == "__metadata__") continue;
      entry["dtype"] = "F64";
      for (auto& offset : entry["data_offsets"]) offset = 2 * offset.get<std::uint64_t>();
    }
    file.write(directory.path() / "model.safetensors");
    fs::copy(test::golden_model_path("gpt2") / "config.json", directory.path() / "config.json");
    const std::string model = directory.path().string(), note = model + ": float64 numbers are rounded to float32";
    const std::string out = (directory.path() / "out").string();
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"info", "--model", model, "--json"},
          {"evaluate", "heads", "--model", model, "--device", "cpu", "--sequences", "1", "--span", "4", "--json"},
          {"export", "--model", model, "--ids", "1,2,3", "--device", "cpu", "--format", "npy", "--out", out, "--json"}}) {
      const Outcome outcome = run_headlight(command);
      CHECK(outcome.err == "headlight: note: " + note + "\n");
      CHECK(nlohmann::json::parse(outcome.out).at("notes") == nlohmann::json{note});
    }
  }

  TEST_CASE("a flag with one value that is given twice is refused") {
    for (const char* command : {"info", "tokenize", "export", "describe", "generate", "survey"}) {
      CAPTURE(command);
      CHECK(complaint_of(run_headlight({command, "--model", "a", "-m", "b"}), 2) ==
            "--model has one value, but is given 2 times");
    }
    CHECK(complaint_of(run_headlight({"export", "--text", "a", "--layer", "0", "--layer", "1", "--out", "o"}), 2)
              .find("--layer has one value") == 0);
  }

  TEST_CASE("models lists those that come along first") {
    const TemporaryDirectory directory;
    const Outcome outcome = run_headlight({"models"}, "HF_HUB_CACHE=" + directory.path().string());
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("captions-gpt2") != std::string::npos);
    CHECK(outcome.out.find("multi30k-de-en") != std::string::npos);
    CHECK(outcome.out.find("no models") == std::string::npos);
  }

  TEST_CASE("info tells family, sizes, tokenizer and memory, without a device") {
    const Outcome report = run_headlight({"info", "--model", golden_path("llama")});
    CHECK(report.status == 0);
    for (const char* words : {"Llama (model_type llama)", "2 × 4, d_model 32, d_k 8, 2 KV heads, causal", "BPE, 128",
                              "64 tokens in training", "24.5 k", "F32", "on the device"}) {
      INFO(words, '\n', report.out);
      CHECK(report.out.find(words) != std::string::npos);
    }
    const Outcome tensors = run_headlight({"info", "--model", golden_path("gguf/llama-q8_0.gguf"), "--tensors"});
    CHECK(tensors.out.find("\ntoken_embd.weight [128, 32] Q8_0\n") != std::string::npos);
    const Outcome text = run_headlight({"info", "--model", golden_path("marian"), "--json", "--tensors", "--tokens", "7"});
    const nlohmann::json json = nlohmann::json::parse(text.out);
    CHECK(json["family"] == "Marian");
    CHECK(json["decoder_layers"] == 2);
    CHECK(json["tokenizer"]["kind"] == "Unigram");
    CHECK(json["device_memory"]["tokens"] == 7);
    CHECK(json["device_memory"]["f16"]["weights"].get<int>() < json["device_memory"]["f32"]["weights"].get<int>());
    CHECK(json["tensors"].size() == 86);
    CHECK(run_headlight({"info", "--model", golden_path("t5")}).out.find("tokenizer   none: ") != std::string::npos);
    CHECK(complaint({"info", "--model", HEADLIGHT_GOLDEN_DIR}, 1).find(HEADLIGHT_GOLDEN_DIR) != std::string::npos);
    CHECK(complaint({"info", "--model", golden_path("gpt2"), "--tokens", "0"}, 2).find("--tokens: expected") == 0);
  }

  TEST_CASE("info says that a model's own family was used, and every command names what is wrong with it") {
    const TemporaryDirectory directory;
    for (const auto& entry : fs::directory_iterator(golden_path("gpt2"))) fs::copy(entry, directory.path());
    const std::string model = directory.path().string();
    write_file_atomically(directory.path() / "headlight-family.json", R"({"name": "My GPT", "like": "gpt2"})");
    CHECK(run_headlight({"info", "--model", model}).out.find("My GPT (described by headlight-family.json)\n") !=
          std::string::npos);
    const nlohmann::json json = nlohmann::json::parse(run_headlight({"info", "--model", model, "--json"}).out);
    CHECK(json["family_file"] == "headlight-family.json");
    write_file_atomically(directory.path() / "headlight-family.json", "{\"name\": \"My GPT\",\n\"like\": \"gpt5\"}");
    CHECK(complaint(
              {"export", "--model", model, "--ids", "1,2", "--device", "cpu", "--format", "npy", "--out", model + "/o"}, 1)
              .find("headlight-family.json, line 2: like is \"gpt5\", but must be a file's name in") != std::string::npos);
  }

  TEST_CASE("a folder's name with control characters is printed as escapes") {
    const TemporaryDirectory directory;
    const fs::path odd = directory.path() / "a\x1B[31mb";
    fs::create_directory(odd);
    fs::copy(golden_path("gpt2"), odd / "gpt2\x07");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"models", "--folder", odd.string()},
          {"info", "--model", (odd / "gpt2\x07").string()},
          {"export", "--model", golden_path("gpt2"), "--ids", "5", "--format", "npy", "--out", (odd / "out").string()}}) {
      const Outcome outcome = run_headlight(arguments);
      INFO(outcome.out);
      CHECK(outcome.status == 0);
      CHECK(outcome.out.find("\\x") != std::string::npos);
      CHECK(outcome.out.find_first_of("\x1B\x07") == std::string::npos);
    }
  }

  TEST_CASE("models lists a folder and the cache") {
    const Outcome listed = run_headlight({"models", "--folder", golden_path("")});
    CHECK(listed.status == 0);
    CHECK(std::count(listed.out.begin(), listed.out.end(), '\n') > 30);
    CHECK(listed.out.find("2 × 4 + 2 × 4") != std::string::npos);
    CHECK(listed.out.find("can't be shown") == std::string::npos);
    const Outcome json = run_headlight({"models", "--json", "--folder", golden_path("gpt2")});
    CHECK(nlohmann::json::parse(json.out).at(0)["parameters"] == 26776);
    const TemporaryDirectory empty;
    const Outcome none = run_headlight({"models", "--folder", empty.path().string()});
    CHECK(none.status == 0);
    CHECK(none.out.starts_with("no models in " + empty.path().string()));
    CHECK(complaint({"models", "--folder", "/nonexistent"}, 1) == "/nonexistent is no folder");
  }

  TEST_CASE("flags that don't go together are one line") {
    CHECK(refusal("gpt2", {}, 2) == "--text or --ids is missing: say what to compute");
    CHECK(refusal("gpt2", {"--text", "a", "--d-model", "8"}, 2) ==
          "--d-model and --model exclude each other: --d-model belongs to the playground");
    CHECK(refusal("gpt2", {"--text", "a", "--key-text", "b"}, 2).find("--key-text and --model") == 0);
    CHECK(refusal("gpt2", {"--preset", "notebook-001"}, 2).find("--model and --preset") == 0);
    CHECK(refusal("gpt2", {"--text", "a", "--ids", "1"}, 2) == "--text and --ids exclude each other: give either");
    CHECK(refusal("gpt2", {"--ids", "1,x"}, 2) == "--ids: 'x' is no token id: give whole numbers from 0");
    CHECK(refusal("gpt2", {"--text", "a", "--padding-side", "both"}, 2).find("--padding-side: there is no 'both'") == 0);
    CHECK(refusal("gpt2", {"--text", "a", "--precision", "f8"}, 2).find("--precision: there is no 'f8'") == 0);
    CHECK(refusal("gpt2", {"--text", "a", "--target", "b"}, 2) == "--target: GPT-2 has no decoder beside an encoder");
    CHECK(refusal("gpt2", {"--text", "a", "--pair", "b"}, 2) == "--pair: GPT-2 isn't trained on pairs of sentences");
    CHECK(complaint({"export", "--preset", "playground", "--text", "a", "--pair", "b", "--out", "x"}, 2) ==
          "--pair is for trained models: name one with --model");
    CHECK(refusal("nothing here", {"--text", "a"}, 1).find("there is no such file or folder") != std::string::npos);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("a model that no device holds is refused before anything is read") {
    const TemporaryDirectory folder;
    write_huge_model(folder.path());
    const Outcome info = run_headlight({"info", "--model", folder.path().string()});
    CHECK(info.out.find("70.6 B") != std::string::npos);
    const std::string why =
        complaint({"export", "--model", folder.path().string(), "--ids", "1,2", "--out", folder.path().string()}, 1);
    CHECK(why.starts_with("the weights take 132600 MiB, but '"));
    CHECK(why.find("choose a smaller model") != std::string::npos);
  }

  TEST_CASE("finite weights whose scores overflow: every command that computes says it in one line and ends with 3") {
    const TemporaryDirectory scratch;
    const std::string model = (scratch.path() / "odd").string(), out = (scratch.path() / "out").string();
    test::write_scaled_model(model, "gpt2", "transformer.h.1.attn.c_attn.weight", 1e22F);
    write_file_atomically(scratch.path() / "texts", "the cat sat on the mat the cat\nthe mat\n");
    const std::string texts = (scratch.path() / "texts").string(), text = "the cat sat on the mat";
    const std::vector<std::vector<std::string>> commands = {
        {"export", "--model", model, "--text", text, "--stages", "weights", "--format", "csv,npy", "--out", out},
        {"screenshot", "--model", model, "--text", text, "--size", "640x480", "--out", out + "/window.png"},
        {"generate", "--model", model, "--text", text},
        {"evaluate", "heads", "--model", model, "--text-file", texts, "--quiet"},
        {"evaluate", "perplexity", "--model", model, "--text-file", texts, "--quiet"},
        {"survey", texts, "--model", model, "--out", out + "/survey", "--quiet"}};
    for (const std::vector<std::string>& arguments : commands) {
      CAPTURE(arguments.front());
      const Outcome outcome = run_headlight(arguments);
      CAPTURE(outcome.err);
      CHECK(outcome.status == 3);
      const std::size_t warning = outcome.err.find("headlight: warning: ");
      REQUIRE(warning != std::string::npos);
      CHECK(outcome.err.find("headlight: warning: ", warning + 1) == std::string::npos);
      const bool names_layer =
          outcome.err.find("rows of attention have scores that aren't finite, the first in encoder layer 1;") !=
          std::string::npos;
      CHECK(names_layer);
    }
    const std::string csv = read_file(fs::path(out) / "layer-01_batch-0_head-00_weights.csv");
    CHECK(csv.find("nan") != std::string::npos);
    CHECK(csv.find("-nan") == std::string::npos);
    CHECK(read_file(fs::path(out) / "layer-00_batch-0_head-00_weights.csv").find("nan") == std::string::npos);
    const nlohmann::json survey = nlohmann::json::parse(read_file(fs::path(out) / "survey" / "survey.json"));
    CHECK(survey["odd_texts"] == 2);
    CHECK(survey["texts"] == 2);
    // The model as it is.
    const Outcome clean = run_headlight({"export", "--model", test::golden_model_path("gpt2").string(), "--text", text,
                                         "--stages", "weights", "--format", "csv", "--out", out + "/clean"});
    CHECK(clean.status == 0);
    CHECK(clean.err == "");
  }

  TEST_CASE("weights that aren't finite are said in one line, the files are written, and the status is 3") {
    const TemporaryDirectory scratch;
    const auto export_with = [&](const char* tensor, float number, const std::vector<std::string>& more) {
      test::write_odd_model(scratch.path() / "odd", "gpt2", tensor, 40, number);
      std::vector<std::string> arguments = {"export", "--model", (scratch.path() / "odd").string(), "--ids",
                                            "5,6,7",  "--out",   (scratch.path() / "out").string(), "--format",
                                            "npy"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      return run_headlight(arguments);
    };
    const std::string file = (scratch.path() / "odd" / "model.safetensors").string();
    const Outcome broken = export_with("transformer.h.0.attn.c_attn.weight", std::numeric_limits<float>::quiet_NaN(), {});
    CHECK(broken.status == 3);
    CHECK(broken.err ==
          "headlight: warning: " + file +
              ": tensor 'transformer.h.0.attn.c_attn.weight' holds NaN or infinite numbers; the weights are damaged "
              "or badly trained: what follows from them isn't a number\n");
    const Tensor weights = files::decode_npy(read_file(scratch.path() / "out" / "weights.npy"));
    CHECK(std::ranges::count_if(weights.values, [](float weight) { return std::isnan(weight); }) > 0);

    const Outcome large = export_with("transformer.h.0.mlp.c_fc.weight", 1e5f, {"--precision", "f16"});
    CHECK(large.status == 3);
    CHECK(large.err ==
          "headlight: warning: " + file +
              ": tensor 'transformer.h.0.mlp.c_fc.weight' holds numbers beyond 65504, infinite as float16; keep weights "
              "in float32: what follows from them isn't a number\n");
    const Outcome whole = export_with("transformer.h.0.mlp.c_fc.weight", 1e5f, {});
    CHECK(whole.status == 0);
    CHECK(whole.err.empty());
  }

  TEST_CASE("screenshot shows a model") {
    const TemporaryDirectory directory;
    const std::string file = (directory.path() / "bart.png").string();
    const Outcome outcome = run_headlight({"screenshot", "--model", golden_path("marian"), "--text", "the cat", "--target",
                                           "sat", "--block", "cross", "--size", "800x600", "--out", file});
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(read_file(file).starts_with("\x89PNG"));
    CHECK(complaint({"screenshot", "--model", golden_path("gpt2"), "--ids", "999", "--out", file}, 1).find("999") !=
          std::string::npos);
  }

  TEST_CASE("a text with line feeds is one text; texts of a batch have none") {
    const auto run_of = [](std::vector<std::string> more) {
      more.insert(more.begin(), {"--model", golden_path("gpt2"), "--format", "npy", "--stages", "weights"});
      return test::Exported(more).json("run.json");
    };
    const nlohmann::json one = run_of({"--text", "the\ncat"});
    CHECK(one["tokens"]["ids"].size() == 1);
    CHECK(one["model"]["joins_lines"] == true);
    const nlohmann::json lines = run_of({"--text", "the\ncat", "--join-lines", "off"});
    CHECK(lines["tokens"]["ids"].size() == 2);
    CHECK(run_of({"--text", "the", "--text", "cat"})["tokens"]["ids"] == lines["tokens"]["ids"]);
    CHECK(refusal("gpt2", {"--text", "the\ncat", "--text", "a"}, 2)
              .starts_with("--text: texts with line feeds make no batch"));
  }

  TEST_CASE("a chat is the text that the model's template writes of its turns") {
    const TemporaryDirectory directory;
    const fs::path folder = directory.path() / "chat";
    fs::copy(test::golden_model_path("gpt2"), folder);
    const auto write_template = [&](std::string_view source) {
      write_file_atomically(folder / "chat_template.jinja", source);
    };
    write_template(
        "{% for m in messages %}{{ bos_token }}{{ m.role[0] }} {{ m.content }}{% endfor %}{{ bos_token ~ 'a' if "
        "add_generation_prompt }}");
    const auto tokens_of = [&](const std::vector<std::string>& more) { return tokens_of_model(folder, more); };
    const std::string end = "<|endoftext|>";
    const nlohmann::json asked = tokens_of({"--chat", "--text", "the cat"});
    CHECK(asked == tokens_of({"--no-special", "--text", end + "u the cat" + end + "a"}));
    CHECK(asked["texts"][0][0] == end);
    CHECK(tokens_of({"--chat", "--text", "system: a\nuser: the cat"}) ==
          tokens_of({"--no-special", "--text", end + "s a" + end + "u the cat" + end + "a"}));
    CHECK(tokens_of({"--chat", "--text", "the cat\nassistant: sat"}) ==
          tokens_of({"--no-special", "--text", end + "u the cat" + end + "a sat"}));
    CHECK(tokens_of({"--chat", "--text", R"([{"role": "tool", "content": "a"}])"}) ==
          tokens_of({"--no-special", "--text", end + "t a" + end + "a"}));
    const Outcome generated = run_headlight(
        {"generate", "--model", folder.string(), "--chat", "--text", "the cat", "--max-tokens", "3", "--temperature", "0"});
    const Outcome continued = run_headlight({"generate", "--model", folder.string(), "--text", end + "u the cat" + end + "a",
                                             "--max-tokens", "3", "--temperature", "0"});
    REQUIRE(generated.status == 0);
    CHECK(generated.out.size() > 1);
    CHECK(continued.out.starts_with(end + "u the cat" + end + "a"));
    CHECK(continued.out.ends_with(generated.out));
    CHECK(refusal("gpt2", {"--chat", "--text", "a"}, 1).find("has no chat template") != std::string::npos);
    // A survey's texts are the user's turns, or turns of their own.
    const std::string corpus = (directory.path() / "corpus.txt").string(), out = (directory.path() / "survey").string();
    write_file_atomically(corpus, "the cat\n  \nsystem: a cat\n");
    REQUIRE(
        run_headlight({"survey", corpus, "--chat", "--model", folder.string(), "--metrics", "sink", "--quiet", "--out", out})
            .status == 0);
    const nlohmann::json surveyed = nlohmann::json::parse(read_file(fs::path(out) / "survey.json"));
    CHECK(surveyed["chat"] == true);
    CHECK(surveyed["texts"] == 2);
    const std::size_t tokens =
        asked["texts"][0].size() + tokens_of({"--chat", "--text", "system: a cat"})["texts"][0].size();
    CHECK(surveyed["tokens"] == tokens);
    CHECK(complaint({"survey", corpus, "--model", folder.string(), "--metrics", "sink", "--quiet", "--out", out}, 1)
              .find("another survey") != std::string::npos);
    CHECK(
        complaint({"survey", corpus, "--chat", "--model", test::golden_model_path("gpt2"), "--quiet", "--out", out + "2"}, 1)
            .find("has no chat template") != std::string::npos);
    const auto refused = [&] {
      return complaint(
          {"export", "--model", folder.string(), "--chat", "--text", "a", "--out", (directory.path() / "o").string()}, 1);
    };
    write_template("{% include 'x' %}");  // what a template does is known when it runs
    CHECK(refused() == "the model's chat template: line 1: Headlight doesn't know the tag {% include %}");
    write_template("{% if x %}");
    const std::string problem = refused();
    CHECK(problem.starts_with(folder.string() + "/chat_template.jinja: the chat template can't be run: line 1: "));
    const Outcome info = run_headlight({"info", "--model", folder.string()});
    CHECK(info.out.find("the chat template can't be run") != std::string::npos);
  }

  TEST_CASE("a GGUF file has its chat template inside") {
    const TemporaryDirectory directory;
    std::string file = read_file(test::golden_model_path("gguf/gpt2.gguf"));
    const auto number = [](std::uint64_t value, int bytes) {
      std::string text;
      for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
      return text;
    };
    const std::string key = "tokenizer.chat_template";
    std::string source = "{{ messages[0].content }}{{ ' the' if add_generation_prompt }}";
    // The tensors stay aligned: the template begins with as many spaces as that takes.
    source.insert(0, 31 - (8 + key.size() + 4 + 8 + source.size() + 31) % 32, ' ');
    file.insert(24, number(key.size(), 8) + key + number(8, 4) + number(source.size(), 8) + source);  // after the counts
    ++file[16];                                                                                       // of keys
    const fs::path path = directory.path() / "chat.gguf";
    write_file_atomically(path, std::string_view(file));
    const auto tokens_of = [&](const std::vector<std::string>& more) { return tokens_of_model(path, more); };
    CHECK(tokens_of({"--chat", "--text", "a cat"}) ==
          tokens_of({"--no-special", "--text", std::string(source.find('{'), ' ') + "a cat the"}));
  }

  TEST_CASE("what a model can't take is one line") {
    CHECK(refusal("gpt2", {"--ids", "5,999"}, 1) == "the text: token id 999 is not among the model's 128");
    CHECK(refusal("gpt2", {"--text", ""}, 1) == "the text has no line: type at least one token");
    std::string many = "5";
    for (int i = 0; i < 32; ++i) many += ",5";
    const std::string too_long =
        "the text has 33 tokens, but the model has positions for 32: shorten it, or take all of it with "
        "--stretch-positions on";
    CHECK(refusal("gpt2", {"--ids", many}, 1) == too_long);
    const TemporaryDirectory directory;
    const std::string image = (directory.path() / "a.png").string();
    CHECK(complaint({"screenshot", "--model", golden_path("gpt2"), "--ids", many, "--out", image}, 1) == too_long);
    CHECK(refusal("t5", {"--text", "a"}, 1).find("give token ids instead of text") != std::string::npos);
    CHECK(refusal("gpt2", {"--ids", "5", "--block", "cross"}, 2).find("--block cross: there is no such") == 0);
  }

  TEST_CASE("Block is drawn of every notebook's preset, also of one layer without residuals") {
    const TemporaryDirectory directory;
    for (const std::string_view name : inference::notebook_names()) {
      CAPTURE(name);
      const std::string file = (directory.path() / (std::string(name) + ".png")).string();
      const Outcome outcome =
          run_headlight({"screenshot", "--preset", std::string(name), "--tab", "block", "--size", "640x480", "--out", file});
      INFO(outcome.err);
      CHECK(outcome.status == 0);
      CHECK(fs::exists(file));
    }
  }
}

}  // namespace model_commands_test
