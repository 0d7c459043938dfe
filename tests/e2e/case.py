"""What the tests on pods share: a scenario is played in a folder of the test's own, and what pods
said stands in the message of a check that fails. Skipped by name where pods cannot be started.
Usage of a test: NAME_test.py ANNULUS [--slow] [PART OF A NAME…]; --slow: the long scenarios instead
of the short ones. Used by every *_test.py here."""
from __future__ import annotations

import pathlib
import shutil
import sys
import tempfile
import unittest
from typing import Any, Sequence

import run
from run import Outcome, Result

SKIPPED = 77  # ctest's SKIP_RETURN_CODE here


class PodsTest(unittest.TestCase):
    """A test that plays scenarios."""

    program = ""  # annulus; set by main()
    longMessage = True

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="annulus-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.played: list[Result] = []

    def play(self, **scenario: Any) -> Result:
        """Plays it; every event must have happened."""
        folder = self.folder / str(len(self.played))
        folder.mkdir()
        result = run.run(scenario, self.program, folder)
        self.played.append(result)
        self.assertEqual(result.events_missed, [], self.told(result))
        return result

    @staticmethod
    def told(result: Result) -> str:
        """All that the pods said."""
        parts = []
        for key, lives in result.pods.items():
            for life in lives:
                parts.append(f"--- {key} {life.addresses}: started {life.started}, "
                             f"ended {life.ended}, code {life.code}\n{life.out}{life.err}")
        return "\n" + "\n".join(parts)

    def assert_codes(self, result: Result, codes: dict[str, int]) -> None:
        """The exit codes of the last lives."""
        self.assertEqual({key: result.last(key).code for key in codes}, codes, self.told(result))

    def assert_says(self, result: Result, key: str, *words: str) -> None:
        """Each is in what the last life of the pod said."""
        life = result.last(key)
        for word in words:
            self.assertIn(word, life.out + life.err, self.told(result))

    def assert_between(self, result: Result, seconds: float, low: float, high: float) -> None:
        """A time has room; the bounds tell right from wrong, not fast from slow."""
        self.assertGreaterEqual(seconds, low, self.told(result))
        self.assertLessEqual(seconds, high, self.told(result))

    def ended(self, result: Result, key: str) -> float:
        """When the last life of a pod ended; it must have."""
        life: Outcome = result.last(key)
        if life.ended is None:
            self.fail(f"pod {key} had to be stopped{self.told(result)}")
        return life.ended


def main(fast: list[type[PodsTest]], slow: Sequence[type[PodsTest]] = ()) -> None:
    """Runs the tests of one list of classes."""
    reason = run.skip_reason()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    arguments = sys.argv[1:]
    PodsTest.program = str(pathlib.Path(arguments.pop(0)).resolve())
    classes = list(slow if "--slow" in arguments else fast)
    patterns = [argument for argument in arguments if argument != "--slow"]
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*" for pattern in patterns] or None
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(chosen) for chosen in classes)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
