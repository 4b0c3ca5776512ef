#include "text/chat_turns.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/json.h"

namespace headlight::text {
namespace {

constexpr std::array<std::string_view, 5> kTurnRoles = {"system", "developer", "user", "assistant", "tool"};

constexpr std::string_view kSpaces = " \t\r\n\v\f";

/// Returns the message as transformers gives it to templates: members that are null are left out, and a model's
/// thoughts have both names.
ChatJson as_given(const ChatJson& message) {
  ChatJson given = ChatJson::object();
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) given[key] = value;
  }
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    if (!given.contains(name)) continue;
    const ChatJson thoughts = given[name];
    if (!given.contains("thinking")) given["thinking"] = thoughts;
    given["reasoning_content"] = thoughts;
    break;
  }
  return given;
}

std::vector<ChatTurn> messages_of(std::string_view text) {
  // The check bounds depth and size; parsed again, members keep their order.
  const ChatJson list = parse_json(text) ? ChatJson::parse(text, nullptr, false) : ChatJson();
  if (!list.is_array())
    throw Error("the chat begins as JSON, but isn't a list of messages: [{{\"role\": \"user\", \"content\": \"…\"}}]");
  std::vector<ChatTurn> turns;
  for (const ChatJson& message : list) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      throw Error("message {} of the chat has no \"role\"", turns.size() + 1);
    turns.push_back({as_given(message)});
  }
  return turns;
}

std::vector<ChatTurn> turns_of(std::string_view text) {
  std::vector<ChatTurn> turns;
  const auto add = [&](std::string_view role, std::string_view content) {
    const bool is_open = role == "assistant" && content.data() + content.size() == text.data() + text.size();
    if (!is_open) {
      content = trim_chat(content);
    } else if (trim_chat(content).empty()) {
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
    if (const std::string_view found = role_of_line(text.substr(line, next - line)); !found.empty()) {
      if (line > 0 && (!turns.empty() || content > 0 || !trim_chat(text.substr(0, line)).empty()))
        add(role, text.substr(content, line - content));
      role = found;
      content = line + found.size() + 1;
    }
    line = next;
  }
  add(role, text.substr(content));
  return turns;
}

}  // namespace

std::string_view trim_chat(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

std::string_view role_of_line(std::string_view line) {
  const auto is_role = [&](std::string_view role) {
    return line.size() > role.size() && line[role.size()] == ':' &&
           std::ranges::equal(line.substr(0, role.size()), role,
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 0x20) : a) == b; });
  };
  const auto role = std::ranges::find_if(kTurnRoles, is_role);
  return role == kTurnRoles.end() ? std::string_view() : *role;
}

std::vector<ByteRange> role_ranges(std::string_view text) {
  std::vector<ByteRange> ranges;
  for (std::size_t line = 0; line < text.size(); line = std::min(text.find('\n', line), text.size() - 1) + 1) {
    const auto begin = static_cast<std::uint32_t>(line);
    if (const std::string_view role = role_of_line(text.substr(line)); !role.empty())
      ranges.push_back({begin, begin + static_cast<std::uint32_t>(role.size()) + 1});
  }
  return ranges;
}

Chat::Chat(std::string_view text) {
  const std::string_view content = trim_chat(text);
  if (content.empty()) throw Error("the chat has no turn: type at least one");
  const bool is_json = content.starts_with("[{") || content.starts_with("[ {") || content.starts_with("[\n");
  turns = is_json ? messages_of(content) : turns_of(text);
  std::string* last = last_role() == "assistant" ? text_of(turns.back().message) : nullptr;
  if (last == nullptr) return;
  const std::size_t end = last->find_last_not_of(kSpaces) + 1;
  trailing = last->substr(end);
  last->resize(end);
  is_open = end > 0;
  if (!is_open && turns.back().message.size() == 2) turns.pop_back();
  if (turns.empty()) throw Error("the chat has no turn: type at least one");
}

std::string* text_of(ChatJson& message) {
  const auto content = message.find("content");
  if (content == message.end()) return nullptr;
  if (content->is_string()) return content->get_ptr<std::string*>();
  for (std::size_t i = content->is_array() ? content->size() : 0; i-- > 0;) {
    ChatJson& part = (*content)[i];
    if (part.is_object() && part.contains("text")) return part["text"].get_ptr<std::string*>();
  }
  return nullptr;
}

}  // namespace headlight::text
