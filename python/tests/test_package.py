"""The package against the built program, without a display."""

import ast
import base64
import graphlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import headlight
import numpy as np

SHAPE = (1, 3, 5, 5)
TOKENS = ["the", "cat", "sat", "on", "it"]


def attention(seed=0, shape=SHAPE):
    scores = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    weights = np.exp(scores)
    return weights / weights.sum(-1, keepdims=True)


def exported(capture, folder):
    path = os.path.join(folder, "capture.safetensors")
    capture.save(path)
    return headlight.run(flags=["--capture", path])


def data_of(page):
    """What a page was made from."""
    return json.loads(page.text.split('<script id="data" type="application/json">')[1].split("</script>")[0])


class Pages(unittest.TestCase):
    def test_a_notebook_that_removes_frames_has_the_picture(self):
        page = headlight.page([attention()], TOKENS)
        self.assertEqual(len(page.pictures), 1)
        shown = page._repr_html_()
        rest = shown[: shown.index("<iframe")] + shown[shown.index("</iframe>") :]
        data = rest.split('src="data:image/png;base64,')[1].split('"')[0]
        self.assertEqual(base64.b64decode(data), page.pictures[0])
        self.assertEqual(page.pictures[0][:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("absolute", shown[shown.index("<iframe") :])  # the frame covers it
        pair = headlight.page(model="multi30k-de-en", text="ein Hund", target="a dog")
        self.assertEqual(len(pair.pictures), 3)

    def test_byte_letters_are_spelled_as_the_program_spells_them(self):
        data = data_of(headlight.page([attention(1, (1, 2, 3, 3))], ["the", "\u0120man", "\u00c3\u00a4"]))
        self.assertEqual(data["sets"][0]["rows"], ["the", "\u00b7man", "\u00e4"])


class Modules(unittest.TestCase):
    def test_no_module_needs_one_that_needs_it(self):
        needs = {}
        for path in pathlib.Path(headlight.__file__).parent.glob("_*.py"):
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))  # imports inside of functions too
            needs[path.stem] = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1}
        del needs["__init__"]
        self.assertIn("_captures", list(graphlib.TopologicalSorter(needs).static_order()))  # raises CycleError


    def test_all_is_typed_and_what_is_public_is_described(self):
        for path in pathlib.Path(headlight.__file__).parent.glob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            self.assertTrue(ast.get_docstring(tree), path.name)
            for node in ast.walk(tree):
                for part in getattr(node, "body", []) if isinstance(node, (ast.Module, ast.ClassDef)) else []:
                    if isinstance(part, (ast.FunctionDef, ast.ClassDef)) and part.name in headlight.__all__:
                        self.assertTrue(ast.get_docstring(part), part.name)
                if not isinstance(node, ast.FunctionDef):
                    continue
                options = [node.args.vararg, node.args.kwarg]
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *(one for one in options if one)]
                untyped = [one.arg for one in given if one.annotation is None and one.arg != "self"]
                self.assertEqual(untyped, [], f"{path.name}: {node.name}")
                self.assertTrue(node.returns is not None or node.name == "__init__", f"{path.name}: {node.name}")

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_mypy_finds_nothing(self):
        folder = pathlib.Path(headlight.__file__).parent.parent
        if not (folder / "pyproject.toml").exists():
            self.skipTest("the package is installed without its pyproject.toml")
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run(
                [sys.executable, "-m", "mypy", "--cache-dir", cache], cwd=folder, capture_output=True, text=True, check=False
            )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_objects_say_what_they_are(self):
        run = headlight.run(text="a man")
        self.assertEqual(repr(run), "<headlight.Run weights [4, 1, 8, 2, 2]>")
        self.assertRegex(repr(headlight.page(run)), "^<headlight.Page of [0-9]+ letters: ")
        for name in headlight.__all__:
            one = getattr(headlight, name)
            if isinstance(one, type) and not issubclass(one, Exception):
                self.assertIn("__repr__", vars(one), name)


