"""Exercises in code against the built program: solutions in numpy, and the mistakes that are known."""

import math
import os
import tempfile
import unittest

import headlight
import numpy as np

PRESETS = {
    "000/attention": "notebook-000",
    "000/class": "notebook-000-class",
    "001/attention": "notebook-001",
    "003/attention": "notebook-003",
    "003/multi-head": "notebook-003-fused",
    "004/attention": "notebook-004",
    "004/heads": "notebook-004-heads",
    "004/encoder": "notebook-004-encoder",
}


def solved(one, merge=lambda heads: heads.transpose(0, 2, 1, 3), scale=None, mask=None):
    """Multi-head attention in numpy, from an exercise's inputs."""
    given = one.inputs
    if "x" in given:
        x = given["x"].astype(np.float64)

        def projected(name):
            y = x @ given[f"w_{name}"].T.astype(np.float64) + given.get(f"b_{name}", 0.0)
            return y.reshape(*x.shape[:2], one.heads, -1).transpose(0, 2, 1, 3)

        q, k, v = (projected(name) for name in "qkv")
    else:
        q, k, v = (given[name].astype(np.float64).reshape(1, 1, *given[name].shape[-2:]) for name in "qkv")
    scores = q @ k.transpose(0, 1, 3, 2)
    masked = np.where(given["mask"] if mask is None else mask, scores * (scale or one.scale), one.fill)
    weights = np.exp(masked - np.maximum(masked.max(-1, keepdims=True), -1e30))
    weights = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-30)
    heads = weights @ v
    merged = merge(heads).reshape(heads.shape[0], heads.shape[2], -1)
    stages = {"q": q, "k": k, "v": v, "scores": scores, "weights": weights, "heads": heads, "merged": merged}
    if "w_o" in given:
        stages["output"] = merged @ given["w_o"].T.astype(np.float64) + given["b_o"]
    return stages


class Exercises(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = self.folder.name

    def tearDown(self):
        os.environ.pop("XDG_STATE_HOME")
        if self.before is not None:
            os.environ["XDG_STATE_HOME"] = self.before
        self.folder.cleanup()

    def test_solutions_in_numpy_pass(self):
        for name in headlight.exercises():
            one = headlight.exercise(name)
            stages = solved(one)
            checked = one.check(**stages)
            self.assertIsNone(checked.wrong, checked)
            self.assertEqual(checked.right, list(stages), name)
            if list(stages)[-1] == list(one.stages)[-1]:
                self.assertTrue(checked.passed)
                self.assertTrue(one.check(stages[list(stages)[-1]]))

    def test_its_numbers_are_those_that_the_program_exports(self):
        largest = 0.0
        for name, preset in PRESETS.items():
            one = headlight.exercise(name)
            run = headlight.run(flags=["--preset", preset], stages=list(one.stages))
            checked = one.check(**{stage: run[stage][0] for stage in one.stages})
            self.assertTrue(checked, f"{name}: {checked}")
            if "x" in one.inputs:
                x = headlight.run(flags=["--preset", preset], stages="x")["x"][0]
                largest = max(largest, float(np.abs(x - one.inputs["x"]).max()))
        self.assertLess(largest, 1e-6)

    def test_mistakes_are_named(self):
        one = headlight.exercise("001/task")
        leaking = solved(one, merge=lambda heads: heads)
        self.assertRegex(
            repr(one.check(scores=leaking["scores"], merged=leaking["merged"])),
            "^Right: scores. Wrong: merged \u2013 heads were merged without transposing back",
        )
        self.assertRegex(one.check(leaking["output"]).text, "^Wrong: output \u2013 heads were merged without transposing back")
        self.assertIn("weren't divided", one.check(weights=solved(one, scale=1.0)["weights"]).text)
        self.assertIn("the mask is missing", one.check(solved(one, mask=np.True_)["output"]).text)
        by_width = solved(one, scale=1.0 / math.sqrt(one.inputs["x"].shape[-1]))
        self.assertIn("d_model instead of", one.check(heads=by_width["heads"]).text)

    def test_a_fully_masked_row(self):
        one = headlight.exercise("000/minus-infinity")
        weights = solved(one)["weights"].copy()
        weights[weights.sum(-1) == 0.0] = np.nan
        self.assertRegex(one.check(weights=weights).text, "NaN.*softmax divides 0 by 0")

    def test_arrays_of_other_kinds(self):
        one = headlight.exercise("004/attention")
        stages = solved(one)
        self.assertTrue(one.check(stages["merged"][0].tolist()))
        self.assertTrue(one.check(np.asfortranarray(stages["merged"].astype(np.float32))))
        self.assertFalse(one.check(stages["merged"].astype(np.float16)))
        try:
            import torch
        except ImportError:
            return
        self.assertTrue(one.check(torch.tensor(stages["merged"], requires_grad=True)))

    def test_what_cannot_be_compared_is_one_line(self):
        one = headlight.exercise("001/task")
        for given, line in (
            ({}, "001/task: give the result, or some of q, k"),
            ({"wieghts": np.zeros(3)}, "001/task has no stage 'wieghts'"),
            ({"q": np.array(["a"])}, "q is an array of <U1, not of numbers"),
        ):
            with self.assertRaises(headlight.HeadlightError) as raised:
                one.check(**given)
            self.assertTrue(str(raised.exception).startswith(line), raised.exception)
        self.assertIn("expected [2, 4, 5, 4]", one.check(q=np.zeros((2, 5, 16))).text)
        with self.assertRaisesRegex(headlight.HeadlightError, "there is no exercise '001/tsak'"):
            headlight.exercise("001/tsak")

    def test_a_passed_exercise_leaves_a_file(self):
        path = os.path.join(self.folder.name, "headlight", "exercises", "001-attention.json")
        one = headlight.exercise("001/attention")
        stages = solved(one)
        self.assertFalse(one.check(q=stages["q"]))
        self.assertFalse(os.path.exists(path))
        self.assertTrue(one.check(output=stages["merged"]))
        self.assertTrue(os.path.exists(path))
        self.assertEqual(repr(one.inputs)[:29], "<headlight.Inputs w_q [8, 8],")


if __name__ == "__main__":
    unittest.main()
