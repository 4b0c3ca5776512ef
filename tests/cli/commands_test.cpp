#include <algorithm>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "app/cli/subcommands.h"
#include "app/state/setting.h"
#include "support/golden_model.h"
#include "support/program.h"

namespace commands_test {

using namespace headlight;
using namespace headlight::app;

namespace {

std::string usage_complaint(const std::vector<std::string>& arguments) { return complaint(arguments, 2); }

/// `headlight export --text … --out …` with more flags behind.
std::vector<std::string> exporting(std::initializer_list<std::string> more) {
  std::vector<std::string> arguments = {"export", "--text", "a b c", "--out", "/nonexistent/folder"};
  arguments.insert(arguments.end(), more);
  return arguments;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the flag of every setting is one of the window's") {
    const std::string flags = run_headlight({"view", "--help-all"}).out;
    for (const SettingGroup* group : setting_groups()) {
      for (const AnySetting* setting : group->settings) {
        CAPTURE(setting->path());
        CHECK(flags.find(setting->text.flag) != std::string::npos);
      }
    }
  }

  TEST_CASE("no flag of an inner command has the name of the outer one's argument, which CLI11 2.4 refuses") {
    CLI::App app;
    for (const auto add :
         {app::add_view_command, app::add_export_command, app::add_survey_command, app::add_evaluate_command})
      add(app);
    std::size_t checked = 0;
    for (const CLI::App* outer : app.get_subcommands([](const CLI::App*) { return true; })) {
      for (const CLI::Option* argument : outer->get_options([](const CLI::Option* one) { return one->get_positional(); })) {
        for (const CLI::App* inner : outer->get_subcommands([](const CLI::App*) { return true; })) {
          CAPTURE(inner->get_name());
          CAPTURE(argument->get_name());
          CHECK(inner->get_option_no_throw("--" + argument->get_name()) == nullptr);
          ++checked;
        }
      }
    }
    CHECK(checked > 0);  // survey has both
  }

  TEST_CASE("--version and --help tell") {
    const Outcome version = run_headlight({"--version"});
    CHECK(version.status == 0);
    CHECK(version.out.starts_with("headlight "));
    const Outcome help = run_headlight({"--help"});
    CHECK(help.status == 0);
    for (const char* command : {"view", "screenshot", "export", "info", "models", "tokenize", "detokenize", "devices"})
      CHECK(help.out.find(command) != std::string::npos);
    const Outcome flags = run_headlight({"export", "--help-all"});
    CHECK(flags.status == 0);
    for (const char* flag :
         {"--text",       "--key-text",     "--layer",      "--head",      "--batch",     "--mask",           "--padding",
          "--fill",       "--d-model",      "--heads",      "--d-k",       "--d-v",       "--layers",         "--seed",
          "--scale",      "--bias",         "--format",     "--out",       "--color-map", "--row-normalised", "--stages",
          "--mask-file",  "--preset",       "--device",     "--model",     "--ids",       "--pair",           "--target",
          "--target-ids", "--padding-side", "--no-special", "--precision", "Examples:"}) {
      INFO(flag);
      CHECK(flags.out.find(flag) != std::string::npos);
    }
  }

  TEST_CASE("help and version are commands too, and --version goes behind a command") {
    CHECK(run_headlight({"help"}).out == run_headlight({"--help"}).out);
    CHECK(run_headlight({"help", "export"}).out == run_headlight({"export", "--help"}).out);
    CHECK(run_headlight({"help", "evaluate", "bleu"}).out == run_headlight({"evaluate", "bleu", "--help"}).out);
    CHECK(usage_complaint({"help", "exprt"}).find("did you mean export?") != std::string::npos);
    CHECK(run_headlight({"info", "--help-all"}).out == run_headlight({"info", "--help"}).out);
    CHECK(run_headlight({"--help-all"}).out.find("XDG_CONFIG_HOME  ") != std::string::npos);
    const std::string version = run_headlight({"--version"}).out;
    CHECK(run_headlight({"version"}).out == version);
    CHECK(run_headlight({"export", "--version"}).out == version);
  }

