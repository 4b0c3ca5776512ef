"""headlight.capture() and capturing() of models of transformers that see images, go on from a cache, or read padded batches.

Weights that the program computes from what was kept are compared with those that the model returns of the whole text at once."""

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

RECORDS = HAS_TRANSFORMERS and hasattr(transformers, "AttentionInterface")
BOUND = 2e-6  # observed: 8e-7 (PaliGemma)
SMALL = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4)
TEXT = dict(SMALL, vocab_size=64, num_key_value_heads=2, bos_token_id=1, eos_token_id=None, pad_token_id=0)
VISION = dict(SMALL, image_size=16, patch_size=4)
IMAGE, START, END = 63, 62, 61


class Tokenizer:
    def convert_ids_to_tokens(self, ids):
        return [f"w{token}" for token in ids]


class BlankTokenizer(Tokenizer):
    """Adds a begin token to what is blank, as Llama's does."""

    all_special_ids = (1,)

    def __call__(self, texts, **_):
        return {"input_ids": torch.tensor([[1, *(len(word) for word in text.split())] for text in texts])}


def random(model):
    torch.manual_seed(1)
    for part in model.parameters():
        torch.nn.init.normal_(part, std=0.3)
    return model.eval()


def eager(model, **inputs):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        options = {"use_cache": False} if "input_ids" in inputs else {}
        return torch.stack(model(**inputs, output_attentions=True, **options).attentions).numpy()


def weights(capture):
    with tempfile.TemporaryDirectory() as folder:
        return exported(capture, folder)["weights"]


def ids(*tokens):
    return torch.tensor([tokens])


