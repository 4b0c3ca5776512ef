"""Configurations in the shape of well-known checkpoints, as their config.json spells them.

A row: the class, the number of parameters that is published (None where none is known: the row is unverified), and the
config. Where the number is given, transformers must count it from the config. Half of the world's files were written before
release 5 of transformers; their spelling is kept, and `LATER` writes some in the later one again.
"""

LLAMA3_ROPE = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192,
               "rope_type": "llama3"}


def sizes(width, inner, layers, heads, kv_heads, vocabulary, length, **more):
    """Llama's keys."""
    return {"hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads,
            "num_key_value_heads": kv_heads, "vocab_size": vocabulary, "max_position_embeddings": length, **more}


def llama(*given, **more):
    return sizes(*given, model_type="llama", hidden_act="silu", rms_norm_eps=1e-5, attention_bias=False,
                 torch_dtype="bfloat16", **{"rope_scaling": None, "rope_theta": 10000.0, "tie_word_embeddings": False, **more})


def mistral(*given, **more):
    return sizes(*given, model_type="mistral", hidden_act="silu", rms_norm_eps=1e-5, torch_dtype="bfloat16",
                 tie_word_embeddings=False, **{"rope_theta": 10000.0, "sliding_window": None, **more})


def qwen(kind, *given, **more):
    return sizes(*given, model_type=kind, hidden_act="silu", rms_norm_eps=1e-6, use_sliding_window=False,
                 torch_dtype="bfloat16", **{"rope_theta": 1000000.0, "sliding_window": 32768, "max_window_layers": 28,
                                            "tie_word_embeddings": False, **more})


def gemma(kind, *given, **more):
    return sizes(*given, model_type=kind, hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6, rope_theta=10000.0,
                 torch_dtype="bfloat16", **more)


def phi3(*given, **more):
    return sizes(*given, model_type="phi3", hidden_act="silu", rms_norm_eps=1e-5, rope_theta=10000.0, torch_dtype="bfloat16",
                 original_max_position_embeddings=4096, **{"tie_word_embeddings": False, **more})


def gpt2(width, layers, heads):
    return {"model_type": "gpt2", "n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": 1024, "n_ctx": 1024,
            "vocab_size": 50257, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "n_inner": None}


def neox(width, inner, layers, heads, vocabulary, **more):
    return {"model_type": "gpt_neox", "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "vocab_size": vocabulary, "max_position_embeddings": 2048, "hidden_act": "gelu",
            "rotary_pct": 0.25, "rotary_emb_base": 10000, "use_parallel_residual": True, "layer_norm_eps": 1e-5,
            "tie_word_embeddings": False, "torch_dtype": "float16", **more}


def opt(width, inner, layers, heads, **more):
    return {"model_type": "opt", "hidden_size": width, "ffn_dim": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "vocab_size": 50272, "max_position_embeddings": 2048, "activation_function": "relu",
            "do_layer_norm_before": True, "word_embed_proj_dim": width, "pad_token_id": 1, "torch_dtype": "float16", **more}


def bloom(width, layers, heads):
    return {"model_type": "bloom", "n_embed": width, "n_layer": layers, "num_attention_heads": heads, "vocab_size": 250880,
            "seq_length": 2048, "layer_norm_epsilon": 1e-5, "apply_residual_connection_post_layernorm": False}


