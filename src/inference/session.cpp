#include "inference/session.h"

#include <limits>
#include <utility>

#include "core/error.h"
#include "gpu/context.h"
#include "gpu/transfer.h"
#include "inference/copies.h"
#include "inference/device_layers.h"
#include "inference/device_run.h"
#include "inference/forward.h"
#include "inference/given_run.h"
#include "inference/memory_estimate.h"
#include "inference/processor_run.h"
#include "inference/recorded_findings.h"
#include "ops/cells.h"
#include "ops/kernels.h"
#include "platform/memory.h"

namespace headlight::inference {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void check_masks(const model::Network& network, const model::ModelInput& input, const attention::MaskSet& masks) {
  for (const model::BlockRef block : network.blocks()) {
    const model::TokenBatch& queries = input.queries(block.kind);
    attention::check(masks[block.kind], queries.batch, network.layer(block).config.heads, queries.length,
                     input.keys(block.kind).length);
  }
}

void check_pass(const PassInputs& pass, const gpu::DeviceInfo& device) {
  model::check(*pass.network, pass.input);
  check_masks(*pass.network, pass.input, pass.masks);
  check(*pass.network, pass.interventions);
  expect_room(*pass.network, pass.input, device);
}

}  // namespace

struct Session::State {
  explicit State(gpu::Context& context) : kernels(context) {}

  ops::Kernels kernels;
  CompileObserver compile_observer;
  PassObserver pass_observer;
  double long_pass = kLongPass;
  std::filesystem::path tuning_file;
  std::uint32_t next_tuning_step = 0;
  Precision precision = Precision::F32;
  std::shared_ptr<const DeviceLayers> layers;
  Precision layers_precision = Precision::F32;
  /// Layers that were uploaded before, and are still on the device while a run that uses them lives: two models are run
  /// in turns without uploading either again.
  struct Uploaded {
    std::weak_ptr<const DeviceLayers> layers;
    Precision precision = Precision::F32;
  };
  std::vector<Uploaded> uploaded;
  std::vector<DeviceEmbedding> embeddings;  ///< of the last network, at most two
  ScratchTensors scratch;

  void upload(const std::shared_ptr<const model::Layers>& source, const LoadObserver& observer = {},
              const FirstLayers& first = {}) {
    if (layers && layers->source == source && layers_precision == precision) return;
    scratch = {};
    std::shared_ptr<const DeviceLayers> wanted = find_uploaded(source);
    layers.reset();  // the old ones make room first
    if (!wanted) {
      wanted = std::make_shared<const DeviceLayers>(
          upload_layers(kernels.context(), source, precision == Precision::F16, observer, first_upload(*source, first)));
      uploaded.push_back({.layers = wanted, .precision = precision});
    }
    layers = std::move(wanted);
    layers_precision = precision;
  }

  /// Lets the first layers be run as a network of their own. `source` and `first` must outlive it.
  FirstUpload first_upload(const model::Layers& source, const FirstLayers& first) {
    if (first.count == 0 || !first.ready || !source.decoder.empty()) return {};
    const auto show = [this, &source, &first, start = std::chrono::steady_clock::now()](
                          const std::vector<std::shared_ptr<const DeviceLayer>>& uploaded_layers, std::size_t bytes,
                          std::size_t total) {
      const double rest = static_cast<double>(total - bytes) / static_cast<double>(bytes);
      if (milliseconds_since(start) * rest < first.least_rest_ms) return;
      auto alone = std::make_shared<model::Layers>();
      alone->encoder.assign(source.encoder.begin(), source.encoder.begin() + first.count);
      alone->rotaries = source.rotaries;
      alone->position_biases = source.position_biases;
      alone->distances = source.distances;
      auto device = std::make_shared<DeviceLayers>();
      device->source = alone;
      device->encoder = uploaded_layers;
      layers = device;
      layers_precision = precision;
      try {
        first.ready(alone);
      } catch (...) {
        layers.reset();
        throw;
      }
      layers.reset();
      scratch = {};
    };
    return {.count = first.count, .ready = show};
  }

  /// Null: they aren't on the device with this precision.
  std::shared_ptr<const DeviceLayers> find_uploaded(const std::shared_ptr<const model::Layers>& source) {
    std::erase_if(uploaded, [](const Uploaded& one) { return one.layers.expired(); });
    for (const Uploaded& one : uploaded) {
      std::shared_ptr<const DeviceLayers> known = one.layers.lock();
      if (known && known->source == source && one.precision == precision) return known;
    }
    return nullptr;
  }

