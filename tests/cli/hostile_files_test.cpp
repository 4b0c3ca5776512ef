// Files and surroundings made to break the program: one clear line and a status that isn't 0, within seconds. The files are
// in tests/golden/hostile; those that are only deep or long are made here.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>

#include <fmt/format.h>

#include "model/file_bytes.h"
#include "support/golden_model.h"
#include "support/program.h"
#include "support/sanitizers.h"

namespace hostile_files_test {

using namespace headlight;
using test::FileBytes;
namespace fs = std::filesystem;

namespace {

const fs::path kHostile = fs::path(HEADLIGHT_GOLDEN_DIR) / "hostile";
const std::string kSoon = "timeout 60";  // on a machine ten times busier too

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

/// The one line on standard error of a command that fails by itself, not by a signal.
std::string complaint(const std::vector<std::string>& arguments, const std::string& input = "",
                      const std::string& prefix = kSoon) {
  const Outcome outcome = run_headlight(arguments, prefix, input);
  CAPTURE(arguments.back());
  INFO(outcome.err);
  CHECK((outcome.status == 1 || outcome.status == 2));
  REQUIRE(outcome.err.starts_with("headlight: "));
  REQUIRE(outcome.err.find('\n') == outcome.err.size() - 1);
  CHECK(outcome.err.size() < 1000);
  for (const char letter : outcome.err) CHECK((static_cast<unsigned char>(letter) >= 0x20 || letter == '\n'));
  return outcome.err.substr(11, outcome.err.size() - 12);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string deep(std::size_t depth = 200'000) { return std::string(depth, '[') + std::string(depth, ']'); }

/// A copy of the golden GPT-2 in which a file is another.
struct ChangedModel {
  TemporaryDirectory folder;

  ChangedModel(const char* file, const std::string& content) {
    fs::copy(golden_path("gpt2"), folder.path());
    fs::remove(folder.path() / file);
    write_file_atomically(folder.path() / file, content);
  }
  std::string path() const { return folder.path().string(); }
};

std::vector<std::string> exporting(const std::vector<std::string>& flags, const fs::path& out) {
  std::vector<std::string> arguments = {"export", "--out", out.string()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return arguments;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("GGUF vocabularies that aren't UTF-8 are refused by key and place") {
    const std::string text = read_file(kHostile / "text.txt");
    for (const char* name :
         {"t5-split-utf8.gguf", "llama-merges.gguf", "llama-split.gguf", "gpt2-broken.gguf", "fuzz-gguf.gguf"}) {
      const std::string message = complaint({"tokenize", "--model", (kHostile / name).string()}, text);
      CAPTURE(message);
      CHECK(contains(message, "isn't UTF-8"));
    }
  }

  TEST_CASE("a GGUF token of 300,000 characters is refused") {
    const TemporaryDirectory folder;
    FileBytes file;
    file.raw("GGUF").number(std::uint32_t{3}).number(std::uint64_t{0}).number(std::uint64_t{4});
    const auto text = [&](std::string_view key, std::string_view value) {
      file.text(key).number(std::uint32_t{8}).text(value);
    };
    text("general.architecture", "llama");
    text("tokenizer.ggml.model", "llama");
    file.text("tokenizer.ggml.tokens").number(std::uint32_t{9}).number(std::uint32_t{8}).number(std::uint64_t{2});
    file.text("<unk>").text(std::string(300'000, 'a'));
    file.text("tokenizer.ggml.scores").number(std::uint32_t{9}).number(std::uint32_t{6}).number(std::uint64_t{2});
    file.number(0.0f).number(-1.0f);
    const fs::path path = folder.path() / "long.gguf";
    write_file_atomically(path, file.bytes());
    CHECK(contains(complaint({"tokenize", "--model", path.string()}, "aaa\n"), "has 300000 bytes, more than 1024"));
  }

  TEST_CASE("deep JSON is refused wherever it is read") {
    const std::string nested = "nested more than 64 deep";
    const ChangedModel config("config.json", R"({"model_type":"gpt2","n_head":)" + deep() + "}");
    CHECK(contains(complaint({"info", "--model", config.path()}), nested));
    const std::string header = R"({"a":{"dtype":)" + deep() + "}}";
    const ChangedModel weights("model.safetensors", test::safetensors(header, ""));
    CHECK(contains(complaint({"info", "--model", weights.path()}), "JSON nested more than 8 deep"));
    const ChangedModel tokenizer("tokenizer.json", R"({"model":{"type":"WordLevel","vocab":{"<unk>":)" + deep() + "}}}");
    CHECK(contains(complaint({"tokenize", "--model", tokenizer.path()}, "a\n"), nested));
    const TemporaryDirectory folder;
    const std::string mask = (folder.path() / "mask.json").string(), session = (folder.path() / "s.json").string();
    write_file_atomically(mask, "[[{\"a\":" + deep() + "}]]");
    CHECK(contains(complaint(exporting({"--text", "a b", "--mask-file", mask}, folder.path() / "out")), nested));
    write_file_atomically(session, R"({"headlight":1,"state":{"text":)" + deep() + "}}");
    CHECK(contains(complaint({"view", "--session", session}, "", "env -u DISPLAY -u WAYLAND_DISPLAY " + kSoon), nested));
    CHECK(contains(complaint({"detokenize", "--model", golden_path("gpt2")}, deep(1000) + "\n"), nested));
  }

  TEST_CASE("tokenizers that go backwards or double a text again and again are stopped") {
    for (const auto& [name, what] :
         {std::pair("rx-k2.json", "\\K"), std::pair("norm-bomb.json", "the tokenizer's stages")}) {
      const ChangedModel model("tokenizer.json", read_file(kHostile / name));
      CHECK(contains(complaint({"tokenize", "--model", model.path()}, "ab ab aaaa hello\n"), what));
    }
  }

  TEST_CASE("what a file quotes neither rings the terminal's bell nor fills it") {
    const std::string regex = "\\u001b]0;owned\\u0007(" + std::string(20'000, 'a');
    const ChangedModel model("tokenizer.json", R"({"model":{"type":"WordLevel","vocab":{"<unk>":0}},"pre_tokenizer":{)"
                                               R"("type":"Split","behavior":"Isolated","pattern":{"Regex":")" +
                                                   regex + "\"}}}");
    CHECK(contains(complaint({"tokenize", "--model", model.path()}, "a\n"), "\\x1B]0;owned\\x07(aaa"));
  }

  TEST_CASE("pipes and devices are refused where a file is expected") {
    const TemporaryDirectory folder;
    const std::string pipe = (folder.path() / "pipe.json").string(), out = (folder.path() / "out").string();
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    const ChangedModel model("tokenizer.json", "");
    for (const std::string& file : {pipe, std::string("/dev/zero")}) {
      CHECK(contains(complaint({"info", "--model", file}), "it is not a file"));
      CHECK(contains(complaint({"tokenize", "--model", file}, "a\n"), "it is not a file"));
      CHECK(contains(complaint(exporting({"--text-file", file}, out)), "it is a pipe or a device"));
      fs::remove(model.folder.path() / "tokenizer.json");
      fs::create_symlink(file, model.folder.path() / "tokenizer.json");
      CHECK(contains(complaint({"tokenize", "--model", model.path()}, "a\n"), "it is a pipe or a device"));
    }
    CHECK(contains(complaint(exporting({"--text", "a b", "--mask-file", pipe}, out)), "it is a pipe or a device"));
    CHECK(contains(complaint({"evaluate", "perplexity", "--model", golden_path("gpt2"), "--text-file", pipe}),
                   "is a pipe or a device"));
    // Standard input may be either, but not without end.
    const std::string endless = kSoon + " sh -c '\"$@\" < /dev/zero' sh";
    CHECK(contains(complaint(exporting({"--text-file", "-"}, out), "", endless), "standard input is a binary file"));
    const std::string endless_text = kSoon + " sh -c 'yes | \"$@\"' sh";
    CHECK(contains(complaint(exporting({"--text-file", "-"}, out), "", endless_text), "standard input has more than"));
    CHECK(contains(complaint({"tokenize", "--model", golden_path("gpt2")}, "", endless),
                   "standard input line 1 has more than"));
  }

  TEST_CASE("an answer that can't be written is a failure") {
    const std::string full = kSoon + " sh -c '\"$@\" > /dev/full' sh";
    const std::string model = golden_path("gpt2");
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"info", "--model", model, "--json"},
                                                      {"info", "--model", model},
                                                      {"--help"},
                                                      {"models"}}) {
      CHECK(contains(complaint(arguments, "", full), "standard output can't be written"));
    }
    CHECK(contains(complaint({"tokenize", "--model", model}, "a b\n", full), "standard output can't be written"));
    CHECK(contains(complaint({"detokenize", "--model", model}, "1 2\n", full), "standard output can't be written"));
  }

  TEST_CASE("the released program is built against memory errors") {
#if defined(NDEBUG) && !HEADLIGHT_HAS_ADDRESS_SANITIZER
    const TemporaryDirectory folder;
    const std::string report = (folder.path() / "report").string();
    const std::string read = fmt::format("readelf -W -h -l -d --dyn-syms '{}' > '{}'", HEADLIGHT_PROGRAM, report);
    REQUIRE(std::system(read.c_str()) == 0);
    const std::string elf = read_file(report);
    CHECK(contains(elf, "DYN (Position-Independent Executable file)"));
    CHECK(contains(elf, "GNU_RELRO"));
    CHECK(contains(elf, "BIND_NOW"));
    CHECK(contains(elf, "__stack_chk_fail"));
    CHECK((contains(elf, "__memcpy_chk") || contains(elf, "__snprintf_chk") || contains(elf, "__read_chk")));
    CHECK(contains(elf, "__glibcxx_assert_fail"));
    const std::size_t stack = elf.find("GNU_STACK");
    REQUIRE(stack != std::string::npos);
    CHECK_FALSE(contains(elf.substr(stack, elf.find('\n', stack) - stack), "RWE"));
#ifdef __x86_64__
    const std::string program = read_file(HEADLIGHT_PROGRAM);
    std::size_t landings = 0;  // endbr64, where an indirect jump may land
    for (std::size_t at = program.find("\xf3\x0f\x1e\xfa"); at != std::string::npos;
         at = program.find("\xf3\x0f\x1e\xfa", at + 4))
      ++landings;
    CHECK(landings > 500);
#endif
#endif
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("commands that compute fail too when their answer can't be written") {
    const std::string full = kSoon + " sh -c '\"$@\" > /dev/full' sh";
    const std::string failed = "standard output can't be written";
    CHECK(contains(complaint({"devices"}, "", full), failed));
    CHECK(contains(complaint({"generate", "--model", golden_path("gpt2"), "--max-tokens", "2"}, "a b\n", full), failed));
    CHECK(contains(complaint({"translate", "--model", golden_path("marian")}, "a b\n", full), failed));
    const TemporaryDirectory folder;
    CHECK(contains(complaint(exporting({"--text", "a b", "--format", "npy"}, folder.path() / "out"), "", full), failed));
  }

  TEST_CASE("export needs neither a home nor, for numbers, a font") {
    const TemporaryDirectory folder;
    const std::string homeless = "env -u HOME -u XDG_CONFIG_HOME -u XDG_CACHE_HOME";
    const Outcome outcome = run_headlight(exporting({"--text", "a b", "--format", "npy"}, folder.path() / "out"), homeless);
    INFO(outcome.err);
    CHECK(outcome.status == 0);
    const fs::path fonts = folder.path() / "fonts.conf";
    write_file_atomically(fonts,
                          std::string_view("<?xml version=\"1.0\"?><fontconfig><dir>/nonexistent</dir></fontconfig>"));
    const std::string fontless = "FONTCONFIG_FILE=" + fonts.string() + " " + kSoon;
    CHECK(contains(complaint(exporting({"--text", "a b", "--format", "png"}, folder.path() / "png"), "", fontless),
                   "no font is installed"));
    CHECK(contains(complaint(exporting({"--text", "a b", "--format", "svg"}, folder.path() / "svg"), "", fontless),
                   "no font is installed"));
    CHECK(run_headlight(exporting({"--text", "a b", "--format", "npy"}, folder.path() / "npy"), fontless).status == 0);
  }
}

}  // namespace hostile_files_test
