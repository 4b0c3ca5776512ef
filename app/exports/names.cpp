#include "app/exports/names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "export/file_name.h"

namespace headlight::app {
namespace {

using attention::Stage;

bool is_selected(const std::optional<std::uint32_t>& wanted, std::uint32_t index) { return !wanted || *wanted == index; }

class NameList {
 public:
  NameList(const ExportOptions& options, const std::vector<model::BlockRef>& blocks) : options_(options) {
    for (const model::BlockRef block : blocks) ++layers_[block.kind];
  }

  void add(model::BlockRef block, const inference::BlockShape& shape, Stage stage) {
    if (!shape.extent(stage)) return;
    const exporting::FileNaming naming{.layers = layers_.at(block.kind),
                                       .batch = shape.batch,
                                       .heads = shape.heads,
                                       .has_kinds = layers_.size() > 1,
                                       .has_norms = options_.weighs_values,
                                       .has_differences = options_.reference.has_value()};
    if (options_.mean != HeadMean::None) return add_mean(naming, block, shape, stage);
    const bool is_of_keys = stage == Stage::K || stage == Stage::V;
    const std::uint32_t all_heads = is_of_keys && shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
    const std::uint32_t heads = attention::is_per_head(stage) ? all_heads : 1;
    const std::uint32_t group = shape.heads / std::max(all_heads, 1u);
    for (const ExportFormat format : options_.formats) {
      const std::string_view extension = to_string(format);
      if (format == ExportFormat::Npy) {
        names_.insert(naming.stage(block.kind, stage, extension));
        continue;
      }
      if (format == ExportFormat::Tiles && !attention::is_map(stage)) continue;
      const bool is_figure = format == ExportFormat::Png || format == ExportFormat::Svg;
      for (std::uint32_t batch = 0; batch < shape.batch; ++batch) {
        if (is_figure && heads > 1 && !options_.head && is_selected(options_.batch, batch)) {
          names_.insert(naming.contact_sheet(block, batch, stage, extension));
        }
        for (std::uint32_t head = 0; head < heads; ++head) {
          const bool has_head = heads == 1 || !options_.head || *options_.head / group == head;
          if (has_head && is_selected(options_.batch, batch))
            names_.insert(naming.matrix(block, batch, head, stage, extension));
        }
      }
    }
  }

  void add_result(const std::string& name) {
    for (const ExportFormat format : options_.formats) {
      if (format == ExportFormat::Npy) names_.insert((options_.reference ? "difference_" : "") + name + ".npy");
    }
  }

  std::vector<std::string> sorted() && {
    if (!names_.empty()) names_.insert("run.json");
    return {names_.begin(), names_.end()};
  }

 private:
  void add_mean(const exporting::FileNaming& naming, model::BlockRef block, const inference::BlockShape& shape,
                Stage stage) {
    if (stage != Stage::Weights) return;
    for (const ExportFormat format : options_.formats) {
      const std::string_view extension = to_string(format);
      if (format == ExportFormat::Npy) names_.insert(naming.stage(block.kind, stage, extension));
      for (std::uint32_t batch = 0; format != ExportFormat::Npy && batch < shape.batch; ++batch) {
        if (!is_selected(options_.batch, batch)) continue;
        names_.insert(naming.mean(block, options_.mean == HeadMean::Layer, batch, extension));
      }
    }
  }

  const ExportOptions& options_;
  std::map<model::BlockKind, std::uint32_t> layers_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<HiddenFile> hidden_files(const model::Network& network, bool is_model) {
  const bool has_encoder = !network.layers->encoder.empty();
  if (!is_model) return has_encoder ? std::vector{HiddenFile{"encoder_output", std::nullopt}} : std::vector<HiddenFile>{};
  if (network.layers->decoder.empty()) return {{"hidden", inference::Stack::Encoder}};
  return {{"encoder_hidden", inference::Stack::Encoder}, {"decoder_hidden", inference::Stack::Decoder}};
}

std::vector<std::string> export_names(const ExportOptions& options, const std::vector<model::BlockRef>& blocks,
                                      const BlockShapes& shapes, const model::Network* network) {
  NameList names(options, blocks);
  for (const auto& [block, shape] : shapes) {
    if (options.kind && *options.kind != block.kind) continue;
    if (!is_selected(options.layer, block.layer.value)) continue;
    for (const Stage stage : options.stages) names.add(block, shape, stage);
  }
  if (network != nullptr && options.hidden) {
    for (const HiddenFile& file : hidden_files(*network, is_model(options.inputs.source))) names.add_result(file.name);
  }
  if (network != nullptr && options.logits && network->layers->unembedding.has_value()) names.add_result("logits");
  return std::move(names).sorted();
}

}  // namespace headlight::app
