#include "app/cli/subcommands.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/output.h"
#include "app/lessons/results.h"
#include "app/state/usage.h"
#include "core/file.h"

namespace headlight::app {
namespace {

struct ResultsFlags {
  std::vector<std::filesystem::path> files;
  std::string out, language;
};

int run_results(const ResultsFlags& flags) {
  if (flags.files.empty()) throw UsageError("name the files that headlight view --results wrote");
  if (flags.out.empty()) throw UsageError("name a file to write: --out FILE.html");
  std::vector<std::pair<std::string, LessonResults>> results;
  for (const std::filesystem::path& file : flags.files) {
    results.emplace_back(utf8(file.stem()), read_results(file));
  }
  write_file_atomically(flags.out, results_page(results, read_lessons(lesson_folders(), flags.language)));
  tell_result(flags.out, {{"file", flags.out}, {"results", results.size()}});
  return 0;
}

}  // namespace

Subcommand add_results_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "results", run_results);
  const FlagGroup files(*command, "Files");
  files.add_arguments("files", "FILE...", "files that headlight view --results wrote", flags->files);
  files.take("-o,--out", "FILE", "the .html page about all of them", flags->out);
  files.take("--language", "LANG", "titles of lessons in this language, two letters, where they have it", flags->language);
  return made;
}

}  // namespace headlight::app
