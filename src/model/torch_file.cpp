#include "model/torch_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/utf8.h"
#include "model/pickle.h"
#include "model/zip_file.h"

namespace headlight::model {
namespace {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

constexpr FormatWords kWords{.kind = "file of torch.save", .advice = "download it again, or save it again with torch.save"};

/// The bytes that a storage's key stands for.
struct StoredBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::vector<std::byte>> copy = {};
};
using Storages = std::map<std::string_view, StoredBytes>;

/// Where the numbers of a tensor are in its storage, from its first one on.
struct TensorLayout {
  Shape shape;
  std::vector<std::uint64_t> strides;  ///< in numbers

  /// Is the last number one of the first `numbers`? Of tensors that aren't empty.
  bool fits(std::uint64_t numbers) const {
    std::uint64_t rest = numbers - 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::uint64_t steps = shape[axis] - 1;
      if (steps != 0 && strides[axis] > rest / steps) return false;
      rest -= steps * strides[axis];
    }
    return true;
  }

  bool is_contiguous() const {
    std::uint64_t expected = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (shape[axis] != 1 && strides[axis] != expected) return false;
      expected *= shape[axis];
    }
    return true;
  }

  /// The numbers in the order of their indices, `width` bytes each.
  std::vector<std::byte> gather(std::span<const std::byte> from, std::size_t width) const {
    std::vector<std::byte> to(element_count(shape) * width);
    std::vector<std::uint32_t> index(shape.size(), 0);
    std::uint64_t at = 0;
    for (std::size_t done = 0; done < to.size(); done += width) {
      std::memcpy(to.data() + done, from.data() + at * width, width);
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        at += strides[axis];
        if (++index[axis] < shape[axis]) break;
        at -= strides[axis] * shape[axis];
        index[axis] = 0;
      }
    }
    return to;
  }
};

/// The tensors of a pickle and its storages.
class TorchReader {
 public:
  TorchReader(std::shared_ptr<const MappedFile> file, const Pickle& pickle, const Storages& storages)
      : file_(std::move(file)), pickle_(pickle), storages_(storages) {}

  std::vector<StoredTensor> read() {
    const PickleValue& dict = dictionary();
    std::vector<StoredTensor> tensors;
    for_each_tensor(dict,
                    [&](std::string_view name, const PickleValue& tensor) { tensors.push_back(read_tensor(name, tensor)); });
    if (tensors.empty()) fail("it holds no tensors by name, as a model's state_dict() has them");
    return tensors;
  }

