#include "export/csv.h"

#include "core/error.h"
#include "export/float_text.h"

namespace headlight::exporting {
namespace {

void append_field(std::string& line, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += field;
    return;
  }
  line += '"';
  for (const char c : field) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

void write_rows(const Sink& sink, std::string_view corner, std::span<const std::string> rows,
                std::span<const std::string> columns, std::span<const float> values) {
  if (values.size() != rows.size() * columns.size()) {
    throw Error("a CSV of {} rows and {} columns got {} values", rows.size(), columns.size(), values.size());
  }
  CsvWriter writer(sink, corner, columns);
  for (std::size_t row = 0; row < rows.size(); ++row)
    writer.append_row(rows[row], values.subspan(row * columns.size(), columns.size()));
}

}  // namespace

CsvWriter::CsvWriter(Sink sink, std::string_view corner, std::span<const std::string> columns) : sink_(std::move(sink)) {
  append_field(line_, corner);
  for (const std::string& column : columns) {
    line_ += ',';
    append_field(line_, column);
  }
  line_ += "\r\n";
  sink_(line_);
}

void CsvWriter::append_row(std::string_view name, std::span<const float> values) {
  line_.clear();
  append_field(line_, name);
  for (const float value : values) {
    line_ += ',';
    append_float(line_, value);
  }
  line_ += "\r\n";
  sink_(line_);
}

std::vector<std::string> index_names(std::uint32_t count) {
  std::vector<std::string> names(count);
  for (std::uint32_t i = 0; i < count; ++i) names[i] = std::to_string(i);
  return names;
}

std::string encode_csv(std::string_view corner, std::span<const std::string> rows, std::span<const std::string> columns,
                       std::span<const float> values) {
  std::string text;
  write_rows([&](std::string_view bytes) { text += bytes; }, corner, rows, columns, values);
  return text;
}

void write_csv(const std::filesystem::path& path, std::string_view corner, std::span<const std::string> rows,
               std::span<const std::string> columns, std::span<const float> values) {
  AtomicFile file(path);
  write_rows(sink_of(file), corner, rows, columns, values);
  file.finish();
}

}  // namespace headlight::exporting
