#include "app/data/prompts/prompt_set.h"

#include <set>

#include "app/state/json_reader.h"
#include "core/line_reader.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr JsonLimits kLineLimits{
    .bytes = std::size_t{1} << 20, .values = 100'000, .depth = 8, .allows_repeated_keys = false};
constexpr std::size_t kMaxName = 40, kMaxValues = 10'000;
constexpr std::size_t kMaxTemplateValues = 2 * kMaxValues;  ///< of all lists of a template

/// A text of a line; empty where it has none, unless it `is_needed`.
std::string text_of(const JsonReader& reader, const char* key, bool is_needed) {
  std::string text;
  reader.read(key, text);
  if (is_needed && text.empty()) throw Error("\"{}\": expected a text", key);
  if (text.size() > kMaxPromptBytes) throw Error("\"{}\": a text has at most {} bytes", key, kMaxPromptBytes);
  return text;
}

void refuse_unknown_members(const json& line, bool is_template) {
  static const std::set<std::string, std::less<>> kPrompt = {"text", "corrupted", "positions", "answer", "wrong"};
  static const std::set<std::string, std::less<>> kTemplate = {"template", "corrupted", "answer", "wrong",
                                                               "lists",    "count",     "seed"};
  for (const auto& [key, value] : line.items()) {
    if (!(is_template ? kTemplate : kPrompt).contains(key)) throw Error("\"{}\": no such member", key);
  }
}

/// A span: words of the text, where they are first, or [first byte, end byte].
NamedSpan read_span(const std::string& name, const json& value, const std::string& text) {
  const std::string path = "positions." + name;
  if (name.empty() || name.size() > kMaxName || name == "end") {
    throw Error("positions: \"{}\" can't be a name: one has 1 to {} bytes, and \"end\" is the last token", name, kMaxName);
  }
  NamedSpan span{.name = name};
  if (value.is_string()) {
    const std::string& words = value.get_ref<const std::string&>();
    span.begin = words.empty() ? std::string::npos : text.find(words);
    if (span.begin == std::string::npos) throw Error("{}: {} isn't in the text", path, shown(value));
    span.end = span.begin + words.size();
    return span;
  }
  if (!value.is_array() || value.size() != 2) throw Error("{}: expected words of the text, or [first byte, end]", path);
  span.begin = JsonReader::integer<std::size_t>(path, value[0], 0, text.size() - 1);
  span.end = JsonReader::integer<std::size_t>(path, value[1], span.begin + 1, text.size());
  return span;
}

SetPrompt read_prompt(const JsonReader& reader) {
  SetPrompt prompt{.text = text_of(reader, "text", true)};
  const json* positions = reader.find("positions");
  if (positions == nullptr) return prompt;
  if (!positions->is_object()) reader.fail("positions", "an object", *positions);
  if (positions->size() > kMaxPromptPositions) throw Error("positions: at most {}", kMaxPromptPositions);
  for (const auto& [name, value] : positions->items()) prompt.positions.push_back(read_span(name, value, prompt.text));
  return prompt;
}

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

/// A list of texts or, of several placeholders, of lists with one text each; or the name of another list.
TemplateList read_list(const json& lists, const std::string& key, const json& value) {
  const std::string path = "lists." + key;
  TemplateList list{.names = names_in(key)};
  for (const std::string& name : list.names) {
    const bool fits =
        !name.empty() && name.size() <= kMaxName && name.find_first_of("{}") == std::string::npos && name != "end";
    if (!fits) throw Error("{}: a placeholder's name has 1 to {} bytes, no braces, and isn't \"end\"", path, kMaxName);
  }
  const json* values = &value;
  if (value.is_string()) {
    const auto other = lists.find(value.get_ref<const std::string&>());
    if (other == lists.end()) throw Error("{}: there is no list {}", path, shown(value));
    values = &*other;
  }
  if (!values->is_array() || values->empty() || values->size() > kMaxValues) {
    throw Error("{}: expected a list of 1 to {} texts", path, kMaxValues);
  }
  for (const json& one : *values) {
    std::vector<std::string>& row = list.values.emplace_back();
    for (std::size_t column = 0; column < list.names.size(); ++column) {
      const bool is_row = one.is_array() && one.size() == list.names.size();
      const json& text = is_row ? one[column] : one;
      if (!text.is_string() || (list.names.size() > 1 && !is_row)) {
        throw Error("{}: expected {}, found {}", path,
                    list.names.size() > 1 ? fmt::format("a list of {} texts", list.names.size()) : "a text", shown(one));
      }
      row.push_back(text.get<std::string>());
    }
  }
  return list;
}