  /// Bytes of a number in a storage.
  std::uint64_t number_bytes(const PickleValue& storage) const { return type_of(storage).bits / 8; }
  std::string_view key(const PickleValue& storage) const { return item(storage, 2, Kind::Text).text; }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{} is no usable {}: {}; {}", utf8(file_->path()), kWords.kind,
                fmt::format(format, std::forward<Args>(args)...), kWords.advice);
  }

  /// Of what another class would make where a tensor, or a dictionary of them, is needed.
  [[noreturn]] void fail_foreign(const PickleValue& value) const {
    throw Error(
        ErrorKind::Unsupported,
        "{}: it holds '{}', which only its Python program can make, and Headlight reads tensors alone: in Python, save them "
        "with save_pretrained(folder), or with torch.save(model.state_dict(), file)",
        utf8(file_->path()), pickle_.foreign.at(static_cast<std::size_t>(value.integer)));
  }

  const PickleValue& item(const PickleValue& value, std::size_t index, Kind kind) const {
    if (index < value.items.size() && pickle_.at(value.items[index]).kind == Kind::Foreign)
      fail_foreign(pickle_.at(value.items[index]));
    if (index >= value.items.size() || pickle_.at(value.items[index]).kind != kind)
      fail("a tensor in it is described wrongly");
    return pickle_.at(value.items[index]);
  }
  std::uint64_t count(const PickleValue& value, std::size_t index) const {
    const std::int64_t number = item(value, index, Kind::Integer).integer;
    if (number < 0) fail("a tensor in it is described with {}", number);
    return static_cast<std::uint64_t>(number);
  }
  const DataType& type_of(const PickleValue& storage) const {
    const DataType* type = find_data_type(item(storage, 1, Kind::Function).text);
    if (type == nullptr) fail("a storage in it has no type of numbers");
    return *type;
  }

  template <typename Use>
  void for_each_tensor(const PickleValue& dict, const Use& use) const {
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue &name = pickle_.at(dict.items[i]), &value = pickle_.at(dict.items[i + 1]);
      if (name.kind != Kind::Text) continue;
      if (value.kind == Kind::Tensor) use(name.text, value);
      // A weight has the name of its module before its own; other entries are a training's.
      if (value.kind == Kind::Foreign && name.text.find('.') != std::string_view::npos) fail_foreign(value);
    }
  }

  /// The root, or the only dictionary in it that holds tensors: a training's file has single numbers as tensors beside it.
  const PickleValue& dictionary() const {
    const PickleValue& root = pickle_.at(pickle_.root);
    if (root.kind == Kind::Foreign) fail_foreign(root);
    if (root.kind != Kind::Dict) fail("it holds no dictionary of tensors: save model.state_dict()");
    const PickleValue* found = nullptr;
    std::string names;
    std::size_t dictionaries = 0;
    std::set<const PickleValue*> seen;  // several names of one dictionary are one
    for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
      const PickleValue &name = pickle_.at(root.items[i]), &value = pickle_.at(root.items[i + 1]);
      std::size_t tensors = 0;
      if (value.kind == Kind::Dict && seen.insert(&value).second)
        for_each_tensor(value, [&](std::string_view, const PickleValue&) { ++tensors; });
      if (tensors == 0) continue;
      found = &value;
      ++dictionaries;
      constexpr std::size_t kMaxNamed = 4;
      if (dictionaries <= kMaxNamed) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(name.text));
    }
    if (dictionaries > 1) {
      throw Error("{} holds {} dictionaries of tensors ({}): save the one of the model alone with torch.save",
                  utf8(file_->path()), dictionaries, names);
    }
    return found != nullptr ? *found : root;
  }

  StoredTensor read_tensor(std::string_view name, const PickleValue& value) {
    const std::string label = printable(name);
    if (find_invalid_utf8(name) != std::string_view::npos) fail("the name of tensor '{}' is not UTF-8", label);
    const PickleValue& storage = item(value, 0, Kind::Storage);
    const DataType& type = type_of(storage);
    const std::uint64_t width = type.bits / 8, numbers = count(storage, 4), offset = count(value, 1);
    const auto stored = storages_.find(key(storage));
    if (stored == storages_.end())
      fail("the numbers of tensor '{}', storage '{}', are missing", label, printable(key(storage)));
    const std::span<const std::byte> bytes = stored->second.bytes;
    if (numbers > bytes.size() / width) {
      fail("tensor '{}' needs {} numbers in {}, but {} bytes are there", label, numbers, type.name, bytes.size());
    }

    const TensorLayout layout = read_layout(label, value);
    const std::optional<std::uint64_t> elements = checked_element_count(layout.shape);
    if (elements != 0u && (offset >= numbers || !layout.fits(numbers - offset))) {
      fail("tensor '{}' reaches beyond the {} numbers of its storage", label, numbers);
    }
    StoredTensor tensor{.name = std::string(name),
                        .type = std::string(type.name),
                        .element_type = type.element_type,
                        .shape = layout.shape,
                        .bytes = {},
                        .file = file_,
                        .copy = stored->second.copy};
    if (elements == 0u) return tensor;
    if (elements && layout.is_contiguous()) {
      tensor.bytes = bytes.subspan(offset * width, *elements * width);
      return tensor;
    }
    // A tensor that repeats numbers (expand()) could be of any size.
    if (!elements || *elements > (file_->bytes().size() - gathered_) / width) {
      fail("tensor '{}' of shape {} repeats its {} numbers: call contiguous() before it is saved", label,
           headlight::to_string(layout.shape), numbers);
    }
    gathered_ += *elements * width;
    tensor.copy = std::make_shared<const std::vector<std::byte>>(layout.gather(bytes.subspan(offset * width), width));
    tensor.bytes = *tensor.copy;
    return tensor;
  }

  TensorLayout read_layout(std::string_view label, const PickleValue& tensor) const {
    constexpr std::size_t kMaxAxes = 64;
    const PickleValue &sizes = item(tensor, 2, Kind::List), &strides = item(tensor, 3, Kind::List);
    if (sizes.items.size() != strides.items.size() || sizes.items.size() > kMaxAxes) {
      fail("tensor '{}' has {} axes and {} strides", label, sizes.items.size(), strides.items.size());
    }
    TensorLayout layout;
    for (std::size_t axis = 0; axis < sizes.items.size(); ++axis) {
      const std::uint64_t size = count(sizes, axis);
      if (size > std::numeric_limits<std::uint32_t>::max()) fail("tensor '{}' has the axis {}", label, size);
      layout.shape.push_back(static_cast<std::uint32_t>(size));
      layout.strides.push_back(count(strides, axis));
    }
    return layout;
  }

  std::shared_ptr<const MappedFile> file_;
  const Pickle& pickle_;
  const Storages& storages_;
  std::uint64_t gathered_ = 0;  ///< bytes of all copies
};

