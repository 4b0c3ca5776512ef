#include "app/cli/subcommands.h"

#include <iostream>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "app/cli/output.h"
#include "app/lessons/card_runner.h"
#include "app/lessons/worksheet.h"
#include "app/state/usage.h"
#include "core/file.h"

namespace headlight::app {
namespace {

struct LessonFlags {
  std::string file, out, answers, language, device;
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

int run_worksheet(const LessonFlags& flags) {
  if (flags.out.empty() && flags.answers.empty())
    throw UsageError("name a file to write: --out FILE.pdf, --answers FILE.pdf");
  const Lesson lesson = lesson_of(flags);
  for (const auto& [file, has_answers] : {std::pair(&flags.out, false), std::pair(&flags.answers, true)}) {
    if (file->empty()) continue;
    if (!file->ends_with(".pdf")) throw UsageError("'{}' doesn't end in .pdf", *file);
    write_file_atomically(*file, worksheet_pdf(lesson, engine_of(flags), has_answers));
    tell_result(*file, {{"file", *file}});
  }
  return 0;
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

Subcommand add_worksheet_command(CLI::App& app) {
  const auto [command, flags, made] = begin_subcommand(app, "worksheet", run_worksheet);
  add_lesson_flags(*command, *flags);
  const FlagGroup files(*command, "Files");
  files.take("-o,--out", "FILE", "the .pdf file with empty grids", flags->out);
  files.take("--answers", "FILE", "the .pdf file with numbers and answers", flags->answers);
  return made;
}

}  // namespace headlight::app
