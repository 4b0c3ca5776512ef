#include "app/state/mask_json.h"

#include <array>

#include <map>
#include <type_traits>

#include "app/state/json_reader.h"

namespace headlight::app {
namespace {

using nlohmann::json;

constexpr std::uint32_t kLastCell = 0xffff'fffeu;
constexpr std::size_t kMaxPaintedInScope = std::size_t{1} << 22;
constexpr std::uint32_t kMaxDocuments = 1u << 20;  // of one item

json scope_axis(const std::optional<std::uint32_t>& axis) { return axis ? json(*axis) : json(nullptr); }

json write_part(const SharedValue<attention::BooleanMask>& of) {
  const attention::BooleanMask& matrix = *of;
  json rows = json::array();
  for (std::size_t begin = 0; begin < matrix.keep.size(); begin += matrix.keys) {
    std::string row(matrix.keys, '0');
    for (std::size_t key = 0; key < matrix.keys; ++key) row[key] = matrix.keep[begin + key] != 0 ? '1' : '0';
    rows.push_back(std::move(row));
  }
  return {{"shape", {matrix.batch, matrix.heads, matrix.queries, matrix.keys}}, {"rows", std::move(rows)}};
}

void read_part(const json& value, const std::string& path, SharedValue<attention::BooleanMask>& to) {
  if (value.is_null()) return;
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
  to = std::move(matrix);
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

json write_part(const attention::PaintedCells& painted) {
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

void read_part(const json& scopes, const std::string& path, attention::PaintedCells& painted) {
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
  for (auto& [scope, cells] : lists) painted.emplace(scope, attention::CellRuns(std::move(cells)));
}

json write_part(const attention::PaintedBiases& biases) {
  json scopes = json::array();
  for (const auto& [scope, numbers] : biases) {
    scopes.push_back(scope_to_json(scope));
    scopes.back()["runs"] = numbers_to_json(numbers);
  }
  return scopes;
}

void read_part(const json& scopes, const std::string& path, attention::PaintedBiases& biases) {
  if (!scopes.is_array()) throw Error("{}: expected a list, found {}", path, shown(scopes));
  std::size_t left = kMaxPaintedNumbers;
  for (const json& entry : scopes) {
    const JsonReader reader(entry, path);
    const json* runs = reader.find("runs");
    if (!runs) throw Error("{}.runs: expected a list", path);
    attention::NumberRuns numbers =
        numbers_from_json(*runs, reader.path("runs"), -attention::kMaxBias, attention::kMaxBias, left);
    if (!numbers.empty()) biases.insert_or_assign(scope_from_json(reader), std::move(numbers));
  }
}

json write_part(const SharedValue<attention::Documents>& documents) {
  json items = json::array();
  for (const auto& [item, begins] : *documents) items.push_back({{"batch", item}, {"begins", begins}});
  return items;
}

void read_part(const json& items, const std::string& path, SharedValue<attention::Documents>& to) {
  if (!items.is_array()) throw Error("{}: expected a list, found {}", path, shown(items));
  attention::Documents documents;
  for (const json& entry : items) {
    const JsonReader reader(entry, path);
    std::uint32_t item = 0;
    reader.read("batch", item, 0u, kLastCell);
    const json* tokens = reader.find("begins");
    if (!tokens || !tokens->is_array() || tokens->size() > kMaxDocuments)
      throw Error("{}: expected a list of at most {} tokens", reader.path("begins"), kMaxDocuments);
    std::vector<std::uint32_t> begins;
    for (const json& token : *tokens) begins.push_back(JsonReader::integer(reader.path("begins"), token, 0u, kLastCell));
    attention::MaskSpec one;
    attention::set_documents(one, item, std::move(begins));
    if (one.documents) documents.insert_or_assign(item, one.documents->at(item));
  }
  if (!documents.empty()) to = std::move(documents);
}

json write_part(const attention::Expression& expression) { return expression.text(); }

void read_part(const json& value, const std::string& path, attention::Expression& expression, attention::ExpressionUse use) {
  if (!value.is_string()) throw Error("{}: expected a text, found {}", path, shown(value));
  auto parsed = attention::parse_expression(value.get<std::string>(), use);
  if (const auto* error = std::get_if<attention::ExpressionError>(&parsed)) throw Error("{}: {}", path, to_string(*error));
  expression = std::get<attention::Expression>(std::move(parsed));
}

void read_sliders(const JsonReader& reader, attention::MaskSpec& mask) {
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

template <typename Paint>
bool is_set(const attention::PaintByScope<Paint>& painted) {
  return !painted.empty();
}
template <typename Part>
bool is_set(const Part& part) {
  return static_cast<bool>(part);
}

/// Returns the functions of a part that is this member.
template <auto member>
constexpr MaskPart with_member(MaskPart part) {
  using attention::MaskSpec;
  using Type = std::remove_cvref_t<decltype(MaskSpec{}.*member)>;
  part.is_typed = std::is_same_v<Type, attention::Expression>;
  part.is_set = [](const MaskSpec& mask) { return app::is_set(mask.*member); };
  part.are_equal = [](const MaskSpec& left, const MaskSpec& right) { return left.*member == right.*member; };
  part.copy = [](const MaskSpec& from, MaskSpec& to) { to.*member = from.*member; };
  if constexpr (requires(const Type& type) { attention::painted_count(type); })
    part.painted = [](const MaskSpec& mask) {
      std::map<attention::PaintScope, std::size_t> cells;
      for (const auto& [scope, painted] : mask.*member) cells[scope] = painted.cell_count();
      return cells;
    };
  part.write = [](const MaskSpec& mask) { return write_part(mask.*member); };
  part.read = [](const json& value, const std::string& path, MaskSpec& mask) {
    if constexpr (requires { read_part(value, path, mask.*member); }) {
      read_part(value, path, mask.*member);
    } else {
      const bool is_mask = &(mask.*member) == &mask.mask_expression;
      read_part(value, path, mask.*member, is_mask ? attention::ExpressionUse::Mask : attention::ExpressionUse::Score);
    }
  };
  return part;
}

constexpr std::array kParts = {
    with_member<&attention::MaskSpec::matrix>(
        {"matrix", "matrix", "matrix", "mask matrix", "mask matrix removed", "Load mask", "Remove mask matrix"}),
    with_member<&attention::MaskSpec::painted>(
        {"painted", "painted cells", "paint", "cell", "paint removed", "Paint cells", "Remove paint"}),
    with_member<&attention::MaskSpec::biases>(
        {"biases", "painted biases", "", "bias", "biases removed", "Paint biases", "Remove biases"}),
    with_member<&attention::MaskSpec::documents>({"documents", "documents", "documents", "documents apart",
                                                  "documents joined", "Change documents", "Join documents"}),
    with_member<&attention::MaskSpec::mask_expression>({"mask_expression", "mask expression", "expression",
                                                        "mask expression", "mask expression removed",
                                                        "Change mask expression", "Remove mask expression"}),
    with_member<&attention::MaskSpec::score_expression>({"score_expression", "score expression", "", "score expression",
                                                         "score expression removed", "Change score expression",
                                                         "Remove score expression"})};

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
    if (count > std::min(kMaxPaintedInScope - cells.size(), left)) {
      throw Error("{}: more than {} painted cells, or {} in all lists together", path, kMaxPaintedInScope,
                  kMaxPaintedNumbers);
    }
    left -= count;
    for (std::uint32_t i = 0; i < count; ++i) cells.emplace_back(attention::Cell{query, first + i}, number);
  }
  return attention::NumberRuns(std::move(cells));
}

std::span<const MaskPart> mask_parts() { return kParts; }

json to_json(const attention::MaskSpec& mask) {
  json value = {{"rule", attention::to_string(mask.rule)},
                {"key_padding", mask.rule.key_padding},
                {"fill", attention::to_string(mask.fill)}};
  for (const MaskPart& part : kParts) {
    if (part.is_set(mask)) value[part.key] = part.write(mask);
  }
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
  for (const MaskPart& part : kParts) {
    if (const json* found = reader.find(part.key)) part.read(*found, reader.path(part.key), mask);
  }
  read_sliders(reader, mask);
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
