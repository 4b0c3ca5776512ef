#include "model/load_network.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/file.h"
#include "model/architectures/families.h"
#include "model/architectures/tensors.h"
#include "model/hub_cache.h"

namespace headlight::model {
namespace {

/// Ids that aren't in the vocabulary are those of no token: a small vocabulary keeps the defaults of its family, such as
/// GPT-2's 50256. They are listed in `strangers`.
SpecialIds read_ids(const Settings& settings, std::uint32_t vocabulary, std::vector<std::string>& strangers) {
  const auto all = [&](std::string_view key) {
    std::vector<std::uint32_t> ids;
    for (const std::uint64_t id : settings.ids(key)) {
      if (id < vocabulary) {
        ids.push_back(static_cast<std::uint32_t>(id));
      } else {
        strangers.push_back(fmt::format("{} {}", key, id));
      }
    }
    return ids;
  };
  const auto one = [&](std::string_view key) {
    const std::vector<std::uint32_t> ids = all(key);
    return ids.empty() ? std::nullopt : std::optional(ids.front());
  };
  return {.bos = one("bos_token_id"),
          .pad = one("pad_token_id"),
          .decoder_start = one("decoder_start_token_id"),
          .mask = one("mask_token_id"),
          .separator = one("sep_token_id"),
          .classify = one("cls_token_id"),
          .eos = all("eos_token_id")};
}

/// generation_config.json may name more tokens that end a text than config.json does. It doesn't affect the network, so an
/// unreadable one is ignored.
void add_ends(SpecialIds& ids, const std::filesystem::path& folder, std::uint32_t vocabulary) {
  const std::filesystem::path path = folder / "generation_config.json";
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return;
  try {
    const std::string json = read_file(path);
    const Settings settings(std::string_view(json), utf8(path));
    for (const std::uint64_t id : settings.ids("eos_token_id")) {
      if (id < vocabulary && std::ranges::find(ids.eos, id) == ids.eos.end())
        ids.eos.push_back(static_cast<std::uint32_t>(id));
    }
  } catch (const Error&) {
    return;
  }
}

ModelDescription describe(const Family& family, const Settings& settings, const Sizes& sizes, const Checkpoint& checkpoint) {
  ModelDescription description{.family = printable(family.name),
                               .model_type = printable(settings.text("model_type", "")),
                               .name = model_name(checkpoint.path()),
                               .layers = sizes.encoder.layers,
                               .heads = sizes.encoder.heads,
                               .kv_heads = sizes.encoder.kv_heads,
                               .d_model = sizes.d_model,
                               .d_k = sizes.encoder.d_k,
                               .decoder_layers = sizes.decoder.layers,
                               .decoder_heads = sizes.decoder.heads,
                               .vocabulary = sizes.vocabulary,
                               .max_length = sizes.encoder.max_length,
                               .window = *std::ranges::max_element(sizes.windows),
                               .token_types = sizes.types,
                               .experts = sizes.experts.count,
                               .experts_per_token = sizes.experts.per_token,
                               .expert_layers = static_cast<std::uint32_t>(std::ranges::count(sizes.has_experts, true)),
                               .has_shared_expert = sizes.experts.count > 0 && !family.encoder.experts.shared.in.empty(),
                               .file_bytes = checkpoint.total_bytes(),
                               .is_causal = sizes.is_causal};
  description.is_encoder_decoder = sizes.kind == StackKind::EncoderDecoder;
  if (description.is_encoder_decoder) description.target_vocabulary = sizes.target_vocabulary;
  description.is_length_limited = sizes.is_length_limited;
  for (const std::string& name : checkpoint.names()) ++description.element_types[std::string(checkpoint.type(name))];
  return description;
}

/// The part of a config that describes the text network; in a multimodal model it is one level deeper.
Settings text_settings(const Family& family, const Settings& settings) {
  const std::optional<Settings> text = reads(family, "text_config") ? settings.child("text_config") : std::nullopt;
  const Settings& own = text && text->has("hidden_size") ? *text : settings;
  return reads(family, "attn_config") ? own.with_nested("attn_config") : own;
}

/// `whole` has the special ids, which a multimodal model's config has outside of its text settings.
LoadedNetwork build(const Family& family, const Settings& whole, const Checkpoint& checkpoint) {
  Settings settings = text_settings(family, whole).only(keys_of(family)).over(family.defaults);
  FamilyTensors tensors(checkpoint, family);
  // Tokens may have been added while the adapter was trained: its table has them, the model's config doesn't.
  if (checkpoint.has_adapter() && tensors.table_rows() > 0) settings = settings.with("vocab_size", tensors.table_rows());
  Sizes sizes = read_sizes(settings, family, stored_kind(family, tensors));
  find_parts(family, tensors, sizes);
  LoadedNetwork loaded{.network = build_network(family, settings, sizes, tensors),
                       .description = describe(family, settings, sizes, checkpoint)};
  const std::uint32_t vocabulary = std::max(sizes.vocabulary, sizes.target_vocabulary);
  loaded.description.ids = read_ids(whole, vocabulary, loaded.description.ids_outside);
  if (checkpoint.gguf() == nullptr) add_ends(loaded.description.ids, checkpoint.folder(), vocabulary);
  loaded.description.unused_tensors = tensors.leftovers();
  loaded.description.parameter_count = loaded.network.parameter_count();
  loaded.description.active_parameter_count = loaded.description.parameter_count - loaded.network.idle_parameter_count();
  loaded.description.has_logits = loaded.network.layers->unembedding.has_value();
  return loaded;
}

/// What keeps a network from being built is a difference from its family, or of its tensors from its config: each such error
/// says what shows a network of this type nevertheless. Those of unknown networks (Unsupported) do so themselves; a file
/// that changes while it is read (InvalidInput) is none.
template <typename Build>
LoadedNetwork load(std::string_view type, const Build& build) {
  try {
    return build();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Unsupported || error.kind() == ErrorKind::InvalidInput) throw;
    throw Error(error.kind(), "{}{}", error.what(), capture_hint(type));
  }
}

LoadedNetwork build(const Checkpoint& checkpoint, const GgufFile& file) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOthers{
      {{"adapter", "a LoRA adapter: open its folder of PEFT, or merge it into its model with llama.cpp's llama-export-lora"},
       {"imatrix", "an importance matrix, with which a model is quantised: open the model"},
       {"mmproj", "the part of a model that sees images: open the model's other file"}}};
  for (const auto& [kind, what] : kOthers) {
    if (file.text_or("general.type", "") == kind) throw Error(ErrorKind::Unsupported, "{} is {}", utf8(file.path()), what);
  }
  const std::string architecture = file.text("general.architecture");
  const Family* family = find_gguf_family(architecture);
  if (family == nullptr) throw Error(ErrorKind::Unsupported, "{}: {}", utf8(file.path()), unsupported_gguf(architecture));
  LoadedNetwork loaded = build(*family, gguf_settings(file), checkpoint);
  loaded.description.name = printable(file.text_or("general.name", loaded.description.name));
  return loaded;
}

