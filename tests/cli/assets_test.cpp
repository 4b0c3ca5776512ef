// Every file that comes along, opened by everything that takes it: in this process by the commands' own entry, and in one
// window after the other; once by each command as a process.
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/command_line.h"
#include "app/cli/output.h"
#include "app/window/offscreen_viewer.h"
#include "support/program.h"
#include "support/temporary_directory.h"

namespace assets_test {

using namespace headlight;
namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

namespace {

const fs::path kAssets = fs::path(HEADLIGHT_EXAMPLES_DIR).parent_path();
constexpr double kMost_s = 20.0;  // of processor time: 10 s on two cores

/// The result of a command in this process.
struct Done {
  int status = -1;
  std::string out, err;
  double processor_s = 0.0;
};

/// Redirects a stream while this lives.
class Redirection {
 public:
  Redirection(std::ostream& stream, std::ostringstream& to) : stream_(stream), before_(stream.rdbuf(to.rdbuf())) {}
  ~Redirection() { stream_.rdbuf(before_); }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

 private:
  std::ostream& stream_;
  std::streambuf* before_;
};

Done run_here(Arguments arguments) {
  app::output_choice() = {};
  arguments.insert(arguments.begin(), "headlight");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  std::ostringstream out, err;
  Done done;
  const std::clock_t begin = std::clock();
  {
    const Redirection to_out(std::cout, out), to_err(std::cerr, err);
    done.status = app::run_command_line(static_cast<int>(argv.size()), argv.data());
  }
  done.processor_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  done.out = out.str();
  done.err = err.str();
  return done;
}

struct Opening {
  Arguments arguments;
  bool is_quick = false;
};

/// A command that takes a file. `out`: a folder for what it writes.
std::vector<Opening> openings_of(const fs::path& file, const fs::path& out) {
  const std::string path = file.string(), name = file.filename().string(), folder = file.parent_path().filename().string();
  const auto in = [&](const char* one) { return (out / one).string(); };
  const std::string text = "a man rides a horse";
  if (name.ends_with(".headlight.json")) {
    const bool has_no_maps = name.starts_with("predictions") || name.starts_with("logits") || name.starts_with("what_if") ||
                             name.starts_with("patching") || name.starts_with("mask_that");
    return {{{"run", path, "--out", in("run")}, has_no_maps},
            {{"export", "--session", path, "--dry-run", "--out", in("plan")}, true},
            {{"export", "--session", path, "--format", "png,npy", "--out", in("files")}},
            {{"describe", "--session", path}, true},
            {{"screenshot", "--session", path, "--out", in("window.png")}},
            {{"screenshot", "--session", path, "--figure", "--out", in("figure.svg")}}};
  }
  if (name == "course.json") return {};  // lessons_test.cpp reads it: it is opened with the window
  if (folder == "lessons") {
    return {{{"check-lesson", path}, true},
            {{"worksheet", path, "--out", in("sheet.html")}, true},
            {{"lesson-page", path, "--out", in("lesson.html")}},
            {{"describe", "--lesson", path}, true},
            {{"screenshot", "--lesson", path, "--out", in("lesson.png")}}};
  }
  if (folder == "prompts")
    return {{{"screenshot", "--tab", "prompts", "--prompts", path, "--out", in("prompts.csv")}, name == "docstring.jsonl"},
            {{"export", text, "--views", "prompts", "--prompts", path, "--out", in("prompts.svg")}}};
  if (name.ends_with(".txt")) {
    return {{{"export", "--text-file", path, "--dry-run", "--out", in("plan")}, true},
            {{"export", "--text-file", path, "--layer", "0", "--out", in("files")}},
            {{"export", "--texts", path, "--layer", "0", "--head", "0", "--format", "npz", "--out", in("texts")}},
            {{"describe", "--text-file", path}, name == "code.txt"},
            {{"screenshot", "--text-file", path, "--out", in("window.png")}},
            {{"evaluate", "heads", "--text-file", path}},
            {{"evaluate", "perplexity", "--text-file", path}},
            {{"survey", path, "--out", in("survey")}}};
  }
  if (name.ends_with(".safetensors") && folder == "examples") {
    return {{{"export", "--capture", path, "--format", "png,npy,html", "--out", in("files")}, true},
            {{"describe", "--capture", path}, true},
            {{"screenshot", "--capture", path, "--out", in("window.png")}}};
  }
  if (name == "config.json") {
    const std::string model = file.parent_path().string();
    return {{{"info", "-m", model}, true},
            {{"export", text, "-m", model, "--dry-run", "--out", in("plan")}, true},
            {{"export", text, "-m", model, "--out", in("files")}},
            {{"describe", text, "-m", model}, true},
            {{"screenshot", text, "-m", model, "--out", in("window.png")}}};
  }
  return {};
}

/// Files that a machine, or a model, lacks something for, with what is said then.
std::string_view expected_refusal(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == "indirect_object.headlight.json") return "openai-community/gpt2";  // where it isn't in the cache
  if (name == "greater-than.jsonl") return "no prompt of this set fits";         // captions have no years
  return {};
}

std::vector<fs::path> files_of_assets() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kAssets)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

