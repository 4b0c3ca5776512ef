// The real program while a read of one of its files fails, whichever file it is: EIO and lack of memory end it with one line
// and status 1, never with a part taken for the whole; a signal and short reads change nothing. HEADLIGHT_FAULT_SWEEP=N
// tries N reads of each file and 50 N allocations, N ≥ 1.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

#include "core/file.h"
#include "support/program.h"
#include "support/sanitizers.h"

namespace read_sweep_test {

using namespace headlight;
namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

namespace {

/// A command, and the file whose reads fail: how its path ends.
struct Reader {
  Arguments arguments;
  std::string file;
  std::string input = {};   ///< standard input
  bool goes_on = false;     ///< without this file: it is only kept to save time
  std::string before = {};  ///< a shell's words in front of the program
};

const std::string kInputFile = "/in";  // run_headlight()'s standard input

std::string with_faults(const Reader& reader, const std::string& fault, const std::string& counts = "") {
  const char* cache = std::getenv("MESA_SHADER_CACHE_DIR");
  const char* options = std::getenv("ASAN_OPTIONS");
  return reader.before + " MESA_SHADER_CACHE_DIR='" + (cache != nullptr ? cache : HEADLIGHT_FAULT_LAYER "/mesa-cache") +
         "' ASAN_OPTIONS='" + (options != nullptr ? options : "") + ":verify_asan_link_order=0' HEADLIGHT_VALIDATION=0" +
         " HEADLIGHT_READ_COUNTS='" + counts + "' HEADLIGHT_READ_FAULT='" + reader.file + " " + fault + "'" +
         " LD_PRELOAD='" HEADLIGHT_READ_FAULTS "'";
}

/// Bytes of all files in a folder, by their names.
std::string content_of(const fs::path& folder) {
  std::set<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (entry.is_regular_file()) files.insert(entry.path().string());
  }
  std::string content;
  for (const std::string& file : files) content += file + "\n" + read_file(file);
  return content;
}

class Sweep {
 public:
  explicit Sweep(const fs::path& folder) : out_(folder / "out") {}
  ~Sweep() { MESSAGE(faults_ << " faults, each in a run of the program"); }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  std::string out() const { return out_.string(); }

  void run(const Reader& reader) {
    CAPTURE(reader.file);
    CAPTURE(reader.arguments.front());
    const TemporaryDirectory folder;
    const fs::path counts = folder.path() / "counts";
    const Outcome whole = run_once(reader, "none 0", counts.string());
    INFO(whole.err);
    REQUIRE(whole.status == 0);
    const std::string written = content_of(out_);
    const int reads = std::atoi(read_file(counts).c_str());
    REQUIRE(reads > 0);  // else this file isn't read, or in a way that the library doesn't know
    const char* wanted = std::getenv("HEADLIGHT_FAULT_SWEEP");
    const int places = wanted != nullptr ? std::max(1, std::atoi(wanted)) : 2;
    std::set<int> numbers;
    for (int k = 0; k < places; ++k) numbers.insert(places == 1 ? 1 : 1 + k * (reads - 1) / (places - 1));
    for (const int number : numbers) {
      for (const char* kind : {"EIO", "ENOMEM", "end"}) check_failure(reader, kind, number, whole, written);
      for (const char* kind : {"EINTR", "EAGAIN", "short"}) check_same(reader, kind, number, whole, written);
    }
  }

  /// Each thread in turn can't be started: a line, or the same result, and nothing waits for it.
  void run_threads(const Arguments& arguments) {
    CAPTURE(arguments.front());
    const TemporaryDirectory folder;
    const fs::path counts = folder.path() / "counts";
    const Reader reader{.arguments = arguments, .file = "threads", .before = "timeout 60 env"};
    REQUIRE(run_once(reader, "none 0", counts.string()).status == 0);
    const int threads = std::atoi(read_file(counts).c_str());
    CHECK(threads > 0);
    for (int number = 1; number <= threads; ++number) {
      CAPTURE(number);
      const Outcome outcome = run_once(reader, "none " + std::to_string(number));
      if (outcome.status != 0)
        CHECK(complaint_of(outcome, 1).find("the system starts no more threads") != std::string::npos);
    }
  }