/// An archive has a folder with data.pkl, and the bytes of storages in data/KEY.
TensorTable read_archive(const fs::path& path) {
  constexpr std::string_view kPickle = "/data.pkl";
  const ZipFile zip(path, kWords);
  const auto pickled =
      std::ranges::find_if(zip.members(), [&](const ZipMember& one) { return one.name.ends_with(kPickle); });
  if (pickled == zip.members().end()) {
    throw Error("{} is a zip archive without data.pkl, which torch.save writes: it holds no model of PyTorch", utf8(path));
  }
  const std::string folder(pickled->name.substr(0, pickled->name.size() - kPickle.size() + 1));
  std::uint64_t unpacked = 0;
  const auto bytes_of = [&](const ZipMember& member) -> StoredBytes {
    if (!member.is_compressed) return {.bytes = member.bytes};
    constexpr std::uint64_t kMaxUnpacked = std::uint64_t{16} << 30;
    zip.expect_possible(member);
    unpacked += member.size;
    if (unpacked > kMaxUnpacked) {
      throw Error(
          "{}: its compressed tensors would take more than {} GiB of memory; save it with torch.save, which doesn't "
          "compress",
          utf8(path), kMaxUnpacked >> 30);
    }
    const auto copy = std::make_shared<const std::vector<std::byte>>(zip.unpacked(member));
    return {.bytes = *copy, .copy = copy};
  };
  const StoredBytes pickle_bytes = bytes_of(*pickled);
  FileCursor cursor(*zip.file(), pickle_bytes.bytes, kWords);
  const Pickle pickle = read_pickle(cursor);
  if (const ZipMember* order = zip.find(folder + "byteorder");
      order != nullptr && !order->is_compressed && order->size == 3) {
    cursor.fail("its numbers are big-endian, which isn't supported");
  }
  // Compressed members are unpacked where a tensor names them.
  Storages storages;
  std::set<std::string_view> keys;
  const TorchReader reader(zip.file(), pickle, storages);
  for (const PickleValue& value : pickle.values) {
    if (value.kind == Kind::Storage) keys.insert(reader.key(value));
  }
  for (const ZipMember& member : zip.members()) {
    const std::string data = folder + "data/";
    if (!member.name.starts_with(data)) continue;
    const std::string_view key = member.name.substr(data.size());
    if (!member.is_compressed || keys.contains(key)) storages.emplace(key, bytes_of(member));
  }
  return TensorTable(TorchReader(zip.file(), pickle, storages).read());
}

/// Before PyTorch 1.6: five pickles (a magic number, a version, the system's sizes, the tensors, the keys of storages) and,
/// in the order of the keys, each storage's count and numbers.
TensorTable read_legacy(const fs::path& path) {
  constexpr std::string_view kTorchMagic = "\x8a\nl\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  constexpr std::size_t kBefore = 11;  // its pickle's protocol, of the later ones a frame
  const auto file = std::make_shared<const MappedFile>(path);
  FileCursor cursor(*file, file->bytes(), kWords);
  const std::string_view beginning = cursor.text(std::min(cursor.remaining(), kBefore + kTorchMagic.size()), "");
  if (beginning.find(kTorchMagic) == std::string_view::npos) {
    cursor.fail("it is neither a zip archive nor in PyTorch's format before 1.6");
  }
  cursor.seek(0, "");
  read_pickle(cursor);
  read_pickle(cursor);
  read_pickle(cursor);
  const Pickle pickle = read_pickle(cursor), keys = read_pickle(cursor);
  Storages storages;
  const TorchReader reader(file, pickle, storages);
  std::map<std::string_view, std::uint64_t> widths;
  for (const PickleValue& value : pickle.values) {
    if (value.kind != Kind::Storage) continue;
    constexpr std::size_t kView = 5;
    if (value.items.size() > kView && pickle.at(value.items[kView]).kind != Kind::Other) {
      cursor.fail("its storages are parts of other storages, as those of PyTorch before 0.4");
    }
    widths[reader.key(value)] = reader.number_bytes(value);
  }
  if (widths.empty()) static_cast<void>(TorchReader(file, pickle, storages).read());  // says what there is instead
  for (const std::uint32_t place : keys.at(keys.root).items) {
    const std::string_view key = keys.at(place).text;
    const auto width = widths.find(key);
    if (width == widths.end()) cursor.fail("no tensor has its storage '{}'", printable(key));
    const auto count = cursor.number<std::uint64_t>("a storage");
    if (count > cursor.remaining()) cursor.fail("it ends inside of a storage of {} numbers", count);
    storages[key] = {.bytes = cursor.take(count * width->second, "a storage")};
  }
  TensorTable table(TorchReader(file, pickle, storages).read());
  file->expect_intact();
  return table;
}

}  // namespace

bool is_torch_file(const fs::path& path) {
  constexpr std::array<std::string_view, 4> kExtensions{".bin", ".pt", ".pth", ".ckpt"};
  return std::ranges::find(kExtensions, utf8(path.extension())) != kExtensions.end();
}

TensorTable read_torch_file(const fs::path& path) {
  constexpr std::string_view kZip("PK", 2);
  return read_beginning(path, kZip.size()) == kZip ? read_archive(path) : read_legacy(path);
}

}  // namespace headlight::model
