#include "app/state/mask_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <nlohmann/json.hpp>

#include "app/state/state_json.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/tensor.h"
#include "files/npy.h"

namespace headlight::app {
namespace {

static_assert(std::endian::native == std::endian::little, ".npy files of little-endian numbers are read as they are");

constexpr std::size_t kMaxAxes = 4;  // [batch, heads, queries, keys]

/// Cells in any number of axes, before load_mask() interprets them.
struct Cells {
  Shape shape;
  std::vector<std::uint8_t> keep;
};

void read_lists(const nlohmann::json& value, std::size_t depth, Cells& cells, const std::string& file) {
  if (value.is_array()) {
    const auto size = static_cast<std::uint32_t>(value.size());
    if (depth == cells.shape.size()) {
      if (!cells.keep.empty() || depth >= kMaxAxes) throw Error("{}: the lists of the mask are nested unevenly", file);
      cells.shape.resize(depth + 1, size);
    }
    if (cells.shape[depth] != size) {
      throw Error("{}: a list of the mask has {} members and another one {}; all must be equally long", file,
                  cells.shape[depth], size);
    }
    for (const nlohmann::json& member : value) read_lists(member, depth + 1, cells, file);
    return;
  }
  const bool is_bit = value.is_boolean() || value == 0 || value == 1;
  if (!is_bit) throw Error("{}: a mask consists of true and false (or 1 and 0), found {}", file, shown(value, 40));
  if (depth != cells.shape.size()) throw Error("{}: the lists of the mask are nested unevenly", file);
  cells.keep.push_back(value.is_boolean() ? value.get<bool>() : value == 1);
}

Cells read_json_cells(const std::string& content, const std::string& file) {
  const Result<nlohmann::json> value = parse_json(content);
  if (!value) {
    constexpr const char* kExpected = "lists of true and false, [[true, false], [true, true]]: a row for each query";
    throw Error("{}: {}", file, refusal_of_json(content, value.error(), kExpected));
  }
  Cells cells;
  read_lists(*value, 0, cells, file);
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
  if (type.ends_with('1') && type.find_first_of("biu") == 1) return nonzero<std::uint8_t>(content, begin, count);
  if (type == "<i2" || type == "<u2") return nonzero<std::uint16_t>(content, begin, count);
  if (type == "<i4" || type == "<u4") return nonzero<std::uint32_t>(content, begin, count);
  if (type == "<i8" || type == "<u8") return nonzero<std::uint64_t>(content, begin, count);
  if (type == "<f4") return nonzero<float>(content, begin, count);
  if (type == "<f8") return nonzero<double>(content, begin, count);
  throw Error("{}: numbers of type {} are not read; save the mask as bool", file, type);
}

Cells read_npy(const std::string& content, const std::string& file) {
  files::NpyHeader header;
  try {
    header = files::read_npy_header(content);
  } catch (const Error& error) {
    throw Error("{}: {}", file, error.what());
  }
  if (header.is_fortran) {
    throw Error("{}: the array is stored column by column; save numpy.ascontiguousarray(mask)", file);
  }
  return {.shape = header.shape, .keep = read_numbers(header.type, content, header.begin, header.count, file)};
}

}  // namespace

attention::BooleanMask load_mask(const std::filesystem::path& path) {
  const std::string file = utf8(path);
  const bool is_npy = path.extension() == ".npy";
  if (!is_npy && path.extension() != ".json") throw Error("{}: a mask is a .json or a .npy file", file);
  const std::string content = read_file(path);
  Cells cells = is_npy ? read_npy(content, file) : read_json_cells(content, file);
  const std::size_t axes = cells.shape.size();
  if (axes < 2 || axes > kMaxAxes || cells.keep.empty()) {
    throw Error("{}: the mask is {}; expected [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys]",
                file, headlight::to_string(cells.shape));
  }
  return {.batch = axes > 2 ? cells.shape[0] : 1,
          .heads = axes > 3 ? cells.shape[1] : 1,
          .queries = cells.shape[axes - 2],
          .keys = cells.shape[axes - 1],
          .keep = std::move(cells.keep)};
}

}  // namespace headlight::app
