#include "app/figures/export_plan.h"

#include <numeric>

#include "app/figures/figure_kind.h"
#include "app/figures/shaded_image.h"
#include "app/shapes/quantities/evaluation.h"
#include "app/shapes/quantities/tile_query.h"
#include "core/error.h"
#include "core/file.h"
#include "export/page.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// What is evaluated for a page.
class PageReader {
 public:
  explicit PageReader(const ExportWork& work) : work_(work) {}

  /// Empty where the item's selected tokens are all padding.
  Task<exporting::PageSet> read(const ExportBlocks& blocks, std::uint32_t item) {
    exporting::PageSet set;
    const model::ModelInput& input = *work_.source.input;
    ExportBlocks own = without_padding(blocks, input, item);
    if (own.line_queries.count() == 0) co_return set;
    own.batch = {.first = item, .end = item + 1};
    MatrixAxes axes = matrix_axes(input, own, {.block = own.layers.front(), .batch = item});
    set.rows = std::move(axes.rows);
    set.columns = std::move(axes.columns);
    set.row_positions = own.queries.indices();
    set.column_positions = IndexSet(own.keys).indices();
    set.title = own.prefix.empty() ? "attention" : fmt::format("{} attention", model::to_string(own.kind));
    if (own.shape.batch > 1) set.title += fmt::format(", line {}", item + 1);
    for (const model::BlockRef block : own.layers) set.layers.push_back(block.layer.value);
    set.heads = own.heads;
    expect_room(set);
    for (const MatrixRef& matrix : matrices_of(own, Stage::Weights)) {
      for (const TileQuery& part : selected_parts(own, matrix.block, matrix.stage, item, matrix.head))
        for (const TileQuery& query : strips_of(part)) {
          const attention::Tile strip = co_await work_.tile(query);
          add(strip, set);
        }
    }
    co_return set;
  }

 private:
  void expect_room(const exporting::PageSet& set) {
    cells_ += std::uint64_t{set.layers.size()} * set.heads.size() * set.rows.size() * set.columns.size();
    if (cells_ <= exporting::kMaxPageCells) return;
    throw Error("a page of {} cells is too large for a browser, {} fit; choose fewer --layer, --head or --queries", cells_,
                exporting::kMaxPageCells);
  }

  void add(const attention::Tile& strip, exporting::PageSet& set) {
    std::ranges::copy(strip.values, std::back_inserter(set.values));
    std::ranges::copy(strip.masked, std::back_inserter(set.masked));
    set.masked.resize(set.values.size());
    read_ += strip.values.size();
    work_.checkpoint(static_cast<double>(read_) / static_cast<double>(std::max<std::uint64_t>(cells_, 1)));
  }

  const ExportWork& work_;
  std::uint64_t cells_ = 0, read_ = 0;
};

/// Where a side's tokens are patches of images with pixels, which become some of the page's if they aren't yet.
std::vector<exporting::PagePatches> page_patches(const capture::PatchImages& among,
                                                 std::vector<std::shared_ptr<const exporting::Pixels>>& images) {
  std::vector<exporting::PagePatches> patches;
  for (const auto& [grid, pixels] : among.images) {
    if (!pixels) continue;
    const auto found = std::ranges::find(images, pixels);
    const auto index = static_cast<std::size_t>(found - images.begin());
    if (found == images.end()) images.push_back(pixels);
    patches.push_back(
        {.image = index, .rows = grid.rows, .columns = grid.columns, .first = grid.first, .step = grid.row_step()});
  }
  return patches;
}

/// Nothing was computed: the weights themselves were captured.
bool has_saved_weights(const capture::CaptureFile* capture) {
  return capture != nullptr && std::ranges::all_of(capture->blocks(), [](const capture::CapturedBlock& block) {
           return block.weights != nullptr;
         });
}

}  // namespace

Task<void> write_attention_page(ExportWork& work, std::filesystem::path path) {
  const ExportOptions& options = work.options;
  const model::ModelInput& input = *work.source.input;
  const capture::CaptureFile* capture = work.source.capture.get();
  exporting::AttentionPage page;
  page.title = options[kFigureLook.title].empty() ? quantity(quantity_of(work.blocks.front(), Stage::Weights)).figure_title
                                                  : options[kFigureLook.title];
  page.subtitle = settings_in_words(work.blocks.front(), options);
  if (const std::string changes = work.changes(); !changes.empty()) page.subtitle += "; " + changes;
  page.made = fmt::format("Headlight {}, {}", HEADLIGHT_VERSION,
                          has_saved_weights(capture) ? "weights as they were saved" : "computed on " + work.device);
  page.color_map = options[kFigureLook.color_map];
  page.theme = options[kFigureDetails.is_dark] ? exporting::PageTheme::Dark : exporting::PageTheme::Auto;
  PageReader reader(work);
  for (const ExportBlocks& blocks : work.blocks) {
    for (std::uint32_t item = blocks.batch.first; item < blocks.batch.end; ++item) {
      exporting::PageSet set = co_await reader.read(blocks, item);
      if (set.values.empty()) continue;
      const auto patches = [&](const model::TokenBatch& tokens) {
        return page_patches(patch_images_of(capture, input, tokens, item), page.images);
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
                                     utf8(path.filename()), text.size() / 1'000'000));
  }
}

}  // namespace headlight::app
