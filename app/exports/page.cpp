#include "app/exports/export_plan.h"

#include <numeric>

#include "app/exports/figures.h"
#include "app/exports/patch_thumbnails.h"
#include "app/quantities/evaluation.h"
#include "app/quantities/shown_map.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "export/page.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// Adds tokens of a range with their positions.
void add_tokens(const AxisRange& range, const std::vector<std::string>& texts, std::vector<std::string>& tokens,
                std::vector<std::uint32_t>& positions) {
  for (std::uint32_t token = range.first; token < range.first + range.count; ++token) {
    tokens.push_back(texts.at(token));
    positions.push_back(token);
  }
}

/// What is evaluated for a page.
class PageReader {
 public:
  PageReader(const inference::Run& run, const model::ModelInput& input, const Checkpoint& checkpoint)
      : run_(run), input_(input), checkpoint_(checkpoint) {}

  /// Throws Error where the item's selected tokens are all padding.
  exporting::PageSet read(const ExportBlocks& blocks, std::uint32_t item) {
    exporting::PageSet set;
    std::vector<AxisRange> rows;
    const model::TokenBatch &queries = input_.queries(blocks.kind), &keys = input_.keys(blocks.kind);
    for (const AxisRange& range : blocks.queries) {
      const AxisRange real = without_padding(range, queries, item);
      if (real.count == 0) continue;
      rows.push_back(real);
      add_tokens(real, queries.texts.at(item), set.rows, set.row_positions);
    }
    const AxisRange columns = without_padding(blocks.keys, keys, item);
    add_tokens(columns, keys.texts.at(item), set.columns, set.column_positions);
    if (set.rows.empty() || set.columns.empty()) return set;
    set.title = blocks.prefix.empty() ? "attention" : fmt::format("{} attention", model::to_string(blocks.kind));
    if (blocks.shape.batch > 1) set.title += fmt::format(", line {}", item + 1);
    for (const model::BlockRef block : blocks.layers) set.layers.push_back(block.layer.value);
    set.heads = blocks.heads;
    expect_room(set);
    for (const model::BlockRef block : blocks.layers) {
      for (const std::uint32_t head : blocks.heads) read_head(blocks, block, item, head, rows, columns, set);
    }
    return set;
  }

 private:
  void expect_room(const exporting::PageSet& set) {
    cells_ += std::uint64_t{set.layers.size()} * set.heads.size() * set.rows.size() * set.columns.size();
    if (cells_ <= exporting::kMostPageCells) return;
    throw Error("a page of {} cells is too large for a browser, {} fit; choose fewer --layer, --head or --queries", cells_,
                exporting::kMostPageCells);
  }

  void read_head(const ExportBlocks& blocks, model::BlockRef block, std::uint32_t item, std::uint32_t head,
                 const std::vector<AxisRange>& rows, const AxisRange& columns, exporting::PageSet& set) {
    for (const AxisRange& range : rows) {
      const TileQuery part = {.quantity = quantity_of(blocks, Stage::Weights),
                              .block = block,
                              .batch = item,
                              .head = head,
                              .row = range.first,
                              .rows = range.count,
                              .column = columns.first,
                              .columns = columns.count};
      for (const TileQuery& strip : strips_of(part)) {
        checkpoint_(static_cast<double>(read_) / static_cast<double>(std::max<std::uint64_t>(cells_, 1)));
        const attention::Tile tile = evaluate({.run = run_, .norms = norms_}, strip);
        std::ranges::copy(tile.values, std::back_inserter(set.values));
        if (tile.masked.empty()) {
          set.masked.resize(set.values.size());
        } else {
          std::ranges::copy(tile.masked, std::back_inserter(set.masked));
        }
        read_ += tile.values.size();
      }
    }
  }

  const inference::Run& run_;
  const model::ModelInput& input_;
  const Checkpoint& checkpoint_;
  std::shared_ptr<HeadNormsCache> norms_ = std::make_shared<HeadNormsCache>();
  std::uint64_t cells_ = 0, read_ = 0;
};

/// Where a side's tokens are patches of an image with pixels, which becomes one of the page's if it isn't yet.
std::optional<exporting::PagePatches> page_patches(const std::optional<PatchImage>& image,
                                                   std::vector<std::shared_ptr<const exporting::Pixels>>& images) {
  if (!image || !image->pixels) return std::nullopt;
  const auto found = std::ranges::find(images, image->pixels);
  const auto index = static_cast<std::size_t>(found - images.begin());
  if (found == images.end()) images.push_back(image->pixels);
  return exporting::PagePatches{
      .image = index, .rows = image->grid.rows, .columns = image->grid.columns, .first = image->grid.first};
}

/// Nothing was computed: the weights themselves were captured.
bool has_saved_weights(const capture::CaptureFile* capture) {
  return capture != nullptr && std::ranges::all_of(capture->blocks(), [](const capture::CapturedBlock& block) {
           return block.weights != nullptr;
         });
}

}  // namespace

void write_attention_page(ExportWork& work, const std::filesystem::path& path) {
  const ExportOptions& options = work.options;
  const model::ModelInput& input = *work.source.input;
  const capture::CaptureFile* capture = work.source.capture.get();
  exporting::AttentionPage page;
  page.title =
      options.title.empty() ? quantity(quantity_of(work.blocks.front(), Stage::Weights)).figure_title : options.title;
  page.subtitle = settings_in_words(work.blocks.front(), options);
  if (const std::string changes = work.changes(); !changes.empty()) page.subtitle += "; " + changes;
  page.made =
      fmt::format("Headlight {}, {}", HEADLIGHT_VERSION,
                  has_saved_weights(capture) ? "weights as they were saved" : "computed on " + work.runner.device_name());
  page.color_map = color_map_of(options);
  page.theme = options.is_dark ? exporting::PageTheme::Dark : exporting::PageTheme::Auto;
  PageReader reader(*work.run, input, work.checkpoint);
  for (const ExportBlocks& blocks : work.blocks) {
    for (std::uint32_t item = 0; item < blocks.batch.count; ++item) {
      exporting::PageSet set = reader.read(blocks, blocks.batch.first + item);
      if (set.values.empty()) continue;
      const auto patches = [&](const model::TokenBatch& tokens) {
        return page_patches(patch_image_of(capture, input, tokens, blocks.batch.first + item), page.images);
      };
      set.row_patches = patches(input.queries(blocks.kind));
      set.column_patches = patches(input.keys(blocks.kind));
      page.sets.push_back(std::move(set));
    }
  }
  if (page.sets.empty()) throw Error("the page has nothing to show: the chosen queries and keys are padding");
  const std::string text = encode_page(page);
  write_file_atomically(path, text);
  if (text.size() > exporting::kLargeBytes) {
    work.notes.push_back(fmt::format("{} has {} MB, which browsers open slowly; choose fewer layers, heads or queries",
                                     path.filename().string(), text.size() / 1'000'000));
  }
}

}  // namespace headlight::app