void open_by_commands(bool only_quick) {
  const TemporaryDirectory folder;
  for (const char* variable : {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"})
    setenv(variable, (folder.path() / "home").c_str(), 1);
  std::size_t opened = 0;
  for (const fs::path& file : files_of_assets()) {
    CAPTURE(file);
    const fs::path out = folder.path() / std::to_string(opened);
    fs::create_directory(out);
    for (const auto& [arguments, is_quick] : openings_of(file, out)) {
      if (only_quick && !is_quick) continue;
      const std::string line = fmt::format("headlight {}", fmt::join(arguments, " "));
      CAPTURE(line);
      const Done done = run_here(arguments);
      CAPTURE(done.err);
      const std::string_view refusal = expected_refusal(file);
      const bool is_refused = done.status == 1 && !refusal.empty() && done.err.find(refusal) != std::string::npos;
      CHECK((done.status == 0 || is_refused));
      if (done.err.find("files will be in") == std::string::npos) CHECK(done.processor_s <= kMost_s);
      if (std::getenv("HEADLIGHT_TIMES") != nullptr) MESSAGE(fmt::format("{:.2f} s: {}", done.processor_s, line));
      ++opened;
    }
  }
  CHECK(opened > (only_quick ? 80 : 240));
}

/// Drops each file on one window after the other.
void open_in_window(bool only_quick) {
  const app::ScreenshotOptions options;
  app::OffscreenViewer viewer(options);
  app::Workspace& window = viewer.workspace();
  double now_s = window.settle({options.width, options.height}, 1.0F, 0.0);
  for (const fs::path& file : files_of_assets()) {
    if (only_quick && !file.filename().string().ends_with(".headlight.json")) continue;
    CAPTURE(file);
    const std::clock_t begin = std::clock();
    window.open_files({file.string()});
    now_s = window.settle({options.width, options.height}, 1.0F, now_s);
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC <= kMost_s);
    CHECK(window.result().run != 0);
    CHECK(window.notice().text.find('\n') == std::string::npos);
  }
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE("what comes along is opened by what takes it, the quick ones") { open_by_commands(true); }
  TEST_CASE("sessions that come along are opened by one window, one after the other") { open_in_window(true); }
}

TEST_SUITE("slow") {
  TEST_CASE("what comes along is opened by everything that takes it") { open_by_commands(false); }
  TEST_CASE("every file that comes along is dropped on one window") { open_in_window(false); }

  TEST_CASE("each command opens one of them as a process") {
    const TemporaryDirectory folder;
    std::set<std::string> seen;
    for (const fs::path& file : files_of_assets()) {
      for (const Opening& opening : openings_of(file, folder.path() / "out")) {
        if (!expected_refusal(file).empty() || !seen.insert(opening.arguments.front()).second) continue;
        const Outcome outcome = run_headlight(opening.arguments);
        CAPTURE(outcome.err);
        CHECK(outcome.status == 0);
      }
    }
    CHECK(seen.size() >= 9);
  }
}

}  // namespace assets_test