def bert(kind, width, inner, layers, heads, vocabulary, **more):
    return {"model_type": kind, "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "vocab_size": vocabulary, "max_position_embeddings": 512, "type_vocab_size": 2,
            "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0, "position_embedding_type": "absolute", **more}


def roberta(kind, width, inner, layers, heads, vocabulary, **more):
    return bert(kind, width, inner, layers, heads, vocabulary,
                **{"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1, **more})


def deberta(width, inner, layers, heads, vocabulary):
    return {"model_type": "deberta-v2", "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "vocab_size": vocabulary, "max_position_embeddings": 512, "hidden_act": "gelu",
            "relative_attention": True, "max_relative_positions": -1, "position_buckets": 256, "norm_rel_ebd": "layer_norm",
            "share_att_key": True, "pos_att_type": "p2c|c2p", "layer_norm_eps": 1e-7, "type_vocab_size": 0,
            "position_biased_input": False, "pad_token_id": 0}


def t5(width, inner, d_kv, layers, heads, **more):
    return {"model_type": "t5", "d_model": width, "d_ff": inner, "d_kv": d_kv, "num_layers": layers, "num_heads": heads,
            "vocab_size": 32128, "relative_attention_num_buckets": 32, "layer_norm_epsilon": 1e-6, "pad_token_id": 0,
            "decoder_start_token_id": 0, "n_positions": 512, **more}


def bart(kind, width, inner, layers, heads, vocabulary, **more):
    return {"model_type": kind, "d_model": width, "encoder_layers": layers, "decoder_layers": layers,
            "encoder_attention_heads": heads, "decoder_attention_heads": heads, "encoder_ffn_dim": inner,
            "decoder_ffn_dim": inner, "vocab_size": vocabulary, "max_position_embeddings": 1024,
            "activation_function": "gelu", "pad_token_id": 1, "decoder_start_token_id": 2, **more}


CAUSAL, MASKED, PAIR, BARE = "AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM", "AutoModel"

CHECKPOINTS = {
    "gpt2": (CAUSAL, 124439808, gpt2(768, 12, 12)),
    "gpt2-xl": (CAUSAL, 1557611200, gpt2(1600, 48, 25)),
    "distilgpt2": (CAUSAL, 81912576, gpt2(768, 6, 12)),
    "openai-gpt": (CAUSAL, 116534784, {
        "model_type": "openai-gpt", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 512, "vocab_size": 40478,
        "afn": "gelu", "layer_norm_epsilon": 1e-5}),
    "opt-125m": (CAUSAL, 125239296, opt(768, 3072, 12, 12)),
    "opt-350m": (CAUSAL, 331196416, opt(1024, 4096, 24, 16, do_layer_norm_before=False, word_embed_proj_dim=512)),
    "opt-1.3b": (CAUSAL, 1315758080, opt(2048, 8192, 24, 32)),
    "bloom-560m": (CAUSAL, 559214592, bloom(1024, 24, 16)),
    "bloom-7b1": (CAUSAL, 7069016064, bloom(4096, 30, 32)),
    "pythia-70m": (CAUSAL, 70426624, neox(512, 2048, 6, 8, 50304)),
    "pythia-410m": (CAUSAL, 405334016, neox(1024, 4096, 24, 16, 50304)),
    "pythia-2.8b": (CAUSAL, 2775208960, neox(2560, 10240, 32, 32, 50304)),
    "gpt-neox-20b": (CAUSAL, 20554567680, neox(6144, 24576, 44, 64, 50432, hidden_act="gelu_fast")),
    "dolly-v2-3b": (CAUSAL, 2775086080, neox(2560, 10240, 32, 32, 50280)),
    "gpt-neo-125m": (CAUSAL, 125198592, {
        "model_type": "gpt_neo", "hidden_size": 768, "num_layers": 12, "num_heads": 12, "intermediate_size": None,
        "vocab_size": 50257, "max_position_embeddings": 2048, "window_size": 256, "activation_function": "gelu_new",
        "attention_types": [[["global", "local"], 6]], "layer_norm_epsilon": 1e-5,
        "attention_layers": ["global", "local"] * 6}),
    "TinyStories-33M": (CAUSAL, None, {
        "model_type": "gpt_neo", "hidden_size": 768, "num_layers": 4, "num_heads": 16, "intermediate_size": None,
        "vocab_size": 50257, "max_position_embeddings": 2048, "window_size": 256, "activation_function": "gelu_new",
        "attention_types": [[["global", "local"], 2]], "layer_norm_epsilon": 1e-5}),
    "gpt-j-6b": (CAUSAL, 6050882784, {
        "model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048, "vocab_size": 50400,
        "rotary_dim": 64, "n_inner": None, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
        "tie_word_embeddings": False}),
    "codegen-350M-mono": (CAUSAL, 356712448, {
        "model_type": "codegen", "n_embd": 1024, "n_layer": 20, "n_head": 16, "n_positions": 2048, "n_ctx": 2048,
        "vocab_size": 51200, "rotary_dim": 32, "n_inner": None, "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5, "tie_word_embeddings": False}),
    "phi-1_5": (CAUSAL, 1418270720, {**sizes(2048, 8192, 24, 32, None, 51200, 2048), "model_type": "phi", "rope_theta": 10000.0,
                                     "hidden_act": "gelu_new", "partial_rotary_factor": 0.5, "layer_norm_eps": 1e-5,
                                     "rope_scaling": None, "qk_layernorm": False, "tie_word_embeddings": False}),
    "phi-2": (CAUSAL, 2779683840, {**sizes(2560, 10240, 32, 32, 32, 51200, 2048), "model_type": "phi", "rope_theta": 10000.0,
                                   "hidden_act": "gelu_new", "partial_rotary_factor": 0.4, "layer_norm_eps": 1e-5,
                                   "rope_scaling": None, "qk_layernorm": False, "tie_word_embeddings": False}),
    "phi-3-mini-4k": (CAUSAL, 3821079552, phi3(3072, 8192, 32, 32, 32, 32064, 4096, sliding_window=2047, rope_scaling=None)),
    "phi-3-mini-128k": (CAUSAL, 3821079552, phi3(
        3072, 8192, 32, 32, 32, 32064, 131072, sliding_window=262144, rope_scaling={
            "type": "longrope", "short_factor": [1.0 + 0.05 * i for i in range(48)],
            "long_factor": [1.1 + 0.9 * i for i in range(48)]})),
    "phi-4": (CAUSAL, 14659507200, phi3(5120, 17920, 40, 40, 10, 100352, 16384, sliding_window=None, rope_scaling=None)
              | {"rope_theta": 250000, "original_max_position_embeddings": 16384}),
    "phi-4-mini": (CAUSAL, 3836021760, phi3(
        3072, 8192, 32, 24, 8, 200064, 131072, sliding_window=262144, partial_rotary_factor=0.75, tie_word_embeddings=True,
        rope_scaling={"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [1.0 + 0.9 * i for i in range(48)]})),
    "llama-7b": (CAUSAL, 6738415616, {**llama(4096, 11008, 32, 32, 32, 32000, 2048), "rms_norm_eps": 1e-6}),
    "llama-2-7b": (CAUSAL, 6738415616, llama(4096, 11008, 32, 32, 32, 32000, 4096)),
    "llama-2-13b": (CAUSAL, 13015864320, llama(5120, 13824, 40, 40, 40, 32000, 4096)),
    "llama-2-70b": (CAUSAL, 68976648192, llama(8192, 28672, 80, 64, 8, 32000, 4096)),
    "llama-3-8b": (CAUSAL, 8030261248, llama(4096, 14336, 32, 32, 8, 128256, 8192, rope_theta=500000.0)),
    "llama-3.1-8b": (CAUSAL, 8030261248, llama(4096, 14336, 32, 32, 8, 128256, 131072, rope_theta=500000.0,
                                               rope_scaling=LLAMA3_ROPE, mlp_bias=False)),
    "llama-3.1-70b": (CAUSAL, 70553706496, llama(8192, 28672, 80, 64, 8, 128256, 131072, rope_theta=500000.0,
                                                 rope_scaling=LLAMA3_ROPE, mlp_bias=False)),
    "llama-3.2-1b": (CAUSAL, 1235814400, llama(2048, 8192, 16, 32, 8, 128256, 131072, rope_theta=500000.0, head_dim=64,
                                               rope_scaling={**LLAMA3_ROPE, "factor": 32.0}, tie_word_embeddings=True)),
    "llama-3.2-3b": (CAUSAL, 3212749824, llama(3072, 8192, 28, 24, 8, 128256, 131072, rope_theta=500000.0, head_dim=128,
                                               rope_scaling={**LLAMA3_ROPE, "factor": 32.0}, tie_word_embeddings=True)),
    "codellama-7b": (CAUSAL, 6738546688, llama(4096, 11008, 32, 32, 32, 32016, 16384, rope_theta=1000000)),
    "deepseek-coder-1.3b": (CAUSAL, 1346471936, llama(2048, 5504, 24, 16, 16, 32256, 16384, rope_theta=100000,
                                                      rope_scaling={"factor": 4.0, "type": "linear"})),
    "deepseek-llm-7b": (CAUSAL, 6910365696, llama(4096, 11008, 30, 32, 32, 102400, 4096)),
    "yi-6b": (CAUSAL, 6061035520, llama(4096, 11008, 32, 32, 4, 64000, 4096, rope_theta=5000000.0)),
    "tinyllama-1.1b": (CAUSAL, 1100048384, llama(2048, 5632, 22, 32, 4, 32000, 2048)),
    "smollm-135m": (CAUSAL, 134515008, llama(576, 1536, 30, 9, 3, 49152, 2048, tie_word_embeddings=True)),
    "smollm2-1.7b": (CAUSAL, 1711376384, llama(2048, 8192, 24, 32, 32, 49152, 8192, rope_theta=130000,
                                               tie_word_embeddings=True)),
    "yarn-llama-2-7b-128k": (CAUSAL, 6738415616, llama(4096, 11008, 32, 32, 32, 32000, 131072, rope_scaling={
        "factor": 32.0, "original_max_position_embeddings": 4096, "type": "yarn", "finetuned": True})),
    "smollm3-3b": (CAUSAL, 3075098624, {
        **sizes(2048, 11008, 36, 16, 4, 128256, 65536), "model_type": "smollm3", "hidden_act": "silu", "rms_norm_eps": 1e-6,
        "rope_theta": 5000000.0, "rope_scaling": None, "no_rope_layers": [1, 1, 1, 0] * 9, "no_rope_layer_interval": 4,
        "use_sliding_window": False, "sliding_window": None, "max_window_layers": 28, "tie_word_embeddings": True,
        "layer_types": ["full_attention"] * 36}),
    "mistral-7b-v0.1": (CAUSAL, 7241732096, mistral(4096, 14336, 32, 32, 8, 32000, 32768, sliding_window=4096)),
    "mistral-7b-v0.3": (CAUSAL, 7248023552, mistral(4096, 14336, 32, 32, 8, 32768, 32768, rope_theta=1000000.0)),
    "mistral-nemo-12b": (CAUSAL, 12247782400, mistral(5120, 14336, 40, 32, 8, 131072, 1024000, rope_theta=1000000.0,
                                                      head_dim=128)),
    "mistral-small-24b": (CAUSAL, 23572403200, mistral(5120, 32768, 40, 32, 8, 131072, 32768, rope_theta=100000000.0,
                                                       head_dim=128)),
    "ministral-8b": (CAUSAL, 8019808256, mistral(4096, 12288, 36, 32, 8, 131072, 32768, rope_theta=100000000.0, head_dim=128,
                                                 sliding_window=32768)),
    "qwen2-0.5b": (CAUSAL, 494032768, qwen("qwen2", 896, 4864, 24, 14, 2, 151936, 131072, tie_word_embeddings=True,
                                           max_window_layers=24)),
    "qwen2.5-7b": (CAUSAL, 7615616512, qwen("qwen2", 3584, 18944, 28, 28, 4, 152064, 131072, sliding_window=131072)),
    "qwen2.5-14b": (CAUSAL, 14770033664, qwen("qwen2", 5120, 13824, 48, 40, 8, 152064, 131072, max_window_layers=48)),
    "qwen1.5-1.8b": (CAUSAL, 1836828672, qwen("qwen2", 2048, 5504, 24, 16, 16, 151936, 32768, max_window_layers=21)),
    "qwen3-0.6b": (CAUSAL, 596049920, qwen("qwen3", 1024, 3072, 28, 16, 8, 151936, 40960, head_dim=128, attention_bias=False,
                                           rope_scaling=None, sliding_window=None, tie_word_embeddings=True)),
    "qwen3-4b": (CAUSAL, 4022468096, qwen("qwen3", 2560, 9728, 36, 32, 8, 151936, 40960, head_dim=128, attention_bias=False,
                                          rope_scaling=None, sliding_window=None, max_window_layers=36,
                                          tie_word_embeddings=True)),
    "qwen3-8b": (CAUSAL, 8190735360, qwen("qwen3", 4096, 12288, 36, 32, 8, 151936, 40960, head_dim=128, attention_bias=False,
                                          rope_scaling=None, sliding_window=None, max_window_layers=36)),
    "gemma-2b": (CAUSAL, 2506172416, gemma("gemma", 2048, 16384, 18, 8, 1, 256000, 8192, head_dim=256, hidden_act="gelu")),
    "gemma-7b": (CAUSAL, 8537680896, gemma("gemma", 3072, 24576, 28, 16, 16, 256000, 8192, head_dim=256, hidden_act="gelu")),
    "gemma-2-2b": (CAUSAL, 2614341888, gemma(
        "gemma2", 2304, 9216, 26, 8, 4, 256000, 8192, head_dim=256, query_pre_attn_scalar=256, sliding_window=4096,
        attn_logit_softcapping=50.0, final_logit_softcapping=30.0, cache_implementation="hybrid")),
    "gemma-2-27b": (CAUSAL, 27227128320, gemma(
        "gemma2", 4608, 36864, 46, 32, 16, 256000, 8192, head_dim=128, query_pre_attn_scalar=144, sliding_window=4096,
        attn_logit_softcapping=50.0, final_logit_softcapping=30.0, cache_implementation="hybrid")),
    "gemma-3-1b": (CAUSAL, 999885952, gemma(
        "gemma3_text", 1152, 6912, 26, 4, 1, 262144, 32768, head_dim=256, query_pre_attn_scalar=256, sliding_window=512,
        sliding_window_pattern=6, rope_local_base_freq=10000, attn_logit_softcapping=None, final_logit_softcapping=None)
        | {"rope_theta": 1000000, "rope_scaling": None}),
    "gemma-3-270m": (CAUSAL, 268098176, {
        **sizes(640, 2048, 18, 4, 1, 262144, 32768), "model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh",
        "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 512, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0, "rope_scaling": None, "_sliding_window_pattern": 6, "dtype": "bfloat16",
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 3, "use_bidirectional_attention": False}),
    "embeddinggemma-300m": (BARE, 302863104, {
        **sizes(768, 1152, 24, 3, 1, 262144, 2048), "model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh",
        "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 512, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0, "rope_scaling": None, "_sliding_window_pattern": 6, "dtype": "float32",
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 4, "use_bidirectional_attention": True}),
    "falcon-7b": (CAUSAL, 6921720704, {
        "model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "num_kv_heads": 71,
        "vocab_size": 65024, "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False,
        "new_decoder_architecture": False, "layer_norm_epsilon": 1e-5, "torch_dtype": "bfloat16"}),
    "falcon-40b": (CAUSAL, 41303293952, {
        "model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8,
        "vocab_size": 65024, "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False,
        "new_decoder_architecture": True, "layer_norm_epsilon": 1e-5, "torch_dtype": "bfloat16"}),
    "falcon-rw-1b": (CAUSAL, 1311625216, {
        "model_type": "falcon", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "vocab_size": 50304,
        "multi_query": False, "parallel_attn": False, "bias": True, "alibi": True, "new_decoder_architecture": False,
        "layer_norm_epsilon": 1e-5}),
    "falcon3-7b": (CAUSAL, 7455550464, llama(3072, 23040, 28, 12, 4, 131072, 32768, rope_theta=1000042, head_dim=256)),
    "mpt-7b": (CAUSAL, 6649286656, {
        "model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32, "expansion_ratio": 4, "max_seq_len": 2048,
        "vocab_size": 50432, "attn_config": {"alibi": True, "alibi_bias_max": 8, "attn_type": "multihead_attention",
                                             "clip_qkv": None, "prefix_lm": False, "qk_ln": False, "softmax_scale": None},
        "no_bias": True, "layer_norm_epsilon": 1e-5}),
    "mpt-30b": (CAUSAL, 29957200896, {
        "model_type": "mpt", "d_model": 7168, "n_layers": 48, "n_heads": 64, "expansion_ratio": 4, "max_seq_len": 8192,
        "vocab_size": 50432, "attn_config": {"alibi": True, "alibi_bias_max": 8, "attn_type": "multihead_attention",
                                             "clip_qkv": None, "prefix_lm": False, "qk_ln": False, "softmax_scale": None},
        "no_bias": True, "layer_norm_epsilon": 1e-5}),
    "starcoderbase-1b": (CAUSAL, 1137207296, {
        "model_type": "gpt_bigcode", "n_embd": 2048, "n_layer": 24, "n_head": 16, "n_positions": 8192, "n_inner": 8192,
        "vocab_size": 49152, "multi_query": True, "activation_function": "gelu_pytorch_tanh", "layer_norm_epsilon": 1e-5}),
    "santacoder": (CAUSAL, None, {
        "model_type": "gpt_bigcode", "n_embd": 2048, "n_layer": 24, "n_head": 16, "n_positions": 2048, "n_inner": 8192,
        "vocab_size": 49280, "multi_query": True, "activation_function": "gelu_fast", "layer_norm_epsilon": 1e-5}),
    "starcoder2-3b": (CAUSAL, 3030371328, {
        **sizes(3072, 12288, 30, 24, 2, 49152, 16384), "model_type": "starcoder2", "hidden_act": "gelu_pytorch_tanh",
        "norm_epsilon": 1e-5, "use_bias": True, "sliding_window": 4096, "rope_theta": 999999.4420358813,
        "norm_type": "layer_norm", "mlp_type": "default"}),
    "stablelm-3b-4e1t": (CAUSAL, 2795443200, {
        **sizes(2560, 6912, 32, 32, 32, 50304, 4096), "model_type": "stablelm", "hidden_act": "silu", "layer_norm_eps": 1e-5,
        "partial_rotary_factor": 0.25, "rope_theta": 10000, "use_qkv_bias": False, "tie_word_embeddings": False}),
    "stablelm-2-1_6b": (CAUSAL, 1644515328, {
        **sizes(2048, 5632, 24, 32, 32, 100352, 4096), "model_type": "stablelm", "hidden_act": "silu", "layer_norm_eps": 1e-5,
        "partial_rotary_factor": 0.25, "rope_theta": 10000, "use_qkv_bias": True, "tie_word_embeddings": False}),
    "stablelm-2-12b": (CAUSAL, None, {
        **sizes(5120, 13824, 40, 32, 8, 100352, 4096), "model_type": "stablelm", "hidden_act": "silu", "layer_norm_eps": 1e-5,
        "partial_rotary_factor": 0.25, "rope_theta": 10000, "use_qkv_bias": False, "qk_layernorm": True,
        "use_parallel_residual": True, "tie_word_embeddings": False}),
    "olmo-1b": (CAUSAL, 1176764416, {
        **sizes(2048, 8192, 16, 16, 16, 50304, 2048), "model_type": "olmo", "hidden_act": "silu", "clip_qkv": None,
        "rope_theta": 10000.0, "tie_word_embeddings": True, "attention_bias": False}),
    "olmo-2-7b": (CAUSAL, 7298617344, {
        **sizes(4096, 11008, 32, 32, 32, 100352, 4096), "model_type": "olmo2", "hidden_act": "silu", "rms_norm_eps": 1e-6,
        "rope_theta": 500000, "rope_scaling": None, "tie_word_embeddings": False, "attention_bias": False}),
    "olmo-3-7b": (CAUSAL, 7298011136, {
        **sizes(4096, 11008, 32, 32, 32, 100278, 65536), "model_type": "olmo3", "hidden_act": "silu", "rms_norm_eps": 1e-6,
        "rope_theta": 500000, "sliding_window": 4096, "tie_word_embeddings": False, "attention_bias": False,
        "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 8, "rope_scaling": {
            "attention_factor": 1.2079441541679836, "beta_fast": 32.0, "beta_slow": 1.0, "factor": 8.0,
            "original_max_position_embeddings": 8192, "rope_type": "yarn"}}),
    "granite-3.0-2b": (CAUSAL, None, {
        **sizes(2048, 8192, 40, 32, 8, 49155, 4096), "model_type": "granite", "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "rope_scaling": None, "attention_multiplier": 0.015625, "embedding_multiplier": 12.0,
        "logits_scaling": 8.0, "residual_multiplier": 0.22, "tie_word_embeddings": True, "attention_bias": False}),
    "command-r-v01": (CAUSAL, 34980831232, {
        **sizes(8192, 22528, 40, 64, 64, 256000, 8192), "model_type": "cohere", "hidden_act": "silu", "layer_norm_eps": 1e-5,
        "logit_scale": 0.0625, "rope_theta": 8000000.0, "use_qk_norm": False, "attention_bias": False}),
    "command-r-plus": (CAUSAL, 103810674688, {
        **sizes(12288, 33792, 64, 96, 8, 256000, 8192), "model_type": "cohere", "hidden_act": "silu", "layer_norm_eps": 1e-5,
        "logit_scale": 0.8333333333333334, "rope_theta": 75000000.0, "use_qk_norm": True, "attention_bias": False}),
    "aya-23-8b": (CAUSAL, 8028033024, {
        **sizes(4096, 14336, 32, 32, 8, 256000, 8192), "model_type": "cohere", "hidden_act": "silu", "layer_norm_eps": 1e-5,
        "logit_scale": 0.0625, "rope_theta": 10000, "use_qk_norm": False, "attention_bias": False}),
    "command-r7b": (CAUSAL, None, {
        **sizes(4096, 14336, 32, 32, 8, 256000, 8192), "model_type": "cohere2", "hidden_act": "silu", "layer_norm_eps": 1e-5,
        "logit_scale": 0.25, "rope_theta": 50000, "rope_scaling": None, "sliding_window": 4096, "sliding_window_pattern": 4,
        "head_dim": 128, "attention_bias": False, "order_of_interleaved_layers": "local_attn_first",
        "position_embedding_type": "rope_gptj", "use_qk_norm": False, "use_parallel_block": True}),
    "exaone-4.0-1.2b": (CAUSAL, 1279391488, {
        **sizes(2048, 4096, 30, 32, 8, 102400, 65536), "model_type": "exaone4", "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "head_dim": 64, "rope_theta": 1000000, "rope_scaling": {**LLAMA3_ROPE, "factor": 16.0}, "sliding_window": None,
        "sliding_window_pattern": None, "layer_types": ["full_attention"] * 30, "tie_word_embeddings": True}),
    "exaone-4.0-32b": (CAUSAL, None, {
        **sizes(5120, 27392, 64, 40, 8, 102400, 131072), "model_type": "exaone4", "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "head_dim": 128, "rope_theta": 1000000, "rope_scaling": {**LLAMA3_ROPE, "factor": 16.0}, "sliding_window": 4096,
        "sliding_window_pattern": "LLLG", "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 16,
        "tie_word_embeddings": False}),
    "glm-4-9b": (CAUSAL, 9399951360, {
        **sizes(4096, 13696, 40, 32, 2, 151552, 131072), "model_type": "glm", "hidden_act": "silu",
        "rms_norm_eps": 1.5625e-07, "head_dim": 128, "rope_theta": 10000.0, "partial_rotary_factor": 0.5,
        "attention_bias": True, "tie_word_embeddings": False}),
    "glm-4-9b-0414": (CAUSAL, 9400279040, {
        **sizes(4096, 13696, 40, 32, 2, 151552, 32768), "model_type": "glm4", "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "head_dim": 128, "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "attention_bias": True,
        "tie_word_embeddings": False}),
    "glm-4-32b-0414": (CAUSAL, None, {
        **sizes(6144, 23040, 61, 48, 2, 151552, 32768), "model_type": "glm4", "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "head_dim": 128, "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "tie_word_embeddings": False}),
    "nemotron-mini-4b": (CAUSAL, None, {
        **sizes(3072, 9216, 32, 24, 8, 256000, 4096), "model_type": "nemotron", "hidden_act": "relu2", "norm_eps": 1e-5,
        "head_dim": 128, "partial_rotary_factor": 0.5, "rope_theta": 10000, "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": False}),
    "ernie-4.5-0.3b": (CAUSAL, 360748032, {
        **sizes(1024, 3072, 18, 16, 2, 103424, 131072), "model_type": "ernie4_5", "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "head_dim": 128, "rope_theta": 500000.0, "rope_scaling": None, "use_bias": False, "tie_word_embeddings": True}),
    "seed-oss-36b": (CAUSAL, 36151104512, {
        **sizes(5120, 27648, 64, 80, 8, 155136, 524288), "model_type": "seed_oss", "hidden_act": "silu",
        "rms_norm_eps": 1e-6, "head_dim": 128, "rope_theta": 10000000.0, "rope_scaling": {"rope_type": "default"},
        "attention_bias": True, "attention_out_bias": False, "mlp_bias": False, "tie_word_embeddings": False}),
    "helium-1-2b": (CAUSAL, None, {
        **sizes(2560, 7040, 24, 20, 20, 48000, 4096), "model_type": "helium", "hidden_act": "silu", "rms_norm_eps": 1e-8,
        "head_dim": 128, "rope_theta": 100000.0, "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False}),
    "xglm-564m": (CAUSAL, 564463616, {
        "model_type": "xglm", "d_model": 1024, "num_layers": 24, "attention_heads": 16, "ffn_dim": 4096, "vocab_size": 256008,
        "max_position_embeddings": 2048, "activation_function": "gelu", "scale_embedding": True, "pad_token_id": 1}),
    "bert-base-uncased": (BARE, 109482240, bert("bert", 768, 3072, 12, 12, 30522)),
    "bert-large-cased": (MASKED, None, bert("bert", 1024, 4096, 24, 16, 28996)),
    "all-MiniLM-L6-v2": (BARE, 22713216, bert("bert", 384, 1536, 6, 12, 30522)),
    "bge-m3": (BARE, 567754752, roberta("xlm-roberta", 1024, 4096, 24, 16, 250002, max_position_embeddings=8194)),
    "roberta-base": (MASKED, 124697433, roberta("roberta", 768, 3072, 12, 12, 50265)),
    "xlm-roberta-base": (MASKED, 278295186, roberta("xlm-roberta", 768, 3072, 12, 12, 250002)),
    "camembert-base": (MASKED, None, roberta("camembert", 768, 3072, 12, 12, 32005)),
    "distilbert-base-uncased": (BARE, 66362880, {
        "model_type": "distilbert", "dim": 768, "hidden_dim": 3072, "n_layers": 6, "n_heads": 12, "vocab_size": 30522,
        "max_position_embeddings": 512, "activation": "gelu", "sinusoidal_pos_embds": False, "pad_token_id": 0}),
    "albert-base-v2": (BARE, 11683584, {
        **bert("albert", 768, 3072, 12, 12, 30000), "embedding_size": 128, "num_hidden_groups": 1, "inner_group_num": 1,
        "hidden_act": "gelu_new", "net_structure_type": 0, "num_memory_blocks": 0}),
    "electra-small": (BARE, None, {**bert("electra", 256, 1024, 12, 4, 30522), "embedding_size": 128}),
    "mpnet-base": (BARE, 109486464, {
        "model_type": "mpnet", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
        "num_attention_heads": 12, "vocab_size": 30527, "max_position_embeddings": 514, "layer_norm_eps": 1e-5,
        "relative_attention_num_buckets": 32, "hidden_act": "gelu", "pad_token_id": 1}),
    "modernbert-base": (BARE, 149014272, {
        "model_type": "modernbert", "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 22,
        "num_attention_heads": 12, "vocab_size": 50368, "max_position_embeddings": 8192, "local_attention": 128,
        "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "norm_eps": 1e-5,
        "hidden_activation": "gelu", "pad_token_id": 50283, "attention_bias": False, "norm_bias": False, "mlp_bias": False}),
    "nomic-embed-text-v1.5": (BARE, None, {
        "model_type": "nomic_bert", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
        "num_attention_heads": 12, "vocab_size": 30528, "max_position_embeddings": 8192, "type_vocab_size": 2,
        "hidden_act": "silu", "layer_norm_eps": 1e-12, "pad_token_id": 0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}}),
    "esm2_t6_8M": (MASKED, None, {
        "model_type": "esm", "hidden_size": 320, "intermediate_size": 1280, "num_hidden_layers": 6, "num_attention_heads": 20,
        "vocab_size": 33, "max_position_embeddings": 1026, "position_embedding_type": "rotary", "token_dropout": True,
        "mask_token_id": 32, "pad_token_id": 1, "layer_norm_eps": 1e-5, "emb_layer_norm_before": False,
        "is_folding_model": False}),
    "deberta-v3-base": (BARE, 183831552, deberta(768, 3072, 12, 12, 128100)),
    "deberta-v3-large": (BARE, 434012160, deberta(1024, 4096, 24, 16, 128100)),
    "t5-small": (PAIR, 60506624, t5(512, 2048, 64, 6, 8)),
    "t5-3b": (PAIR, 2851598336, t5(1024, 16384, 128, 24, 32)),
    "flan-t5-base": (PAIR, None, t5(768, 2048, 64, 12, 12, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    "bart-base": (PAIR, 139420416, bart("bart", 768, 3072, 6, 12, 50265)),
    "bart-large-cnn": (PAIR, 406290432, bart("bart", 1024, 4096, 12, 16, 50264, scale_embedding=False)),
    "nllb-200-distilled-600M": (PAIR, 615073792, bart("m2m_100", 1024, 4096, 12, 16, 256206, activation_function="relu",
                                                      scale_embedding=True)),
    "mbart-large-50": (PAIR, 610879488, bart("mbart", 1024, 4096, 12, 16, 250054, scale_embedding=True)),
    "opus-mt-en-de": (PAIR, None, {
        **bart("marian", 512, 2048, 6, 8, 58101), "max_position_embeddings": 512, "activation_function": "swish",
        "pad_token_id": 58100, "decoder_start_token_id": 58100, "scale_embedding": True, "static_position_embeddings": True}),
    "pegasus-xsum": (PAIR, None, {
        **bart("pegasus", 1024, 4096, 16, 16, 96103), "max_position_embeddings": 512, "activation_function": "relu",
        "pad_token_id": 0, "decoder_start_token_id": 0, "scale_embedding": True, "static_position_embeddings": True}),
    "blenderbot-400M": (PAIR, None, {
        **bart("blenderbot", 1280, 5120, 12, 32, 8008), "encoder_layers": 2, "max_position_embeddings": 128,
        "pad_token_id": 0, "decoder_start_token_id": 1, "scale_embedding": True, "normalize_before": True}),
}

# Again, as release 5 of transformers writes them.
LATER = ("llama-3.1-8b", "phi-2", "phi-3-mini-128k", "pythia-70m", "gemma-3-1b", "olmo-3-7b", "deepseek-coder-1.3b",
         "stablelm-2-12b", "modernbert-base", "bloom-560m", "gpt2", "t5-small")
