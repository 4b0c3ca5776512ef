#pragma once

#include <string_view>

namespace headlight::model {

// Written by python/tests/every_type.py --write, of transformers 5.24.0.

/// Types whose attention headlight.capture() was seen to show.
inline constexpr std::string_view kCapturedTypes =
    "afmoe|aimv2|aimv2_vision_model|albert|align|altclip|apertus|apertus1p5_text|arcee|aria|aria_text|"
    "audioflamingo3|aya_vision|bamba|bart|beam|beit|bert|bert-generation|big_bird|bigbird_pegasus|biogpt|bitnet|"
    "blenderbot|blenderbot-small|bloom|camembert|chinese_clip|chinese_clip_vision_model|clip|clip_text_model|"
    "clip_vision_model|clipseg|cohere|cohere2|cohere2_moe|cohere2_vision|convbert|cosmos3_edge|cosmos3_edge_text|"
    "cosmos3_omni|cpmant|ctrl|cwm|data2vec-audio|data2vec-text|data2vec-vision|deberta|deberta-v2|deepseek_v4|"
    "deepseek_vl|deepseek_vl_hybrid|deit|diffllama|dinov2|dinov2_with_registers|dinov3_vit|distilbert|doge|dots1|"
    "dpr|dpt|electra|embedding_gemma2|embedding_gemma2_text|ernie|ernie4_5|eurobert|exaone|exaone4|exaone4_5|"
    "exaone_moe|falcon|falcon_h1|fastspeech2_conformer|flaubert|flex_olmo|flint|fsmt|fuyu|gemma|gemma2|gemma3|"
    "gemma3_text|gemma4_unified|gemma4_unified_text|git|glm|glm4|glm4_moe|glmasr|glmasr_encoder|got_ocr2|gpt-sw3|"
    "gpt2|gpt_bigcode|gpt_neox|gpt_neox_japanese|gpt_oss|gradium_phonon_tts|granite|granite_docling_text|"
    "granite_speech|granite_speech_plus|granite_swa|granitemoe|granitemoe_swa|granitemoeshared|gte|helium|"
    "higgs_audio_v2|hrm_text|hubert|hy_v3|hy_v4|hyperclovax|hyperclovax_vision_v2|ibert|idefics2|idefics3|ijepa|"
    "imagegpt|inkling2_loop_text|inkling2_text|inkling_mm_model|inkling_text|internlm3|internvl|internvl_vision|"
    "iquestcoder|jais2|jamba|jetmoe|jina_embeddings_v3|kolibri1|kosmos-2.5|laguna|lara_mini|lasr_encoder|layoutlm|"
    "lfm2|lfm2_vl|lightglue|lighton_ocr|llama|llama4_text|llava|llava_next|llava_next_video|llava_onevision|m2m_100|"
    "marian|markuplm|mbart|megatron-bert|mellum|metaclip_2|mimo_v2_flash|minicpm_ocr|minicpmv4_6|minicpmv4_7|"
    "minimax_m2|minimax_m3_vl|minimax_m3_vl_text|ministral3|mistral|mistral3|mixtral|mlcd|mlcd_vision_model|mllama|"
    "mobilebert|modernbert|modernbert-decoder|modernvbert|molmo2_text|moshi|moss_transcribe_diarize|"
    "moss_transcribe_diarize_audio|mpnet|mpt|mt5|muse_glimmer|muse_glimmer_text|muse_spark_text|musicflamingo|mvp|"
    "nanochat|nemotron|nemotron_h|neomme|nllb-moe|nomic_bert|nystromformer|olmo|olmo2|olmo3|olmo_hybrid|olmoe|"
    "omniasr|openai-gpt|openai_privacy_filter|opt|ovis2|owlv2|owlvit|paligemma|parakeet_encoder|pegasus|persimmon|"
    "phi|phi3|phi4_multimodal|phimoe|pixio|pixtral|plbart|pocket_tts|qianfan_ocr|qianfan_ocr_vision|qwen2|"
    "qwen2_5_vl|qwen2_5_vl_text|qwen2_audio|qwen2_audio_encoder|qwen2_moe|qwen2_vl|qwen2_vl_text|qwen3|qwen3_5|"
    "qwen3_5_moe|qwen3_5_moe_text|qwen3_5_text|qwen3_asr|qwen3_moe|qwen3_next|qwen3_omni_moe_thinker|qwen3_vl|"
    "qwen3_vl_moe|qwen3_vl_moe_text|qwen3_vl_text|radio|recurrent_gemma|rembert|roberta|roberta-prelayernorm|"
    "roc_bert|roformer|sam3_vision_model|sam3_vit_model|sapiens2|sarvam_moe|seamless_m4t|seamless_m4t_v2|seed_oss|"
    "sew|sew-d|siglip|siglip_vision_model|smollm3|smolvlm|solar_open|speech_to_text|splinter|squeezebert|stablelm|"
    "starcoder2|switch_transformers|t5|t5gemma|t5gemma2|tapas|timesformer|tipsv2|tipsv2_text_model|"
    "tipsv2_vision_model|ultrabert|ultravbert|umt5|unispeech|unispeech-sat|unlimited_ocr|vaultgemma|video_llama_3|"
    "video_llava|videomae|vilt|vipllava|vision-text-dual-encoder|visual_bert|vit|vit_mae|vit_msn|vitdet|vits|vivit|"
    "vjepa2|voxtral|voxtral_encoder|voxtral_realtime_encoder|wav2vec2|wav2vec2-conformer|wavlm|whisper|xglm|xlm|"
    "xlm-roberta|xlm-roberta-xl|xlnet|yolos";

/// Types with or without attention that it was seen to refuse.
inline constexpr std::string_view kRefusedTypes =
    "bit|blip|canine|convnext|convnextv2|cvt|dinov3_convnext|donut-swin|efficientloftr|falcon_mamba|flava|fnet|"
    "focalnet|glpn|granite_docling_vision|groupvit|hgnet_v2|hiera|idefics3_vision|led|levit|longformer|longt5|mamba|"
    "maskformer-swin|mobilenet_v1|mobilenet_v2|mobilevit|mra|nemotron3_5_transcribe_asr_audio|"
    "nemotron3_diarization_audio|pegasus_x|poolformer|prophetnet|pvt|pvt_v2|reformer|regnet|resnet|rwkv|"
    "sam3_lite_text_text_model|sam_hq_vision_model|sam_vision_model|segformer|smolvlm_vision|swiftformer|swin|"
    "swinv2|textnet|univnet|videoprism_vision_model|yoso";

}  // namespace headlight::model
