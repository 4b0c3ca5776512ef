#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/state/session_file.h"
#include "cli/exported.h"
#include "support/deviation.h"
#include "support/golden.h"
#include "support/golden_model.h"
#include "support/retrained_model.h"

namespace export_command_test {

using namespace headlight;
namespace fs = std::filesystem;
using test::export_complaint;
using test::Exported;

namespace {

constexpr const char* kAllStages = "x,q,k,v,scores,scaled,masked,weights,heads,merged,output";
constexpr double kSeeded = 2e-6;

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("export --preset notebook-001 writes PyTorch's numbers") {
    const Exported exported({"--preset", "notebook-001", "--stages", kAllStages, "--format", "npy"});
    const nlohmann::json golden = test::golden("causal_seed24.json");
    CHECK(exported.npy("weights").shape == Shape{1, 2, 4, 5, 5});
    CHECK(exported.npy("q").shape == Shape{1, 2, 4, 5, 2});
    CHECK(exported.npy("x").shape == Shape{1, 2, 5, 8});
    for (const char* stage : {"x", "q", "k", "v", "weights", "merged"}) {
      INFO(stage);
      CHECK(exported.difference(stage, golden[stage]) < kSeeded);
    }
    CHECK(exported.difference("scaled", golden["scaled_scores"]) < kSeeded);
    CHECK_FALSE(exported.has("output.npy"));
    CHECK(exported.outcome.err == "headlight: note: output is left out: there is no output projection\n");
    CHECK(exported.json("run.json")["model"]["preset"] == "notebook-001");
  }

