#include "app/mask_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <regex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/tensor.h"

namespace headlight::app {
namespace {

static_assert(std::endian::native == std::endian::little, ".npy files of little-endian numbers are read as they are");

/// Cells in any number of axes, before anybody asked what they mean.
struct Cells {
  Shape shape;
  std::vector<std::uint8_t> keep;
};

void read_lists(const nlohmann::json& value, std::size_t depth, Cells& cells, const std::string& file) {
  if (value.is_array()) {
    const auto size = static_cast<std::uint32_t>(value.size());
    if (depth == cells.shape.size()) {
      if (!cells.keep.empty() || depth >= 4) throw Error("{}: the lists of the mask are nested unevenly", file);
      cells.shape.push_back(size);
    }
    if (cells.shape[depth] != size) {
      throw Error("{}: a list of the mask has {} members and another one {}; all must be equally long", file,
                  cells.shape[depth], size);
    }
    for (const nlohmann::json& member : value) read_lists(member, depth + 1, cells, file);
    return;
  }
  const bool is_bit = value.is_boolean() || value == 0 || value == 1;
  if (!is_bit) throw Error("{}: a mask consists of true and false (or 1 and 0), found {}", file, value.dump().substr(0, 40));
  if (depth != cells.shape.size()) throw Error("{}: the lists of the mask are nested unevenly", file);
  cells.keep.push_back(value.is_boolean() ? value.get<bool>() : value == 1);
}

Cells read_json(const std::string& content, const std::string& file) {
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(content);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error("{}: no JSON (something unexpected at byte {})", file, error.byte);
  }
  Cells cells;
  read_lists(value, 0, cells, file);
  return cells;
}

template <typename Number>
std::vector<std::uint8_t> nonzero(const std::string& content, std::size_t begin, std::size_t count) {
  std::vector<std::uint8_t> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    Number number;
    std::memcpy(&number, content.data() + begin + i * sizeof(Number), sizeof(Number));
    result[i] = number != Number{0} ? 1 : 0;
  }
  return result;
}

std::vector<std::uint8_t> read_numbers(const std::string& type, const std::string& content, std::size_t begin,
                                       std::size_t count, const std::string& file) {
  const std::size_t item_size = type.size() == 3 ? static_cast<std::size_t>(type[2] - '0') : 0;
  if (content.size() - begin < count * item_size) throw Error("{}: the file ends before its last number", file);
  if (item_size == 1 && type.find_first_of("biu") == 1) return nonzero<std::uint8_t>(content, begin, count);
  if (type == "<i2" || type == "<u2") return nonzero<std::uint16_t>(content, begin, count);
  if (type == "<i4" || type == "<u4") return nonzero<std::uint32_t>(content, begin, count);
  if (type == "<i8" || type == "<u8") return nonzero<std::uint64_t>(content, begin, count);
  if (type == "<f4") return nonzero<float>(content, begin, count);
  if (type == "<f8") return nonzero<double>(content, begin, count);
  throw Error("{}: numbers of type {} are not read; save the mask as bool", file, type);
}

/// NumPy's format: magic, version, length of the header, a Python dictionary with type, order and shape, then the numbers.
Cells read_npy(const std::string& content, const std::string& file) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::size_t kShortHeader = 10, kLongHeader = 12;
  if (content.size() < kLongHeader || content.compare(0, kMagic.size(), kMagic) != 0) {
    throw Error("{}: no NumPy file (it doesn't begin with \\x93NUMPY)", file);
  }
  const auto byte = [&](std::size_t index) { return std::size_t{static_cast<unsigned char>(content[index])}; };
  const bool is_long = byte(6) >= 2;
  const std::size_t header = is_long ? kLongHeader : kShortHeader;
  const std::size_t length = is_long ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24 : byte(8) | byte(9) << 8;
  if (content.size() < header + length) throw Error("{}: the file ends inside its header", file);
  const std::string text = content.substr(header, length);
  static const std::regex kType("'descr': *'([^']*)'"), kShape("'shape': *\\(([0-9, ]*)\\)"), kNumber("[0-9]{1,9}");
  std::smatch type, shape;
  if (!std::regex_search(text, type, kType) || !std::regex_search(text, shape, kShape)) {
    throw Error("{}: the NumPy header doesn't say type and shape", file);
  }
  if (text.find("'fortran_order': True") != std::string::npos) {
    throw Error("{}: the array is stored column by column; save numpy.ascontiguousarray(mask)", file);
  }
  Cells cells;
  const std::string sizes = shape[1];
  std::size_t count = 1;
  for (auto size = std::sregex_iterator(sizes.begin(), sizes.end(), kNumber); size != std::sregex_iterator(); ++size) {
    cells.shape.push_back(static_cast<std::uint32_t>(std::stoul(size->str())));
    count *= cells.shape.back();
    if (count > content.size()) throw Error("{}: the file ends before its last number", file);
  }
  cells.keep = read_numbers(type[1], content, header + length, count, file);
  return cells;
}

}  // namespace

attention::BooleanMask load_mask(const std::filesystem::path& path) {
  const std::string file = path.string();
  const bool is_npy = path.extension() == ".npy";
  if (!is_npy && path.extension() != ".json") throw Error("{}: a mask is a .json or a .npy file", file);
  const std::string content = read_file(path);
  Cells cells = is_npy ? read_npy(content, file) : read_json(content, file);
  const std::size_t axes = cells.shape.size();
  if (axes < 2 || axes > 4 || cells.keep.empty()) {
    throw Error("{}: the mask is {}; expected [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys]",
                file, to_string(cells.shape));
  }
  return {.batch = axes > 2 ? cells.shape[0] : 1,
          .heads = axes > 3 ? cells.shape[1] : 1,
          .queries = cells.shape[axes - 2],
          .keys = cells.shape[axes - 1],
          .keep = std::move(cells.keep)};
}

}  // namespace headlight::app
