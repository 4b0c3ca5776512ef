#include "ops/tuning.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "ops/attention.h"
#include "ops/attention_blocks.h"
#include "ops/kernel_variant.h"
#include "ops/linear.h"

namespace headlight::ops {
namespace {

constexpr std::array kLinearNames{"naive",         "vec4", "vec4_texel", "tiled", "shuffle",
                                  "shuffle_texel", "gemv", "host",       "matrix"};
constexpr std::array kAttentionNames{"naive", "blocks", "blocks_texel", "tiled", "blocks_shuffle", "blocks_shuffle_texel",
                                     "host"};

/// The cost of a submission. A CPU device computes in this process: its processor time excludes the work of other programs.
double cost_ms(const gpu::DeviceInfo& device, gpu::Stream&& stream) {
  const std::clock_t start = std::clock();
  gpu::Submission submission = std::move(stream).submit();
  submission.wait();
  if (!device.is_cpu) return submission.gpu_ms();
  return static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
}

/// One of several equivalent kernels, and its lowest cost so far.
template <typename Kernel>
struct Candidate {
  Kernel kernel;
  double best_ms = std::numeric_limits<double>::infinity();
};

/// The cost of one candidate; infinite where the driver refuses it or it fails. Throws Error of kind DeviceLost.
template <typename Kernel, typename Record>
double try_kernel(gpu::Context& context, Kernel kernel, const Record& record) {
  try {
    gpu::Stream stream(context);
    record(stream, kernel);
    return cost_ms(context.device(), std::move(stream));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::DeviceLost) throw;
    return std::numeric_limits<double>::infinity();
  }
}

/// Times the candidates in turn, so that other load on the machine affects all of them, and returns the fastest. Much slower
/// ones are dropped early. Nullopt where none can be run.
template <typename Kernel, typename Record>
std::optional<Kernel> fastest(gpu::Context& context, std::vector<Candidate<Kernel>> candidates, const Record& record) {
  constexpr int kRounds = 9;
  constexpr double kFarBehind = 1.5;
  const auto is_faster = [](const auto& left, const auto& right) { return left.best_ms < right.best_ms; };
  for (int round = 0; round < kRounds && !candidates.empty(); ++round) {
    std::erase_if(candidates, [&](Candidate<Kernel>& candidate) {
      const double ms = try_kernel(context, candidate.kernel, record);
      if (round > 0) candidate.best_ms = std::min(candidate.best_ms, ms);  // the first one compiles
      return std::isinf(ms);
    });
    if (round < 2 || candidates.empty()) continue;
    const double best_ms = std::min_element(candidates.begin(), candidates.end(), is_faster)->best_ms;
    std::erase_if(candidates, [&](const auto& candidate) { return candidate.best_ms > kFarBehind * best_ms; });
  }
  if (candidates.empty()) return std::nullopt;
  return std::min_element(candidates.begin(), candidates.end(), is_faster)->kernel;
}

constexpr std::array kLinear{LinearKernel::Vec4,    LinearKernel::Vec4Texel,    LinearKernel::Tiled, LinearKernel::Gemv,
                             LinearKernel::Shuffle, LinearKernel::ShuffleTexel, LinearKernel::Host};
constexpr std::array kAttention{AttentionKernel::Blocks,        AttentionKernel::BlocksTexel,        AttentionKernel::Tiled,
                                AttentionKernel::BlocksShuffle, AttentionKernel::BlocksShuffleTexel, AttentionKernel::Host};
static_assert(kLinear.size() <= kCandidates && kAttention.size() <= kCandidates);

constexpr bool uses_barriers(LinearKernel kernel) { return kernel == LinearKernel::Tiled || kernel == LinearKernel::Gemv; }
constexpr bool uses_barriers(AttentionKernel kernel) { return kernel == AttentionKernel::Tiled; }

/// Do the small kernels read through texel buffers where this is the fastest linear layer? On processors these are the
/// fastest.
constexpr bool reads_texels(LinearKernel kernel) { return is_texel(kernel) || is_host(kernel); }

/// Is it worth a trial? Tiles in shared memory are never the fastest on a CPU, where a barrier suspends and resumes every
/// lane, and they are among the kernels that compile the longest.
template <typename Kernel>
bool is_candidate(const gpu::DeviceInfo& device, Kernel kernel) {
  if (uses_barriers(kernel)) return !device.is_cpu;
  if (is_host(kernel)) return device.runs_host_steps;
  return !is_shuffle(kernel) || can_shuffle(device);
}

template <typename Kernel, std::size_t N>
std::vector<Kernel> candidates_of(const gpu::DeviceInfo& device, const std::array<Kernel, N>& kernels) {
  std::vector<Kernel> result;
  for (const Kernel kernel : kernels) {
    if (is_candidate(device, kernel)) result.push_back(kernel);
  }
  return result;
}

/// One step of a trial: runs a candidate for the first time, or returns the fastest that can be run.
template <typename Kernel, typename Record>
std::optional<Kernel> step_of(gpu::Context& context, const std::vector<Kernel>& kernels, std::uint32_t step,
                              const Record& record) {
  if (step < kCandidates) {
    if (step < kernels.size()) try_kernel(context, kernels[step], record);
    return std::nullopt;
  }
  std::vector<Candidate<Kernel>> candidates;
  for (const Kernel kernel : kernels) candidates.push_back({kernel});
  return fastest(context, std::move(candidates), record);
}

/// `use` makes a tuning choose the kernel for so many rows and such weights.
template <typename Use>
std::optional<LinearKernel> linear_step(Kernels& kernels, const std::vector<LinearKernel>& candidates, std::uint32_t step,
                                        std::uint32_t rows, WeightType type, const Use& use) {
  gpu::Context& context = kernels.context();
  const std::uint32_t width = trial_size(context.device()).width;
  const std::vector<float> weight(std::size_t{width} * width * 3, 0.01f);
  const LinearSource source{.weight = weight, .bias = {}, .out = width * 3, .in = width, .type = type};
  const PackedLinear packed = pack(context, {&source, 1}, "a trial of kernels");
  gpu::Stream setup(context);
  const DeviceTensor x(setup, 1, 1, rows, width, "a trial of kernels");
  const DeviceTensor y(setup, 1, 1, rows, width * 3, "a trial of kernels");
  std::move(setup).submit().wait();
  // A pass has several layers of a few rows one after the other; what its start costs is shared by all of them.
  const int layers = rows <= kFewRows ? 8 : 1;
  Tuning tuning = kernels.tuning();
  return step_of(context, candidates, step, [&](gpu::Stream& stream, LinearKernel kernel) {
    use(tuning, kernel);
    kernels.set_tuning(tuning);
    for (int layer = 0; layer < layers; ++layer) linear(stream, kernels, x, packed, y);
  });
}

/// One of the first two trials.
std::optional<LinearKernel> float_step(Kernels& kernels, std::uint32_t step, std::uint32_t rows,
                                       LinearKernel Tuning::*choice) {
  return linear_step(kernels, linear_candidates(kernels.context().device(), rows <= kFewRows), step, rows, WeightType::F32,
                     [&](Tuning& tuning, LinearKernel kernel) { tuning.*choice = kernel; });
}

/// Measures the kernel for many rows of float32 weights against the units for matrices of float16; returns none where
/// there are no such units, or a processor emulates them: llvmpipe of Mesa 26 compiles their kernel for 20 to 40 s.
std::optional<LinearKernel> half_step(Kernels& kernels, std::uint32_t step, LinearKernel many_rows) {
  const gpu::DeviceInfo& device = kernels.context().device();
  if (device.is_cpu || !multiplies_matrices(device)) return std::nullopt;
  return linear_step(kernels, {many_rows, LinearKernel::Matrix}, step, trial_size(device).tokens, WeightType::F16,
                     [&](Tuning& tuning, LinearKernel kernel) { tuning.many_rows_of_halves = kernel; });
}

std::optional<AttentionKernel> attention_step(Kernels& kernels, std::uint32_t step, Tuning tuning) {
  gpu::Context& context = kernels.context();
  gpu::Stream setup(context);
  const TrialSize size = trial_size(context.device());
  const auto make = [&] {
    return DeviceTensor(setup, 1, size.heads, size.tokens, size.width / size.heads, "a trial of kernels");
  };
  const DeviceTensor q = make(), k = make(), v = make();
  const DeviceTensor merged(setup, 1, 1, size.tokens, size.width, "a trial of kernels");
  const DeviceTensor stats = make_stats(setup, 1, size.heads, size.tokens);
  const gpu::Buffer words(context, 16, gpu::Memory::Device, "a trial of kernels");
  setup.clear(words);
  std::move(setup).submit().wait();
  const MaskData mask{.causal = true, .words = &words};
  const AttentionScratch scratch(context, size.heads, size.tokens, size.tokens);
  return step_of(context, attention_candidates(context.device()), step, [&](gpu::Stream& stream, AttentionKernel kernel) {
    tuning.attention = kernel;
    kernels.set_tuning(tuning);
    attention(stream, kernels,
              {.q = q, .k = k, .v = v, .mask = mask, .scale = 0.125f, .queries = q.all(), .keys = size.tokens},
              {merged, stats, concatenated(size.heads, v.width4())}, &scratch);
  });
}

/// The device with its driver, and the kernels' generation.
std::string device_key(const gpu::DeviceInfo& device) {
  constexpr int kGeneration = 11;  // of the kernels: increased when they change, so that older tunings are ignored
  return fmt::format("{} | {} | {} | kernels {}", device.name, device.driver, device.uuid, kGeneration);
}

/// The key for which a tuning is valid.
std::string cache_key(const gpu::DeviceInfo& device) {
  // A start with shaders alone neither uses nor replaces what was measured with the host's functions among them.
  return device_key(device) + (device.is_cpu && !device.runs_host_steps ? " | shaders" : "");
}

std::filesystem::path faults_file(const std::filesystem::path& tuning_file) {
  return tuning_file.parent_path() / "kernel_verdicts.json";
}

nlohmann::json read_cache(const std::filesystem::path& file) {
  try {
    nlohmann::json cache = read_json(file, {.bytes = std::size_t{1} << 20});
    if (cache.is_object()) return cache;
  } catch (
      const std::exception&) {  // NOLINT(bugprone-empty-catch): no cache yet or a damaged one: measured and written again
  }
  return nlohmann::json::object();
}

template <typename Kernel, std::size_t N>
bool parse(const nlohmann::json& entry, const char* key, const std::array<const char*, N>& names, Kernel& kernel) {
  const auto name = entry.find(key);
  if (name == entry.end() || !name->is_string()) return false;
  const auto found = std::find(names.begin(), names.end(), name->template get<std::string>());
  if (found == names.end()) return false;
  kernel = static_cast<Kernel>(found - names.begin());
  return true;
}

}  // namespace

