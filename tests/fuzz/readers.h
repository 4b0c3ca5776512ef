#pragma once

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace headlight::fuzz {

/// One reader of Headlight, called with any bytes. It may reject them only by headlight::Error.
struct Reader {
  std::string_view name;
  void (*read)(std::string_view bytes);
};

std::span<const Reader> model_readers();  ///< safetensors, torch, index, config, gguf, adapter
std::span<const Reader> text_readers();  ///< tokenizer, sentencepiece, folder, vocabulary, regex, lines, tensor, words, chat
std::span<const Reader> capture_readers();  ///< capture, npz, tokens, image
std::span<const Reader> app_readers();      ///< what app/ reads: sessions, masks, figures, prompts, links, surveys, …
std::vector<Reader> all_readers();

/// This process's folder in memory, for readers of files.
const std::filesystem::path& scratch_folder();
/// An empty folder in it.
std::filesystem::path empty_folder(std::string_view name);
/// Writes one of its files directly, not atomically as write_file_atomically() does.
std::filesystem::path write_scratch(std::string_view name, std::string_view bytes);

/// Calls `use(name, content)` for each of several small files in one input, which are each after a line "%%% NAME".
template <typename Use>
void for_each_file(std::string_view bytes, const Use& use) {
  constexpr std::string_view kMark = "%%% ";
  for (std::size_t begin = bytes.find(kMark); begin != std::string_view::npos;) {
    begin += kMark.size();
    const std::size_t next = bytes.find(kMark, begin);
    const std::string_view file = bytes.substr(begin, next - begin), name = file.substr(0, file.find('\n'));
    use(name, file.substr(std::min(name.size() + 1, file.size())));
    begin = next;
  }
}

/// Aborts the process unless the message is a printable line.
void expect_printable(std::string_view message);

/// Calls `use`, which may throw an Error with a printable message.
template <typename Use>
void expect_error_at_most(const Use& use) {
  try {
    use();
  } catch (const Error& error) {
    expect_printable(error.what());
  }
}

}  // namespace headlight::fuzz
