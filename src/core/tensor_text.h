#pragma once

#include <string_view>

#include "core/result.h"
#include "core/tensor.h"

namespace headlight {

inline constexpr std::size_t kMaxTextNumbers = std::size_t{1} << 20U;

/// Numbers as they are printed or typed elsewhere, as a tensor of one to four axes:
///   tensor([[0.1, -2.], [3., 4.]], dtype=torch.float64)   PyTorch, with its common factor too: tensor(1e-02 * [[…]])
///   array([[0.1, -2.], …]) or [[0.1 -2.]\n [3. 4.]]        numpy
///   0.1, -2 / 3, 4 on lines                                rows, separated by commas, semicolons or blanks
/// Fails in one line that names row and number, counted from 0: not a number, infinite, NaN or too large for float32, rows
/// of different lengths, numbers left out by "...", more than kMaxTextNumbers numbers. Takes time linear in the text.
Result<Tensor> read_tensor_text(std::string_view text);

/// "[[0.1, -2],\n [3, 0.0045]]": a list of lists of the shortest numbers that read_tensor_text() and Python read back
/// without a difference.
std::string tensor_text(const Tensor& tensor);

}  // namespace headlight
