#!/usr/bin/python3
"""`annulus k8s lint` finds nothing in k8s/, as kustomize builds it: every folder by itself, and all of them together,
so that each TrainJob meets its runtime. What components/ttl warns of in words, it finds. Usage: lint_test.py ANNULUS.
Ends with 77 without kubectl or PyYAML.
"""
import pathlib
import subprocess
import sys
import tempfile

import kustomize
from kustomize import OVERLAYS, ROOT

# In an overlay of its own because of this very finding.
KNOWN = {OVERLAYS / "ttl": "ttl-restarts"}

failures = []


def expect(holds, message):
    if not holds:
        failures.append(message)
        print(f"FAILED: {message}")


def build(path, box):
    """The file that holds what is applied."""
    if path.is_file():
        return path
    built = box / (str(path.relative_to(ROOT)).replace("/", "-") + ".yaml")
    built.write_text(kustomize.yaml.safe_dump_all(kustomize.build(path)))
    return built


def lint(*files):
    return subprocess.run([sys.argv[1], "k8s", "lint", *map(str, files)], capture_output=True, text=True, check=False)


def main():
    if reason := kustomize.skip_reason():
        print(f"skipped: {reason}")
        sys.exit(77)
    clean, silent = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path in kustomize.sources():
            built = build(path, pathlib.Path(folder))
            said = lint(built)
            if path in KNOWN:
                rules = {line.split(": ")[1] for line in said.stdout.splitlines()[:-1]}
                expect(rules == {KNOWN[path]}, f"{path}: {said.stdout}{said.stderr}")
                continue
            clean.append(built)
            if said.returncode == 3 and " holds " in said.stderr:  # a claim, a queue, a role: nothing with pods
                silent += 1
            else:
                expect(said.returncode == 0, f"{path}: {said.stdout}{said.stderr}")
        expect(0 < silent < len(clean) / 2, f"{silent} of {len(clean)} hold nothing that a rule knows")
        together = lint(*clean)
        expect(together.returncode == 0, f"all together: {together.stdout}{together.stderr}")
    print(f"{len(clean)} clean, {silent} without pods, {len(failures)} faults")
    sys.exit(1 if failures else 0)


main()
