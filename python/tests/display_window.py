"""The package with a display: windows open, and one follows a training loop over the real link."""

import glob
import os
import signal
import subprocess
import time
import unittest

import headlight
import numpy as np

TOKENS = [f"t{i}" for i in range(12)]


def attention(step, steps):
    """A head that is uniform first and looks at the previous token in the end."""
    uniform = np.full((12, 12), 1 / 12)
    previous = np.eye(12, k=-1)
    previous[0, 0] = 1
    share = step / steps
    return np.broadcast_to((1 - share) * uniform + share * previous, (1, 4, 12, 12)).astype(np.float32)


class Windows(unittest.TestCase):
    def test_a_capture_opens_and_its_file_goes_with_the_window(self):
        began = time.monotonic()
        window = headlight.view([attention(1, 2)], TOKENS, wait=120)
        self.assertLess(time.monotonic() - began, 100)  # observed: 1 s; it doesn't wait once the window is open
        self.assertTrue(window.is_open)
        folder = window._folder
        self.assertTrue(os.path.exists(os.path.join(folder, "capture.safetensors")))
        window.close()
        for _ in range(100):
            if not os.path.exists(folder):
                break
            time.sleep(0.05)
        self.assertFalse(os.path.exists(folder))

    def test_a_window_follows_training(self):
        link = headlight.connect("train.py", timeout=120, flags=["--fresh"])
        self.addCleanup(link.window.close)
        steps, times = 60, []
        for step in range(steps):
            before = time.thread_time()
            link.log([attention(step, steps)] * 2, TOKENS, step=step)
            times.append(time.thread_time() - before)
            time.sleep(0.02)
        self.assertTrue(link.flush(60))
        self.assertLess(max(times), 1e-3)  # observed: 0.2 ms
        self.assertEqual((link.refused, link.problem), (0, None))
        self.assertEqual(link.sent + link.dropped, steps)
        kept = glob.glob(os.path.join(os.environ["XDG_RUNTIME_DIR"], "headlight", "viewer-*.steps", "step-*"))
        self.assertEqual(len(kept), link.sent)

        # One program at a time: a second one is not linked to this window.
        with self.assertRaisesRegex(headlight.HeadlightError, "no window is open that takes a link"):
            headlight.connect(start=False)
        link.log([np.full((1, 2, 3, 4), 0.25, np.float32)], step=steps)  # self-attention isn't 3 x 4
        self.assertTrue(link.flush(60))
        self.assertEqual(link.refused, 1)
        self.assertIn(f"step {steps}", link.problem)
        self.assertTrue(link.window.is_open)
        picture = os.environ.get("HEADLIGHT_LINK_PICTURE")
        if picture:
            time.sleep(3)
            subprocess.run(["import", "-window", "root", picture], check=True)
        link.close()

        # The window stays, and takes the next program.
        with headlight.connect("again.py", start=False) as again:
            again.log([attention(0, 1)], TOKENS, step=0)
            self.assertTrue(again.flush(60))
            self.assertEqual(again.sent, 1)
        self.assertEqual(len(glob.glob(os.path.join(os.path.dirname(kept[0]), "step-*"))), 1)

        # Steps are in memory: nothing of them is left when a signal ends the window.
        link.window.close()
        self.assertEqual(link.window.process.returncode, -signal.SIGTERM)
        self.assertEqual(os.listdir(os.path.join(os.environ["XDG_RUNTIME_DIR"], "headlight")), [])


if __name__ == "__main__":
    unittest.main()
