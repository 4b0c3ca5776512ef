"""One row per folder: which class, which sizes, what differs. Sizes are awkward on purpose."""

DECODER = {"vocab_size": 83, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
ROTARY = {**DECODER, "hidden_size": 32, "intermediate_size": 52, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "max_position_embeddings": 64}
BERT = {"vocab_size": 104, "hidden_size": 36, "intermediate_size": 60, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 32, "pad_token_id": 0}
SMALL = {**DECODER, "vocab_size": 37, "hidden_size": 24, "intermediate_size": 36, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32, "tie_word_embeddings": False}
SMALL_GPT = {**DECODER, "vocab_size": 37, "n_embd": 24, "n_head": 4, "n_layer": 2, "n_positions": 32}
THIRDS = {"num_attention_heads": 3, "num_key_value_heads": 1}  # heads of 8 components, of which RoPE can rotate a part
LOCAL = {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"]}
SEQUENCE = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
            "decoder_attention_heads": 4, "encoder_ffn_dim": 52, "decoder_ffn_dim": 44, "max_position_embeddings": 32}
SMALL_ENCODER = {"vocab_size": 61, "hidden_size": 24, "intermediate_size": 36, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "max_position_embeddings": 32, "pad_token_id": 0}
SMALL_ROBERTA = SMALL_ENCODER | {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "max_position_embeddings": 34,
                         "type_vocab_size": 1}
ESM = {**SMALL_ENCODER, "vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32, "token_dropout": True,
       "max_position_embeddings": 34}
DEBERTA = {**SMALL_ENCODER, "relative_attention": True, "max_relative_positions": -1, "layer_norm_eps": 1e-7}
SMALL_SEQUENCE = {**SEQUENCE, "vocab_size": 53, "d_model": 16, "encoder_ffn_dim": 28, "decoder_ffn_dim": 20,
                  "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
T5 = {"vocab_size": 85, "d_model": 36, "d_kv": 6, "d_ff": 52, "num_layers": 2, "num_heads": 4,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 14, "pad_token_id": 0, "eos_token_id": 1,
      "decoder_start_token_id": 0}

EXPERTS = {**DECODER, "vocab_size": 37, "hidden_size": 24, "intermediate_size": 20, "moe_intermediate_size": 20,
           "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32,
           "tie_word_embeddings": False}

FALCON = {**DECODER, "vocab_size": 37, "hidden_size": 24, "ffn_hidden_size": 36, "num_hidden_layers": 2,
          "num_attention_heads": 4, "max_position_embeddings": 32}


def decoder(model, config, positions=True, **more):
    return {"kind": "decoder", "class": model, "config": config, "positions": positions, **more}


def small(model, config, base=SMALL, **more):
    """Enough to see each difference from families above: a long line, and a batch padded on the left."""
    return decoder(model, {**base, **config}, **{"cases": ("case1", "case3"), **more})


def rope(share=1.0, **more):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": share, **more}}


def encoder(model, config, **more):
    return {"kind": "encoder", "class": model, "config": config, **more}


def pair(model, config, **more):
    return {"kind": "encoder-decoder", "class": model, "config": config, **more}


def gemma(model, config, **more):
    """Gemma multiplies embeddings by √d and norms by 1 + weight."""
    return decoder(model, config, norm_offset=True, embedding=0.25, **more)


def llama(scaling=None, row=None, **changes):
    config = {**ROTARY, "tie_word_embeddings": False, **changes} | ({"rope_parameters": scaling} if scaling else {})
    return decoder("LlamaForCausalLM", config, **(row or {}))


FAMILIES = {
    "gpt2": decoder("GPT2LMHeadModel", {
        "vocab_size": 128, "n_embd": 36, "n_head": 6, "n_layer": 2, "n_positions": 32, "n_inner": 68,
        "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}, text="byte_level", painted=True),
    "bert": encoder("BertForMaskedLM", BERT, types=True, text="word_piece", painted=True),
    "bert-untied": encoder("BertForMaskedLM", BERT | {"vocab_size": 83, "tie_word_embeddings": False}, types=True),
    "bert-base-model": encoder("BertModel", BERT | {"vocab_size": 83, "hidden_size": 40}, types=True),
    "roberta": encoder("RobertaForMaskedLM", BERT | {
        "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "max_position_embeddings": 34, "type_vocab_size": 1}),
    "distilbert": encoder("DistilBertForMaskedLM", {
        "vocab_size": 104, "dim": 36, "hidden_dim": 60, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 32}),
    "albert": encoder("AlbertForMaskedLM", BERT | {
        "embedding_size": 20, "num_hidden_layers": 3, "num_hidden_groups": 1, "inner_group_num": 1},
        types=True, attention=1.6),
    "electra": encoder("ElectraForMaskedLM", BERT | {"embedding_size": 44, "hidden_size": 28}, types=True, attention=1.6),
    "ernie": encoder("ErnieForMaskedLM", SMALL_ENCODER | {"use_task_id": True}, types=True),
    "megatron-bert": encoder("MegatronBertForMaskedLM", SMALL_ENCODER | {"hidden_act": "quick_gelu"}, types=True),
    "data2vec-text": encoder("Data2VecTextForMaskedLM", SMALL_ROBERTA),
    "roberta-prelayernorm": encoder("RobertaPreLayerNormForMaskedLM", SMALL_ROBERTA),
    "xlm-roberta-xl": encoder("XLMRobertaXLForMaskedLM", SMALL_ROBERTA),
    "mpnet": encoder("MPNetForMaskedLM", {
        "vocab_size": 61, "hidden_size": 24, "intermediate_size": 36, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 34, "pad_token_id": 1}),
    "esm": encoder("EsmForMaskedLM", ESM | {"position_embedding_type": "rotary"}, masked=True),
    "esm-absolute": encoder("EsmForMaskedLM", ESM | {
        "position_embedding_type": "absolute", "emb_layer_norm_before": True}, masked=True),
    "nomic_bert": encoder("NomicBertForMaskedLM", SMALL_ENCODER, types=True),
    "modernbert": encoder("ModernBertForMaskedLM", {
        **SMALL_ENCODER, "hidden_size": 16, "intermediate_size": 28, "num_hidden_layers": 4, "local_attention": 8, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
        "sep_token_id": 2, "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 1000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}}),
    "modernbert-biased": encoder("ModernBertForMaskedLM", {
        **SMALL_ENCODER, "num_hidden_layers": 2, "local_attention": 12, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
        "sep_token_id": 2, "layer_types": ["sliding_attention", "full_attention"], "norm_bias": True,
        "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "decoder_bias": False,
        "classifier_activation": "silu"}),
    "deberta-v3": encoder("DebertaV2ForMaskedLM", DEBERTA | {
        "position_biased_input": False, "position_buckets": 6, "max_position_embeddings": 12, "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm", "type_vocab_size": 0}),
    "deberta-v2": encoder("DebertaV2ForMaskedLM", DEBERTA | {
        "num_hidden_layers": 1, "max_relative_positions": 7, "share_att_key": True, "pos_att_type": "c2p",
        "type_vocab_size": 2}, types=True),
    "deberta-v2-own-keys": encoder("DebertaV2ForMaskedLM", DEBERTA | {
        "position_buckets": 6, "max_position_embeddings": 12, "position_biased_input": False, "share_att_key": False,
        "pos_att_type": "c2p|p2c", "type_vocab_size": 0}),
    "bert-relative-key": encoder("BertForMaskedLM", SMALL_ENCODER | {
        "num_hidden_layers": 1, "position_embedding_type": "relative_key"}, types=True, release="4.46.3"),
    "bert-relative-key-query": encoder("BertForMaskedLM", SMALL_ENCODER | {
        "position_embedding_type": "relative_key_query"}, types=True, release="4.46.3"),
    "gpt_neox": decoder("GPTNeoXForCausalLM", {
        **DECODER, "hidden_size": 48, "intermediate_size": 60, "num_hidden_layers": 2, "num_attention_heads": 3,
        "max_position_embeddings": 64, "use_parallel_residual": True, "tie_word_embeddings": False,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}}),
    "gpt_neox-sequential": decoder("GPTNeoXForCausalLM", {
        **DECODER, "hidden_size": 32, "intermediate_size": 52, "num_hidden_layers": 2, "num_attention_heads": 4,
        "max_position_embeddings": 64, "use_parallel_residual": False, "tie_word_embeddings": False,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}),
    "opt": decoder("OPTForCausalLM", {
        "vocab_size": 83, "hidden_size": 36, "word_embed_proj_dim": 36, "ffn_dim": 60, "num_hidden_layers": 2,
        "num_attention_heads": 6, "max_position_embeddings": 32, "do_layer_norm_before": True, "pad_token_id": 1},
        positions=False),
    "opt-post-norm": decoder("OPTForCausalLM", {
        "vocab_size": 83, "hidden_size": 36, "word_embed_proj_dim": 20, "ffn_dim": 60, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 32, "do_layer_norm_before": False, "pad_token_id": 1},
        positions=False),
    "llama": llama(vocab_size=128, row={"text": "metaspace", "painted": True}),
    "llama3": llama({"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                     "high_freq_factor": 4.0, "original_max_position_embeddings": 64},
                    head_dim=12, tie_word_embeddings=True, max_position_embeddings=512),
    "llama-yarn": llama({"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 512},
                        head_dim=16, max_position_embeddings=2048),
    "llama-linear": llama({"rope_type": "linear", "rope_theta": 10000.0, "factor": 3.0}, attention_bias=True, mlp_bias=True),
    "mistral": decoder("MistralForCausalLM", {**ROTARY, "sliding_window": 7, "tie_word_embeddings": False}),
    "qwen2": decoder("Qwen2ForCausalLM", {
        **ROTARY, "hidden_size": 40, "num_attention_heads": 4, "use_sliding_window": False, "tie_word_embeddings": True}),
    "qwen2-bidirectional": decoder("Qwen2ForCausalLM", {
        **ROTARY, "use_sliding_window": False, "tie_word_embeddings": False, "is_causal": False}),
    "mistral-bidirectional": decoder("MistralForCausalLM", {
        **ROTARY, "sliding_window": 6, "tie_word_embeddings": False, "is_causal": False}),
    "qwen3": decoder("Qwen3ForCausalLM", {**ROTARY, "head_dim": 12, "tie_word_embeddings": True},
                     spread={"[qk]_norm": (1.35, 0.25)}),
    "gemma": gemma("GemmaForCausalLM", {**ROTARY, "num_key_value_heads": 1, "head_dim": 12}),
    "gemma2": gemma("Gemma2ForCausalLM", {
        **ROTARY, "num_hidden_layers": 4, "intermediate_size": 44, "head_dim": 10, "query_pre_attn_scalar": 6,
        "sliding_window": 6, "attn_logit_softcapping": 3.0, "final_logit_softcapping": 2.5}),
    "gemma3_text": gemma("Gemma3ForCausalLM", {
        **ROTARY, "num_hidden_layers": 4, "intermediate_size": 44, "head_dim": 10, "query_pre_attn_scalar": 6,
        "sliding_window": 5,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                            "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1000.0}}}),
    "phi3": decoder("Phi3ForCausalLM", {
        **ROTARY, "hidden_size": 40, "tie_word_embeddings": False, "original_max_position_embeddings": 64,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.6}}),
    "phi3-longrope": decoder("Phi3ForCausalLM", {
        **ROTARY, "num_key_value_heads": 4, "tie_word_embeddings": False, "original_max_position_embeddings": 16,
        "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.1, 1.3, 1.6],
                            "long_factor": [1.0, 1.9, 3.5, 4.0], "original_max_position_embeddings": 16}}),
    "smollm": llama(tie_word_embeddings=True, hidden_size=36, num_attention_heads=6, num_key_value_heads=2),
    "smollm3": decoder("SmolLM3ForCausalLM", {**ROTARY, "no_rope_layer_interval": 2, "tie_word_embeddings": True}),
    "bloom": decoder("BloomForCausalLM", {**DECODER, "hidden_size": 30, "n_layer": 2, "n_head": 6, "pad_token_id": 3},
                     positions=False),
    "ministral": small("MinistralForCausalLM", {**LOCAL, "head_dim": 10}),
    "seed_oss": small("SeedOssForCausalLM", {**THIRDS, "head_dim": 10}),
    "internlm2": small("LlamaForCausalLM", {"attention_bias": True, "max_position_embeddings": 12, "rope_parameters": {
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}}, is_internlm2=True),
    "granite": small("GraniteForCausalLM", {
        "embedding_multiplier": 3.0, "attention_multiplier": 0.5, "residual_multiplier": 0.4, "logits_scaling": 2.5}),
    "helium": small("HeliumForCausalLM", {**THIRDS, "head_dim": 8, "attention_bias": True}),
    "ernie4_5": small("Ernie4_5ForCausalLM", {"head_dim": 10, "use_bias": True, "tie_word_embeddings": True}),
    "glm": small("GlmForCausalLM", {**THIRDS, "head_dim": 8}),
    "glm4": small("Glm4ForCausalLM", {**THIRDS, "head_dim": 8, "attention_bias": False}),
    "olmo": small("OlmoForCausalLM", {"clip_qkv": 1.6, "attention_bias": True}, attention=2.0),
    "olmo2": small("Olmo2ForCausalLM", {}, spread={"[qk]_norm": (1.35, 0.25)}),
    "olmo3": small("Olmo3ForCausalLM", {**LOCAL, "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 500000.0},
        "full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 4.0,
                           "original_max_position_embeddings": 16, "attention_factor": 1.2}}},
        spread={"[qk]_norm": (1.35, 0.25)}),
    "exaone4": small("Exaone4ForCausalLM", LOCAL, spread={"[qk]_norm": (1.35, 0.25)}),
    "stablelm": small("StableLmForCausalLM", {**THIRDS, "use_qkv_bias": True, **rope(0.5)}),
    "stablelm-parallel": small("StableLmForCausalLM", {
        "num_attention_heads": 3, "num_key_value_heads": 3, "qk_layernorm": True, "use_parallel_residual": True, **rope(0.25)},
        spread={"layernorm.norms": (1.35, 0.25)}),
    "cohere": small("CohereForCausalLM", {"logit_scale": 0.3, "use_qk_norm": True, "tie_word_embeddings": True},
                    spread={"[qk]_norm": (1.35, 0.25)}),
    "cohere2": small("Cohere2ForCausalLM", {**LOCAL, "logit_scale": 0.4, "tie_word_embeddings": True}),
    "starcoder2": small("Starcoder2ForCausalLM", {"sliding_window": 7, "tie_word_embeddings": True}),
    "nemotron": small("NemotronForCausalLM", {**THIRDS, **rope(0.5), "attention_bias": True}, norm_offset=True),
    "phi": small("PhiForCausalLM", {**THIRDS, **rope(0.5), "qk_layernorm": True}, spread={"layernorm.weight": (1.35, 0.25)}),
    "gptj": small("GPTJForCausalLM", {"n_head": 3, "rotary_dim": 4, "tie_word_embeddings": False}, SMALL_GPT),
    "codegen": small("CodeGenForCausalLM", {"n_embd": 32, "n_head": 8, "rotary_dim": 2, "n_inner": 40,
                                            "tie_word_embeddings": False}, SMALL_GPT),
    "gpt_neo": small("GPTNeoForCausalLM", {
        **DECODER, "vocab_size": 37, "hidden_size": 24, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 32,
        "intermediate_size": 36, "attention_types": [[["global", "local"], 1]], "window_size": 5}, {}, attention=0.8),
    "gpt_bigcode": small("GPTBigCodeForCausalLM", {"n_inner": 36}, SMALL_GPT),
    "gpt_bigcode-multi-head": small("GPTBigCodeForCausalLM", {"n_inner": 36, "multi_query": False}, SMALL_GPT),
    "falcon": small("FalconForCausalLM", FALCON | {"num_attention_heads": 3}, {}),
    "falcon-grouped": small("FalconForCausalLM", FALCON | {"new_decoder_architecture": True, "num_kv_heads": 2}, {}),
    "falcon-alibi": small("FalconForCausalLM", FALCON | {
        "num_attention_heads": 3, "alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}, {},
        is_as_sdpa=True),
    "mpt": small("MptForCausalLM", {
        **DECODER, "vocab_size": 37, "d_model": 24, "n_heads": 6, "n_layers": 2, "max_seq_len": 32,
        "attn_config": {"clip_qkv": 2.0, "softmax_scale": 0.6}}, {}, positions=False, attention=1.8),
    "openai-gpt": small("OpenAIGPTLMHeadModel", {}, SMALL_GPT),
    "xglm": small("XGLMForCausalLM", {
        **DECODER, "vocab_size": 37, "d_model": 24, "attention_heads": 4, "num_layers": 2, "ffn_dim": 36,
        "max_position_embeddings": 32, "pad_token_id": 1}, {}, embedding=0.2),
    "mixtral": small("MixtralForCausalLM", {"num_local_experts": 5, "num_experts_per_tok": 2}, EXPERTS),
    "qwen2_moe": small("Qwen2MoeForCausalLM", {
        "num_experts": 6, "num_experts_per_tok": 3, "shared_expert_intermediate_size": 28, "num_hidden_layers": 4,
        "decoder_sparse_step": 2, "mlp_only_layers": [3]}, EXPERTS, attention=1.0),
    "qwen3_moe": small("Qwen3MoeForCausalLM", {
        "num_experts": 9, "num_experts_per_tok": 4, "norm_topk_prob": True, "head_dim": 10}, EXPERTS,
        spread={"[qk]_norm": (1.35, 0.25)}),
    "qwen3_moe-fused": small("Qwen3MoeForCausalLM", {
        "num_experts": 7, "num_experts_per_tok": 1, "num_hidden_layers": 1}, EXPERTS, keeps_fused=True,
        spread={"[qk]_norm": (1.35, 0.25)}),
    "olmoe": small("OlmoeForCausalLM", {
        "num_experts": 8, "num_experts_per_tok": 2, "clip_qkv": 1.6, "num_key_value_heads": 4}, EXPERTS,
        spread={"[qk]_norm": (1.35, 0.25)}),
    "granitemoe": small("GraniteMoeForCausalLM", {
        "num_local_experts": 4, "num_experts_per_tok": 2, "embedding_multiplier": 3.0, "attention_multiplier": 0.5,
        "residual_multiplier": 0.4, "logits_scaling": 2.5}, EXPERTS),
    "llama-dynamic": small("LlamaForCausalLM", {"max_position_embeddings": 12, "rope_parameters": {
        "rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}}),
    "gemma3-bidirectional": gemma("Gemma3ForCausalLM", {
        **SMALL, **LOCAL, "head_dim": 8, "query_pre_attn_scalar": 6, "use_bidirectional_attention": True,
        "tie_word_embeddings": True, "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            "full_attention": {"rope_type": "default", "rope_theta": 1000.0}}}, cases=("case1", "case3")),
    "marian": pair("MarianMTModel", {
        **SEQUENCE, "vocab_size": 104, "pad_token_id": 103, "decoder_start_token_id": 103, "eos_token_id": 0,
        "forced_eos_token_id": 0, "scale_embedding": True, "activation_function": "swish"},
        embedding=0.2, attention=1.4, text="unigram"),
    "bart": pair("BartForConditionalGeneration", {
        **SEQUENCE, "vocab_size": 85, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2},
                 attention=1.4),
    "bart-untied": pair("BartForConditionalGeneration", {
        **SEQUENCE, "vocab_size": 71, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
        "tie_word_embeddings": False}, attention=1.4),
    "m2m_100": pair("M2M100ForConditionalGeneration", SMALL_SEQUENCE, embedding=0.2, attention=1.4),
    "blenderbot": pair("BlenderbotForConditionalGeneration", SMALL_SEQUENCE, attention=1.4),
    "blenderbot-small": pair("BlenderbotSmallForConditionalGeneration", SMALL_SEQUENCE, attention=1.4),
    "led": pair("LEDForConditionalGeneration", {
        **{key: value for key, value in SMALL_SEQUENCE.items() if key != "max_position_embeddings"},
        "max_encoder_position_embeddings": 40, "max_decoder_position_embeddings": 24, "attention_window": [8, 4]},
        attention=1.4),
    "bart-encoder": encoder("BartEncoder", SMALL_SEQUENCE, attention=1.4),
    "t5-encoder": encoder("T5EncoderModel", T5 | {"vocab_size": 61, "d_model": 24, "d_ff": 36}, attention=0.9),
    "umt5": pair("UMT5ForConditionalGeneration", T5 | {
        "vocab_size": 53, "d_model": 16, "d_kv": 4, "d_ff": 20, "num_decoder_layers": 3}, attention=1.0),
    "t5": pair("T5ForConditionalGeneration", T5, attention=0.9),
    "flan-t5": pair("T5ForConditionalGeneration", T5 | {
        "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "d_model": 28, "num_decoder_layers": 3},
        attention=0.85, untied=("lm_head", "weight")),
}
