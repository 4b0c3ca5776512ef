#include "text/chat_template.h"

#include <algorithm>
#include <array>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "text/folder_notes.h"
#include "text/json_node.h"
#include "text/template_run.h"
#include "text/tokenizer.h"
#include "text/utf8_repair.h"

namespace headlight::text {
namespace {

constexpr std::size_t kLargestTemplate = std::size_t{1} << 20;
constexpr std::array<std::string_view, 5> kTurnRoles = {"system", "developer", "user", "assistant", "tool"};

/// A message of a chat, and where its content is in the typed text; nowhere in JSON.
struct Turn {
  TemplateJson message;
  ByteRange typed = {};
};

constexpr std::string_view kSpaces = " \t\r\n\v\f";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

/// The role that a line begins with, "User: hello"; empty where it has none.
std::string_view role_of(std::string_view line) {
  const auto is_role = [&](std::string_view role) {
    return line.size() > role.size() && line[role.size()] == ':' &&
           std::ranges::equal(line.substr(0, role.size()), role,
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 0x20) : a) == b; });
  };
  const auto role = std::ranges::find_if(kTurnRoles, is_role);
  return role == kTurnRoles.end() ? std::string_view() : *role;
}

std::vector<Turn> read_messages(std::string_view text) {
  // The check bounds depth and size; parsed again, members keep their order.
  const TemplateJson list = parse_json(text) ? TemplateJson::parse(text, nullptr, false) : TemplateJson();
  if (!list.is_array())
    throw Error("the chat begins as JSON, but isn't a list of messages: [{{\"role\": \"user\", \"content\": \"…\"}}]");
  std::vector<Turn> turns;
  for (const TemplateJson& message : list) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      throw Error("message {} of the chat has no \"role\"", turns.size() + 1);
    turns.push_back({message});
  }
  return turns;
}

std::vector<Turn> read_lines(std::string_view text) {
  std::vector<Turn> turns;
  const auto add = [&](std::string_view role, std::string_view content) {
    const bool is_open = role == "assistant" && content.data() + content.size() == text.data() + text.size();
    if (!is_open) {
      content = trimmed(content);
    } else if (trimmed(content).empty()) {
      content.remove_prefix(content.starts_with(' ') ? 1 : 0);
    } else {
      content.remove_prefix(content.find_first_not_of(kSpaces));
    }
    const auto begin = static_cast<std::uint32_t>(content.empty() ? 0 : content.data() - text.data());
    turns.push_back({{{"role", role}, {"content", content}}, {begin, begin + static_cast<std::uint32_t>(content.size())}});
  };
  std::string_view role = "user";
  std::size_t content = 0;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t next = std::min(text.find('\n', line), text.size() - 1) + 1;
    if (const std::string_view found = role_of(text.substr(line, next - line)); !found.empty()) {
      if (line > 0 && (!turns.empty() || content > 0 || !trimmed(text.substr(0, line)).empty()))
        add(role, text.substr(content, line - content));
      role = found;
      content = line + found.size() + 1;
    }
    line = next;
  }
  add(role, text.substr(content));
  return turns;
}

/// A chat as the template gets it. An empty turn of the assistant at the end asks for the generation prompt, as none does.
struct Chat {
  std::vector<Turn> turns;
  bool is_open = false;  ///< its last turn is the assistant's
  std::string trailing;  ///< white space at the end of that turn, which templates may trim but a model may have written

  explicit Chat(std::string_view text) {
    const std::string_view content = trimmed(text);
    if (content.empty()) throw Error("the chat has no turn: type at least one");
    const bool is_json = content.starts_with("[{") || content.starts_with("[ {") || content.starts_with("[\n");
    turns = is_json ? read_messages(content) : read_lines(text);
    if (last_role() == "assistant") {
      const std::string_view all = last_text();
      const std::size_t end = all.find_last_not_of(kSpaces);
      trailing = all.substr(end == std::string_view::npos ? 0 : end + 1);
      if (end == std::string_view::npos) turns.pop_back();
    }
    if (turns.empty()) throw Error("the chat has no turn: type at least one");
    is_open = last_role() == "assistant";
  }

  std::string last_role() const { return turns.empty() ? "" : turns.back().message["role"].get<std::string>(); }
  std::string_view last_text() const {
    const auto content = turns.back().message.find("content");
    const bool is_text = content != turns.back().message.end() && content->is_string();
    return is_text ? std::string_view(content->get_ref<const std::string&>()) : std::string_view();
  }
};

ChatTemplate::Variables variables_of(const std::filesystem::path& folder) {
  const SpecialTokenStrings special = read_folder_notes(folder).special;
  ChatTemplate::Variables variables;
  const std::pair<const char*, const std::optional<std::string>*> all[] = {
      {"bos_token", &special.beginning}, {"eos_token", &special.end},       {"pad_token", &special.padding},
      {"unk_token", &special.unknown},   {"sep_token", &special.separator}, {"cls_token", &special.classification},
      {"mask_token", &special.mask}};
  for (const auto& [name, token] : all) {
    if (*token) variables.emplace_back(name, **token);
  }
  return variables;
}

/// A template, or a list of them with names, of which "default" is for chats without tools.
std::string template_of(const JsonNode& node) {
  if (!node.value().is_array()) return node.string();
  const std::vector<JsonNode> list = node.items();
  const auto usual = std::ranges::find_if(list, [](const JsonNode& one) { return one.at("name").string() == "default"; });
  if (usual == list.end()) node.fail("has no template of the name default");
  return usual->at("template").string();
}

}  // namespace

