#include "model/load_network.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/file.h"
#include "model/altered_model.h"
#include "model/architectures/captured_types.h"
#include "model/architectures/families.h"
#include "model/architectures/settings.h"
#include "model/file_bytes.h"
#include "support/error_message.h"
#include "support/golden_model.h"
#include "support/temporary_directory.h"

namespace load_network_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;
using nlohmann::json;

namespace {

/// The error of loading a GGUF file of this architecture without tensors.
std::string complaint_of_architecture(std::string_view architecture) {
  const TemporaryDirectory folder;
  FileBytes bytes = FileBytes().raw("GGUF").number(3u).number(std::uint64_t{0}).number(std::uint64_t{1});
  write_file_atomically(folder.path() / "m.gguf",
                        bytes.text("general.architecture").number(8u).text(architecture).pad_to(32).bytes());
  return error_message([&] { load_network(folder.path() / "m.gguf"); });
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a description has the facts that the user sees") {
    const ModelDescription gpt2 = load_network(golden_model_path("gpt2")).description;
    CHECK(gpt2.family == "GPT-2");
    CHECK(gpt2.model_type == "gpt2");
    CHECK(gpt2.name == "gpt2");
    CHECK(gpt2.layers == 2);
    CHECK(gpt2.heads == 6);
    CHECK(gpt2.d_model == 36);
    CHECK(gpt2.d_k == 6);
    CHECK(gpt2.vocabulary == 128);
    CHECK(gpt2.max_length == 32);
    CHECK(gpt2.is_length_limited);
    CHECK(gpt2.is_causal);
    CHECK(!gpt2.is_encoder_decoder);
    CHECK(gpt2.has_logits);
    CHECK(gpt2.ids.eos == std::vector<std::uint32_t>{0});
    CHECK(gpt2.element_types == std::map<std::string, std::uint32_t>{{"F32", 28}});
    CHECK(gpt2.unused_tensors.empty());
    const std::uint64_t layer = 36 * 108 + 108 + 36 * 36 + 36 + 2 * (36 * 68) + 68 + 36 + 4 * 36;
    CHECK(gpt2.parameter_count == 128 * 36 + 32 * 36 + 2 * layer + 2 * 36);  // the tied table once
    CHECK(gpt2.file_bytes == 4 * gpt2.parameter_count);

    const ModelDescription roberta = load_network(golden_model_path("roberta")).description;
    CHECK(roberta.max_length == 32);  // 34 rows, two of them in front of the first position
    CHECK(roberta.token_types == 1);
    CHECK(!roberta.is_causal);

    const ModelDescription t5 = load_network(golden_model_path("flan-t5")).description;
    CHECK(t5.is_encoder_decoder);
    CHECK(t5.layers == 2);
    CHECK(t5.decoder_layers == 3);
    CHECK(t5.ids.decoder_start == 0);
    CHECK(!t5.is_length_limited);

    const ModelDescription mistral = load_network(golden_model_path("mistral")).description;
    CHECK(mistral.window == 7);
    CHECK(mistral.kv_heads == 2);
    CHECK(!load_network(golden_model_path("bert-base-model")).description.has_logits);
    const ModelDescription bidirectional = load_network(golden_model_path("mistral-bidirectional")).description;
    CHECK(!bidirectional.is_causal);
    CHECK(bidirectional.window == 7);  // transformers counts the distance 6 in

    const ModelDescription gguf = load_network(golden_model_path("gguf/llama-q8_0.gguf")).description;
    CHECK(gguf.family == "Llama");
    CHECK(gguf.name == "Headlight tiny llama-q8_0");
    CHECK(gguf.element_types.at("Q8_0") == 15);
    CHECK(gguf.max_length == 512);
  }

  TEST_CASE("layers that share their weights are counted once") {
    const LoadedNetwork albert = load_network(golden_model_path("albert"));
    CHECK(albert.network.layers->encoder.size() == 3);
    CHECK(albert.description.parameter_count * 4 == albert.description.file_bytes);
  }

