#include "text/chat_template.h"

#include <algorithm>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "text/chat_turns.h"
#include "text/folder_notes.h"
#include "text/json_node.h"
#include "text/template_run.h"
#include "text/tokenizer.h"
#include "text/utf8_repair.h"

namespace headlight::text {
namespace {

constexpr std::size_t kLargestTemplate = std::size_t{1} << 20;
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
  for (const ChatTurn& turn : chat.turns) variables["messages"].push_back(turn.message);
  if (has_switch) variables["enable_thinking"] = thinks;
  std::string text;
  try {
    text = run_template(parsed, variables);
  } catch (const Error& error) {
    throw Error("the model's chat template: {}", error.what());
  }
  if (chat.is_open) {
    const std::string_view last = trim_chat(chat.last_text());
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
  for (const ChatTurn& turn : chat.turns) {
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
  const std::string_view content = trim_chat(chat);
  if (now.turns.front().typed.is_empty() && content.starts_with('[')) {
    TemplateJson messages = TemplateJson::parse(content, nullptr, false);
    if (!now.is_open) messages.push_back({{"role", "assistant"}, {"content", ""}});
    messages.back()["content"] = std::string(now.is_open ? now.last_text() : "") + std::string(more);
    return to_text(messages, -1);
  }
  const std::size_t line = chat.rfind('\n') == std::string_view::npos ? 0 : chat.rfind('\n') + 1;
  const bool has_turn = now.is_open || !now.trailing.empty() || role_of_line(chat.substr(line)) == "assistant";
  if (has_turn) return std::string(chat) + std::string(more);
  more.remove_prefix(std::min(more.find_first_not_of(' '), more.size()));
  return fmt::format("{}{}assistant: {}", chat, chat.ends_with('\n') ? "" : "\n", more);
}

}  // namespace headlight::text
