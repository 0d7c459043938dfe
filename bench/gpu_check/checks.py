"""The checks of gpu_check, in the order in which they are worth most: ALL, at the end.

Each takes the machine (how programs run, with a limit on their time) and the rows it adds to.
"""
import hashlib
import json

from prepare import TESTS

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")


def last_line(process):
    """What a program said last, for a note."""
    lines = [line for line in (process.stderr + process.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else f"exit code {process.returncode} without a word"


def ours(machine, program, *arguments, limit=60, **settings):
    return machine.run([machine.folder / "bin" / program, *arguments], limit, **settings)


def train(machine, out, *arguments, limit=60):
    # In a rehearsal the loader's path has the CPU device already, and nothing starts anew.
    device = [] if machine.rehearsal else ["--device", "cuda"]
    return ours(machine, "annulus", "train", *device, "--data", machine.data, "--out", out, *arguments, limit=limit)


# --- the machine ------------------------------------------------------------------------------------


def card(machine, rows):
    """Card, driver, clocks; and the libraries that are used."""
    if machine.rehearsal:
        rows.add("card", "GPU", "refused", note="a rehearsal on the CPU device")
    else:
        fields = "name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,ecc.mode.current"
        smi = machine.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"], 20, own=False)
        found = smi is not None and smi.returncode == 0
        rows.add("card", "card, driver, memory, clocks, ECC", "measured" if found else "refused",
                 note=smi.stdout.strip().replace("\n", "; ") if found else "nvidia-smi does not answer")
    version = ours(machine, "annulus", "--version", limit=30)
    ok = version is not None and version.returncode == 0
    rows.add("card", "the program starts", "passed" if ok else "failed",
             note=version.stdout.strip().replace("\n", "; ") if ok else "see annulus --version")


# --- right ------------------------------------------------------------------------------------------


def tests(machine, rows):
    """Kernels against double precision, layers by finite differences, steps, one rank of real NCCL."""
    for test in TESTS:
        report = machine.scratch / f"{test}.json"
        done = ours(machine, test, "--gtest_brief=1", f"--gtest_output=json:{report}", limit=120)
        if done is None:
            rows.add("tests", test, "failed", note="stopped at its limit of time")
            continue
        if not report.exists():
            rows.add("tests", test, "failed", note=last_line(done))
            continue
        found = json.loads(report.read_text())
        wrong = [
            f"{suite['name']}.{case['name']}"
            for suite in found["testsuites"]
            for case in suite["testsuite"]
            if "failures" in case
        ]
        passed = done.returncode == 0 and not wrong
        rows.add("tests", test, "passed" if passed else "failed", f"{found['tests']} tests",
                 "; ".join(wrong[:3]) if wrong else "" if passed else last_line(done), failures=wrong)


def bits(machine, rows):
    """--deterministic twice, and a step as a graph beside its calls: the same weights, bit by bit."""
    steps = ["--model", "seed-cnn", "--max-steps", "6" if machine.rehearsal else "200"]
    steps += ["--batch-size", "16" if machine.rehearsal else "64"]
    hashes = {}
    for name, options in (
        ("first", ["--deterministic"]),
        ("again", ["--deterministic"]),
        ("calls", ["--deterministic", "--no-graph"]),
    ):
        done = train(machine, name, *steps, *options, limit=90)
        weights = machine.scratch / name / "model.safetensors"
        if done is None or done.returncode != 0 or not weights.exists():
            why = "stopped at its limit of time" if done is None else last_line(done)
            rows.add("bits", f"seed-cnn, {' '.join(options)}", "failed", note=why)
            return
        hashes[name] = hashlib.sha256(weights.read_bytes()).hexdigest()
    for name, what in (("again", "two runs of --deterministic"), ("calls", "with and without --no-graph")):
        same = hashes[name] == hashes["first"]
        rows.add("bits", what, "passed" if same else "failed", note="same weights" if same else "other weights")


def learning(machine, rows):
    """A short training on the part of CIFAR-10 that travelled, in every precision: the loss falls as in fp32."""
    size = ["--epochs", "1", "--max-steps", "4"] if machine.rehearsal else ["--epochs", "8"]
    fp32 = None
    for precision in PRECISIONS:
        done = train(machine, precision, "--model", "seed-cnn", "--precision", precision, *size, limit=60)
        if done is None or done.returncode != 0:
            rows.add("learning", f"seed-cnn, {precision}", "failed",
                     note="out of time" if done is None else last_line(done))
            continue
        lines = (machine.scratch / precision / "metrics.jsonl").read_text().splitlines()
        first, last = json.loads(lines[0]), json.loads(lines[-1])
        fp32 = fp32 or last["loss"]
        fell = len(lines) < 2 or last["loss"] < first["loss"]
        near = abs(last["loss"] / fp32 - 1) < 0.1
        rows.add("learning", f"seed-cnn, {precision}, {len(lines)} epochs of {machine.data.split('/')[-1]}",
                 "passed" if fell and near else "failed", f"val_accuracy {last['val_accuracy']:.4f}",
                 f"loss {first['loss']:.3f} to {last['loss']:.3f}, {last['loss'] / fp32:.3f} of fp32's",
                 images_per_sec=last["images_per_sec"])


def sanitizer(machine, rows):
    """NVIDIA's compute-sanitizer over some kernels of each family, where it runs."""
    for tool in ("memcheck", "racecheck"):
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", machine.folder / "bin/gpu_test"]
        try:
            done = machine.run([*command, "--gtest_filter=*batchnorm*:*pool*:*softmax*", "--gtest_brief=1"], 60)
        except OSError as error:
            rows.add("sanitizer", tool, "refused", note=str(error))
            continue
        if done is None:
            rows.add("sanitizer", tool, "refused", note="not through in its limit of time")
        elif done.returncode == 9:
            rows.add("sanitizer", tool, "failed", note=last_line(done))
        elif done.returncode != 0:
            rows.add("sanitizer", tool, "refused", note=last_line(done))
        else:
            rows.add("sanitizer", tool, "passed", note=last_line(done))


# --- fast -------------------------------------------------------------------------------------------


def kernels(machine, rows):
    """Every kernel's rate as a share of what this device's copies and products reach."""
    times = ["--min-time", "0.02", "--max-time", "0.05" if machine.rehearsal else "0.2"]
    narrow = ["--filter", "relu"] if machine.rehearsal else []
    done = ours(machine, "bench_kernels", "--peaks", "device", "--json", *times, *narrow, limit=120)
    if done is None or done.returncode != 0:
        rows.add("kernels", "bench_kernels", "failed", note="out of time" if done is None else last_line(done))
        return
    found = json.loads(done.stdout)
    peaks = found["peaks"]
    rows.add("kernels", "peaks: cuBLAS fp32, copy in memory", "measured",
             f"{peaks['gflops'] / 1e3:.1f} TFLOP/s, {peaks['gbytes_per_sec']:.0f} GB/s", **peaks)
    for kernel in found["kernels"]:
        share = max(kernel["share_of_flops"], kernel["share_of_bandwidth"])
        binds = "flops" if kernel["share_of_flops"] >= kernel["share_of_bandwidth"] else "bytes"
        rows.add("kernels", f"{kernel['kernel']} {kernel['shape']}", "measured",
                 f"{kernel['ms'] * 1e3:.1f} us, {100 * share:.0f} % of {binds}",
                 f"noise {100 * kernel['noise']:.0f} %", **{k: v for k, v in kernel.items() if k != "kernel"})


def step(machine, rows):
    """Images/s of seed-cnn's step, and PyTorch's beside it, in turn."""
    sizes = [16] if machine.rehearsal else [64, 1024]
    seconds = "0.2" if machine.rehearsal else "2"
    for batch in sizes:
        for precision in PRECISIONS:
            for graph in ("--graph", "--no-graph"):
                ours_in = ["--model", "seed-cnn", "--precision", precision, "--batch-size", str(batch)]
                done = ours(machine, "bench_train", "--json", "--no-layers", *ours_in, "--seconds", seconds, graph,
                            limit=40)
                add_rate(rows, f"annulus, batch {batch}, {precision}, {graph[2:]}", done)
            command = ["python3", machine.folder / "pytorch_train.py", "--batch-size", str(batch)]
            command += ["--seconds", seconds, "--precision", precision]
            command += ["--device", "cpu" if machine.rehearsal else "cuda"]
            if machine.rehearsal and precision != "fp32":
                continue
            add_rate(rows, f"PyTorch, batch {batch}, {precision}", machine.run(command, 60, own=False))


def add_rate(rows, what, done):
    if done is None:
        rows.add("step", what, "refused", note="not through in its limit of time")
    elif done.returncode != 0:
        peer = what.startswith("PyTorch")
        rows.add("step", what, "refused" if peer else "failed", note=last_line(done))
    else:
        found = json.loads(done.stdout)
        rows.add("step", what, "measured", f"{found['images_per_sec']:.0f} images/s",
                 f"PyTorch {found['torch']}" if "torch" in found else "", **found)


ALL = (card, tests, bits, step, kernels, learning, sanitizer)
