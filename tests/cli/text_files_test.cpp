// Text files as other programs write them, given to every command that takes texts: with a byte order mark and Windows' line
// ends, compressed, as JSON lines, and files that are no texts.
#include <doctest/doctest.h>
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "support/program.h"

namespace text_files_test {

using namespace headlight;
namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

namespace {

const std::string kPlain = "a man rides a horse\na dog runs\n";
const std::string kWindows =
    "\xEF\xBB\xBF"
    "a man rides a horse\r\na dog runs\r\n";
const std::string kObjects = "{\"text\": \"a man rides a horse\"}\n{\"text\": \"a dog runs\"}\n";

struct Files {
  TemporaryDirectory folder;

  std::string write(const std::string& name, const std::string& content) const {
    write_file_atomically(folder.path() / name, content);
    return (folder.path() / name).string();
  }
  std::string pack(const std::string& name, const std::string& content) const {
    std::string path = (folder.path() / name).string();
    gzFile file = gzopen(path.c_str(), "wb");
    REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) == static_cast<int>(content.size()));
    gzclose(file);
    return path;
  }
  /// All forms of one text.
  std::vector<std::string> forms() const {
    return {write("plain.txt", kPlain), write("windows.txt", kWindows), pack("packed.txt.gz", kWindows),
            write("objects.jsonl", kObjects), pack("objects.jsonl.gz", kObjects)};
  }
};

std::string answer(const Arguments& arguments, const std::string& input = "") {
  const Outcome outcome = run_headlight(arguments, "", input);
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  return outcome.out;
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("tokens are those of the text, whichever way the file has it") {
    const Files files;
    const Arguments tokenize = {"tokenize", "--model", "captions-gpt2"};
    CHECK(answer(tokenize, kWindows) == answer(tokenize, kPlain));
    CHECK(answer({"translate"}, kWindows) == answer({"translate"}, kPlain));
    const fs::path out = files.folder.path() / "out";
    const auto exported = [&](const Arguments& texts, const std::string& input = "") {
      fs::remove_all(out);
      Arguments arguments = {"export", "--model", "captions-gpt2", "--layer", "0", "--head", "0", "--format", "npy"};
      arguments.insert(arguments.end(), {"--out", out.string()});
      arguments.insert(arguments.end(), texts.begin(), texts.end());
      answer(arguments, input);
      std::string tokens;
      for (const char* record : {"run.json", "000000/run.json", "000001/run.json"}) {
        if (fs::exists(out / record)) tokens += nlohmann::json::parse(read_file(out / record))["tokens"].dump();
      }
      return tokens;
    };
    const std::string batch = exported({"--text-file", "-"}, kPlain), single = exported({"--texts", "-"}, kPlain);
    CHECK(exported({"--text-file", "-"}, kWindows) == batch);
    CHECK(exported({"--texts", "-"}, kWindows) == single);
    for (const std::string& file : files.forms()) {
      CAPTURE(file);
      CHECK(exported({"--text-file", file}) == batch);
      CHECK(exported({"--texts", file}) == single);
    }
  }

  TEST_CASE("a survey and an evaluation measure the texts, not the file around them") {
    const Files files;
    const auto survey = [&](const std::string& corpus, const std::string& input, const Arguments& more = {}) {
      const fs::path out = files.folder.path() / "survey";
      fs::remove_all(out);
      Arguments arguments = {"survey", corpus, "--top", "2", "--metrics", "entropy", "--out", out.string()};
      arguments.insert(arguments.end(), more.begin(), more.end());
      CHECK(answer(arguments, input).starts_with("2 texts, "));
      const std::string page = read_file(out / "report.html");
      CHECK(page.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';") != std::string::npos);
      return read_file(out / "heads.jsonl");
    };
    const std::string expected = survey("-", kPlain);
    CHECK(survey("-", kObjects, {"--jsonl"}) == expected);
    CHECK(survey(files.write("body.jsonl", "{\"body\": \"a man rides a horse\"}\n{\"body\": \"a dog runs\"}"), "",
                 {"--field", "body"}) == expected);
    const std::string likelihood = answer({"evaluate", "perplexity", "--text-file", files.write("plain.txt", kPlain)});
    for (const std::string& file : files.forms()) {
      CAPTURE(file);
      CHECK(survey(file, "") == expected);
      CHECK(answer({"evaluate", "perplexity", "--text-file", file}) == likelihood);
    }
  }
}

TEST_SUITE("cpu") {
  TEST_CASE("what is no text is refused by every command, by what it is") {
    using namespace std::string_literals;
    const Files files;
    const std::string arrow = files.write("c.arrow", "\xFF\xFF\xFF\xFF\x10\0\0\0text"s);
    const std::string parquet = files.write("c.txt", "PAR1\x15\x04"), zip = files.write("c.jsonl", "PK\x03\x04\x14");
    const std::string misnamed = files.pack("misnamed.txt", kPlain);
    const std::string out = (files.folder.path() / "out").string();
    const Arguments commands[] = {{"export", "--out", out, "--text-file"},
                                  {"export", "--out", out, "--texts"},
                                  {"survey", "--out", out, "--model", "captions-gpt2"},
                                  {"evaluate", "bleu", "--hypothesis", files.write("plain", kPlain), "--reference"}};
    for (Arguments command : commands) {
      CAPTURE(command.front());
      const auto complaint = [&](const std::string& file) {
        Arguments arguments = command;
        arguments.push_back(file);
        return complaint_of(run_headlight(arguments), 1);
      };
      CHECK(complaint(arrow).starts_with(arrow + " is an Arrow file, not a text: "));
      CHECK(complaint(parquet).starts_with(parquet + " is a Parquet file"));
      CHECK(complaint(zip).starts_with(zip + " is a zip archive"));
      CHECK(complaint(misnamed).starts_with(misnamed + " is compressed by gzip: give it a name that ends in .gz"));
      CHECK(complaint(files.folder.path().string()).find("Is a directory") != std::string::npos);
      CHECK(complaint("/proc/self/mem").find("Input/output error") != std::string::npos);
    }
    CHECK(complaint_of(run_headlight({"tokenize", "--model", "captions-gpt2"}, "", "%PDF-1.7\n"), 1)
              .starts_with("standard input is a PDF, not a text"));
    CHECK(complaint_of(run_headlight({"export", "--out", out, "--text-file", "-"}, "", "a\0b\n"s), 1)
              .starts_with("standard input is a binary file (byte 1 is NUL)"));
  }
}

}  // namespace text_files_test