  TEST_CASE("an unknown network is refused by name") {
    const std::string mamba = complaint(
        "llama", [](json& config) { config["model_type"] = "mamba"; }, false);
    CHECK(holds(mamba, "model_type 'mamba': Headlight shows attention; this network has none; supported: ALBERT, "));
    CHECK(!holds(mamba, "capture"));
    CHECK(is_one_line(mamba));
    for (const char* type : {"whisper", "deit", "qwen3_5", "vit_mae"}) {
      CHECK(holds(complaint("llama", [&](json& config) { config["model_type"] = type; }),
                  "needs sound or images; headlight.capture() in Python shows its attention; supported: "));
    }
    for (const char* type : {"qwen3_5_text", "qwen3_next", "jamba"}) {
      CHECK(holds(complaint("llama", [&](json& config) { config["model_type"] = type; }),
                  "only some layers of this network are attention; headlight.capture() in Python shows its attention"));
    }
    CHECK(holds(complaint("llama", [](json& config) { config["model_type"] = "gpt_oss"; }),
                "Headlight doesn't know this network; headlight.capture() in Python shows its attention"));
    for (const char* type : {"qwen2_5_vl", "qwen3_vl", "mllama", "llama4", "mistral3", "internvl", "smolvlm", "gemma3n"})
      CHECK(holds(complaint("llama", [&](json& config) { config["model_type"] = type; }), "needs sound or images"));
    CHECK(holds(complaint("llama",
                          [](json& config) {
                            config["model_type"] = "unknown_vl";
                            config["vision_config"] = {{"depth", 3}};
                          }),
                "model_type 'unknown_vl': Headlight reads text; this network needs sound or images"));
    CHECK(holds(complaint("llama", [](json& config) { config["model_type"] = "a\nb"; }),
                "model_type 'a\\nb': Headlight doesn't"));
    CHECK(holds(complaint("llama", [](json& config) { config.erase("model_type"); }), "model_type is missing"));
    CHECK(holds(complaint("llama",
                          [](json& config) {
                            config["quantization_config"] = {{"quant_method", "gptq"}};
                          }),
                "the weights are quantised (gptq): load the original model, or a GGUF file of it; headlight.capture() in"));
    CHECK(holds(
        complaint("llama",
                  [](json& config) {
                    config["quantization"] = {{"group_size", 64}, {"bits", 4}};
                    config["quantization_config"] = config["quantization"];
                  }),
        "the weights are quantised by MLX (4 bits): load the original model, or a GGUF file of it; headlight.capture()"));
    CHECK(holds(error_message([] { load_network(Checkpoint(golden_model_path("llama")), "{\"model_type\": "); }),
                "config.json: not JSON (line 1, column 16)"));
    CHECK(holds(error_message([] { load_network(Checkpoint(golden_model_path("llama")), "[]"); }), "isn't a JSON object"));
    CHECK(holds(error_message([] { load_network(Checkpoint(golden_model_path("llama")), "{\n \"a\": -Infinity}"); }),
                "config.json: not JSON (line 2, column 8: Infinity): correct it or download it again"));
    CHECK(holds(complaint("bert",
                          [](json& config) {
                            config["pruned_heads"] = {{"0", {1}}};
                          }),
                "pruned_heads is {\"0\":[1]}, but must be empty, all layers of one size: Headlight computes nothing "
                "else; headlight.capture() in Python shows its attention"));
    CHECK(complaint("bert", [](json& config) { config["pruned_heads"] = json::object(); }).empty());
  }

  TEST_CASE("an unknown network in a GGUF file is refused by what the file holds") {
    const auto with = complaint_of_architecture;
    for (const char* name : {"gemma3n", "gemma4", "plamo", "qwen2vl"}) {
      CHECK(holds(with(name),
                  ": Headlight doesn't know this network" + capture_hint(name) + "; supported in GGUF files: BERT, "));
    }
    for (const char* name : {"opt", "xglm", "helium", "mistral"}) {
      CHECK(holds(with(name),
                  ": Headlight reads it from a folder with config.json only" + capture_hint(name) + "; supported"));
    }
    CHECK(holds(with("rwkv6"), ": Headlight shows attention; this network has none; supported"));
    CHECK(holds(with("clip"), "needs sound or images"));
  }