  const DeviceEmbedding* upload(const std::shared_ptr<const model::Embedding>& source) {
    if (!source || (!source->norm && !source->projection)) return nullptr;
    for (const DeviceEmbedding& known : embeddings) {
      if (known.source == source) return &known;
    }
    if (embeddings.size() > 1) embeddings.clear();
    embeddings.reserve(2);
    return &embeddings.emplace_back(upload_embedding(kernels.context(), source));
  }

  /// `base` if a new run can share anything with it.
  const DeviceRun* usable(const Run* base) const {
    const auto* run = dynamic_cast<const DeviceRun*>(base);
    const bool is_of_session = run != nullptr && run->kernels() == &kernels && run->layers() == layers;
    return is_of_session && !run->is_destroyed() ? run : nullptr;
  }

  /// Takes `pass` when it succeeds.
  std::shared_ptr<const Run> forward(PassInputs& pass, const Run* base, bool overwrites_base) {
    kernels.forget_old_expressions();
    upload(pass.network->layers);
    std::shared_ptr<const Run> run = forward_if_compiled(pass, usable(base), overwrites_base);
    while (!run) {  // more than once where the driver refuses kernels and others take their place
      kernels.compile_listed(compile_observer);
      run = forward_if_compiled(pass, usable(base), overwrites_base);
    }
    note_run_warning(run_warning(run->findings()));
    return run;
  }

  /// Null where the base can't be begun from.
  std::shared_ptr<const Run> forward_copies(PassInputs& copies, const Run& base, std::uint32_t line) {
    kernels.forget_old_expressions();
    upload(copies.network->layers);
    const DeviceRun* begun = usable(&base);
    if (begun == nullptr) return nullptr;
    const PassPlan plan = plan_copies(copies);
    const bool has_decoder = !copies.network->layers->decoder.empty();
    const attention::DeviceTensorPtr source = state_to_copy(*begun, false, plan.encoder.copied_layers);
    const attention::DeviceTensorPtr target =
        has_decoder ? state_to_copy(*begun, true, plan.decoder.copied_layers) : nullptr;
    if (!source || (has_decoder && !target)) return nullptr;
    const auto attempt = [&]() -> std::shared_ptr<const Run> {
      Attempt copied{.plan = plan, .copied_source = source, .copied_target = target, .copied_item = line};
      return finish_if_compiled(copied, copies, nullptr, false);
    };
    std::shared_ptr<const Run> run = attempt();
    while (!run) {
      kernels.compile_listed(compile_observer);
      run = attempt();
    }
    return run;
  }

  /// Null when the pass needs kernels that aren't compiled: they are listed then, and nothing else has changed.
  std::shared_ptr<const Run> forward_if_compiled(PassInputs& pass, const DeviceRun* base, bool overwrites_base) {
    Attempt attempt{.plan = plan_pass(pass, base != nullptr ? &base->inputs() : nullptr)};
    return finish_if_compiled(attempt, pass, base, overwrites_base);
  }

 private:
  /// A pass on its way. The stream goes before what it uses.
  struct Attempt {
    PassPlan plan;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    std::optional<RunTensors> tensors = {};
    Forward forward = {};
    std::optional<gpu::Stream> stream = {};
    std::optional<RecordedFindings> recorded = {};  ///< on the last stream
    RunTiming timing = {};
    RunFindings findings = {};
    attention::DeviceTensorPtr copied_source = {}, copied_target = {};  ///< of a pass of copies: see PassTensors
    std::uint32_t copied_item = 0;
  };

  /// The state after the first layers of a stack. Null: there is none, or the run's own interventions changed it in place
  /// of the layer after it, which would do so again.
  static attention::DeviceTensorPtr state_to_copy(const DeviceRun& run, bool is_decoder, std::uint32_t layers) {
    using model::BlockKind;
    const auto is_edited = [&](BlockKind kind) { return run.tensors().find({kind, layers, Role::Edited}) != nullptr; };
    const bool changes_it =
        is_decoder ? is_edited(BlockKind::DecoderSelf) || is_edited(BlockKind::Cross) : is_edited(BlockKind::EncoderSelf);
    if (changes_it) return nullptr;
    const auto& states = is_decoder ? run.attention_run().decoder_states : run.attention_run().encoder_states;
    if (layers < states.size()) return states[layers];
    // Token vectors that a decoder reads as they are belong to no layer.
    const bool is_memory = !is_decoder && states.empty();
    return is_memory ? run.tensors().find({BlockKind::EncoderSelf, 0, Role::State}) : nullptr;
  }

