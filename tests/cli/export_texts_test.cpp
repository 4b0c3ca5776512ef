// Exports of many texts, by the real program.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "files/npy.h"
#include "model/safetensors.h"
#include "support/decode_npy.h"
#include "support/golden_model.h"
#include "support/program.h"

namespace export_texts_test {

using namespace headlight;
namespace fs = std::filesystem;

namespace {

struct TextExport {
  TemporaryDirectory directory;
  fs::path out = directory.path() / "out";

  Outcome run(const std::string& texts, std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.insert(arguments.begin(), {"export", "--out", out.string(), "--texts", texts});
    return run_headlight(arguments, "", input);
  }
  std::string file(const std::string& name, const std::string& content) const {
    write_file_atomically(directory.path() / name, content);
    return (directory.path() / name).string();
  }
  Tensor npy(const std::string& name) const { return files::decode_npy(read_file(out / name)); }
};

const std::vector<std::string> kSmall = {"--d-model", "8", "--heads", "2", "--layers", "1", "--format", "npy"};

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("a folder for each line; the same call goes on where it was interrupted") {
    const TextExport texts;
    const std::string path = texts.file("texts.txt", "one two\n\nthree four five\r\nsix\n");
    const Outcome first = texts.run(path, kSmall);
    INFO(first.err);
    REQUIRE(first.status == 0);
    CHECK(first.out == "3 texts in " + texts.out.string() + "\n");
    CHECK(texts.npy("000002/weights.npy").shape == Shape{1, 1, 2, 3, 3});
    CHECK_FALSE(fs::exists(texts.out / "000001"));
    // The folder is left as by a kill: one text isn't listed, one is half written.
    const std::string index = read_file(texts.out / "index.jsonl");
    const std::size_t last = index.rfind('\n', index.size() - 2) + 1;
    write_file_atomically(texts.out / "index.jsonl", index.substr(0, last + 5));
    fs::remove_all(texts.out / "000003");
    const auto before = fs::last_write_time(texts.out / "000000" / "weights.npy");
    const Outcome second = texts.run(path, kSmall);
    CHECK(second.status == 0);
    CHECK(second.out == "3 texts in " + texts.out.string() + ", 2 of them from before\n");
    CHECK(fs::last_write_time(texts.out / "000000" / "weights.npy") == before);
    CHECK(texts.npy("000003/weights.npy").shape == Shape{1, 1, 2, 1, 1});
    CHECK(read_file(texts.out / "index.jsonl") == index);
    // A text that has lost a file isn't done.
    fs::remove(texts.out / "000002" / "weights.npy");
    CHECK(texts.run(path, kSmall).out == "3 texts in " + texts.out.string() + ", 2 of them from before\n");
    CHECK(texts.npy("000002/weights.npy").shape == Shape{1, 1, 2, 3, 3});
    std::vector<std::string> other = kSmall;
    other.insert(other.end(), {"--stages", "q"});
    CHECK(complaint_of(texts.run(path, other), 1).find("is of an export with other flags") != std::string::npos);
  }

  TEST_CASE("an index that names a folder outside, and one that another export writes, are refused") {
    const TextExport texts;
    const std::string path = texts.file("texts.txt", "a b\nc d\n");
    REQUIRE(texts.run(path, kSmall).status == 0);
    const std::string index = read_file(texts.out / "index.jsonl"), own = "\"000000\"";
    REQUIRE(index.find(own) != std::string::npos);
    fs::remove_all(texts.out / "000000");
    make_directories(texts.directory.path() / "mine");
    for (const char* foreign : {"\"../mine\"", "\"000000/../../mine\"", "\"/tmp\"", "\"..\""}) {
      std::string changed = index;
      write_file_atomically(texts.out / "index.jsonl", changed.replace(changed.find(own), own.size(), foreign));
      CHECK(complaint_of(texts.run(path, kSmall), 1).find("index.jsonl, line 2: its folder isn't one of this export's") !=
            std::string::npos);
      CHECK(fs::exists(texts.directory.path() / "mine"));
    }
    write_file_atomically(texts.out / "index.jsonl", std::string_view(index));
    {
      std::error_code error;
      const platform::Descriptor lock = platform::lock_file(texts.out / "index.jsonl", false, error);
      REQUIRE(lock);
      CHECK(complaint_of(texts.run(path, kSmall), 1) ==
            "another export is writing into " + texts.out.string() + ": wait for its end, or name another folder");
    }
    CHECK(texts.run(path, kSmall).status == 0);
  }