class Runs(unittest.TestCase):
    def test_arrays_of_a_model_are_softmax_of_its_scores(self):
        run = headlight.run(model="captions-gpt2", text="a man in a red shirt", stages=("scaled", "weights", "logits"))
        weights, scaled = run["weights"], run["scaled"]
        self.assertEqual(weights.shape[:3], (4, 1, 8))
        n = len(run.tokens[0])
        self.assertEqual(weights.shape[3:], (n, n))
        self.assertEqual("".join(run.tokens[0]).replace("\u0120", " ").strip()[-5:], "shirt")
        masked = np.where(np.tri(n, dtype=bool), scaled.astype(np.float64), -np.inf)
        expected = np.exp(masked - masked.max(-1, keepdims=True))
        expected /= expected.sum(-1, keepdims=True)
        error = np.abs(weights - expected).max()
        self.assertLess(error, 2e-6)  # observed: 1.2e-7
        self.assertEqual(run["logits"].shape[:2], (1, n))
        self.assertTrue(np.isfinite(run["logits"]).all())

    def test_without_a_model_it_is_the_bundled_one(self):
        run, named = headlight.run(text="a man"), headlight.run(text="a man", model="captions-gpt2")
        self.assertEqual(run.info["model"], named.info["model"])
        np.testing.assert_array_equal(run["weights"], named["weights"])

    def test_a_mask_is_an_array(self):
        mask = np.eye(3, dtype=bool)
        run = headlight.run(text="one two three", mask=mask, flags=["--preset", "playground"])
        for layer in run["weights"]:
            np.testing.assert_array_equal(layer[0, 0], np.eye(3, dtype=np.float32))

    def test_selections_and_batches(self):
        run = headlight.run(text=["a b c", "d e"], layer=0, head=1, stages="weights", flags=["--heads", "2", "--d-model", "8"])
        self.assertEqual(run["weights"].shape, (1, 2, 1, 3, 3))
        self.assertEqual(run.tokens, [["a", "b", "c"], ["d", "e"]])
        self.assertIsNone(run.target_tokens)
        self.assertEqual(list(run), ["weights"])

    def test_what_the_program_refuses_is_its_line(self):
        with self.assertRaisesRegex(headlight.HeadlightError, "there is no|is no model|not found|no such"):
            headlight.run(model="no-such-model", text="a")
        with self.assertRaisesRegex(headlight.HeadlightError, "--stages"):
            headlight.run(text="a", stages="nonsense")

    def test_layers_and_heads_are_numbers_lists_or_ranges(self):
        whole = headlight.run(text="a man rides")["weights"]
        chosen = headlight.run(text="a man rides", layer=[0, 2], head=range(3, 5))["weights"]
        np.testing.assert_array_equal(chosen, whole[[0, 2]][:, :, 3:5])
        np.testing.assert_array_equal(headlight.run(text="a man rides", layer="1-3", head=np.int64(7))["weights"], whole[1:, :, 7:])

    def test_a_run_is_attention_with_its_tokens_and_padding(self):
        run = headlight.run(text=["a man in a shirt", "a dog"])
        capture = headlight.Capture.of(run)
        self.assertEqual((capture.words["mask"], capture.words["lengths"]), ("causal", "[5, 2]"))
        with tempfile.TemporaryDirectory() as folder:
            again = exported(capture, folder)
            np.testing.assert_array_equal(again["weights"], run["weights"])
            self.assertEqual(again.tokens, run.tokens)
            alone = exported(headlight.Capture(run["weights"]), folder)  # one array [layers, batch, heads, queries, keys]
            np.testing.assert_array_equal(alone["weights"], run["weights"])
        pair = headlight.run(model="multi30k-de-en", text="ein Hund", target="a dog")
        capture = headlight.Capture.of(pair)
        with tempfile.TemporaryDirectory() as folder:
            again = exported(capture, folder)
        for name in ("encoder_weights", "decoder_weights", "cross_weights"):
            np.testing.assert_array_equal(again[name], pair[name])
        self.assertEqual((again.tokens, again.target_tokens), (pair.tokens, pair.target_tokens))
        with self.assertRaisesRegex(headlight.HeadlightError, "the run has no weights"):
            headlight.Capture.of(headlight.run(text="a", stages="q"))

    def test_a_program_that_is_not_there(self):
        before = os.environ["HEADLIGHT"]
        os.environ["HEADLIGHT"] = "/nowhere/headlight"
        try:
            with self.assertRaisesRegex(headlight.HeadlightError, "HEADLIGHT is '/nowhere/headlight'"):
                headlight.program()
        finally:
            os.environ["HEADLIGHT"] = before


