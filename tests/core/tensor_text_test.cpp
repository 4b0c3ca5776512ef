#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/tensor.h"

namespace headlight {
namespace {

std::string refusal_of(std::string_view text) {
  const Result<Tensor> tensor = read_tensor_text(text);
  return tensor ? "taken" : tensor.error();
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("matrices are read as numpy and PyTorch print them, and as people type them") {
  const std::vector<float> values = {0.1F, -2.0F, 3.0F, 4.5e-3F};
  for (const std::string_view text : {
           "tensor([[ 0.1000, -2.0000],\n        [ 3.0000,  0.0045]])",
           "tensor([[0.1, -2.], [3., 4.5e-03]], dtype=torch.float64, device='cuda:0', grad_fn=<MmBackward0>)",
           "Parameter containing:\ntensor([[0.1, -2.], [3, 4.5E-3]], requires_grad=True)",
           "v = np.array([[0.1, -2.], [3., .0045]], dtype=float32)",
           "W_Q = torch.tensor([[0.1, -2.], [3., .0045]])",
           "[[ 0.1    -2.    ]\n [ 3.      0.0045]]",
           "array([[ 1.0e-01, -2.0e+00],\n       [ 3.0e+00,  4.5e-03]])",
           "tensor(1e-02 *\n       [[10., -200.], [+300., .45]])",
           "[[0.1, -2], [3, 0.0045],]",
           "0.1, -2\n3, 0.0045\n",
           "0.1;-2\r\n\r\n3;0.0045",
           "  0.1\t-2\n  3   0.0045  ",
       }) {
    CAPTURE(text);
    const Result<Tensor> tensor = read_tensor_text(text);
    REQUIRE_MESSAGE(tensor, (tensor ? "" : tensor.error()));
    CHECK(tensor->shape == Shape{2, 2});
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(tensor->values[i] == doctest::Approx(values[i]).epsilon(1e-7));
  }
  CHECK(read_tensor_text("[[[1, 2]], [[3, 4]]]")->shape == Shape{2, 1, 2});
  CHECK(read_tensor_text("tensor([1., 2., 3.])")->shape == Shape{3});
  CHECK(read_tensor_text("7")->shape == Shape{1, 1});
  CHECK(read_tensor_text("[1e-400]")->values == std::vector<float>{0.0F});
}

TEST_CASE("a matrix that was written is read back without a difference") {
  const Tensor tensor({2, 2, 3},
                      {0.1F, -2.0F, 3.4028234e38F, 1e-45F, 1.0F / 3.0F, 0.0F, 7.0F, 1e7F, -1e-7F, 0.5F, 123456.79F, 2.0F});
  const std::string text = tensor_text(tensor);
  CHECK(text.starts_with("[[[0.1, -2, "));
  const Result<Tensor> read = read_tensor_text(text);
  REQUIRE(read);
  CHECK(read->shape == tensor.shape);
  CHECK(read->values == tensor.values);
}

TEST_CASE("what is wrong with a matrix is said in one line with its place") {
  CHECK(refusal_of("") == "there is no number");
  CHECK(refusal_of("[[1, 2], [3, nan]]") == "row 1, number 1 (from 0): 'nan' is no number (NaN)");
  CHECK(refusal_of("1 2\n-inf 4") == "row 1, number 0 (from 0): '-inf' is infinite");
  CHECK(refusal_of("[[1, 2], [3]]") == "row 1 has 1 numbers, the rows before it have 2");
  CHECK(refusal_of("1 2\n3 4 5") == "row 1 has 3 numbers, the rows before it have 2");
  CHECK(refusal_of("[[1, x2]]") == "row 0, number 1 (from 0): 'x2' is no number");
  CHECK(refusal_of("[[1, 2+3j]]") == "row 0, number 1 (from 0): '2+3j' is no number");
  CHECK(refusal_of("[1, , 2]") == "row 0, number 1 (from 0): ',' where a number is expected");
  CHECK(refusal_of("[[1, 1e39]]") == "row 0, number 1 (from 0): '1e39' is too large for float32");
  CHECK(refusal_of("[[1, 1e999]]").ends_with("is too large for float32"));
  CHECK(refusal_of("[[0.1, ..., 0.2]]").starts_with("row 0, number 1 (from 0): '...' leaves numbers out"));
  CHECK(refusal_of("[[1, 2], [3, 4]") == "the text ends in row 2 without its closing ']'");
  CHECK(refusal_of("tensor([[1, 2]]") == "the text ends without its closing ')'");
  CHECK(refusal_of("[[1, 2]] [3]") == "'[3]' after the numbers");
  CHECK(refusal_of("[[]]") == "row 0 has no number");
  CHECK(refusal_of("[[1], 2]") == "row 1, number 1 (from 0): a number beside rows in brackets");
  CHECK(refusal_of("[[[1]], [2]]") == "row 1 has fewer brackets than the rows before it");
  CHECK(refusal_of("[[[1], [2]], [[3]]]") == "before row 3: 1 rows, where the matrix before has 2");
  CHECK(refusal_of("tensor(1e38 * [[10]])").ends_with("too large for float32"));
  CHECK(refusal_of("hello world").starts_with("row 0, number 0 (from 0): 'hello' is no number"));
  CHECK(refusal_of(std::string(100'000, '[')) == "more than 4 brackets inside each other");
  std::string many(2 * kMaxTextNumbers + 4, '1');
  for (std::size_t i = 1; i < many.size(); i += 2) many[i] = ' ';
  CHECK(refusal_of(many) == "more than 1048576 numbers");
}

TEST_SUITE_END();

}  // namespace headlight
