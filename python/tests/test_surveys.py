"""Surveys of texts from iterables, tables and files: the same numbers, as columns."""

import importlib.util
import os
import tempfile
import unittest

import headlight
import numpy as np

TEXTS = [f"a man with {i} dogs and a man with a ball" for i in range(40)] + ["one line\nand \"another\"", "ä"]
HAS_ARROW = importlib.util.find_spec("pyarrow") is not None
OPTIONS = {"model": "captions-gpt2", "metrics": ("induction", "entropy"), "top": 3, "samples": 12}


def mixed(offset):
    """The finalizer of SplitMix64."""
    mask = (1 << 64) - 1
    offset = (offset + 0x9E3779B97F4A7C15) & mask
    offset = ((offset ^ (offset >> 30)) * 0xBF58476D1CE4E5B9) & mask
    offset = ((offset ^ (offset >> 27)) * 0x94D049BB133111EB) & mask
    return offset ^ (offset >> 31)


class Surveys(unittest.TestCase):
    found: headlight.Survey

    @classmethod
    def setUpClass(cls):
        cls.found = headlight.survey(TEXTS, **OPTIONS)

    def expect_same(self, other):
        self.assertEqual(set(other), set(self.found))
        for name, array in self.found.items():
            np.testing.assert_array_equal(other[name], array, err_msg=name)
        self.assertEqual(list(other.samples["text"]), list(self.found.samples["text"]))

    def test_tables_are_columns_of_equal_length(self):
        found = self.found
        self.assertEqual(found.info["texts"], len(TEXTS))
        self.assertEqual(found["mean"].shape, (2, 4, 8))
        self.assertEqual(found["map"].shape, (4, 8, 32, 32))
        self.assertEqual({name: len(column) for name, column in found.heads.items()}, dict.fromkeys(found.heads, 64))
        self.assertEqual(found.heads["layer"].dtype, np.int64)
        np.testing.assert_allclose(found.heads["mean"].reshape(2, 4, 8), found["mean"], rtol=1e-6)
        entropy = found.samples["metric"] == "entropy"
        self.assertEqual(int(entropy.sum()), 32 * 12)
        self.assertLessEqual(set(found.samples["text"]), set(TEXTS))
        self.assertEqual(sorted(set(found.samples["decile"][entropy])), list(range(10)))
        np.testing.assert_allclose(found["distance"].sum(-1), 1, atol=1e-5)
        np.testing.assert_allclose(found["positions"].sum(-1), 1, atol=1e-5)
        np.testing.assert_allclose(found.attention["self"], found["distance"][..., 0].ravel(), atol=1e-6)
        self.assertEqual(len(found.attention["queries"]), 32)
        for table in (found.query_tokens, found.key_tokens, found.pairs):
            np.testing.assert_allclose(table["mass"] / table["count"], table["weight"], rtol=1e-12)
        self.assertIn("induction, entropy", repr(found))

    def test_own_metrics_are_beside_the_others(self):
        found = headlight.survey(TEXTS, own={"two-back": "k == q - 2", "again": "induction"}, **OPTIONS)
        self.assertEqual(found.info["metrics"], ["induction", "entropy", "two-back", "again"])
        self.assertEqual(found.info["patterns"], {"two-back": "k == q - 2", "again": "induction"})
        np.testing.assert_array_equal(found["mean"][3], found["mean"][0])
        self.assertIn("two-back", set(found.heads["metric"]))

    def test_rows_with_a_member_and_generators_are_the_same(self):
        rows = ({"caption": text, "number": number} for number, text in enumerate(TEXTS))
        self.expect_same(headlight.survey(rows, field="caption", **OPTIONS))

    def test_a_file_of_the_program_and_its_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "texts.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(TEXTS[:40]) + "\n")
            out = os.path.join(folder, "out")
            found = headlight.survey(path, limit=7, out=out, **OPTIONS)
            self.assertEqual(found.info["texts"], 7)
            # A sample is the texts with the smallest hashes of their offsets; deciles are of its values in order.
            whole = headlight.survey(path, **OPTIONS)
            offsets = np.cumsum([0] + [len(text.encode()) + 1 for text in TEXTS[:39]])
            chosen = set(sorted(offsets.tolist(), key=mixed)[:12])
            for head in range(32):
                rows = (whole.samples["metric"] == "entropy") & (whole.samples["layer"] * 8 + whole.samples["head"] == head)
                self.assertEqual(set(whole.samples["offset"][rows].tolist()), chosen)
                self.assertEqual(whole.samples["decile"][rows].tolist(), [10 * i // 12 for i in range(12)])
                self.assertTrue((np.diff(whole.samples["value"][rows]) >= 0).all())
            np.testing.assert_array_equal(headlight.Survey(out)["mean"], found["mean"])
            with self.assertRaisesRegex(headlight.HeadlightError, "is of another survey"):
                headlight.survey(path, limit=8, out=out, **OPTIONS)

    def test_pairs_have_a_column_of_kinds(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pairs.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.write('{"text": "ein Mann isst ein Eis", "target": "a man eats an ice cream"}\n' * 3)
            found = headlight.survey(path, model="multi30k-de-en", metrics=("previous", "entropy"), top=1)
        kinds = found.attention["kind"]
        self.assertEqual(sorted(set(kinds)), ["cross", "decoder", "encoder"])
        self.assertEqual(found["mean"].shape, (2, len(kinds)))
        is_cross = kinds == "cross"
        np.testing.assert_array_equal(np.isnan(found["mean"][0]), is_cross)
        np.testing.assert_array_equal(np.isnan(found.attention["self"].astype(float)), is_cross)
        self.assertFalse(np.isnan(found["mean"][1]).any())
        self.assertEqual(set(found.pairs["kind"]), {"cross", "decoder", "encoder"})
        self.assertEqual(set(found.examples["target"]), {"a man eats an ice cream"})

    def test_what_is_no_text_is_refused(self):
        for texts, message in (
            ([1, 2], "text 0 is int, not str"),
            ([{"words": "a"}], "a row has no 'text', but 'words'"),
            ({"train": TEXTS, "test": TEXTS}, "not a mapping of 'train', 'test': choose one"),
            ([], "standard input is empty"),
            ("missing.txt", "missing.txt"),
        ):
            with self.subTest(message), self.assertRaisesRegex(headlight.HeadlightError, message):
                headlight.survey(texts, **OPTIONS)
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(headlight.HeadlightError, "has no .parquet"):
            headlight.survey(folder, **OPTIONS)
        with self.assertRaisesRegex(headlight.HeadlightError, "unknown metric|--metrics"):
            headlight.survey(TEXTS, metrics="nothing", model="captions-gpt2")

    @unittest.skipUnless(HAS_ARROW, "there is no pyarrow")
    def test_parquet_arrow_and_tables(self):
        import pyarrow as arrow
        import pyarrow.parquet as parquet

        table = arrow.table({"number": list(range(len(TEXTS))), "text": TEXTS})
        self.expect_same(headlight.survey(table, **OPTIONS))
        with tempfile.TemporaryDirectory() as folder:
            parquet.write_table(table, os.path.join(folder, "texts.parquet"))
            self.expect_same(headlight.survey(folder, **OPTIONS))
            with self.assertRaisesRegex(headlight.HeadlightError, "no column|No match|not"):
                headlight.survey(os.path.join(folder, "texts.parquet"), field="words", **OPTIONS)
            for name, opened in (("stream", arrow.ipc.new_stream), ("file", arrow.ipc.new_file)):
                path = os.path.join(folder, f"{name}.arrow")
                with arrow.OSFile(path, "wb") as sink, opened(sink, table.schema) as writer:
                    writer.write_table(table)
                self.expect_same(headlight.survey(path, **OPTIONS))
            with open(os.path.join(folder, "odd.arrow"), "wb") as file:
                file.write(b"nothing of the kind")
            with self.assertRaisesRegex(headlight.HeadlightError, "odd.arrow"):
                headlight.survey(os.path.join(folder, "odd.arrow"), **OPTIONS)


if __name__ == "__main__":
    unittest.main()
