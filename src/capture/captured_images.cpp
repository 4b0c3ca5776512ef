#include "capture/stored_capture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/tensor.h"
#include "files/image.h"

namespace headlight::capture {
namespace {

namespace fs = std::filesystem;

/// A patch whose edges differ by more is of another image than the model has read.
constexpr double kMaxAspect = 1.05;
constexpr std::uint32_t kBlackPixel = 0xFF00'0000U;

/// The file that a capture names: in its own folder or below, since a capture may come from anywhere.
fs::path image_path(const fs::path& capture, const std::string& name) {
  const fs::path path = name;
  const bool leaves = path.empty() || path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (leaves) throw Error("the image '{}' lies outside of the capture's folder; put it beside the capture", name);
  return capture.parent_path() / path;
}

/// Pixels of one image in a tensor [line, height, width, 3] or [line, 3, height, width], numbers 0 … 1.
class TensorImages {
 public:
  explicit TensorImages(const StoredArray& array) : name_("'" + array.name + "'") {
    if (!array.problem.empty()) throw Error("{}", array.problem);
    Shape shape = array.shape;
    if (shape.size() == 3) shape.insert(shape.begin(), 1);
    if (shape.size() != 4 || (shape[3] != 3 && shape[1] != 3)) {
      throw Error("{} is {}; an image is [height, width, 3] or [3, height, width], or a batch of such", name_,
                  headlight::to_string(array.shape));
    }
    has_planes_ = shape[3] != 3;
    lines_ = shape[0];
    height_ = has_planes_ ? shape[2] : shape[1];
    width_ = has_planes_ ? shape[3] : shape[2];
    if (lines_ == 0) throw Error("{} is {}: it is empty", name_, headlight::to_string(array.shape));
    files::expect_image_size(name_, width_, height_);
    if (std::uint64_t{lines_} * width_ * height_ > files::kMaxImagePixels) {
      throw Error("{} has {} images of {} × {} pixels, together more than the {} millions that are read; save fewer", name_,
                  lines_, width_, height_, files::kMaxImagePixels / 1'000'000);
    }
    numbers_ = array.open(std::move(shape));
  }

  std::uint32_t lines() const { return lines_; }
  /// Numbers that weren't 0 … 1.
  std::uint64_t outside() const { return outside_; }

  files::Pixels read(std::uint32_t line) {
    files::Pixels image{.width = width_, .height = height_, .rgba = std::vector(std::size_t{width_} * height_, kBlackPixel)};
    std::vector<float> numbers(std::size_t{width_} * (has_planes_ ? 1 : 3));
    for (std::uint32_t y = 0; y < height_; ++y) {
      const std::span<std::uint32_t> row = std::span(image.rgba).subspan(std::size_t{y} * width_, width_);
      if (!has_planes_) {
        numbers_->read({.item = line, .head = y, .row = 0, .rows = width_, .column = 0, .columns = 3}, numbers.data());
        for (std::size_t i = 0; i < numbers.size(); ++i) row[i / 3] |= byte(numbers[i]) << (8U * (i % 3));
        continue;
      }
      for (std::uint32_t channel = 0; channel < 3; ++channel) {
        numbers_->read({.item = line, .head = channel, .row = y, .rows = 1, .column = 0, .columns = width_}, numbers.data());
        for (std::size_t x = 0; x < width_; ++x) row[x] |= byte(numbers[x]) << (8U * channel);
      }
    }
    return image;
  }

 private:
  std::uint32_t byte(float number) {
    const bool is_inside = number >= 0.0F && number <= 1.0F;  // NaN isn't
    if (!is_inside) ++outside_;
    return number > 0.0F ? static_cast<std::uint32_t>(std::lround(std::min(number, 1.0F) * 255.0F)) : 0U;
  }

