#include "capture/captured_images.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/tensor.h"
#include "files/image_file.h"

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

void expect_lines(std::size_t images, std::uint32_t batch) {
  if (images == 1 || images == batch) return;
  throw Error("there are {} images, but the batch has {} line{}; save one, or one for each line", images, batch,
              batch == 1 ? "" : "s");
}

void read_tensor(const ImageSource& source, CapturedImages& images) {
  TensorImages tensor(*source.pixels);
  expect_lines(tensor.lines(), source.batch);
  for (std::uint32_t line = 0; line < tensor.lines(); ++line) {
    images.of_lines.push_back(
        std::make_shared<const files::Pixels>(files::reduced(tensor.read(line), files::kKeptImageEdge)));
  }
  if (tensor.outside() == 0) return;
  images.note = fmt::format("{} numbers of the image lie outside of 0 … 1: save it as it was before it was normalised",
                            tensor.outside());
}

void read_files(const ImageSource& source, CapturedImages& images) {
  const std::vector<std::string>& files = source.words->files;
  expect_lines(files.size(), source.batch);
  std::uint64_t kept = 0;
  for (const std::string& name : files) {
    auto image = std::make_shared<const files::Pixels>(files::read_image_file(image_path(source.capture, name)));
    kept += image->rgba.size();
    if (kept > files::kMaxImagePixels) {
      throw Error("its {} images have more than the {} million pixels that are shown; save fewer", files.size(),
                  files::kMaxImagePixels / 1'000'000);
    }
    images.of_lines.push_back(std::move(image));
  }
}

/// The grid, if it fits the tokens.
std::optional<PatchGrid> grid_of(const ImageSource& source) {
  const ImageMetadata& words = *source.words;
  if (!words.problem.empty()) throw Error("{}; the image isn't shown", words.problem);
  if (!words.patches) {
    throw Error("its image isn't shown: 'patches', their rows and columns, is missing in the metadata");
  }
  if (source.tokens == 0) {
    throw Error("its image isn't shown: patches are the tokens of an encoder, or of a single stack called attention.0, …");
  }
  const auto [rows, columns] = *words.patches;
  const std::uint64_t count = std::uint64_t{rows} * columns;
  const std::uint64_t leading = count <= source.tokens ? source.tokens - count : 0;
  const std::uint64_t first = words.first_patch ? *words.first_patch : leading;
  if (count == 0 || first + count > source.tokens) {
    throw Error("its patches, {} × {}{}, are not the {} tokens of its attention; the image isn't shown", rows, columns,
                first > 0 ? fmt::format(" from token {} on", first) : "", source.tokens);
  }
  return PatchGrid{.rows = rows, .columns = columns, .first = static_cast<std::uint32_t>(first)};
}

/// Of an image that the model can't have read as it is.
std::string odd_aspect(const CapturedImages& images) {
  for (const auto& image : images.of_lines) {
    const double width = static_cast<double>(image->width) / images.grid->columns;
    const double height = static_cast<double>(image->height) / images.grid->rows;
    if (std::max(width, height) <= kMaxAspect * std::min(width, height)) continue;
    return fmt::format(
        "patches of the image would be {:.3g} × {:.3g} pixels: save it as the model reads it, resized and "
        "cropped",
        width, height);
  }
  return {};
}

}  // namespace

CapturedImages read_images(const ImageSource& source) {
  const ImageMetadata& words = *source.words;
  CapturedImages images;
  const bool has_any = !words.files.empty() || source.pixels != nullptr;
  if (!has_any && !words.patches && words.problem.empty()) return images;
  try {
    images.grid = grid_of(source);
  } catch (const Error& error) {
    images.note = error.what();
    return images;
  }
  try {
    if (!has_any) throw Error("it names patches, but no image");
    if (source.pixels != nullptr) {
      read_tensor(source, images);
    } else {
      read_files(source, images);
    }
    if (images.note.empty()) images.note = odd_aspect(images);
  } catch (const Error& error) {
    images.of_lines.clear();
    images.note = fmt::format("{}; patches are shown without the image", error.what());
  }
  return images;
}

std::vector<std::string> patch_names(const PatchGrid& grid, std::uint32_t tokens) {
  std::vector<std::string> names;
  names.reserve(tokens);
  for (std::uint32_t token = 0; token < tokens; ++token) {
    const std::optional<PatchGrid::Place> place = grid.place(token);
    const bool is_class = token == 0 && grid.first == 1;
    names.push_back(place      ? fmt::format("{},{}", place->row, place->column)
                    : is_class ? std::string("[class]")
                               : std::to_string(token));
  }
  return names;
}

}  // namespace headlight::capture
