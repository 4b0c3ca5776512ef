#include "gpu/reflect.h"

#include <algorithm>
#include <memory>

#include <spirv_cross_c.h>

#include "core/error.h"

namespace headlight::gpu {
namespace {

struct DestroyContext {
  void operator()(spvc_context context) const { spvc_context_destroy(context); }
};

/// The variables of one kind that the entry point uses.
class Resources {
 public:
  Resources(spvc_compiler compiler, spvc_resources all, spvc_resource_type type) : compiler_(compiler) {
    const spvc_reflected_resource* list = nullptr;
    std::size_t count = 0;
    spvc_resources_get_resource_list_for_type(all, type, &list, &count);
    list_ = {list, count};
  }

  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  std::uint32_t binding(const spvc_reflected_resource& resource) const {
    return spvc_compiler_get_decoration(compiler_, resource.id, SpvDecorationBinding);
  }

  bool is_read_only(const spvc_reflected_resource& resource) const {
    const SpvDecoration* decorations = nullptr;
    std::size_t count = 0;
    spvc_compiler_get_buffer_block_decorations(compiler_, resource.id, &decorations, &count);
    return std::find(decorations, decorations + count, SpvDecorationNonWritable) != decorations + count;
  }

 private:
  spvc_compiler compiler_;
  std::span<const spvc_reflected_resource> list_;
};

}  // namespace

Reflection reflect(const std::string& kernel_name, std::span<const std::uint32_t> spirv) {
  spvc_context raw = nullptr;
  spvc_context_create(&raw);
  const std::unique_ptr<spvc_context_s, DestroyContext> context(raw);
  const auto check = [&](spvc_result result) {
    if (result != SPVC_SUCCESS) throw Error("kernel {}: {}", kernel_name, spvc_context_get_last_error_string(raw));
  };
  spvc_parsed_ir ir = nullptr;
  check(spvc_context_parse_spirv(raw, spirv.data(), spirv.size(), &ir));
  spvc_compiler compiler = nullptr;
  check(spvc_context_create_compiler(raw, SPVC_BACKEND_NONE, ir, SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler));
  if (spvc_compiler_get_execution_model(compiler) != SpvExecutionModelGLCompute) {
    throw Error("kernel {} is no compute shader", kernel_name);
  }
  spvc_resources all = nullptr;
  check(spvc_compiler_create_shader_resources(compiler, &all));

  Reflection reflection;
  const Resources storage(compiler, all, SPVC_RESOURCE_TYPE_STORAGE_BUFFER);
  for (const auto& resource : storage) {
    reflection.bindings.push_back({storage.binding(resource), Reflection::Kind::Storage, !storage.is_read_only(resource)});
  }
  const Resources texel(compiler, all, SPVC_RESOURCE_TYPE_SAMPLED_IMAGE);
  for (const auto& resource : texel) {
    reflection.bindings.push_back({texel.binding(resource), Reflection::Kind::UniformTexel, false});
  }
  std::sort(reflection.bindings.begin(), reflection.bindings.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });

  const Resources push(compiler, all, SPVC_RESOURCE_TYPE_PUSH_CONSTANT);
  for (const auto& resource : push) {
    std::size_t bytes = 0;
    check(spvc_compiler_get_declared_struct_size(compiler, spvc_compiler_get_type_handle(compiler, resource.base_type_id),
                                                 &bytes));
    reflection.push_constant_bytes = static_cast<std::uint32_t>(bytes);
  }
  const spvc_specialization_constant* constants = nullptr;
  std::size_t count = 0;
  check(spvc_compiler_get_specialization_constants(compiler, &constants, &count));
  for (const spvc_specialization_constant& constant : std::span(constants, count)) {
    reflection.constants = std::max(reflection.constants, constant.constant_id + 1);
  }
  for (unsigned axis = 0; axis < 3; ++axis) {
    reflection.local_size[axis] =
        spvc_compiler_get_execution_mode_argument_by_index(compiler, SpvExecutionModeLocalSize, axis);
  }
  return reflection;
}

}  // namespace headlight::gpu
