#include "text/chat_template.h"

#include <algorithm>
#include <span>

#include <fmt/ranges.h>

#include "core/error.h"
#include "core/file.h"
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
constexpr std::size_t kLargestText = std::size_t{64} << 20;  // bytes that are made on the way, and steps (core/budget.h)
constexpr std::size_t kMaxMarks = 64;                        // that a note could name
constexpr std::size_t kTokenCost = 16;                       // of a byte that may be a token by itself
constexpr std::size_t kPasses = 64;                          // over the whole chat, on top
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
      throw Error("{}: {}", utf8(file), error.what());
    }
  };
  if (const std::filesystem::path file = folder / "chat_template.jinja"; std::filesystem::exists(file))
    return make(file, read_file(file));
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const std::filesystem::path file = folder / name;
    if (!std::filesystem::exists(file)) continue;
    const nlohmann::json document = read_json(file);
    const JsonNode root(document, fmt::format("{}: ", utf8(file)));
    if (const auto node = root.find("chat_template")) return make(file, template_of(*node));
  }
  return nullptr;
}

ChatTemplate::ChatTemplate(std::string_view source, Variables variables) : variables_(std::move(variables)) {
  if (source.size() > kLargestTemplate)
    throw Error("the chat template has {} bytes, more than {}", source.size(), kLargestTemplate);
  can_think_ = source.find("enable_thinking") != std::string_view::npos;
  for (std::size_t at = 0; (at = source.find("<|", at)) != std::string_view::npos; ++at) {
    const std::size_t end = source.find_first_of(" \n'\"{>", at + 2);
    if (end == std::string_view::npos || source[end] != '>' || source[end - 1] != '|' || end < at + 4) continue;
    const std::string mark(source.substr(at, end + 1 - at));
    if (std::ranges::find(marks_, mark) == marks_.end() && marks_.size() < kMaxMarks) marks_.push_back(mark);
  }
  const RepairedUtf8 repaired(source);
  try {
    Budget nodes(kLargestTemplate * 32, "it has more parts than a chat template may");
    parsed_ = std::make_unique<const TemplateNode>(parse_template(repaired.text(), nodes));
  } catch (const Error& error) {
    throw Error("the chat template can't be run: {}", error.what());
  }
}

