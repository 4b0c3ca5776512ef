#include "app/exports/names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/exports/figure_kind.h"
#include "export/file_name.h"

namespace headlight::app {
namespace {

using attention::Stage;

bool is_selected(const std::optional<std::uint32_t>& wanted, std::uint32_t index) { return !wanted || *wanted == index; }
bool is_selected(const std::optional<IndexSet>& wanted, std::uint32_t index) { return !wanted || wanted->contains(index); }

class NameList {
 public:
  NameList(const ExportOptions& options, const std::vector<model::BlockRef>& blocks, const model::Network* network)
      : options_(options), network_(network) {
    for (const model::BlockRef block : blocks) ++layers_[block.kind];
  }

  void add(model::BlockRef block, const inference::BlockShape& shape, Stage stage) {
    if (!shape.extent(stage)) return;
    const exporting::FileNaming naming = naming_of(block, shape);
    if (options_.mean != HeadMean::None) return add_mean(naming, block, shape, stage);
    const bool is_of_keys = stage == Stage::K || stage == Stage::V;
    const std::uint32_t all_heads = is_of_keys && shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
    std::set<std::uint32_t> heads = {0};
    if (attention::is_per_head(stage)) heads = selected_heads(shape.heads, shape.heads / std::max(all_heads, 1U));
    for (const ExportFormat format : options_.formats) {
      const std::string_view extension = to_string(format);
      if (add_arrays(naming, block, stage, format)) continue;
      if (format == ExportFormat::Html) {
        if (stage == Stage::Weights && !writes_difference(options_)) names_.insert(container_name(format, options_));
        continue;
      }
      if (is_figure(format) || (format == ExportFormat::Tiles && !attention::is_map(stage))) continue;
      for (std::uint32_t batch = 0; batch < shape.batch; ++batch) {
        if (!is_selected(options_.batch, batch)) continue;
        for (const std::uint32_t head : heads) names_.insert(naming.matrix(block, batch, head, stage, extension));
      }
    }
  }

  /// The figures of a layer.
  void add_figures(model::BlockRef block, const inference::BlockShape& shape) {
    if (std::ranges::none_of(options_.formats, is_figure)) return;
    ExportBlocks blocks;
    blocks.kind = block.kind;
    blocks.layers = {block};
    blocks.shape = shape;
    blocks.batch = {.first = 0, .count = shape.batch};
    if (options_.batch) blocks.batch = {.first = *options_.batch, .count = *options_.batch < shape.batch ? 1U : 0U};
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      if (is_selected(options_.heads, head)) blocks.heads.push_back(head);
    }
    if (blocks.heads.empty()) return;
    blocks.queries = {{.first = 0, .count = shape.queries}};
    if (options_.queries) {
      blocks.queries.clear();
      for (const IndexRange& range : options_.queries->ranges()) blocks.queries.push_back({range.first, range.count()});
    }
    blocks.keys = {.first = 0, .count = shape.keys};
    if (options_.keys) blocks.keys = {.first = options_.keys->first, .count = options_.keys->count()};
    blocks.mean = options_.mean;
    blocks.weighs_values = options_.weighs_values;
    blocks.is_difference = writes_difference(options_);
    blocks.has_reference = options_.reference.has_value();
    blocks.predicts = network_ != nullptr && predicts(*network_, block.kind);
    for (const FigureKind* kind : figure_kinds_of(options_)) {
      if (figure_refusal(*kind, blocks).empty()) add_figures(*kind, blocks);
    }
  }

  void add_result(const std::string& name) {
    for (const ExportFormat format : options_.formats) {
      if (format == ExportFormat::Npy) names_.insert((writes_difference(options_) ? "difference_" : "") + name + ".npy");
      if (holds_arrays(format) && is_container(format)) names_.insert(container_name(format, options_));
    }
  }

  std::vector<std::string> sorted() && {
    if (!names_.empty() && options_.file.empty()) names_.insert("run.json");
    return {names_.begin(), names_.end()};
  }

