// Files of torch.save: what PyTorch wrote, and pickles made by hand that it never would.
#include "model/torch_file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "core/file.h"
#include "inference/reference_run.h"
#include "model/checkpoint.h"
#include "model/file_bytes.h"
#include "model/load_network.h"
#include "model/safetensors.h"
#include "support/error_message.h"
#include "support/golden_model.h"

namespace torch_file_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace fs = std::filesystem;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

const fs::path kFolder = fs::path(HEADLIGHT_GOLDEN_DIR) / "torch";

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool has_same_bytes(const StoredTensor& left, const StoredTensor& right) {
  return std::ranges::equal(left.bytes, right.bytes) && left.shape == right.shape && left.type == right.type &&
         left.element_type == right.element_type;
}

/// Every tensor of both, byte for byte.
void check_same(const TensorTable& found, const TensorTable& expected) {
  REQUIRE(found.all().size() == expected.all().size());
  for (const StoredTensor& tensor : expected.all()) {
    CAPTURE(tensor.name);
    REQUIRE(found.find(tensor.name) != nullptr);
    CHECK(has_same_bytes(*found.find(tensor.name), tensor));
  }
}

bool is_mapped(const StoredTensor& tensor) {
  const std::span<const std::byte> file = tensor.file->bytes();
  return tensor.bytes.data() >= file.data() && tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size();
}

/// The network of a golden model with its weights from these files of torch.save instead.
void check_network(const std::string& golden, const std::vector<std::pair<std::string, std::string>>& files) {
  CAPTURE(golden);
  const TemporaryDirectory folder;
  fs::copy_file(golden_model_path(golden) / "config.json", folder.path() / "config.json");
  for (const auto& [from, to] : files) fs::copy_file(kFolder / from, folder.path() / to);
  const LoadedNetwork found = load_network(folder.path()), expected = load_network(golden_model_path(golden));
  for (const GoldenCase& one : load_golden_cases(golden)) {
    const auto run = [&](const LoadedNetwork& model) {
      return reference::run(model.network, one.input, trained_mask(model.description, one),
                            -std::numeric_limits<double>::infinity());
    };
    const reference::Run left = run(found), right = run(expected);
    CHECK(left.logits.values == right.logits.values);
    CHECK(left.encoder_output.values == right.encoder_output.values);
  }
}

/// A file of the format before PyTorch 1.6 with this pickle of tensors, storage "s" and its numbers.
std::string legacy(std::string_view pickle, std::string_view numbers = "") {
  FileBytes bytes;
  bytes.raw("\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv).raw("\x80\x02M\xE9\x03.}.");
  bytes.raw(pickle).raw("]X\x01\0\0\0sa."sv);
  return bytes.number(std::uint64_t{numbers.size() / sizeof(float)}).raw(numbers).bytes();
}

/// The pickle of {"w": a tensor}, with these operations for its offset, shape and strides, of a storage of `count` numbers.
std::string tensor_pickle(std::string_view place, char count = 6, std::string_view type = "FloatStorage") {
  return FileBytes()
      .raw("\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n"sv)
      .raw(type)
      .raw("\nX\x01\0\0\0sX\x03\0\0\0cpuK"sv)
      .number(count)
      .raw("tQ")
      .raw(place)
      .raw("\x89}tRs.")
      .bytes();
}

class Files {
 public:
  fs::path write(std::string_view bytes) const {
    fs::remove(folder_.path() / "m.bin");  // some file systems wait for the disk where a file is written again
    std::ofstream(folder_.path() / "m.bin", std::ios::binary) << bytes;
    return folder_.path() / "m.bin";
  }
  std::string complaint(std::string_view bytes) const {
    const fs::path path = write(bytes);
    const std::string message = error_message([&] { (void)read_torch_file(path); });
    CHECK((message.empty() || is_one_line(message)));
    CHECK((message.empty() || message.starts_with(path.string())));
    return message;
  }

 private:
  TemporaryDirectory folder_;
};