  TEST_CASE("a GGUF file that holds no model is named as what it is") {
    const TemporaryDirectory folder;
    const auto complaint_of_kind = [&](std::string_view kind) {
      FileBytes bytes = FileBytes().raw("GGUF").number(3u).number(std::uint64_t{0}).number(std::uint64_t{2});
      bytes.text("general.type").number(8u).text(kind).text("general.architecture").number(8u).text("llama");
      write_file_atomically(folder.path() / "m.gguf", bytes.pad_to(32).bytes());
      return error_message([&] { load_network(folder.path() / "m.gguf"); });
    };
    CHECK(holds(complaint_of_kind("adapter"), "m.gguf is a LoRA adapter: open its folder of PEFT"));
    CHECK(holds(complaint_of_kind("imatrix"), "m.gguf is an importance matrix"));
    CHECK(holds(complaint_of_kind("mmproj"), "m.gguf is the part of a model that sees images"));
    CHECK(holds(complaint_of_kind("model"), "context_length is missing"));
  }

  TEST_CASE("a GGUF file's numbers of token types and positions are those of its tensors") {
    const TemporaryDirectory folder;
    FileBytes bytes = FileBytes().raw("GGUF").number(3u).number(std::uint64_t{2}).number(std::uint64_t{3});
    bytes.text("general.architecture").number(8u).text("bert");
    bytes.text("bert.context_length").number(4u).number(514u);
    bytes.text("tokenizer.ggml.token_type_count").number(4u).number(2u);
    std::uint64_t offset = 0;
    for (const auto& [name, rows] : {std::pair{"token_types.weight", 1}, {"position_embd.weight", 3}}) {
      bytes.text(name)
          .number(2u)
          .number(std::uint64_t{2})
          .number(static_cast<std::uint64_t>(rows))
          .number(0u)
          .number(offset);
      offset += 32;
    }
    write_file_atomically(folder.path() / "m.gguf", bytes.pad_to(32).zeros(64).bytes());
    const Settings settings = gguf_settings(GgufFile(folder.path() / "m.gguf"));
    CHECK(settings.count("type_vocab_size", 9) == 1);
    CHECK(settings.count("context_length", 999) == 3);
  }

  TEST_CASE("every network that is refused has no attention, or the line says what shows it") {
    std::vector<std::pair<std::string, bool>> types{{"one-of-next-year", true}, {"gptneox", true}, {"phi2", true}};
    for (const OtherNetworks& others : other_networks()) {
      for_each_name(others.types,
                    [&](std::string_view type) { types.emplace_back(std::string(type), others.has_attention); });
    }
    CHECK(types.size() > 150);
    for (const Family* family : folder_families()) {
      for_each_name(family->types, [&](std::string_view type) { types.emplace_back(std::string(type), true); });
    }
    std::size_t shown = 0;
    for (const auto& one : types) {
      // The folder's tensors are GPT-2's, the GGUF file has none.
      const std::string folder = complaint(
          "gpt2", [&](json& config) { config["model_type"] = one.first; }, one.second);
      for (const std::string& line : {folder, complaint_of_architecture(one.first)}) {
        if (line.empty()) {
          CHECK(one.first == "gpt2");
          ++shown;
          continue;
        }
        CHECK_MESSAGE(holds(line, kCaptureShows) == (one.second && has_name(kCapturedTypes, one.first)), line);
        CHECK_MESSAGE(holds(line, "doesn't show its attention") == (one.second && has_name(kRefusedTypes, one.first)), line);
        CHECK(is_one_line(line));
      }
    }
    CHECK(shown == 1);
  }

