"""headlight.capture() of models of transformers, where that is installed."""

import importlib.util
import json
import os
import tempfile
import unittest

import headlight
import numpy as np
from test_package import exported

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
if HAS_TRANSFORMERS:
    import torch
    import transformers

    # Debian's transformers is older than its AttentionInterface: then weights are captured.
    RECORDS = hasattr(transformers, "AttentionInterface")


class Tokenizer:
    def __call__(self, texts, **_):
        return {"input_ids": torch.tensor([[len(word) for word in text.split()] for text in texts])}

    def convert_ids_to_tokens(self, ids):
        return [f"w{token}" for token in ids]


class EndingTokenizer(Tokenizer):
    eos_token_id = 1

    def __call__(self, texts=None, text_target=None, **_):
        return super().__call__([f"{text} e" for text in (texts or text_target)])


@unittest.skipUnless(HAS_TRANSFORMERS, "transformers is not installed")
class Transformers(unittest.TestCase):
    def gpt2(self):
        config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=50, n_positions=16)
        return transformers.GPT2LMHeadModel(config)

    def test_a_decoder_is_captured_without_dropout_and_left_as_it_was(self):
        model = self.gpt2().train()
        model.transformer.h[1].eval()
        capture = headlight.capture(model, Tokenizer(), "a bc def", opens=False)
        self.assertTrue(model.training)
        self.assertFalse(model.transformer.h[1].training)
        self.assertEqual(capture.words["mask"], "causal")
        self.assertEqual(json.loads(capture.words["tokens"]), [["w1", "w2", "w3"]])
        array = capture.arrays()["q.1" if RECORDS else "attention.1"]
        self.assertEqual(array.shape, (1, 2, 3, 4 if RECORDS else 3))
        if not RECORDS:
            self.assertLess(abs(array.sum(-1) - 1).max(), 1e-6)

    def test_means_of_a_multi_head_attention_of_pytorch(self):
        layer, vectors = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(3, 4, 8)
        means, heads = (layer(vectors, vectors, vectors, average_attn_weights=average)[1] for average in (True, False))
        tokens = [list("abcd")] * 3
        self.assertEqual(headlight.Capture([heads], tokens).arrays()["attention.0"].shape, (3, 2, 4, 4))
        found = headlight.Capture([means], tokens).arrays()["attention.0"]
        self.assertLess(abs(found[:, 0] - heads.detach().numpy().mean(axis=1)).max(), 1e-7)  # observed: 3e-8

    def test_each_line_of_a_batch_is_as_it_is_alone(self):
        model = self.gpt2().eval()
        name = "q.1" if RECORDS else "attention.1"
        texts = ["a bc def", "gh", "abcd ab a"]
        batch = headlight.capture(model, Tokenizer(), texts, opens=False)
        self.assertEqual((batch.words["lengths"], batch.words["starts"]), ("[3, 1, 3]", "[0, 0, 0]"))
        self.assertEqual(json.loads(batch.words["tokens"])[1], ["w2", "<pad>", "<pad>"])
        for line, text in enumerate(texts):
            alone = headlight.capture(model, Tokenizer(), text, opens=False).arrays()[name][0]
            rows, columns = alone.shape[-2:]
            self.assertLess(abs(batch.arrays()[name][line, :, :rows, :columns] - alone).max(), 1e-6)
        with self.assertRaisesRegex(headlight.HeadlightError, "no decoder beside an encoder"):
            headlight.capture(model, Tokenizer(), "a", target="b", opens=False)

    def test_of_an_encoder_decoder_the_decoder_reads_its_start_token_and_the_target_without_its_end(self):
        config = transformers.T5Config(
            vocab_size=50, d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2, decoder_start_token_id=0
        )
        translator = transformers.T5ForConditionalGeneration(config).eval()
        pair = headlight.capture(translator, EndingTokenizer(), ["abc ab", "ab"], target=["ab abc", "abcd"], opens=False)
        self.assertEqual(json.loads(pair.words["query_tokens"]), [["w0", "w2", "w3"], ["w0", "w4", "<pad>"]])
        self.assertEqual(json.loads(pair.words["key_tokens"]), [["w3", "w2", "w1"], ["w2", "w1", "<pad>"]])
        self.assertEqual((pair.words["lengths"], pair.words["query_lengths"]), ("[3, 2]", "[3, 2]"))
        self.assertEqual(pair.arrays()["cross_k.1" if RECORDS else "cross_attention.1"].shape, (2, 2, 3, 4 if RECORDS else 3))
        if RECORDS:  # the decoder's positions are a bias, its mask a word
            self.assertEqual((pair.words["mask"], pair.words["encoder_scale"]), ("causal", "[1.0, 1.0]"))
            self.assertEqual(pair.arrays()["decoder_bias.0"].shape, (2, 2, 3, 3))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(exported(pair, folder).target_tokens, [["w0", "w2", "w3"], ["w0", "w4"]])

    @unittest.skipUnless(HAS_TRANSFORMERS and RECORDS, "transformers has no AttentionInterface")
    def test_norms_are_of_what_heads_add_by_their_output_weights(self):
        llama = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                num_hidden_layers=1, hidden_size=16, intermediate_size=16, num_attention_heads=4, num_key_value_heads=2,
                vocab_size=50, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            )
        )  # fmt: skip
        bert = transformers.BertModel(
            transformers.BertConfig(
                num_hidden_layers=1, hidden_size=16, intermediate_size=16, num_attention_heads=4, vocab_size=50
            )
        )
        gpt2 = self.gpt2()
        for model, output in (
            (llama, llama.model.layers[0].self_attn.o_proj.weight),
            (bert, bert.encoder.layer[0].attention.output.dense.weight),
            (gpt2, gpt2.transformer.h[0].attn.c_proj.weight.T),
        ):
            with self.subTest(type(model).__name__), tempfile.TemporaryDirectory() as folder:
                capture = headlight.capture(model.eval(), Tokenizer(), "a bc def gh", opens=False)
                path = os.path.join(folder, "capture.safetensors")
                capture.save(path)
                weights = headlight.run(flags=["--capture", path])["weights"][0]
                norms = headlight.run(flags=["--capture", path, "--norms"])["norms"][0]
                value = capture.arrays()["v.0"]
                value = value.repeat(weights.shape[1] // value.shape[1], axis=1)
                parts = output.detach().numpy().reshape(output.shape[0], value.shape[1], value.shape[3])
                added = np.linalg.norm(np.einsum("bhkd,ohd->bhko", value, parts), axis=-1)
                self.assertLess(abs(norms - weights * added[:, :, None]).max() / norms.max(), 1e-6)

    @unittest.skipUnless(HAS_TRANSFORMERS and hasattr(transformers, "GptOssConfig"), "transformers has no gpt-oss")
    def test_sinks_and_a_window_in_every_second_layer(self):
        config = transformers.GptOssConfig(
            num_hidden_layers=2, hidden_size=16, intermediate_size=16, num_attention_heads=4, num_key_value_heads=2,
            head_dim=4, vocab_size=50, sliding_window=2, num_local_experts=4, num_experts_per_tok=2, pad_token_id=0,
        )  # fmt: skip
        model = transformers.GptOssForCausalLM(config).eval()
        for layer in model.model.layers:
            layer.self_attn.sinks.data.uniform_(-1, 1)
        capture = headlight.capture(model, Tokenizer(), "a bc def gh i", opens=False)
        self.assertEqual((capture.words["mask"], capture.words["window"]), ("causal", "[2, 0]"))
        model.set_attn_implementation("eager")
        expected = model(**Tokenizer()(["a bc def gh i"]), output_attentions=True).attentions
        with tempfile.TemporaryDirectory() as folder:
            weights = exported(capture, folder)["weights"]
        for layer, of_layer in enumerate(expected):
            self.assertLess(abs(weights[layer] - of_layer.detach().numpy()).max(), 1e-6)

    def test_a_model_without_attention_is_refused(self):
        config = transformers.MambaConfig(vocab_size=50, hidden_size=8, num_hidden_layers=1, state_size=4)
        with self.assertRaisesRegex(
            headlight.HeadlightError, "^MambaForCausalLM returned no attention: (its layers have none|it takes)"
        ):
            headlight.capture(transformers.MambaForCausalLM(config), Tokenizer(), "a", opens=False)
