#include "app/cli/export_flags.h"

#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/output.h"
#include "app/figures/export_plan.h"
#include "app/figures/plan.h"
#include "app/figures/text_index.h"
#include "app/state/session_file.h"
#include "app/state/usage.h"
#include "core/error.h"
#include "core/json.h"
#include "core/line_reader.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

constexpr std::size_t kLongestId = 80;  // bytes of a folder's name

/// A line of the input.
struct InputText {
  std::string text, pair, target, id;

  /// As the index knows it.
  std::string key() const { return pair.empty() && target.empty() ? text : text + "\t" + pair + "\t" + target; }
};

/// How many lines a file has, for the progress: 0 of standard input. What can't be read ends the export here, before
/// anything is computed.
std::size_t count_lines(const std::string& path) {
  if (path == kStandardInput) return 0;
  LineReader lines(path);
  std::size_t count = 0;
  for (std::string line; lines.next(line);) ++count;
  return count;
}

std::string member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (found->is_number_integer()) return found->dump();
  if (!found->is_string()) throw Error("{} is {}; it is a text", name, shown(*found));
  return found->get<std::string>();
}

InputText parse_line(const std::string& line, bool is_jsonl, const std::string& field) {
  const std::size_t broken = find_invalid_utf8(line);
  if (broken != std::string::npos) throw Error("byte {} is not UTF-8: convert the text", broken);
  if (!is_jsonl) return {.text = line, .pair = {}, .target = {}, .id = {}};
  const nlohmann::json object = parse_json_line(line, field);
  return {.text = member(object, field.c_str()),
          .pair = member(object, "pair"),
          .target = member(object, "target"),
          .id = member(object, "id")};
}

bool is_blank_input(const std::string& text) { return text.find_first_not_of(" \t\n\r") == std::string::npos; }

/// "000012", or "000012_q-17": what isn't a letter, a digit or one of "._-" in an id is a "-".
std::string folder_of(std::uint64_t line, const std::string& id) {
  std::string name = fmt::format("{:06}", line);
  if (id.empty()) return name;
  name += '_';
  for (const char letter : id.substr(0, kLongestId)) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
    name += is_plain ? letter : '-';
  }
  return name;
}

State state_of(const State& state, const InputText& input) {
  State own = state;
  const bool has_lines = input.text.find('\n') != std::string::npos;
  if (has_lines && !is_model(own.source))
    throw Error("the text has several lines, which only a model reads: name one with --model");
  if (has_lines) own.model().joins_lines = true;
  own.text() = input.text;
  const bool has_more = !input.pair.empty() || !input.target.empty();
  if (has_more && !is_model(own.source)) throw Error("pair and target are for trained models: name one with --model");
  if (!input.pair.empty()) own.model().pair_text = input.pair;
  if (!input.target.empty()) own.model().target_text = input.target;
  return own;
}

exporting::Json settings_of(const ExportOptions& options, const State& state) {
  State bare = state;
  bare.text().clear();
  exporting::Json settings = describe_settings(options);
  settings["state"] = exporting::Json::parse(portable_state(bare, options.directory));
  return settings;
}

/// What was done with the lines so far.
struct Counts {
  std::size_t written = 0, known = 0, left_out = 0;
};

}  // namespace

int export_texts(Runner* runner, const ExportFlags& flags, const ExportOptions& options, const State& state) {
  const std::size_t line_count = count_lines(flags.texts);
  LineReader lines(flags.texts);
  const bool is_jsonl = flags.is_jsonl || is_json_lines(flags.texts);
  std::optional<TextIndex> index;
  if (runner != nullptr) index.emplace(options.directory, settings_of(options, state));
  ExportReport planned;  // of a dry run: all texts'
  ProgressBar bar("texts", false);
  Counts counts;
  std::uint64_t number = 0;
  const auto answer = [&](const std::string& line) {
    if (is_blank_input(line)) return;
    const InputText input = parse_line(line, is_jsonl, flags.field);
    if (is_blank_input(input.text)) return;
    const std::string folder = folder_of(number, input.id);
    if (index) index->move(number, folder);
    if (index && index->has(number, input.key())) {
      ++counts.known;
      return;
    }
    ExportOptions own = options;
    const State own_state = state_of(state, input);
    own.inputs = run_inputs(own_state);
    IndexedText done{.line = number, .folder = folder, .text = input.key()};
    own.directory = options.directory / done.folder;
    if (flags.has_session) own.session = portable_state(own_state, own.directory);
    try {
      const ExportReport report = runner != nullptr ? run_export(*runner, own) : plan_run(own);
      if (runner == nullptr) {
        planned.files.insert(planned.files.end(), report.files.begin(), report.files.end());
        planned.bytes.insert(planned.bytes.end(), report.bytes.begin(), report.bytes.end());
      }
      done.files = report.files.size();
      ++counts.written;
      for (const std::string& note : report.notes) {
        if (counts.written > 1) break;  // the same of every text
        bar.clear();
        tell_note(note);
      }
    } catch (const NoSuchToken&) {
      done.folder.clear();
      done.note = "without the tokens";
      ++counts.left_out;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::NoToken) throw;
      return;
    }
    if (index) index->add(done);
  };
  std::optional<platform::LastWords> left;
  for (std::string line; lines.next(line); ++number) {
    if (index) {
      say_if_interrupted(left, fmt::format("{} texts, after which the same command goes on,", counts.written + counts.known),
                         options.directory);
    }
    bar.show(number, line_count);
    try {
      answer(line);
    } catch (const UsageError& error) {
      throw UsageError("line {}: {}", number + 1, error.what());
    } catch (const Error& error) {
      throw Error(error.kind(), "line {}: {}", number + 1, error.what());
    }
  }
  bar.clear();
  if (runner == nullptr) {
    tell_report(planned, options.directory, true);
    return 0;
  }
  tell_result(
      fmt::format("{} texts in {}{}{}", counts.written + counts.known, one_line(utf8(options.directory)),
                  counts.known > 0 ? fmt::format(", {} of them from before", counts.known) : "",
                  counts.left_out > 0 ? fmt::format("; {} without the tokens", counts.left_out) : ""),
      {{"texts", counts.written + counts.known}, {"from_before", counts.known}, {"without_tokens", counts.left_out}});
  return 0;
}

}  // namespace headlight::app