  TEST_CASE("types that capture() was tried with are in one list, and those without attention in none that it shows") {
    for_each_name(kCapturedTypes,
                  [](std::string_view type) { CHECK_MESSAGE(!has_name(kRefusedTypes, type), std::string(type)); });
    for (const OtherNetworks& others : other_networks()) {
      if (others.has_attention) continue;
      for_each_name(others.types,
                    [](std::string_view type) { CHECK_MESSAGE(!has_name(kCapturedTypes, type), std::string(type)); });
    }
    for (const char* type : {"swin", "swinv2", "segformer", "hiera", "levit", "pvt", "longformer", "reformer", "longt5",
                             "yoso", "canine", "prophetnet"}) {
      CHECK_MESSAGE(has_name(kRefusedTypes, type), type);
    }
    for (const char* type : {"funnel", "perceiver", "one-of-next-year"})
      CHECK_MESSAGE(!has_name(kCapturedTypes, type), type);
  }

  TEST_CASE("experts: more for a token than there are, none, huge numbers are refused") {
    const auto with = [](std::string_view name, const char* key, const json& value) {
      std::string found = complaint(name, [&](json& config) { config[key] = value; });
      CAPTURE(found);
      CHECK(is_one_line(found));
      return found;
    };
    CHECK(holds(with("mixtral", "num_experts_per_tok", 6),
                "num_experts_per_tok is 6, but must be a whole number from 1 to 5"));
    CHECK(holds(with("mixtral", "num_experts_per_tok", 0),
                "num_experts_per_tok is 0, but must be a whole number from 1 to 5"));
    CHECK(
        holds(with("mixtral", "num_local_experts", 0), "num_local_experts is 0, but must be a whole number from 1 to 1024"));
    CHECK(holds(with("olmoe", "num_experts", 4294967297.0), "num_experts is 4294967297"));
    CHECK(holds(with("granitemoe", "num_local_experts", -1), "num_local_experts is -1"));
    CHECK(holds(with("qwen2_moe", "moe_intermediate_size", 1e9), "moe_intermediate_size is 1000000000"));
    CHECK(holds(with("qwen2_moe", "decoder_sparse_step", 0), "decoder_sparse_step is 0"));
    CHECK(holds(with("qwen2_moe", "mlp_only_layers", "all"), "mlp_only_layers is \"all\", but must be a list of numbers"));
    // Fewer or more experts than the file has.
    CHECK(holds(with("mixtral", "num_local_experts", 6), "has no tensor 'model.layers.0.block_sparse_moe.gate.weight'") !=
          holds(with("mixtral", "num_local_experts", 6), "shape [5, 24], but [6, 24] is expected"));
    CHECK(holds(with("qwen3_moe-fused", "num_experts", 6), "has shape [7, "));
    // No experts at all: dense layers, whose tensors the file doesn't have.
    CHECK(holds(with("qwen3_moe", "num_experts", 0), "has no tensor 'model.layers.0.mlp.up_proj.weight'"));
  }

  TEST_CASE("experts: parameters of all, and of those that a token uses") {
    const LoadedNetwork loaded = load_network(golden_model_path("qwen2_moe"));
    const std::optional<Experts>& experts = loaded.network.layers->encoder.at(1).experts;
    REQUIRE(experts);
    CHECK(experts->count() == 6);
    CHECK(experts->per_token == 3);
    CHECK_FALSE(experts->gates_sum_to_one);
    CHECK(experts->shared->in.out() == 28);
    CHECK(experts->shared_gate->out() == 1);
    for (const std::uint32_t dense : {0u, 2u, 3u}) CHECK(loaded.network.layers->encoder.at(dense).feed_forward);
    CHECK(loaded.network.idle_parameter_count() == 3 * 3 * 20 * 24);
    CHECK(load_network(golden_model_path("llama")).network.idle_parameter_count() == 0);
  }

