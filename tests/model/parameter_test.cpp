// Views and reading of weights, each against loops that look up one number at a time.
#include "model/parameter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/half.h"
#include "model/safetensors.h"
#include "support/error_message.h"
#include "support/random.h"

namespace parameter_test {

using namespace headlight;
using namespace headlight::model;
using headlight::test::error_message;
using headlight::test::Random;

namespace {

constexpr ElementType kPlainTypes[] = {ElementType::F32, ElementType::F16, ElementType::BF16};

std::uint16_t bfloat(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }

/// A weight and its numbers, row-major.
struct Stored {
  Parameter parameter;
  std::uint32_t rows, columns;
  std::vector<float> numbers;

  float at(std::uint32_t row, std::uint32_t column) const { return numbers[std::size_t{row} * columns + column]; }
};

/// Random numbers in a type, at an odd address: files don't align tensors.
Stored stored(Random& random, ElementType type, std::uint32_t rows, std::uint32_t columns) {
  Stored result{.parameter = {}, .rows = rows, .columns = columns, .numbers = {}};
  auto bytes = std::make_shared<std::vector<std::byte>>(1 + std::size_t{rows} * columns * block_bytes(type));
  for (std::size_t i = 0; i < std::size_t{rows} * columns; ++i) {
    const float number = random.number(2.0f);
    std::byte* to = bytes->data() + 1 + i * block_bytes(type);
    const std::uint16_t bits = type == ElementType::F16 ? to_half(number) : bfloat(number);
    if (type == ElementType::F32) {
      std::memcpy(to, &number, sizeof(number));
      result.numbers.push_back(number);
    } else {
      std::memcpy(to, &bits, sizeof(bits));
      const float back = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
      result.numbers.push_back(type == ElementType::F16 ? from_half(bits) : back);
    }
  }
  result.parameter = Parameter(Shape{rows, columns}, type, std::span(*bytes).subspan(1), bytes);
  return result;
}

/// Does every read function of `view` return number(row, column)?
template <typename Number>
void check_reads(const Parameter& view, const Number& number) {
  const std::uint32_t rows = view.axis(0), width = view.axis(1);
  std::vector<float> expected;
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t i = 0; i < width; ++i) expected.push_back(number(r, i));
  }
  CHECK(view.tensor().values == expected);
  CHECK(view.element_count() == expected.size());

  const std::uint32_t first = rows / 3, count = rows - first;
  std::vector<float> some(std::size_t{count} * width);
  view.read(first, count, some);
  CHECK(std::equal(some.begin(), some.end(), expected.begin() + first * width));

  // Two columns more than rows: the gaps must stay unchanged.
  const std::size_t stride = count + 2;
  std::vector<float> columns(width * stride, -7.0f);
  view.read_columns(first, count, columns.data(), stride);
  bool same = true;
  for (std::uint32_t i = 0; i < width; ++i) {
    for (std::uint32_t r = 0; r < stride; ++r) {
      const bool is_inside = r < count;
      const float value = is_inside ? number(first + r, i) : -7.0f;
      same = same && columns[i * stride + r] == value;
    }
  }
  CHECK(same);

  if (view.type() == ElementType::F16 || view.type() == ElementType::BF16) {
    std::vector<std::uint16_t> words(width * stride, 0x4242);
    view.read_columns(first, count, words.data(), stride);
    std::vector<float> decoded(words.size());
    decode(view.type(), std::as_bytes(std::span(words)).data(), words.size(), decoded.data());
    bool same_words = true;
    for (std::size_t at = 0; at < words.size(); ++at) {
      same_words = same_words && (at % stride < count ? decoded[at] == columns[at] : words[at] == 0x4242);
    }
    CHECK(same_words);
  }

