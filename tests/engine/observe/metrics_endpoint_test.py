#!/usr/bin/python3
"""The metrics endpoint of runs: /metrics passes `promtool check metrics`, is as docs/observability.md lists it, and is
served by one process of a pod; /readyz does not wait for the training. The Grafana dashboard asks for no other names.
Usage: metrics_endpoint_test.py ANNULUS SOURCE. promtool is taken from $ANNULUS_PROMTOOL or the PATH; that part is skipped by
name without.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ANNULUS, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
DASHBOARD = SOURCE / "k8s/monitoring/dashboard/annulus.json"
PAGE = SOURCE / "docs/observability.md"
PATIENCE = 240
NAME = re.compile(r"\bannulus_[a-z_]+\b")
SUFFIXES = ("_bucket", "_sum", "_count")  # of a histogram's series
failures = []


def expect(holds, message):
    if not holds:
        failures.append(message)
        print(f"FAILED: {message}")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def get(port, path):
    """(code, text); (0, "") where nobody listens, or the process that answers ends while it does."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ""


def wait_for(what, holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            expect(False, f"{what}: not within {PATIENCE} s")
            return False
        time.sleep(0.02)
    return True


@contextlib.contextmanager
def run(box, *arguments, **settings):
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ANNULUS_")}
    with open(box / "stderr", "wb") as error:
        process = subprocess.Popen([ANNULUS, "train", "--model", "mlp", "--data", "synthetic", "--epochs", "1000000",
                                    "--checkpoint-every", "never", "--out", str(box / f"run-{time.monotonic_ns()}"), *arguments],
                                   env={**inherited, **settings}, stdout=subprocess.DEVNULL, stderr=error)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def samples_of(page):
    """{name and labels: value} of a page in Prometheus' text format."""
    return dict(line.rsplit(" ", 1) for line in page.splitlines() if line and not line.startswith("#"))


def families_of(page):
    return set(re.findall(r"^# TYPE (\S+)", page, re.M))


def check_promtool(page):
    promtool = os.environ.get("ANNULUS_PROMTOOL") or shutil.which("promtool")
    if not promtool:
        print("skipped: promtool check metrics: no promtool (Debian's package prometheus)")
        return
    result = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, check=False)
    expect(result.returncode == 0 and not result.stdout + result.stderr,
           f"promtool: {result.returncode}: {result.stdout}{result.stderr}")


def check_names(families):
    documented = {name for line in PAGE.read_text().splitlines() if line.startswith("| `annulus_")
                  for name in NAME.findall(line.split("|")[1])}
    expect(documented == families, f"docs/observability.md: {sorted(documented ^ families)}")
    queries = [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel.get("targets", [])]
    expect(queries, "the dashboard has no queries")
    for query in queries:
        names = NAME.findall(query)
        expect(names, f"dashboard: no metric in {query}")
        for name in names:
            family = next((name.removesuffix(suffix) for suffix in SUFFIXES if name.removesuffix(suffix) in families), name)
            expect(family in families, f"dashboard: there is no metric {name}")


def check_two_ranks(box):
    """Under the launcher: rank 0 serves, and rank 1 does not want the port."""
    port = free_port()
    with run(box, "--ranks", "2", "--precision", "fp16", "--metrics-port", str(port)) as process:
        if not wait_for("metrics of an epoch", lambda: "annulus_overlap_ratio" in get(port, "/metrics")[1]
                        or process.poll() is not None):
            return
        expect(process.poll() is None, f"ended: {(box / 'stderr').read_text()[-500:]}")
        page = get(port, "/metrics")[1]
        check_promtool(page)
        samples = samples_of(page)
        expect(samples["annulus_ranks"] == "2" and samples["annulus_peers_alive"] == "1", f"ranks: {samples}")
        expect(any(name.startswith("annulus_run_info{") and 'model="mlp"' in name and 'rank="0"' in name for name in samples),
               f"info: {page[:300]}")
        expect(samples['annulus_step_seconds_bucket{le="+Inf"}'] == samples["annulus_step_seconds_count"], "histogram")
        for name in ("annulus_images_per_second", 'annulus_bucket_bus_bytes_per_second{bucket="0"}', "annulus_loss"):
            expect(float(samples[name]) > 0, f"{name}: {samples[name]}")
        expect("metrics-port" not in (box / "stderr").read_text(), (box / "stderr").read_text())
        return families_of(page)


def check_readiness(box):
    """A pod whose peer never comes: alive and, once it knocks or listens, ready."""
    port, worker_port = free_port(), free_port()
    workers = f"127.0.0.1:{worker_port},127.0.0.1:{free_port()}"
    with run(box, "--metrics-port", str(port), "--workers", workers, "--index", "0", "--ranks", "1",
             NCCL_SOCKET_IFNAME="lo"):
        wait_for("/readyz of worker 0", lambda: get(port, "/readyz")[0] == 200)
        with socket.create_connection(("127.0.0.1", worker_port), timeout=30):
            pass  # it is true: the port listens
        expect(get(port, "/healthz")[0] == 200, "healthz")
        samples = samples_of(get(port, "/metrics")[1])
        expect(samples["annulus_peers_alive"] == "0" and "annulus_loss" not in samples, f"before training: {samples}")
        expect("annulus_discovery_seconds" in samples, f"discovery: {samples}")


def check_pod_of_two_ranks(box):
    """Two nodes with two ranks each, on this machine: a launcher each, which hands its port to its first rank."""
    ports, workers = [free_port(), free_port()], f"127.0.0.1:{free_port()},127.0.0.1:{free_port()}"
    with contextlib.ExitStack() as stack:
        for index, port in enumerate(ports):
            folder = box / f"pod-{index}"
            folder.mkdir()
            stack.enter_context(run(folder, "--metrics-port", str(port), "--workers", workers, "--index", str(index),
                                    "--ranks", "2", NCCL_SHM_DISABLE="1", NCCL_SOCKET_IFNAME="lo"))
        for index, port in enumerate(ports):
            wait_for(f"steps of pod {index}", lambda port=port: "annulus_step_seconds_count" in get(port, "/metrics")[1])
            samples = samples_of(get(port, "/metrics")[1])
            expect(any(f'rank="{2 * index}"' in name for name in samples), f"pod {index}: {sorted(samples)[-3:]}")
            expect(samples["annulus_peers_alive"] == "3" and "annulus_discovery_seconds" in samples, f"pod {index}: {samples}")


def main():
    with tempfile.TemporaryDirectory() as text:
        box = pathlib.Path(text)
        families = check_two_ranks(box)
        if families:
            check_names(families | {"annulus_discovery_seconds"})
        check_readiness(box)
        check_pod_of_two_ranks(box)
    sys.exit(1 if failures else 0)


main()