  TEST_CASE("numbers out of their range are refused with key and value") {
    const auto with = [](std::string_view name, const char* key, const json& value) {
      std::string found = complaint(name, [&](json& config) { config[key] = value; });
      CAPTURE(found);
      CHECK(is_one_line(found));
      return found;
    };
    CHECK(holds(with("llama", "num_hidden_layers", 0), "num_hidden_layers is 0, but must be a whole number from 1 to 1024"));
    CHECK(holds(with("llama", "num_hidden_layers", 1e30), "num_hidden_layers is 1e+30, but must be"));
    CHECK(holds(with("llama", "num_hidden_layers", 2.5), "num_hidden_layers is 2.5"));
    CHECK(holds(with("llama", "num_hidden_layers", "2"), "num_hidden_layers is \"2\""));
    CHECK(holds(with("llama", "num_hidden_layers", nullptr), "num_hidden_layers is null"));
    CHECK(holds(with("llama", "num_attention_heads", -4), "num_attention_heads is -4"));
    CHECK(holds(with("llama", "num_key_value_heads", 3), "num_key_value_heads is 3, but must be a divisor of the 4 heads"));
    CHECK(holds(with("gpt2", "n_head", 5), "n_head is 5, but must be a divisor of the width 36"));
    CHECK(holds(with("gpt2", "n_embd", 4000000000u), "n_embd is 4000000000"));
    CHECK(holds(with("gpt2", "vocab_size", -1), "vocab_size is -1"));
    CHECK(holds(with("gpt2", "layer_norm_epsilon", -1.0), "layer_norm_epsilon is -1.0, but must be a number from 0 to 1"));
    CHECK(holds(with("gpt2", "eos_token_id", "a"), "eos_token_id is \"a\", but must be an id of the vocabulary"));
    CHECK(holds(with("gpt2", "activation_function", "mish"), "activation_function is \"mish\", but must be relu"));
    CHECK(holds(with("gpt2", "add_cross_attention", true), "add_cross_attention is true, but must be false"));
    CHECK(holds(with("gpt2", "scale_attn_weights", 1), "scale_attn_weights is 1, but must be true or false"));
    CHECK(holds(with("bert", "position_embedding_type", "rotary"), "must be absolute, relative_key or relative_key_query"));
    CHECK(holds(with("esm", "position_embedding_type", "relative_key"), "must be absolute or rotary"));
    CHECK(holds(with("albert", "position_embedding_type", "relative_key"), "must be absolute"));
    CHECK(holds(with("deberta-v3", "conv_kernel_size", 3), "conv_kernel_size is 3, but must be 0"));
    CHECK(holds(with("deberta-v3", "share_att_key", false), "has no tensor 'deberta.encoder.layer.0.attention.self.pos_"));
    CHECK(holds(with("deberta-v3", "embedding_size", 16), "embedding_size is 16, but must be 24, the width of the layers"));
    CHECK(holds(with("deberta-v3", "position_buckets", 2), "position_buckets is 2, but must be from 4 to 12"));
    CHECK(holds(with("esm", "is_folding_model", true), "is_folding_model is true, but must be false"));
    CHECK(holds(with("mpnet", "relative_attention_num_buckets", 16), "is 16, but must be at least 32"));
    CHECK(holds(with("nomic_bert", "prenorm", true), "prenorm is true, but must be false"));
    CHECK(holds(with("nomic_bert", "rotary_emb_fraction", 0.5), "rotary_emb_fraction is 0.5, but must be 1"));
    CHECK(holds(with("led", "attention_window", json::array({8})), "must be one number or a list of 2"));
    CHECK(holds(with("roberta", "max_position_embeddings", 2), "must be more than 2"));
    CHECK(holds(with("gemma2", "layer_types", json::array({"full_attention"})), "must be a list of 4 texts"));
    CHECK(holds(with("gemma2", "layer_types", json(std::vector<std::string>(4, "linear\n"))), "is of type 'linear\\n'"));
    CHECK(holds(with("smollm3", "no_rope_layers", json::array({1})),
                "no_rope_layers is [1], but must be a list of 2 numbers"));
    CHECK(holds(with("albert", "num_hidden_groups", 2), "num_hidden_groups is 2, but must be a divisor of the 3 layers"));
    CHECK(holds(with("t5", "relative_attention_max_distance", 3), "relative_attention_max_distance is 3, but must be more"));
    CHECK(holds(with("t5", "dense_act_fn", "mish"), "dense_act_fn is \"mish\", but must be relu"));
    CHECK(holds(complaint("t5",
                          [](json& config) {
                            config.erase("dense_act_fn");
                            config["feed_forward_proj"] = "gated-mish";
                          }),
                "feed_forward_proj is \"gated-mish\", but must be relu"));
  }

