// The program's output, character for character, against tests/golden/cli. HEADLIGHT_UPDATE_GOLDEN=1 writes those files
// anew. The commands are those whose output doesn't depend on the processor, the driver, the terminal, paths or the
// time of day.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/golden_model.h"
#include "support/program.h"

namespace golden_output_test {

using namespace headlight;

namespace {

struct Command {
  std::vector<std::string> arguments;
  std::string input;
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Returns the command as one would see it in a terminal: the command line, its input, what it prints, its error line
/// and its status.
std::string shown(const Command& command) {
  const TemporaryDirectory empty;
  const std::string nothing = empty.path().string();
  const Outcome outcome =
      run_headlight(command.arguments, "HF_HUB_CACHE='" + nothing + "' HOME='" + nothing + "'", command.input);
  std::string text = fmt::format("$ headlight {}\n", fmt::join(command.arguments, " "));
  for (std::size_t at = 0; at < command.input.size();) {
    const std::size_t end = command.input.find('\n', at);
    text += "< " + command.input.substr(at, end - at) + "\n";
    at = end + 1;
  }
  for (std::size_t at = 0; at < outcome.out.size();) {
    const std::size_t end = std::min(outcome.out.find('\n', at), outcome.out.size() - 1) + 1;
    const std::string line = outcome.out.substr(at, end - at);
    // Device memory depends on what kernels use as scratch, which isn't the command line's to promise.
    const bool has_memory = line.find(" on the device (") != std::string::npos;
    text += has_memory ? fmt::format("{}[memory] on the device\n", line.substr(0, 14)) : line;
    at = end;
  }
  if (!outcome.out.empty() && outcome.out.back() != '\n') text += "[no newline]\n";
  if (!outcome.err.empty()) text += "[standard error] " + outcome.err;
  if (outcome.status != 0) text += fmt::format("[status {}]\n", outcome.status);
  return replaced(replaced(text + "\n", HEADLIGHT_GOLDEN_DIR, "GOLDEN"), nothing, "EMPTY");
}

/// Letters and digits in lower case, each run of anything else as one space: what every release of CLI11 prints alike.
std::string words_of(std::string_view text) {
  std::string words;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (std::isalnum(byte) != 0 || byte >= 0x80) {
      words += static_cast<char>(std::tolower(byte));
    } else if (!words.empty() && words.back() != ' ') {
      words += ' ';
    }
  }
  return words;
}

/// The first line in which two texts differ, of both.
std::string first_difference(std::string_view found, std::string_view expected) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < std::min(found.size(), expected.size()) && found[at] == expected[at]; ++at) {
    if (found[at] == '\n') begin = at + 1;
  }
  const auto line = [&](std::string_view text) { return text.substr(begin, text.find('\n', begin) - begin); };
  return fmt::format("found:    {}\nexpected: {}", line(found), line(expected));
}

void check(const std::string& name, const std::vector<Command>& commands, bool is_laid_out_by_cli11 = false) {
  std::string found;
  for (const Command& command : commands) found += shown(command);
  found.pop_back();  // the empty line behind the last one
  const std::filesystem::path file = std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "cli" / (name + ".txt");
  if (const char* update = std::getenv("HEADLIGHT_UPDATE_GOLDEN"); update != nullptr && std::string_view(update) == "1") {
    std::filesystem::create_directories(file.parent_path());
    write_file_atomically(file, found);
    MESSAGE("written: " << file.string());
    return;
  }
  const std::string expected = read_file(file);
  const bool is_same_layout = !is_laid_out_by_cli11 || std::string_view(HEADLIGHT_CLI11_VERSION).starts_with("2.1");
  const bool is_equal = is_same_layout ? found == expected : words_of(found) == words_of(expected);
  CHECK_MESSAGE(is_equal, first_difference(found, expected),
                "\nHEADLIGHT_UPDATE_GOLDEN=1 writes the files of tests/golden/cli anew");
}

