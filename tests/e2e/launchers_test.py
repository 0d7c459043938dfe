#!/usr/bin/env python3
"""Every launcher of k8s/, run from its own manifest on this machine's pods: the bits, a killed
worker, a permanent error, more nodes, eight devices a pod. Run by ctest.
usage: launchers_test.py ANNULUS LAUNCHER… [PART OF A TEST'S NAME…] [--show]"""
from __future__ import annotations

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "launchers"))

import case  # noqa: E402  (needs the path above)
import launched  # noqa: E402
from table import LAUNCHERS  # noqa: E402


def main() -> None:
    """Runs the tests of the launchers that are named."""
    reason = launched.skip_reason()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(case.SKIPPED)
    launched.LauncherTest.program = str(pathlib.Path(sys.argv[1]).resolve())
    launched.LauncherTest.show = "--show" in sys.argv
    chosen = [word for word in sys.argv[2:] if word in LAUNCHERS]
    patterns = [f"*{word}*" for word in sys.argv[2:] if word not in [*LAUNCHERS, "--show"]]
    loader, suite = unittest.TestLoader(), unittest.TestSuite()
    loader.testNamePatterns = patterns or None
    for word in chosen:
        test = type(word, (launched.WholeLauncherTest,), {"launcher": LAUNCHERS[word]})
        suite.addTests(loader.loadTestsFromTestCase(test))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)


if __name__ == "__main__":
    main()