class Program(unittest.TestCase):
    def test_the_program_of_a_wheel_wins_over_the_path(self):
        chosen = os.environ.pop("HEADLIGHT")
        path = os.environ["PATH"]
        package = pathlib.Path(headlight.__file__).parent
        inside = package / "_installed/bin"
        self.assertFalse(inside.exists())
        with tempfile.TemporaryDirectory() as folder:
            for place in (pathlib.Path(folder), inside):
                place.mkdir(parents=True, exist_ok=True)
                (place / "headlight").write_text("#!/bin/sh\necho $0 $*\n")
                (place / "headlight").chmod(0o755)
            try:
                os.environ["PATH"] = f"{folder}:{path}"
                self.assertEqual(headlight.program(), str(inside / "headlight"))
                command = [sys.executable, "-c", "import headlight._program as p, sys; sys.argv[1:] = ['models', '--x']; p.main()"]
                said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=package.parent).stdout
                self.assertEqual(said, f"{inside / 'headlight'} models --x\n")
                (inside / "headlight").unlink()
                self.assertEqual(headlight.program(), str(pathlib.Path(folder) / "headlight"))
                os.environ["HEADLIGHT"] = chosen
                self.assertEqual(headlight.program(), chosen)
            finally:
                os.environ.update(HEADLIGHT=chosen, PATH=path)
                shutil.rmtree(package / "_installed")

    def test_a_system_without_the_vulkan_loader_is_told_what_to_install(self):
        before = os.environ["HEADLIGHT"]
        with tempfile.TemporaryDirectory() as folder:
            stand_in = pathlib.Path(folder) / "headlight"
            for library, told in (
                ("libvulkan.so.1", "the Vulkan loader is missing on this system: .*(apt|dnf|pacman|zypper|install) "),
                ("libother.so.2", "libother.so.2 is missing on this system$"),
            ):
                said = f"headlight: error while loading shared libraries: {library}: cannot open shared object file"
                stand_in.write_text(f"#!/bin/sh\necho '/x/{said}' >&2\nexit 127\n")
                stand_in.chmod(0o755)
                os.environ["HEADLIGHT"] = str(stand_in)
                try:
                    with self.assertRaisesRegex(headlight.HeadlightError, told):
                        headlight.run(text="a")
                finally:
                    os.environ["HEADLIGHT"] = before

    def test_the_distribution_has_a_name_of_its_own_and_its_licence(self):
        name = importlib.metadata.packages_distributions().get("headlight")
        if name:  # installed, and not found beside this file
            self.assertEqual(set(name), {"headlight-attention"})
            about = importlib.metadata.distribution("headlight-attention")
            self.assertIn("License :: OSI Approved :: MIT License", about.metadata.get_all("Classifier"))
            self.assertTrue([file for file in about.files or [] if file.name == "LICENSE"])
            self.assertTrue([file for file in about.files or [] if file.name == "py.typed"])


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
            with self.assertRaises(TypeError):
                capture.save(path)
            self.assertEqual(os.listdir(folder), ["capture.safetensors"])
            self.assertEqual(pathlib.Path(path).read_bytes(), before)

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


class WithoutDisplay(unittest.TestCase):
    def test_a_window_that_cannot_open_says_why(self):
        with self.assertRaisesRegex(headlight.HeadlightError, "there is no display .*headlight.show\\(...\\) shows the page"):
            headlight.view([attention()], TOKENS, wait=60)
        with self.assertRaisesRegex(headlight.HeadlightError, "line 1 has 2 tokens, but its attention has 5"):
            headlight.view([attention()], ["too", "few"])

    def test_a_link_without_a_window(self):
        with self.assertRaisesRegex(headlight.HeadlightError, "no window is open"):
            headlight.connect(start=False)
        began = time.monotonic()
        with self.assertRaisesRegex(headlight.HeadlightError, "display|window"):
            headlight.connect(timeout=60)
        self.assertLess(time.monotonic() - began, 50)


if __name__ == "__main__":
    unittest.main()