  TEST_CASE("switches of newer decoders that aren't computed are refused by name") {
    const auto of_mpt = [](const char* key, const json& value) {
      return complaint("mpt", [&](json& config) { config["attn_config"][key] = value; });
    };
    CHECK(holds(of_mpt("alibi", false), "attn_config.alibi is false, but must be true: Headlight computes nothing else"));
    CHECK(holds(of_mpt("qk_ln", true), "attn_config.qk_ln is true, but must be false"));
    CHECK(holds(of_mpt("prefix_lm", true), "attn_config.prefix_lm is true, but must be false"));
    CHECK(holds(of_mpt("attn_type", "multiquery_attention"), "but must be multihead_attention"));
    CHECK(holds(of_mpt("alibi_bias_max", 16), "attn_config.alibi_bias_max is 16, but must be 8"));
    CHECK(holds(of_mpt("clip_qkv", -1), "attn_config.clip_qkv is -1, but must be a number from 0"));
    CHECK(
        holds(complaint("mpt", [](json& config) { config["attn_config"] = 3; }), "attn_config is 3, but must be an object"));
    CHECK(of_mpt("clip_qkv", nullptr).empty());
    // transformers' masks of Gemma 1 and 2 stay causal with it, or not, by the attention function.
    CHECK(holds(complaint("gemma2", [](json& config) { config["use_bidirectional_attention"] = true; }),
                "use_bidirectional_attention is true, but must be false"));
    const auto of_neo = [](const json& types) {
      return complaint("gpt_neo", [&](json& config) {
        config.erase("attention_layers");
        config["attention_types"] = types;
      });
    };
    CHECK(of_neo({{{"global"}, 2}}).empty());
    CHECK(holds(of_neo({{{"global", "local"}, 2}}), "attention_types is [[["));
    CHECK(holds(of_neo({{{"global", "local"}, 2}}), "],2]], but must be types of 2 layers"));
    CHECK(holds(of_neo(nullptr), "attention_types is null, but must be types of 2 layers"));
    CHECK(holds(of_neo({{{"global", "dilated"}, 1}}), "layer 1 is of type 'dilated'"));
    for (const json& wrong : {json(3), json{"global"}, json{{{"global"}, -1}}, json{{{"global"}, 1e9}}, json{{{3}, 2}}}) {
      CHECK(holds(of_neo(wrong), "but must be a list of [texts, number of times]"));
    }
    CHECK(holds(complaint("codegen", [](json& config) { config["n_head"] = 2; }), "fused in quarters has 2 heads"));
    CHECK(
        holds(complaint("gptj", [](json& config) { config["rotary_dim"] = 3; }), "RoPE rotates 3 of a head's 8 components"));
    CHECK(holds(complaint("falcon-grouped", [](json& config) { config["num_kv_heads"] = 3; }),
                "num_kv_heads is 3, but must be a divisor of the 4 heads"));
    CHECK(holds(complaint("granite", [](json& config) { config["logits_scaling"] = 0; }), "logits_scaling is 0"));
  }