  if (!view.has_stored_columns()) return;
  const std::uint32_t first_column = width / 4, more = width - first_column;
  std::vector<float> room;
  const StoredColumns stored = view.stored_columns(first, count, first_column, more, room);
  bool same_stored = true;
  for (std::uint32_t c = 0; c < more; ++c) {
    for (std::uint32_t r = 0; r < count; ++r) {
      same_stored = same_stored && stored.numbers[c * stored.stride + r] == number(first + r, first_column + c);
    }
  }
  CHECK(same_stored);
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("views read the same as loops over the stored numbers, in every type and at awkward sizes") {
    Random random(31);
    for (const ElementType type : kPlainTypes) {
      for (const auto& shape : {std::pair{1u, 1u}, {7u, 5u}, {8u, 16u}, {65u, 33u}, {97u, 40u}, {40u, 130u}}) {
        const std::uint32_t rows = shape.first, columns = shape.second;
        CAPTURE(to_string(type));
        CAPTURE(rows);
        CAPTURE(columns);
        const Stored weight = stored(random, type, rows, columns);
        const Parameter& all = weight.parameter;
        check_reads(all, [&](auto r, auto i) { return weight.at(r, i); });
        check_reads(all.transposed(), [&](auto r, auto i) { return weight.at(i, r); });
        check_reads(all.transposed().transposed(), [&](auto r, auto i) { return weight.at(r, i); });

        const std::uint32_t first = random.below(rows), count = random.between(1, rows - first);
        check_reads(all.rows(first, count), [&](auto r, auto i) { return weight.at(first + r, i); });
        const std::uint32_t left = random.below(columns), width = random.between(1, columns - left);
        const Parameter turned = all.transposed().rows(left, width);
        check_reads(turned, [&](auto r, auto i) { return weight.at(i, left + r); });

        // Runs and single rows, some twice, of a view of a view.
        std::vector<std::uint32_t> order;
        for (std::uint32_t n = 0; n < count + 3; ++n)
          order.push_back(n % 3 == 0 ? random.below(count) : (order.back() + 1) % count);
        check_reads(all.rows(first, count).gathered(order), [&](auto r, auto i) { return weight.at(first + order[r], i); });
        check_reads(all.gathered(order).rows(2, count).gathered({count - 1, 0}),
                    [&](auto r, auto i) { return weight.at(order[2 + (r == 0 ? count - 1 : 0)], i); });
        for (std::uint32_t& row : order) row %= width;
        check_reads(turned.gathered(order), [&](auto r, auto i) { return weight.at(i, left + order[r]); });
      }
    }
  }

  TEST_CASE("columns cut off by a transposed view stay cut off when it is transposed back") {
    Random random(5);
    const Stored weight = stored(random, ElementType::F32, 9, 20);
    const Parameter part = weight.parameter.transposed().rows(0, 12).transposed();
    CHECK(part.shape() == Shape{9, 12});
    CHECK_FALSE(part.is_plain());
    check_reads(part, [&](auto r, auto i) { return weight.at(r, i); });
  }

  TEST_CASE("quantised weights read by columns as by rows") {
    const SafetensorsFile golden(HEADLIGHT_GOLDEN_DIR "/formats/quantised.safetensors");
    for (auto each = static_cast<std::size_t>(ElementType::Q8_0); each < kElementTypes; ++each) {
      const auto type = static_cast<ElementType>(each);
      CAPTURE(to_string(type));
      const std::string name(to_string(type));
      const StoredTensor* blocks = golden.tensors().find(name + ".blocks");
      REQUIRE(blocks != nullptr);
      const Tensor numbers = golden.tensor(name + ".numbers");
      // Twenty rows of two blocks: the same few blocks repeated.
      auto bytes = std::make_shared<std::vector<std::byte>>();
      std::vector<float> expected;
      const std::uint32_t kinds = blocks->shape[0], block = block_numbers(type), width = 2 * block;
      for (std::uint32_t n = 0; n < 40; ++n) {
        const std::uint32_t kind = n * 7 % kinds;
        const auto from = blocks->bytes.subspan(std::size_t{kind} * block_bytes(type), block_bytes(type));
        bytes->insert(bytes->end(), from.begin(), from.end());
        expected.insert(expected.end(), numbers.values.begin() + kind * block, numbers.values.begin() + (kind + 1) * block);
      }
      const Parameter weight(Shape{20, width}, type, *bytes, bytes);
      check_reads(weight, [&](auto r, auto i) { return expected[r * width + i]; });
      check_reads(weight.rows(3, 17).gathered({16, 0, 1, 2, 9}), [&](auto r, auto i) {
        return expected[(3 + std::vector<std::uint32_t>{16, 0, 1, 2, 9}[r]) * width + i];
      });
    }
  }