  /// Null when the pass needs kernels that aren't compiled, as above. Takes `pass` when it succeeds.
  std::shared_ptr<const Run> finish_if_compiled(Attempt& attempt, PassInputs& pass, const DeviceRun* base,
                                                bool overwrites_base) {
    if (!record(attempt, pass, base, overwrites_base, {})) return nullptr;
    if (pass_observer && attempt.stream->multiply_adds() >= long_pass) {
      attempt.stream.reset();  // what was recorded makes room
      attempt.recorded.reset();
      attempt.forward = {};
      attempt.tensors.reset();
      run_by_layer(attempt, pass, base, overwrites_base);
    } else {
      submit(attempt, base);
    }
    attempt.tensors->commit();
    scratch.drop_unused();
    attempt.timing.wall_ms = milliseconds_since(attempt.start);
    attempt.timing.device_bytes = kernels.context().allocated_bytes();
    attempt.timing.reused_tokens = attempt.plan.reused_tokens();
    attempt.timing.reused_layers = attempt.plan.reused_layers();
    return std::make_shared<DeviceRun>(std::move(pass), attempt.timing, attempt.findings, kernels, layers,
                                       std::move(attempt.forward.run), std::move(*attempt.tensors));
  }

  /// False when kernels are missing.
  bool record(Attempt& attempt, const PassInputs& pass, const DeviceRun* base, bool overwrites_base,
              const std::function<void()>& end_layer) {
    attempt.tensors.emplace(base != nullptr ? RunTensors(base->tensors(), overwrites_base) : RunTensors());
    attempt.stream.emplace(kernels.context());
    const DeviceEmbedding* source = upload(pass.network->source_embedding);
    const DeviceEmbedding* target = upload(pass.network->target_embedding);
    const DeviceNetwork device{layers.get(), source, target};
    const ops::Kernels::Listing listing(kernels);
    attempt.forward = record_forward(*attempt.stream, kernels, device, pass, attempt.plan,
                                     {.run = *attempt.tensors,
                                      .scratch = scratch,
                                      .base = base != nullptr ? &base->attention_run() : nullptr,
                                      .copied_source = attempt.copied_source,
                                      .copied_target = attempt.copied_target,
                                      .copied_item = attempt.copied_item},
                                     end_layer);
    // A pass that computes nothing has the numbers of its base.
    if (base != nullptr && attempt.plan.computes_nothing() && base->findings().are_numbers()) {
      attempt.findings = base->findings();
    } else {
      attempt.recorded.emplace(*attempt.stream, kernels, attempt.forward.run);
    }
    ops::ask_for_map_cells(kernels);  // what computes the first heatmap is compiled with it
    return attempt.stream->is_complete() && !kernels.has_listed();
  }

  /// Submits what is on the stream and waits for it.
  void submit(Attempt& attempt, const DeviceRun* base) {
    try {
      gpu::Submission submission = std::move(*attempt.stream).submit();
      submission.wait();
      attempt.timing.gpu_ms += submission.gpu_ms();
      attempt.timing.dispatches += submission.dispatches();
      if (attempt.recorded) attempt.findings = attempt.recorded->read(submission);
    } catch (...) {
      if (attempt.tensors->destroys_base()) base->destroy();  // it is unknown how far the pass came
      throw;
    }
  }

  /// All kernels are compiled.
  void run_by_layer(Attempt& attempt, const PassInputs& pass, const DeviceRun* base, bool overwrites_base) {
    const std::size_t total = pass.network->layers->encoder.size() + pass.network->layers->decoder.size();
    std::size_t done = 0;
    const auto tell = [&] {
      if (!pass_observer(done, total)) throw Error(ErrorKind::Cancelled, "the pass was cancelled");
    };
    const auto end_layer = [&] {
      submit(attempt, base);
      attempt.stream.emplace(kernels.context());
      ++done;
      tell();
    };
    tell();
    try {
      record(attempt, pass, base, overwrites_base, end_layer);
    } catch (...) {
      if (done > 0 && attempt.tensors->destroys_base()) base->destroy();
      throw;
    }
    submit(attempt, base);
  }
};

struct Session::Processor {
  std::shared_ptr<ops::HostThreads> threads = std::make_shared<ops::HostThreads>();
  ProcessorSettings settings = {};

  /// The properties of the processor that limit a pass. Half of 9/10 of the memory counts, because a pass keeps its
  /// numbers in double precision.
  static gpu::DeviceInfo info() {
    gpu::DeviceInfo info;
    info.name = kProcessorName;
    const std::uint64_t left = platform::available_bytes();
    info.memory_bytes = left == 0 ? std::numeric_limits<std::size_t>::max() : left / 20 * 9;
    return info;
  }
  std::shared_ptr<const Run> run(PassInputs&& pass) const {
    check_pass(pass, info());
    auto run = std::make_shared<const ProcessorRun>(std::move(pass), settings, threads);
    note_run_warning(run_warning(run->findings()));
    return run;
  }
};