std::string ChatTemplate::note_of_marks(const Tokenizer& tokenizer) const {
  std::vector<std::string> pieces;
  for (const std::string& mark : marks_) {
    if (tokenizer.encode(mark, false).size() != 1) pieces.push_back(mark);
  }
  if (pieces.empty()) return {};
  return fmt::format(
      "the chat template writes {}, which this vocabulary has in pieces: the model may not know them as marks",
      fmt::join(pieces, ", "));
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

namespace {

/// Writes messages with a template, with one budget for all that it writes of a chat.
class ChatWriter {
 public:
  ChatWriter(const TemplateNode& parsed, const ChatTemplate::Variables& strings, Thinking thinking, std::string_view chat)
      : parsed_(parsed),
        strings_(strings),
        thinking_(thinking),
        budget_(kLargestText + kPasses * chat.size(), "it takes more steps or makes more text than a chat template may") {}

  std::string write(std::span<const ChatTurn> turns, bool asks) {
    ChatJson variables = {
        {"tools", nullptr}, {"documents", nullptr}, {"add_generation_prompt", asks}, {"messages", ChatJson::array()}};
    for (const auto& [name, token] : strings_) variables[name] = token;
    for (const ChatTurn& turn : turns) variables["messages"].push_back(turn.message);
    if (thinking_ != Thinking::Unset) variables["enable_thinking"] = thinking_ == Thinking::On;
    try {
      return run_template(parsed_, variables, budget_);
    } catch (const Error& error) {
      throw Error("the model's chat template: {}", error.what());
    }
  }

  /// The bytes that are made of each byte of a text.
  void spend_tokens(const std::string& text) { budget_.spend(text.size() * kTokenCost); }

  /// An open answer ends where a mark after its content is: the template may write the same letters around it.
  std::string write(const Chat& chat) {
    if (!chat.is_open) return write(chat.turns, true) + chat.trailing;
    constexpr std::string_view kMark =
        "\uE000\uE001\uE000";  // letters for private use: no case, no white space, in no JSON escape
    std::vector<ChatTurn> turns = chat.turns;
    std::string& content = *text_of(turns.back().message);
    const std::string answer(trim_chat(content));
    content += kMark;
    std::string text = write(turns, false);
    const std::size_t end = text.rfind(kMark);
    if (end == std::string::npos || !std::string_view(text).substr(0, end).ends_with(answer))
      throw Error("the model's chat template changes the assistant's last turn: end with another one");
    text.resize(end);
    return text + chat.trailing;
  }

 private:
  const TemplateNode& parsed_;
  const ChatTemplate::Variables& strings_;
  Thinking thinking_;
  Budget budget_;
};

/// Each turn of a chat is found by writing the chat until there once more: longer chats have no marked turns.
constexpr std::size_t kMaxMarkedTurns = 64;

/// Bytes of the template's text.
struct TurnBytes {
  std::string role;
  std::size_t begin = 0, end = 0;
};

/// Returns the byte where a first turn that isn't the system's begins: after a system prompt that the template has
/// written by itself; 0 where there is none.
std::size_t begin_of_first(std::string_view before, const std::string& role) {
  const std::size_t own = before.find("system");
  const std::size_t name = before.rfind(role);
  if (role == "system" || own == std::string_view::npos || name == std::string_view::npos || name < own) return 0;
  const std::size_t line = before.rfind('\n', name);
  return line == std::string_view::npos ? 0 : line + 1;
}

/// Turns in the text that the template made of all of them. A turn ends where the text of the turns until there alone ends,
/// as far as that is the same: a template may write other things around the last turn, or refuse a chat that ends there.
/// Then it ends with its content.
std::vector<TurnBytes> turns_in(ChatWriter& writer, const Chat& chat, const std::string& text) {
  if (chat.turns.size() > kMaxMarkedTurns) return {};
  std::vector<TurnBytes> found;
  std::size_t content_end = 0, begin = 0;
  for (std::size_t turn = 0; turn < chat.turns.size(); ++turn) {
    const ChatJson& message = chat.turns[turn].message;
    const std::string content = message.contains("content") && message["content"].is_string()
                                    ? std::string(trim_chat(message["content"].get_ref<const std::string&>()))
                                    : std::string();
    const std::size_t at = text.find(content, content_end);
    const std::string role = message["role"].get<std::string>();
    if (turn == 0 && at != std::string::npos) {
      begin = begin_of_first(std::string_view(text).substr(0, at), role);
      if (begin > 0) found.push_back({.role = "system", .begin = 0, .end = begin});
    }
    if (at != std::string::npos) content_end = at + content.size();
    std::size_t end = content_end;
    const bool is_last = turn + 1 == chat.turns.size();
    if (is_last && chat.is_open) {
      end = text.size();
    } else {
      try {
        const std::string part = writer.write(std::span(chat.turns).first(turn + 1), false);
        end = std::max(end, static_cast<std::size_t>(std::ranges::mismatch(part, text).in1 - part.begin()));
      } catch (const Error&) {  // this template takes no chat that ends here
      }
    }
    end = std::max(end, begin);
    found.push_back({.role = role, .begin = begin, .end = end});
    begin = end;
  }
  if (begin < text.size()) found.push_back({.role = "assistant", .begin = begin, .end = text.size()});
  return found;
}

/// Returns the places of the turns' contents in the text that the template made, each with its place in the typed text,
/// in their order.
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

/// Returns the number of tokens that end before this byte of the text, or at it.
std::uint32_t tokens_before(const std::vector<Token>& tokens, std::size_t byte) {
  const auto first = std::ranges::find_if(tokens, [&](const Token& token) { return token.bytes.end > byte; });
  return static_cast<std::uint32_t>(first - tokens.begin());
}

}  // namespace

std::string ChatTemplate::render(std::string_view chat, Thinking thinking) const {
  const RepairedUtf8 repaired(chat);
  return ChatWriter(*parsed_, variables_, thinking, chat).write(Chat(repaired.text()));
}

EncodedChat ChatTemplate::encode(const Tokenizer& tokenizer, std::string_view chat, Thinking thinking) const {
  const RepairedUtf8 repaired(chat);
  const Chat turns(repaired.text());
  ChatWriter writer(*parsed_, variables_, thinking, chat);
  const std::string text = writer.write(turns);
  writer.spend_tokens(text);
  const auto places = place_turns(turns, repaired.text(), text);
  EncodedChat encoded{.tokens = tokenizer.encode(text, false)};
  for (const TurnBytes& turn : turns_in(writer, turns, text))
    encoded.turns.push_back({.role = turn.role,
                             .first = tokens_before(encoded.tokens, turn.begin),
                             .end = tokens_before(encoded.tokens, turn.end)});
  std::erase_if(encoded.turns, [](const TurnSpan& turn) { return turn.first == turn.end; });
  auto place = places.begin();
  for (Token& token : encoded.tokens) {
    while (place != places.end() && place->first.end <= token.bytes.begin) ++place;
    if (place == places.end() || place->first.begin >= token.bytes.end) {
      token.bytes = {};
      continue;
    }
    const auto& [rendered, typed] = *place;
    const std::uint32_t begin = std::max(token.bytes.begin, rendered.begin), end = std::min(token.bytes.end, rendered.end);
    token.bytes = repaired.original({begin - rendered.begin + typed.begin, end - rendered.begin + typed.begin});
  }
  return encoded;
}

std::string ChatTemplate::with_answer(std::string_view chat, std::string_view more) {
  const Chat now(chat);
  const std::string_view content = trim_chat(chat);
  if (now.turns.front().typed.is_empty() && content.starts_with('[')) {
    ChatJson messages = ChatJson::parse(content, nullptr, false);
    const bool has_answer = messages.back()["role"] == "assistant" && text_of(messages.back()) != nullptr;
    if (!has_answer) messages.push_back(ChatJson{{"role", "assistant"}, {"content", ""}});
    *text_of(messages.back()) += more;
    return messages.dump(-1, ' ', false, ChatJson::error_handler_t::replace);
  }
  const std::size_t line = chat.rfind('\n') == std::string_view::npos ? 0 : chat.rfind('\n') + 1;
  const bool has_turn = now.is_open || !now.trailing.empty() || role_of_line(chat.substr(line)) == "assistant";
  if (has_turn) return std::string(chat) + std::string(more);
  more.remove_prefix(std::min(more.find_first_not_of(' '), more.size()));
  return fmt::format("{}{}assistant: {}", chat, chat.ends_with('\n') ? "" : "\n", more);
}

}  // namespace headlight::text
