#include <algorithm>
#include <concepts>
#include <set>

#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json.h"
#include "model/architectures/families.h"
#include "model/architectures/settings.h"
#include "model/network.h"
#include "model/stored_tensor.h"

namespace headlight::model {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestText = 256;  // of a key, and of names

/// A file's JSON object, and where its keys are.
class FamilySource {
 public:
  FamilySource(std::string_view text, std::string where) : where_(std::move(where)) {
    find_lines(text);
    constexpr JsonLimits kLimits{.bytes = std::size_t{1} << 16, .values = 4096, .allows_repeated_keys = false};
    Result<json> parsed = parse_json(text, kLimits);
    if (!parsed) throw Error("{}: {}", where_, parsed.error());
    object = std::move(parsed).value();
    if (!object.is_object()) throw Error("{} isn't a JSON object: a family is {{\"name\": …}}", where_);
  }

  /// "FILE, line 3" of a key by its path ("stack.layer"), or of the object in which it isn't.
  std::string at(const std::string& path) const {
    const auto line = lines_.find(path);
    if (line != lines_.end()) return fmt::format("{}, line {}", where_, line->second);
    const std::size_t dot = path.rfind('.');
    return dot == std::string::npos ? fmt::format("{}, line 1", where_) : at(path.substr(0, dot));
  }
  [[noreturn]] void refuse(const std::string& path, std::string_view what) const {
    throw Error("{}: {} {}", at(path), printable(path), what);
  }

  json object;

 private:
  void find_lines(std::string_view text) {
    constexpr std::size_t kDepth = 8;
    std::vector<std::string> path;  // the keys of the objects around, and of what is in the innermost one
    std::size_t line = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char one = text[i];
      if (one == '\n') ++line;
      if (one == '{' || one == '[') path.emplace_back();
      if ((one == '}' || one == ']') && !path.empty()) path.pop_back();
      if (path.size() > kDepth) throw Error("{}, line {}: nested more than {} deep", where_, line, kDepth);
      if (one != '"') continue;
      const std::size_t begin = i + 1;
      for (i = begin; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) i += text[i] == '\\' ? 1u : 0u;
      const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (path.empty() || next == std::string_view::npos || text[next] != ':') continue;
      path.back() = text.substr(begin, i - begin);
      if (path.back().size() > kLongestText)
        throw Error("{}, line {}: {} is no key of a family", where_, line, printable(path.back()));
      std::string whole = fmt::format("{}", fmt::join(path, "."));
      if (!lines_.emplace(whole, line).second)
        throw Error("{}, line {}: the key {} is there twice", where_, line, printable(whole));
    }
  }

  std::string where_;
  std::map<std::string, std::size_t> lines_;
};

/// A number's field with its limits.
template <typename Number>
struct Limited {
  Number& number;
  double smallest, largest;
};
template <typename Number>
Limited<Number> limited(Number& number, double smallest, double largest) {
  return {number, smallest, largest};
}

/// A field that names keys of config.json, which the family then reads.
struct KeyField {
  std::string& keys;
};

Names names_of(StackKind) { return "encoder|decoder|encoder-decoder"; }
Names names_of(NormPosition) { return "before|after"; }
Names names_of(Norm::Kind) { return "layer|rms"; }
Names names_of(HeadNorms) { return "shared|own|whole"; }
Names names_of(Positions) { return "learned|sinusoidal|rotary|alibi|buckets|distances"; }
Names names_of(FusedLayout) { return "query key value|per head|per quarter"; }

/// Gives each field that it is called with, and that the object has under this name, the object's value.
class FieldReader {
 public:
  /// `keys`: gets those of config.json that fields name.
  FieldReader(const FamilySource& source, std::string path, const json& object, std::vector<std::string>& keys)
      : source_(source), path_(std::move(path)), object_(object), keys_(keys) {}

  void operator()() const {}
  template <typename Field, typename... Others>
  void operator()(const char* name, Field&& field, Others&&... others) {
    known_.insert(name);
    if (const auto member = object_.find(name); member != object_.end()) {
      const std::string key = path_ + name;
      if (member->is_null()) source_.refuse(key, "is null: leave it out, or give it a value");
      read(Settings(json::object({{key, *member}}), source_.at(key)), key, *member, field);
    }
    (*this)(std::forward<Others>(others)...);
  }

  /// Refuses keys that no field has.
  void finish() const {
    for (const auto& member : object_.items()) {
      if (!known_.contains(member.key()))
        source_.refuse(path_ + member.key(), "is no key of a family: docs/MODELS.md says which there are");
    }
  }

 private:
  static void read(const Settings& one, const std::string& key, const json&, bool& field) { field = one.flag(key, field); }

  static void read(const Settings& one, const std::string& key, const json&, std::string& field) {
    field = one.text(key, "");
    if (field.size() > kLongestText) one.refuse(key, fmt::format("a text of {} bytes at most", kLongestText));
  }

