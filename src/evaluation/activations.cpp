#include "evaluation/activations.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace headlight::evaluation {
namespace {

using attention::Stage;

model::BlockRef block_of(std::uint32_t layer) { return {model::BlockKind::EncoderSelf, LayerIndex{layer}}; }

attention::BlockShape shape_of(const inference::LanguageModel& model, std::uint32_t layer) {
  model::ModelInput one_token;
  one_token.source.batch = one_token.source.length = 1;
  return inference::shape_of(model.network->layer(block_of(layer)), model::BlockKind::EncoderSelf, one_token);
}

/// "next" or "next.3".
std::vector<ActivationSite> sites_of(const inference::LanguageModel& model, const std::string& name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  std::size_t stage = 0;
  while (stage < attention::kStages && attention::to_string(static_cast<Stage>(stage)) != name.substr(0, dot)) ++stage;
  if (stage == attention::kStages || is_map(static_cast<Stage>(stage))) {
    throw Error("'{}' names no stage with vectors of tokens: headlight export --help lists them under --stages", name);
  }
  std::vector<ActivationSite> sites;
  for (std::uint32_t layer = 0; layer < model.description.layers; ++layer) {
    const ActivationSite site{.stage = static_cast<Stage>(stage), .layer = layer};
    const bool is_meant = dot == name.size() || name.substr(dot + 1) == std::to_string(layer);
    if (is_meant && shape_of(model, layer).extent(site.stage)) sites.push_back(site);
  }
  if (sites.empty()) {
    throw Error("{} of {} layers has no '{}'", model.description.name, model.description.layers, name);
  }
  return sites;
}

}  // namespace

std::string ActivationSite::name() const { return fmt::format("{}.{}", attention::to_string(stage), layer); }

std::vector<ActivationSite> activation_sites(const inference::LanguageModel& model, std::span<const std::string> names) {
  std::vector<ActivationSite> all;
  for (const std::string& name : names) {
    for (const ActivationSite& site : sites_of(model, name)) {
      if (std::ranges::find(all, site) == all.end()) all.push_back(site);
    }
  }
  return all;
}

Shape row_shape(const inference::LanguageModel& model, const ActivationSite& site) {
  const attention::BlockShape shape = shape_of(model, site.layer);
  const std::uint32_t width = shape.extent(site.stage).value().columns;
  if (!is_per_head(site.stage)) return {width};
  return {shape.matrices(site.stage), width};
}

ActivationKeeper::ActivationKeeper(const inference::LanguageModel& model, const ActivationChoice& choice,
                                   std::span<const std::vector<std::uint32_t>> lines, std::span<const std::uint64_t> offsets,
                                   ShardActivations& kept)
    : choice_(choice), lines_(lines), kept_(kept) {
  for (std::size_t line = 0; line < lines.size(); ++line) {
    first_.push_back(kept.rows());
    for (std::size_t token = 0; token < lines[line].size(); token += choice.every) {
      const std::array<std::int64_t, 3> row = {static_cast<std::int64_t>(offsets[line]), static_cast<std::int64_t>(token),
                                               static_cast<std::int64_t>(lines[line][token])};
      kept.index.insert(kept.index.end(), row.begin(), row.end());
    }
  }
  for (const ActivationSite& site : choice.sites) {
    Shape shape = row_shape(model, site);
    shape.insert(shape.begin(), kept.rows());
    kept.sites.emplace_back(std::move(shape));
  }
}

void ActivationKeeper::keep(const inference::Run& run, std::span<const std::size_t> batch) {
  for (std::size_t site = 0; site < choice_.sites.size(); ++site) {
    const Tensor all = run.stage(block_of(choice_.sites[site].layer), choice_.sites[site].stage);  // [item, (head,) row, d]
    const std::size_t axes = all.shape.size(), width = all.axis(axes - 1), rows = all.axis(axes - 2);
    const std::size_t heads = axes == 4 ? all.axis(1) : 1;
    for (std::size_t item = 0; item < batch.size(); ++item) {
      float* to = kept_.sites[site].values.data() + first_[batch[item]] * heads * width;
      for (std::size_t token = 0; token < lines_[batch[item]].size(); token += choice_.every) {
        for (std::size_t head = 0; head < heads; ++head, to += width) {
          std::copy_n(all.values.data() + ((item * heads + head) * rows + token) * width, width, to);
        }
      }
    }
  }
}

}  // namespace headlight::evaluation
