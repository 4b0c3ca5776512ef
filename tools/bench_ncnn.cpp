// bench_ncnn N,N,… ROUNDS – times ncnn's Vulkan layers on the linear layers of `headlight-bench --d-model 768 --heads 12`:
// random numbers, float32. Prints one JSON object a line, as `headlight-bench --format json` does; scripts/bench-others
// compiles it against a build of ncnn. A result that isn't the sum in double precision ends the program.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "command.h"
#include "datareader.h"
#include "gpu.h"
#include "net.h"

namespace {

constexpr int kWidth = 768;

std::mt19937 bits(1);

std::vector<float> random_numbers(std::size_t count) {
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = uniform(bits);
  return numbers;
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_ncnn: %s\n", what.c_str());
  std::exit(1);
}

/// y [n, out] = x · Wᵀ by ncnn's layer Gemm, the weight a constant.
void linear(const char* op, int n, int out, int rounds) {
  ncnn::VulkanDevice* device = ncnn::get_gpu_device(0);
  ncnn::Net net;
  net.opt.use_vulkan_compute = true;
  net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = false;
  net.opt.use_bf16_storage = false;
  net.set_vulkan_device(device);
  std::ostringstream text;
  // 2, 3: is A, B transposed; 4, 5, 6: are A, B, C constants; 7, 8, 9: rows, columns, inner axis; 10: there is no C
  text << "7767517\n2 2\nInput input 0 1 x\nGemm gemm 1 1 x y 2=0 3=1 4=0 5=1 6=1 7=0 8=" << out << " 9=" << kWidth
       << " 10=-1\n";
  if (net.load_param_mem(text.str().c_str()) != 0) fail("the layer isn't understood");
  const std::vector<float> weights = random_numbers(static_cast<std::size_t>(out) * kWidth);
  std::vector<unsigned char> model(4 + weights.size() * sizeof(float));  // a tag that says float32, then the numbers
  std::memcpy(model.data() + 4, weights.data(), weights.size() * sizeof(float));
  const unsigned char* at = model.data();
  const ncnn::DataReaderFromMemory reader(at);
  if (net.load_model(reader) != 0) fail("the weight isn't understood");

  const std::vector<float> xs = random_numbers(static_cast<std::size_t>(n) * kWidth);
  ncnn::Mat x(kWidth, n);
  std::memcpy(x.data, xs.data(), xs.size() * sizeof(float));
  ncnn::VkAllocator* blobs = device->acquire_blob_allocator();
  ncnn::VkAllocator* staging = device->acquire_staging_allocator();
  ncnn::Option options = net.opt;
  options.blob_vkallocator = options.workspace_vkallocator = blobs;
  options.staging_vkallocator = staging;
  {
    ncnn::VkMat x_on_device, y_on_device;
    {
      ncnn::VkCompute commands(device);
      commands.record_upload(x, x_on_device, options);
      if (commands.submit_and_wait() != 0) fail("the upload failed");
    }
    const auto compute = [&] {
      ncnn::Extractor extractor = net.create_extractor();
      extractor.set_blob_vkallocator(blobs);
      extractor.set_workspace_vkallocator(blobs);
      extractor.set_staging_vkallocator(staging);
      extractor.input("x", x_on_device);
      ncnn::VkCompute commands(device);
      if (extractor.extract("y", y_on_device, commands) != 0) fail("the layer failed");
      if (commands.submit_and_wait() != 0) fail("the submission failed");
    };
    compute();
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      compute();
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    std::printf("{\"op\": \"%s\", \"n\": %d, \"wall_ms\": %.4f}\n", op, n, times[rounds / 2]);
    std::fflush(stdout);

    ncnn::Mat y;
    ncnn::VkCompute commands(device);
    commands.record_download(y_on_device, y, options);
    if (commands.submit_and_wait() != 0) fail("the download failed");
    ncnn::Mat plain;
    ncnn::convert_packing(y, plain, 1, net.opt);
    double wanted = 0.0;
    for (int i = 0; i < kWidth; ++i) {
      wanted += double{xs[static_cast<std::size_t>(n - 1) * kWidth + i]} *
                double{weights[static_cast<std::size_t>(out - 1) * kWidth + i]};
    }
    const double found = plain.row(n - 1)[out - 1];
    if (!(std::abs(found - wanted) < 1e-2)) {
      fail(std::string(op) + " gives " + std::to_string(found) + " where it must be " + std::to_string(wanted));
    }
  }
  device->reclaim_blob_allocator(blobs);
  device->reclaim_staging_allocator(staging);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "bench_ncnn N,N,… ROUNDS\n");
    return 2;
  }
  ncnn::create_gpu_instance();
  if (ncnn::get_gpu_count() == 0) fail("ncnn finds no Vulkan device");
  const int rounds = std::max(1, std::atoi(argv[2]));
  std::istringstream counts(argv[1]);
  for (std::string part; std::getline(counts, part, ',');) {
    const int n = std::max(1, std::atoi(part.c_str()));
    linear("qkv_gemm", n, 3 * kWidth, rounds);
    linear("output_projection", n, kWidth, rounds);
  }
  ncnn::destroy_gpu_instance();
  return 0;
}