  TEST_CASE("configurations of newer decoders have transformers' meaning and defaults") {
    const auto windows_of = [](const char* golden, const json& changes) {
      json config = config_of(golden);
      config.erase("layer_types");
      config.update(changes);
      std::vector<std::pair<std::uint32_t, bool>> found;
      const LoadedNetwork loaded = load_network(Checkpoint(golden_model_path(golden)), config.dump());
      for (const AttentionLayer& layer : loaded.network.layers->encoder)
        found.emplace_back(layer.config.window, layer.config.rotary.has_value());
      return found;
    };
    using Windows = std::vector<std::pair<std::uint32_t, bool>>;
    CHECK(windows_of("exaone4", {{"sliding_window_pattern", 2}}) == Windows{{6, true}, {0, false}});
    CHECK(windows_of("exaone4",
                     {{"sliding_window_pattern", "LG"}, {"layer_types", {"full_attention", "sliding_attention"}}}) ==
          Windows{{0, false}, {6, true}});
    CHECK(windows_of("exaone4", {{"sliding_window", nullptr}, {"layer_types", {"full_attention", "full_attention"}}}) ==
          Windows{{0, true}, {0, true}});
    CHECK(windows_of("cohere2", json::object()) == Windows{{6, true}, {6, true}});  // every fourth layer has no window
    CHECK(windows_of("ministral", {{"sliding_window", nullptr}}) == Windows{{0, true}, {0, true}});
    CHECK(windows_of("starcoder2", {{"sliding_window", nullptr}}) == Windows{{0, true}, {0, true}});
    // embeddinggemma: half of the window on either side, the token itself counted in.
    CHECK(windows_of("gemma3-bidirectional", {{"sliding_window", 7}, {"sliding_window_pattern", 2}}) ==
          Windows{{4, true}, {0, true}});
    CHECK(!load_network(golden_model_path("gemma3-bidirectional")).description.is_causal);
    // The hub's older files leave these keys out.
    json cohere = config_of("cohere");
    cohere.erase("logit_scale");
    CHECK(load_network(Checkpoint(golden_model_path("cohere")), cohere.dump()).network.layers->unembedding->scale ==
          0.0625f);
    const Network olmo = load_network(golden_model_path("olmo")).network;
    CHECK(olmo.layers->encoder_norm->is_plain);
    CHECK(olmo.parameter_count() * 4 == load_network(golden_model_path("olmo")).description.file_bytes);
  }

  TEST_CASE("unsupported RoPE scaling is refused") {
    const auto with = [](const json& parameters) {
      return complaint("llama", [&](json& config) { config["rope_parameters"] = parameters; });
    };
    CHECK(holds(with({{"rope_type", "mrope"}, {"factor", 2.0}}),
                "rope_parameters: rope_type is \"mrope\", but must be default, linear, dynamic, llama3, yarn or longrope"));
    CHECK(holds(with({{"rope_type", "dynamic"}}), "rope_parameters: factor is missing"));
    CHECK(holds(with({{"rope_type", "linear"}}), "rope_parameters: factor is missing"));
    CHECK(holds(with({{"rope_type", "linear"}, {"factor", 0}}), "rope_parameters: factor is 0"));
    CHECK(holds(with({{"rope_type", "longrope"}, {"short_factor", {1.0}}, {"long_factor", {1.0}}}),
                "long_factor is [1.0], but must be a list of 4 numbers"));
    CHECK(holds(with({{"rope_theta", 0}}), "rope_theta is 0"));
    CHECK(holds(with({{"rope_type", "yarn"}, {"factor", 2}, {"original_max_position_embeddings", 1}}),
                "original_max_position_embeddings is 1, but must be a whole number from 2"));
    CHECK(holds(complaint("phi3",
                          [](json& config) {
                            config["rope_parameters"] = {{"partial_rotary_factor", 0.35}};
                          }),
                "rotates 3 of a head's 10 components"));
    CHECK(holds(with(3), "rope_parameters is 3, but must be an object"));
  }

  TEST_CASE("the hub's cache names a model by owner and repository") {
    const TemporaryDirectory folder;
    const std::filesystem::path snapshot = folder.path() / "models--owner--tiny-gpt2" / "snapshots" / "0123abcd";
    std::filesystem::create_directories(snapshot);
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::copy(golden_model_path("gpt2") / name, snapshot / name);
    CHECK(load_network(snapshot).description.name == "owner/tiny-gpt2");
  }
}

}  // namespace load_network_test
