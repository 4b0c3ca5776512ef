#include "inference/device_layers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <utility>

#include "core/error.h"
#include "gpu/transfer.h"
#include "inference/weight_findings.h"

namespace headlight::inference {
namespace {

/// A linear layer on its way to the device: the bias decoded, the weight read tile by tile from its file, and inspected
/// while its numbers are in memory.
class Source {
 public:
  explicit Source(const model::Linear& linear, std::uint32_t out_heads = 1, std::uint32_t in_heads = 1)
      : linear_(linear), bias_(linear.bias.tensor()), out_heads_(out_heads), in_heads_(in_heads) {}
  explicit Source(const model::Linear& linear, float scale) : Source(linear) { scale_ = scale; }

  /// Returns the layer as a source to be packed as `type`.
  ops::LinearSource view(ops::WeightType type) const {
    const bool has_halves = type == ops::WeightType::F16;
    ops::LinearSource source{.bias = bias_.values,
                             .out = linear_.weight.axis(0),
                             .in = linear_.weight.axis(1),
                             .out_heads = out_heads_,
                             .in_heads = in_heads_,
                             .type = type};
    source.read = [this, has_halves](std::uint32_t first, std::uint32_t count, float* to, std::size_t stride) {
      linear_.weight.read_columns(first, count, to, stride);
      const std::size_t in = linear_.weight.axis(1);
      // Rows of a whole tile lie close together.
      const std::size_t pieces = count == stride ? 1 : in, numbers = count == stride ? in * stride : count;
      for (std::size_t i = 0; i < pieces; ++i) {
        scale({to + i * stride, numbers});
        inspect({to + i * stride, numbers}, has_halves);
      }
    };
    if (ops::has_blocks(type)) {
      source.read_blocks = [this, type](std::uint32_t first, std::uint32_t count, std::byte* to) {
        linear_.weight.read_blocks(first, count, to);
        const std::size_t bytes = ops::bytes_of(type, std::size_t{count} * linear_.weight.axis(1));
        const std::uint64_t odd = count_odd_blocks({to, bytes}, linear_.weight.type());
        if (odd > 0) found_->not_finite += odd;
      };
      return source;
    }
    if (type != ops::WeightType::F32 && type == stored_type()) {
      source.read_words = [this](std::uint32_t first, std::uint32_t count, std::uint16_t* to, std::size_t stride) {
        linear_.weight.read_columns(first, count, to, stride);
        const std::size_t in = linear_.weight.axis(1);
        const std::size_t pieces = count == stride ? 1 : in, numbers = count == stride ? in * stride : count;
        for (std::size_t i = 0; i < pieces; ++i) {
          const std::uint64_t odd = count_odd_words({to + i * stride, numbers}, linear_.weight.type());
          if (odd > 0) found_->not_finite += odd;
        }
      };
    }
    if (!linear_.weight.has_stored_columns()) return source;
    source.read_inputs = [this](const ops::WeightPart& part, std::vector<float>& room) { return read_inputs(part, room); };
    source.see_inputs = [this, has_halves](const ops::WeightPanel& panel, std::uint32_t outs, std::uint32_t ins) {
      for (std::size_t i = 0; i < ins; ++i) inspect({panel.numbers + i * panel.stride, outs}, has_halves);
    };
    return source;
  }

  /// The type in which the device can keep the weight without a change of its numbers.
  ops::WeightType stored_type() const {
    static constexpr std::pair<model::ElementType, ops::WeightType> kTypes[] = {
        {model::ElementType::F16, ops::WeightType::F16},   {model::ElementType::BF16, ops::WeightType::BF16},
        {model::ElementType::Q8_0, ops::WeightType::Q8_0}, {model::ElementType::Q4_0, ops::WeightType::Q4_0},
        {model::ElementType::Q4_K, ops::WeightType::Q4_K}, {model::ElementType::Q5_K, ops::WeightType::Q5_K},
        {model::ElementType::Q6_K, ops::WeightType::Q6_K}, {model::ElementType::MXFP4, ops::WeightType::MXFP4}};
    const auto* known =
        std::ranges::find(kTypes, linear_.weight.type(), &std::pair<model::ElementType, ops::WeightType>::first);
    if (scale_ != 1.0f || known == std::end(kTypes)) return ops::WeightType::F32;
    if (!ops::has_blocks(known->second)) return known->second;
    const ops::LinearSource shape{
        .out = linear_.weight.axis(0), .in = linear_.weight.axis(1), .out_heads = out_heads_, .in_heads = in_heads_};
    return ops::can_keep_blocks(shape, known->second) ? known->second : ops::WeightType::F32;
  }

