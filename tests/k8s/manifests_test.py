#!/usr/bin/python3
"""Every manifest of k8s/ is built by kustomize, keeps the rules of pod_rules.py, names only options and exit codes
that the program has, and passes the schemas of each release it claims; the table of releases in k8s/README.md is the
one that comes out. Usage: manifests_test.py ANNULUS [--table]. Ends with 77 without kubectl or PyYAML; without
../shared the schemas alone are skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import kustomize
import pod_rules
from kustomize import K8S, OVERLAYS, ROOT, ManifestError, yaml

TRAINER = ["trainer-v2.0.0", "trainer-v2.1.0", "trainer-v2.2.0", "trainer-v2.3.0"]
OPERATOR = ["training-operator-v1.9.2", "training-operator-v1.9.4"]
VOLCANO = ["volcano-v1.13.0", "volcano-v1.15.1"]
JOBSET = ["jobset-v0.10.1", "jobset-v0.12.0"]
CORE = "kubernetes-core"
# Which releases a manifest claims, by API group. What is in no row is Kubernetes' own.
CLAIMS = {
    "trainer.kubeflow.org/v1alpha1": TRAINER,
    "kubeflow.org/v1": OPERATOR,
    "kubeflow.org/v2beta1": ["mpi-operator-v0.8.0"],
    "batch.volcano.sh/v1alpha1": VOLCANO,
    "scheduling.volcano.sh/v1beta1": VOLCANO,
    "jobset.x-k8s.io/v1alpha2": JOBSET,
    "kubeflow.org/v1beta1": ["katib-master"],
    "monitoring.coreos.com/v1": ["prometheus-operator"],
}
# Manifests that need a later release than their group's first: what was not there before.
LATER = {
    "trainer/runtimes/flux": TRAINER[2:],  # the flux policy
    "trainer/jobs/cifar10-flux.yaml": TRAINER[2:],
    "volcano/runtime": TRAINER[1:],  # the volcano policy
    "volcano/together": TRAINER[1:],
    "volcano/together.yaml": TRAINER[1:],
}
ROOT_NEEDED = {"trainer/runtimes/infiniband"}  # memory is pinned
TOKEN_NEEDED = {"mpijob/v1"}  # its mpirun reaches the workers by kubectl exec
OTHER_OPTIONS = {"bind-to", "mca", "publish-not-ready-addresses"}  # mpirun's, and a plugin's of Volcano

# ExperimentSpec of kubeflow/katib, pkg/apis/controller/experiments/v1beta1: its CRD has no schema.
EXPERIMENT = {"parameters", "objective", "algorithm", "earlyStopping", "trialTemplate", "parallelTrialCount", "maxTrialCount",
              "maxFailedTrialCount", "metricsCollectorSpec", "nasConfig", "resumePolicy"}
METRICS = {"loss", "accuracy", "val_loss", "val_accuracy", "images_per_sec"}  # of every epoch line

failures = []


def expect(holds, message):
    if not holds:
        failures.append(message)
        print(f"FAILED: {message}")


def name_of(path):
    return str(path.relative_to(K8S if K8S in path.parents else OVERLAYS.parent))


def build(path):
    try:
        return kustomize.build(path)
    except ManifestError as error:
        expect(False, error)
        return []


def permanent_codes():
    text = (ROOT / "kernels/exit_code.h").read_text()
    enumerators = text[text.index("enum class ExitCode"):text.index("};")]
    return {int(code) for code in re.findall(r"= (\d+),", enumerators) if 0 < int(code) < 128}


def policies_of(node):
    """The exit codes of every podFailurePolicy, or of Volcano's policies, in a manifest."""
    if isinstance(node, dict):
        if "onExitCodes" in node:
            yield set(node["onExitCodes"]["values"])
        if "policies" in node:
            yield {policy["exitCode"] for policy in node["policies"] if "exitCode" in policy}
        node = list(node.values())
    if isinstance(node, list):
        for value in node:
            yield from policies_of(value)


def check_pods(name, manifest):
    where = f"{name}: {manifest['kind']}"
    for path, pod in pod_rules.pods_of(manifest):
        faults = list(pod_rules.restricted_faults(pod))
        if name in ROOT_NEEDED:
            expect(faults, f"{where}: passes `restricted`: take it from ROOT_NEEDED")
            faults = []
        own = [fault for fault in pod_rules.own_faults(pod)
               if not (fault == "a token is mounted" and name in TOKEN_NEEDED)]
        for fault in faults + own:
            expect(False, f"{where} {path}: {fault}")
    for variable in pod_rules.reserved_names(manifest):
        expect(False, f"{where}: {variable} is an operator's to set")
    # Under MPI 1 is also what mpirun says when a pod is lost.
    for codes in policies_of(manifest):
        expect(codes - {126, 127} in (permanent_codes(), permanent_codes() - {1}),
               f"{where}: permanent are {sorted(codes)}, by docs/exit-codes.md {sorted(permanent_codes())}")


def check_policy(name, policy):
    """A NetworkPolicy rules on those directions that it says something of; the schema takes any word."""
    said = {kind for kind in ("Ingress", "Egress") if kind.lower() in policy["spec"]}
    types = set(policy["spec"]["policyTypes"])
    expect(said <= types <= {"Ingress", "Egress"}, f"{name}: policyTypes {sorted(types)} with rules for {sorted(said)}")


def check_words(name, text, help_page, variables):
    """Options in lists of arguments, and variables, are the program's own."""
    for option in re.findall(r"(?<![\w-])--([a-z][a-z-]+)", text):
        expect(f"--{option} " in help_page or option in OTHER_OPTIONS, f"{name}: annulus train has no --{option}")
    for variable in set(re.findall(r"\bANNULUS_[A-Z_]+", text)):
        expect(f"{variable} " in variables, f"{name}: annulus knows no {variable}")