/// The family that the model's folder describes itself; nullopt where it has no such file.
std::optional<Family> own_family(const Checkpoint& checkpoint, const std::string& type) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 16;
  const std::filesystem::path path = checkpoint.folder() / kOwnFamilyFile;
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return std::nullopt;
  Family family = read_family(read_file(path, kLargest), utf8(path));
  if (!family.types.empty() && !has_name(family.types, type)) {
    throw Error("{} is of model_type '{}', but config.json is of '{}': correct one of them", utf8(path),
                printable(family.types), printable(type));
  }
  return family;
}

LoadedNetwork build(const Checkpoint& checkpoint, const Settings& whole) {
  if (const std::optional<Family> own = own_family(checkpoint, whole.text("model_type", ""))) {
    LoadedNetwork loaded = build(*own, whole, checkpoint);
    loaded.description.family_file = kOwnFamilyFile;
    return loaded;
  }
  if (!whole.has("model_type")) whole.refuse("model_type", "the name of a network");
  const std::string type = whole.text("model_type", "");
  if (const Family* family = find_family(type)) return build(*family, whole, checkpoint);
  throw Error(ErrorKind::Unsupported, "{}: {}", utf8(checkpoint.path()),
              unsupported(type, whole.has("vision_config|vision_tower|mm_vision_tower|audio_config")));
}

}  // namespace

LoadedNetwork load_network(const Checkpoint& checkpoint, std::string_view config) {
  const Settings whole(config, utf8(checkpoint.folder() / "config.json"));
  return load(whole.text("model_type", ""), [&] { return build(checkpoint, whole); });
}

LoadedNetwork load_network(const Checkpoint& checkpoint) {
  const GgufFile* gguf = checkpoint.gguf();
  if (gguf == nullptr) return load_network(checkpoint, checkpoint.config());
  return load(gguf->text_or("general.architecture", ""), [&] { return build(checkpoint, *gguf); });
}

LoadedNetwork load_network(const std::filesystem::path& path) { return load_network(Checkpoint(path)); }

}  // namespace headlight::model
