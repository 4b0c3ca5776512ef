// The words for every stage of every golden model's layers, as text: formula, labels of arrows, place in Block.
// HEADLIGHT_UPDATE_GOLDEN=1 writes it anew.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>

#include "app/shapes/quantities/formulas.h"
#include "app/widgets/block_layout.h"
#include "core/file.h"
#include "model/load_network.h"

namespace layer_words_test {

using namespace headlight;
using namespace headlight::app;

namespace {

const std::filesystem::path kGolden = HEADLIGHT_GOLDEN_DIR;

std::vector<std::string> names_of_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden / "models"))
    if (exists(entry.path() / "reference.safetensors")) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// "ffn_active | a = SiLU(g) ⊙ h | SiLU(g) ⊙ h | SiLU(g) ⊙ h | 3,2 | The wide layer …" of each stage of a block.
std::vector<std::string> words_of_block(model::BlockRef block, const model::AttentionLayer& layer) {
  const attention::BlockShape shape = attention::shape_of(layer, 1, 5, 5);
  const attention::LayerGraph graph(shape, block.kind, &layer);
  const FormulaSubject subject{.block = block, .layer = &layer, .head = 0};
  std::vector<std::string> lines;
  for (const BlockNode& box : plan_block(block, &layer, shape).nodes) {
    const attention::LayerNode& node = *graph.find(box.stage);
    lines.push_back(fmt::format("{} | {} | {} | {} | {},{} | {}", box.id(), quantity(box.stage).formula(subject),
                                formulas::label(node, subject, formulas::Detail::Brief), box.operation, box.row, box.column,
                                box.explanation));
  }
  return lines;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("formulas, labels and sentences of all golden models' layers are those that were read") {
    std::string text;
    std::set<std::string> known;
    for (const std::string& name : names_of_models()) {
      const model::LoadedNetwork loaded = model::load_network(kGolden / "models" / name);
      for (const model::BlockRef block : loaded.network.blocks()) {
        for (const std::string& line : words_of_block(block, loaded.network.layer(block)))
          if (known.insert(line).second) text += fmt::format("{} {}: {}\n", name, to_string(block.kind), line);
      }
    }
    const std::filesystem::path path = kGolden / "layer_words.txt";
    const char* update = std::getenv("HEADLIGHT_UPDATE_GOLDEN");
    if (update != nullptr && std::string_view(update) == "1") write_file_atomically(path, text);
    CHECK(known.size() > 100);
    CHECK_MESSAGE(read_file(path) == text, "HEADLIGHT_UPDATE_GOLDEN=1 writes it anew");
  }
}

}  // namespace layer_words_test