  std::string name_;
  bool has_planes_ = false;
  std::uint32_t lines_ = 0, width_ = 0, height_ = 0;
  std::shared_ptr<const Numbers> numbers_;
  std::uint64_t outside_ = 0;
};

std::string too_large(std::size_t images) {
  return fmt::format("its {} images have more than the {} million pixels that are shown; save fewer", images,
                     files::kMaxImagePixels / 1'000'000);
}

using Pictures = std::vector<std::shared_ptr<const files::Pixels>>;

std::string outside_text(std::uint64_t numbers) {
  return numbers == 0
             ? std::string()
             : fmt::format("{} numbers of the image lie outside of 0 … 1: save it as it was before it was normalised",
                           numbers);
}

/// `note`: of odd numbers.
Pictures read_tensors(const ImageSource& source, std::string& note) {
  Pictures pictures;
  std::uint64_t outside = 0, kept = 0;
  for (std::uint32_t number = 0; const StoredArray* array : source.pixels) {
    if (image_number(array->name).value_or(0) != number++)
      throw Error("'image.{}' is missing beside '{}'", number - 1, array->name);
    TensorImages tensor(*array);
    for (std::uint32_t line = 0; line < tensor.lines(); ++line) {
      pictures.push_back(std::make_shared<const files::Pixels>(files::reduced(tensor.read(line), files::kKeptImageEdge)));
      kept += pictures.back()->rgba.size();
      if (kept > files::kMaxImagePixels) throw Error("{}", too_large(source.pixels.size()));
    }
    outside += tensor.outside();
  }
  note = outside_text(outside);
  return pictures;
}

Pictures read_files(const ImageSource& source) {
  const std::vector<std::string>& files = source.words->files;
  Pictures pictures;
  std::uint64_t kept = 0;
  for (const std::string& name : files) {
    auto image = std::make_shared<const files::Pixels>(files::read_image_file(image_path(source.capture, name)));
    kept += image->rgba.size();
    if (kept > files::kMaxImagePixels) throw Error("{}", too_large(files.size()));
    pictures.push_back(std::move(image));
  }
  return pictures;
}

/// The grid of `patches`, if it fits the tokens.
PatchGrid grid_of(const ImageSource& source) {
  const ImageMetadata& words = *source.words;
  const std::uint32_t tokens = source.sides[CapturedImages::kSource].tokens;
  if (!words.problem.empty()) throw Error("{}; the image isn't shown", words.problem);
  if (!words.patches) {
    throw Error("its image isn't shown: 'patches', their rows and columns, is missing in the metadata");
  }
  if (tokens == 0) {
    throw Error("its image isn't shown: patches are the tokens of an encoder, or of a single stack called attention.0, …");
  }
  const auto [rows, columns] = *words.patches;
  const std::uint64_t count = std::uint64_t{rows} * columns;
  const std::uint64_t leading = count <= tokens ? tokens - count : 0;
  const std::uint64_t first = words.first_patch ? *words.first_patch : leading;
  if (count == 0 || first + count > tokens) {
    throw Error("its patches, {} × {}{}, are not the {} tokens of its attention; the image isn't shown", rows, columns,
                first > 0 ? fmt::format(" from token {} on", first) : "", tokens);
  }
  return {.rows = rows, .columns = columns, .first = static_cast<std::uint32_t>(first)};
}

/// The places of images, by their numbers, among the tokens.
struct Spans {
  std::array<std::vector<std::vector<ImageSpan>>, CapturedImages::kSides> of_sides = {};  ///< one line for all, or each
  bool is_grid = false;  ///< of `patches`: an image for each line, or one for all
};

/// Lines of one side's spans, which fit its tokens and one another, in the order of the tokens.
std::vector<std::vector<ImageSpan>> fitting(const ImageSource::Side& side, const Positions& positions) {
  std::vector<std::vector<ImageSpan>> lines = positions.lines;
  if (lines.size() != 1 && lines.size() != side.batch) {
    throw Error("{}: images of {} lines, but the batch has {}; write a list for each line", positions.where,
                positions.lines.size(), side.batch);
  }
  for (std::size_t line = 0; line < lines.size(); ++line) {
    std::ranges::sort(lines[line], {}, [](const ImageSpan& span) { return span.grid.first; });
    std::uint64_t end = 0;
    for (const ImageSpan& span : lines[line]) {
      const PatchGrid& grid = span.grid;
      if (grid.end() > side.tokens || grid.first < end) {
        throw Error("{}: line {} has {} × {} patches from token {} on, which {}", positions.where, line + 1, grid.rows,
                    grid.columns, grid.first,
                    grid.first < end ? std::string("is a patch of another image")
                                     : fmt::format("end after its {} tokens", side.tokens));
      }
      end = grid.end();
    }
  }
  return lines;
}

Spans spans_of(const ImageSource& source) {
  Spans spans;
  bool has_any = false;
  for (std::size_t side = 0; side < CapturedImages::kSides; ++side) {
    const ImageSource::Side& of_side = source.sides[side];
    if (of_side.spans == nullptr || !*of_side.spans || of_side.tokens == 0) continue;
    spans.of_sides[side] = fitting(of_side, **of_side.spans);
    has_any = true;
  }
  if (has_any) return spans;
  spans.is_grid = true;
  spans.of_sides[CapturedImages::kSource] = {{{.image = 0, .grid = grid_of(source)}}};
  return spans;
}

/// Returns a note about an image whose patches are so oblong that the model can't have read it in this shape; "" for
/// others.
std::string odd_aspect(const PatchImage& image) {
  if (!image.pixels) return {};
  const double width = static_cast<double>(image.pixels->width) / image.grid.columns;
  const double height = static_cast<double>(image.pixels->height) / image.grid.rows;
  if (std::max(width, height) <= kMaxAspect * std::min(width, height)) return {};
  return fmt::format(
      "patches of the image would be {:.3g} × {:.3g} pixels: save it as the model reads it, resized and "
      "cropped",
      width, height);
}

/// Pictures at their places. A span without a picture is shown without one; `note` says so.
void place(const Spans& spans, const Pictures& pictures, CapturedImages& images) {
  for (std::size_t side = 0; side < CapturedImages::kSides; ++side) {
    for (const std::vector<ImageSpan>& line : spans.of_sides[side]) {
      PatchImages& of_line = images.of_sides[side].emplace_back();
      for (const ImageSpan& span : line) {
        const std::size_t number = span.image;
        of_line.images.push_back({.grid = span.grid, .pixels = number < pictures.size() ? pictures[number] : nullptr});
        if (!images.note.empty()) continue;
        images.note = number < pictures.size() ? odd_aspect(of_line.images.back())
                                               : fmt::format(
                                                     "there are {} images, but a position is of image {}; its "
                                                     "patches are shown without it",
                                                     pictures.size(), number);
      }
    }
  }
}

}  // namespace

const PatchImages& CapturedImages::of(std::size_t side, std::uint32_t line) const {
  static const PatchImages kNone;
  const std::vector<PatchImages>& lines = of_sides[side];
  return lines.size() == 1 ? lines.front() : line < lines.size() ? lines[line] : kNone;
}

CapturedImages read_images(const ImageSource& source) {
  const ImageMetadata& words = *source.words;
  CapturedImages images;
  const bool has_any = !words.files.empty() || !source.pixels.empty();
  const bool has_spans = std::ranges::any_of(
      source.sides, [](const ImageSource::Side& side) { return side.spans != nullptr && side.spans->has_value(); });
  if (!has_any && !has_spans && !words.patches && words.problem.empty()) return images;
  Spans spans;
  try {
    spans = spans_of(source);
  } catch (const Error& error) {
    images.note = error.what();
    return images;
  }
  Pictures pictures;
  try {
    if (!has_any) throw Error("it names patches, but no image");
    pictures = source.pixels.empty() ? read_files(source) : read_tensors(source, images.note);
    const std::uint32_t batch = source.sides[CapturedImages::kSource].batch;
    if (spans.is_grid && pictures.size() != 1 && pictures.size() != batch) {
      throw Error("there are {} images, but the batch has {} line{}; save one, or one for each line", pictures.size(), batch,
                  batch == 1 ? "" : "s");
    }
  } catch (const Error& error) {
    pictures.clear();
    images.note = fmt::format("{}; patches are shown without the image", error.what());
  }
  std::vector<std::vector<ImageSpan>>& lines = spans.of_sides[CapturedImages::kSource];
  while (spans.is_grid && lines.size() < pictures.size()) {
    lines.push_back(lines.front());
    lines.back().front().image = static_cast<std::uint32_t>(lines.size() - 1);
  }
  place(spans, pictures, images);
  return images;
}

std::vector<std::string> patch_names(const PatchImages& images, std::uint32_t tokens) {
  std::vector<std::string> names;
  names.reserve(tokens);
  const bool has_class = !images.is_empty() && images.images.front().grid.first == 1;
  for (std::uint32_t token = 0; token < tokens; ++token) {
    const std::optional<PatchImages::Found> found = images.find(token);
    names.push_back(found                     ? images.short_name(*found)
                    : token == 0 && has_class ? std::string("[class]")
                                              : std::to_string(token));
  }
  return names;
}

std::optional<PatchImages::Found> PatchImages::find(std::uint32_t token) const {
  const auto after = std::ranges::upper_bound(images, token, {}, [](const PatchImage& image) { return image.grid.first; });
  if (after == images.begin()) return std::nullopt;
  const auto found = std::prev(after);
  const std::optional<PatchGrid::Place> place = found->grid.place(token);
  if (!place) return std::nullopt;
  return Found{.image = static_cast<std::size_t>(found - images.begin()), .place = *place};
}

std::string PatchImages::name(std::uint32_t token) const {
  const std::optional<Found> found = find(token);
  if (!found) return {};
  return fmt::format("{}patch row {}, column {}", images.size() > 1 ? fmt::format("image {}, ", found->image) : "",
                     found->place.row, found->place.column);
}

std::string PatchImages::short_name(const Found& found) const {
  return fmt::format("{}{},{}", images.size() > 1 ? fmt::format("{}:", found.image) : "", found.place.row,
                     found.place.column);
}

}  // namespace headlight::capture