  /// Reports what was found. Called after everything was read.
  void report(WeightInspection& inspection) const {
    inspection.note(linear_.weight, found_->not_finite, found_->overflowing);
    inspection.look(linear_.bias, bias_.values, false);
  }

  /// Checks that the file was not shortened meanwhile, and releases its pages. Called when all is on the device.
  void finish() const {
    linear_.weight.expect_intact();
    linear_.weight.release_pages();
  }

 private:
  ops::WeightPanel read_inputs(const ops::WeightPart& part, std::vector<float>& room) const {
    const model::StoredColumns columns =
        linear_.weight.stored_columns(part.first_out, part.outs, part.first_in, part.ins, room);
    if (scale_ == 1.0f) return {columns.numbers, columns.stride};
    if (columns.numbers != room.data()) {
      room.resize(std::size_t{part.ins} * part.outs);
      for (std::size_t i = 0; i < part.ins; ++i) {
        std::copy_n(columns.numbers + i * columns.stride, part.outs, room.data() + i * part.outs);
      }
    }
    scale(room);
    return {room.data(), part.outs};
  }

  void scale(std::span<float> numbers) const {
    if (scale_ == 1.0f) return;
    for (float& number : numbers) number *= scale_;
  }

  /// Called from several threads at once.
  void inspect(std::span<const float> numbers, bool has_halves) const {
    const OddNumbers odd = count_odd_numbers(numbers, has_halves);
    if (odd.not_finite > 0) found_->not_finite += odd.not_finite;
    if (odd.overflowing > 0) found_->overflowing += odd.overflowing;
  }

  struct Found {
    std::atomic<std::uint64_t> not_finite = 0, overflowing = 0;
  };

  model::Linear linear_;
  Tensor bias_;
  std::uint32_t out_heads_, in_heads_;
  float scale_ = 1.0f;
  std::shared_ptr<Found> found_ = std::make_shared<Found>();
};

/// `d_k`: of queries' and keys' heads; 0: of other rows.
ops::DeviceNorm upload(gpu::Context& context, const model::Norm& norm, std::uint32_t d_k, WeightInspection& inspection) {
  Tensor weight = norm.weight.tensor();
  const Tensor bias = norm.bias.tensor();
  inspection.look(norm.weight, weight.values, false);
  inspection.look(norm.bias, bias.values, false);
  for (float& value : weight.values) value += norm.weight_offset;
  const std::uint32_t heads = d_k == 0 ? 1 : weight.axis(0) / d_k;
  return ops::upload_norm(context, weight.values, bias.values, norm.epsilon, norm.kind == model::Norm::Kind::RootMeanSquare,
                          {heads, norm.spans_heads && heads > 1});
}

/// Can they be packed together as they are stored: in blocks, or all in one type?
bool keep_types(const std::vector<Source>& sources) {
  const ops::WeightType first = sources.front().stored_type();
  return std::ranges::all_of(sources, [&](const Source& one) {
    const ops::WeightType type = one.stored_type();
    return type == first || (ops::has_blocks(type) && ops::has_blocks(first));
  });
}

/// Uploads, or only adds up what that would take.
class Uploader {
 public:
  Uploader(gpu::Context* context, bool has_halves, const UploadObserver& observer, std::size_t total,
           const model::Layers& layers, const FirstUpload& first = {})
      : context_(context),
        has_halves_(has_halves),
        observer_(observer),
        first_(first),
        total_(total),
        inspection_(&layers) {}

  std::size_t bytes() const { return bytes_; }
  void publish_findings() { inspection_.publish(); }

