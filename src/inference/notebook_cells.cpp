#include "inference/notebook_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "inference/notebooks.h"

namespace headlight::inference {
namespace {

using nlohmann::json;

bool is_nothing(std::string_view text) { return text.find_first_of("123456789") == std::string_view::npos; }

std::string without_sign_of_zero(std::string text) {
  return is_nothing(text) && text.starts_with('-') && text != "-inf" ? text.substr(1) : text;
}

std::vector<std::string> texts(const json& object, const char* key) {
  return object.contains(key) ? object[key].get<std::vector<std::string>>() : std::vector<std::string>();
}

NotebookPart read_part(const json& object) {
  NotebookPart part{.name = object["name"],
                    .stage = object["stage"],
                    .axes = object["axes"],
                    .row = {},
                    .is_additive = object.value("form", "") == "additive",
                    .is_size = object.contains("size"),
                    .rows = texts(object, "rows"),
                    .columns = texts(object, "columns")};
  const std::string block = object.value("block", "");
  if (!block.empty()) part.block = block == "cross" ? model::BlockKind::Cross : model::BlockKind::DecoderSelf;
  if (object.contains("row") && object["row"].is_string()) part.row = object["row"];
  const json select = object.value("select", json::object());
  for (const auto& [axis, chosen] : select.items()) part.select[axis.front()] = chosen.get<std::vector<std::uint32_t>>();
  for (const std::string& text : texts(object, "printed")) part.printed.emplace_back(text);
  if (part.is_size) {
    for (const json& size : object["size"]) part.printed.emplace_back(std::to_string(size.get<std::uint32_t>()));
  }
  return part;
}

NotebookCell read_cell(const json& object) {
  NotebookCell cell{.id = object["id"],
                    .preset = object["preset"],
                    .title = object["title"],
                    .does = object["does"],
                    .says = object["says"],
                    .fields = object.value("fields", "")};
  const json edits = object.value("set", json::object());
  for (const bool are_matrices : {false, true}) {  // whose shapes follow from the sizes
    for (const auto& [name, text] : edits.items()) {
      if (names_matrix(name) == are_matrices) set_by_name(cell.edits, cell.preset, name, text.get<std::string>());
    }
  }
  for (const json& part : object["parts"]) cell.parts.push_back(read_part(part));
  return cell;
}

std::vector<NotebookPage> read_pages() {
  std::vector<NotebookPage> pages;
  for (const NotebookFile& file : kNotebookFiles) {
    const json object = parse_json(file.text).value();
    NotebookPage page{.name = std::string(file.name), .title = object["title"], .cells = {}};
    for (const json& cell : object["cells"]) page.cells.push_back(read_cell(cell));
    pages.push_back(std::move(page));
  }
  return pages;
}

}  // namespace

PrintedNumber::PrintedNumber(std::string printed) : text(std::move(printed)), digit(1.0) {
  if (text == "True" || text == "False") {
    value = text == "True" ? 1.0 : 0.0;
    return;
  }
  const std::size_t exponent = text.find('e'), point = text.find('.');
  has_exponent = exponent != std::string::npos;
  value = text == "-inf" ? -std::numeric_limits<double>::infinity() : std::stod(text);
  if (point == std::string::npos) return;
  decimals = static_cast<int>(std::min(exponent, text.size()) - point - 1);
  digit = std::pow(10.0, (has_exponent ? std::stoi(text.substr(exponent + 1)) : 0) - decimals);
}

double PrintedNumber::digits_off(double ours) const {
  if (ours == value) return 0.0;
  return std::abs(std::round((ours - value) / digit));
}

std::string PrintedNumber::beside(double ours) const {
  if (std::isinf(ours)) return "-inf";
  if (text == "True" || text == "False") return ours != 0.0 ? "True" : "False";
  if (has_exponent) return fmt::format("{:.{}e}", ours, decimals);
  const int shown = decimals == 0 && text.find('.') == std::string::npos ? 0 : std::clamp(decimals + 2, 6, 8);
  return without_sign_of_zero(fmt::format("{:.{}f}", ours, shown));
}

std::string number_text(double value) {
  if (std::isinf(value)) return "-inf";
  if (std::isnan(value)) return "\u2013";
  if (value == std::round(value) && std::abs(value) < 1e6) return fmt::format("{:.0f}", value + 0.0);
  return std::abs(value) >= 1e6 ? fmt::format("{:.4e}", value) : without_sign_of_zero(fmt::format("{:.6f}", value));
}

bool NotebookCell::is_printed() const { return printed_count() > 0; }

std::size_t NotebookCell::printed_count() const {
  std::size_t count = 0;
  for (const NotebookPart& part : parts) count += part.printed.size();
  return count;
}

std::span<const NotebookPage> notebook_pages() {
  static const std::vector<NotebookPage> kPages = read_pages();
  return kPages;
}

const NotebookPage& page_of_preset(std::string_view preset) {
  constexpr std::string_view kPrefix = "notebook-";
  const std::string_view name = preset.starts_with(kPrefix) ? preset.substr(kPrefix.size(), 3) : preset;
  const auto found = std::ranges::find(notebook_pages(), name, &NotebookPage::name);
  if (found == notebook_pages().end()) throw Error("no notebook has a preset '{}'", preset);
  return *found;
}

}  // namespace headlight::inference
