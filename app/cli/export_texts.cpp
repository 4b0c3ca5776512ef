#include "app/cli/export_texts.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/progress_bar.h"
#include "app/cli/text_lines.h"
#include "app/exports/plan.h"
#include "app/exports/record.h"
#include "app/exports/text_index.h"
#include "app/state/portable_state.h"
#include "app/state/usage.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

constexpr std::size_t kLongestLine = std::size_t{16} << 20;
constexpr std::size_t kLongestId = 80;  // bytes of a folder's name

/// A line of the input.
struct InputText {
  std::string text, pair, target, id;

  /// As the index knows it.
  std::string key() const { return pair.empty() && target.empty() ? text : text + "\t" + pair + "\t" + target; }
};

/// The lines of a file, or of standard input.
class InputLines {
 public:
  explicit InputLines(const std::string& path) : path_(path), reads_input_(path == "-") {
    if (reads_input_) return;
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path_, failure)) throw Error("can't read {}: it is not a file", path_);
    file_.open(path_, std::ios::binary);
    if (!file_) throw Error("can't read {}: it can't be opened", path_);
    while (std::getline(file_, line_)) ++count_;
    file_.clear();
    file_.seekg(0);
  }

  /// 0: not known yet.
  std::size_t count() const { return count_; }

  std::optional<std::string> next() {
    if (reads_input_ ? !read_input_line(line_) : !std::getline(file_, line_)) return std::nullopt;
    if (line_.size() > kLongestLine) throw Error("it has more than {} bytes", kLongestLine);
    if (line_.ends_with('\r')) line_.pop_back();
    return line_;
  }

 private:
  std::string path_, line_;
  bool reads_input_ = false;
  std::ifstream file_;
  std::size_t count_ = 0;
};

std::string member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (found->is_number_integer()) return found->dump();
  if (!found->is_string()) throw Error("{} is {}; it is a text", name, shown(*found));
  return found->get<std::string>();
}

InputText parse_line(const std::string& line, bool is_jsonl) {
  const std::size_t broken = find_invalid_utf8(line);
  if (broken != std::string::npos) throw Error("byte {} is not UTF-8: convert the text", broken);
  if (!is_jsonl) return {.text = line, .pair = {}, .target = {}, .id = {}};
  const Result<nlohmann::json> object = parse_json(line, {.bytes = kLongestLine, .values = 4096, .depth = 16});
  if (!object) throw Error("{}", object.error());
  if (!object->is_object() || !object->contains("text")) {
    throw Error("found {}; expected an object as {{\"text\": \"…\"}}", shown(*object));
  }
  return {.text = member(*object, "text"),
          .pair = member(*object, "pair"),
          .target = member(*object, "target"),
          .id = member(*object, "id")};
}

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
  if (has_lines && !(is_model(own.source) && own.model().joins_lines)) {
    throw Error("the text has several lines; --join-lines on makes them one text of a model");
  }
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

int export_texts(Runner& runner, const ExportFlags& flags, const ExportOptions& options, const State& state) {
  InputLines lines(flags.texts);
  const bool is_jsonl = flags.is_jsonl || flags.texts.ends_with(".jsonl");
  TextIndex index(options.directory, settings_of(options, state));
  ProgressBar bar("texts", false);
  Counts counts;
  std::uint64_t number = 0;
  const auto answer = [&](const std::string& line) {
    const InputText input = parse_line(line, is_jsonl);
    if (input.text.find_first_not_of(" \t\n\r") == std::string::npos) return;
    if (index.has(number, input.key())) {
      ++counts.known;
      return;
    }
    ExportOptions own = options;
    const State own_state = state_of(state, input);
    own.inputs = run_inputs(own_state);
    IndexedText done{.line = number, .folder = folder_of(number, input.id), .text = input.key()};
    own.directory = options.directory / done.folder;
    if (flags.has_session) own.session = portable_state(own_state, own.directory);
    try {
      const ExportReport report = run_export(runner, own);
      done.files = report.files.size();
      ++counts.written;
      for (const std::string& note : report.notes) {
        if (counts.written > 1) break;  // the same of every text
        bar.clear();
        std::cerr << "headlight: note: " << note << '\n';
      }
    } catch (const NoSuchToken&) {
      done.folder.clear();
      done.note = "without the tokens";
      ++counts.left_out;
    }
    index.add(done);
  };
  while (true) {
    bar.show(number, lines.count());
    try {
      const std::optional<std::string> line = lines.next();
      if (!line) break;
      answer(*line);
    } catch (const UsageError& error) {
      throw UsageError("line {}: {}", number + 1, error.what());
    } catch (const Error& error) {
      throw Error(error.kind(), "line {}: {}", number + 1, error.what());
    }
    ++number;
  }
  bar.clear();
  std::cout << fmt::format("{} texts in {}{}{}\n", counts.written + counts.known, options.directory.string(),
                           counts.known > 0 ? fmt::format(", {} of them from before", counts.known) : "",
                           counts.left_out > 0 ? fmt::format("; {} without the tokens", counts.left_out) : "");
  return 0;
}

}  // namespace headlight::app