 private:
  exporting::FileNaming naming_of(model::BlockRef block, const inference::BlockShape& shape) const {
    return {.layers = layers_.at(block.kind),
            .batch = shape.batch,
            .heads = shape.heads,
            .has_kinds = layers_.size() > 1,
            .has_norms = options_.weighs_values,
            .has_differences = writes_difference(options_)};
  }

  void add_figures(const FigureKind& kind, const ExportBlocks& blocks) {
    const exporting::FileNaming naming = naming_of(blocks.layers.front(), blocks.shape);
    for (const Stage stage : kind.is_of_stages ? options_.stages : std::vector{Stage::Weights}) {
      const bool has_stage = blocks.shape.extent(stage) && (blocks.mean == HeadMean::None || stage == Stage::Weights);
      if (!has_stage) continue;
      for (const MatrixRef& matrix : figures_of(kind, blocks, stage)) {
        for (const ExportFormat format : options_.formats) {
          if (is_figure(format)) names_.insert(figure_file(kind, naming, matrix, blocks.mean, to_string(format)));
        }
      }
    }
  }

  /// Of each group of heads that share keys and values, those that a selected head reads.
  std::set<std::uint32_t> selected_heads(std::uint32_t heads, std::uint32_t group) const {
    std::set<std::uint32_t> selected;
    for (std::uint32_t head = 0; head < heads; ++head) {
      if (is_selected(options_.heads, head)) selected.insert(head / group);
    }
    return selected;
  }

  /// A file for all matrices of a stage, or of all; false: the format isn't one of those.
  bool add_arrays(const exporting::FileNaming& naming, model::BlockRef block, Stage stage, ExportFormat format) {
    if (!holds_arrays(format)) return false;
    names_.insert(is_container(format) ? container_name(format, options_)
                                       : naming.stage(block.kind, stage, to_string(format)));
    return true;
  }

  void add_mean(const exporting::FileNaming& naming, model::BlockRef block, const inference::BlockShape& shape,
                Stage stage) {
    if (stage != Stage::Weights) return;
    for (const ExportFormat format : options_.formats) {
      const std::string_view extension = to_string(format);
      if (add_arrays(naming, block, stage, format) || format == ExportFormat::Html || is_figure(format)) continue;
      for (std::uint32_t batch = 0; batch < shape.batch; ++batch) {
        if (!is_selected(options_.batch, batch)) continue;
        names_.insert(naming.mean(block, options_.mean == HeadMean::Layer, batch, extension));
      }
    }
  }

  const ExportOptions& options_;
  const model::Network* network_;  ///< null: not known
  std::map<model::BlockKind, std::uint32_t> layers_;
  std::set<std::string> names_;
};

}  // namespace

std::string container_name(ExportFormat format, const ExportOptions& options) {
  if (!options.file.empty()) return options.file;
  return format == ExportFormat::Html ? "attention.html" : fmt::format("numbers.{}", to_string(format));
}

std::vector<HiddenFile> hidden_files(const model::Network& network, bool is_model) {
  const bool has_encoder = !network.layers->encoder.empty();
  if (!is_model) return has_encoder ? std::vector{HiddenFile{"encoder_output", std::nullopt}} : std::vector<HiddenFile>{};
  if (network.layers->decoder.empty()) return {{"hidden", inference::Stack::Encoder}};
  return {{"encoder_hidden", inference::Stack::Encoder}, {"decoder_hidden", inference::Stack::Decoder}};
}

std::vector<std::string> export_names(const ExportOptions& options, const std::vector<model::BlockRef>& blocks,
                                      const BlockShapes& shapes, const model::Network* network) {
  NameList names(options, blocks, network);
  for (const auto& [block, shape] : shapes) {
    if (options.kind && *options.kind != block.kind) continue;
    if (!is_selected(options.layers, block.layer.value)) continue;
    for (const Stage stage : options.stages) names.add(block, shape, stage);
    names.add_figures(block, shape);
  }
  if (network != nullptr && options.hidden) {
    for (const HiddenFile& file : hidden_files(*network, is_model(options.inputs.source))) names.add_result(file.name);
  }
  if (network != nullptr && options.logits && network->layers->unembedding.has_value()) names.add_result("logits");
  return std::move(names).sorted();
}

}  // namespace headlight::app