  static void read(const Settings& one, const std::string& key, const json&, std::vector<std::string>& field) {
    field = one.texts(key);
  }

  template <typename Number>
  static void read(const Settings& one, const std::string& key, const json&, Limited<Number>& field) {
    if constexpr (std::integral<Number>) {
      field.number =
          one.count(key, 0, static_cast<std::uint32_t>(field.largest), static_cast<std::uint32_t>(field.smallest));
    } else {
      field.number = static_cast<Number>(one.number(key, 0.0, field.smallest, field.largest));
    }
  }

  template <typename Choice>
  requires std::is_enum_v<Choice>
  static void read(const Settings& one, const std::string& key, const json&, Choice& field) {
    const std::string given = one.text(key, "");
    std::vector<std::string_view> names;
    for_each_name(names_of(field), [&](std::string_view name) { names.push_back(name); });
    const auto found = std::ranges::find(names, given);
    if (found == names.end()) one.refuse(key, fmt::format("one of {}", fmt::join(names, ", ")));
    field = static_cast<Choice>(found - names.begin());
  }

  void read(const Settings& one, const std::string& key, const json& value, KeyField& field) {
    read(one, key, value, field.keys);
    std::ranges::copy(one.texts(key), std::back_inserter(keys_));
  }

  /// Values of config.json's keys.
  void read(const Settings& one, const std::string& key, const json& value, json& field) {
    (void)one.child(key);
    field = value;
    for (const auto& member : value.items()) keys_.push_back(member.key());
  }

  template <typename Fields>
  requires std::is_class_v<Fields>
  void read(const Settings& one, const std::string& key, const json& value, Fields& fields) {
    (void)one.child(key);
    FieldReader reader(source_, key + ".", value, keys_);
    read_fields(fields, reader);
    reader.finish();
  }

  const FamilySource& source_;
  std::string path_;
  const json& object_;
  std::vector<std::string>& keys_;
  std::set<std::string, std::less<>> known_ = {};
};

// The fields of each object under their names in files.

void read_fields(AttentionNames& names, FieldReader& read) {
  read("query", names.query, "key", names.key, "value", names.value, "fused", names.fused, "fused_layout",
       names.fused_layout, "output", names.output, "query_norm", names.query_norm, "key_norm", names.key_norm,
       "position_query", names.position_query, "position_key", names.position_key, "norm", names.norm, "inside_norm",
       names.inside_norm);
}

void read_fields(FeedForwardNames& names, FieldReader& read) {
  read("in", names.in, "out", names.out, "gate", names.gate, "gate_and_in", names.gate_and_in, "norm", names.norm,
       "inside_norm", names.inside_norm, "parallel_norm", names.parallel_norm);
}

void read_fields(ExpertNames& names, FieldReader& read) {
  read("router", names.router, "in", names.in, "out", names.out, "gate", names.gate, "gate_and_in", names.gate_and_in,
       "shared", names.shared, "shared_gate", names.shared_gate);
}

void read_fields(StackNames& names, FieldReader& read) {
  read("table", names.table, "positions", names.positions, "types", names.types, "task_types", names.task_types,
       "embedding_norm", names.embedding_norm, "projection", names.projection, "layer", names.layer, "attention", names.self,
       "cross_attention", names.cross, "feed_forward", names.feed_forward, "experts", names.experts, "final_norm",
       names.final_norm, "position_bias", names.position_bias, "distances", names.distances, "distance_norm",
       names.distance_norm, "frequencies", names.frequencies, "adds_positions_last", names.adds_positions_last);
}

void read_fields(HeadNames& names, FieldReader& read) {
  read("linear", names.linear, "bias", names.bias, "transform", names.transform, "norm", names.norm);
}

void read_fields(StackKeys& keys, FieldReader& read) {
  read("layers", KeyField{keys.layers}, "heads", KeyField{keys.heads}, "d_ff", KeyField{keys.d_ff}, "max_length",
       KeyField{keys.max_length});
}

void read_fields(Keys& keys, FieldReader& read) {
  read("stack", keys.encoder, "decoder", keys.decoder, "d_model", KeyField{keys.d_model}, "max_length",
       KeyField{keys.max_length}, "epsilon", KeyField{keys.epsilon}, "activation", KeyField{keys.activation}, "head_size",
       KeyField{keys.head_size}, "experts", KeyField{keys.experts});
}

void read_fields(Biases& biases, FieldReader& read) {
  read("projections", biases.projections, "output", biases.output, "feed_forward", biases.feed_forward, "norms",
       biases.norms, "head_norms", biases.head_norms, "attention_key", KeyField{biases.attention_key}, "projections_key",
       KeyField{biases.projections_key}, "output_key", KeyField{biases.output_key}, "feed_forward_key",
       KeyField{biases.feed_forward_key}, "norm_key", KeyField{biases.norm_key});
}

