#include "model/lora.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"
#include "model/checkpoint_files.h"
#include "model/hub_cache.h"

namespace headlight::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfigName = "adapter_config.json";

/// One changed weight: B · A.
struct LowRank {
  const StoredTensor *a = nullptr, *b = nullptr;
};

/// The names of a table, each from its end to its beginning: those that end alike are beside each other.
using NamesFromEnd = std::map<std::string, const StoredTensor*>;

class Adapter {
 public:
  explicit Adapter(const fs::path& folder) : folder_(folder), config_(read_json(folder / kConfigName)) {
    if (!config_.is_object()) fail("{} is not an object", kConfigName);
    if (text("peft_type") != "LORA") fail("it is of the kind '{}'", printable(text("peft_type")));
    for (const char* key :
         {"use_dora", "use_qalora", "use_bdlora", "lora_bias", "layer_replication", "alora_invocation_tokens",
          "target_parameters", "trainable_token_indices", "kasa_config", "monteclora_config"}) {
      const auto value = config_.find(key);
      if (value != config_.end() && !value->empty() && *value != false) fail("{} is {}", key, shown(*value));
    }
    // Others change the model's own weights, too.
    constexpr std::array<std::string_view, 4> kHarmless{"", "gaussian", "orthogonal", "eva"};
    if (std::ranges::find(kHarmless, text("init_lora_weights")) == kHarmless.end()) {
      fail("init_lora_weights is '{}'", printable(text("init_lora_weights")));
    }
    if (const std::string name = expression_in("alpha_pattern"); !name.empty()) {
      fail("alpha_pattern has the expression '{}'", printable(name));
    }
    has_rank_expression_ = !expression_in("rank_pattern").empty();
    const auto saved = config_.find("modules_to_save");
    if (saved == config_.end() || !saved->is_array()) return;
    for (const nlohmann::json& one : *saved) {
      if (one.is_string()) saved_apart_.insert(one.get<std::string>());
    }
  }

  std::string text(const char* key) const {
    const auto found = config_.find(key);
    return found != config_.end() && found->is_string() ? found->get<std::string>() : "";
  }

  bool flag(const char* key) const {
    const auto found = config_.find(key);
    return found != config_.end() && found->is_boolean() && found->get<bool>();
  }

  TensorTable merged_into(const TensorTable& base) const {
    const fs::path file = folder_ / "adapter_model.safetensors", older = folder_ / "adapter_model.bin";
    std::error_code ignored;
    if (!fs::exists(file, ignored) && !fs::exists(older, ignored)) {
      throw Error("{} has no adapter_model.safetensors: download the whole folder", utf8(folder_));
    }
    const TensorTable stored = read_tensors(fs::exists(file, ignored) ? file : older);
    std::map<std::string, StoredTensor, std::less<>> result;
    NamesFromEnd ends;
    for (const StoredTensor& tensor : base.all()) {
      result.emplace(tensor.name, tensor);
      ends.emplace(std::string(tensor.name.rbegin(), tensor.name.rend()), &tensor);
    }
    std::map<std::string, LowRank, std::less<>> changes;
    std::set<std::string> replaced;
    for (const StoredTensor& tensor : stored.all()) {
      if (add(tensor, changes)) continue;
      const std::string name = name_in(base, ends, module_of(tensor.name));
      if (!replaced.insert(name).second) fail("two of its tensors stand for '{}'", printable(name));
      StoredTensor whole = tensor;
      if (is_saved_apart(module_of(tensor.name))) {
        const bool is_table = name.ends_with("shared.weight") || name.ends_with("embed_tokens.weight");
        if (is_table && base.find(name_in(base, ends, "shared.weight")) != nullptr) {
          fail("it trains '{}', one of the uses of a table that encoder and decoder share", printable(name));
        }
        if (const StoredTensor* before = base.find(name)) whole.before = std::make_shared<const StoredTensor>(*before);
      }
      result.insert_or_assign(name, std::move(whole));
    }
    if (changes.empty()) fail("it has no tensor of LoRA ('….lora_A.weight', '….lora_B.weight')");
    std::set<std::string> changed;
    for (const auto& [module, change] : changes) {
      const std::string name = name_in(base, ends, module + ".weight");
      if (!result.contains(name)) fail("it changes '{}', which its model doesn't have", printable(name));
      if (!changed.insert(name).second) fail("it changes '{}' under two names", printable(name));
      result.insert_or_assign(name, merged(result.at(name), change, module));
    }
    std::vector<StoredTensor> tensors;
    for (auto& [name, tensor] : result) {
      tensors.push_back(std::move(tensor));
      tensors.back().name = name;
    }
    return TensorTable(std::move(tensors));
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error(
        "{} holds an adapter that Headlight can't merge: {}; merge it in Python (PEFT's merge_and_unload), then call "
        "save_pretrained(folder)",
        utf8(folder_), fmt::format(format, std::forward<Args>(args)...));
  }