std::shared_ptr<const ChatTemplate> ChatTemplate::load(const std::filesystem::path& folder) {
  const auto make = [&](const std::filesystem::path& file, const std::string& source) {
    try {
      return std::make_shared<const ChatTemplate>(source, variables_of(folder));
    } catch (const LocatedError&) {
      throw;
    } catch (const Error& error) {
      throw Error("{}: {}", file.string(), error.what());
    }
  };
  if (const std::filesystem::path file = folder / "chat_template.jinja"; std::filesystem::exists(file))
    return make(file, read_file(file));
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const std::filesystem::path file = folder / name;
    if (!std::filesystem::exists(file)) continue;
    const nlohmann::json document = read_json(file);
    const JsonNode root(document, fmt::format("{}: ", file.string()));
    if (const auto node = root.find("chat_template")) return make(file, template_of(*node));
  }
  return nullptr;
}

ChatTemplate::ChatTemplate(std::string_view source, Variables variables) : variables_(std::move(variables)) {
  if (source.size() > kLargestTemplate)
    throw Error("the chat template has {} bytes, more than {}", source.size(), kLargestTemplate);
  can_think_ = source.find("enable_thinking") != std::string_view::npos;
  const RepairedUtf8 repaired(source);
  try {
    parsed_ = std::make_unique<const TemplateNode>(parse_template(repaired.text()));
  } catch (const Error& error) {
    throw Error("the chat template can't be run: {}", error.what());
  }
}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

namespace {

std::string render_chat(const TemplateNode& parsed, const ChatTemplate::Variables& strings, const Chat& chat,
                        bool has_switch, bool thinks) {
  TemplateJson variables = {{"tools", nullptr},
                            {"documents", nullptr},
                            {"add_generation_prompt", !chat.is_open},
                            {"messages", TemplateJson::array()}};
  for (const auto& [name, token] : strings) variables[name] = token;
  for (const Turn& turn : chat.turns) variables["messages"].push_back(turn.message);
  if (has_switch) variables["enable_thinking"] = thinks;
  std::string text;
  try {
    text = run_template(parsed, variables);
  } catch (const Error& error) {
    throw Error("the model's chat template: {}", error.what());
  }
  if (chat.is_open) {
    const std::string_view last = trimmed(chat.last_text());
    const std::size_t at = text.rfind(last);
    if (at == std::string::npos)
      throw Error("the model's chat template changes the assistant's last turn: end with another one");
    text.resize(at + last.size());
  }
  return text + chat.trailing;
}

/// Where contents of turns are in the text that the template made, in their order.
std::vector<std::pair<ByteRange, ByteRange>> place_turns(const Chat& chat, std::string_view typed, const std::string& text) {
  std::vector<std::pair<ByteRange, ByteRange>> places;
  std::size_t from = 0;
  for (const Turn& turn : chat.turns) {
    const std::string_view content = typed.substr(turn.typed.begin, turn.typed.end - turn.typed.begin);
    const std::size_t at = content.empty() ? std::string::npos : text.find(content, from);
    if (at == std::string::npos) continue;
    from = at + content.size();
    places.push_back({{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(from)}, turn.typed});
  }
  return places;
}

}  // namespace

std::string ChatTemplate::render(std::string_view chat, bool thinks) const {
  const RepairedUtf8 repaired(chat);
  return render_chat(*parsed_, variables_, Chat(repaired.text()), can_think_, thinks);
}

std::vector<Token> ChatTemplate::encode(const Tokenizer& tokenizer, std::string_view chat, bool thinks) const {
  const RepairedUtf8 repaired(chat);
  const Chat turns(repaired.text());
  const std::string text = render_chat(*parsed_, variables_, turns, can_think_, thinks);
  const auto places = place_turns(turns, repaired.text(), text);
  std::vector<Token> tokens = tokenizer.encode(text, false);
  for (Token& token : tokens) {
    const auto place = std::ranges::find_if(
        places, [&](const auto& of) { return token.bytes.begin < of.first.end && token.bytes.end > of.first.begin; });
    if (place == places.end()) {
      token.bytes = {};
      continue;
    }
    const auto& [rendered, typed] = *place;
    const std::uint32_t begin = std::max(token.bytes.begin, rendered.begin), end = std::min(token.bytes.end, rendered.end);
    token.bytes = repaired.original({begin - rendered.begin + typed.begin, end - rendered.begin + typed.begin});
  }
  return tokens;
}

std::string ChatTemplate::with_answer(std::string_view chat, std::string_view more) {
  const Chat now(chat);
  const std::string_view content = trimmed(chat);
  if (now.turns.front().typed.is_empty() && content.starts_with('[')) {
    TemplateJson messages = TemplateJson::parse(content, nullptr, false);
    if (!now.is_open) messages.push_back({{"role", "assistant"}, {"content", ""}});
    messages.back()["content"] = std::string(now.is_open ? now.last_text() : "") + std::string(more);
    return to_text(messages, -1);
  }
  const std::size_t line = chat.rfind('\n') == std::string_view::npos ? 0 : chat.rfind('\n') + 1;
  const bool has_turn = now.is_open || !now.trailing.empty() || role_of(chat.substr(line)) == "assistant";
  if (has_turn) return std::string(chat) + std::string(more);
  more.remove_prefix(std::min(more.find_first_not_of(' '), more.size()));
  return fmt::format("{}{}assistant: {}", chat, chat.ends_with('\n') ? "" : "\n", more);
}

}  // namespace headlight::text