def jobset_of(runtime):
    """What the Trainer's controller makes of a runtime, as far as a schema sees it."""
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "of-runtime"},
            "spec": runtime["spec"]["template"]["spec"]}


def trial_of(experiment):
    """What Katib makes of an Experiment, its parameters at their first values."""
    spec = experiment["spec"]
    objective = spec["objective"]
    metrics = {objective["objectiveMetricName"], *objective.get("additionalMetricNames", [])}
    expect(spec.keys() <= EXPERIMENT and metrics <= METRICS,
           f"{experiment['metadata']['name']}: {sorted(spec.keys() - EXPERIMENT)} {sorted(metrics - METRICS)}")
    spaces = {parameter["name"]: parameter["feasibleSpace"] for parameter in spec["parameters"]}
    text = yaml.safe_dump({**spec["trialTemplate"]["trialSpec"], "metadata": {"name": "trial"}})
    for parameter in spec["trialTemplate"]["trialParameters"]:
        space = spaces.pop(parameter["reference"])
        text = text.replace(f"${{trialParameters.{parameter['name']}}}", space.get("min") or space["list"][0])
    expect("${" not in text and not spaces, f"{experiment['metadata']['name']}: parameters left over: {spaces} {text}")
    return yaml.safe_load(text)


def claims_of(name, manifest):
    group = manifest["apiVersion"]
    if group.startswith("trainer.kubeflow.org"):
        return LATER.get(name, TRAINER)
    return CLAIMS.get(group, [CORE])


def interpreter():
    """A Python that has what crdcheck.py imports."""
    for candidate in (sys.executable, shutil.which("python3")):
        done = subprocess.run([candidate, "-c", "import yaml, jsonschema"], capture_output=True, check=False)
        if done.returncode == 0:
            return candidate
    return None


def check_schemas(shared, python, manifests):
    """crdcheck.py, once a release on all that claim it. Returns the table's rows."""
    releases, rows = {}, {}
    with tempfile.TemporaryDirectory() as box:
        for number, (name, manifest) in enumerate(manifests):
            path = pathlib.Path(box) / f"{number}.yaml"
            path.write_text(yaml.safe_dump(manifest))
            for release in claims_of(name, manifest):
                releases.setdefault(release, []).append((path, name))
                if release not in rows.setdefault(name, []):
                    rows[name].append(release)
        for release, claimed in releases.items():
            folders = ",".join(f"{shared}/k8s/crds/{folder}" for folder in dict.fromkeys([release, CORE]))
            result = subprocess.run([python, f"{shared}/k8s/crdcheck.py", folders, *(str(path) for path, _ in claimed)],
                                    capture_output=True, text=True, check=False)
            lines = result.stdout.splitlines()
            for path, name in claimed:
                said = [line.split(" ", 1)[1] for line in lines if line.startswith(f"{path}[")]
                expect(len(said) == 1 and said[0].endswith(" ok"), f"{name}: {release}: {said or result.stderr[-500:]}")
    return rows


def words_of(releases):
    """["trainer-v2.0.0", "trainer-v2.1.0"] as "trainer 2.0.0, 2.1.0"."""
    families = {}
    for release in releases:
        family, _, version = release.partition("-v")
        families.setdefault(family, []).append(version)
    return "; ".join(f"{family} {', '.join(versions)}".strip() for family, versions in families.items())


def table_of(rows):
    together = {}
    for name, releases in sorted(rows.items()):
        if name.startswith(OVERLAYS.name):
            continue
        together.setdefault(words_of(releases), []).append(f"`{name}`")
    lines = ["| valid against | manifest |", "|---|---|"]
    lines += [f"| {releases} | {' '.join(names)} |" for releases, names in together.items()]
    return "\n".join(lines) + "\n"


def main():
    reason = kustomize.skip_reason()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    pages = [subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=True).stdout
             for words in (["train", "--help"], ["--help-env"])]
    pages[1] = re.sub(r"\n", " \n", pages[1])
    expect(build(K8S / "volcano/together.yaml") == build(K8S / "volcano/together"),
           "k8s/volcano/together.yaml is not what kubectl kustomize k8s/volcano/together makes now")
    manifests = []
    for path in kustomize.files():
        expect(path.read_text().startswith("# "), f"{path}: does not open with a comment that says what it is")
    for path in kustomize.sources():
        name = name_of(path)
        for manifest in build(path):
            check_pods(name, manifest)
            check_words(name, yaml.safe_dump(manifest), *pages)
            manifests.append((name, manifest))
            if manifest["kind"].endswith("TrainingRuntime"):
                manifests.append((name, jobset_of(manifest)))
            if manifest["kind"] == "NetworkPolicy":
                check_policy(name, manifest)
            if manifest["kind"] == "Experiment":
                manifests.append((name, trial_of(manifest)))
    expect(manifests, "no manifests")

    shared, python = os.environ.get("ANNULUS_SHARED", ""), interpreter()
    if not os.path.isfile(f"{shared}/k8s/crdcheck.py"):
        print("skipped: the schemas: no ../shared")
    elif not python:
        print("skipped: the schemas: no python3-jsonschema")
    else:
        table = table_of(check_schemas(shared, python, manifests))
        if "--table" in sys.argv:
            print(table, end="")
        expect(table in (K8S / "README.md").read_text(), f"k8s/README.md: the table of releases is now\n{table}")
    print(f"{len(manifests)} manifests, {len(failures)} faults")
    sys.exit(1 if failures else 0)


main()