std::string golden_path(std::string_view name) { return test::golden_model_path(name).string(); }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("help of every command") {
    std::vector<Command> commands = {{{"--help"}, ""}};
    for (const char* name : {"view", "screenshot", "export", "info", "models", "tokenize", "detokenize", "translate",
                             "generate", "devices", "check"}) {
      commands.push_back({{name, "--help"}, ""});
    }
    for (const char* name : {"bleu", "perplexity", "heads"}) commands.push_back({{"evaluate", name, "--help"}, ""});
    commands.push_back({{"evaluate", "--help"}, ""});
    for (const char* name : {"view", "screenshot", "export"}) commands.push_back({{name, "--help-all"}, ""});
    check("help", commands, true);
  }

  TEST_CASE("errors of the command line") {
    const std::string gpt2 = golden_path("gpt2");
    check("errors", {{{"exprot"}, ""},
                     {{"nonsense"}, ""},
                     {{"bench", "--quick"}, ""},
                     {{"export", "--haeds", "2"}, ""},
                     {{"export", "--qqq"}, ""},
                     {{"export", "heads"}, ""},
                     {{"export", "--heads", "x", "--text", "a", "--out", "o"}, ""},
                     {{"export", "--heads"}, ""},
                     {{"export", "--text", "a", "--mask", "window", "--out", "o"}, ""},
                     {{"export", "--text", "a", "--mask-expr", "k <= sore", "--out", "o"}, ""},
                     {{"export", "--text", "a", "--mask-expr", "score > 0.0", "--out", "o"}, ""},
                     {{"export", "--text", "a", "--score-expr", "score - ", "--out", "o"}, ""},
                     {{"export", "--text", "a", "--slider", "width=3", "--out", "o"}, ""},
                     {{"export", "--text", "a", "--stages", "weight", "--out", "o"}, ""},
                     {{"export", "--text", "a", "--preset", "notebook-009", "--out", "o"}, ""},
                     {{"export", "--preset", "notebook-003", "--set", "v[6,0]=1", "--out", "o"}, ""},
                     {{"export", "--preset", "notebook-003", "--set", "v[0,0]=nan", "--out", "o"}, ""},
                     {{"export", "--preset", "notebook-003", "--set", "v=/nonexistent.txt", "--out", "o"}, ""},
                     {{"export", "--preset", "notebook-001", "--set", "heads=3", "--out", "o"}, ""},
                     {{"export", "--preset", "notebook-001", "--set", "sentence=a b", "--out", "o"}, ""},
                     {{"export", "--text", "a", "--set", "seed=7", "--out", "o"}, ""},
                     {{"export", "--model", gpt2, "--out", "o"}, ""},
                     {{"export", "--model", gpt2, "--text", "a", "--d-model", "32", "--out", "o"}, ""},
                     {{"screenshot", "--size", "huge", "--out", "o.png"}, ""},
                     {{"evaluate"}, ""},
                     {{"evaluate", "blue"}, ""},
                     {{"info"}, ""},
                     {{"info", "--model", "/nonexistent"}, ""},
                     {{"models", "--folder", "/nonexistent"}, ""},
                     {{"tokenize", "--model", golden_path("t5"), "--text", "a"}, ""},
                     {{"detokenize", "--model", gpt2, "--ids", "5,x"}, ""},
                     {{"detokenize", "--model", gpt2, "--ids", "5,999"}, ""},
                     {{"translate", "--model", gpt2, "--text", "a"}, ""},
                     {{"generate", "--model", golden_path("bert"), "--text", "a"}, ""}});
  }

  TEST_CASE("tokens of texts, and texts of tokens") {
    const std::string text = "The cat's 2 hats, na\u00efve caf\u00e9\n\tand \u4e2d\u6587 \U0001f600!\n";
    std::vector<Command> commands;
    for (const char* name : {"gpt2", "bert", "llama", "marian"}) {
      commands.push_back({{"tokenize", "--model", golden_path(name)}, text});
      commands.push_back({{"tokenize", "--model", golden_path(name), "--no-special", "--text", "the cat sat"}, ""});
      commands.push_back({{"detokenize", "--model", golden_path(name), "--ids", "5,6,7,38,39"}, ""});
    }
    check("tokenize", commands);
  }

  TEST_CASE("models, and what is in one") {
    std::vector<Command> commands = {{{"models"}, ""}, {{"models", "--folder", golden_path("gguf")}, ""}};
    for (const char* name : {"gpt2", "marian", "gguf/llama-q8_0.gguf"}) {
      commands.push_back({{"info", "--model", golden_path(name), "--tensors"}, ""});
    }
    check("models", commands);
  }
}

}  // namespace golden_output_test
