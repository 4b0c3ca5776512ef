#include "text/chat_turns.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/json.h"

namespace headlight::text {
namespace {

constexpr std::array<std::string_view, 5> kTurnRoles = {"system", "developer", "user", "assistant", "tool"};

constexpr std::string_view kSpaces = " \t\r\n\v\f";

std::vector<ChatTurn> messages_of(std::string_view text) {
  // The check bounds depth and size; parsed again, members keep their order.
  const nlohmann::ordered_json list =
      parse_json(text) ? nlohmann::ordered_json::parse(text, nullptr, false) : nlohmann::ordered_json();
  if (!list.is_array())
    throw Error("the chat begins as JSON, but isn't a list of messages: [{{\"role\": \"user\", \"content\": \"…\"}}]");
  std::vector<ChatTurn> turns;
  for (const nlohmann::ordered_json& message : list) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      throw Error("message {} of the chat has no \"role\"", turns.size() + 1);
    turns.push_back({message});
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
  if (last_role() == "assistant") {
    const std::string_view all = last_text();
    const std::size_t end = all.find_last_not_of(kSpaces);
    trailing = all.substr(end == std::string_view::npos ? 0 : end + 1);
    if (end == std::string_view::npos) turns.pop_back();
  }
  if (turns.empty()) throw Error("the chat has no turn: type at least one");
  is_open = last_role() == "assistant";
}

std::string_view Chat::last_text() const {
  const auto content = turns.back().message.find("content");
  const bool is_text = content != turns.back().message.end() && content->is_string();
  return is_text ? std::string_view(content->get_ref<const std::string&>()) : std::string_view();
}

}  // namespace headlight::text
