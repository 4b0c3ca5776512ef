#include "files/npy.h"

#include <doctest/doctest.h>

#include <limits>

#include "core/error.h"
#include "support/decode_npy.h"

namespace npy_test {

using namespace headlight;
using namespace headlight::files;

TEST_SUITE("cpu") {
  TEST_CASE("the header is NumPy's, byte for byte") {
    const std::string header = npy_header("<f4", Shape{2, 3});
    // numpy.save writes this for np.zeros((2, 3), np.float32), version 1.0.
    std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
    expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    expected.append(128 - expected.size() - 1, ' ');
    expected += '\n';
    CHECK(header == expected);
    CHECK(npy_header("<f4", Shape{7}).find("'shape': (7,), }") != std::string::npos);
    CHECK(npy_header("<f4", Shape{}).find("'shape': (), }") != std::string::npos);
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{4096, 4096}, Shape{6, 2, 64, 4096, 4096}}) {
      CHECK(npy_header("<f4", shape).size() % 64 == 0);
    }
  }

  TEST_CASE("tensors survive writing and reading, infinities included") {
    const Tensor tensor({2, 1, 3}, {0.1F, -2.5F, -std::numeric_limits<float>::infinity(), 0.0F, 1e-42F, 3e38F});
    const Tensor again = decode_npy(encode_npy(tensor));
    CHECK(again.shape == tensor.shape);
    CHECK(again.values == tensor.values);
    const Tensor scalar({}, {7.0F});
    CHECK(decode_npy(encode_npy(scalar)).values == scalar.values);
    CHECK(encode_npy(tensor).substr(128) == std::string_view(reinterpret_cast<const char*>(tensor.values.data()), 24));
  }

  TEST_CASE("other and damaged files are refused") {
    const std::string good = encode_npy(Tensor({2}, {1, 2}));
    CHECK_THROWS_WITH_AS(decode_npy("PK zip"), "no NumPy file (it doesn't begin with \\x93NUMPY)", Error);
    CHECK_THROWS_WITH_AS(decode_npy(good.substr(0, 40)), "the file ends inside its header", Error);
    CHECK_THROWS_WITH_AS(decode_npy(good.substr(0, good.size() - 1)), "the file ends before its last number", Error);
    const std::string scalar = encode_npy(Tensor(Shape{}, {1}));
    CHECK_THROWS_WITH_AS(decode_npy(scalar.substr(0, scalar.size() - 1)), "the file ends before its last number", Error);
    CHECK_THROWS_WITH_AS(decode_npy(good + "x"), "the .npy file has 9 bytes of values, its shape needs 8", Error);
    std::string doubles = good;
    doubles.replace(doubles.find("<f4"), 3, "<f8");
    CHECK_THROWS_AS(decode_npy(doubles), Error);
  }
}

}  // namespace npy_test
