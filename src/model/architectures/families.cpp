#include "model/architectures/families.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/stored_tensor.h"

namespace headlight::model {
namespace {

constexpr std::string_view kNoAttention = "Headlight shows attention; this network has none";
constexpr std::string_view kOtherSenses = "Headlight reads text; this network needs sound or images";
constexpr std::string_view kUnknown = "Headlight doesn't know this network";

constexpr std::array<OtherNetworks, 4> kOthers{{
    {"mamba|mamba2|falcon_mamba|rwkv|rwkv5|rwkv6|rwkv7|arwkv7|retnet|xlstm|hyena|resnet|convnext|convnextv2|unet|"
     "efficientnet|mobilenet_v1|mobilenet_v2|regnet|bit|poolformer",
     kNoAttention, false},
    {"whisper|wav2vec2|wav2vec2-bert|wav2vec2-conformer|wavlm|hubert|unispeech|unispeech-sat|sew|sew-d|data2vec-audio|"
     "audio-spectrogram-transformer|clap|moonshine|encodec|mimi|bark|musicgen|"
     "vit|deit|beit|data2vec-vision|swin|swinv2|swin2sr|cvt|pvt|pvt_v2|levit|mobilevit|mobilevitv2|segformer|hiera|ijepa|"
     "vit_mae|vit_msn|vivit|videomae|timesformer|vjepa2|dpt|depth_anything|detr|conditional_detr|deformable_detr|rt_detr|"
     "yolos|maskformer|mask2former|oneformer|sam|sam2|owlvit|owlv2|grounding-dino|clip|chinese_clip|clipseg|siglip|siglip2|"
     "siglip_vision_model|clip_vision_model|dinov2|dinov2_with_registers|dinov3_vit|trocr|vision-encoder-decoder|donut-swin|"
     "nougat|speecht5|vits|seamless_m4t|seamless_m4t_v2|speech_to_text",
     kOtherSenses, true, false},
    {"blip|blip-2|instructblip|llava|llava_next|llava_onevision|video_llava|vipllava|idefics|idefics2|idefics3|smolvlm|"
     "fuyu|kosmos-2|kosmos-2.5|paligemma|florence2|chameleon|janus|emu3|mllama|llama4|mistral3|pixtral|aria|aya_vision|"
     "cohere2_vision|gemma3n|gemma4|phi3_v|phi4_multimodal|phi4mm|qwen2_vl|qwen2_5_vl|qwen3_vl|qwen3_vl_moe|qwen3_5|"
     "qwen3_5_moe|qwen2_audio|qwen2_5_omni|qwen3_omni_moe|internvl|internvl_chat|minicpmv|minicpmo|molmo|ovis2|glm4v|"
     "glm4v_moe|deepseek_vl|deepseek_vl_v2|deepseek_vl_hybrid|kimi_vl|got_ocr2|lfm2_vl|ernie4_5_vl_moe|voxtral|granite_"
     "speech",
     kOtherSenses},
    {"jamba|recurrent_gemma|bamba|zamba|zamba2|granitemoehybrid|granitehybrid|falcon_h1|lfm2|lfm2_moe|qwen3_next|"
     "qwen3_5_text|qwen3_5_moe_text|nemotron_h|olmo_hybrid|kimi_linear|minimax|plamo2",
     "only some layers of this network are attention"},
}};

bool has_name(Names names, std::string_view name) {
  bool is_among = false;
  for_each_name(names, [&](std::string_view one) { is_among = is_among || one == name; });
  return is_among;
}

const Family* find(std::span<const Family> families, std::string_view type) {
  const auto found = std::ranges::find_if(families, [&](const Family& family) { return has_name(family.types, type); });
  return found == families.end() ? nullptr : &*found;
}

OtherNetworks other(std::string_view type) {
  const auto found = std::ranges::find_if(kOthers, [&](const OtherNetworks& one) { return has_name(one.types, type); });
  return found == kOthers.end() ? OtherNetworks{type, kUnknown} : *found;
}

std::string refusal(std::string_view key, std::string_view type, const OtherNetworks& why, std::string_view supported) {
  return fmt::format("{} '{}': {}{}{}; supported{}", key, printable(type), why.reason, why.has_attention ? "; " : "",
                     why.has_attention ? kCaptureShows : "", supported);
}

void add_names(std::span<const Family> families, std::string& names) {
  for (const Family& family : families) {
    if (fmt::format(", {},", names).find(fmt::format(", {},", family.name)) == std::string::npos)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", family.name);
  }
}

}  // namespace

std::span<const OtherNetworks> other_networks() { return kOthers; }

std::array<std::span<const Family>, 6> folder_families() {
  return {encoder_families(),        decoder_families(), rotary_families(),
          further_rotary_families(), expert_families(),  encoder_decoder_families()};
}

const Family* find_family(std::string_view model_type) {
  for (const std::span<const Family> families : folder_families()) {
    if (const Family* family = find(families, model_type)) return family;
  }
  return nullptr;
}

const Family* find_gguf_family(std::string_view architecture) { return find(gguf_families(), architecture); }

std::vector<std::string_view> keys_of(const Family& family) {
  constexpr Names kReadByAll =
      "model_type|vocab_size|tie_word_embeddings|pruned_heads|per_layer_config|quantization|quantization_config";
  std::vector<std::string_view> keys;
  const auto add = [&](std::string_view key) {
    if (!key.empty()) keys.push_back(key);
  };
  for_each_name(kReadByAll, add);
  for (const Names list : family.reads) for_each_name(list, add);
  return keys;
}

bool reads(const Family& family, std::string_view key) { return std::ranges::count(keys_of(family), key) > 0; }

std::string family_names() {
  std::string names;
  for (const std::span<const Family> families : folder_families()) add_names(families, names);
  return names;
}

std::string unsupported(std::string_view model_type, bool has_other_senses) {
  return refusal("model_type", model_type, has_other_senses ? OtherNetworks{model_type, kOtherSenses} : other(model_type),
                 ": " + family_names());
}

std::string unsupported_gguf(std::string_view architecture) {
  std::string names;
  add_names(gguf_families(), names);
  OtherNetworks why = other(architecture);
  if (why.reason == kOtherSenses && why.has_text) why.reason = kUnknown;
  if (find_family(architecture) != nullptr) why.reason = "Headlight reads it from a folder with config.json only";
  return refusal("architecture", architecture, why, " in GGUF files: " + names);
}

}  // namespace headlight::model
