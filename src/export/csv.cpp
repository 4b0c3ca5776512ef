#include "export/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

namespace headlight::exporting {
namespace {

/// Would a spreadsheet compute the text? The wide forms are those of Japanese keyboards.
bool is_computed(std::string_view text) {
  static constexpr std::array<std::string_view, 11> kBeginnings = {"=",  "+",  "-",  "@",  "\t", "\r",
                                                                   "\n", "＝", "＋", "－", "＠"};
  const auto begins = [&](std::string_view beginning) {
    return text.size() > beginning.size() && text.starts_with(beginning);
  };
  if (std::ranges::none_of(kBeginnings, begins)) return false;
  double number = 0.0;
  const std::string_view digits = text.substr(text.front() == '+' ? 1 : 0);
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return failure != std::errc() || end != digits.data() + digits.size() || !std::isfinite(number);
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field = is_computed(text) ? "'" : "";
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return field.append(text);
  field.insert(0, 1, '"');
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

std::string tab_field(std::string_view text) {
  std::string field = is_computed(text) ? "'" : "";
  for (const char c : text) field += c == '\t' || c == '\n' || c == '\r' ? ' ' : c;
  return field;
}

CsvWriter::CsvWriter(Sink sink, std::string_view corner, std::span<const std::string> columns) : sink_(std::move(sink)) {
  line_ = csv_field(corner);
  for (const std::string& column : columns) {
    line_ += ',';
    line_ += csv_field(column);
  }
  sink_(line_ += '\n');
}

void CsvWriter::append_row(std::string_view name, std::span<const float> values) {
  line_ = csv_field(name);
  for (const float value : values) {
    line_ += ',';
    line_ += table_number(double{value});
  }
  sink_(line_ += '\n');
}

std::vector<std::string> index_names(std::uint32_t count) {
  std::vector<std::string> names(count);
  for (std::uint32_t i = 0; i < count; ++i) names[i] = std::to_string(i);
  return names;
}

std::string table_number(double value) {
  if (std::isnan(value)) return "nan";  // without its sign, which says nothing
  const auto single = static_cast<float>(value);
  if (double{single} != value || value == std::round(value)) return fmt::format("{:.9g}", value);
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), single).ptr};
}

}  // namespace headlight::exporting