std::string_view to_string(LinearKernel kernel) { return kLinearNames.at(static_cast<std::size_t>(kernel)); }
std::string_view to_string(AttentionKernel kernel) { return kAttentionNames.at(static_cast<std::size_t>(kernel)); }

bool multiplies_matrices(const gpu::DeviceInfo& device) { return device.matrix_lanes > 0 && has_matrix_kernels(); }

Tuning default_tuning(const gpu::DeviceInfo& device) {
  if (!device.is_cpu) {
    return {.few_rows = LinearKernel::Gemv, .many_rows = LinearKernel::Tiled, .attention = AttentionKernel::Tiled};
  }
  const LinearKernel linear = device.runs_host_steps ? LinearKernel::Host : default_shader(device);
  const AttentionKernel attention = device.runs_host_steps ? AttentionKernel::Host
                                    : can_shuffle(device)  ? AttentionKernel::BlocksShuffleTexel
                                                           : AttentionKernel::BlocksTexel;
  return {.few_rows = linear, .many_rows = linear, .attention = attention, .texel_reads = true};
}

LinearKernel default_shader(const gpu::DeviceInfo& device) {
  if (!device.is_cpu) return LinearKernel::Tiled;
  return can_shuffle(device) ? LinearKernel::ShuffleTexel : LinearKernel::Vec4Texel;
}