void read_fields(Family& family, FieldReader& read) {
  constexpr double kOverOne = 1.0 + 1e-6, kHuge = 1e12, kLongest = 1 << 26, kMostLayers = 1024;
  read("name", family.name, "model_type", family.types, "architecture", family.types, "prefixes", family.prefixes, "kind",
       family.kind, "keys", family.keys, "stack", family.encoder, "decoder", family.decoder, "head", family.head, "ignored",
       family.ignored);
  read("norm", family.norm, "defaults", family.defaults, "norm_offset", limited(family.norm_offset, 0.0, 1.0),
       "is_norm_plain", family.is_norm_plain, "epsilon", limited(family.epsilon, 0.0, 1.0), "norm_position",
       family.norm_position, "skips_first_norm", family.skips_first_norm, "biases", family.biases, "finds_parts",
       family.finds_parts, "is_transposed", family.is_transposed, "is_projected_first", family.is_projected_first,
       "is_gated", family.is_gated, "is_parallel", family.is_parallel, "are_experts_optional", family.are_experts_optional,
       "gates_sum_to_one", family.gates_sum_to_one, "head_norms", family.head_norms, "head_norms_key",
       KeyField{family.head_norms_key}, "activation", family.activation, "is_gelu_tanh", family.is_gelu_tanh,
       "head_activation", family.head_activation, "head_activation_key", KeyField{family.head_activation_key}, "d_ff_factor",
       limited(family.d_ff_factor, 1.0, 64.0), "head_size", limited(family.head_size, 0.0, kMaxModelWidth));
  read("positions", family.positions, "is_rotary_optional", family.is_rotary_optional, "is_sinusoid_closed",
       family.is_sinusoid_closed, "buckets", limited(family.buckets, 0.0, 4096.0), "position_offset",
       limited(family.position_offset, 0.0, 1024.0), "counts_offset", family.counts_offset, "max_length",
       limited(family.max_length, 1.0, kLongest), "rope_theta", limited(family.rope_theta, kOverOne, kHuge),
       "partial_rotary", limited(family.partial_rotary, 0.0, 1.0), "local_rope_theta",
       limited(family.local_rope_theta, kOverOne, kHuge), "scales_local_rope", family.scales_local_rope,
       "is_rotary_interleaved", family.is_rotary_interleaved, "is_yarn_longrope", family.is_yarn_longrope,
       "plain_layer_period", limited(family.plain_layer_period, 0.0, kMostLayers));
  read("scales_embedding", family.scales_embedding, "attention_multiplier", limited(family.attention_multiplier, 0.0, 1e6),
       "logit_scale", limited(family.logit_scale, 1e-6, 1e6), "divides_logits", family.divides_logits, "scales_attention",
       family.scales_attention, "scales_head", family.scales_head, "query_scalar", limited(family.query_scalar, 0.0, 1e9),
       "window", limited(family.window, 0.0, kLongest), "window_period", limited(family.window_period, 0.0, kMostLayers),
       "begins_without_window", family.begins_without_window, "is_window_of_both_sides", family.is_window_of_both_sides,
       "is_window_optional", family.is_window_optional, "ends_windows", family.ends_windows, "is_window_of_plain_layers",
       family.is_window_of_plain_layers, "rotates_windows_only", family.rotates_windows_only, "is_bidirectional_optional",
       family.is_bidirectional_optional, "rounds_alibi", family.rounds_alibi, "is_tied", family.is_tied);
}

/// `path`: of the object in its file.
void read_object(const FamilySource& source, const json& object, const std::string& path, Family& family) {
  std::vector<std::string> named, reads, reads_not, needs;
  FieldReader reader(source, path, object, named);
  read_fields(family, reader);
  reader("reads", reads, "reads_not", reads_not, "needs", needs);
  reader.finish();
  for (const auto& keys : {named, reads}) family.reads.insert(family.reads.end(), keys.begin(), keys.end());
  reads_not.emplace_back();  // a field that names no key any more
  for (const std::string& key : reads_not) std::erase(family.reads, key);
  std::ranges::sort(family.reads);
  family.reads.erase(std::unique(family.reads.begin(), family.reads.end()), family.reads.end());
  family.needs.insert(family.needs.end(), needs.begin(), needs.end());
}

/// Checks for the names that no network of a family can do without.
void expect_names(const FamilySource& source, const Family& family) {
  const auto expect = [&](const char* path, std::string_view name) {
    if (name.empty()) source.refuse(path, "is missing: give its name");
  };
  const auto expect_stack = [&](const std::string& path, const StackNames& names) {
    expect((path + ".table").c_str(), names.table);
    expect((path + ".layer").c_str(), names.layer);
    expect((path + ".attention.query").c_str(), names.self.query + names.self.fused);
    expect((path + ".attention.output").c_str(), names.self.output);
    expect((path + ".feed_forward.out").c_str(), names.feed_forward.out);
  };
  expect("name", family.name);
  expect_stack("stack", family.encoder);
  if (family.kind == StackKind::EncoderDecoder) expect_stack("decoder", family.decoder);
}