  TEST_CASE("each command's help names the model that it has without --model") {
    const auto says = [](const std::string& command, const std::string& words) {
      std::istringstream help(run_headlight({command, "--help"}).out);
      std::string text;  // on one line, so that it doesn't matter where it was broken
      for (std::string word; help >> word;) text += word + " ";
      return text.find(words) != std::string::npos;
    };
    CHECK(says("export", "(default: captions-gpt2; any flag of the playground's computes that instead)"));
    CHECK(says("screenshot", "(default: captions-gpt2; any flag of the playground's"));
    CHECK_FALSE(says("screenshot", "(default: the playground's seeded weights)"));
    CHECK(says("view", "(default: what was open last, captions-gpt2 at the first start)"));
  }

  TEST_CASE("a file without a flag is opened in the window, told by what it is") {
    const TemporaryDirectory folder;
    const auto write = [&](const std::string& name, const std::string& content) {
      std::string path = (folder.path() / name).string();
      write_file_atomically(path, content);
      return path;
    };
    const std::string own = "XDG_CONFIG_HOME=" + folder.path().string() + " env -u DISPLAY -u WAYLAND_DISPLAY";
    const auto refusal = [&](const std::vector<std::string>& arguments, int status = 1) {
      const Outcome outcome = run_headlight(arguments, own);
      INFO(outcome.err);
      return complaint_of(outcome, status);
    };
    // Each of them is read before the window is looked for.
    const std::string gpt2 = test::golden_model_path("gpt2").string();
    const std::string text = write("notes.txt", "the cat sat\n"), plain = write("notes", "the cat sat\n");
    const std::string session = write("any.json", R"({"headlight": 1, "state": {"text": "a b"}})");
    for (const std::string& file : {gpt2, text, plain, session}) {
      CHECK(refusal({file}).find("no display") != std::string::npos);
      CHECK(refusal({"--theme", "light", file}).find("no display") != std::string::npos);
      CHECK(refusal({"view", file}).find("no display") != std::string::npos);
    }
    const auto of_file = [&](const std::string& file) {
      const std::string told = refusal({file});
      CHECK(told.starts_with(file));
      return told.substr(std::min(told.size(), file.size()));
    };
    CHECK(of_file((folder.path() / "none.npz").string()).starts_with(": there is no such file or folder"));
    CHECK(of_file(write("broken.gguf", "GGUF?")).size() > 10);
    CHECK(of_file(write("broken.npz", "PK?")).size() > 10);
    CHECK(of_file(write("broken.safetensors", "?")).size() > 10);
    CHECK(of_file(write("lesson.json", R"({"headlight_lesson": 1})")) == ": title: expected a text");
    CHECK(of_file(write("empty.json", "")).find("it is empty; expected a session") != std::string::npos);
    CHECK(of_file(write("empty.txt", "\n")) == " has no text");
    CHECK(of_file(write("data.dat", "\xff\xfe")).find("is not UTF-8") != std::string::npos);
    CHECK(of_file(write("data.bin", "\xff\xfe")).find("is no usable file of torch.save") != std::string::npos);
    CHECK(refusal({text, "--text", "a"}, 2) == fmt::format("--text and {} exclude each other: give either", text));
    CHECK(refusal({gpt2, "--model", gpt2}, 2) == fmt::format("--model and {} exclude each other: give either", gpt2));
    CHECK(refusal({text, plain}, 2).starts_with(fmt::format("'{}' belongs to no flag", plain)));
    CHECK(refusal({"openai/none"}).starts_with("openai/none: there is no such file or folder; a model is named by --model"));
    CHECK(usage_complaint({"zzzzzzz"}) == "there is no command 'zzzzzzz' and no such file (see headlight --help)");
  }

  TEST_CASE("figures' flags are checked before anything is computed") {
    CHECK(usage_complaint(exporting({"--dpi", "10"})) == "--dpi: expected a whole number from 48 to 960, found '10'");
    CHECK(usage_complaint(exporting({"--size", "5"})) == "--size: expected a number from 10 to 1000, found '5'");
    CHECK(usage_complaint(exporting({"--theme", "gray"})).find("--theme: there is no 'gray'") == 0);
  }

