#include "app/state/state_json.h"

#include <array>

#include "app/state/field.h"
#include "app/state/json_reader.h"
#include "core/error.h"
#include "core/file.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

using nlohmann::json;

struct KnownContent {
  std::string_view begins;  ///< the file's first bytes
  std::string_view is;
};

constexpr auto kKnown =
    std::to_array<KnownContent>({{"GGUF", "it is a GGUF model, which is opened as one (Ctrl+O, --model)"},
                                 {"PK\x03\x04", "it is a zip archive; a capture in one is named .npz (--capture)"},
                                 {"\x93NUMPY", "it is a NumPy array; a mask in one is named .npy (--mask-file)"},
                                 {"\x89PNG", "it is a PNG image; a figure that carries a session is named .png"},
                                 {"%PDF", "it is a PDF; a figure that carries a session is named .pdf"},
                                 {"<svg", "it is an SVG image; a figure that carries a session is named .svg"},
                                 {"<?xml", "it is XML; a figure that carries a session is named .svg"}});

/// Returns what a content is that can't be JSON's; empty where it may be JSON that is broken.
std::string other_kind(std::string_view content) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "it is empty";
  for (const KnownContent& known : kKnown) {
    if (content.starts_with(known.begins)) return std::string(known.is);
  }
  if (content[first] == '{' || content[first] == '[') return {};
  // The header of a .safetensors file is JSON after its length.
  if (content.size() > 8 && content[8] == '{') return "it is a .safetensors file under another name";
  const bool is_text = find_invalid_utf8(content) == std::string_view::npos && content.find('\0') == std::string_view::npos;
  return is_text ? "it is a text, which is opened as one (File, Open text; --text-file)" : "it is a binary file";
}

State read_state(const json& value) {
  const JsonReader whole(value, "");
  State state;
  for (const Field& field : state_fields()) {
    if (field.group.empty()) {
      field.read(whole, field.key.c_str(), state);
    } else if (const json* object = whole.find(field.group.c_str())) {
      field.read(JsonReader(*object, field.group), field.key.c_str(), state);
    }
  }
  return state;
}

}  // namespace

json to_json(const inference::PlaygroundSettings& settings) {
  State state;
  state.playground().settings = settings;
  json value = json::object();
  for (const Field& field : state_fields()) {
    if (field.group == "playground") value[field.key] = field.write(state);
  }
  return value;
}

json to_json(const State& state) {
  json value = json::object();
  for (const Field& field : state_fields()) {
    json& object = field.group.empty() ? value : value[field.group];
    object[field.key] = field.write(state);
  }
  return value;
}

json with_color_range(json state, const char* range) {
  const json::json_pointer member("/view/color_range");
  if (state.contains(member) && state[member] == "absolute") state[member] = range;
  return state;
}

Result<State> state_from_json(const json& value) {
  try {
    return read_state(with_color_range(value, "quantile"));
  } catch (const Error& error) {
    return Failure{error.what()};
  } catch (const json::exception& error) {
    return Failure{one_line(error.what())};
  }
}

std::string refusal_of_json(std::string_view content, const std::string& problem, std::string_view expected) {
  const std::string kind = other_kind(content);
  return fmt::format("{}{}{}; expected {}", problem, kind.empty() ? "" : ": ", kind, expected);
}

nlohmann::json read_chosen_json(const std::filesystem::path& path, std::string_view expected, const JsonLimits& limits) {
  const std::string content = read_file(path, limits.bytes);
  Result<nlohmann::json> document = parse_json(content, limits);
  if (!document) throw Error("{}: {}", utf8(path), refusal_of_json(content, document.error(), expected));
  return std::move(document).value();
}

}  // namespace headlight::app