std::vector<LinearKernel> linear_candidates(const gpu::DeviceInfo& device, bool has_few_rows) {
  std::vector<LinearKernel> kernels = candidates_of(device, kLinear);
  if (!has_few_rows) std::erase(kernels, LinearKernel::Gemv);  // it computes many rows as Tiled does
  return kernels;
}

std::vector<AttentionKernel> attention_candidates(const gpu::DeviceInfo& device) {
  return candidates_of(device, kAttention);
}

bool can_measure(const gpu::DeviceInfo& device) { return device.is_cpu || device.timestamp_bits > 0; }

TrialSize trial_size(const gpu::DeviceInfo& device) {
  constexpr std::uint32_t kManyCores = 32;
  if (device.is_cpu) return {};
  if (device.cores < kManyCores) return {.width = 512, .heads = 8, .tokens = 128};
  return {.width = 1'024, .heads = 16, .tokens = 256};
}

void measure_step(Kernels& kernels, std::uint32_t step, Tuning& tuning) {
  const std::uint32_t trial = step / (kCandidates + 1), part = step % (kCandidates + 1);
  // Trials change what the kernels use.
  struct Restore {
    Kernels& kernels;
    const Tuning& tuning;
    ~Restore() { kernels.set_tuning(tuning); }
  } const restore{kernels, tuning};
  kernels.set_tuning(tuning);
  try {
    if (trial == 0) {
      tuning.few_rows = float_step(kernels, part, 1, &Tuning::few_rows).value_or(tuning.few_rows);
    } else if (trial == 1) {
      const std::uint32_t rows = trial_size(kernels.context().device()).tokens;
      if (const auto fastest = float_step(kernels, part, rows, &Tuning::many_rows)) {
        tuning.many_rows = *fastest;
        tuning.texel_reads = reads_texels(*fastest);
      }
    } else if (trial == 2) {
      if (const auto fastest = half_step(kernels, part, tuning.many_rows)) {
        tuning.many_rows_of_halves = *fastest == tuning.many_rows ? std::nullopt : fastest;
      }
    } else {
      tuning.attention = attention_step(kernels, part, tuning).value_or(tuning.attention);
    }
  } catch (const Error& error) {  // no memory for the trial's tensors: what is chosen stays
    if (error.kind() == ErrorKind::DeviceLost) throw;
  }
}

Tuning measure_tuning(Kernels& kernels) {
  Tuning tuning = default_tuning(kernels.context().device());
  if (!can_measure(kernels.context().device())) return tuning;
  for (std::uint32_t step = 0; step < kTuningSteps; ++step) measure_step(kernels, step, tuning);
  return tuning;
}

std::optional<Tuning> load_tuning(const gpu::DeviceInfo& device, const std::filesystem::path& file) {
  const nlohmann::json cache = read_cache(file);
  const auto entry = cache.find(cache_key(device));
  Tuning tuning;
  const bool is_complete = entry != cache.end() && entry->is_object() &&
                           parse(*entry, "few_rows", kLinearNames, tuning.few_rows) &&
                           parse(*entry, "many_rows", kLinearNames, tuning.many_rows) &&
                           parse(*entry, "attention", kAttentionNames, tuning.attention);
  if (!is_complete) return std::nullopt;
  tuning.texel_reads = reads_texels(tuning.many_rows);
  LinearKernel of_halves = LinearKernel::Naive;
  if (parse(*entry, "many_rows_of_halves", kLinearNames, of_halves)) tuning.many_rows_of_halves = of_halves;
  return tuning;
}

void save_tuning(const gpu::DeviceInfo& device, const std::filesystem::path& file, const Tuning& tuning) {
  nlohmann::json cache = read_cache(file);
  nlohmann::json& entry = cache[cache_key(device)] = {{"few_rows", to_string(tuning.few_rows)},
                                                      {"many_rows", to_string(tuning.many_rows)},
                                                      {"attention", to_string(tuning.attention)}};
  if (tuning.many_rows_of_halves) entry["many_rows_of_halves"] = to_string(*tuning.many_rows_of_halves);
  try {
    make_directories(file.parent_path());
    write_file_atomically(file, headlight::to_text(cache) + "\n");
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): without a cache the next start measures again
  }
}

