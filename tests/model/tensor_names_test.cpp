// Tensors of a network under all names that files have for them, and those that are missing or no part of it.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "model/altered_model.h"

namespace tensor_names_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;
using nlohmann::json;

TEST_SUITE("cpu") {
  TEST_CASE("a tensor that is missing, mis-shaped or no part of the network is named") {
    CHECK(complaint_of_file("gpt2", [](Safetensors&) {}).empty());
    const std::string missing =
        complaint_of_file("gpt2", [](Safetensors& file) { file.header.erase("transformer.h.1.attn.c_proj.weight"); });
    CHECK(holds(missing, "no tensor 'transformer.h.1.attn.c_proj.weight' of shape [36, 36]"));
    CHECK(is_one_line(missing));
    const std::string swapped = complaint_of_file("gpt2", [](Safetensors& file) {
      file.header["transformer.h.0.attn.c_attn.weight"]["shape"] = {108, 36};
    });
    CHECK(holds(swapped, "'transformer.h.0.attn.c_attn.weight' has shape [108, 36], but [36, 108] is expected"));
    const std::string renamed = complaint_of_file(
        "gpt2", [](Safetensors& file) { file.rename("transformer.h.1.ln_2.bias", "transformer.h.1.ln_3.bias"); });
    CHECK(holds(renamed, "no tensor 'transformer.h.1.ln_2.bias' of shape [36]"));
    const std::string layer = complaint("gpt2", [](json& config) { config["n_layer"] = 1; });
    CHECK(holds(layer, "tensor 'transformer.h.1.attn.c_attn.bias' of shape [108] is no part of the GPT-2"));
    CHECK(
        holds(complaint("gpt2", [](json& config) { config["vocab_size"] = 129; }), "[128, 36], but [129, 36] is expected"));
    CHECK(
        holds(complaint("bert", [](json& config) { config["model_type"] = "gpt2"; }), "no tensor 'transformer.wte.weight'"));
  }

  TEST_CASE("an encoder without its decoder is a network of its own; a decoder without its encoder is refused") {
    const ModelDescription t5 = load_network(golden_model_path("t5-encoder")).description;
    CHECK(!t5.is_encoder_decoder);
    CHECK(!t5.is_causal);
    CHECK(!t5.has_logits);
    CHECK(t5.layers == 2);
    CHECK(t5.decoder_layers == 0);
    CHECK(!load_network(golden_model_path("bart-encoder")).description.is_encoder_decoder);
    // The file has the rest of a whole model, with the names of its stack.
    CHECK(complaint_of_file("bart", [](Safetensors& file) {
            std::vector<std::string> names;
            for (const auto& [name, entry] : file.header.items()) {
              if (name.starts_with("model.decoder.") || name == "lm_head.weight" || name == "final_logits_bias")
                names.push_back(name);
            }
            for (const std::string& name : names) file.header.erase(name);
          }).empty());
    CHECK(holds(complaint_of_file("bart",
                                  [](Safetensors& file) {
                                    std::vector<std::string> names;
                                    for (const auto& [name, entry] : file.header.items()) {
                                      if (name.starts_with("model.encoder.")) names.push_back(name);
                                    }
                                    for (const std::string& name : names) file.header.erase(name);
                                  }),
                " holds only the decoder of a BART: open the whole model, whose files have the encoder too; "
                "headlight.capture() in Python shows its attention"));
  }

  TEST_CASE("names with components of torch.compile and FSDP, and behind a wrapper's prefix, are those without") {
    const auto renamed = [](const auto& change) {
      return complaint_of_file("llama", [&](Safetensors& file) {
        json header;
        for (const auto& [name, entry] : file.header.items()) header[name == "__metadata__" ? name : change(name)] = entry;
        file.header = header;
      });
    };
    CHECK(renamed([](const std::string& name) { return "_orig_mod." + name; }).empty());
    CHECK(renamed([](const std::string& name) { return "module." + name; }).empty());
    CHECK(renamed([](const std::string& name) { return "module._orig_mod." + name; }).empty());
    CHECK(renamed([](const std::string& name) {
            const std::size_t at = name.find("self_attn.");
            return at == std::string::npos ? name : name.substr(0, at) + "_fsdp_wrapped_module." + name.substr(at);
          }).empty());
    CHECK(renamed([](const std::string& name) { return "module.base_model.model." + name; }).empty());
    CHECK(renamed([](const std::string& name) { return "model." + name; }).empty());
    CHECK(renamed([](const std::string& name) { return "model.module.model." + name; }).empty());
    CHECK(
        holds(renamed([](const std::string& name) { return "wrapped." + name; }), "no tensor 'model.embed_tokens.weight'"));
    // Tensors beside the wrapped network have no prefix.
    CHECK(renamed([](const std::string& name) { return name == "lm_head.weight" ? name : "module." + name; }).empty());
  }

  TEST_CASE("transformers' classes for other tasks are their network without a head over the vocabulary") {
    const auto unused = [](const char* golden, const auto& change) {
      const TemporaryDirectory folder;
      Safetensors file(golden_model_path(golden) / "model.safetensors");
      json header;
      for (const auto& [name, entry] : file.header.items()) {
        if (const std::string changed = name == "__metadata__" ? name : change(name); !changed.empty())
          header[changed] = entry;
      }
      file.header = header;
      file.write(folder.path() / "model.safetensors");
      std::filesystem::copy(golden_model_path(golden) / "config.json", folder.path() / "config.json");
      const ModelDescription about = load_network(folder.path()).description;
      CHECK_FALSE(about.has_logits);
      return about.unused_tensors;
    };
    // A classifier's dense layer has the name of that of the head, of which nothing else is there.
    const auto modern = unused("modernbert", [](const std::string& name) {
      return name == "decoder.weight" ? "classifier.weight" : name == "decoder.bias" ? "classifier.bias" : name;
    });
    CHECK(modern == std::vector<std::string>{"head.dense.weight", "head.norm.weight"});
    for (const char* decoder : {"llama", "nemotron", "seed_oss", "exaone4"}) {
      CAPTURE(decoder);
      CHECK(unused(decoder, [](const std::string& name) {
              return name == "lm_head.weight"     ? "qa_outputs.weight"
                     : name.starts_with("model.") ? "transformer." + name.substr(6)
                                                  : name;
            }).empty());
    }
  }

  TEST_CASE("of a table that is tied to the head a file may have the head alone") {
    // transformers writes OpenAIGPTDoubleHeadsModel so.
    CHECK(complaint_of_file("openai-gpt", [](Safetensors& file) {
            file.rename("transformer.tokens_embed.weight", "lm_head.weight");
          }).empty());
    CHECK(holds(complaint_of_file("llama", [](Safetensors& file) { file.header.erase("model.embed_tokens.weight"); }),
                "no tensor 'model.embed_tokens.weight'"));
  }

  TEST_CASE("layouts of other programs are read, or named") {
    const auto with = [](const char* golden, const auto& change) {
      return complaint_of_file(golden, [&](Safetensors& file) {
        json header;
        for (const auto& [name, entry] : file.header.items()) {
          header[name] = entry;
          change(header, name);
        }
        file.header = header;
      });
    };
    // nanoGPT's linear layers are [out, in], all of them.
    const auto transpose = [](json& header, const std::string& name) {
      const bool is_linear =
          name.ends_with("c_attn.weight") || name.ends_with("c_proj.weight") || name.ends_with("c_fc.weight");
      if (is_linear) header[name]["shape"] = {header[name]["shape"][1], header[name]["shape"][0]};
    };
    CHECK(with("gpt2", transpose).empty());
    CHECK(holds(with("gpt2",
                     [&](json& header, const std::string& name) {
                       if (!name.ends_with("h.1.mlp.c_proj.weight")) transpose(header, name);
                     }),
                "'transformer.h.1.mlp.c_proj.weight' has shape [68, 36], but [36, 68] is expected"));
    CHECK(holds(with("llama",
                     [](json& header, const std::string& name) {
                       header[name == "model.layers.0.self_attn.q_proj.weight" ? "layers.0.attention.wq.weight"
                              : name == "__metadata__"                         ? name
                                                                               : "x." + name] = header[name];
                       if (name != "__metadata__") header.erase(name);
                     }),
                "its tensors have Meta's names ('layers.0.attention.wq.weight'), not those of transformers"));
  }

  TEST_CASE("a Nomic BERT under transformers' names of tensors is the one under Nomic's own") {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames{{{"encoder.layers.", "layers."},
                                                                                   {"emb_ln", "embeddings.LayerNorm"},
                                                                                   {"attn.out_proj", "self_attn.o_proj"},
                                                                                   {"fc11", "up_proj"},
                                                                                   {"fc12", "gate_proj"},
                                                                                   {"fc2", "down_proj"},
                                                                                   {"norm1", "post_attention_layernorm"}}};
    CHECK(complaint_of_file("nomic_bert", [&](Safetensors& file) {
            json header;
            for (const auto& [name, entry] : file.header.items()) {
              std::string changed = name;
              for (const auto& [ours, theirs] : kNames) {
                const std::size_t at = changed.find(ours);
                if (at != std::string::npos) changed.replace(at, ours.size(), theirs);
              }
              const std::size_t fused = changed.find("attn.Wqkv");
              if (fused == std::string::npos) {
                header[changed] = entry;
                continue;
              }
              const std::uint64_t begin = entry["data_offsets"][0],
                                  part = (entry["data_offsets"][1].get<std::uint64_t>() - begin) / 3;
              for (std::uint64_t i = 0; i < 3; ++i) {
                json third = entry;
                third["shape"][0] = entry["shape"][0].get<std::uint64_t>() / 3;
                third["data_offsets"] = {begin + i * part, begin + (i + 1) * part};
                header[changed.substr(0, fused) + "self_attn." + "qkv"[i] + "_proj.weight"] = third;
              }
            }
            file.header = header;
          }).empty());
  }

  TEST_CASE("ESM rotates by the frequencies of its file, and by rope_theta where this has none") {
    const auto frequency = [](bool is_stored, double theta) {
      const TemporaryDirectory folder;
      Safetensors file(golden_model_path("esm") / "model.safetensors");
      if (!is_stored) file.header.erase("esm.encoder.layer.*.attention.self.rotary_embeddings.inv_freq");
      file.write(folder.path() / "model.safetensors");
      json config = config_of("esm");
      config["rope_theta"] = theta;
      const Network network = load_network(Checkpoint(folder.path() / "model.safetensors"), config.dump()).network;
      return network.layers->rotaries.front().inverse_frequencies.at(1);
    };
    CHECK(frequency(true, 100.0) == frequency(true, 10'000.0));
    CHECK(std::abs(frequency(false, 10'000.0) - frequency(true, 100.0)) < 1e-8);
    CHECK(std::abs(frequency(false, 729.0) - 1.0 / 9.0) < 1e-12);  // 6 components: 729^(−1/3)
  }

  TEST_CASE("T5's networks for other tasks are read below their prefix") {
    CHECK(complaint_of_file("t5", [](Safetensors& file) {
            json header;
            for (const auto& [name, entry] : file.header.items()) {
              header[name == "__metadata__" ? name : "transformer." + name] = entry;
            }
            file.header = header;
          }).empty());
  }

  TEST_CASE("special ids outside of the vocabulary are those of no token, and named") {
    json config = config_of("gpt2");
    config["bos_token_id"] = 50256;
    config["eos_token_id"] = {50256, 3, 128};
    config["pad_token_id"] = 127;
    const ModelDescription about = load_network(Checkpoint(golden_model_path("gpt2")), config.dump()).description;
    CHECK(!about.ids.bos);
    CHECK(about.ids.pad == 127);
    CHECK(about.ids.eos == std::vector<std::uint32_t>{3, 0});  // 0 from generation_config.json
    CHECK(about.ids_outside == std::vector<std::string>{"bos_token_id 50256", "eos_token_id 50256", "eos_token_id 128"});
  }

  TEST_CASE("a stack's own table and the linear layer's own bias take precedence") {
    // Untied networks keep more tensors than are used: shared.weight of BART, one of BERT's two biases.
    const LoadedNetwork bart = load_network(golden_model_path("bart-untied"));
    Checkpoint tables(golden_model_path("bart-untied"));
    CHECK(bart.network.source_embedding->table == tables.find("model.encoder.embed_tokens.weight"));
    CHECK(bart.network.target_embedding->table == tables.find("model.decoder.embed_tokens.weight"));
    CHECK(!(bart.network.source_embedding->table == tables.find("model.shared.weight")));
    const LoadedNetwork bert = load_network(golden_model_path("bert-untied"));
    Checkpoint biases(golden_model_path("bert-untied"));
    CHECK(bert.network.layers->unembedding->linear.bias == biases.find("cls.predictions.decoder.bias"));
    CHECK(!(bert.network.layers->unembedding->linear.bias == biases.find("cls.predictions.bias")));
  }

  TEST_CASE("names of older checkpoints, buffers and heads of other tasks are accepted") {
    const TemporaryDirectory folder;
    Safetensors file(golden_model_path("bert") / "model.safetensors");
    file.rename("bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma");
    file.rename("bert.embeddings.LayerNorm.bias", "bert.embeddings.LayerNorm.beta");
    const std::size_t end = file.numbers.size();
    const auto add = [&](const char* name, const char* type, const json& shape, std::size_t bytes) {
      file.header[name] = {
          {"dtype", type}, {"shape", shape}, {"data_offsets", {file.numbers.size(), file.numbers.size() + bytes}}};
      file.numbers.append(bytes, '\0');
    };
    add("bert.embeddings.position_ids", "I64", {1, 4}, 32);
    add("bert.pooler.dense.weight", "F32", {2, 2}, 16);
    add("cls.seq_relationship.weight", "F32", {2, 2}, 16);
    add("another_head.weight", "F32", {2}, 8);
    CHECK(file.numbers.size() == end + 72);
    file.write(folder.path() / "model.safetensors");
    std::filesystem::copy(golden_model_path("bert") / "config.json", folder.path() / "config.json");
    const LoadedNetwork loaded = load_network(folder.path());
    CHECK(loaded.description.unused_tensors == std::vector<std::string>{"another_head.weight"});
    const LoadedNetwork original = load_network(golden_model_path("bert"));
    CHECK(loaded.network.source_embedding->norm->weight == original.network.source_embedding->norm->weight);
    CHECK(loaded.description.parameter_count == original.description.parameter_count);
  }
}

}  // namespace tensor_names_test