@unittest.skipUnless(RECORDS, "transformers is not installed, or has no AttentionInterface")
class Vision(unittest.TestCase):
    def check(self, model, positions, images=(), **inputs):
        """`images`: sizes [height, width] of those that the capture has."""
        inputs.setdefault("attention_mask", torch.ones_like(inputs["input_ids"]))
        model = random(model)
        capture = headlight.capture(model, Tokenizer(), inputs, opens=False)
        self.assertEqual(json.loads(capture.words["positions"]), positions)
        found = [array.shape[:2] for name, array in capture.arrays().items() if name.startswith("image")]
        self.assertEqual(found, list(images))
        self.assertLess(abs(weights(capture) - eager(model, **inputs)).max(), BOUND)
        return capture

    def test_llava_has_its_images_side_by_side(self):
        config = transformers.LlavaConfig(
            vision_config=transformers.CLIPVisionConfig(**VISION),
            text_config=transformers.LlamaConfig(**TEXT),
            image_token_index=IMAGE,
        )
        spans = [{"image": 0, "patches": [4, 4], "first": 2}, {"image": 1, "patches": [4, 4], "first": 18}]
        capture = self.check(
            transformers.LlavaForConditionalGeneration(config), [spans], [(16, 16), (16, 16)],
            input_ids=ids(1, 2, *[IMAGE] * 32, 3), pixel_values=torch.randn(2, 3, 16, 16),
        )  # fmt: skip
        self.assertEqual((capture.words["mask"], len(capture.tensors)), ("causal", 8))  # q, k, v, o of the language model alone

    def test_texts_with_images_are_lines_of_a_batch(self):
        config = transformers.LlavaConfig(
            vision_config=transformers.CLIPVisionConfig(**VISION),
            text_config=transformers.LlamaConfig(**TEXT),
            image_token_index=IMAGE,
        )

        class Processor:
            tokenizer = Tokenizer()

            def __call__(self, text, images, return_tensors):
                tokens = [1, *[IMAGE] * 16 * len(images), *range(2, 2 + len(text[0].split()))]
                return {"input_ids": ids(*tokens), "pixel_values": torch.stack(images)}

        model = random(transformers.LlavaForConditionalGeneration(config))
        pictures = [torch.rand(3, 16, 16) for _ in range(3)]
        capture = headlight.capture(
            model, Processor(), ["a b c", "a"], images=[pictures[:1], pictures[1:]], opens=False
        )  # fmt: skip
        expected = [
            [{"image": 0, "patches": [4, 4], "first": 1}],
            [{"image": 1, "patches": [4, 4], "first": 1}, {"image": 2, "patches": [4, 4], "first": 17}],
        ]
        self.assertEqual(json.loads(capture.words["positions"]), expected)
        self.assertEqual(json.loads(capture.words["lengths"]), [20, 34])
        shown = capture.arrays()["image.2"]
        self.assertEqual(shown.shape, (16, 16, 3))
        self.assertTrue(0 <= shown.min() and shown.max() <= 1)
        with self.assertRaisesRegex(headlight.HeadlightError, "images of 1 texts, but 2 texts"):
            headlight.capture(model, Processor(), ["a", "b"], images=pictures[:1], opens=False)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(exported(capture, folder).tokens[1]), 34)

    def test_pixtral_has_line_breaks_between_rows(self):
        config = transformers.LlavaConfig(
            vision_config=transformers.PixtralVisionConfig(**VISION),
            text_config=transformers.LlamaConfig(**TEXT),
            image_token_index=IMAGE, vision_feature_layer=-1, vision_feature_select_strategy="full",
        )  # fmt: skip
        self.check(
            transformers.LlavaForConditionalGeneration(config), [[{"image": 0, "patches": [2, 3], "first": 1, "step": 4}]],
            [(8, 12)], input_ids=ids(1, *[IMAGE] * 3, START, *[IMAGE] * 3, END, 4), pixel_values=torch.randn(1, 3, 8, 12),
            image_sizes=torch.tensor([[8, 12]]),
        )  # fmt: skip

    def test_qwen_merges_patches_and_has_positions_of_three_parts(self):
        tokens = ids(1, START, *[IMAGE] * 6, END, 2, 3)
        common = dict(image_token_id=IMAGE, vision_start_token_id=START, vision_end_token_id=END)
        text = dict(TEXT, rope_scaling=dict(type="mrope", mrope_section=[1, 1, 2]))
        sees = dict(depth=2, hidden_size=32, num_heads=4, patch_size=4, spatial_merge_size=2, temporal_patch_size=2)
        inputs = dict(
            input_ids=tokens, pixel_values=torch.randn(24, 96), image_grid_thw=torch.tensor([[1, 4, 6]]),
            mm_token_type_ids=(tokens == IMAGE).int(),
        )  # fmt: skip
        expected = [[{"image": 0, "patches": [2, 3], "first": 2}]]
        second = transformers.Qwen2VLConfig(
            text_config=text, vision_config=dict(sees, embed_dim=32, mlp_ratio=2), **common
        )  # fmt: skip
        self.check(transformers.Qwen2VLForConditionalGeneration(second), expected, **inputs)
        windows = dict(sees, out_hidden_size=32, intermediate_size=32, fullatt_block_indexes=[1], window_size=16)
        newer = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=windows, **common)
        self.check(transformers.Qwen2_5_VLForConditionalGeneration(newer), expected, **inputs)

    def test_paligemma_sees_its_prefix_in_both_directions(self):
        config = transformers.PaliGemmaConfig(
            vision_config=dict(VISION, model_type="siglip_vision_model", projection_dim=32),
            text_config=dict(TEXT, model_type="gemma", head_dim=8), image_token_index=IMAGE, projection_dim=32,
        )  # fmt: skip
        model = transformers.PaliGemmaForConditionalGeneration(config)
        inputs = dict(input_ids=ids(*[IMAGE] * 16, 1, 2, 3), pixel_values=torch.randn(1, 3, 16, 16))
        expected = [[{"image": 0, "patches": [4, 4], "first": 0}]]
        capture = self.check(model, expected, [(16, 16)], token_type_ids=torch.zeros(1, 19, dtype=torch.long), **inputs)
        self.assertNotIn("bias.0", capture.tensors)
        capture = self.check(model, expected, [(16, 16)], token_type_ids=torch.tensor([[0] * 17 + [1, 1]]), **inputs)
        self.assertEqual(capture.words["mask"], "none")  # a mask of its own, as a bias

    def test_idefics_and_smolvlm_have_tiles_between_words(self):
        spans = [{"image": 0, "patches": [2, 2], "first": 1}, {"image": 1, "patches": [2, 2], "first": 6}]
        for config, model in (
            (transformers.Idefics3Config, transformers.Idefics3ForConditionalGeneration),
            (transformers.SmolVLMConfig, transformers.SmolVLMForConditionalGeneration),
        ):
            made = config(
                vision_config=VISION, text_config=transformers.LlamaConfig(**TEXT), image_token_id=IMAGE, scale_factor=2
            )
            self.check(
                model(made), [spans], [(16, 16), (16, 16)], input_ids=ids(1, *[IMAGE] * 4, 2, *[IMAGE] * 4, 3),
                pixel_values=torch.randn(1, 2, 3, 16, 16),
            )  # fmt: skip

    def test_gemma_sees_an_image_in_both_directions_and_words_in_a_window(self):
        config = transformers.Gemma3Config(
            vision_config=VISION, text_config=dict(TEXT, head_dim=8, sliding_window=4), mm_tokens_per_image=4,
            image_token_index=IMAGE, boi_token_index=START, eoi_token_index=END,
        )  # fmt: skip
        tokens = ids(1, START, *[IMAGE] * 4, END, 2, 3)
        self.check(
            transformers.Gemma3ForConditionalGeneration(config), [[{"image": 0, "patches": [2, 2], "first": 2}]], [(16, 16)],
            input_ids=tokens, pixel_values=torch.randn(1, 3, 16, 16), token_type_ids=(tokens == IMAGE).long(),
        )  # fmt: skip

    def test_positions_that_are_not_known_are_told_and_the_rest_is_kept(self):
        config = transformers.LlavaConfig(
            vision_config=transformers.CLIPVisionConfig(**VISION),
            text_config=transformers.LlamaConfig(**TEXT),
            image_token_index=IMAGE,
        )
        model = random(transformers.LlavaForConditionalGeneration(config))
        with self.assertWarnsRegex(UserWarning, "no grid of patches that is known"):
            capture = headlight.capture(model, Tokenizer(), dict(input_ids=ids(1, IMAGE, IMAGE, 2)), opens=False)
        self.assertNotIn("positions", capture.words)
        with self.assertRaisesRegex(headlight.HeadlightError, "images are those that positions count"):
            headlight.Capture(capture.tensors, images=[torch.zeros(4, 4, 3)])

    def test_a_model_that_sees_alone_takes_its_processor_and_images(self):
        config = transformers.ViTConfig(**VISION, hidden_act="gelu")
        model = random(transformers.ViTModel(config))

        class Processor:  # as image processors are: what the model reads is normalised
            image_mean, image_std = [0.5, 0.4, 0.3], [0.5, 0.25, 0.5]

            def __call__(self, images, return_tensors):
                pixels = torch.tensor(np.stack(images), dtype=torch.float32).permute(0, 3, 1, 2) / 255
                mean, spread = (torch.tensor(values)[:, None, None] for values in (self.image_mean, self.image_std))
                return {"pixel_values": (pixels - mean) / spread}

        pictures = list(np.random.default_rng(1).integers(0, 256, (2, 16, 16, 3), dtype=np.uint8))
        capture = headlight.capture(model, Processor(), images=pictures, opens=False)
        self.assertEqual((capture.words["patches"], capture.words["mask"]), ("[4, 4]", "none"))
        self.assertLess(abs(capture.arrays()["image"] - np.stack(pictures) / 255).max(), 1e-6)  # observed: 1e-7
        expected = eager(model, **Processor()(pictures, "pt"))
        self.assertEqual(expected.shape, (2, 2, 4, 17, 17))
        self.assertLess(abs(weights(capture) - expected).max(), BOUND)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "picture.npy.ppm")
            with open(path, "wb") as file:
                file.write(b"P6 16 16 255 " + pictures[0].tobytes())
            if importlib.util.find_spec("PIL"):
                one = headlight.capture(model, Processor(), images=path, opens=False)
                self.assertLess(abs(one.arrays()["image"][0] - pictures[0] / 255).max(), 1e-6)


