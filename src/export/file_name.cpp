#include "export/file_name.h"

#include <algorithm>

#include <fmt/format.h>

namespace headlight::exporting {
namespace {

// Digits of the largest index of `count` things.
int digits(std::uint32_t count, int at_least) {
  return std::max(at_least, static_cast<int>(std::to_string(std::max(count, 1U) - 1).size()));
}

std::string prefix(const FileNaming& naming, model::BlockKind kind) {
  return naming.has_kinds ? fmt::format("{}_", model::to_string(kind)) : "";
}

std::string layer(const FileNaming& naming, model::BlockRef block) {
  return fmt::format("{}layer-{:0{}}", prefix(naming, block.kind), block.layer.value, digits(naming.layers, 2));
}

std::string name_of(const FileNaming& naming, attention::Stage stage) {
  std::string name(naming.has_norms && stage == attention::Stage::Weights ? "norms" : attention::to_string(stage));
  return naming.has_differences ? "difference_" + name : name;
}

}  // namespace

std::string FileNaming::matrix(model::BlockRef block, std::uint32_t batch_item, std::uint32_t head, attention::Stage stage,
                               std::string_view extension) const {
  std::string name = fmt::format("{}_batch-{:0{}}", layer(*this, block), batch_item, digits(batch, 1));
  if (attention::is_per_head(stage)) name += fmt::format("_head-{:0{}}", head, digits(heads, 2));
  return fmt::format("{}_{}.{}", name, name_of(*this, stage), extension);
}

std::string FileNaming::mean(model::BlockRef block, bool is_of_layer, std::uint32_t batch_item,
                             std::string_view extension) const {
  const std::string of = is_of_layer ? layer(*this, block) + "_" : prefix(*this, block.kind);
  return fmt::format("{}batch-{:0{}}_mean_{}.{}", of, batch_item, digits(batch, 1),
                     name_of(*this, attention::Stage::Weights), extension);
}

std::string FileNaming::contact_sheet(model::BlockRef block, std::uint32_t batch_item, attention::Stage stage,
                                      std::string_view extension) const {
  std::string name = layer(*this, block);
  if (batch > 1) name += fmt::format("_batch-{:0{}}", batch_item, digits(batch, 1));
  name += "_heads";
  if (has_norms || has_differences || stage != attention::Stage::Weights) name += fmt::format("_{}", name_of(*this, stage));
  return fmt::format("{}.{}", name, extension);
}

std::string FileNaming::figure(const FigurePlace& place, std::string_view what, std::string_view extension) const {
  std::string name = place.is_of_layer ? layer(*this, place.block) + "_" : prefix(*this, place.block.kind);
  if (place.head || place.is_mean || batch > 1) name += fmt::format("batch-{:0{}}_", place.batch_item, digits(batch, 1));
  if (place.head) name += fmt::format("head-{:0{}}_", *place.head, digits(heads, 2));
  if (place.is_mean) name += "mean_";
  if (has_differences) name += "difference_";
  if (has_norms) name += "norms_";
  return fmt::format("{}{}.{}", name, what, extension);
}

std::string FileNaming::stage(model::BlockKind kind, attention::Stage of_stage, std::string_view extension) const {
  return fmt::format("{}{}.{}", prefix(*this, kind), name_of(*this, of_stage), extension);
}

}  // namespace headlight::exporting
