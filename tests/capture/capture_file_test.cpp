#include "capture/capture_file.h"

#include <doctest/doctest.h>

#include <limits>

#include "capture/captures.h"
#include "core/error.h"
#include "support/error_message.h"

namespace capture_file_test {

using namespace headlight;
using namespace headlight::capture;
using namespace headlight::test;

namespace {

constexpr model::BlockKind kSelf = model::BlockKind::EncoderSelf;

/// Returns the error of opening a capture, without the folder's name.
std::string complaint(const std::filesystem::path& path) {
  std::string message = error_message([&] { (void)CaptureFile(path); });
  CHECK(is_one_line(message));
  const std::string folder = path.parent_path().string() + "/";
  for (std::size_t at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
    message.erase(at, folder.size());
  }
  return message;
}

std::string complaint_about(const std::vector<MadeTensor>& tensors, std::string_view metadata = "") {
  const TemporaryDirectory folder;
  return complaint(write_capture(folder.path() / "c.safetensors", tensors, metadata));
}

std::string complaint_about_npz(const std::map<std::string, std::string>& entries, bool is_compressed = false) {
  const TemporaryDirectory folder;
  return complaint(write_zip(folder.path() / "c.npz", entries, is_compressed));
}

const std::string kFour(16, '\0');  // four numbers of float32

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("weights of two layers over a batch, with their tokens") {
    const CaptureFile file(golden_capture("self.safetensors"));
    REQUIRE(file.blocks().size() == 2);
    const attention::BlockShape& shape = file.blocks().back().shape;
    CHECK(shape.batch == 2);
    CHECK(shape.heads == 3);
    CHECK(shape.queries == 5);
    CHECK(shape.keys == 5);
    CHECK(shape.only_weights);
    CHECK_FALSE(file.is_causal());
    CHECK(file.note() == "");
    CHECK(file.input()->source.texts[1] == std::vector<std::string>{"a", "dog", "ran", "off", "[PAD]"});
    CHECK_FALSE(file.input()->target);
    CHECK(file.network()->blocks().size() == 2);
    CHECK(file.network()->layer({.kind = kSelf, .layer = {1}}).config.heads == 3);
    CHECK(is_capture_path(file.path()));
    CHECK_FALSE(is_capture_path(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "minilm.safetensors"));
  }

  TEST_CASE("queries and keys with fewer heads of keys, and a causal mask") {
    const CaptureFile file(golden_capture("queries.safetensors"));
    REQUIRE(file.blocks().size() == 1);
    const attention::BlockShape& shape = file.blocks().front().shape;
    CHECK(shape.heads == 4);
    CHECK(shape.kv_heads == 2);
    CHECK(shape.d_k == 8);
    CHECK_FALSE(shape.only_weights);
    CHECK_FALSE(shape.extent(attention::Stage::V));
    CHECK(shape.extent(attention::Stage::Scaled));
    CHECK(file.is_causal());
    CHECK(file.input()->source.texts[0][3] == ",");
  }

  TEST_CASE("the three kinds of attention of an encoder and a decoder, from numpy.savez") {
    const CaptureFile file(golden_capture("translator.npz"));
    REQUIRE(file.blocks().size() == 6);
    CHECK(file.network()->layers->encoder.size() == 2);
    REQUIRE(file.network()->layers->decoder.size() == 2);
    CHECK(file.network()->layers->decoder[1].self);
    REQUIRE(file.input()->target);
    CHECK(file.input()->target->texts[0] == std::vector<std::string>{"<s>", "a", "dog"});
    CHECK(file.input()->source.texts[0] == std::vector<std::string>{"ein", "Hund", "rennt", "</s>"});
  }

  TEST_CASE("a decoder alone, three axes, and tokens that are their positions") {
    const TemporaryDirectory folder;
    const CaptureFile file(write_capture(folder.path() / "c.safetensors", {even("decoder_attention.0", {2, 3, 3})}));
    REQUIRE(file.blocks().size() == 1);
    CHECK(file.blocks().front().ref.kind == model::BlockKind::DecoderSelf);
    CHECK(file.blocks().front().shape.batch == 1);
    REQUIRE(file.input()->target);
    CHECK(file.input()->target->texts[0] == std::vector<std::string>{"0", "1", "2"});
  }

