#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "inference/notebooks.h"
#include "support/decode_npy.h"
#include "support/deviation.h"
#include "support/golden_model.h"
#include "support/odd_model.h"
#include "support/program.h"

namespace model_commands_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

/// The one line on standard error of a command that fails with this status.
std::string complaint(const std::vector<std::string>& arguments, int status, const std::string& input = "") {
  const Outcome outcome = run_headlight(arguments, "", input);
  return complaint_of(outcome, status);
}

/// `headlight export --model … --out …` with more flags behind.
std::vector<std::string> exporting(std::string_view model, const std::vector<std::string>& more, const fs::path& out) {
  std::vector<std::string> arguments = {"export", "--model", golden_path(model), "--out", out.string(), "--format", "npy"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string export_complaint(std::string_view model, const std::vector<std::string>& more, int status) {
  const TemporaryDirectory directory;
  return complaint(exporting(model, more, directory.path() / "out"), status);
}

/// A folder that the real program exported into.
struct Exported {
  TemporaryDirectory directory;
  Outcome outcome;

  Exported(std::string_view model, const std::vector<std::string>& more) {
    outcome = run_headlight(exporting(model, more, directory.path() / "out"));
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
  }
  bool has(const std::string& name) const { return fs::exists(directory.path() / "out" / name); }
  Tensor npy(const std::string& name) const {
    return files::decode_npy(read_file(directory.path() / "out" / (name + ".npy")));
  }
  nlohmann::json run_json() const { return nlohmann::json::parse(read_file(directory.path() / "out" / "run.json")); }
};

/// --ids (or --target-ids) for every line, padding left away.
void add_ids(std::vector<std::string>& flags, const char* flag, const model::TokenBatch& tokens) {
  for (std::uint32_t item = 0; item < tokens.batch; ++item) {
    const auto first = tokens.ids.begin() + std::ptrdiff_t{item} * tokens.length + tokens.start(item);
    flags.insert(flags.end(), {flag, fmt::format("{}", fmt::join(first, first + tokens.lengths[item], ","))});
  }
}

struct Worst {
  double attentions = 0.0, hidden = 0.0, logits = 0.0;  ///< the last two divided by the root mean square
};

/// The largest differences of everything that was exported from everything that transformers computed.
Worst deviation(const Exported& exported, const test::GoldenCase& golden) {
  Worst worst;
  const model::TokenBatch& source = golden.input.source;
  const model::TokenBatch& target = golden.input.target ? *golden.input.target : source;
  const auto compare = [&](const char* file, const Tensor& expected, const model::TokenBatch& rows, std::size_t axis) {
    const Tensor found = exported.npy(file);
    REQUIRE(found.shape == expected.shape);
    // Layer by layer: the batch comes first then.
    const std::size_t layers = axis == 0 ? 1 : found.axis(0);
    const std::size_t count = found.values.size() / layers;
    double largest = 0.0;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const Shape shape(found.shape.begin() + static_cast<std::ptrdiff_t>(axis), found.shape.end());
      const test::RowDeviation rows_off =
          test::row_deviation(shape, std::span<const float>(found.values).subspan(layer * count, count),
                              std::span<const float>(expected.values).subspan(layer * count, count), rows);
      const bool is_map = std::string_view(file).ends_with("weights");
      test::raise_to(largest, is_map ? rows_off.largest : rows_off.largest / rows_off.root_square);
    }
    return largest;
  };
  using test::raise_to;
  if (golden.input.target) {
    raise_to(worst.attentions, compare("encoder_weights", golden.encoder_attentions, source, 1));
    raise_to(worst.attentions, compare("decoder_weights", golden.decoder_attentions, target, 1));
    raise_to(worst.attentions, compare("cross_weights", golden.cross_attentions, target, 1));
    raise_to(worst.hidden, compare("encoder_hidden", golden.encoder_hidden, source, 1));
    raise_to(worst.hidden, compare("decoder_hidden", golden.decoder_hidden, target, 1));
  } else {
    raise_to(worst.attentions, compare("weights", golden.attentions, source, 1));
    raise_to(worst.hidden, compare("hidden", golden.hidden, source, 1));
  }
  if (!golden.logits.is_empty()) raise_to(worst.logits, compare("logits", golden.logits, target, 0));
  return worst;
}

/// Exports one case by its ids.
Worst exported_deviation(std::string_view model, const test::GoldenCase& golden, std::vector<std::string> flags) {
  const TemporaryDirectory masks;
  flags.insert(flags.end(), {"--stages", "weights,hidden,logits"});
  add_ids(flags, "--ids", golden.input.source);
  if (golden.input.target) add_ids(flags, "--target-ids", *golden.input.target);
  const std::vector<std::uint32_t>& starts = golden.input.source.starts;
  if (std::ranges::any_of(starts, [](std::uint32_t start) { return start > 0; })) {
    flags.insert(flags.end(), {"--padding-side", "left"});
  }
  if (!golden.visible.is_empty()) {
    write_file_atomically(masks.path() / "visible.npy", files::encode_npy(golden.visible));
    flags.insert(flags.end(), {"--mask-file", (masks.path() / "visible.npy").string()});
  }
  return deviation(Exported(model, flags), golden);
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
  const std::string text = header.dump();
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  write_file_atomically(folder / "model.safetensors", bytes + text);
  fs::resize_file(folder / "model.safetensors", bytes.size() + text.size() + end);
  const nlohmann::json config = {{"model_type", "llama"},       {"hidden_size", kWidth},
                                 {"intermediate_size", kInner}, {"num_hidden_layers", kLayers},
                                 {"num_attention_heads", 64},   {"num_key_value_heads", 8},
                                 {"vocab_size", kVocabulary},   {"max_position_embeddings", 8192},
                                 {"rms_norm_eps", 1e-5},        {"tie_word_embeddings", false}};
  write_file_atomically(folder / "config.json", config.dump());
}

}  // namespace