  TEST_CASE("what the command line gets wrong is named, with what was meant") {
    CHECK(usage_complaint({"exprt"}) == "there is no command 'exprt', did you mean export? (see headlight --help)");
    CHECK(usage_complaint({"--heds", "4"}) == "unknown flag --heds, did you mean --heads? (see headlight view --help)");
    CHECK(usage_complaint({"devices", "--colour"}) == "unknown flag --colour (see headlight devices --help)");
    CHECK(usage_complaint({"devices", "export"}).find("'export' belongs to no flag") == 0);
    CHECK(usage_complaint({"export", "--text"}) == "--text needs a value (see headlight --help)");
    CHECK(usage_complaint({"export", "--out", "x"}) == "--text or --preset is missing: say what to compute");
    CHECK(usage_complaint({"export", "--text", "a"}) ==
          "--out is missing: name the folder or the file to write, or - for standard output");
    CHECK(usage_complaint({"screenshot"}).find("--out is missing") == 0);
    CHECK(usage_complaint({"screenshot", "--out", "a.jpg"}) ==
          "--out: 'a.jpg' doesn't end in .png, of a figure in .svg or .pdf, or of numbers in .csv");
    CHECK(usage_complaint({"screenshot", "--out", "a.png", "--size", "big"}).find("--size: expected WIDTHxHEIGHT") == 0);
  }

  TEST_CASE("numbers outside their range are refused with the range") {
    CHECK(usage_complaint(exporting({"--d-model", "0"})) == "--d-model: expected a whole number from 1 to 8192, found '0'");
    CHECK(usage_complaint(exporting({"--preset", "playground", "--heads", "65"})) ==
          "--heads: expected a whole number from 1 to 64, found '65'");
    CHECK(usage_complaint(exporting({"--preset", "playground", "--layers", "7"})) ==
          "--layers: expected a whole number from 1 to 6, found '7'");
    CHECK(usage_complaint(exporting({"--seed", "-1"})).find("--seed: expected a whole number from 0") == 0);
    CHECK(usage_complaint(exporting({"--preset", "playground", "--heads", "4x"})).find("--heads: expected") == 0);
    CHECK(usage_complaint(exporting({"--preset", "playground", "--heads", ""})).find("--heads: expected") == 0);
    CHECK(usage_complaint(exporting({"--scale", "nan"})).find("--scale: expected a number") == 0);
    CHECK(usage_complaint(exporting({"--bias", "yes"})) == "--bias: expected on or off, found 'yes'");
  }

  TEST_CASE("names that don't exist are refused with those that do") {
    CHECK(usage_complaint({"export", "--out", "x", "--preset", "notebook-01"})
              .find("--preset: there is no 'notebook-01', did you mean notebook-001?") == 0);
    CHECK(
        usage_complaint(exporting({"--stages", "wieghts"})).find("--stages: there is no 'wieghts', did you mean weights?") ==
        0);
    CHECK(usage_complaint(exporting({"--stages", "q,,k"})) == "--stages: 'q,,k' has an empty name in it");
    CHECK(usage_complaint(exporting({"--format", "gif"})) ==
          "--format: there is no format 'gif'; choose among png, svg, pdf, csv, npy, npz, safetensors, html, tiles");
    const std::string instead = "matrices aren't written as json any more; choose csv for text, npy, npz or safetensors";
    CHECK(usage_complaint(exporting({"--format", "csv,json"})) == "--format: " + instead);
    CHECK(usage_complaint({"export", "--text", "a b", "--out", "weights.json"}) == "--out weights.json: " + instead);
    CHECK(usage_complaint(exporting({"--color-map", "jet"})).find("--color-map: there is no 'jet'") == 0);
    CHECK(usage_complaint(exporting({"--mask", "diagonal"})).find("--mask: ") == 0);
    CHECK(usage_complaint(exporting({"--fill", "-1e8"})).find("--fill: ") == 0);
    CHECK(usage_complaint(exporting({"--preset", "notebook-001"})) ==
          "--text and --preset exclude each other: notebook-001 brings its own text and model");
    CHECK(usage_complaint({"export", "--out", "x", "--preset", "notebook-001", "--d-model", "8"})
              .find("--d-model and --preset") == 0);
  }

  TEST_CASE("a mask file that is none is named") {
    const TemporaryDirectory directory;
    const std::string path = (directory.path() / "mask.json").string();
    write_file_atomically(path, "[[1, 0], [1]]");
    CHECK(complaint(exporting({"--mask-file", path}), 1).find(path + ": a list of the mask has 2 members") == 0);
    CHECK(complaint(exporting({"--mask-file", "/nonexistent.json"}), 1).find("/nonexistent.json") != std::string::npos);
    CHECK(complaint({"export", "--text-file", "/nonexistent.txt", "--out", "x"}, 1).find("/nonexistent.txt") !=
          std::string::npos);
  }
}

}  // namespace commands_test