std::set<std::string> load_faults(const gpu::DeviceInfo& device, const std::filesystem::path& tuning_file) {
  std::set<std::string> kernels;
  const nlohmann::json known = tuning_file.empty() ? nlohmann::json() : read_cache(faults_file(tuning_file));
  const auto entry = known.find(device_key(device));
  if (entry == known.end() || !entry->is_array()) return kernels;
  for (const nlohmann::json& name : *entry) {
    if (name.is_string()) kernels.insert(name.get<std::string>());
  }
  return kernels;
}

void save_faults(const gpu::DeviceInfo& device, const std::filesystem::path& tuning_file,
                 const std::set<std::string>& kernels) {
  const std::filesystem::path file = faults_file(tuning_file);
  nlohmann::json known = read_cache(file);
  if (kernels.empty() && !known.contains(device_key(device))) return;
  known[device_key(device)] = kernels;
  if (kernels.empty()) known.erase(device_key(device));
  make_directories(file.parent_path());
  write_file_atomically(file, headlight::to_text(known) + "\n");
}

Tuning tune(Kernels& kernels, const std::filesystem::path& file) {
  const gpu::DeviceInfo& device = kernels.context().device();
  kernels.exclude(load_faults(device, file));
  if (const std::optional<Tuning> known = load_tuning(device, file)) {
    kernels.set_tuning(*known);
    return *known;
  }
  const Tuning tuning = measure_tuning(kernels);
  if (can_measure(device)) save_tuning(device, file, tuning);
  return tuning;
}

}  // namespace headlight::ops
