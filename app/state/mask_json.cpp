#include "app/state/mask_json.h"

#include <map>

#include "app/state/json_reader.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr std::uint32_t kLastCell = 0xffff'fffeu;
constexpr std::size_t kMostPaintedInScope = std::size_t{1} << 22;
constexpr std::uint32_t kMostDocuments = 1u << 20;  // of one item

json scope_axis(const std::optional<std::uint32_t>& axis) { return axis ? json(*axis) : json(nullptr); }

json matrix_to_json(const attention::BooleanMask& matrix) {
  json rows = json::array();
  for (std::size_t begin = 0; begin < matrix.keep.size(); begin += matrix.keys) {
    std::string row(matrix.keys, '0');
    for (std::size_t key = 0; key < matrix.keys; ++key) row[key] = matrix.keep[begin + key] != 0 ? '1' : '0';
    rows.push_back(std::move(row));
  }
  return {{"shape", {matrix.batch, matrix.heads, matrix.queries, matrix.keys}}, {"rows", std::move(rows)}};
}

attention::BooleanMask matrix_from_json(const json& value, const std::string& path) {
  constexpr std::uint32_t kLongest = inference::kMaxTokens;
  const JsonReader reader(value, path);
  const json* shape = reader.find("shape");
  const json* rows = reader.find("rows");
  if (!shape || !shape->is_array() || shape->size() != 4)
    throw Error("{}.shape: expected [batch, heads, queries, keys]", path);
  attention::BooleanMask matrix;
  const auto axis = [&](std::size_t index) {
    return JsonReader::integer(path + ".shape", shape->at(index), std::uint32_t{1}, kLongest);
  };
  matrix.batch = axis(0);
  matrix.heads = axis(1);
  matrix.queries = axis(2);
  matrix.keys = axis(3);
  const std::size_t row_count = std::size_t{matrix.batch} * matrix.heads * matrix.queries;
  if (!rows || !rows->is_array() || rows->size() != row_count) throw Error("{}.rows: expected {} rows", path, row_count);
  matrix.keep.reserve(row_count * matrix.keys);
  for (const json& row : *rows) {
    const std::string text = row.is_string() ? row.get<std::string>() : std::string();
    if (text.size() != matrix.keys || text.find_first_not_of("01") != std::string::npos) {
      throw Error("{}.rows: expected texts of {} digits 0 or 1, found {}", path, matrix.keys, shown(row));
    }
    for (const char digit : text) matrix.keep.push_back(digit == '1' ? 1 : 0);
  }
  return matrix;
}

json scope_to_json(const attention::PaintScope& scope) {
  return {{"layer", scope_axis(scope.layer)}, {"batch", scope_axis(scope.batch)}, {"head", scope_axis(scope.head)}};
}

attention::PaintScope scope_from_json(const JsonReader& reader) {
  attention::PaintScope scope;
  const auto read_axis = [&](const char* key, std::optional<std::uint32_t>& axis) {
    const json* value = reader.find(key);
    if (value && !value->is_null()) axis = JsonReader::integer(reader.path(key), *value, 0u, kLastCell);
  };
  read_axis("layer", scope.layer);
  read_axis("batch", scope.batch);
  read_axis("head", scope.head);
  return scope;
}

json painted_to_json(const attention::PaintedCells& painted) {
  json scopes = json::array();
  for (const auto& [scope, cells] : painted) {
    json cell_list = json::array();
    cells.for_each_cell([&](attention::Cell cell, bool is_visible) {
      cell_list.push_back({cell.query, cell.key, is_visible});
    });
    scopes.push_back(scope_to_json(scope));
    scopes.back()["cells"] = std::move(cell_list);
  }
  return scopes;
}