  DeviceLayers layers(const model::Layers& layers) {
    DeviceLayers device;
    const bool has_reader = layers.unembedding || layers.encoder_norm || layers.decoder_norm;
    for (const model::AttentionLayer& layer : layers.encoder) {
      const bool is_last = &layer == &layers.encoder.back() && layers.decoder.empty() && !has_reader;
      device.encoder.push_back(shared(layer, is_last));
      if (device.encoder.size() == first_.count && first_.count < layers.encoder.size()) show_first(device);
    }
    for (const model::DecoderLayer& layer : layers.decoder) {
      DeviceDecoderLayer decoder;
      if (layer.self) decoder.self = shared(*layer.self, false);
      decoder.cross = shared(layer.cross, &layer == &layers.decoder.back() && !has_reader);
      device.decoder.push_back(std::move(decoder));
    }
    device.encoder_norm = norm(layers.encoder_norm);
    device.decoder_norm = norm(layers.decoder_norm);
    if (layers.unembedding) {
      const model::Unembedding& source = *layers.unembedding;
      device.unembedding.emplace();
      if (source.transform) device.unembedding->transform = linear(*source.transform, "the unembedding's transform");
      device.unembedding->norm = norm(source.norm);
      device.unembedding->linear = pack({Source(source.linear, source.scale)}, "the unembedding");
    }
    return device;
  }

 private:
  void show_first(const DeviceLayers& device) {
    if (context_ == nullptr || !first_.ready) return;
    gpu::finish_writes(*context_);
    first_.ready(device.encoder, bytes_, total_);
  }

  ops::PackedLinear pack(const std::vector<Source>& sources, std::string_view purpose) {
    const bool keeps_types = keep_types(sources);
    std::vector<ops::LinearSource> views;
    for (const Source& source : sources) {
      views.push_back(source.view(has_halves_   ? ops::WeightType::F16
                                  : keeps_types ? source.stored_type()
                                                : ops::WeightType::F32));
    }
    ops::PackedLinear packed;
    if (context_ != nullptr) {
      packed = ops::pack(*context_, views, purpose);
      for (const Source& source : sources) {
        source.report(inspection_);
        source.finish();
      }
    }
    add(ops::packed_bytes(views));
    return packed;
  }

  ops::PackedLinear linear(const model::Linear& linear, std::string_view purpose) { return pack({Source(linear)}, purpose); }

  std::optional<ops::DeviceNorm> norm(const std::optional<model::Norm>& norm, std::uint32_t d_k = 0) {
    if (!norm) return std::nullopt;
    ops::DeviceNorm device;
    if (context_ != nullptr) device = upload(*context_, *norm, d_k, inspection_);
    const std::size_t count = norm->weight.element_count(), width = d_k == 0 ? std::max<std::size_t>(count, 1) : d_k;
    add(count / width * ((width + 3) / 4 * 4) * 2 * sizeof(float));
    return device;
  }

  DeviceBranchNorms norms(const model::BranchNorms& norms) {
    return {norm(norms.before), norm(norms.inside), norm(norms.after), norms.is_bare_residual, norms.scale};
  }

  /// A layer that has been uploaded already, or a new one.
  std::shared_ptr<const DeviceLayer> shared(const model::AttentionLayer& layer, bool is_last) {
    if (!layer.weights) return std::make_shared<const DeviceLayer>(upload_layer(layer, is_last));
    const auto key = std::pair(layer.weights->query.weight.address(), layer.weights->query.weight.first_row());
    auto& known = known_[key];
    if (!known) known = std::make_shared<const DeviceLayer>(upload_layer(layer, is_last));
    return known;
  }

  ops::PackedLinear identity(std::uint32_t width, std::uint32_t in_heads) {
    Tensor identity({width, width});
    for (std::size_t i = 0; i < width; ++i) identity.values[i * width + i] = 1.0f;
    return pack({Source({.weight = std::move(identity)}, 1, in_heads)}, "the merge of heads");
  }

