#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/expression.h"
#include "gpu/context.h"
#include "gpu/stream.h"

namespace headlight::test {

/// Layer 1 of 4, head 3 of 6, 8 queries, 5 keys, with ids and segments; one id is more than an int holds.
attention::ExpressionMap small_expression_map();

/// The expression's two GLSL functions under names that end in `number`, so that a shader holds many.
std::string numbered_expression_glsl(const attention::Expression& expression, attention::ExpressionUse use,
                                     std::size_t number);

/// Compiles a shader that includes the functions as kernels do. `rest`: the shader behind them, which may call them;
/// MASK_WORDS reads binding 0. Throws Error with shaderc's message.
std::vector<std::uint32_t> compile_expressions(const std::string& functions, std::string_view rest = "void main() {}\n");

/// Runs such a shader on `words`, for binding 0, and gives `count` floats from its binding 1.
std::vector<float> run_expressions(gpu::Context& context, const std::vector<std::uint32_t>& spirv,
                                   std::span<const std::uint32_t> words, std::size_t count, gpu::Groups groups);

}  // namespace headlight::test
