#include "model/architectures/families.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/stored_tensor.h"

namespace headlight::model {
namespace {

const Family* find(std::span<const Family> families, std::string_view type) {
  for (const Family& family : families) {
    bool is_it = false;
    for_each_name(family.types, [&](std::string_view name) { is_it = is_it || name == type; });
    if (is_it) return &family;
  }
  return nullptr;
}

constexpr std::string_view kOtherSenses = "Headlight reads text; this network needs sound or images";

/// Other networks that users try to load, and why Headlight doesn't.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOthers{{
    {"mamba|mamba2|falcon_mamba|rwkv|retnet|xlstm|hyena|resnet|convnext|unet",
     "Headlight shows attention; this network has none"},
    {"whisper|wav2vec2|hubert|vit|clip|siglip|siglip2|dinov2|dinov3_vit|blip|blip-2|instructblip|llava|llava_next|llava_"
     "onevision|"
     "video_llava|vipllava|idefics|idefics2|idefics3|smolvlm|fuyu|kosmos-2|kosmos-2.5|paligemma|florence2|chameleon|janus|"
     "emu3|"
     "mllama|llama4|mistral3|pixtral|aria|aya_vision|cohere2_vision|gemma3n|gemma4|phi3_v|phi4_multimodal|phi4mm|qwen2_vl|"
     "qwen2_5_vl|qwen3_vl|qwen3_vl_moe|qwen2_audio|qwen2_5_omni|qwen3_omni_moe|internvl|internvl_chat|minicpmv|minicpmo|"
     "molmo|"
     "ovis2|glm4v|glm4v_moe|deepseek_vl|deepseek_vl_v2|deepseek_vl_hybrid|kimi_vl|got_ocr2|lfm2_vl|ernie4_5_vl_moe|voxtral|"
     "granite_speech|seamless_m4t|seamless_m4t_v2|speecht5",
     kOtherSenses},
    {"jamba|recurrent_gemma|bamba|zamba|zamba2|granitemoehybrid|falcon_h1|lfm2|qwen3_next|nemotron_h",
     "only some layers of this network are attention"},
}};

std::string_view reason_against(std::string_view model_type) {
  std::string_view reason = "Headlight doesn't know this network";
  for (const auto& [types, why] : kOthers) {
    bool is_it = false;
    for_each_name(types, [&](std::string_view type) { is_it = is_it || type == model_type; });
    if (is_it) reason = why;
  }
  return reason;
}

void add_names(std::span<const Family> families, std::string& names) {
  for (const Family& family : families) names += fmt::format("{}{}", names.empty() ? "" : ", ", family.name);
}

}  // namespace

const Family* find_family(std::string_view model_type) {
  for (const std::span<const Family> families :
       {encoder_families(), decoder_families(), rotary_families(), encoder_decoder_families()}) {
    if (const Family* family = find(families, model_type)) return family;
  }
  return nullptr;
}

const Family* find_gguf_family(std::string_view architecture) { return find(gguf_families(), architecture); }

std::string family_names() {
  std::string names;
  for (const std::span<const Family> families :
       {encoder_families(), decoder_families(), rotary_families(), encoder_decoder_families()}) {
    add_names(families, names);
  }
  return names;
}

std::string unsupported(std::string_view model_type, bool has_other_senses) {
  return fmt::format("model_type '{}': {}; supported: {}", printable(model_type),
                     has_other_senses ? kOtherSenses : reason_against(model_type), family_names());
}

std::string unsupported_gguf(std::string_view architecture) {
  std::string names;
  add_names(gguf_families(), names);
  const bool is_known = find_family(architecture) != nullptr;
  return fmt::format("architecture '{}': {}; supported in GGUF files: {}", printable(architecture),
                     is_known ? "Headlight reads it from a folder with config.json only" : reason_against(architecture),
                     names);
}

}  // namespace headlight::model
