#include "evaluation/multi30k.h"

#include <system_error>

#include "core/error.h"

namespace headlight::evaluation {

std::filesystem::path find_multi30k(const std::filesystem::path& folder, std::string_view text) {
  for (const char* inside : {"", "data/task1/raw"}) {
    for (const char* ending : {"", ".gz"}) {
      const std::filesystem::path file = folder / inside / (std::string(text) + ending);
      std::error_code failure;
      if (std::filesystem::is_regular_file(file, failure)) return file;
    }
  }
  throw Error("{} has no {} or {}.gz: give a folder with Multi30k's texts, or a clone of github.com/multi30k/dataset",
              utf8(folder), text, text);
}

}  // namespace headlight::evaluation