Session::Session() : processor_(std::make_unique<Processor>()) {}

Session::Session(gpu::Context& context, const std::filesystem::path& tuning_file)
    : state_(std::make_unique<State>(context)) {
  state_->tuning_file = tuning_file;
  const auto known = tuning_file.empty() ? std::nullopt : ops::load_tuning(context.device(), tuning_file);
  if (known) state_->kernels.set_tuning(*known);
  state_->kernels.exclude(ops::load_faults(context.device(), tuning_file));
  if (known || tuning_file.empty() || !ops::can_measure(context.device())) state_->next_tuning_step = ops::kTuningSteps;
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

void Session::load(std::shared_ptr<const model::Layers> layers, Precision precision, const LoadObserver& observer,
                   const FirstLayers& first) {
  if (processor_) {
    processor_->settings.precision = precision;
    return;
  }
  state_->precision = precision;
  state_->upload(layers, observer, first);
}

void Session::unload() {
  if (processor_) return;
  state_->scratch = {};
  state_->layers.reset();
  state_->embeddings.clear();
  gpu::finish_writes(state_->kernels.context());  // what a run uploaded for itself
}

void Session::watch_compiling(CompileObserver observer) {
  if (state_) state_->compile_observer = std::move(observer);
}

void Session::watch_passes(PassObserver observer, double long_pass) {
  if (processor_) {
    processor_->settings.observer = std::move(observer);
    return;
  }
  state_->pass_observer = std::move(observer);
  state_->long_pass = long_pass;
}

void Session::expect_room(const model::Network& network, const model::ModelInput& input) const {
  inference::expect_room(network, input, processor_ ? Processor::info() : state_->kernels.context().device());
}

std::shared_ptr<const Run> Session::run(PassInputs pass, const std::shared_ptr<const Run>& base) {
  if (processor_) return processor_->run(std::move(pass));
  check_pass(pass, state_->kernels.context().device());
  return state_->forward(pass, base.get(), false);
}

std::shared_ptr<const Run> Session::run(PassInputs pass, std::shared_ptr<const Run>&& base) {
  if (processor_) {
    std::shared_ptr<const Run> run = processor_->run(std::move(pass));
    base.reset();
    return run;
  }
  check_pass(pass, state_->kernels.context().device());
  std::shared_ptr<const Run> result;
  try {
    result = state_->forward(pass, base.get(), base.use_count() == 1);
  } catch (const Error& error) {
    // Perhaps the base holds the memory that is missing; without it there may be enough.
    const bool is_out_of_memory = error.kind() == ErrorKind::OutOfDeviceMemory;
    const auto* device_run = dynamic_cast<const DeviceRun*>(base.get());
    if (device_run != nullptr && device_run->is_destroyed()) base.reset();
    if (!is_out_of_memory || !base || base.use_count() > 1) throw;
    base.reset();
    return state_->forward(pass, nullptr, false);
  }
  base.reset();
  return result;
}

std::shared_ptr<const Run> Session::run_copies(const Run& base, std::uint32_t line, std::span<const Interventions> changes) {
  const PassInputs& pass = base.inputs();
  if (processor_ || changes.empty() || line >= pass.input.source.batch || !can_copy(pass, changes)) return nullptr;
  PassInputs copies = copies_of(pass, line, changes);
  check_masks(*copies.network, copies.input, copies.masks);
  check(*copies.network, copies.interventions);
  return state_->forward_copies(copies, base, line);
}

std::shared_ptr<const Run> Session::attend(const GivenAttention& given) {
  return std::make_shared<const GivenRun>(state_->kernels, state_->scratch, given);
}

std::size_t Session::most_tensor_bytes() const { return state_->kernels.max_binding(false); }

void Session::forget_unused_kernels(std::chrono::steady_clock::duration for_so_long) {
  if (state_) state_->kernels.forget_unused(for_so_long);
}

bool Session::is_tuned() const { return processor_ || state_->next_tuning_step >= ops::kTuningSteps; }

void Session::tune_step() {
  if (is_tuned()) return;
  ops::Kernels& kernels = state_->kernels;
  ops::Tuning tuning = kernels.tuning();
  const auto save = [&] { ops::save_tuning(kernels.context().device(), state_->tuning_file, tuning); };
  try {
    ops::measure_step(kernels, state_->next_tuning_step++, tuning);
  } catch (const Error&) {
    save();  // the device is lost: once it is open again, the candidate that lost it isn't tried
    throw;
  }
  if (is_tuned()) save();
}

}  // namespace headlight::inference