  TEST_CASE("an interrupted export says what it left") {
    const TextExport texts;
    std::string lines;
    for (int line = 0; line < 50'000; ++line) lines += "a b\n";
    const std::string path = texts.file("texts.txt", lines);
    const std::string script =
        texts.file("interrupt.sh",
                   "\"$@\" &\np=$!\nfor i in $(seq 600); do\n  [ \"$(cat \"$OUT/index.jsonl\" 2>/dev/null | wc "
                   "-l)\" -gt 2 ] && break\n  sleep 0.05\ndone\nkill -TERM $p\nwait $p\n");
    std::vector<std::string> arguments = {"export", "--out", texts.out.string(), "--texts", path};
    arguments.insert(arguments.end(), kSmall.begin(), kSmall.end());
    const Outcome outcome = run_headlight(arguments, "OUT='" + texts.out.string() + "' sh '" + script + "'");
    CHECK(outcome.status == 128 + 15);
    CHECK(outcome.err.find("headlight: interrupted: ") != std::string::npos);
    CHECK(outcome.err.find(" texts, after which the same command goes on, are in " + texts.out.string() + "\n") !=
          std::string::npos);
  }

  TEST_CASE("a line without a token of its own is no text") {
    const TextExport texts;
    const std::string path = texts.file("texts.txt", "the cat\n\n\u200b\na mat\n");
    const Outcome outcome = texts.run(path, {"--model", test::golden_model_path("bert").string(), "--format", "npy"});
    INFO(outcome.err);
    CHECK(outcome.out == "2 texts in " + texts.out.string() + "\n");
    CHECK_FALSE(fs::exists(texts.out / "000002"));
  }

  TEST_CASE("lines of standard input, as objects, with an id; a wrong one is named after those before it") {
    const TextExport texts;
    std::vector<std::string> flags = kSmall;
    flags.emplace_back("--jsonl");
    const Outcome outcome = texts.run("-", flags, "{\"text\": \"a b\", \"id\": \"../x y\"}\n{\"txt\": 1}\n");
    CHECK(complaint_of(outcome, 1).starts_with("line 2: the object has no \"text\", but txt: "));
    CHECK(texts.npy("000000_..-x-y/weights.npy").shape == Shape{1, 1, 2, 2, 2});
    CHECK(complaint_of(texts.run("-", flags, "{\"text\": \"a\\nb\"}\n"), 1).find("which only a model reads") !=
          std::string::npos);
    CHECK(complaint_of(texts.run("-", kSmall, "a \xFF\n"), 1) == "line 1: byte 2 is not UTF-8: convert the text");
    CHECK(complaint_of(texts.run("/nonexistent", kSmall), 1).find("/nonexistent") != std::string::npos);
    flags.insert(flags.end(), {"--text", "more"});
    CHECK(complaint_of(texts.run("-", flags), 2).find("--texts brings the texts") != std::string::npos);
  }

  TEST_CASE("JSON lines with texts in another field, compressed; a changed id renames the folder") {
    const TextExport texts;
    const auto export_lines = [&](const std::string& lines) {
      std::vector<std::string> flags = kSmall;
      flags.insert(flags.end(), {"--field", "body"});
      return texts.run(texts.file("t.jsonl", lines), flags);
    };
    const std::string first = "{\"body\": \"a b\", \"id\": \"x\"}\n", other = "{\"body\": \"c\", \"id\": \"y\"}\n";
    REQUIRE(export_lines(first + "\n" + other).status == 0);
    CHECK(texts.npy("000000_x/weights.npy").shape == Shape{1, 1, 2, 2, 2});
    CHECK(texts.npy("000002_y/weights.npy").shape == Shape{1, 1, 2, 1, 1});
    const auto before = fs::last_write_time(texts.out / "000000_x" / "weights.npy");
    const Outcome renamed = export_lines("{\"body\": \"a b\", \"id\": \"z\"}\n\n{\"body\": \"c d e\"}\n");
    CHECK(renamed.out == "2 texts in " + texts.out.string() + ", 1 of them from before\n");
    CHECK_FALSE(fs::exists(texts.out / "000000_x"));
    CHECK_FALSE(fs::exists(texts.out / "000002_y"));
    CHECK(fs::last_write_time(texts.out / "000000_z" / "weights.npy") == before);
    CHECK(texts.npy("000002/weights.npy").shape == Shape{1, 1, 2, 3, 3});
    CHECK(export_lines("{\"body\": \"a b\", \"id\": \"z\"}\n\n{\"body\": \"c d e\"}\n").out ==
          "2 texts in " + texts.out.string() + ", 2 of them from before\n");
    CHECK(complaint_of(export_lines("{\"text\": \"a\"}\n"), 1).find("the object has no \"body\", but text") !=
          std::string::npos);
  }

  TEST_CASE("a model's layers, heads and tokens in one file; a text without the token has none") {
    const TextExport texts;
    const std::vector<std::string> flags = {"--model",  "captions-gpt2", "--layers", "0,2-3",
                                            "--heads",  "all",           "--tokens", "dog",
                                            "--format", "safetensors",   "--stages", "weights,scores,q,k,v,hidden,logits"};
    const Outcome outcome = texts.run("-", flags, "a dog runs.\na man.\n");
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    CHECK(outcome.out.find("1 texts in ") == 0);
    CHECK(outcome.out.find("; 1 without the tokens\n") != std::string::npos);
    CHECK_FALSE(fs::exists(texts.out / "000001"));
    const model::SafetensorsFile file(texts.out / "000000" / "numbers.safetensors");
    std::map<std::string, Shape> shapes;
    for (const model::StoredTensor& tensor : file.tensors().all()) shapes[tensor.name] = tensor.shape;
    const std::uint32_t tokens = shapes.at("q")[3];
    CHECK(shapes.at("weights") == Shape{3, 1, 8, 1, tokens});
    CHECK(shapes.at("k") == shapes.at("q"));
    CHECK(shapes.at("hidden")[0] == 5);
    CHECK(shapes.at("logits")[1] == tokens);
    CHECK(shapes.at("token_ids") == Shape{1, tokens});
    CHECK(nlohmann::json::parse(file.metadata().at("tokens"))[0].size() == tokens);
  }

  TEST_CASE("--out names one file") {
    const TemporaryDirectory directory;
    const std::string path = (directory.path() / "run.npz").string();
    const Outcome outcome =
        run_headlight({"export", "--preset", "playground", "--text", "a b c", "--layers", "1", "--out", path});
    CHECK(outcome.status == 0);
    CHECK(outcome.out == path + "\n");
    CHECK(fs::exists(path));
    CHECK_FALSE(fs::exists(directory.path() / "run.json"));
    CHECK(complaint_of(run_headlight({"export", "--text", "a", "--format", "csv", "--out", path}), 2).find("one format") !=
          std::string::npos);
    CHECK(complaint_of(run_headlight({"export", "--text", "a b", "--layers", "0-9", "--out", path}), 2) ==
          "--layer 0-9: there are layers 0 to 3");
  }
}

}  // namespace export_texts_test