PromptTemplate read_template(const JsonReader& reader) {
  PromptTemplate one{.parts = {.text = text_of(reader, "template", true)}};
  const json* lists = reader.find("lists");
  if (lists == nullptr || !lists->is_object()) throw Error("\"lists\": expected an object with a list for each placeholder");
  if (lists->size() > kMaxPromptPositions) throw Error("lists: at most {}", kMaxPromptPositions);
  std::size_t values = 0;
  for (const auto& [key, value] : lists->items()) {
    one.lists.push_back(read_list(*lists, key, value));
    values += one.lists.back().values.size();
    if (values > kMaxTemplateValues) throw Error("lists: at most {} values in all", kMaxTemplateValues);
  }
  one.count = 1;
  reader.read("count", one.count, 1U, static_cast<std::uint32_t>(kMaxPrompts));
  reader.read("seed", one.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  return one;
}

std::vector<SetPrompt> read_line(const std::string& text, const std::function<void()>& checkpoint) {
  if (find_invalid_utf8(text) != std::string::npos) throw Error("the line isn't UTF-8");
  const Result<json> line = parse_json(text, kLineLimits);
  if (!line) {
    std::string error = line.error();
    constexpr std::string_view kOwnLine = "line 1, ";  // of this text: the caller names the file's
    if (const std::size_t at = error.find(kOwnLine); at != std::string::npos) error.erase(at, kOwnLine.size());
    throw Error("{}", error);
  }
  if (!line->is_object()) throw Error("expected an object, found {}", shown(*line));
  const JsonReader reader(*line, "");
  const bool is_template = line->contains("template");
  refuse_unknown_members(*line, is_template);
  PromptTemplate one;
  one.parts = is_template ? SetPrompt{} : read_prompt(reader);
  if (is_template) one = read_template(reader);
  one.parts.corrupted = text_of(reader, "corrupted", false);
  one.parts.answer = text_of(reader, "answer", true);
  one.parts.wrong = text_of(reader, "wrong", false);
  return is_template ? expand(one, checkpoint) : std::vector{one.parts};
}

}  // namespace

PromptSet read_prompt_set(const std::filesystem::path& file, const std::function<void()>& checkpoint) {
  LineReader reader(file);
  PromptSet set{.name = utf8(file.stem())};
  std::string text;
  std::size_t bytes = 0;
  for (std::size_t line = 1; reader.next(text); ++line) {
    if (text.find_first_not_of(" \t") == std::string::npos) continue;
    try {
      for (SetPrompt& prompt : read_line(text, checkpoint)) {
        prompt.line = line;
        bytes += prompt.text.size() + prompt.corrupted.size();
        if (set.prompts.size() == kMaxPrompts) throw Error("a set has at most {} prompts", kMaxPrompts);
        if (bytes > kMaxPromptSetBytes) throw Error("a set has at most {} MiB of text", kMaxPromptSetBytes >> 20);
        set.prompts.push_back(std::move(prompt));
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      throw Error(ErrorKind::InvalidInput, "{}, line {}: {}", reader.name(), line, error.what());
    }
  }
  if (set.prompts.empty()) throw Error(ErrorKind::InvalidInput, "{} has no prompts: write one a line", reader.name());
  return set;
}

}  // namespace headlight::app
