#include "model/architectures/families.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/architectures/captured_types.h"
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

OtherNetworks other(std::string_view type) {
  const auto found = std::ranges::find_if(kOthers, [&](const OtherNetworks& one) { return has_name(one.types, type); });
  return found == kOthers.end() ? OtherNetworks{type, kUnknown} : *found;
}

std::string refusal(std::string_view key, std::string_view type, const OtherNetworks& why, std::string_view supported) {
  return fmt::format("{} '{}': {}{}; supported{}", key, printable(type), why.reason,
                     why.has_attention ? capture_hint(type) : "", supported);
}

}  // namespace

bool has_name(Names names, std::string_view name) {
  bool is_among = false;
  for_each_name(names, [&](std::string_view one) { is_among = is_among || one == name; });
  return is_among;
}

std::string capture_hint(std::string_view type) {
  if (has_name(kCapturedTypes, type)) return fmt::format("; {}", kCaptureShows);
  return has_name(kRefusedTypes, type)
             ? "; headlight.capture() in Python doesn't show its attention, but headlight.Capture() "
               "takes weights [batch, heads, queries, keys], windows as lines of the batch"
             : "";
}

std::span<const OtherNetworks> other_networks() { return kOthers; }

const Families& families() {
  static const Families kFamilies = read_families(kFamilyFiles);
  return kFamilies;
}

std::vector<const Family*> folder_families() {
  std::vector<const Family*> all;
  for (const auto& [file, family] : families().files) {
    if (!family.types.empty()) all.push_back(&family);
  }
  return all;
}

const Family* find_family(std::string_view model_type) {
  for (const Family* family : folder_families()) {
    if (has_name(family->types, model_type)) return family;
  }
  return nullptr;
}

const Family* find_gguf_family(std::string_view architecture) {
  for (const Family& family : families().gguf) {
    if (has_name(family.types, architecture)) return &family;
  }
  return nullptr;
}

std::vector<std::string_view> keys_of(const Family& family) {
  constexpr Names kReadByAll =
      "model_type|vocab_size|tie_word_embeddings|pruned_heads|per_layer_config|quantization|quantization_config";
  std::vector<std::string_view> keys(family.reads.begin(), family.reads.end());
  for_each_name(kReadByAll, [&](std::string_view key) { keys.push_back(key); });
  return keys;
}

bool reads(const Family& family, std::string_view key) { return std::ranges::count(keys_of(family), key) > 0; }

std::string unsupported(std::string_view model_type, bool has_other_senses) {
  std::set<std::string_view> names;
  for (const Family* family : folder_families()) names.insert(family->name);
  return refusal("model_type", model_type, has_other_senses ? OtherNetworks{model_type, kOtherSenses} : other(model_type),
                 fmt::format(": {}", fmt::join(names, ", ")));
}

std::string unsupported_gguf(std::string_view architecture) {
  std::set<std::string_view> names;
  for (const Family& family : families().gguf) names.insert(family.name);
  OtherNetworks why = other(architecture);
  if (why.reason == kOtherSenses && why.has_text) why.reason = kUnknown;
  if (find_family(architecture) != nullptr) why.reason = "Headlight reads it from a folder with config.json only";
  return refusal("architecture", architecture, why, fmt::format(" in GGUF files: {}", fmt::join(names, ", ")));
}

}  // namespace headlight::model
