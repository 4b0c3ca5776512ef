"""The package where there is no Vulkan driver."""

import contextlib
import io
import unittest
from unittest import mock

import headlight
import numpy as np

NO_DRIVER = {"VK_ICD_FILENAMES": "/nonexistent.json", "VK_DRIVER_FILES": "/nonexistent.json"}


class NoDriver(unittest.TestCase):
    def test_runs_are_computed_on_the_processor_which_is_said(self):
        with mock.patch.dict("os.environ", NO_DRIVER), contextlib.redirect_stderr(io.StringIO()) as said:
            run = headlight.run(text="a dog", stages=("weights",))
        note = "headlight: note: computing on the processor, which is slower: no Vulkan device: "
        self.assertTrue(said.getvalue().startswith(note))
        self.assertEqual(said.getvalue().count("\n"), 1)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            asked = headlight.run(text="a dog", stages=("weights",), flags=["--device", "cpu"])
        self.assertEqual(said.getvalue(), "")
        np.testing.assert_array_equal(run["weights"], asked["weights"])
        np.testing.assert_allclose(run["weights"].sum(-1), 1, atol=1e-6)

    def test_a_page_of_attention_needs_none_and_says_nothing(self):
        weights = np.full((1, 2, 3, 3), 1 / 3, dtype=np.float32)
        with mock.patch.dict("os.environ", NO_DRIVER), contextlib.redirect_stderr(io.StringIO()) as said:
            page = headlight.page([weights], ["a", "b", "c"])
        self.assertIn("<iframe", page._repr_html_())
        self.assertEqual(said.getvalue(), "")


if __name__ == "__main__":
    unittest.main()