  /// `samples` of the larger allocations that the command makes, after those of the command line's definition, fail: each
  /// ends the program with one line, or it wasn't needed. Of a hundred two at most may abort: nlohmann::json destroys a list
  /// or an object by means of a vector, in a destructor that is noexcept.
  void run_allocations(const Arguments& arguments, int samples) {
    CAPTURE(arguments.front());
    const TemporaryDirectory folder;
    const fs::path counts = folder.path() / "counts";
    const auto count = [&](const Arguments& of) {
      const Outcome outcome = run_once({.arguments = of, .file = "allocations"}, "none 0", counts.string());
      REQUIRE(outcome.status == 0);
      return std::make_pair(std::atoi(read_file(counts).c_str()), content_of(out_));
    };
    const int first = count({"--version"}).first;
    const auto [all, written] = count(arguments);
    REQUIRE(all > first + samples);
    std::size_t failed = 0, aborted = 0;
    for (int sample = 1; sample <= samples; ++sample) {
      const int number = first + static_cast<int>(std::int64_t{all - first} * sample / (samples + 1));
      CAPTURE(number);
      const Outcome outcome = run_once({.arguments = arguments, .file = "allocations"}, "none " + std::to_string(number));
      constexpr int kAborted = 134;
      if (outcome.status == kAborted) {
        ++aborted;
      } else if (outcome.status != 0) {
        CHECK(complaint_of(outcome, 1).find("out of memory") != std::string::npos);
        ++failed;
      } else {
        CHECK(content_of(out_) == written);
      }
    }
    CHECK(50 * aborted <= static_cast<std::size_t>(samples));
    CHECK(failed > static_cast<std::size_t>(samples) / 2);  // else the faults don't reach the program
  }

 private:
  Outcome run_once(const Reader& reader, const std::string& fault, const std::string& counts = "") const {
    std::error_code ignored;
    fs::remove_all(out_, ignored);
    if (counts.empty()) ++faults_;
    return run_headlight(reader.arguments, with_faults(reader, fault, counts), reader.input);
  }

  void check_failure(const Reader& reader, const std::string& kind, int number, const Outcome& whole,
                     const std::string& written) const {
    CAPTURE(kind);
    CAPTURE(number);
    if (reader.goes_on) return check_same(reader, kind, number, whole, written);
    const Outcome outcome = run_once(reader, kind + " " + std::to_string(number));
    CAPTURE(outcome.out);
    // `info` describes what it can, and says in place of a tokenizer why there is none.
    const char* reason = kind == "EIO"   ? "Input/output error"
                         : kind == "end" ? "a read ended before the file's end"
                                         : "Cannot allocate memory";
    if (outcome.status == 0 && outcome.out.find(reason) != std::string::npos) return;
    // The last read of a file gives nothing anyway; others would give a part for the whole.
    if (outcome.status == 0 && kind == "end") {
      CHECK(outcome.out == whole.out);
      CHECK(content_of(out_) == written);
      return;
    }
    CHECK_FALSE(complaint_of(outcome, 1).empty());
  }

  void check_same(const Reader& reader, const std::string& kind, int number, const Outcome& whole,
                  const std::string& written) const {
    CAPTURE(kind);
    CAPTURE(number);
    const Outcome outcome = run_once(reader, kind + " " + std::to_string(number));
    CAPTURE(outcome.err);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == whole.out);
    CHECK(content_of(out_) == written);
  }

  fs::path out_;
  mutable std::size_t faults_ = 0;
};

std::string golden(const std::string& file) { return std::string(HEADLIGHT_GOLDEN_DIR) + "/" + file; }

