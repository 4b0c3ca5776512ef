#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/chat_json.h"
#include "text/token.h"

namespace headlight::text {

/// A message of a chat, {"role": …, "content": …}, and where its content is in the typed text; nowhere in JSON.
struct ChatTurn {
  ChatJson message;
  ByteRange typed = {};
};

/// A typed chat (text/chat_template.h says how) as a template gets it. An empty turn of the assistant at the end asks for
/// the generation prompt, as none does.
struct Chat {
  std::vector<ChatTurn> turns;
  bool is_open = false;  ///< its last turn is the assistant's and has a text, which the model would go on with
  std::string trailing;  ///< white space at the end of that turn, which templates may trim but a model may have written

  /// Throws Error in one line where it has no turn or is JSON of another form.
  explicit Chat(std::string_view text);
  std::string last_role() const { return turns.empty() ? "" : turns.back().message["role"].get<std::string>(); }
};

/// The text that a message's content is, or the last text among its parts; null where it has none.
std::string* text_of(ChatJson& message);

/// Returns the text without white space at the ends.
std::string_view trim_chat(std::string_view text);
/// The role that a line begins with, "User: hello", in lower case; empty where it has none.
std::string_view role_of_line(std::string_view line);
/// Returns the places in a typed chat where lines name roles, "user:".
std::vector<ByteRange> role_ranges(std::string_view text);

}  // namespace headlight::text