  /// Several of one shape, or a single one.
  DeviceFeedForward feed_forward(std::span<const model::FeedForward> all, std::string_view purpose) {
    const model::FeedForward& first = all.front();
    const auto pack_all = [&](const auto& layer_of) {
      std::vector<Source> sources;
      for (const model::FeedForward& one : all) sources.emplace_back(layer_of(one));
      return pack(sources, purpose);
    };
    DeviceFeedForward device{.in = pack_all([](const model::FeedForward& one) { return one.in; }),
                             .out = pack_all([](const model::FeedForward& one) { return one.out; }),
                             .gate = {},
                             .width = first.in.out(),
                             .activation = static_cast<ops::Activation>(first.activation)};
    if (first.gate) device.gate = pack_all([](const model::FeedForward& one) { return *one.gate; });
    return device;
  }

  DeviceExperts experts(const model::Experts& source) {
    DeviceExperts device{.router = linear(source.router, "a router"),
                         .experts = feed_forward(source.experts, "experts"),
                         .counts = {source.count(), source.per_token, source.gates_sum_to_one},
                         .shared = {},
                         .shared_gate = {}};
    if (source.shared) device.shared = feed_forward({&*source.shared, 1}, "a shared expert");
    if (source.shared_gate) device.shared_gate = linear(*source.shared_gate, "the gate of a shared expert");
    return device;
  }

  /// `is_last`: nothing reads what the layer returns.
  DeviceLayer upload_layer(const model::AttentionLayer& layer, bool is_last) {
    DeviceLayer device;
    const std::uint32_t heads = layer.config.heads, kv_heads = layer.config.kv_head_count();
    if (layer.weights) {
      const model::AttentionWeights& weights = *layer.weights;
      device.projections =
          pack({Source(weights.query, heads), Source(weights.key, kv_heads), Source(weights.value, kv_heads)},
               "the weights of Q, K and V");
      if (weights.position_query || weights.position_key) {
        device.position_projections =
            pack({Source(weights.position_query.value_or(weights.query), heads),
                  Source(weights.position_key.value_or(weights.key), kv_heads), Source(weights.value, kv_heads)},
                 "the weights of distances");
      }
      device.query_norm = norm(weights.query_norm, layer.config.d_k);
      device.key_norm = norm(weights.key_norm, layer.config.d_k);
    }
    if (layer.weights && layer.weights->output) {
      device.output = pack({Source(*layer.weights->output, 1, heads)}, "the output projection");
    } else if (!layer.norms.is_empty() || layer.has_feed_forward() || !is_last) {
      device.unpad = identity(heads * layer.config.d_v, heads);
    }
    device.norms = norms(layer.norms);
    if (layer.feed_forward) device.feed_forward = feed_forward({&*layer.feed_forward, 1}, "a feed-forward layer");
    if (layer.experts) device.experts = experts(*layer.experts);
    device.feed_forward_norms = norms(layer.feed_forward_norms);
    return device;
  }

  void add(std::size_t bytes) {
    bytes_ += bytes;
    if (context_ != nullptr && observer_ && !observer_(bytes_, total_))
      throw Error(ErrorKind::Cancelled, "loading was cancelled");
  }