  TEST_CASE("export --session computes what the window saved, and flags change it") {
    const TemporaryDirectory folder;
    const std::string file = (folder.path() / "s.headlight.json").string();
    app::State state;
    state.text() = "one two three";
    state.playground().settings.heads = 2;
    state.masks[model::BlockKind::EncoderSelf].rule.causal = true;
    app::set_head_gain(state, {.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 1, 0.0F);
    app::save_session(file, state);
    const Exported exported({"--session", file, "--layer", "0", "--stages", "weights,heads", "--format", "npy"});
    const Tensor weights = exported.npy("weights");
    REQUIRE(weights.shape == Shape{1, 1, 2, 3, 3});
    CHECK(weights.at({0, 0, 1, 0, 1}) == 0.0F);  // causal
    CHECK(weights.at({0, 0, 1, 2, 1}) > 0.0F);
    CHECK(exported.json("run.json")["model"]["text"] == "one two three");
    CHECK(exported.json("run.json")["masks"]["encoder"]["rule"] == "causal");
    const Exported changed({"--session", file, "--mask", "none", "--text", "four five", "--layer", "0", "--stages",
                            "weights", "--format", "npy"});
    CHECK(changed.npy("weights").shape == Shape{1, 1, 2, 2, 2});
    CHECK(changed.npy("weights").at({0, 0, 0, 0, 1}) > 0.0F);
    CHECK(export_complaint({"--session", (folder.path() / "missing.json").string()}, 1).find("missing.json") !=
          std::string::npos);
  }

  TEST_CASE("export without a model computes with the bundled captions-gpt2; the playground is asked for") {
    const std::vector<std::string> numbers = {"--format", "npy", "--stages", "weights"};
    const auto with = [&](std::vector<std::string> flags) {
      flags.insert(flags.end(), numbers.begin(), numbers.end());
      return Exported(flags);
    };
    const Exported plain = with({"--text", "a man in a red shirt"});
    CHECK(plain.json("run.json")["model"]["family"] == "GPT-2");
    const Exported named = with({"--model", "captions-gpt2", "--text", "a man in a red shirt"});
    CHECK(plain.npy("weights").values == named.npy("weights").values);
    CHECK(with({"--ids", "5,6,7"}).npy("weights").shape == Shape{4, 1, 8, 3, 3});
    CHECK(with({"--text", "a man", "--layers", "1", "--heads", "3"}).npy("weights").shape[2] == 1);  // a selection
    const Exported random = with({"--preset", "playground", "--text", "a b c", "--layers", "1", "--heads", "4"});
    CHECK(random.npy("weights").shape == Shape{1, 1, 4, 3, 3});  // sizes
    CHECK(with({"--text", "a b c", "--d-model", "16"}).npy("weights").shape == Shape{2, 1, 8, 3, 3});
    CHECK(export_complaint({"--preset", "playground", "--model", "captions-gpt2", "--text", "a"}, 2) ==
          "--preset playground and --model exclude each other: --preset playground belongs to the playground");
  }

  TEST_CASE("export names the kept changes that the network or the text has no place for") {
    const TemporaryDirectory folder;
    const std::string file = (folder.path() / "s.headlight.json").string();
    app::State state;
    state.text() = "one two three";
    state.playground().settings.d_model = 16;
    state.playground().settings.heads = 2;
    const model::BlockRef block{};
    const auto keep = [&](const char* name, model::Site site, const inference::Scope& scope,
                          inference::Operation operation) {
      state.changes.push_back(
          {.name = name,
           .intervention = inference::Intervention{.site = site, .scope = scope, .operation = std::move(operation)}});
    };
    const inference::Scope head = inference::scope_of(block, 1), layer = inference::scope_of(block, 0);
    keep("a vector", model::Site::HeadOutput, head, inference::Add{{1.0F, 2.0F, 3.0F}});
    keep("a line", model::Site::AttentionOutput, layer, inference::Replace{.item = 1, .rows = std::vector<float>(16, 1.0F)});
    keep("a token", model::Site::AttentionOutput, layer,
         inference::Replace{.first = 7, .rows = std::vector<float>(16, 1.0F)});
    keep("two tokens", model::Site::AttentionOutput, layer,
         inference::Replace{.first = 2, .rows = std::vector<float>(32, 1.0F)});
    keep("one that fits", model::Site::AttentionOutput, layer,
         inference::Replace{.first = 2, .rows = std::vector<float>(16, 1.0F)});
    app::save_session(file, state);
    const Exported exported({"--session", file, "--stages", "weights", "--format", "npy"});
    const std::string begin = "headlight: note: the kept change \u201C";
    CHECK(exported.outcome.err ==
          begin + "a vector\u201D isn't applied: its vector has 3 numbers where a head has 8: give as many\n" + begin +
              "a line\u201D isn't applied: it is of line 2, and there are 1\n" + begin +
              "a token\u201D isn't applied: it is of token 7, and the line has 3\n" + begin +
              "two tokens\u201D is applied to 1 of its 2 tokens: the line ends before the others\n");
    CHECK(exported.json("run.json")["selection"]["notes"].size() == 4);
  }

  TEST_CASE("export --preset notebook-000 writes every stage from the input to the printed output") {
    const Exported exported({"--preset", "notebook-000", "--stages", kAllStages, "--format", "npy"});
    const nlohmann::json golden = test::golden("notebooks.json")["notebook-000"];
    for (const char* stage : {"x", "q", "k", "v", "scaled", "weights", "heads", "merged", "output"}) {
      INFO(stage);
      CHECK(exported.difference(stage, golden[stage]) < kSeeded);
    }
  }

  TEST_CASE("export --preset notebook-002 writes the encoder's, the decoder's and the cross-attention") {
    const Exported exported({"--preset", "notebook-002", "--stages", "weights,hidden,logits", "--format", "npy"});
    const nlohmann::json golden = test::golden("encoder_decoder_seed1234.json");
    CHECK(exported.npy("cross_weights").shape == Shape{2, 2, 4, 5, 6});
    CHECK(exported.difference("encoder_weights", golden["encoder_attention"]) < kSeeded);
    CHECK(exported.difference("decoder_weights", golden["decoder_attention"]) < kSeeded);
    CHECK(exported.difference("cross_weights", golden["cross_attention"]) < kSeeded);
    CHECK(exported.difference("encoder_output", golden["encoder_output"]) < kSeeded);
    CHECK(exported.difference("logits", golden["logits"]) < kSeeded);
  }

  TEST_CASE("export --preset notebook-003-fused writes both orders of merging") {
    const Exported exported({"--preset", "notebook-003-fused", "--stages", "weights,merged,output", "--format", "npy"});
    const nlohmann::json golden = test::golden("fused_qkv_seed3.json");
    for (const char* stage : {"weights", "merged", "output", "merged_as_the_notebook_does", "output_as_the_notebook_does"}) {
      INFO(stage);
      CHECK(exported.difference(stage, golden[stage]) < kSeeded);
    }
  }

  TEST_CASE("export --preset notebook-004 writes the notebook's head") {
    const Exported exported({"--preset", "notebook-004", "--stages", "x,q,k,v,scores,weights,heads", "--format", "npy"});
    const nlohmann::json golden = test::golden("from_scratch_seed123.json");
    CHECK(exported.difference("x", golden["embedded"]) < kSeeded);
    for (const char* stage : {"q", "k", "v", "weights"}) CHECK(exported.difference(stage, golden[stage]) < kSeeded);
    CHECK(exported.difference("scores", golden["unscaled_scores"]) < kSeeded);
    CHECK(exported.difference("heads", golden["context"]) < kSeeded);
  }

  TEST_CASE("a mask file hides what it says, in the fill that was chosen") {
    const TemporaryDirectory directory;
    const std::string mask = (directory.path() / "mask.json").string();
    write_file_atomically(mask, "[[1, 0, 1], [0, 0, 0], [1, 1, 1]]");
    const std::vector<std::string> arguments = {"--preset", "playground", "--text",         "a b c",    "--mask-file",
                                                mask,       "--stages",   "weights,masked", "--format", "npy",
                                                "--layer",  "0",          "--head",         "1"};
    const Exported without(arguments);
    const Tensor weights = without.npy("weights");
    REQUIRE(weights.shape == Shape{1, 1, 1, 3, 3});
    CHECK(weights.at({0, 0, 0, 0, 1}) == 0.0f);
    CHECK(weights.at({0, 0, 0, 0, 0}) + weights.at({0, 0, 0, 0, 2}) == doctest::Approx(1.0));
    for (std::uint32_t key = 0; key < 3; ++key) CHECK(weights.at({0, 0, 0, 1, key}) == 0.0f);
    CHECK(without.npy("masked").at({0, 0, 0, 1, 0}) == -std::numeric_limits<float>::infinity());

    std::vector<std::string> finite = arguments;
    finite.insert(finite.end(), {"--fill", "-1e9"});
    const Exported uniform(finite);
    for (std::uint32_t key = 0; key < 3; ++key) {
      CHECK(uniform.npy("weights").at({0, 0, 0, 1, key}) == doctest::Approx(1.0 / 3.0));
    }

    write_file_atomically(mask, "[[1, 0], [1, 1]]");
    const std::string message = export_complaint({"--preset", "playground", "--text", "a b c", "--mask-file", mask}, 1);
    CHECK(message.find("the mask is [1, 1, 2, 2]") != std::string::npos);
    CHECK(message.find("queries 3, keys 3") != std::string::npos);
  }

  TEST_CASE("expressions hide cells and change scores, and the session has them") {
    const std::vector<std::string> plain = {"--preset",       "playground", "--text", "a b c d", "--stages",
                                            "weights,scaled", "--format",   "npy",    "--layer", "0"};
    std::vector<std::string> expressed = plain;
    expressed.insert(expressed.end(), {"--mask-expr", "k <= q && q - k < slider(width, 1, 4)", "--slider", "width=2",
                                       "--score-expr", "score + float(k)"});
    const Exported without(plain), with(expressed);
    const Tensor before = without.npy("scaled"), scaled = with.npy("scaled"), weights = with.npy("weights");
    for (std::uint32_t query = 0; query < 4; ++query) {
      for (std::uint32_t key = 0; key < 4; ++key) {
        CHECK(scaled.at({0, 0, 0, query, key}) ==
              doctest::Approx(before.at({0, 0, 0, query, key}) + static_cast<float>(key)).epsilon(1e-5));
        CHECK((weights.at({0, 0, 0, query, key}) > 0.0f) == (key <= query && query - key < 2));
      }
    }
    const nlohmann::json mask = with.json("run.json")["masks"]["encoder"];
    CHECK(mask["mask_expression"] == "k <= q && q - k < slider(width, 1, 4)");
    CHECK(mask["score_expression"] == "score + float(k)");
    CHECK(mask["sliders"]["width"] == 2.0);
  }

  TEST_CASE("replaced patterns are computed, and the session has them") {
    const std::vector<std::string> plain = {"--preset", "playground", "--text",  "a b c d", "--stages",
                                            "weights",  "--mask",     "causal",  "--heads", "2",
                                            "--format", "npy",        "--layer", "0",       "--replace-pattern"};
    std::vector<std::string> replaced = plain;
    replaced.emplace_back("L0H0=uniform,encoder:L0H1=previous");
    const Exported exported(replaced);
    const Tensor weights = exported.npy("weights");
    for (std::uint32_t query = 0; query < 4; ++query) {
      for (std::uint32_t key = 0; key < 4; ++key) {
        const float uniform = key <= query ? 1.0F / static_cast<float>(query + 1) : 0.0F;
        CHECK(weights.at({0, 0, 0, query, key}) == doctest::Approx(uniform));
        CHECK(weights.at({0, 0, 1, query, key}) == (key == std::max(query, 1U) - 1 ? 1.0F : 0.0F));
      }
    }
    const nlohmann::json heads = exported.json("run.json")["model"]["patterns"];
    REQUIRE(heads.size() == 2);
    CHECK(heads[1]["pattern"] == "previous");
    std::vector<std::string> missing = plain;
    missing.emplace_back("L9H0=first");
    CHECK(Exported(missing).text("run.json").find("encoder L9H0") != std::string::npos);
    for (const char* text :
         {"L0H0", "L0H0=diagonals", "H0L0=first", "L0H0=first,,", "other:L0H0=first", "L99999999999H0=first"}) {
      CAPTURE(text);
      std::vector<std::string> wrong = plain;
      wrong.emplace_back(text);
      CHECK(export_complaint(wrong, 2).find("--replace-pattern") != std::string::npos);
    }
  }

  TEST_CASE("a batch and a second text have their tokens in the files") {
    const Exported exported({"--text", "one two", "--text", "three", "--key-text", "k1 k2 k3\nk4", "--format", "csv",
                             "--layer", "0", "--head", "0", "--heads", "2"});
    CHECK(exported.text("layer-00_batch-0_head-00_weights.csv").starts_with("query/key,k1,k2,k3\none,"));
    CHECK(
        exported.text("layer-00_batch-1_head-00_weights.csv").starts_with("query/key,k4,<pad>,<pad>\nthree,1,0,0\n<pad>,"));
  }

  TEST_CASE("what can't be computed is one line") {
    CHECK(export_complaint({"--text", "a b", "--d-model", "64", "--heads", "7"}, 1).find('7') != std::string::npos);
    CHECK(export_complaint({"--text", ""}, 1).find("text") != std::string::npos);
    CHECK(export_complaint({"--text", "a \xff b"}, 1).find("UTF-8") != std::string::npos);
    CHECK(export_complaint({"--preset", "playground", "--text", "a b", "--head", "8"}, 2) ==
          "--head 8: there are heads 0 to 7");
    CHECK(export_complaint({"--preset", "playground", "--text", "a b", "--layer", "2"}, 2) ==
          "--layer 2: there are layers 0 to 1");
    CHECK(export_complaint({"--text", "a b", "--device", "no such device"}, 1).find("no such device") != std::string::npos);
    CHECK(export_complaint({"--preset", "notebook-001", "--stages", "output", "--format", "npy"}, 1)
              .find("there is nothing to write: output is left out") == 0);
    const Outcome unwritable = run_headlight({"export", "--text", "a b", "--out", "/proc/headlight"});
    CHECK(unwritable.status == 1);
    CHECK(unwritable.err.find("/proc/headlight") != std::string::npos);
  }

  TEST_CASE("100,000 tokens are refused in one line") {
    const TemporaryDirectory directory;
    const std::string path = (directory.path() / "long.txt").string();
    std::string text;
    for (int word = 0; word < 100'000; ++word) text += fmt::format("w{} ", word);
    write_file_atomically(path, text);
    const std::string message = export_complaint({"--preset", "playground", "--text-file", path}, 1);
    CHECK(message.find("100") != std::string::npos);
    CHECK(message.find("token") != std::string::npos);
  }

  TEST_CASE("a settings file that is garbage is one line, and is kept") {
    const TemporaryDirectory directory;
    const fs::path settings = directory.path() / "headlight" / "settings.json";
    make_directories(settings.parent_path());
    write_file_atomically(settings, "{ garbage");
    const std::string without_display =
        "XDG_CONFIG_HOME=" + directory.path().string() + " env -u DISPLAY -u WAYLAND_DISPLAY";
    const Outcome outcome = run_headlight({"view"}, without_display);
    CHECK(outcome.err.starts_with("headlight: " + settings.string() + ": not JSON"));
    CHECK(outcome.err.find("kept as settings.json.bad, starting with defaults\n") != std::string::npos);
    CHECK(read_file(settings.parent_path() / "settings.json.bad") == "{ garbage");
    CHECK(outcome.status == 1);
    CHECK(outcome.err.find("no display") != std::string::npos);
  }

  TEST_CASE("a translator's alignment: the mean of cross-attention, its rows named by what is written") {
    const std::vector<std::string> translation = {"--model",  "multi30k-de-en", "--text",          "ein Hund läuft.",
                                                  "--target", "a dog runs.",    "--block",         "cross",
                                                  "--format", "npy,svg",        "--row-normalised"};
    const Exported heads(translation);
    std::vector<std::string> of_all = translation;
    for (const char* more : {"--mean", "all", "--rows", "written"}) of_all.emplace_back(more);
    const Exported mean(of_all);
    const Tensor each = heads.npy("cross_weights");
    const Tensor all = mean.npy("cross_weights");
    REQUIRE(each.shape.size() == 5);
    REQUIRE(all.shape == Shape{1, 1, each.shape[3], each.shape[4]});
    const std::size_t cells = all.values.size();
    const std::size_t count = each.values.size() / cells;
    double largest = 0.0;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      double sum = 0.0;
      for (std::size_t head = 0; head < count; ++head) sum += double{each.values[head * cells + cell]};
      test::widen(largest, sum / static_cast<double>(count), double{all.values[cell]});
    }
    CHECK(largest < 1e-7);  // sums in double precision, rounded once
    const std::string read = heads.text("cross_layer-00_batch-0_head-00_weights.svg");
    const std::string written = mean.text("cross_batch-0_mean_weights.svg");
    CHECK(read.find(">query<") != std::string::npos);
    CHECK(written.find(">writes<") != std::string::npos);
    CHECK(written.find("mean of all 24 heads") != std::string::npos);
  }
}

}  // namespace export_command_test