attention::PaintedCells painted_from_json(const json& scopes, const std::string& path) {
  if (!scopes.is_array()) throw Error("{}: expected a list, found {}", path, shown(scopes));
  std::map<attention::PaintScope, std::vector<attention::PaintedCell>> lists;
  for (const json& entry : scopes) {
    const JsonReader reader(entry, path);
    const attention::PaintScope scope = scope_from_json(reader);
    const json* cells = reader.find("cells");
    if (!cells || !cells->is_array()) throw Error("{}.cells: expected a list", path);
    for (const json& cell : *cells) {
      if (!cell.is_array() || cell.size() != 3 || !cell[2].is_boolean()) {
        throw Error("{}.cells: expected [query, key, true or false], found {}", path, shown(cell));
      }
      const attention::Cell at = {.query = JsonReader::integer(path + ".cells", cell[0], 0u, kLastCell),
                                  .key = JsonReader::integer(path + ".cells", cell[1], 0u, kLastCell)};
      lists[scope].emplace_back(at, cell[2].get<bool>());
    }
  }
  attention::PaintedCells painted;
  for (auto& [scope, cells] : lists) painted.emplace(scope, attention::CellRuns(std::move(cells)));
  return painted;
}

json biases_to_json(const attention::PaintedBiases& biases) {
  json scopes = json::array();
  for (const auto& [scope, numbers] : biases) {
    scopes.push_back(scope_to_json(scope));
    scopes.back()["runs"] = numbers_to_json(numbers);
  }
  return scopes;
}

attention::PaintedBiases biases_from_json(const json& scopes, const std::string& path) {
  if (!scopes.is_array()) throw Error("{}: expected a list, found {}", path, shown(scopes));
  attention::PaintedBiases biases;
  std::size_t left = kMostPaintedNumbers;
  for (const json& entry : scopes) {
    const JsonReader reader(entry, path);
    const json* runs = reader.find("runs");
    if (!runs) throw Error("{}.runs: expected a list", path);
    attention::NumberRuns numbers =
        numbers_from_json(*runs, reader.path("runs"), -attention::kMostBias, attention::kMostBias, left);
    if (!numbers.empty()) biases.insert_or_assign(scope_from_json(reader), std::move(numbers));
  }
  return biases;
}

json documents_to_json(const attention::Documents& documents) {
  json items = json::array();
  for (const auto& [item, begins] : documents) items.push_back({{"batch", item}, {"begins", begins}});
  return items;
}

void documents_from_json(const json& items, const std::string& path, attention::MaskSpec& mask) {
  if (!items.is_array()) throw Error("{}: expected a list, found {}", path, shown(items));
  attention::Documents documents;
  for (const json& entry : items) {
    const JsonReader reader(entry, path);
    std::uint32_t item = 0;
    reader.read("batch", item, 0u, kLastCell);
    const json* tokens = reader.find("begins");
    if (!tokens || !tokens->is_array() || tokens->size() > kMostDocuments)
      throw Error("{}: expected a list of at most {} tokens", reader.path("begins"), kMostDocuments);
    std::vector<std::uint32_t> begins;
    for (const json& token : *tokens) begins.push_back(JsonReader::integer(reader.path("begins"), token, 0u, kLastCell));
    attention::MaskSpec one;
    attention::set_documents(one, item, std::move(begins));
    if (one.documents) documents.insert_or_assign(item, one.documents->at(item));
  }
  if (!documents.empty()) mask.documents = std::move(documents);
}

attention::Expression expression_from_json(const JsonReader& reader, const char* key, attention::ExpressionUse use) {
  std::string text;
  reader.read(key, text);
  auto parsed = attention::parse_expression(text, use);
  if (const auto* error = std::get_if<attention::ExpressionError>(&parsed))
    throw Error("{}: {}", reader.path(key), to_string(*error));
  return std::get<attention::Expression>(std::move(parsed));
}

void read_expressions(const JsonReader& reader, attention::MaskSpec& mask) {
  mask.mask_expression = expression_from_json(reader, "mask_expression", attention::ExpressionUse::Mask);
  mask.score_expression = expression_from_json(reader, "score_expression", attention::ExpressionUse::Score);
  const json* values = reader.find("sliders");
  if (values == nullptr) return;
  const JsonReader sliders(*values, reader.path("sliders"));
  for (const attention::Expression* expression : {&mask.mask_expression, &mask.score_expression}) {
    for (const attention::Slider& slider : expression->sliders()) {
      float value = attention::value_of(slider, mask.sliders);
      sliders.read(slider.name.c_str(), value, slider.from, slider.to);
      if (sliders.find(slider.name.c_str()) != nullptr) mask.sliders[slider.name] = value;
    }
  }
}

}  // namespace

json numbers_to_json(const attention::NumberRuns& painted) {
  json runs = json::array();
  for (const attention::NumberRun& run : painted.runs()) runs.push_back({run.query, run.first_key, run.count, run.paint});
  return runs;
}