  TEST_CASE("values of weights, other tensors are ignored, and which of two that say the same is read is told") {
    const TemporaryDirectory folder;
    const CaptureFile file(write_capture(
        folder.path() / "c.safetensors",
        {even("attention.0", {1, 4, 3, 3}), even("v.0", {1, 2, 3, 5}), even("attention.out", {2}), even("hidden", {3})}));
    REQUIRE(file.blocks().size() == 1);
    CHECK(file.note() == "");
    const attention::BlockShape& shape = file.blocks().front().shape;
    CHECK(shape.only_weights);
    CHECK(shape.has_values);
    CHECK(shape.kv_heads == 2);
    CHECK(shape.extent(attention::Stage::V)->columns == 5);
    CHECK(shape.extent(attention::Stage::Heads)->rows == 3);
    CHECK(shape.extent(attention::Stage::Merged)->columns == 20);
    CHECK_FALSE(shape.extent(attention::Stage::Output));
    CHECK(file.network()->layer({.kind = kSelf, .layer = {0}}).config.d_v == 5);
    const CaptureFile both(
        write_capture(folder.path() / "b.safetensors",
                      {even("attention.0", {1, 1, 2, 2}), even("q.0", {1, 1, 2, 2}), even("k.0", {1, 1, 2, 2})}));
    CHECK(both.note() == "Its q and k aren't read where the weights are saved.");
    CHECK(both.blocks().front().weights);
  }