std::string lines_of_text() {
  std::string lines;
  for (int i = 0; i < 4'000; ++i) lines += "line " + std::to_string(i) + " says the cat sat on the mat\n";
  return lines;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("files of models and tokenizers, texts on standard input, files of evaluations") {
    const TemporaryDirectory folder;
    const auto file = [&](const std::string& name, const std::string& content) {
      write_file_atomically(folder.path() / name, content);
      return (folder.path() / name).string();
    };
    Sweep sweep(folder.path());
    const std::string lines = lines_of_text();
    const std::string other = file("other", lines);
    sweep.run({.arguments = {"info", "--model", golden("models/gpt2")}, .file = "gpt2/config.json"});
    fs::copy(golden("models/gpt2"), folder.path() / "own");
    file("own/headlight-family.json", R"({"like": "gpt2"})");
    sweep.run({.arguments = {"info", "--model", (folder.path() / "own").string()}, .file = "headlight-family.json"});
    sweep.run({.arguments = {"info", "--model", golden("models/llama-sharded")}, .file = "model.safetensors.index.json"});
    const std::pair<const char*, std::vector<const char*>> tokenizers[] = {
        {"word-bpe", {"tokenizer.json"}},
        {"bert-vocab", {"vocab.txt"}},
        {"roberta-vocab", {"vocab.json", "merges.txt", "tokenizer_config.json"}},
        {"t5", {"spiece.model"}},
        {"marian", {"source.spm", "vocab.json"}},
        {"codegen", {"added_tokens.json"}},
        {"tekken", {"tekken.json"}},
        {"qwen-tiktoken", {"qwen.tiktoken"}},
    };
    for (const auto& [tokenizer, files] : tokenizers) {
      for (const char* name : files) {
        const std::string model = golden(std::string("tokenizers/") + tokenizer);
        sweep.run({.arguments = {"tokenize", "--model", model, "--text", "a b"}, .file = std::string("/") + name});
      }
    }
    sweep.run({.arguments = {"tokenize", "--words", "de", "--model", "multi30k-de-en", "--text", "ein hund"},
               .file = "/notebook_words.json"});
    const std::string answers = file("answers.json", R"({"headlight_results": 1, "answers": []})");
    sweep.run({.arguments = {"results", answers, "--quiet", "--out", sweep.out() + ".html"}, .file = "/answers.json"});
    sweep.run({.arguments = {"tokenize", "--model", "captions-gpt2"}, .file = kInputFile, .input = lines});
    sweep.run({.arguments = {"detokenize", "--model", "captions-gpt2"}, .file = kInputFile, .input = "5 6\n7\n"});
    sweep.run(
        {.arguments = {"evaluate", "bleu", "--reference", other, "--hypothesis", file("said", lines)}, .file = "/said"});
  }
}

TEST_SUITE("gpu") {
  TEST_CASE("texts to compute, what is opened beside them, and what an earlier call left") {
    const TemporaryDirectory folder;
    Sweep sweep(folder.path());
    const auto file = [&](const std::string& name, const std::string& content) {
      write_file_atomically(folder.path() / name, content);
      return (folder.path() / name).string();
    };
    const auto exported = [&](Arguments arguments) {
      arguments.insert(arguments.begin(), "export");
      arguments.insert(arguments.end(), {"--format", "npy", "--out", sweep.out()});
      return arguments;
    };
    const auto small = [&](Arguments arguments) {
      arguments.insert(arguments.end(), {"--d-model", "8", "--heads", "2", "--layers", "1"});
      return exported(std::move(arguments));
    };
    const std::string few = "a cat\na dog sat\n";
    sweep.run({.arguments = small({"--texts", file("texts", few)}), .file = "/texts"});
    sweep.run({.arguments = small({"--texts", "-"}), .file = kInputFile, .input = few});
    sweep.run({.arguments = small({"--text-file", file("lines", few)}), .file = "/lines"});
    sweep.run({.arguments = small({"--text-file", "-"}), .file = kInputFile, .input = few});
    sweep.run({.arguments = small({"--text", "a b", "--mask-file", file("mask.json", "[[true, false], [true, true]]")}),
               .file = "/mask.json"});
    sweep.run({.arguments = exported({"--capture", golden("captures/translator.npz")}), .file = "/translator.json"});
    sweep.run({.arguments = {"generate", "--max-tokens", "2"}, .file = kInputFile, .input = few});
    sweep.run({.arguments = {"translate"}, .file = kInputFile, .input = "ein hund\nein mann\n"});
    sweep.run({.arguments = {"evaluate", "heads", "--text-file", file("heads", few)}, .file = "/heads"});
  }

  TEST_CASE("a survey's corpus, plain, compressed and through a pipe, and its state; sessions, fonts, settings") {
    const TemporaryDirectory folder;
    Sweep sweep(folder.path());
    // Long lines of which the first tokens are measured: several reads, and little work.
    std::string corpus = lines_of_text().substr(0, 40'000);
    for (std::size_t at = 0, line = 0; (at = corpus.find('\n', at)) != std::string::npos; ++line)
      if (line % 20 != 19)
        corpus[at] = ' ';
      else
        ++at;
    const std::string plain = (folder.path() / "corpus.txt").string();
    write_file_atomically(plain, corpus);
    gzFile packed = gzopen((plain + ".gz").c_str(), "wb");
    REQUIRE(gzwrite(packed, corpus.data(), static_cast<unsigned>(corpus.size())) == static_cast<int>(corpus.size()));
    gzclose(packed);
    // The files that don't say how long it took.
    const auto survey = [&](const std::string& file) {
      return Arguments{"survey",  file,       "--metrics", "entropy",       "--top",
                       "1",       "--tokens", "8",         "--activations", "next.0",
                       "--every", "200",      "--quiet",   "--out",         sweep.out() + "-survey"};
    };
    const std::string restart = R"(sh -c 'rm -rf "$0"; exec "$@"' ')" + sweep.out() + "-survey' env";
    sweep.run({.arguments = survey(plain), .file = "/corpus.txt", .before = restart});
    sweep.run({.arguments = survey(plain + ".gz"), .file = "/corpus.txt.gz", .before = restart});
    sweep.run({.arguments = survey("-"), .file = kInputFile, .input = corpus, .before = restart});
    fs::remove_all(sweep.out() + "-survey");
    REQUIRE(run_headlight(survey(plain)).status == 0);
    sweep.run({.arguments = survey(plain), .file = "/survey.state"});
    const Arguments merge = {"survey", "merge", sweep.out() + "-survey", "--quiet", "--out", sweep.out() + "-merged"};
    for (const char* file : {"/survey.json", "/survey.state", "/index-000000.npy"})
      sweep.run({.arguments = merge, .file = file});

    const std::string figure = (folder.path() / "figure.svg").string();
    const Arguments shown = {"screenshot", "--figure", "--size", "640x480", "--out"};
    const auto with = [](Arguments arguments, const Arguments& more) {
      arguments.insert(arguments.end(), more.begin(), more.end());
      return arguments;
    };
    REQUIRE(run_headlight(with(shown, {figure, "--preset", "notebook-001"})).status == 0);
    sweep.run({.arguments = with(shown, {sweep.out() + ".svg", "--session", figure}), .file = "/figure.svg"});
    const Arguments shot = {"screenshot", "--preset", "notebook-001", "--size", "640x480", "--out", sweep.out() + ".png"};
    sweep.run({.arguments = shot, .file = "Inter-Regular.otf"});
  }

  TEST_CASE("threads that can't be started") {
    const TemporaryDirectory folder;
    Sweep sweep(folder.path());
    const std::string prompts = (folder.path() / "p.jsonl").string(), picture = sweep.out() + ".png";
    write_file_atomically(prompts, std::string_view(R"({"text": "a man", "answer": " in", "wrong": " on"})"));
    sweep.run_threads({"export", "--model", golden("models/gpt2"), "--device", "cpu", "--ids", "1,2,3", "--format", "npy",
                       "--out", sweep.out()});
    sweep.run_threads({"screenshot", "--model", "captions-gpt2", "--text", "a", "--tab", "prompts", "--prompts", prompts,
                       "--out", picture});
  }

#if !HEADLIGHT_HAS_ADDRESS_SANITIZER
  // The sanitizer's operator new comes before the library's.
  TEST_CASE("allocations that fail") {
    const TemporaryDirectory folder;
    Sweep sweep(folder.path());
    const char* wanted = std::getenv("HEADLIGHT_FAULT_SWEEP");
    sweep.run_allocations({"export", "--model", "captions-gpt2", "--device", "cpu", "--text", "a man", "--format", "csv,svg",
                           "--out", sweep.out()},
                          50 * (wanted != nullptr ? std::max(1, std::atoi(wanted)) : 1));
  }
#endif
}

}  // namespace read_sweep_test
