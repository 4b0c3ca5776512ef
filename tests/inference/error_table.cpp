#include "inference/error_table.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "core/file.h"

namespace headlight::test {
namespace {

constexpr std::string_view kHead =
    "| model | attention | hidden states | logits | attention, f16 | hidden states, f16 | logits, f16 |\n"
    "|---|---:|---:|---:|---:|---:|---:|\n";
constexpr std::size_t kCells = 3;  // of one precision

std::filesystem::path document() { return std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "../../docs/MODEL_CHECKS.md"; }

/// The end of the next `count` cells from `at`, each of which ends with '|'.
std::size_t end_of_cells(std::string_view line, std::size_t at, std::size_t count) {
  for (; count > 0; --count) at = line.find('|', at) + 1;
  return at;
}

/// "2.0e-7" as "2.0e-7", not "2.0e-07"; a dash where there is no such result.
std::string cell(double difference) {
  if (difference == 0.0) return " – |";
  const std::string text = fmt::format("{:.1e}", difference);
  return fmt::format(" {}-{} |", text.substr(0, text.find('-')), std::abs(std::atoi(text.c_str() + text.find('e') + 1)));
}

/// "albert", "gguf/llama.gguf": is there such a model?
bool is_there(const std::string& name) {
  const bool is_file = name.ends_with(".gguf");
  return exists(is_file ? golden_model_path(name) : golden_model_path(name) / "reference.safetensors");
}

}  // namespace

ErrorTable::ErrorTable() {
  const std::string text = read_file(document(), std::size_t{1} << 22);
  const std::size_t head = text.find(kHead);
  std::size_t at = head == std::string::npos ? text.size() : head + kHead.size();
  before_ = text.substr(0, at);
  while (text.substr(at, 3) == "| `") {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    const std::size_t of_f32 = end_of_cells(line, 0, 2), of_f16 = end_of_cells(line, of_f32, kCells);
    cells_[line.substr(3, line.find('`', 3) - 3)] = {line.substr(of_f32, of_f16 - of_f32),
                                                     line.substr(of_f16, line.rfind('|') + 1 - of_f16)};
    at = end;
  }
  after_ = text.substr(at);
}

void ErrorTable::set(const std::string& name, inference::Precision precision, const GoldenDifference& worst) {
  Row& row = cells_[name];
  (precision == inference::Precision::F32 ? row.of_f32 : row.of_f16) =
      cell(worst.attention) + cell(worst.hidden) + cell(worst.logits);
}

void ErrorTable::write() const {
  const char* update = std::getenv("HEADLIGHT_UPDATE_GOLDEN");
  if (update == nullptr || std::string_view(update) != "1") return;
  std::string text = before_;
  for (const bool is_gguf : {false, true}) {
    for (const auto& [name, row] : cells_) {
      if (name.ends_with(".gguf") == is_gguf && is_there(name)) {
        text += fmt::format("| `{}` |{}{}\n", name, row.of_f32, row.of_f16);
      }
    }
  }
  write_file_atomically(document(), text + after_);
}

}  // namespace headlight::test