constexpr std::string_view kWhole = "K\x00K\x02K\x03\x86K\x03K\x01\x86"sv;  // offset 0, shape (2, 3), strides (3, 1)
const std::string kSixNumbers(24, '\x01');

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("networks that PyTorch saved give the bits that their safetensors give") {
    check_network("bert-base-model", {{"bert-base-model.bin", "pytorch_model.bin"}});
    check_network("electra", {{"electra-legacy.bin", "pytorch_model.bin"}});
    check_network("llama-bf16", {{"pytorch_model.bin.index.json", "pytorch_model.bin.index.json"},
                                 {"pytorch_model-00001-of-00002.bin", "pytorch_model-00001-of-00002.bin"},
                                 {"pytorch_model-00002-of-00002.bin", "pytorch_model-00002-of-00002.bin"}});
    // A training's file: nested, compiled, beside an optimizer and a number that is a tensor.
    Checkpoint training(kFolder / "gpt2.pt"), whole(golden_model_path("gpt2"));
    REQUIRE(training.names() == whole.names());
    for (const std::string& name : whole.names()) CHECK(training.find(name) == whole.find(name));
  }

  TEST_CASE("views, offsets, strides, shared storages and every type are read, mapped where the file has them in a row") {
    const TensorTable expected = SafetensorsFile(kFolder / "views.safetensors").tensors();
    for (const char* name : {"views.pt", "views-protocol-4.pt", "views-legacy.pt", "views-deflated.pt"}) {
      CAPTURE(name);
      check_same(read_torch_file(kFolder / name), expected);
    }
    for (const char* name : {"views.pt", "views-legacy.pt"}) {
      const TensorTable table = read_torch_file(kFolder / name);
      for (const char* mapped : {"whole", "rows", "one_row", "number", "odd", "parameter", "type.int8"}) {
        CAPTURE(mapped);
        CHECK(is_mapped(*table.find(mapped)));
      }
      for (const char* copied : {"transposed", "columns", "steps", "permuted"}) CHECK_FALSE(is_mapped(*table.find(copied)));
      CHECK(table.find("rows")->bytes.data() == table.find("whole")->bytes.data() + 24);
    }
    // A weight from a copy outlives the table.
    const Parameter transposed = read_torch_file(kFolder / "views.pt").find("transposed")->parameter();
    CHECK(transposed.tensor().values[1] == 2.0F);
  }

  TEST_CASE("what isn't a dictionary of tensors is refused by name") {
    const auto complaint = [](const char* name) {
      const std::string message = error_message([&] { (void)Checkpoint(kFolder / name); });
      CHECK(is_one_line(message));
      CHECK(message.starts_with((kFolder / name).string()));
      return message;
    };
    CHECK(holds(complaint("module.pt"),
                ": it holds 'torch.nn.modules.linear.Linear', which only its Python program can make"));
    CHECK(holds(complaint("script.pt"),
                ": it holds '__torch__.torch.nn.modules.linear.Linear', which only its Python program"));
    CHECK(holds(complaint("two.pt"), " holds 2 dictionaries of tensors ('model', 'ema'): save the one of the model alone"));
    CHECK(holds(complaint("list.pt"), "it holds no dictionary of tensors: save model.state_dict()"));
    CHECK(holds(complaint("expanded.pt"), "tensor 'rows' of shape [3, 1048576] repeats its 3 numbers: call contiguous()"));
  }

  TEST_CASE("no class or function of a pickle is called, whatever it is") {
    const Files files;
    for (const std::string_view pickle : {"cposix\nsystem\nX\x02\0\0\0ls\x85R."sv, "cos\nsystem\nX\x02\0\0\0ls\x85R."sv,
                                          std::string_view("\x80\x04\x8c\x08"
                                                           "builtins\x8c\x04"
                                                           "eval\x93)R.",
                                                           22)}) {
      CHECK(holds(files.complaint(legacy(pickle)), "which only its Python program can make"));
    }
    CHECK(holds(files.complaint(legacy("ctorch\nQInt8Storage\n.")), "it holds 'torch.QInt8Storage'"));
    const fs::path hostile = fs::path(HEADLIGHT_GOLDEN_DIR) / "hostile" / "system.pt";
    CHECK(read_torch_file(hostile).all().size() == 1);  // the tensor beside it
    CHECK_FALSE(fs::exists("pickle-was-called"));
    CHECK(holds(files.complaint(legacy("(icollections\nOrderedDict\n.")), "operation 0x69"));
    CHECK(holds(files.complaint(legacy("ctorch\nFloatStorage\n)R.")), "its pickle calls a type of storages"));
  }

  TEST_CASE("what other classes make beside the tensors is left out") {
    // {"w": a tensor, NAME: VALUE} in the format before PyTorch 1.6.
    const auto beside = [](std::string_view name, std::string_view value) {
      std::string pickle = tensor_pickle(kWhole);
      pickle.pop_back();
      pickle += FileBytes().raw("X").number(static_cast<std::uint32_t>(name.size())).raw(name).raw(value).raw("s.").bytes();
      return legacy(pickle, kSixNumbers);
    };
    const Files files;
    for (const std::string_view value :
         {"cnumpy\ncore\nX\x02\0\0\0f8\x85R}b"sv, "cargparse\nNamespace\n)\x81}X\x01\0\0\0lK\x01sb"sv, "\x8f(K\x01\x90"sv,
          "cmy\nlist\n)R(K\x01K\x02"
          "eK\x03"
          "a"sv,
          "cmy\nDict\n)R(K\x01K\x02u"sv, "cmy\nCallback\n"sv, "cmy\nOf\n)}\x92"sv}) {
      CAPTURE(value);
      CHECK(read_torch_file(files.write(beside("loss", value))).all().size() == 1);
    }
    CHECK(holds(files.complaint(beside("layer.weight", "cquant\nTensor\n)R"sv)), ": it holds 'quant.Tensor', which only"));
  }

  TEST_CASE("the format before PyTorch 1.6 is read with a later pickle's frames") {
    const Files files;
    std::string bytes = legacy(tensor_pickle(kWhole), kSixNumbers);
    bytes.replace(0, 2, "\x80\x04\x95\x0d\0\0\0\0\0\0\0"sv);
    CHECK(read_torch_file(files.write(bytes)).all().size() == 1);
  }

  TEST_CASE("pickles that no writer makes are refused") {
    const Files files;
    CHECK(files.complaint(legacy(tensor_pickle(kWhole), kSixNumbers)).empty());
    for (const std::string_view pickle : {".",
                                          "0.",
                                          "a.",
                                          "s.",
                                          "t.",
                                          "(.",
                                          "R.",
                                          ")R.",
                                          "))R.",
                                          "Q.",
                                          "]Q",
                                          "h\x01.",
                                          "j\x01.",
                                          "q\x01.",
                                          "(0.",
                                          "]]b.",
                                          "}]s.",
                                          "(]u.",
                                          "((]d.",
                                          "]]s.",
                                          "}]a.",
                                          "\x87.",
                                          "cx",
                                          "c\n",
                                          "\xFF.",
                                          "\x80\x09.",
                                          "X\xFF\xFF\xFF\xFF.",
                                          "B\xFF\xFF\xFF\x7F."}) {
      CAPTURE(pickle);
      CHECK_FALSE(files.complaint(legacy(pickle)).empty());
    }
    // A dictionary that holds itself, and the same long list as the arguments of many calls.
    CHECK(holds(files.complaint(legacy("}q\0X\x01\0\0\0ah\0s."sv)), "it holds no tensors by name"));
    std::string bomb = "ctorch._utils\n_rebuild_tensor\nq\1(";
    for (int i = 0; i < 100'000; ++i) bomb += 'N';
    bomb += "tq\2";
    for (int i = 0; i < 1'000; ++i) bomb += "h\1h\2R";
    CHECK(holds(files.complaint(legacy(bomb)), "its pickle has more than 16777216 values in lists"));
    std::string many((std::size_t{1} << 22) + 1, 'N');
    CHECK(holds(files.complaint(legacy(many + ".")), "its pickle has more than 4194304 values"));
  }

  TEST_CASE("several names of one dictionary are one, however many they are") {
    const Files files;
    const std::string whole = tensor_pickle(kWhole);
    const std::size_t begin = whole.find("ctorch"), end = whole.size() - 2;
    // {name: {"w": the tensor}, …}: memo 0 is the name, 1 the tensor, 2 the inner dictionary.
    const auto pickle = [&](std::size_t names, std::size_t tensors) {
      std::string text =
          "\x80\x02X\x01\0\0\0wq\0"
          "0"s +
          whole.substr(begin, end - begin) +
          "q\1"
          "0}q\2(";
      for (std::size_t i = 0; i < tensors; ++i) text += "h\0h\1"s;
      text += "u0}(";
      for (std::size_t i = 0; i < names; ++i) text += "h\0h\2"s;
      return text + "u.";
    };
    CHECK(read_torch_file(files.write(legacy(pickle(3, 1), kSixNumbers))).all().size() == 1);
    // Each pair would be 10'000'000'000 steps.
    CHECK(holds(files.complaint(legacy(pickle(100'000, 100'000), kSixNumbers)), "'w'"));
  }

  TEST_CASE("tensors that don't fit their storage are refused before anything is read") {
    const Files files;
    const auto complaint = [&](std::string_view place, char count = 6) {
      return files.complaint(legacy(tensor_pickle(place, count), kSixNumbers));
    };
    CHECK(holds(complaint("K\x00K\x02K\x03\x86K\x03K\x01\x86"sv, 7),
                "tensor 'w' needs 7 numbers in F32, but 24 bytes are there"));
    CHECK(holds(complaint("K\x01K\x02K\x03\x86K\x03K\x01\x86"sv), "tensor 'w' reaches beyond the 6 numbers of its storage"));
    CHECK(holds(complaint("K\x00K\x02K\x03\x86K\x04K\x01\x86"sv), "reaches beyond"));
    CHECK(holds(complaint("K\x00K\x02\x85K\x03K\x01\x86"sv), "tensor 'w' has 1 axes and 2 strides"));
    CHECK(holds(complaint("J\xFF\xFF\xFF\xFFK\x02\x85K\x01\x85"sv), "described with -1"));
    CHECK(holds(complaint("K\x00K\x02\x85J\xFF\xFF\xFF\xFF\x85"sv), "described with -1"));
    CHECK(holds(complaint("K\x00\x8A\x05\0\0\0\0\x01\x85K\x00\x85"sv), "tensor 'w' has the axis 4294967296"));
    CHECK(holds(complaint("K\x00J\xFF\xFF\xFF\x7FJ\xFF\xFF\xFF\x7FJ\xFF\xFF\xFF\x7F\x87K\x00K\x00K\x00\x87"sv),
                "repeats its 6"));
    CHECK(holds(complaint("K\x00K\x02\x85\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\x85"sv), "reaches beyond"));
    CHECK(holds(complaint("\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7FK\x02\x85K\x01\x85"sv), "reaches beyond"));
    CHECK(holds(complaint("\x8A\x09\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00K\x02\x85K\x01\x85"sv), "is described wrongly"));
    CHECK(holds(complaint("NK\x02\x85K\x01\x85"sv), "is described wrongly"));
    CHECK(complaint("K\x05K\x00K\x03\x86K\x09K\x09\x86"sv).empty());
    CHECK(
        holds(files.complaint(legacy(tensor_pickle("K\x00K\x02\x85K\x01\x85"sv, 6, "FloatStorag"))), "torch.FloatStorag'"));
  }

  TEST_CASE("archives cut off or changed anywhere are read or refused in one line") {
    const Files files;
    for (const char* name : {"views.pt", "views-deflated.pt", "views-legacy.pt"}) {
      const std::string whole = read_file(kFolder / name);
      for (std::size_t at = 0; at < whole.size(); at += 7) {
        CAPTURE(at);
        CHECK_FALSE(files.complaint(whole.substr(0, at)).empty());
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x41);
        (void)files.complaint(changed);
      }
    }
    CHECK(holds(files.complaint("PK\x03\x04"), "m.bin is no usable file of torch.save: it has no directory at its end"));
    CHECK(holds(files.complaint("content"), "it is neither a zip archive nor in PyTorch's format before 1.6"));
    const std::string bare("PK\x05\x06");
    CHECK(holds(files.complaint(bare + std::string(18, '\0')), "is a zip archive without data.pkl"));
  }
}

}  // namespace torch_file_test
