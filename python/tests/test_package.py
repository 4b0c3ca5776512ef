"""The package against the built program, without a display."""

import ast
import base64
import graphlib
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import headlight
import numpy as np
from made_attention import TOKENS, attention, data_of, exported


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