TEST_SUITE("cpu") {
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

  TEST_CASE("a folder's name with control characters is printed as escapes") {
    const TemporaryDirectory directory;
    const fs::path odd = directory.path() / "a\x1B[31mb";
    fs::create_directory(odd);
    fs::copy(golden_path("gpt2"), odd / "gpt2\x07");
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"models", "--folder", odd.string()},
                                                      {"info", "--model", (odd / "gpt2\x07").string()},
                                                      exporting("gpt2", {"--ids", "5"}, odd / "out")}) {
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
    CHECK(export_complaint("gpt2", {}, 2) == "--text or --ids is missing: say what to compute");
    CHECK(export_complaint("gpt2", {"--text", "a", "--d-model", "8"}, 2) ==
          "--d-model and --model exclude each other: --d-model belongs to the playground");
    CHECK(export_complaint("gpt2", {"--text", "a", "--key-text", "b"}, 2).find("--key-text and --model") == 0);
    CHECK(export_complaint("gpt2", {"--preset", "notebook-001"}, 2).find("--model and --preset") == 0);
    CHECK(export_complaint("gpt2", {"--text", "a", "--ids", "1"}, 2) == "--text and --ids exclude each other: give either");
    CHECK(export_complaint("gpt2", {"--ids", "1,x"}, 2) == "--ids: 'x' is no token id: give whole numbers from 0");
    CHECK(
        export_complaint("gpt2", {"--text", "a", "--padding-side", "both"}, 2).find("--padding-side: there is no 'both'") ==
        0);
    CHECK(export_complaint("gpt2", {"--text", "a", "--precision", "f8"}, 2).find("--precision: there is no 'f8'") == 0);
    CHECK(export_complaint("gpt2", {"--text", "a", "--target", "b"}, 2) ==
          "--target: GPT-2 has no decoder beside an encoder");
    CHECK(export_complaint("gpt2", {"--text", "a", "--pair", "b"}, 2) ==
          "--pair: GPT-2 isn't trained on pairs of sentences");
    CHECK(complaint({"export", "--preset", "playground", "--text", "a", "--pair", "b", "--out", "x"}, 2) ==
          "--pair is for trained models: name one with --model");
    CHECK(export_complaint("nothing here", {"--text", "a"}, 1).find("there is no such file or folder") != std::string::npos);
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("export writes what transformers computes: ids, padding on both sides, a mask of one's own") {
    for (const char* model : {"gpt2", "bert", "llama", "marian", "t5", "gemma2"}) {
      for (const test::GoldenCase& golden : test::load_golden_cases(model)) {
        if (!golden.input.source.types.empty()) continue;  // types come from pairs of texts
        CAPTURE(model);
        CAPTURE(golden.name);
        const Worst worst = exported_deviation(model, golden, {});
        CHECK(worst.attentions < 1e-5);  // observed 1.0e-6
        CHECK(worst.hidden < 2e-5);      // observed 3.0e-6
        CHECK(worst.logits < 2e-5);      // observed 2.9e-6
      }
    }
  }

  TEST_CASE("weights in 16 bits stay near") {
    for (const char* model : {"gpt2", "llama", "marian"}) {
      CAPTURE(model);
      const Worst worst = exported_deviation(model, test::load_golden_cases(model).front(), {"--precision", "f16"});
      CHECK(worst.attentions > 1e-5);
      CHECK(worst.attentions < 1e-2);
      CHECK(worst.logits < 1e-1);
    }
  }

  TEST_CASE("keys and values have the KV heads") {
    const Exported llama("llama", {"--text", "the cat sat", "--stages", "q,k,v"});
    const std::uint32_t tokens = llama.npy("q").axis(3);
    CHECK(llama.npy("q").shape == Shape{2, 1, 4, tokens, 8});
    CHECK(llama.npy("k").shape == Shape{2, 1, 2, tokens, 8});
    CHECK(llama.npy("v").shape == Shape{2, 1, 2, tokens, 8});
    const Exported one("llama", {"--text", "the cat sat", "--stages", "k,weights", "--head", "3"});
    CHECK(one.npy("weights").axis(2) == 1);
    const Tensor all = llama.npy("k"), last = one.npy("k");
    REQUIRE(last.shape == Shape{2, 1, 1, tokens, 8});
    CHECK(last.at({0, 0, 0, 1, 2}) == all.at({0, 0, 1, 1, 2}));
    CHECK(last.at({1, 0, 0, 0, 7}) == all.at({1, 0, 1, 0, 7}));
  }

  TEST_CASE("texts, pairs and targets are in run.json as tokens") {
    const Exported bert("bert", {"--text", "the cat", "--pair", "sat", "--stages", "weights,logits"});
    const nlohmann::json run = bert.run_json();
    CHECK(run["model"]["family"] == "BERT");
    CHECK(run["model"]["pair_text"] == "sat");
    CHECK(run["tokens"]["ids"][0] == nlohmann::json({2, 38, 39, 3, 40, 3}));
    CHECK(run["tokens"]["texts"][0][0] == "[CLS]");
    CHECK(bert.npy("logits").shape == Shape{1, 6, 104});
    const Exported no_pair("bert", {"--text", "the cat", "--stages", "weights"});
    CHECK(no_pair.npy("weights").axis(3) == 4);
    const Exported marian("marian", {"--text", "the cat", "--text", "sat", "--target", "on the", "--padding-side", "left"});
    CHECK(marian.npy("cross_weights").shape == Shape{2, 2, 4, 3, 3});
    const nlohmann::json both = marian.run_json();
    CHECK(both["tokens"]["starts"] == nlohmann::json({0, 1}));
    CHECK(both["tokens"]["ids"][1] == nlohmann::json({nullptr, 5, 0}));
    CHECK(both["target_tokens"]["ids"] == nlohmann::json({{103, 6, 3}, {103, 6, 3}}));
  }

  TEST_CASE("a mask given by flags joins the model's own") {
    const Exported gpt2("gpt2", {"--ids", "5,6,7,8", "--mask", "window:2"});
    const Tensor weights = gpt2.npy("weights");
    for (std::uint32_t query = 0; query < 4; ++query) {
      for (std::uint32_t key = 0; key < 4; ++key) {
        const bool is_visible = key <= query && query - key < 2;
        CHECK((weights.at({1, 0, 5, query, key}) > 0.0f) == is_visible);
      }
    }
    const Exported open("gpt2", {"--ids", "5,6,7,8", "--mask", "none"});
    const Tensor seen = open.npy("weights");  // [layer, batch, head, query, key]
    const std::size_t row = seen.shape.back();
    CHECK(seen.values[row - 1] > 0.0F);  // the first token's weight of the last: the model's own mask is gone
    CHECK(open.run_json()["masks"]["encoder"]["rule"] == "none");
    const Exported bert("bert", {"--ids", "5,6,7", "--mask", "causal", "--fill", "-1e9"});
    CHECK(bert.npy("weights").at({0, 0, 0, 0, 2}) == 0.0f);
    CHECK(bert.npy("weights").at({0, 0, 0, 2, 0}) > 0.0f);
  }

  TEST_CASE("a network without logits says so") {
    const Exported base("bert-base-model", {"--ids", "5,6,7", "--stages", "hidden,logits"});
    CHECK(base.has("hidden.npy"));
    CHECK_FALSE(base.has("logits.npy"));
    CHECK(base.outcome.err == "headlight: note: logits is left out: this network has none\n");
  }

  TEST_CASE("a model that no device holds is refused before anything is read") {
    const TemporaryDirectory folder;
    write_huge_model(folder.path());
    const Outcome info = run_headlight({"info", "--model", folder.path().string()});
    CHECK(info.out.find("70.6 B") != std::string::npos);
    const std::string refusal =
        complaint({"export", "--model", folder.path().string(), "--ids", "1,2", "--out", folder.path().string()}, 1);
    CHECK(refusal.starts_with("the weights take 265164 MiB, but '"));
    CHECK(refusal.find("choose a smaller model") != std::string::npos);
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
                                         "--stages", "weights", "--format", "csv", "--out", out});
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
    const Exported one("gpt2", {"--text", "the\ncat", "--stages", "weights"});
    CHECK(one.run_json()["tokens"]["ids"].size() == 1);
    CHECK(one.run_json()["model"]["joins_lines"] == true);
    const Exported lines("gpt2", {"--text", "the\ncat", "--join-lines", "off", "--stages", "weights"});
    CHECK(lines.run_json()["tokens"]["ids"].size() == 2);
    const Exported batch("gpt2", {"--text", "the", "--text", "cat", "--stages", "weights"});
    CHECK(batch.run_json()["tokens"]["ids"] == lines.run_json()["tokens"]["ids"]);
    CHECK(export_complaint("gpt2", {"--text", "the\ncat", "--text", "a"}, 2)
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
    const auto tokens_of = [&](const std::vector<std::string>& more) {
      const fs::path out = directory.path() / "out";
      fs::remove_all(out);
      std::vector<std::string> flags = {"export",   "--model", folder.string(), "--stages",  "weights",
                                        "--format", "npy",     "--out",         out.string()};
      flags.insert(flags.end(), more.begin(), more.end());
      const Outcome outcome = run_headlight(flags);
      INFO(outcome.err);
      REQUIRE(outcome.status == 0);
      return nlohmann::json::parse(read_file(out / "run.json"))["tokens"];
    };
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
    CHECK(export_complaint("gpt2", {"--chat", "--text", "a"}, 1).find("has no chat template") != std::string::npos);
    write_template("{% include 'x' %}");
    const std::string problem =
        folder.string() +
        "/chat_template.jinja: the chat template can't be run: line 1: Headlight doesn't know the tag {% include %}";
    CHECK(complaint(
              {"export", "--model", folder.string(), "--chat", "--text", "a", "--out", (directory.path() / "o").string()},
              1) == problem);
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
    const auto tokens_of = [&](const std::vector<std::string>& more) {
      const fs::path out = directory.path() / "out";
      fs::remove_all(out);
      std::vector<std::string> flags = {"export",   "--model", path.string(), "--stages",  "weights",
                                        "--format", "npy",     "--out",       out.string()};
      flags.insert(flags.end(), more.begin(), more.end());
      const Outcome outcome = run_headlight(flags);
      INFO(outcome.err);
      REQUIRE(outcome.status == 0);
      return nlohmann::json::parse(read_file(out / "run.json"))["tokens"];
    };
    CHECK(tokens_of({"--chat", "--text", "a cat"}) ==
          tokens_of({"--no-special", "--text", std::string(source.find('{'), ' ') + "a cat the"}));
  }

  TEST_CASE("what a model can't take is one line") {
    CHECK(export_complaint("gpt2", {"--ids", "5,999"}, 1) == "the text: token id 999 is not among the model's 128");
    CHECK(export_complaint("gpt2", {"--text", ""}, 1) == "the text has no line: type at least one token");
    std::string many = "5";
    for (int i = 0; i < 32; ++i) many += ",5";
    const std::string too_long =
        "the text has 33 tokens, but the model has positions for 32: shorten it, or take all of it with "
        "--stretch-positions on";
    CHECK(export_complaint("gpt2", {"--ids", many}, 1) == too_long);
    const TemporaryDirectory directory;
    const std::string image = (directory.path() / "a.png").string();
    CHECK(complaint({"screenshot", "--model", golden_path("gpt2"), "--ids", many, "--out", image}, 1) == too_long);
    CHECK(export_complaint("t5", {"--text", "a"}, 1).find("give token ids instead of text") != std::string::npos);
    CHECK(export_complaint("gpt2", {"--ids", "5", "--block", "cross"}, 2).find("--block cross: there is no such") == 0);
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