  gpu::Context* context_;
  bool has_halves_;
  const UploadObserver& observer_;
  FirstUpload first_;
  std::size_t total_ = 0, bytes_ = 0;
  WeightInspection inspection_;
  std::map<std::pair<const std::byte*, std::uint32_t>, std::shared_ptr<const DeviceLayer>> known_;
};

static_assert(static_cast<int>(model::Activation::QuickGelu) == static_cast<int>(ops::Activation::QuickGelu) &&
              static_cast<int>(model::Activation::Relu) == static_cast<int>(ops::Activation::Relu));

}  // namespace

std::size_t device_bytes(const model::Layers& layers, bool has_halves) {
  Uploader sums(nullptr, has_halves, {}, 0, layers);
  sums.layers(layers);
  return sums.bytes();
}

namespace {

/// "keep them in float16 (--precision f16) or ", or the finest quantisation of the same model with room for it; "" for none.
std::string what_fits(const model::Layers& layers, bool has_halves, std::size_t total, std::size_t room) {
  constexpr double kMiB = 1024.0 * 1024.0, kBitsOfHalves = 16.0;
  constexpr std::array<std::pair<std::string_view, double>, 4> kBits{
      {{"Q8_0", 8.5}, {"Q6_K", 6.5625}, {"Q5_K", 5.5}, {"Q4_K", 4.5}}};  // of blocks with their scales, for each number
  const auto halves = static_cast<double>(device_bytes(layers, true));
  if (!has_halves && halves <= static_cast<double>(std::min(room, total - 1)))
    return "keep them in float16 (--precision f16) or ";
  for (const auto& [name, bits] : kBits) {
    const double bytes = halves / kBitsOfHalves * bits;
    if (bytes > static_cast<double>(std::min(room, total - 1))) continue;
    return fmt::format("take a GGUF file of it in {} (about {:.0f} MiB) or ", name, bytes / kMiB);
  }
  return "";
}

}  // namespace

DeviceLayers upload_layers(gpu::Context& context, std::shared_ptr<const model::Layers> layers, bool has_halves,
                           const UploadObserver& observer, const FirstUpload& first) {
  const std::size_t total = device_bytes(*layers, has_halves);
  const std::size_t room =
      context.device().memory_bytes - std::min(context.device().memory_bytes, context.allocated_bytes());
  if (total > room) {
    constexpr double kMiB = 1024.0 * 1024.0;
    throw Error(ErrorKind::OutOfDeviceMemory,
                "the weights take {:.0f} MiB, but '{}' has {:.0f} MiB left; {}choose a smaller model",
                static_cast<double>(total) / kMiB, context.device().name, static_cast<double>(room) / kMiB,
                what_fits(*layers, has_halves, total, room));
  }
  Uploader uploader(&context, has_halves, observer, total, *layers, first);
  DeviceLayers device = uploader.layers(*layers);
  gpu::finish_writes(context);
  uploader.publish_findings();
  device.source = std::move(layers);
  return device;
}

std::shared_ptr<const ops::PackedLinear> DeviceLens::of(gpu::Context& context,
                                                        const std::shared_ptr<const model::Linear>& translator) {
  if (lens_.owner_before(translator) || translator.owner_before(lens_)) translators_.clear();
  lens_ = translator;
  const auto known = translators_.find(translator.get());
  if (known != translators_.end()) return known->second;
  const Tensor bias = translator->bias.tensor();
  const model::Parameter& weight = translator->weight;
  ops::LinearSource source{.bias = bias.values, .out = weight.axis(0), .in = weight.axis(1)};
  source.read = [&weight](std::uint32_t first, std::uint32_t count, float* to, std::size_t stride) {
    weight.read_columns(first, count, to, stride);
    for (std::size_t row = 0; row < count; ++row) to[(first + row) * stride + row] += 1.0F;
  };
  auto packed = std::make_shared<const ops::PackedLinear>(ops::pack(context, std::span(&source, 1), "a linear lens"));
  weight.expect_intact();
  weight.release_pages();
  gpu::finish_writes(context);
  return translators_.emplace(translator.get(), std::move(packed)).first->second;
}

ops::PackedLinear upload_linear(gpu::Context& context, const model::Linear& linear, std::string_view purpose) {
  const Source source(linear);
  const std::array views{source.view(ops::WeightType::F32)};
  ops::PackedLinear packed = ops::pack(context, views, purpose);
  gpu::finish_writes(context);
  linear.weight.expect_intact();
  return packed;
}

DeviceEmbedding upload_embedding(gpu::Context& context, std::shared_ptr<const model::Embedding> embedding) {
  DeviceEmbedding device;
  WeightInspection inspection(embedding.get());
  if (embedding->norm) device.norm = upload(context, *embedding->norm, 0, inspection);
  if (embedding->projection) {
    const Source source(*embedding->projection);
    const std::array views{source.view(ops::WeightType::F32)};
    device.projection = ops::pack(context, views, "the embedding's projection");
    source.report(inspection);
  }
  gpu::finish_writes(context);
  inspection.publish();
  device.source = std::move(embedding);
  return device;
}

}  // namespace headlight::inference