attention::NumberRuns numbers_from_json(const json& runs, const std::string& path, float low, float high,
                                        std::size_t& left) {
  if (!runs.is_array()) throw Error("{}: expected a list, found {}", path, shown(runs));
  std::vector<attention::Painted<float>> cells;
  for (const json& run : runs) {
    const bool is_number = run.is_array() && run.size() == 4 && run[3].is_number();
    const float number = is_number ? run[3].get<float>() : 0.0f;
    if (!is_number || !(number >= low && number <= high)) {
      throw Error("{}: expected [query, first key, count, number from {} to {}], found {}", path, low, high, shown(run));
    }
    const std::uint32_t query = JsonReader::integer(path, run[0], 0u, kLastCell);
    const std::uint32_t first = JsonReader::integer(path, run[1], 0u, kLastCell);
    const std::uint32_t count = JsonReader::integer(path, run[2], 1u, kLastCell - first);
    if (count > std::min(kMostPaintedInScope - cells.size(), left)) {
      throw Error("{}: more than {} painted cells, or {} in all lists together", path, kMostPaintedInScope,
                  kMostPaintedNumbers);
    }
    left -= count;
    for (std::uint32_t i = 0; i < count; ++i) cells.emplace_back(attention::Cell{query, first + i}, number);
  }
  return attention::NumberRuns(std::move(cells));
}

json to_json(const attention::MaskSpec& mask) {
  json value = {{"rule", attention::to_string(mask.rule)},
                {"key_padding", mask.rule.key_padding},
                {"fill", attention::to_string(mask.fill)},
                {"painted", painted_to_json(mask.painted)}};
  if (!mask.biases.empty()) value["biases"] = biases_to_json(mask.biases);
  if (mask.documents) value["documents"] = documents_to_json(*mask.documents);
  if (mask.matrix) value["matrix"] = matrix_to_json(*mask.matrix);
  if (mask.mask_expression) value["mask_expression"] = mask.mask_expression.text();
  if (mask.score_expression) value["score_expression"] = mask.score_expression.text();
  if (!mask.sliders.empty()) value["sliders"] = mask.sliders;
  return value;
}

attention::MaskSpec mask_from_json(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  attention::MaskSpec mask;
  std::string rule = "none";
  reader.read("rule", rule);
  const Result<attention::MaskRule> parsed_rule = attention::parse_rule(rule);
  if (!parsed_rule) throw Error("{}: {}", reader.path("rule"), parsed_rule.error());
  mask.rule = *parsed_rule;
  mask.rule.key_padding = true;
  reader.read("key_padding", mask.rule.key_padding);
  std::string fill = std::string(attention::to_string(mask.fill));
  reader.read("fill", fill);
  const Result<attention::MaskFill> parsed_fill = attention::parse_fill(fill);
  if (!parsed_fill) throw Error("{}: {}", reader.path("fill"), parsed_fill.error());
  mask.fill = *parsed_fill;
  if (const json* matrix = reader.find("matrix"); matrix && !matrix->is_null()) {
    mask.matrix = matrix_from_json(*matrix, reader.path("matrix"));
  }
  if (const json* painted = reader.find("painted")) mask.painted = painted_from_json(*painted, reader.path("painted"));
  if (const json* biases = reader.find("biases")) mask.biases = biases_from_json(*biases, reader.path("biases"));
  if (const json* documents = reader.find("documents")) documents_from_json(*documents, reader.path("documents"), mask);
  read_expressions(reader, mask);
  return mask;
}

json to_json(const attention::MaskSet& masks) {
  json value = json::object();
  for (std::size_t index = 0; index < model::kBlockKinds; ++index) {
    const auto kind = static_cast<model::BlockKind>(index);
    value[std::string(model::to_string(kind))] = to_json(masks[kind]);
  }
  return value;
}

attention::MaskSet masks_from_json(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  attention::MaskSet masks;
  for (std::size_t index = 0; index < model::kBlockKinds; ++index) {
    const auto kind = static_cast<model::BlockKind>(index);
    const std::string key(model::to_string(kind));
    if (const json* mask = reader.find(key.c_str())) masks[kind] = mask_from_json(*mask, reader.path(key));
  }
  return masks;
}

}  // namespace headlight::app
