// Images of captures: where they come from, what is said about those that can't be shown, files that are hostile.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "capture/capture_file.h"
#include "capture/captures.h"
#include "core/error.h"
#include "files/image.h"
#include "support/error_message.h"
#include "support/golden.h"

namespace captured_images_test {

using namespace headlight;
using namespace headlight::capture;
using namespace headlight::files;
using namespace headlight::test;

namespace {

/// Rows and columns as a member of metadata has them.
constexpr std::string_view kGrid = R"("patches":"[2, 3]")";

files::Pixels flat(std::uint32_t width, std::uint32_t height, std::uint32_t rgba = 0xFF10'2030U) {
  return {.width = width, .height = height, .rgba = std::vector(std::size_t{width} * height, rgba)};
}

/// The first image among the tokens of a line; null: there is none.
std::shared_ptr<const files::Pixels> picture(const CaptureFile& file, std::uint32_t line = 0) {
  const PatchImages& images = file.images(true, line);
  return images.is_empty() ? nullptr : images.images.front().pixels;
}

/// Weights of a layer with these tokens, and an image.
std::vector<MadeTensor> with_image(std::uint32_t tokens, std::vector<std::uint32_t> shape, float value = 0.5F) {
  std::size_t count = 1;
  for (const std::uint32_t axis : shape) count *= axis;
  return {even("attention.0", {1, 1, tokens, tokens}),
          {.name = "image", .shape = std::move(shape), .values = std::vector(count, value)}};
}

std::string note_of(const std::vector<MadeTensor>& tensors, std::string_view metadata) {
  const TemporaryDirectory folder;
  const CaptureFile file(write_capture(folder.path() / "c.safetensors", tensors, metadata));
  CHECK(file.blocks().size() == 1);  // the rest is shown all the same
  std::string note = file.note();
  const std::string inside = folder.path().string() + "/";
  for (std::size_t at = note.find(inside); at != std::string::npos; at = note.find(inside)) note.erase(at, inside.size());
  return note;
}

/// The largest difference of a channel from what Pillow decodes.
double worst_channel(const std::string& name) {
  const files::Pixels image = read_image_file(golden_capture(name));
  const auto expected = golden("captures/vision_expected.json").at("images").at(name).get<std::vector<int>>();
  REQUIRE(expected.size() == image.rgba.size() * 3);
  int worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto channel = static_cast<int>(image.rgba[i / 3] >> (8U * (i % 3)) & 0xFFU);
    worst = std::max(worst, std::abs(channel - expected[i]));
  }
  CHECK(std::ranges::all_of(image.rgba, [](std::uint32_t pixel) { return pixel >> 24U == 0xFFU; }));
  return worst;
}

std::string refused(const std::filesystem::path& folder, std::string_view bytes) {
  const std::filesystem::path path = folder / "i";
  write_file_atomically(path, bytes);
  const std::string message = error_message([&] { (void)read_image_file(path); });
  CHECK(is_one_line(message));
  return message;
}

/// A chunk of a PNG; its checksum isn't one, and isn't looked at where the size is refused before.
std::string chunk(std::string_view type, std::string_view data) {
  const auto size = static_cast<std::uint32_t>(data.size());
  std::string bytes;
  for (const std::uint32_t shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(size >> shift & 0xFFU);
  return bytes.append(type).append(data).append("crc!");
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a vision transformer's patches, class token and image") {
    const CaptureFile file(golden_capture("vision.safetensors"));
    CHECK(file.note() == "");
    REQUIRE(file.images(true, 0).images.size() == 1);
    const PatchGrid grid = file.images(true, 0).images[0].grid;
    CHECK(grid == PatchGrid{.rows = 4, .columns = 6, .first = 1});
    CHECK_FALSE(grid.place(0));
    CHECK(grid.place(1) == PatchGrid::Place{.row = 0, .column = 0});
    CHECK(grid.place(24) == PatchGrid::Place{.row = 3, .column = 5});
    CHECK_FALSE(grid.place(25));
    const auto image = picture(file);
    REQUIRE(image);
    CHECK(image->width == 48);
    CHECK(image->height == 32);
    CHECK(image->rgba[0] == 0xFFFF'0000U);                          // blue at the left
    CHECK(image->rgba[std::size_t{14} * 48 + 30] == 0xFF14'1EDCU);  // [220, 30, 20] in the middle of the disc
    const std::vector<std::string>& names = file.input()->source.texts[0];
    CHECK(names[0] == "[class]");
    CHECK(names[1] == "0,0");
    CHECK(names[24] == "3,5");
    CHECK(picture(file, 3) == image);  // one for all lines
  }

  TEST_CASE("an image in a file beside the capture") {
    const CaptureFile file(golden_capture("vision_values.safetensors"));
    CHECK(file.note() == "");
    REQUIRE(picture(file));
    CHECK(picture(file)->width == 48);
  }

  TEST_CASE("PNG and JPEG files have the pixels that Pillow decodes") {
    CHECK(worst_channel("vision_palette.png") == 0);
    CHECK(worst_channel("vision_alpha.png") <= 1);   // 0: both round what is mixed with white
    CHECK(worst_channel("vision_grey16.png") <= 1);  // 0
    CHECK(worst_channel("vision.jpg") <= 3);         // 2: decoders are free in the last bits of the cosine transform
  }

  TEST_CASE("a tensor of planes, of a batch, and of uint8 in an .npz") {
    const TemporaryDirectory folder;
    MadeTensor planes{.name = "image", .shape = {3, 4, 6}, .values = std::vector<float>(72, 0.0F)};
    for (std::size_t i = 24; i < 48; ++i) planes.values[i] = 1.0F;  // green
    const CaptureFile green(
        write_capture(folder.path() / "c.safetensors", {even("attention.0", {1, 1, 6, 6}), planes}, kGrid));
    REQUIRE(picture(green));
    CHECK(picture(green)->rgba == std::vector<std::uint32_t>(24, 0xFF00'FF00U));
    CHECK(green.images(true, 0).images[0].grid.first == 0);
    const auto zip = write_zip(folder.path() / "c.npz",
                               {{"attention.0.npy", npy("<f4", "(1, 1, 2, 2)", std::string(16, '\0'))},
                                {"image.npy", npy("|u1", "(1, 2, 3)", std::string("\x01\x02\x03\xff\x00\x80", 6))}},
                               true);
    write_file_atomically(folder.path() / "c.json", R"({"patches": [1, 2], "tokens": ["a", "b"]})");
    const CaptureFile bytes(zip);
    CHECK(bytes.note() == "");
    REQUIRE(picture(bytes));
    CHECK(picture(bytes)->rgba == std::vector<std::uint32_t>{0xFF03'0201U, 0xFF80'00FFU});
    CHECK(bytes.input()->source.texts[0][1] == "b");  // names that are given stay
    const std::vector<MadeTensor> batch = {even("attention.0", {2, 1, 6, 6}),
                                           {.name = "image", .shape = {2, 2, 3, 3}, .values = std::vector<float>(36, 0.5F)}};
    const CaptureFile lines(write_capture(folder.path() / "b.safetensors", batch, kGrid));
    REQUIRE(picture(lines, 1));
    CHECK(picture(lines) != picture(lines, 1));
  }

  TEST_CASE("a wrong grid, a missing image and one of another size are a line each, and the rest is shown") {
    CHECK(note_of(with_image(6, {2, 3, 3}), R"("patches":"[5, 5]")") ==
          "Image: its patches, 5 × 5, are not the 6 tokens of its attention; the image isn't shown.");
    CHECK(note_of(with_image(6, {2, 3, 3}), R"("patches":"[2, 2]","first_patch":"4")") ==
          "Image: its patches, 2 × 2 from token 4 on, are not the 6 tokens of its attention; the image isn't shown.");
    CHECK(note_of(with_image(6, {2, 3, 3}), R"("patches":"[2, 0]")").find("2 × 0") != std::string::npos);
    CHECK(note_of(with_image(6, {2, 3, 3}), R"("patches":"[4294967295, 4294967297]")") ==
          "Image: c.safetensors, patches: [4294967295,4294967297] is not [rows, columns]; the image isn't shown.");
    CHECK(note_of(with_image(6, {2, 3, 3}), R"("patches":"2 x 3")").find("write it with json.dumps") != std::string::npos);
    CHECK(note_of(with_image(6, {2, 3, 3}), R"("mask":"none")") ==
          "Image: its image isn't shown: 'patches', their rows and columns, is missing in the metadata.");
    CHECK(note_of({even("attention.0", {1, 1, 6, 6})}, kGrid) ==
          "Image: it names patches, but no image; patches are shown without the image.");
    CHECK(note_of({even("decoder_attention.0", {1, 1, 6, 6})}, kGrid).find("tokens of an encoder") != std::string::npos);
    CHECK(note_of({even("attention.0", {1, 1, 6, 6})}, R"("patches":"[2, 3]","image":"none.png")")
              .find("Image: can't read none.png: ") == 0);
    for (const char* outside : {"/etc/passwd", "../up.png", "below/../../up.png"}) {
      CAPTURE(outside);
      CHECK(note_of({even("attention.0", {1, 1, 6, 6})}, fmt::format(R"("patches":"[2, 3]","image":"{}")", outside))
                .find("lies outside of the capture's folder") != std::string::npos);
    }
    CHECK(note_of(with_image(6, {4, 3, 3}), kGrid) ==
          "Image: patches of the image would be 1 × 2 pixels: save it as the model reads it, resized and cropped.");
    CHECK(note_of(with_image(6, {2, 3}), kGrid) ==
          "Image: 'image' is [2, 3]; an image is [height, width, 3] or [3, height, width], or a batch of such; patches are "
          "shown without the image.");
    CHECK(note_of(with_image(6, {5, 2, 3, 3}), kGrid).find("there are 5 images, but the batch has 1 line") !=
          std::string::npos);
    CHECK(note_of(with_image(6, {0, 3, 3}), kGrid).find("it is empty") != std::string::npos);
    CHECK(note_of(with_image(6, {2, 3, 3}, 1.5F), kGrid) ==
          "Image: 18 numbers of the image lie outside of 0 … 1: save it as it was before it was normalised.");
    CHECK(note_of(with_image(6, {2, 3, 3}, std::nanf("")), kGrid).find("18 numbers") != std::string::npos);
    CHECK(note_of(with_image(6, {2, 3, 3}), kGrid) == "");
  }

  TEST_CASE("images among words: several in a line, lines with others, rows with words between them") {
    const TemporaryDirectory folder;
    std::vector<MadeTensor> tensors{even("attention.0", {2, 1, 12, 12})};
    tensors.push_back({.name = "image.1", .shape = {1, 4, 3}, .values = std::vector<float>(12, 1.0F)});
    tensors.push_back({.name = "image.0", .shape = {2, 2, 3}, .values = std::vector<float>(12, 0.0F)});
    const CaptureFile file(write_capture(
        folder.path() / "c.safetensors", tensors,
        R"("positions":"[[{\"image\":1,\"patches\":[1,4],\"first\":7},{\"patches\":[2,2],\"first\":1,\"step\":3}],[{\"patches\":[2,2],\"first\":0}]]")"));
    CHECK(file.note() == "");
    const PatchImages& first = file.images(true, 0);
    REQUIRE(first.images.size() == 2);
    CHECK(first.images[0].grid == PatchGrid{.rows = 2, .columns = 2, .first = 1, .step = 3});
    CHECK(first.images[0].pixels->rgba == std::vector<std::uint32_t>(4, 0xFF00'0000U));
    CHECK(first.images[1].pixels->rgba == std::vector<std::uint32_t>(4, 0xFFFF'FFFFU));
    std::string names;
    for (const std::string& label : file.prompt()->input.source.texts.at(0)) names += label + ' ';
    CHECK(names == "[class] 0:0,0 0:0,1 3 0:1,0 0:1,1 6 1:0,0 1:0,1 1:0,2 1:0,3 11 ");
    CHECK(first.name(9) == "image 1, patch row 0, column 2");
    CHECK(first.name(3) == "");
    const PatchImages& second = file.images(true, 1);
    REQUIRE(second.images.size() == 1);
    CHECK(second.name(3) == "patch row 1, column 1");
    CHECK_FALSE(second.find(4));
    CHECK(file.images(false, 0).is_empty());
  }

  TEST_CASE("image positions are queries, keys, or both") {
    const TemporaryDirectory folder;
    const auto cross = [&](const char* words) {
      return CaptureFile(write_capture(folder.path() / "c.safetensors",
                                       {even("cross_attention.0", {1, 1, 3, 4}), even("decoder_attention.0", {1, 1, 3, 3})},
                                       words));
    };
    const CaptureFile queries = cross(R"("query_positions":"[{\"patches\":[1,2],\"first\":1}]")");
    CHECK(queries.images(false, 0).name(2) == "patch row 0, column 1");
    CHECK(queries.images(true, 0).is_empty());
    CHECK(queries.prompt()->input.target->texts.at(0) == std::vector<std::string>{"[class]", "0,0", "0,1"});
    const CaptureFile both = cross(
        R"("key_positions":"[{\"patches\":[2,2],\"first\":0}]","query_positions":"[{\"patches\":[1,1],\"first\":0}]")");
    CHECK(both.images(true, 0).name(3) == "patch row 1, column 1");
    CHECK(both.images(false, 0).name(0) == "patch row 0, column 0");
    CHECK(both.note() == "Image: it names patches, but no image; patches are shown without the image.");
  }

  TEST_CASE("positions that are none are refused in a line, and those that don't fit are told") {
    const auto told = [](std::string_view positions) {
      const std::string words = fmt::format(R"("positions":{})", nlohmann::json(std::string(positions)).dump());
      std::string note;
      const std::string refused = error_message([&] { note = note_of(with_image(6, {2, 3, 3}), words); });
      return refused.empty() ? note : refused;
    };
    CHECK(told("3").find("3 is not a list of images' positions") != std::string::npos);
    CHECK(told("[3]").find("3 is no position of an image") != std::string::npos);
    CHECK(told(R"([{"patches":[2,3]}])").find("is no position of an image") != std::string::npos);
    CHECK(told(R"([{"patches":[2,-3],"first":0}])").find("is no position of an image") != std::string::npos);
    CHECK(told(R"([{"patches":[2,3],"first":1e9}])").find("is no number of tokens, in \"first\"") != std::string::npos);
    CHECK(told(R"([{"patches":[2,0],"first":0}])").find("2 × 0 patches with 0 tokens from row to row are none") !=
          std::string::npos);
    CHECK(told(R"([{"patches":[2,3],"first":0,"step":2}])").find("with 2 tokens from row to row") != std::string::npos);
    CHECK(told(R"([[{"patches":[1,1],"first":0}],3])").find("3 is not a list, but the first line is one") !=
          std::string::npos);
    CHECK(told(R"([{"patches":[2,3],"first":1}])")
              .find("line 1 has 2 × 3 patches from token 1 on, which end after its 6 tokens") != std::string::npos);
    CHECK(told(R"([{"patches":[1048576,1048576],"first":1048576,"step":1048576}])").find("which end after") !=
          std::string::npos);
    CHECK(told(R"([{"patches":[1,3],"first":0},{"patches":[1,3],"first":2}])").find("is a patch of another image") !=
          std::string::npos);
    CHECK(told(R"([[],[]])").find("images of 2 lines, but the batch has 1") != std::string::npos);
    CHECK(told(R"([{"image":7,"patches":[2,3],"first":0}])") ==
          "Image: there are 1 images, but a position is of image 7; its patches are shown without it.");
    CHECK(told(R"([{"patches":[2,3],"first":0}])") == "");
  }

  TEST_CASE("an image that isn't as it claims is refused in a line before memory is taken for it") {
    const TemporaryDirectory folder;
    const std::string signature = "\x89PNG\r\n\x1a\n";
    CHECK(refused(folder.path(), "GIF89a").find("is neither a PNG nor a JPEG file") != std::string::npos);
    CHECK(refused(folder.path(), signature).find("it ends before its last chunk") != std::string::npos);
    CHECK(
        refused(folder.path(), signature + chunk("IHDR", std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0", 13)))
            .find("2147483647 × 2147483647 pixels, more than the 33 millions") != std::string::npos);
    CHECK(refused(folder.path(), signature + chunk("IHDR", std::string("\0\0\0\0\0\0\0\1\x08\x02\0\0\0", 13)))
              .find("it is empty") != std::string::npos);
    CHECK(refused(folder.path(), signature + chunk("IDAT", "x") + chunk("IEND", "")).find("doesn't begin with its size") !=
          std::string::npos);
    CHECK(refused(folder.path(), signature + std::string("\xff\xff\xff\xffIHDR", 8) + std::string(20, 'x'))
              .find("it ends before its last chunk") != std::string::npos);
    const std::string size = chunk("IHDR", std::string("\0\0\0\1\0\0\0\1\x08\x02\0\0\0", 13));
    for (const std::string& pixels : {std::string(), chunk("IDAT", "")}) {
      CHECK(refused(folder.path(), signature + size + pixels + chunk("IEND", ""))
                .find("is no usable PNG file: its pixels are missing or damaged; save it again") != std::string::npos);
    }
    const std::string whole = files::encode_png(flat(40, 30));
    CHECK(refused(folder.path(), whole.substr(0, whole.size() / 2)).find("is no usable PNG file") != std::string::npos);
    std::string damaged = whole;
    damaged[damaged.size() - 20] = static_cast<char>(damaged[damaged.size() - 20] ^ 0x55);
    CHECK(refused(folder.path(), damaged).find("is no usable PNG file") != std::string::npos);
    const std::string jpeg = read_file(golden_capture("vision.jpg"));
    CHECK(refused(folder.path(), jpeg.substr(0, 40)).find("is no usable JPEG file") != std::string::npos);
    std::string scans = jpeg;
    for (int i = 0; i < 100; ++i) scans += std::string("\xff\xda\0\x08\1\1\0\0\x3f\0", 10);
    CHECK(refused(folder.path(), scans).find("scans; save it as a plain JPEG") != std::string::npos);
  }

  TEST_CASE("a JPEG that leaves something undefined is refused before it is drawn") {
    const TemporaryDirectory folder;
    const std::string jpeg = read_file(golden_capture("vision.jpg"));
    /// Removes the segments of this marker, from the `first` one on.
    const auto without = [&](unsigned char marker, int first) {
      std::string left = jpeg.substr(0, 2);
      std::size_t at = 2;
      for (int found = 0; at + 4 < jpeg.size();) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(jpeg[at + i]); };
        if (byte(0) != 0xFF || byte(1) == 0 || byte(1) == 0xFF || (byte(1) >= 0xD0 && byte(1) <= 0xD9)) {
          left += jpeg[at++];
          continue;
        }
        const std::size_t size = std::size_t{2} + byte(2) * 256U + byte(3);
        if (byte(1) != marker || found++ < first) left += jpeg.substr(at, size);
        at += size;
      }
      return left + jpeg.substr(at);
    };
    CHECK(refused(folder.path(), without(0xDB, 0)).find("JPEG file: a quantisation table is missing") != std::string::npos);
    CHECK(refused(folder.path(), without(0xC4, 0)).find("JPEG file: a Huffman table is missing") != std::string::npos);
    CHECK(refused(folder.path(), without(0xC4, 1)).find("JPEG file: a Huffman table is missing") != std::string::npos);
    CHECK(refused(folder.path(), without(0xDA, 0)).find("JPEG file: a component is missing") != std::string::npos);
    CHECK(refused(folder.path(), jpeg.substr(0, jpeg.size() - 2)).find("JPEG file: its end is missing") !=
          std::string::npos);
  }

  TEST_CASE("a large image becomes the mean of its squares") {
    files::Pixels image = flat(5, 3, 0xFF00'0000U);
    image.rgba[0] = 0xFF00'00FFU;   // one of the first square's four pixels
    image.rgba[14] = 0xFF64'0000U;  // alone in the last one
    const files::Pixels small = reduced(image, 3);
    CHECK(small.width == 3);
    CHECK(small.height == 2);
    CHECK(small.rgba ==
          std::vector<std::uint32_t>{0xFF00'0040U, 0xFF00'0000U, 0xFF00'0000U, 0xFF00'0000U, 0xFF00'0000U, 0xFF64'0000U});
    CHECK(reduced(image, 5).rgba == image.rgba);
    const TemporaryDirectory folder;
    write_file_atomically(folder.path() / "large.png", files::encode_png(flat(2000, 500)));
    const files::Pixels kept = read_image_file(folder.path() / "large.png");
    CHECK(kept.width == 1000);
    CHECK(kept.rgba == std::vector<std::uint32_t>(std::size_t{1000} * 250, 0xFF10'2030U));
  }
}

}  // namespace captured_images_test
