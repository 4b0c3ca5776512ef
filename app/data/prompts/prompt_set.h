#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headlight::app {

inline constexpr std::size_t kMaxPrompts = 4'096;                         ///< of a set, after its templates were expanded
inline constexpr std::size_t kMaxPromptBytes = std::size_t{64} << 10;     ///< of one text
inline constexpr std::size_t kMaxPromptPositions = 64;                    ///< with names, of one prompt
inline constexpr std::size_t kMaxPromptSetBytes = std::size_t{16} << 20;  ///< of all texts of a set together

/// Bytes [begin, end) of a prompt's text that have a name.
struct NamedSpan {
  std::string name = {};
  std::size_t begin = 0, end = 0;

  bool operator==(const NamedSpan&) const = default;
};

/// A text of a set, and what is asked of it. Texts are UTF-8; nothing here depends on a model.
struct SetPrompt {
  std::string text = {};
  std::string corrupted = {};  ///< the text that patching takes activations from; empty: none
  std::string answer = {};     ///< what should come after the text, with its leading space: " Mary"
  std::string wrong = {};      ///< whose logit is subtracted from the answer's; empty: none
  std::vector<NamedSpan> positions = {};
  std::size_t line = 0;  ///< of the file, from 1

  bool operator==(const SetPrompt&) const = default;
};

struct PromptSet {
  std::string name = {};  ///< the file's, without ending
  std::vector<SetPrompt> prompts = {};
};

/// Reads a set (docs/PROMPTS.md has the format): JSON lines, each a prompt or a template, which is expanded. The same file
/// gives the same prompts on every machine. `checkpoint`: called before each draw of a template; throws to cancel. Throws
/// Error in one line naming file, line and member.
PromptSet read_prompt_set(const std::filesystem::path& file, const std::function<void()>& checkpoint = {});

/// What a template is expanded from: placeholders' names, and the values that they can have together.
struct TemplateList {
  std::vector<std::string> names = {};                ///< "noun,verb": the columns of a list of lists
  std::vector<std::vector<std::string>> values = {};  ///< [value][column]
};
struct PromptTemplate {
  SetPrompt parts = {};  ///< with {placeholders}
  std::vector<TemplateList> lists = {};
  std::uint32_t count = 0;
  std::uint64_t seed = 0;
};
/// As many different prompts as `count` says, or fewer where 256 draws in a row, or 16 a prompt in all, give none that is
/// new. Each placeholder gets a value of its list by std::mt19937_64 (the next number modulo what is left), in the order of
/// the lists; no value is in a prompt twice. Each placeholder's occurrences in the text are positions: "A", the second one
/// "A2". Throws Error without file or line: a placeholder without a list, a list that has fewer values than a prompt needs,
/// a text that becomes too long.
std::vector<SetPrompt> expand(const PromptTemplate& one, const std::function<void()>& checkpoint = {});

}  // namespace headlight::app
