#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace headlight::fuzz {

/// One thing that Headlight reads, fed with any bytes. What is wrong with them may come back as headlight::Error only.
struct Reader {
  std::string_view name;
  void (*read)(std::string_view bytes);
};

std::span<const Reader> model_readers();  ///< safetensors, index, config, gguf
std::span<const Reader> text_readers();   ///< tokenizer, sentencepiece, folder, vocabulary, regex
std::span<const Reader> app_readers();    ///< npy, mask, session, settings

/// A folder of this process in memory, where a reader wants files.
const std::filesystem::path& scratch_folder();
/// A folder in it with nothing inside.
std::filesystem::path empty_folder(std::string_view name);
/// Writes one of its files as it is, without the care that write_file_atomically() takes.
std::filesystem::path write_scratch(std::string_view name, std::string_view bytes);

/// Ends the process unless the message is a line that a terminal can show.
void expect_printable(std::string_view message);

/// Calls `use`, which may throw an Error with such a message.
template <typename Use>
void expect_error_at_most(const Use& use) {
  try {
    use();
  } catch (const Error& error) {
    expect_printable(error.what());
  }
}

}  // namespace headlight::fuzz