  static std::string module_of(std::string_view name) {
    constexpr std::string_view kPrefix = "base_model.model.", kInside = ".base_layer.";
    std::string module(name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name);
    // PEFT puts the layer that it changes into one of its own; a bias or a table may be trained there, too.
    if (const std::size_t at = module.rfind(kInside); at != std::string::npos) module.erase(at, kInside.size() - 1);
    return module;
  }

  /// Is it a copy (modules_to_save), which leaves what is tied to the model's own as it is?
  bool is_saved_apart(std::string_view name) const {
    std::string_view end = name.substr(0, name.rfind('.'));
    while (!end.empty() && !saved_apart_.contains(end)) end.remove_prefix(1);
    return !end.empty();
  }

  /// A name among `patterns` that is a regular expression; empty: none is.
  std::string expression_in(const char* patterns) const {
    const auto pattern = config_.find(patterns);
    if (pattern == config_.end() || !pattern->is_object()) return {};
    for (const auto& [name, value] : pattern->items()) {
      if (name.find_first_of("\\*+?()[]{}|^$") != std::string::npos) return name;
    }
    return {};
  }

  /// Notes a part of a product; false for a tensor that is stored whole.
  bool add(const StoredTensor& tensor, std::map<std::string, LowRank, std::less<>>& changes) const {
    constexpr std::string_view kA = ".lora_A.weight", kB = ".lora_B.weight";  // as long as each other
    const bool is_a = tensor.name.ends_with(kA);
    if (!is_a && !tensor.name.ends_with(kB)) {
      if (tensor.name.find("lora_") != std::string::npos) fail("it has the tensor '{}'", printable(tensor.name));
      return false;
    }
    LowRank& change = changes[module_of(tensor.name.substr(0, tensor.name.size() - kA.size()))];
    (is_a ? change.a : change.b) = &tensor;
    return true;
  }

  /// The model's name for a tensor: a stack saved alone lacks the prefix of the whole network, or the other way round.
  std::string name_in(const TensorTable& base, const NamesFromEnd& ends, const std::string& name) const {
    for (std::string_view rest = name;; rest.remove_prefix(rest.find('.') + 1)) {
      if (base.find(rest) != nullptr) return std::string(rest);
      if (rest.find('.') == std::string_view::npos) break;
    }
    const std::string end = std::string(name.rbegin(), name.rend()) + ".";
    const auto longer = ends.lower_bound(end);
    if (longer == ends.end() || !longer->first.starts_with(end)) return name;
    const auto other = std::next(longer);
    if (other != ends.end() && other->first.starts_with(end)) {
      fail("'{}' may be '{}' or '{}'", printable(name), printable(longer->second->name), printable(other->second->name));
    }
    return longer->second->name;
  }

  /// The number of a module: `patterns` has those of some, by the end of their names.
  double number_of(const char* patterns, const char* key, double fallback, const std::string& module) const {
    const auto number = [&](const nlohmann::json& value) {
      if (!value.is_number()) fail("{} is {}", key, shown(value));
      return value.get<double>();
    };
    std::optional<double> own;
    if (const auto pattern = config_.find(patterns); pattern != config_.end() && pattern->is_object()) {
      std::size_t at = 0;
      do {
        const auto one = pattern->find(module.substr(at));
        const std::optional<double> other = one == pattern->end() ? own : number(*one);
        // PEFT takes the first in the order of the file, which a JSON object doesn't have.
        if (own && *own != *other) fail("{} gives '{}' both {} and {}", patterns, printable(module), *own, *other);
        own = other;
        at = module.find('.', at) + 1;
      } while (at != 0);
    }
    if (own) return *own;
    const auto found = config_.find(key);
    return found == config_.end() ? fallback : number(*found);
  }

