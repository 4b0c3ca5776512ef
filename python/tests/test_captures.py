"""What captures keep, and what the program reads of them."""

import base64
import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import headlight
import numpy as np
from made_attention import TOKENS, attention, data_of, exported


class Captures(unittest.TestCase):
    def test_what_is_saved_is_what_the_program_reads(self):
        for dtype in (np.float32, np.float16, np.float64):
            layers = [attention(1).astype(dtype), attention(2).astype(dtype)]
            with tempfile.TemporaryDirectory() as folder:
                run = exported(headlight.Capture(layers, TOKENS), folder)
            np.testing.assert_array_equal(run["weights"][0], layers[0].astype(np.float32))
            np.testing.assert_array_equal(run["weights"][1], layers[1].astype(np.float32))
            self.assertEqual(run.tokens, [TOKENS])

    def test_an_encoder_decoder(self):
        cross = attention(3, (1, 2, 3, 4))
        capture = headlight.Capture(
            encoder_attentions=[attention(1, (1, 2, 4, 4))],
            decoder_attentions=[attention(2, (1, 2, 3, 3))],
            cross_attentions=[cross],
            encoder_tokens=["ein", "Hund", "l\u00e4uft", "."],
            decoder_tokens=["a", "dog", "runs"],
        )
        with tempfile.TemporaryDirectory() as folder:
            run = exported(capture, folder)
        np.testing.assert_array_equal(run["cross_weights"][0], cross)
        self.assertEqual(run.target_tokens, [["a", "dog", "runs"]])

    def test_an_image_and_its_patches(self):
        image = np.random.default_rng(7).integers(0, 256, (40, 60, 3), dtype=np.uint8)
        capture = headlight.Capture([attention(1, (1, 2, 7, 7))], image=image, patches=(2, 3))
        self.assertEqual(json.loads(capture.words["patches"]), [2, 3])
        np.testing.assert_array_equal(capture.arrays()["image"], image)
        with tempfile.TemporaryDirectory() as folder:
            run = exported(capture, folder)
            # Names are the program's: the class token, then patches by row and column.
            self.assertEqual(run.tokens, [["[class]", "0,0", "0,1", "0,2", "1,0", "1,1", "1,2"]])
            figure = os.path.join(folder, "figure")
            path = os.path.join(folder, "capture.safetensors")
            flags = ["--capture", path, "--views", "text", "--layer", "0", "--head", "1", "--format", "svg", "--out", figure]
            subprocess.run([headlight.program(), "export", *flags], check=True, capture_output=True)
            svg = "".join(file.read_text() for file in pathlib.Path(figure).glob("*.svg"))
            self.assertIn("patch row 1, column 2", svg)
            self.assertIn("data:image/png;base64", svg)
        channels_first = headlight.Capture([attention(1, (1, 2, 4, 4))], image=np.moveaxis(image, -1, 0) / 255.0)
        self.assertEqual(json.loads(channels_first.words["patches"]), [2, 2])
        self.assertEqual(channels_first.arrays()["image"].shape, (40, 60, 3))
        # Square patches of the image's shape, as many as there are tokens for.
        for shape, tokens, patches in (
            ((40, 60, 3), 7, [2, 3]),
            ((28, 42, 3), 25, [4, 6]),  # a class token, and not 5 x 5
            ((224, 224, 3), 197, [14, 14]),
            ((56, 56, 3), 21, [4, 4]),  # a class token and four registers
            ((2, 30, 45, 3), 6, [2, 3]),
            ((100, 141, 3), 17, [4, 4]),  # not as the model read it: the program says so
        ):
            layers = [np.full((1, 1, tokens, tokens), 1 / tokens, np.float32)]
            found = headlight.Capture(layers, image=np.zeros(shape, np.uint8)).words["patches"]
            self.assertEqual(json.loads(found), patches)
        for shape, tokens, problem in (
            ((56, 56, 3), 12, "12 tokens are no patches of an image of 56 x 56 pixels: give patches=\\(rows, columns\\)"),
            ((480, 640, 3), 197, "197 tokens are 12 x 16 patches and 5 others, or 14 x 14 patches"),
        ):
            layers = [np.full((1, 1, tokens, tokens), 1 / tokens, np.float32)]
            with self.assertRaisesRegex(headlight.HeadlightError, problem):
                headlight.Capture(layers, image=np.zeros(shape, np.uint8))
        with self.assertRaisesRegex(headlight.HeadlightError, "an image is"):
            headlight.Capture([attention(1, (1, 2, 4, 4))], image=image[..., 0])

    def test_values_make_the_outputs_of_heads(self):
        q, k, v = (np.random.default_rng(i).normal(size=(1, 2, 5, 8)).astype(np.float32) for i in range(3))
        capture = headlight.Capture({"q.0": q, "k.0": k, "v.0": v}, TOKENS)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "capture.safetensors")
            capture.save(path)
            run = headlight.run(flags=["--capture", path], stages=("weights", "v", "heads"))
        scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(8.0)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_array_equal(run["v"][0], v)
        self.assertLess(np.abs(run["heads"][0] - weights @ v.astype(np.float64)).max(), 5e-7)  # observed: 6.1e-8

    def test_generate_is_the_attention_of_one_pass(self):
        whole = [np.tril(attention(seed, (1, 2, 6, 6))) for seed in (1, 2)]
        prompt = [layer[:, :, :3, :3] for layer in whole]
        passes = [prompt] + [[layer[:, :, row : row + 1, : row + 1] for layer in whole] for row in (3, 4, 5)]
        # A static cache has columns of keys that aren't there yet.
        passes[2] = [np.pad(layer, ((0, 0), (0, 0), (0, 0), (0, 4))) for layer in passes[2]]
        tokens = [f"w{i}" for i in range(7)]  # the last one was written, and not read
        capture = headlight.Capture(tuple(map(tuple, passes)), [tokens])
        for index, layer in enumerate(whole):
            np.testing.assert_array_equal(capture.arrays()[f"attention.{index}"], layer)
        with tempfile.TemporaryDirectory() as folder:
            run = exported(capture, folder)
        np.testing.assert_array_equal(run["weights"][1], whole[1])
        self.assertEqual(run.tokens, [tokens[:6]])
        self.assertEqual(capture.words["mask"], "causal")

        cross = [attention(3, (1, 2, 4, 5))]
        output = type("Output", (), {})()
        output.encoder_attentions = [attention(4)]
        output.decoder_attentions = [[layer[:, :, row : row + 1, : row + 1] for layer in whole] for row in range(4)][:4]
        output.cross_attentions = [[layer[:, :, row : row + 1] for layer in cross] for row in range(4)]
        capture = headlight.Capture(output, encoder_tokens=TOKENS, decoder_tokens=list("abcde"))
        np.testing.assert_array_equal(capture.arrays()["cross_attention.0"], cross[0])
        np.testing.assert_array_equal(capture.arrays()["decoder_attention.0"], whole[0][:, :, :4, :4])
        self.assertEqual(json.loads(capture.words["query_tokens"]), list("abcd"))
        self.assertEqual(json.loads(capture.words["key_tokens"]), TOKENS)
        output.beam_indices = np.zeros((1, 4))
        with self.assertRaisesRegex(headlight.HeadlightError, "num_beams=1"):
            headlight.Capture(output)

    @staticmethod
    def generated(whole, prompt, cached=0, room=0, window=None):
        """The passes of generate() over these layers: the prompt after `cached` tokens, then token by token."""
        n = whole[0].shape[-1]
        passes = []
        for first, end in [(cached, cached + prompt), *((row, row + 1) for row in range(cached + prompt, n))]:
            keys = slice(0 if window is None else max(0, first - window + 1), end)
            layers = [layer[:, :, first:end, keys] for layer in whole]
            passes.append(
                tuple(np.pad(layer, ((0, 0), (0, 0), (0, 0), (0, room - layer.shape[-1] if room else 0))) for layer in layers)
            )
        return tuple(passes)

    def test_generate_goes_on_after_a_filled_cache(self):
        whole = [np.tril(attention(seed, (1, 2, 10, 10))) for seed in (1, 2)]
        whole = [layer / layer.sum(-1, keepdims=True) for layer in whole]
        tokens = [f"w{i}" for i in range(11)]
        for what, passes in (
            ("keys that grow", self.generated(whole, 3, cached=5)),
            ("one pass", self.generated(whole, 5, cached=5)),
            ("room for keys", self.generated(whole, 3, cached=5, room=16)),
            ("one pass with room", self.generated(whole, 5, cached=5, room=16)),
        ):
            with self.subTest(what), tempfile.TemporaryDirectory() as folder:
                capture = headlight.Capture(passes, tokens)
                self.assertEqual(capture.words["cached"], "5")
                for index, layer in enumerate(whole):
                    np.testing.assert_array_equal(capture.arrays()[f"attention.{index}"], layer[:, :, 5:])
                run = exported(capture, folder)
                np.testing.assert_array_equal(run["weights"][1][:, :, 5:], whole[1][:, :, 5:])
                self.assertFalse(run["weights"][1][:, :, :5].any())
                self.assertEqual(run.tokens, [tokens[:10]])
        # Layers with windows don't tell how many tokens there were: others do.
        windowed = [np.triu(layer, -3) for layer in whole]
        for prompt in (3, 5):  # several passes, and one
            passes = zip(self.generated(whole, prompt, cached=5), self.generated(windowed, prompt, cached=5, window=4))
            mixed = tuple((full[0], narrow[1]) for full, narrow in passes)
            arrays = headlight.Capture(mixed).arrays()
            np.testing.assert_array_equal(arrays["attention.1"], windowed[1][:, :, 5:])
        with self.assertRaisesRegex(headlight.HeadlightError, "how many tokens were in the cache"):
            headlight.Capture(self.generated(windowed, 3, cached=5, window=4))
        # One pass of a model with a cache is such a generation.
        output = type("Output", (), {"attentions": tuple(layer[:, :, 7:] for layer in whole)})()
        self.assertEqual(headlight.Capture(output, tokens[:10]).words["cached"], "7")
        output.attentions = tuple(attention(seed, (1, 2, 3, 5)) for seed in (1, 2))  # bands
        with self.assertRaisesRegex(headlight.HeadlightError, "3 queries and 5 keys is not causal"):
            headlight.Capture(output).arrays()
        given = headlight.Capture([layer[:, :, 7:] for layer in whole], tokens[:10], cached=7, causal=True)
        with tempfile.TemporaryDirectory() as folder:
            np.testing.assert_array_equal(exported(given, folder)["weights"][0][:, :, 7:], whole[0][:, :, 7:])

    def test_generate_without_a_cache_is_its_last_pass(self):
        whole = np.tril(attention(1, (1, 2, 6, 6)))
        passes = [[whole[:, :, :end, :end]] for end in (4, 5, 6)]
        capture = headlight.Capture(passes, list("abcdefg"))
        np.testing.assert_array_equal(capture.arrays()["attention.0"], whole)
        self.assertEqual(json.loads(capture.words["tokens"]), list("abcdef"))
        cross = attention(2, (1, 2, 3, 5))
        capture = headlight.Capture(
            decoder_attentions=[[whole[:, :, :end, :end]] for end in (1, 2, 3)],
            cross_attentions=[[cross[:, :, :end]] for end in (1, 2, 3)],
        )
        np.testing.assert_array_equal(capture.arrays()["cross_attention.0"], cross)

    def test_beams_are_refused_also_without_the_output(self):
        lines = [np.tril(attention(seed, (1, 2, 6, 6))) for seed in (1, 2)]
        beams = np.concatenate([lines[0], lines[1], lines[1]])
        with self.assertRaisesRegex(headlight.HeadlightError, "lines 2 and 3 begin with the same weights, as beams do"):
            headlight.Capture(self.generated([beams], 3))
        different = headlight.Capture(self.generated([beams[:2]], 3))
        np.testing.assert_array_equal(different.arrays()["attention.0"], beams[:2])
        # Decoders begin with one token, which has itself alone: their attention to the texts tells them apart.
        decoder = self.generated([beams], 1)
        with self.assertRaisesRegex(headlight.HeadlightError, "lines 2 and 3"):
            headlight.Capture(decoder_attentions=decoder, cross_attentions=[[beams[:, :, row : row + 1]] for row in range(6)])
        apart = [[attention(5, (3, 2, 6, 4))[:, :, row : row + 1]] for row in range(6)]
        headlight.Capture(decoder_attentions=decoder, cross_attentions=apart)

    def test_padding_is_left_out(self):
        alone = np.tril(attention(3, (1, 2, 3, 3)))
        alone /= alone.sum(-1, keepdims=True)
        batch = np.full((2, 2, 5, 5), 0.2, np.float32)
        batch[0, :, 2:] = 0
        batch[0, :, 2:, 2:] = alone[0]
        tokens = [["p", "p", "a", "b", "c"], list("vwxyz")]
        mask = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
        capture = headlight.Capture([batch], tokens, attention_mask=mask)
        self.assertEqual((capture.words["lengths"], capture.words["starts"]), ("[3, 5]", "[2, 0]"))
        with tempfile.TemporaryDirectory() as folder:
            run = exported(capture, folder)
        self.assertEqual(run.tokens, [["a", "b", "c"], list("vwxyz")])
        np.testing.assert_array_equal(run["weights"][0], batch)
        pair = headlight.Capture(
            cross_attentions=[attention(1, (2, 1, 3, 4))],
            attention_mask=[[1, 1, 1, 0], [1, 1, 1, 1]],
            decoder_attention_mask=[[1, 1, 1], [0, 1, 1]],
        )
        words = {name: value for name, value in pair.words.items() if name != "mask"}
        self.assertEqual(words, {"lengths": "[3, 4]", "starts": "[0, 0]", "query_lengths": "[3, 2]", "query_starts": "[0, 1]"})
        # The mask of a prompt, of what generate() returned.
        whole = np.tril(attention(1, (2, 2, 6, 6)))
        generated = headlight.Capture(self.generated([whole], 3), attention_mask=[[0, 1, 1], [1, 1, 1]])
        self.assertEqual((generated.words["lengths"], generated.words["starts"]), ("[5, 6]", "[1, 0]"))
        with self.assertRaisesRegex(headlight.HeadlightError, "attention_mask has holes in line 1"):
            headlight.Capture([batch], attention_mask=[[1, 0, 1, 1, 1]] * 2).words
        with self.assertRaisesRegex(headlight.HeadlightError, r"attention_mask is \[2, 4\], but the attention has 5 tokens"):
            headlight.Capture([batch], attention_mask=np.ones((2, 4))).words

    def test_padding_is_found_where_no_mask_is_given(self):
        def padded(before, special, causal=True):
            scores = np.random.default_rng(1).normal(size=(2, 2, 6, 6))
            visible = np.tri(6, dtype=bool) if causal else np.ones((6, 6), bool)
            seen = np.array([np.arange(6) >= 2 if before else np.arange(6) < 4, np.ones(6, bool)])
            scores = np.where(visible & seen[:, None, None, :] | np.eye(6, dtype=bool), scores, -np.inf)
            weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
            line = [special] * 2 + list("abcd") if before else list("abcd") + [special] * 2
            return headlight.Capture([weights], [line, list("efghij")])

        for before, special, causal in ((True, "<|endoftext|>", True), (True, "[PAD]", False), (False, "<pad>", True)):
            words = padded(before, special, causal).words
            self.assertEqual((words["lengths"], words["starts"]), ("[4, 6]", "[2, 0]" if before else "[0, 0]"))
        # What ends a text isn't called padding, nor what a token gives weight to.
        self.assertNotIn("lengths", padded(False, "</s>").words)
        self.assertNotIn("lengths", padded(True, "ab").words)
        seen = attention(2, (2, 2, 6, 6))
        self.assertNotIn("lengths", headlight.Capture([seen], [["<pad>"] * 2 + list("abcd"), list("efghij")]).words)
        self.assertNotIn("lengths", headlight.Capture([seen[:1]], ["<pad>"] * 2 + list("abcd")).words)

    def test_means_over_heads_are_told_from_heads(self):
        means = [attention(seed, (2, 5, 5)) for seed in (1, 2)]
        for capture in (headlight.Capture(means, [TOKENS, TOKENS]), headlight.Capture(means, averaged=True)):
            self.assertEqual(repr(capture), "<headlight.Capture of 2 x attention [2, 1, 5, 5], means over heads>")
            np.testing.assert_array_equal(capture.arrays()["attention.1"], means[1][:, None])
        for heads in (headlight.Capture(means, TOKENS), headlight.Capture(means)):
            self.assertEqual(heads.arrays()["attention.0"].shape, (2, 5, 5))
        with self.assertRaisesRegex(headlight.HeadlightError, r"averaged attentions are \[batch, queries, keys\], not \[1, 3, 5, 5\]"):
            headlight.Capture([attention()], averaged=True)

    def test_a_hybrid_keeps_the_numbers_of_its_layers(self):
        capture = headlight.Capture([None, attention(1), None, attention(3)], TOKENS)
        self.assertEqual((capture.words["layers"], list(capture.tensors)), ("[1, 3]", ["attention.0", "attention.1"]))
        np.testing.assert_array_equal(capture.arrays()["attention.1"], attention(3))
        page = capture.page()
        self.assertEqual(data_of(page)["sets"][0]["layers"], [1, 3])
        whole = np.tril(attention(4, (1, 2, 4, 4)))
        passes = [[None, whole[:, :, :2, :2]], [None, whole[:, :, 2:3, :3]], [None, whole[:, :, 3:, :]]]
        generated = headlight.Capture(passes)
        self.assertEqual(generated.words["layers"], "[1]")
        np.testing.assert_array_equal(generated.arrays()["attention.0"], whole)

    def test_attention_that_was_not_computed_eagerly_is_told(self):
        for passes in (((), (), ()), ((None, None), (None, None))):
            with self.assertRaisesRegex(headlight.HeadlightError, "generate\\(\\) is empty.*attn_implementation='eager'.*capturing"):
                headlight.Capture(passes)

    def test_a_cache_of_transformer_lens(self):
        pattern, values = np.tril(attention(1, (1, 2, 4, 4))), attention(2, (1, 4, 2, 3))
        names = {f"blocks.{layer}.attn.hook_{what}": array for layer in (0, 1) for what, array in (("pattern", pattern), ("v", values))}
        names["blocks.0.hook_resid_pre"] = attention(3, (1, 4, 6))
        output = np.random.default_rng(5).normal(size=(2, 3, 6)).astype(np.float32)

        class Weights:  # as a tensor
            ndim, shape = 3, (2, 3, 6)
            detach = staticmethod(lambda: output)

        block = type("Block", (), {"attn": type("Attention", (), {"W_O": Weights()})})
        cache = type("ActivationCache", (), {
            "model": type("Model", (), {"blocks": [block, block], "cfg": type("Config", (), {"attention_dir": "causal"})}),
            "keys": lambda self: names.keys(), "__getitem__": lambda self, name: names[name],
        })()  # fmt: skip
        capture = headlight.Capture(cache, list("abcd"))
        self.assertEqual(repr(capture), "<headlight.Capture of 2 x attention [1, 2, 4, 4], 2 x v [1, 2, 4, 3], 2 x o [6, 6]>")
        self.assertEqual(capture.words["mask"], "causal")
        with tempfile.TemporaryDirectory() as folder:
            capture.save(os.path.join(folder, "c.safetensors"))
            run = headlight.run(flags=["--capture", os.path.join(folder, "c.safetensors")], stages=("weights", "heads"))
        np.testing.assert_array_equal(run["weights"][1], pattern)
        expected = np.einsum("bhqk,bkhd->bhqd", pattern.astype(np.float64), values.astype(np.float64))
        self.assertLess(np.abs(run["heads"][0] - expected).max(), 1e-7)  # observed: 3e-8
        np.testing.assert_array_equal(capture.arrays()["o.0"], output.reshape(6, 6).T)
        # One layer of a names_filter, without the batch.
        alone = headlight.Capture({"blocks.3.attn.hook_pattern": pattern[0]})
        self.assertEqual((alone.words["layers"], alone.arrays()["attention.0"].shape), ("[3]", (2, 4, 4)))

    def test_dropout_is_told(self):
        random = np.random.default_rng(0)
        dropped = [attention(1, (1, 2, 9, 9)) * (random.random((1, 2, 9, 9)) > 0.1) / 0.9]
        with self.assertWarnsRegex(UserWarning, "attention.0 looks like dropout; call model.eval\\(\\) before the pass"):
            headlight.Capture(dropped).arrays()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = os.path.join(folder, "capture.safetensors")
            headlight.Capture(dropped).save(path)
            out = os.path.join(folder, "out")
            done = subprocess.run(
                [headlight.program(), "export", "--capture", path, "--out", out], check=True, capture_output=True, text=True
            )
            self.assertIn("looks like dropout: call model.eval()", done.stderr)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            window = np.triu(np.tril(attention(1)), -1)
            for layer in (
                attention(),
                np.tril(attention()),
                window,
                -dropped[0],
                3 * dropped[0],
                attention().astype(np.float16),
            ):
                headlight.Capture([layer]).arrays()

    def test_pieces_are_the_bytes_of_a_safetensors_file(self):
        layers = [attention(1).transpose(0, 1, 3, 2), attention(2).astype(np.float16)]  # the first isn't contiguous
        capture = headlight.Capture(layers, [TOKENS, TOKENS], causal=True)
        data = b"".join(bytes(piece) for piece in capture.pieces())
        begin = 8 + int.from_bytes(data[:8], "little")
        self.assertEqual(begin % 8, 0)
        header = json.loads(data[8:begin])
        words = header.pop("__metadata__")
        self.assertEqual(words["mask"], "causal")
        self.assertEqual(json.loads(words["tokens"]), [TOKENS, TOKENS])
        self.assertEqual(list(header), ["attention.0", "attention.1"])
        for layer, (dtype, entry) in zip(layers, zip(("F32", "F16"), header.values())):
            self.assertEqual(entry["dtype"], dtype)
            first, end = entry["data_offsets"]
            read = np.frombuffer(data[begin + first : begin + end], layer.dtype).reshape(entry["shape"])
            np.testing.assert_array_equal(read, layer)
        self.assertEqual(begin + header["attention.1"]["data_offsets"][1], len(data))
        if importlib.util.find_spec("safetensors"):
            from safetensors.numpy import load

            np.testing.assert_array_equal(load(data)["attention.0"], layers[0])

    def test_a_file_that_cannot_be_written_leaves_the_old_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "capture.safetensors")
            headlight.Capture([attention()], TOKENS).save(path)
            before = pathlib.Path(path).read_bytes()
            with self.assertRaises(headlight.HeadlightError):
                headlight.Capture([attention(), np.zeros((5, 5))], TOKENS).save(path)
            capture = headlight.Capture([attention()], TOKENS)
            whole = list(capture.pieces())
            capture.pieces = lambda: iter([whole[0], None])  # as where the disk is full behind the header
            with self.assertRaises(headlight.HeadlightError):
                capture.save(path)
            self.assertEqual(os.listdir(folder), ["capture.safetensors"])
            self.assertEqual(pathlib.Path(path).read_bytes(), before)

    def test_only_its_own_error_leaves_the_package(self):
        layer = attention()
        lists = headlight.Capture([layer.tolist()], np.arange(5))
        np.testing.assert_array_equal(lists.arrays()["attention.0"], layer)
        self.assertEqual(lists.words["tokens"], '["0", "1", "2", "3", "4"]')
        several = headlight.Capture([np.concatenate([layer, layer])], [np.arange(5), np.arange(5, 10)])
        self.assertEqual(json.loads(several.words["tokens"])[1], ["5", "6", "7", "8", "9"])
        for attentions, why in (
            ([[[1.0, 0.0], [1.0]]], "lists of different lengths"), (5, "attentions is a int; give a list"),
            (layer, "one array"), ([object()], "holds a object"),
        ):  # fmt: skip
            with self.assertRaisesRegex(headlight.HeadlightError, why):
                headlight.Capture(attentions)
        with self.assertRaisesRegex(headlight.HeadlightError, r"Capture\(\).* 'colour'"):
            headlight.Capture([layer], colour=1)
        for function, name in ((headlight.view, "view"), (headlight.page, "page")):
            with self.assertRaisesRegex(headlight.HeadlightError, rf"{name}\(\) has no argument 'image_'; did you mean image\?"):
                function([layer], TOKENS, image_=1)
        with self.assertRaisesRegex(headlight.HeadlightError, "No such file or directory"):
            headlight.Capture([layer]).save("/nowhere/at/all.safetensors")
        for wrong in (5, {"train": []}):
            with self.assertRaises(headlight.HeadlightError):
                headlight.survey(wrong)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_tensors_of_every_kind(self):
        import torch

        layer = torch.from_numpy(attention())
        tokens = torch.arange(5)
        for given in ([layer.to_sparse()], [layer.requires_grad_()], [layer.bfloat16().float()]):
            capture = headlight.Capture(given, tokens)
            self.assertLess(np.abs(capture.arrays()["attention.0"] - attention()).max(), 0.004)
            self.assertEqual(json.loads(capture.words["tokens"]), ["0", "1", "2", "3", "4"])
        batch = headlight.Capture([torch.cat([layer, layer])], [tokens, tokens + 5])
        self.assertEqual(json.loads(batch.words["tokens"])[1], ["5", "6", "7", "8", "9"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nested = torch.nested.nested_tensor([layer[0].detach(), layer[0, :, :3, :3].detach()])
        for given, why in ((nested, "nested tensor.*to_padded_tensor"), (layer.to("meta"), "no numbers")):
            for attentions in ([given], {"attention.0": given}):
                with self.assertRaisesRegex(headlight.HeadlightError, why):
                    headlight.Capture(attentions)

    def test_what_is_no_attention(self):
        with self.assertRaisesRegex(headlight.HeadlightError, "there is no attention"):
            headlight.Capture([])
        with self.assertRaisesRegex(headlight.HeadlightError, "there is no attention"):
            headlight.Capture((None, None))  # what other implementations of attention than eager return
        self.assertEqual(headlight.Capture([attention()], np.arange(5)).words["tokens"], '["0", "1", "2", "3", "4"]')
        self.assertEqual(headlight.Capture([attention()], [[7, 8]]).words["tokens"], '[["7", "8"]]')
        with self.assertRaisesRegex(headlight.HeadlightError, "save\\('page.html'\\)"):
            headlight.show([attention()], TOKENS)  # not in a notebook
        with self.assertRaisesRegex(headlight.HeadlightError, r"one array \[1, 3, 5, 5\]; give a list .* or one array \[layers"):
            headlight.Capture(attention(), TOKENS)
        with self.assertRaisesRegex(headlight.HeadlightError, "tokens is one text; give a list"):
            headlight.Capture([attention()], "the cat sat on it")
        with self.assertRaisesRegex(headlight.HeadlightError, "open a model: headlight.view\\(model='gpt2'"):
            headlight.Capture("gpt2")
        both = headlight.Capture([attention(), attention()], cross_attentions=[attention()])
        self.assertEqual(repr(both), "<headlight.Capture of 2 x attention [1, 3, 5, 5], 1 x cross_attention [1, 3, 5, 5]>")
        with self.assertRaisesRegex(headlight.HeadlightError, "not \\[5, 5\\]"):
            headlight.Capture([np.zeros((5, 5))]).save("x.safetensors")
        cache = type("DynamicCache", (), {"get_seq_length": lambda self: 5, "__iter__": lambda self: iter([])})()
        with self.assertRaisesRegex(headlight.HeadlightError, r"attentions is a cache of keys and values \(DynamicCache\)"):
            headlight.Capture(cache)
        logits = np.zeros((1, 5, 50), np.float32)
        for output in ((logits, cache, (attention(),)), (logits, (attention(),))):
            with self.assertRaisesRegex(headlight.HeadlightError, "attentions holds a .*, as all that a model returned does"):
                headlight.Capture(output)
        with self.assertRaisesRegex(
            headlight.HeadlightError, "attention.0 has 5 queries and 50 keys, .* logits and hidden states"
        ):
            headlight.Capture((logits,)).save("x.safetensors")
        with self.assertRaisesRegex(headlight.HeadlightError, "12 queries and 5 keys, .* windows \\(Longformer\\)"):
            headlight.Capture([np.zeros((1, 2, 12, 5), np.float32)]).save("x.safetensors")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(headlight.HeadlightError, "tokens"):
                exported(headlight.Capture([attention()], ["too", "few"]), folder)


if __name__ == "__main__":
    unittest.main()
