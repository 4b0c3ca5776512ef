#include "app/cli/subcommands.h"

#include <iostream>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "app/cli/output.h"
#include "app/lessons/card_runner.h"
#include "app/lessons/lesson_page.h"
#include "app/state/usage.h"
#include "core/file.h"

namespace headlight::app {
namespace {

struct LessonFlags {
  std::string file, out, language, device;
  std::vector<std::filesystem::path> files;
};

Lesson lesson_of(const LessonFlags& flags) {
  if (flags.file.empty()) throw UsageError("name the lesson's .json file");
  return read_lesson(flags.file, flags.language);
}

EngineOptions engine_of(const LessonFlags& flags) { return {.device = flags.device}; }

int run_check(const LessonFlags& flags) {
  const Lesson lesson = lesson_of(flags);
  const std::vector<std::string> remarks = check_lesson(lesson, engine_of(flags));
  const std::string good = fmt::format("{}: {} cards, nothing odd", flags.file, lesson.cards.size());
  const std::string said = remarks.empty() ? good : fmt::format("{}", fmt::join(remarks, "\n"));
  tell_result(said, {{"file", flags.file}, {"cards", lesson.cards.size()}, {"remarks", remarks}});
  return remarks.empty() ? 0 : 1;
}

void write_page(const std::string& file, const std::string& page) {
  write_file_atomically(file, page);
  tell_result(file, {{"file", file}});
}

void expect_html(const std::string& out) {
  if (out.empty()) throw UsageError("name the file to write: --out FILE.html");
  if (!out.ends_with(".html")) {
    throw UsageError("'{}' doesn't end in .html; a browser prints the page, or saves it as PDF", out);
  }
}

template <LessonMedium medium>
int run_page(const LessonFlags& flags) {
  expect_html(flags.out);
  write_page(flags.out, lesson_page(lesson_of(flags), engine_of(flags), medium));
  return 0;
}

int run_results(const LessonFlags& flags) {
  expect_html(flags.out);
  if (flags.files.empty()) throw UsageError("name files that headlight view --results wrote");
  write_page(flags.out, results_page(flags.files, read_lessons(lesson_folders(), flags.language)));
  return 0;
}

void add_out_flag(CLI::App& command, LessonFlags& flags) {
  FlagGroup(command, "Files").take("-o,--out", "FILE", "the .html file to write", flags.out);
}

void add_lesson_flags(CLI::App& command, LessonFlags& flags) {
  const FlagGroup group(command, "Lesson");
  group.add_argument("file", "FILE", "the lesson, as docs/LESSONS.md describes it", flags.file);
  group.take("--language", "LANG", "its texts in this language, two letters, where it has them", flags.language);
  add_device_flag(command, flags.device);
}

}  // namespace

Subcommand add_check_lesson_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "check-lesson", run_check);
  add_lesson_flags(*command, *flags);
  return made;
}

Subcommand add_lesson_page_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "lesson-page", run_page<LessonMedium::Screen>);
  add_lesson_flags(*command, *flags);
  add_out_flag(*command, *flags);
  return made;
}

Subcommand add_worksheet_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "worksheet", run_page<LessonMedium::Paper>);
  add_lesson_flags(*command, *flags);
  add_out_flag(*command, *flags);
  // A group without a name isn't listed.
  FlagGroup(*command, "").add("--answers", "FILE", "", [](const std::string& /*file*/) {
    throw UsageError(
        "--answers is no flag any more: the answers are in --out FILE.html, after the tasks, on a page of their own");
  });
  return made;
}

Subcommand add_results_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "results", run_results);
  const FlagGroup group(*command, "Results");
  group.add_arguments("files", "FILE", "files that `headlight view --results` wrote", flags->files);
  group.take("--language", "LANG", "titles of lessons in this language, two letters, where they have it", flags->language);
  add_out_flag(*command, *flags);
  return made;
}

}  // namespace headlight::app