  TEST_CASE("what the JSON beside a file says wins, and a list alone is its tokens") {
    const TemporaryDirectory folder;
    const auto path =
        write_capture(folder.path() / "c.safetensors", {even("attention.0", {1, 1, 2, 2})}, R"("tokens":"[\"x\", \"y\"]")");
    CHECK(CaptureFile(path).input()->source.texts[0][1] == "y");
    write_file_atomically(folder.path() / "c.json", R"(["a", "b\nc"])");
    CHECK(CaptureFile(path).input()->source.texts[0] == std::vector<std::string>{"a", R"(b\nc)"});
    write_file_atomically(folder.path() / "c.json", R"({"tokens": ["p", "q"], "mask": "causal"})");
    CHECK(CaptureFile(path).input()->source.texts[0][0] == "p");
    CHECK(CaptureFile(path).is_causal());
    write_file_atomically(folder.path() / "c.json", R"({"tokens": ["p", 7]})");
    CHECK(complaint(path) == "c.json, tokens: 7 is not a text; tokens are a list of texts");
    write_file_atomically(folder.path() / "c.json", R"({"mask": "window"})");
    CHECK(complaint(path) == R"(c.json, mask: "window" is not a mask; it is "causal" or "none")");
    write_file_atomically(folder.path() / "c.json", "{");
    CHECK(complaint(path).find("c.json: not JSON") != std::string::npos);
    write_file_atomically(folder.path() / "c.json", "3");
    CHECK(complaint(path) == "c.json: expected an object with tokens, found 3");
  }

  TEST_CASE("wrong shapes, layers and tokens are refused in one line") {
    CHECK(complaint_about({even("attention", {1, 1, 2, 2})}) ==
          "c.safetensors: it has no array called attention.0 (or encoder_attention.0, decoder_attention.0, "
          "cross_attention.0), nor q.0 and k.0; docs/CAPTURES.md says how to save them");
    CHECK(complaint_about({even("attention.0", {2, 2})}) ==
          "c.safetensors: 'attention.0' is [2, 2]; attention is [batch, heads, queries, keys] or [heads, queries, keys]");
    CHECK(complaint_about({even("attention.0", {1, 1, 0, 2})}) ==
          "c.safetensors: 'attention.0' is [1, 1, 0, 2]: it is empty");
    CHECK(complaint_about({even("attention.0", {1, 200, 1, 1})}) ==
          "c.safetensors: 'attention.0' has 200 heads, more than the 128 that are shown; save fewer");
    CHECK(complaint_about({even("attention.0", {1, 1, 2, 2}), even("attention.2", {1, 1, 2, 2})}) ==
          "c.safetensors: layer 1 of the encoder attention is missing, but layer 2 is there; save all layers, numbered from "
          "0");
    CHECK(
        complaint_about({even("attention.0", {1, 1, 2, 2}), even("attention.1", {1, 1, 3, 3})}) ==
        "c.safetensors: 'attention.1' has 1 lines of 3 queries and 3 keys, but 'attention.0' 1 of 2 and 2; save all layers "
        "of one pass");
    CHECK(complaint_about({even("attention.0", {1, 1, 1, 3})}) ==
          "c.safetensors: 'attention.0' has 1 queries and 3 keys, but the tokens of self-attention are both; if the other 2 "
          R"(were in a cache, add "cached": "2" to the metadata)");
    CHECK(complaint_about({even("q.0", {1, 1, 1, 2}), even("k.0", {1, 1, 3, 2})}).find("'q.0' has 1 queries and 3 keys") !=
          std::string::npos);
    CHECK(
        complaint_about({even("attention.0", {1, 1, 12, 5})}) ==
        "c.safetensors: 'attention.0' has 12 queries and 5 keys, but the tokens of self-attention are both; save attention "
        "of windows (Longformer) with all keys, 0 outside of them");
    CHECK(complaint_about({even("attention.0", {4, 1, 2, 2}), even("attention.1", {1, 1, 2, 2})}) ==
          "c.safetensors: 'attention.1' has 1 lines of 2 tokens, but 'attention.0' 4; of attention in windows (Swin) save "
          "layers with as many windows in one file");
    CHECK(complaint_about({even("attention.0", {1, 1, 2, 2}), even("encoder_attention.0", {1, 1, 2, 2})}) ==
          "c.safetensors: 'attention.0' and 'encoder_attention.0' are the same attention; keep one");
    CHECK(complaint_about({even("q.0", {1, 1, 2, 2})}) ==
          "c.safetensors: 'q.0' has no keys beside it; save queries and keys of a layer together");
    CHECK(complaint_about({even("attention.0", {1, 4, 2, 2}), even("v.0", {1, 3, 2, 2})}) ==
          "c.safetensors: 'v.0' is [1, 3, 2, 2], but its attention has 1 lines, 4 heads, which theirs divide, and 2 keys; "
          "save them of one pass");
    CHECK(
        complaint_about({even("q.0", {1, 4, 2, 2}), even("k.0", {1, 2, 2, 2}), even("v.0", {1, 4, 2, 2})}) ==
        "c.safetensors: 'v.0' is [1, 4, 2, 2], but its attention has 1 lines, 2 heads of keys and 2 keys; save them of one "
        "pass");
    CHECK(complaint_about({even("v.0", {1, 1, 2, 2})}).find("it has no array called attention.0") != std::string::npos);
    CHECK(complaint_about({even("attention.0", {1, 1, 2, 2}), even("v.0", {1, 1, 2, 2}), even("v.1", {1, 1, 2, 2})}) ==
          "c.safetensors: 'v.1' has no attention beside it; save weights, or queries and keys, with it");
    CHECK(complaint_about({even("q.0", {1, 4, 2, 2}), even("k.0", {1, 3, 2, 2})}) ==
          "c.safetensors: 'q.0' is [1, 4, 2, 2] and 'k.0' [1, 3, 2, 2]: batch and d_k have to be equal, and the keys' heads "
          "divide the queries'");
    CHECK(
        complaint_about({even("attention.0", {1, 1, 4, 4}), even("cross_attention.0", {1, 1, 2, 3})}) ==
        "c.safetensors: 'attention.0' has 1 lines of 4 tokens, but the keys of 'cross_attention.0' are 1 of 3; save them of "
        "one pass");
    CHECK(
        complaint_about({even("attention.0", {1, 1, 2, 2})}, R"("tokens":"[\"x\"]")") ==
        "c.safetensors, tokens: line 1 has 1 tokens, but its attention has 2; save them of the same pass, padding included");
    CHECK(complaint_about({even("attention.0", {2, 1, 2, 2})}, R"("tokens":"[\"x\", \"y\"]")") ==
          "c.safetensors, tokens: 1 list of tokens, but the batch has 2 lines; write one list for each line");
    CHECK(complaint_about({even("attention.0", {1, 1, 2, 2})}, R"("tokens":"x y")").find("write it with json.dumps") !=
          std::string::npos);
  }

  TEST_CASE("how scores are made is checked where the file is read") {
    const auto about = [](const char* words, std::vector<MadeTensor> more = {}) {
      more.insert(more.begin(), {even("q.0", {1, 2, 3, 4}), even("k.0", {1, 2, 3, 4})});
      return complaint_about(more, words);
    };
    CHECK(about(R"("scale":"-1")") == "c.safetensors, scale: -1 is no number from 0 to 1e+06, nor a list of such");
    CHECK(about(R"("softcap":"[\"x\"]")").find("softcap: \"x\" is no number from 0 to 1e+06") != std::string::npos);
    CHECK(about(R"("window":"[4, null]")") ==
          "c.safetensors, window: 2 numbers, but there are 1 layers; write one number, or one for each layer");
    CHECK(about(R"("encoder_window":"1e9")").find("encoder_window: 1000000000.0 is no number") != std::string::npos);
    CHECK(about("", {even("bias.0", {1, 2, 3, 4})}) ==
          "c.safetensors: 'bias.0' is [1, 2, 3, 4], but is added to scores of 1 lines, 2 heads, 3 queries and 3 keys");
    CHECK(about("", {even("sinks.0", {3})}) == "c.safetensors: 'sinks.0' is [3]; save a score for each of the 2 heads");
    CHECK(complaint_about({even("attention.0", {1, 1, 2, 2}), even("sinks.1", {1})}) ==
          "c.safetensors: 'sinks.1' has no attention beside it; save weights, or queries and keys, with it");
  }

  TEST_CASE("which tokens of a line are padding is checked where the file is read") {
    const TemporaryDirectory folder;
    const std::vector<MadeTensor> batch = {even("attention.0", {2, 1, 4, 4})};
    const CaptureFile file(write_capture(folder.path() / "c.safetensors", batch,
                                         R"("lengths":"[2, 3]","starts":"[2, 1]","tokens":"[[\"p\", \"p\", \"a\", \"b\"], )"
                                         R"([\"p\", \"x\", \"y\", \"z\"]]")"));
    const model::TokenBatch& tokens = file.input()->source;
    CHECK(tokens.lengths == std::vector{2U, 3U});
    CHECK(tokens.starts == std::vector{2U, 1U});
    CHECK(tokens.texts[0][0] == "p");
    REQUIRE(file.prompt()->tokens.size() == 2);
    CHECK(file.prompt()->tokens[0].size() == 2);
    CHECK(file.prompt()->tokens[1].front().text == "x");
    const CaptureFile from_starts(write_capture(folder.path() / "s.safetensors", batch, R"("starts":"[0, 3]")"));
    CHECK(from_starts.input()->source.lengths == std::vector{4U, 1U});

    // Each side of an encoder–decoder has its own names; a decoder alone takes the plain names.
    const CaptureFile pair(write_capture(folder.path() / "p.safetensors", {even("cross_attention.0", {1, 1, 2, 3})},
                                         R"("key_lengths":"[2]","query_starts":"[1]")"));
    CHECK(pair.input()->source.lengths == std::vector{2U});
    CHECK(pair.input()->target->starts == std::vector{1U});
    const CaptureFile alone(
        write_capture(folder.path() / "d.safetensors", {even("decoder_attention.0", {1, 2, 2})}, R"("lengths":"[1]")"));
    CHECK(alone.input()->target->lengths == std::vector{1U});

    CHECK(complaint_about(batch, R"("lengths":"[2]")") ==
          "c.safetensors, lengths: 1 numbers, but the batch has 2 lines; write one for each line");
    CHECK(complaint_about(batch, R"("lengths":"2")") ==
          "c.safetensors, lengths: 2 is not a list with a number for each line");
    CHECK(complaint_about(batch, R"("lengths":"[2, -1]")") == "c.safetensors, lengths: -1 is no number of tokens");
    CHECK(complaint_about(batch, R"("lengths":"[2, 0]")") ==
          "c.safetensors, lengths: line 2 would have 0 tokens from token 0 on, but its attention has 4; padding is not "
          "counted");
    CHECK(complaint_about(batch, R"("lengths":"[2, 4]","starts":"[0, 1]")") ==
          "c.safetensors, lengths: line 2 would have 4 tokens from token 1 on, but its attention has 4; padding is not "
          "counted");
    CHECK(complaint_about(batch, R"("starts":"[0, 9]")") ==
          "c.safetensors, starts: line 2 would have 0 tokens from token 9 on, but its attention has 4; padding is not "
          "counted");
  }

  TEST_CASE("tokens that were in a cache have keys and no rows") {
    const TemporaryDirectory folder;
    const CaptureFile file(write_capture(folder.path() / "c.safetensors", {even("attention.0", {1, 2, 2, 5})},
                                         R"("cached":"3","mask":"causal")"));
    const CapturedBlock& block = file.blocks().front();
    CHECK(block.shape.queries == 5);
    CHECK(block.shape.keys == 5);
    CHECK(block.mask.first_row == 3);
    CHECK(file.input()->source.length == 5);
    CHECK(file.note() == "The first 3 tokens were in a cache: their rows weren't captured and are hatched.");
    const CaptureFile noted(write_capture(folder.path() / "n.safetensors", {even("attention.0", {1, 2, 5, 5})},
                                          R"("note":"What acts is\nthe difference.")"));
    CHECK(noted.note() == "What acts is\\nthe difference.");
    // An encoder has no cache: the decoder's rows and those of its attention to the encoder are missing.
    const CaptureFile pair(write_capture(folder.path() / "p.safetensors",
                                         {even("encoder_attention.0", {1, 4, 4}), even("decoder_attention.0", {1, 1, 3}),
                                          even("cross_attention.0", {1, 1, 4})},
                                         R"("cached":"2")"));
    CHECK(pair.blocks()[0].mask.first_row == 0);
    CHECK(pair.blocks()[1].mask.first_row == 2);
    CHECK(pair.blocks()[2].shape.queries == 3);
    CHECK(
        complaint_about({even("attention.0", {1, 2, 2, 5})}, R"("cached":"2")") ==
        "c.safetensors: 'attention.0' has 2 queries and 5 keys, which with the 2 'cached' tokens of its metadata are no 5; "
        "save them of one pass");
    CHECK(complaint_about({even("attention.0", {1, 2, 2, 5})}, R"("cached":"[3]")") ==
          "c.safetensors, cached: [3] is no number of tokens");
    CHECK(
        complaint_about({even("cross_attention.0", {1, 2, 2, 5})}, R"("cached":"1048576")") ==
        "c.safetensors: with the 1048576 tokens of its cache 'cross_attention.0' has more than the 1048576 that are shown; "
        "save a part of the text");
  }

  TEST_CASE("files that aren't what they say are refused in one line") {
    const TemporaryDirectory folder;
    CHECK(complaint(folder.path() / "missing.safetensors").find("can't open missing.safetensors") == 0);
    CHECK(complaint(folder.path() / "missing.npz") == "can't open missing.npz: No such file or directory");
    CHECK(complaint(folder.path() / "c.pt") == "c.pt is no capture: it ends in neither .safetensors nor .npz");
    write_file_atomically(folder.path() / "c.safetensors", "short");
    CHECK(
        complaint(folder.path() / "c.safetensors") ==
        "c.safetensors is no usable safetensors file: it has 5 bytes, fewer than its header's length takes; save it again");
    write_file_atomically(folder.path() / "c.npz", "no archive");
    CHECK(complaint(folder.path() / "c.npz").find("c.npz is no usable .npz file: ") == 0);
    // A whole archive, cut off behind its first half.
    const std::string whole = read_file(golden_capture("translator.npz"), std::size_t{1} << 20);
    write_file_atomically(folder.path() / "c.npz", whole.substr(0, whole.size() / 2));
    CHECK(complaint(folder.path() / "c.npz").find("c.npz is no usable .npz file: ") == 0);
  }

  TEST_CASE("arrays of an .npz that can't be read are refused in one line") {
    const auto entry = [](const std::string& bytes) {
      return std::map<std::string, std::string>{{"attention.0.npy", bytes}};
    };
    CHECK(complaint_about_npz(entry(npy("|O", "(1, 1, 2, 2)", kFour))) ==
          "c.npz: array 'attention.0.npy': it holds Python objects, which are never unpickled; save the array as float32");
    CHECK(complaint_about_npz(entry(npy("<i4", "(1, 1, 2, 2)", kFour))) ==
          "c.npz: array 'attention.0.npy': numbers of type <i4 are no attention; save it as float32, float16 or float64");
    CHECK(complaint_about_npz(entry(npy(">f4", "(1, 1, 2, 2)", kFour))).find("numbers of type >f4") != std::string::npos);
    CHECK(complaint_about_npz(entry(npy("<f4", "(1, 1, 2, 2)", kFour, true))) ==
          "c.npz: array 'attention.0.npy': it is stored column by column; save numpy.ascontiguousarray of it");
    CHECK(complaint_about_npz(entry(npy("<f4", "(1, 1, 2, 3)", kFour))) ==
          "c.npz: array 'attention.0.npy': the file ends before its last number");
    CHECK(complaint_about_npz(entry("pickled")) ==
          "c.npz: array 'attention.0.npy': no NumPy file (it doesn't begin with \\x93NUMPY)");
    CHECK(complaint_about_npz({{"weights.npy", npy("<f4", "(1, 1, 2, 2)", kFour)}}).find("it has no array called") !=
          std::string::npos);
  }

  TEST_CASE("numbers of an .npz that aren't those that were saved are refused when they are first read") {
    const TemporaryDirectory folder;
    const std::string numbers = std::string("\0\0\x80\x3E", 4) + std::string("\0\0\x40\x3F", 4);  // 0.25 and 0.75
    for (const bool is_compressed : {false, true}) {
      CAPTURE(is_compressed);
      const auto path = write_zip(folder.path() / "c.npz",
                                  {{"attention.0.npy", npy("<f4", "(1, 1, 1, 1)", kFour.substr(0, 4))},
                                   {"v.0.npy", npy("<f4", "(1, 1, 1, 2)", numbers)}},
                                  is_compressed);
      std::vector<float> row(2);
      const auto read_values = [&] {
        CaptureFile(path).blocks().front().values->read(
            {.item = 0, .head = 0, .row = 0, .rows = 1, .column = 0, .columns = 2}, row.data());
      };
      read_values();
      CHECK(row == std::vector{0.25F, 0.75F});
      std::string bytes = read_file(path, std::size_t{1} << 20);
      // The sum in the central directory, whose entries begin with "PK\1\2"; the second one's.
      const std::string_view entry("PK\x01\x02", 4);
      const std::size_t at = bytes.rfind(entry);
      REQUIRE(at != std::string::npos);
      constexpr std::size_t kSumInEntry = 16, kSumInLocal = 14;
      const std::size_t local = bytes.rfind(std::string_view("PK\x03\x04", 4));
      bytes[at + kSumInEntry] ^= 1;
      bytes[local + kSumInLocal] ^= 1;
      write_file_atomically(path, bytes);
      const std::string message = error_message(read_values);
      CHECK(message.find("array 'v.0.npy': its bytes are not those that were saved (their CRC-32 differs)") !=
            std::string::npos);
      CHECK(is_one_line(message));
    }
  }

  TEST_CASE("a compressed array that claims more than deflate can hold is refused before memory is taken") {
    const TemporaryDirectory folder;
    const std::string zeros = npy("<f4", "(1, 1, 512, 512)", std::string(std::size_t{512} * 512 * 4, '\0'));
    const auto path = write_zip(folder.path() / "c.npz", {{"attention.0.npy", zeros}}, true);
    CHECK(CaptureFile(path).blocks().size() == 1);
    // The size of the unpacked entry, in the local header and in the central directory, becomes 1 GiB.
    std::string bytes = read_file(path, std::size_t{1} << 20);
    const auto size = static_cast<std::uint32_t>(zeros.size());
    const std::string before(reinterpret_cast<const char*>(&size), sizeof(size));
    const std::uint32_t claimed = std::uint32_t{1} << 30;
    std::size_t replaced = 0;
    for (std::size_t at = bytes.find(before); at != std::string::npos; at = bytes.find(before, at + 4)) {
      bytes.replace(at, 4, reinterpret_cast<const char*>(&claimed), 4);
      ++replaced;
    }
    REQUIRE(replaced >= 1);
    write_file_atomically(path, bytes);
    const std::string message = complaint(path);
    CAPTURE(message);
    CHECK((message.find("claim to become 1073741824") != std::string::npos ||
           message.find("is no usable .npz file") != std::string::npos));
  }
}

}  // namespace capture_file_test