  StoredTensor merged(const StoredTensor& weight, const LowRank& change, const std::string& module) const {
    const std::string label = printable(module);
    if (change.a == nullptr || change.b == nullptr) fail("'{}' has only one of A and B", label);
    const Tensor a = change.a->tensor(), b = change.b->tensor();
    Tensor sum = weight.tensor();
    const bool is_transposed = flag("fan_in_fan_out");
    if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[0] != b.shape[1] || a.shape[0] == 0 ||
        sum.shape != (is_transposed ? Shape{a.shape[1], b.shape[0]} : Shape{b.shape[0], a.shape[1]})) {
      fail("'{}' of shape {} can't have B {} and A {}", label, headlight::to_string(sum.shape),
           headlight::to_string(b.shape), headlight::to_string(a.shape));
    }
    const std::uint32_t rank = a.shape[0], in = a.shape[1], out = b.shape[0];
    // An expression may name the module: then only its tensors tell its rank.
    const double expected = has_rank_expression_ ? rank : number_of("rank_pattern", "r", 8.0, module);
    if (expected != rank) fail("'{}' has rank {}, but its configuration says {}", label, rank, expected);
    const double alpha = number_of("alpha_pattern", "lora_alpha", 8.0, module);
    const double scale = alpha / (flag("use_rslora") ? std::sqrt(rank) : rank);
    std::atomic<bool> is_odd = false;
    const auto add_rows = [&](std::uint32_t first, std::uint32_t step) {
      std::vector<double> row(in);
      for (std::uint32_t o = first; o < out; o += step) {
        std::ranges::fill(row, 0.0);
        for (std::uint32_t r = 0; r < rank; ++r) {
          const double factor = scale * double{b.values[std::size_t{o} * rank + r]};
          const float* from = a.values.data() + std::size_t{r} * in;
          for (std::uint32_t i = 0; i < in; ++i) row[i] += factor * double{from[i]};
        }
        for (std::uint32_t i = 0; i < in; ++i) {
          float& number = sum.values[is_transposed ? std::size_t{i} * out + o : std::size_t{o} * in + i];
          const bool was_finite = std::isfinite(number);
          number = static_cast<float>(double{number} + row[i]);
          if (was_finite && !std::isfinite(number)) is_odd = true;
        }
      }
    };
    std::vector<std::jthread> threads;
    const std::uint32_t count = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
    for (std::uint32_t thread = 0; thread < count; ++thread) threads.emplace_back(add_rows, thread, count);
    threads.clear();
    if (is_odd) {
      throw Error(
          "{}: with its adapter '{}' has numbers that are NaN or infinite: its training went wrong, or the file is "
          "damaged",
          utf8(folder_), label);
    }
    const auto bytes = std::as_bytes(std::span<const float>(sum.values));
    StoredTensor result = weight;
    result.type = "F32";
    result.element_type = ElementType::F32;
    result.copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    result.bytes = *result.copy;
    return result;
  }

  fs::path folder_;
  nlohmann::json config_;
  bool has_rank_expression_ = false;
  std::set<std::string, std::less<>> saved_apart_;  ///< ends of names of modules
};

}  // namespace

bool has_adapter(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kConfigName, ignored);
}

fs::path base_of_adapter(const fs::path& folder) {
  const Adapter adapter(folder);
  const std::string name = adapter.text("base_model_name_or_path"), revision = adapter.text("revision");
  std::error_code ignored;
  if (!name.empty() && fs::is_directory(folder / name, ignored)) return folder / name;
  const fs::path cache = hub_cache_folder();
  if (!name.empty() && !revision.empty()) return find_revision(cache, name, revision);
  const std::vector<FoundModel> found = find_models(cache);
  const auto base = std::ranges::find(found, name, &FoundModel::name);
  if (base != found.end()) return base->path;
  throw Error(
      "{} holds a LoRA adapter of '{}', which is neither a folder nor in {}: download it with `hf download`, or write its "
      "folder into base_model_name_or_path of {}",
      utf8(folder), printable(name), utf8(cache), kConfigName);
}

TensorTable with_adapter(const TensorTable& base, const fs::path& folder) { return Adapter(folder).merged_into(base); }

}  // namespace headlight::model
