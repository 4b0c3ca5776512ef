#include "app/state/field_values.h"

namespace headlight::app {
namespace {

using inference::MatrixEdit;
using inference::NotebookEdits;
using inference::NotebookRecipe;
using nlohmann::json;

NotebookRecipe read_recipe(const JsonReader& reader) {
  NotebookRecipe recipe;
  if (reader.find("sentence") != nullptr) reader.read("sentence", recipe.sentence.emplace());
  if (recipe.sentence && recipe.sentence->size() > inference::kMaxNotebookSentence)
    throw Error("{}: {} bytes are more than {}", reader.path("sentence"), recipe.sentence->size(),
                inference::kMaxNotebookSentence);
  inference::for_each_number([&](const char* key, auto member, auto least, auto most) {
    if (reader.find(key) != nullptr) reader.read(key, (recipe.*member).emplace(), least, most);
  });
  return recipe;
}

MatrixEdit read_matrix(const JsonReader& reader, std::size_t most_cells) {
  constexpr std::size_t kMaxMatrixAxes = 4;
  constexpr std::uint32_t kMaxMatrixSize = 1U << 20U;
  MatrixEdit edit;
  const json *shape = reader.find("shape"), *cells = reader.find("cells");
  if (shape == nullptr || !shape->is_array() || shape->empty() || shape->size() > kMaxMatrixAxes)
    throw Error("{}: expected a list of 1 to {} sizes", reader.path("shape"), kMaxMatrixAxes);
  std::uint64_t count = 1;
  for (const json& size : *shape) {
    edit.shape.push_back(JsonReader::integer(reader.path("shape"), size, 1U, kMaxMatrixSize));
    count *= edit.shape.back();
    if (count > kMaxMatrixSize) throw Error("{}: more than {} numbers", reader.path("shape"), kMaxMatrixSize);
  }
  if (cells == nullptr || !cells->is_array() || cells->empty() || cells->size() > most_cells)
    throw Error("{}: expected a list of 1 to {} [index, number]", reader.path("cells"), most_cells);
  for (const json& cell : *cells) {
    const bool is_pair = cell.is_array() && cell.size() == 2 && cell[1].is_number() && std::isfinite(cell[1].get<float>());
    if (!is_pair) reader.fail("cells", "[index, finite number]", cell);
    const auto index = JsonReader::integer(reader.path("cells"), cell[0], 0U, static_cast<std::uint32_t>(count - 1));
    edit.cells[index] = cell[1].get<float>();
  }
  return edit;
}

}  // namespace

json write_edits(const NotebookEdits& edits) {
  if (edits.is_empty()) return nullptr;
  json recipe = json::object(), matrices = json::object();
  if (edits.recipe.sentence) recipe["sentence"] = *edits.recipe.sentence;
  inference::for_each_number([&](const char* key, auto member, auto /*least*/, auto /*most*/) {
    if (const auto& number = edits.recipe.*member) recipe[key] = *number;
  });
  for (const auto& [name, edit] : edits.matrices) {
    json cells = json::array();
    for (const auto& [index, value] : edit.cells) cells.push_back({index, value});
    matrices[name] = {{"shape", edit.shape}, {"cells", std::move(cells)}};
  }
  return {{"recipe", std::move(recipe)}, {"matrices", std::move(matrices)}};
}

void read_edits(const JsonReader& object, const char* key, NotebookEdits& value) {
  constexpr std::size_t kMaxNameBytes = 64;
  const json* found = object.find(key);
  if (found == nullptr || found->is_null()) return;
  const JsonReader reader(*found, object.path(key));
  NotebookEdits edits;
  if (const json* recipe = reader.find("recipe")) edits.recipe = read_recipe(JsonReader(*recipe, reader.path("recipe")));
  if (const json* matrices = reader.find("matrices")) {
    if (!matrices->is_object()) reader.fail("matrices", "an object", *matrices);
    std::size_t left = inference::kMaxEditedNumbers;
    for (const auto& [name, matrix] : matrices->items()) {
      const std::string path = reader.path("matrices");
      if (name.size() > kMaxNameBytes || left == 0)
        throw Error("{}: a name is too long, or there are too many numbers", path);
      MatrixEdit& edit = edits.matrices[name] = read_matrix(JsonReader(matrix, path + "." + name), left);
      left -= std::min(left, edit.cells.size());
    }
  }
  value = std::move(edits);
}

}  // namespace headlight::app