@unittest.skipUnless(RECORDS, "transformers is not installed, or has no AttentionInterface")
class Passes(unittest.TestCase):
    TOKENS = (5, 6, 7, 8, 9, 10, 11, 12, 13, 14)

    def models(self):
        yield transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT))
        yield transformers.MistralForCausalLM(transformers.MistralConfig(**TEXT, sliding_window=4))
        yield transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**TEXT, head_dim=8, sliding_window=4))

    def each(self):
        for model in self.models():
            with self.subTest(type(model).__name__):
                yield random(model), ids(*self.TOKENS)

    def check_generated(self, model, tokens, **options):
        with headlight.capturing(model, Tokenizer()) as captured:
            made = model.generate(tokens, max_new_tokens=5, do_sample=False, **options)
        capture = captured.capture()
        self.assertEqual(json.loads(capture.words["tokens"]), [[f"w{token}" for token in line] for line in made[:, :-1]])
        self.assertEqual(capture.words["mask"], "causal")
        self.assertFalse([name for name in capture.tensors if "bias" in name])
        self.assertLess(abs(weights(capture) - eager(model, input_ids=made[:, :-1])).max(), BOUND)

    def test_a_filled_cache_gives_keys_and_no_rows(self):
        for model, tokens in self.each():
            with torch.no_grad():
                cache = model(tokens[:, :6], use_cache=True).past_key_values
            capture = headlight.capture(model, Tokenizer(), dict(input_ids=tokens[:, 6:], past_key_values=cache), opens=False)
            self.assertEqual((capture.words["cached"], json.loads(capture.words["tokens"])[0][5:7]), ("6", ["\u2026", "w11"]))
            found, expected = weights(capture), eager(model, input_ids=tokens)
            self.assertLess(abs(found - expected)[:, :, :, 6:].max(), BOUND)
            self.assertEqual(abs(found[:, :, :, :6]).max(), 0)

    def test_passes_of_a_text_in_chunks_are_one(self):
        for model, tokens in self.each():
            cache = transformers.DynamicCache(config=model.config)
            with headlight.capturing(model, Tokenizer()) as captured:
                for first, end in ((0, 4), (4, 5), (5, 10)):
                    model(tokens[:, first:end], past_key_values=cache, use_cache=True)
            self.assertLess(abs(weights(captured.capture()) - eager(model, input_ids=tokens)).max(), BOUND)

    def test_generate_in_every_way_of_keeping_its_cache(self):
        for options in (
            {}, {"prefill_chunk_size": 3}, {"use_cache": False}, {"cache_implementation": "static"}, {"prompt_lookup_num_tokens": 2},
        ):  # fmt: skip
            for model, tokens in self.each():
                with self.subTest(options):
                    self.check_generated(model, tokens, **options)

    def test_generate_without_eager_attention_is_told_what_to_do(self):
        model = random(transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT)))
        model.set_attn_implementation("sdpa")
        made = model.generate(ids(*self.TOKENS), max_new_tokens=3, output_attentions=True, return_dict_in_generate=True)
        for given in (made, made.attentions):
            with self.assertRaisesRegex(headlight.HeadlightError, "attn_implementation='eager'.*headlight.capturing"):
                headlight.Capture(given)

    @unittest.skipUnless(hasattr(transformers, "DiffLlamaForCausalLM") if RECORDS else False, "transformers has no DiffLlama")
    def test_a_layer_whose_heads_subtract_maps_is_one_layer_and_says_so(self):
        model = random(transformers.DiffLlamaForCausalLM(transformers.DiffLlamaConfig(**TEXT)))
        tokens = ids(*self.TOKENS)
        capture = headlight.capture(model, Tokenizer(), dict(input_ids=tokens), opens=False)
        self.assertEqual(sorted(name for name in capture.tensors if name.startswith("q.")), ["q.0", "q.1"])
        self.assertEqual(tuple(capture.tensors["v.0"].shape), (1, 2, 10, 16))  # both halves
        self.assertIn("what acts is their difference", capture.words["note"])
        self.assertLess(abs(weights(capture) - eager(model, input_ids=tokens)).max(), BOUND)

    def test_a_model_of_16_bits_says_how_far_its_own_weights_are(self):
        for dtype, largest in ((torch.float16, 0.006), (torch.bfloat16, 0.03)):
            model, tokens = random(transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT))).to(dtype), ids(*self.TOKENS)
            capture = headlight.capture(model, Tokenizer(), dict(input_ids=tokens), opens=False)
            self.assertIn(f"differ from the model's own by up to {largest}.", capture.words["note"])
            model.set_attn_implementation("eager")
            own = torch.stack(model(tokens, output_attentions=True, use_cache=False).attentions).float().detach().numpy()
            self.assertLess(abs(weights(capture) - own).max(), largest)
        capture = headlight.capture(model.float(), Tokenizer(), dict(input_ids=tokens), opens=False)
        self.assertNotIn("note", capture.words)

    def test_beams_are_refused_by_name(self):
        for model, tokens in self.each():
            with headlight.capturing(model, Tokenizer()) as captured:
                model.generate(tokens, max_new_tokens=5, num_beams=3, do_sample=False)
            with self.assertRaisesRegex(headlight.HeadlightError, "as those of beams do \\(generate with num_beams=1\\)"):
                captured.capture()

    def test_passes_that_do_not_follow_each_other_are_refused(self):
        model, tokens = random(transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT))), ids(*self.TOKENS)
        with torch.no_grad():
            cache = model(tokens[:, :6], use_cache=True).past_key_values
        with headlight.capturing(model, Tokenizer()) as captured:
            model(tokens[:, :2])
            model(tokens[:, 6:], past_key_values=cache)
        with self.assertRaisesRegex(headlight.HeadlightError, "goes on at token 6, but 2 were read"):
            captured.capture()
        with headlight.capturing(model, Tokenizer()) as captured:
            pass
        with self.assertRaisesRegex(headlight.HeadlightError, "made no pass"):
            captured.capture()
        bloom = random(transformers.BloomForCausalLM(transformers.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=100)))
        with headlight.capturing(bloom, Tokenizer()) as captured:
            bloom(tokens)
        with self.assertRaisesRegex(headlight.HeadlightError, "BloomForCausalLM: its layers compute attention by themselves"):
            captured.capture()
        # Given what it reads, the weights that it returns are kept.
        made = headlight.capture(bloom, Tokenizer(), {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}, opens=False)
        with torch.no_grad():
            expected = bloom(tokens, output_attentions=True).attentions
        np.testing.assert_array_equal(made.arrays()["attention.1"], expected[1].numpy())
        self.assertEqual(len(json.loads(made.words["tokens"])[0]), tokens.shape[1])
        self.assertEqual(made.words["mask"], "causal")
        with headlight.capturing(model, Tokenizer()):
            with self.assertRaisesRegex(headlight.HeadlightError, "leave its capturing"):
                headlight.capture(model, Tokenizer(), dict(input_ids=tokens), opens=False)

    def test_windows_of_which_layers_have_other_numbers_are_refused(self):
        config = transformers.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4)
        model = random(transformers.SwinModel(config))
        with headlight.capturing(model, None) as captured:
            model(torch.rand(1, 3, 32, 32))
        with self.assertRaisesRegex(headlight.HeadlightError, "has 4 lines of 1 that the model read, as of windows"):
            captured.capture()

    def test_a_wrapped_model_is_the_one_inside_and_other_things_are_refused_by_what_they_are(self):
        model = random(transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT)))
        read = ids(*self.TOKENS)
        alone = headlight.capture(model, Tokenizer(), {"input_ids": read}, opens=False).arrays()
        for wrapped in (torch.nn.DataParallel(model), torch.nn.DataParallel(torch.nn.DataParallel(model))):
            made = headlight.capture(wrapped, Tokenizer(), {"input_ids": read}, opens=False).arrays()
            np.testing.assert_array_equal(made["q.0"], alone["q.0"])
            with headlight.capturing(wrapped, Tokenizer()) as captured:
                wrapped(read)
            self.assertIn("q.0", captured.capture().tensors)
        for given in (read, read[0], read.tolist(), read[0].tolist(), [read[0]], read.numpy()):
            made = headlight.capture(model, None, given, opens=False)
            self.assertEqual(json.loads(made.words["tokens"])[0], [str(int(token)) for token in read[0]])
        layer = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4), 1)
        for given, tokenizer, text, why in (
            ("gpt2", None, "a", r"headlight.view\(model='gpt2'"), (layer, None, "a", "a TransformerEncoder is no model"),
            (model, None, "a", "there is no tokenizer"), (model, "gpt2", "a", "'gpt2' is no tokenizer"),
            (model, None, torch.rand(3, 4), "ids are whole numbers"), (model, None, [], "there is no text"),
            (model, BlankTokenizer(), " ", "' ' has no token of its own"), (model, None, {"input_ids": "a"}, r"capture\(\): "),
        ):  # fmt: skip
            with self.assertRaisesRegex(headlight.HeadlightError, why):
                headlight.capture(given, tokenizer, text, opens=False)

    def test_left_padding_is_no_part_of_a_line(self):
        for model, _ in self.each():
            tokens = torch.tensor([[0, 0, 0, 5, 6, 7, 8], [9, 10, 11, 12, 13, 14, 15]])
            inputs = dict(input_ids=tokens, attention_mask=(tokens != 0).long())
            generated = model.generate(**inputs, max_new_tokens=4, do_sample=False)
            with headlight.capturing(model, Tokenizer()) as captured:
                model.generate(**inputs, max_new_tokens=4, do_sample=False)
            for capture, ends in (
                (headlight.capture(model, Tokenizer(), inputs, opens=False), 7),
                (captured.capture(), 10),
            ):
                self.assertEqual(json.loads(capture.words["lengths"]), [ends - 3, ends])
                self.assertEqual((capture.words["starts"], capture.words["mask"]), ("[3, 0]", "causal"))
                self.assertFalse([name for name in capture.tensors if "bias" in name])
                found = weights(capture)
                alone = eager(model, input_ids=generated[:1, 3:ends])
                self.assertLess(abs(found[:, :1, :, 3:, 3:] - alone).max(), BOUND)
                self.assertLess(abs(found[:, 1:] - eager(model, input_ids=generated[1:, :ends])).max(), BOUND)
                self.assertEqual(abs(found[:, 0, :, 3:, :3]).max(), 0)

    def test_a_hybrid_names_its_layers_of_attention(self):
        config = transformers.JambaConfig(
            **TEXT | {"num_hidden_layers": 5}, attn_layer_period=2, attn_layer_offset=1, num_experts=2, mamba_d_state=4,
            mamba_dt_rank=4, use_mamba_kernels=False,
        )  # fmt: skip
        model = random(transformers.JambaForCausalLM(config))
        capture = headlight.capture(model, Tokenizer(), dict(input_ids=ids(*self.TOKENS)), opens=False)
        self.assertEqual(capture.words["layers"], "[1, 3]")
        self.assertTrue('"layers":[1,3]' in capture.page().text)
        self.assertEqual(weights(capture).shape, (2, 1, 4, 10, 10))

    def test_an_encoder_decoder_generates_from_a_padded_source(self):
        config = transformers.T5Config(
            vocab_size=64, d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4, decoder_start_token_id=0, eos_token_id=None
        )
        model = random(transformers.T5ForConditionalGeneration(config))
        source = torch.tensor([[5, 6, 7, 8], [9, 3, 0, 0]])
        inputs = dict(input_ids=source, attention_mask=(source != 0).long())
        with headlight.capturing(model, Tokenizer()) as captured:
            made = model.generate(**inputs, max_new_tokens=5, do_sample=False)
        capture = captured.capture()
        self.assertEqual(capture.words["lengths"], "[4, 2]")
        self.assertEqual(json.loads(capture.words["key_tokens"])[1], ["w9", "w3", "w0", "w0"])
        self.assertEqual(json.loads(capture.words["query_tokens"])[0], [f"w{token}" for token in made[0, :-1]])
        model.set_attn_implementation("eager")
        with torch.no_grad():
            expected = model(**inputs, decoder_input_ids=made[:, :-1], output_attentions=True)
        with tempfile.TemporaryDirectory() as folder:
            found = exported(capture, folder)
            for layer in range(2):
                for name, of_model in (
                    ("decoder_weights", expected.decoder_attentions), ("cross_weights", expected.cross_attentions)
                ):  # fmt: skip
                    self.assertLess(abs(found[name][layer] - of_model[layer].numpy()).max(), BOUND)
                real = expected.encoder_attentions[layer].numpy()
                self.assertLess(abs(found["encoder_weights"][layer] - real)[0].max(), BOUND)
                self.assertLess(abs(found["encoder_weights"][layer] - real)[1, :, :2].max(), BOUND)


if __name__ == "__main__":
    unittest.main()