  TEST_CASE("every binary16 number survives conversion to float32 and back, and the wide loops equal the plain ones") {
    std::vector<std::uint16_t> all(0x10000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    std::vector<float> floats(all.size());
    std::vector<std::uint16_t> back(all.size());
    from_halves(std::as_bytes(std::span(all)).data(), all.size(), floats.data());
    to_halves(floats.data(), floats.size(), back.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (const bool is_nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0; is_nan) {
        wrong += !std::isnan(floats[i]) || !std::isnan(from_half(all[i])) || (back[i] & 0x7e00) != 0x7e00;
      } else {
        wrong += back[i] != all[i] || to_half(floats[i]) != all[i] || from_half(all[i]) != floats[i];
      }
    }
    CHECK(wrong == 0);
    CHECK(from_half(0x0001) == 0x1p-24f);
    CHECK(from_half(0x7bff) == 65504.0f);
  }

  TEST_CASE("float32 rounds to the nearest binary16, ties to even, in both loops") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::pair<float, std::uint16_t> cases[] = {{1.0f + 0x1p-11f, 0x3c00}, {1.0f + 0x1.8p-10f, 0x3c02},
                                                     {0x1.002002p0f, 0x3c01},   {65519.996f, 0x7bff},
                                                     {65520.0f, 0x7c00},        {1e30f, 0x7c00},
                                                     {kInfinity, 0x7c00},       {-kInfinity, 0xfc00},
                                                     {0x1p-25f, 0x0000},        {0x1.000002p-25f, 0x0001},
                                                     {0x1.8p-24f, 0x0002},      {-0x1.ffcp-15f, 0x8400},
                                                     {0x1.ffep-15f, 0x0400},    {-0.0f, 0x8000},
                                                     {1e-40f, 0x0000}};
    for (const auto& one : cases) {
      const auto& value = one.first;
      const auto& bits = one.second;
      CAPTURE(value);
      CHECK(to_half(value) == bits);
      const std::vector<float> eight(8, value);
      std::vector<std::uint16_t> wide(8);
      to_halves(eight.data(), eight.size(), wide.data());
      CHECK(wide == std::vector<std::uint16_t>(8, bits));
    }
    // The test takes one of every 4,099 float32 numbers.
    std::vector<float> many;
    for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 4099)
      many.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    std::vector<std::uint16_t> wide(many.size());
    to_halves(many.data(), many.size(), wide.data());
    CHECK(std::ranges::equal(many, wide, [](float value, std::uint16_t bits) { return to_half(value) == bits; }));
  }

  TEST_CASE("bytes that don't fit a shape are refused") {
    const auto bytes = std::make_shared<std::vector<std::byte>>(64);
    const auto make = [&](const Shape& shape, ElementType type) {
      return error_message([&] { (void)Parameter(shape, type, *bytes, bytes); });
    };
    CHECK(make({4, 4}, ElementType::F32).empty());
    CHECK(make({}, ElementType::F32) == "a weight of shape [] in F32 takes 4 bytes, but there are 64");
    CHECK(make({4, 5}, ElementType::F32) == "a weight of shape [4, 5] in F32 takes 80 bytes, but there are 64");
    CHECK(make({2, 2, 4}, ElementType::F32) == "a weight of shape [2, 2, 4] has more than two axes");
    CHECK(make({2, 16}, ElementType::Q8_0) == "rows of 16 numbers aren't whole Q8_0 blocks of 32");
  }

  TEST_CASE("equality compares numbers, however they are stored") {
    Random random(8);
    const Stored weight = stored(random, ElementType::F16, 6, 10);
    const Parameter copy(Tensor(Shape{6, 10}, weight.numbers));
    CHECK(weight.parameter == copy);
    CHECK(weight.parameter.address() != copy.address());
    CHECK(weight.parameter.rows(2, 2).address() == weight.parameter.address());
    CHECK_FALSE(weight.parameter == copy.rows(0, 5));
    CHECK_FALSE(weight.parameter == Parameter());
    CHECK(Parameter() == Parameter(Tensor()));
    CHECK(copy.is_plain());
    CHECK_FALSE(weight.parameter.is_plain());
    CHECK(copy.rows(2, 3).values().front() == weight.at(2, 0));
  }
}

}  // namespace parameter_test
