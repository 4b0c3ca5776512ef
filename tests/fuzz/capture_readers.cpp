#include <algorithm>
#include <array>
#include <vector>

#include "capture/attention_of.h"
#include "capture/capture_file.h"
#include "files/image.h"
#include "fuzz/readers.h"

namespace headlight::fuzz {
namespace {

namespace fs = std::filesystem;

/// The first and the last row of each matrix of numbers, of at most so many numbers.
void read_rows(const capture::Numbers& numbers) {
  constexpr std::uint32_t kMaxColumns = 1U << 16;
  const Shape& shape = numbers.shape();
  std::vector<float> row(std::min(shape[3], kMaxColumns));
  const auto columns = static_cast<std::uint32_t>(row.size());
  numbers.read({.item = 0, .head = 0, .row = 0, .rows = 1, .column = 0, .columns = columns}, row.data());
  numbers.read({.item = shape[0] - 1,
                .head = shape[1] - 1,
                .row = shape[2] - 1,
                .rows = 1,
                .column = shape[3] - columns,
                .columns = columns},
               row.data());
}

void open_capture(const fs::path& path) {
  expect_error_at_most([&] {
    const capture::CaptureFile file(path);
    for (const capture::CapturedBlock& block : file.blocks()) {
      for (const auto& numbers : {block.weights, block.queries, block.keys, block.values}) {
        if (numbers) expect_error_at_most([&] { read_rows(*numbers); });
      }
      if (!block.queries || block.shape.keys > 4096) continue;
      const capture::AttentionOf attention(block.queries, block.keys, block.mask, block.score);
      std::vector<float> weights(block.shape.keys);
      capture::RowScale scale;
      expect_error_at_most([&] {
        attention.weights({.item = 0, .head = 0, .row = 0, .rows = 1, .column = 0, .columns = block.shape.keys},
                          weights.data(), &scale);
      });
    }
  });
}

void read_capture(std::string_view bytes) { open_capture(write_scratch("c.safetensors", bytes)); }
void read_npz(std::string_view bytes) { open_capture(write_scratch("c.npz", bytes)); }

/// The JSON beside a capture of two tokens.
void read_tokens(std::string_view bytes) {
  static const fs::path kCapture = [] {
    const fs::path folder = empty_folder("tokens");
    fs::copy_file(fs::path(HEADLIGHT_GOLDEN_DIR) / "captures" / "self.safetensors", folder / "c.safetensors");
    return folder / "c.safetensors";
  }();
  write_scratch("tokens/c.json", bytes);
  open_capture(kCapture);
}

void read_image(std::string_view bytes) {
  const fs::path file = write_scratch("image", bytes);
  expect_error_at_most([&] { (void)files::read_image_file(file); });
}

constexpr std::array kCaptureReaders{Reader{"capture", read_capture}, Reader{"npz", read_npz}, Reader{"tokens", read_tokens},
                                     Reader{"image", read_image}};

}  // namespace

std::span<const Reader> capture_readers() { return kCaptureReaders; }

}  // namespace headlight::fuzz