constexpr std::string_view kGguf = "gguf";

/// The family of a name; nullptr where there is none, or where it is being read.
using FindFamily = std::function<const Family*(const std::string& name)>;

Family read_source(const FamilySource& source, const json& object, const FindFamily& find) {
  constexpr const char* kLike = "like";
  Family family;
  json own = object;
  if (own.erase(kLike) > 0) {
    const Settings one(object, source.at(kLike));
    const Family* like = find(one.text(kLike, ""));
    if (like == nullptr) one.refuse(kLike, "a file's name in assets/families, of a family that isn't like this one");
    family = *like;
    family.types = "";
  }
  read_object(source, own, "", family);
  return family;
}

/// A family of config.json under the names and keys of GGUF files, which `shared` has for all of them. They name every size
/// and window, and hold linear weights as [out, in], rows of fused projections as [q | k | v] and norms that are stored as
/// differences from 1 with their 1. `source` has what is different in this family.
Family in_gguf(const Family& own, const FamilySource& shared, const FamilySource& source) {
  const std::string epsilon =
      own.norm == Norm::Kind::RootMeanSquare ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  Family family = own;
  family.reads = {epsilon};
  if (own.positions == Positions::Rotary)
    family.reads.insert(family.reads.end(), {"rope.dimension_count", "rope.freq_base", "rope_scaling"});
  if (own.kind == StackKind::Decoder) family.reads.emplace_back("attention.causal");
  family.keys = {};
  family.encoder = {};
  family.head = {};
  read_object(shared, shared.object, "", family);
  family.needs.push_back(epsilon);
  const auto keep = [](std::string& name, const std::string& theirs) {
    if (theirs.empty()) name.clear();
  };
  StackNames& names = family.encoder;
  keep(names.positions, own.encoder.positions);
  keep(names.types, own.encoder.types);
  keep(names.embedding_norm, own.encoder.embedding_norm);
  keep(names.final_norm, own.encoder.final_norm);
  AttentionNames& self = names.self;
  keep(self.query, own.encoder.self.query);
  keep(self.query_norm, own.encoder.self.query_norm);
  keep(self.key_norm, own.encoder.self.key_norm);
  keep(self.norm, own.encoder.self.norm);
  keep(self.inside_norm, own.encoder.self.inside_norm);
  FeedForwardNames& feed_forward = names.feed_forward;
  keep(feed_forward.gate_and_in, own.encoder.feed_forward.gate_and_in);
  keep(feed_forward.norm, own.encoder.feed_forward.norm);
  keep(feed_forward.inside_norm, own.encoder.feed_forward.inside_norm);
  keep(feed_forward.parallel_norm, own.encoder.feed_forward.parallel_norm);
  if (own.encoder.experts.router.empty()) names.experts = {};
  if (own.encoder.experts.shared.in.empty()) names.experts.shared = {};
  keep(family.head.bias, own.head.bias);
  read_object(source, source.object.at(kGguf), "gguf.", family);
  return family;
}

}  // namespace

Families read_families(std::span<const FamilyFile> files) {
  std::map<std::string, FamilySource, std::less<>> sources;
  for (const FamilyFile& file : files)
    sources.emplace(file.name, FamilySource(file.text, fmt::format("assets/families/{}.json", file.name)));
  Families all;
  std::set<std::string> open;
  const FindFamily find = [&](const std::string& name) -> const Family* {
    if (const auto done = all.files.find(name); done != all.files.end()) return &done->second;
    const auto found = sources.find(name);
    if (found == sources.end() || name == kGguf || !open.insert(name).second) return nullptr;
    const FamilySource& source = found->second;
    json object = source.object;
    object.erase(std::string(kGguf));
    Family family = read_source(source, object, find);
    if (!family.types.empty()) expect_names(source, family);
    return &all.files.emplace(name, std::move(family)).first->second;
  };
  for (const FamilyFile& file : files) find(std::string(file.name));
  for (const auto& [name, source] : sources) {
    if (source.object.contains(kGguf))
      all.gguf.push_back(in_gguf(all.files.at(name), sources.at(std::string(kGguf)), source));
  }
  return all;
}

Family read_family(std::string_view text, const std::string& where) {
  const FamilySource source(text, where);
  Family family = read_source(source, source.object, [](const std::string& name) {
    const auto found = families().files.find(name);
    return found == families().files.end() ? nullptr : &found->second;
  });
  expect_names(source, family);
  return family;
}

}  // namespace headlight::model
