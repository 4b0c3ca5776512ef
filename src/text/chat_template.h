#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace headlight::text {

class Tokenizer;
struct TemplateNode;

/// A template's enable_thinking: undefined, as long as the user has chosen neither.
enum class Thinking : std::uint8_t { Unset, On, Off };

/// Tokens [first, end) of a turn, those that the template wrote around its content included.
struct TurnSpan {
  std::string role;
  std::uint32_t first = 0, end = 0;

  bool operator==(const TurnSpan&) const = default;
};

/// A chat as a model reads it.
struct EncodedChat {
  std::vector<Token> tokens;
  std::vector<TurnSpan> turns = {};  ///< in their order; tokens in none of them are the template's own
};

/// The format in which a model writes a chat as one text: a Jinja template of its files. Immutable; may be used from
/// several threads.
///
/// A chat is typed as lines: "user: …" begins a turn, which goes on until the next line with a role (system, developer,
/// user, assistant, tool); what comes before the first is the user's. Or it is JSON, a list of messages {"role": …,
/// "content": …}. An assistant's turn at the end stays open, as the model would go on with it; after any other the
/// generation prompt follows.
class ChatTemplate {
 public:
  /// Strings that a template may use, by their Jinja names: {"bos_token", "<s>"}.
  using Variables = std::vector<std::pair<std::string, std::string>>;

  /// Reads the template from chat_template.jinja, tokenizer_config.json or chat_template.json of a folder; null where
  /// none has one. Throws Error in one line naming the file and what Headlight can't run of it.
  static std::shared_ptr<const ChatTemplate> load(const std::filesystem::path& folder);
  /// Throws Error in one line.
  ChatTemplate(std::string_view source, Variables variables);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  /// Has it a switch for a model's thinking (enable_thinking)?
  bool can_think() const { return can_think_; }

  /// Names the marks, such as <|im_start|>, that the template has and that aren't one token each; empty where all are.
  std::string note_of_marks(const Tokenizer& tokenizer) const;

  /// The tokens of a typed chat, without any that the tokenizer adds by itself. Their byte ranges are those of the typed
  /// text, empty where the template wrote them. The generation prompt is a turn of the assistant. Throws Error in one line
  /// where the chat has no turn or the template refuses it.
  EncodedChat encode(const Tokenizer& tokenizer, std::string_view chat, Thinking thinking) const;
  /// The text that is tokenized.
  std::string render(std::string_view chat, Thinking thinking) const;
  /// A typed chat with `more` at the end of the assistant's open turn, which begins here where there is none.
  static std::string with_answer(std::string_view chat, std::string_view more);

 private:
  std::unique_ptr<const TemplateNode> parsed_;
  Variables variables_;
  std::vector<std::string> marks_;
  bool can_think_ = false;
};

}  // namespace headlight::text
