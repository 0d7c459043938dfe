"""In a pod: runs a command and asks its endpoint, as the kubelet and Prometheus do, until it ends; a line on stdout
whenever the answers change. Usage: probe.py PORT COMMAND…. Used by pods_probes_test.py."""
from __future__ import annotations

import http.client
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request


def get(port: str, path: str) -> tuple[int, str]:
    """The answer's code and text; 0 where nobody listens, or the process that answers ends while it does."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except (OSError, http.client.HTTPException):
        return 0, ""


def number_of(page: str, metric: str) -> str:
    """What a page of metrics says; "-" where it says nothing."""
    found = re.search(rf"^{metric} (\S+)$", page, re.M)
    return found[1] if found else "-"


def main() -> None:
    """The command's exit code is this one's."""
    port, before = sys.argv[1], ""
    with subprocess.Popen(sys.argv[2:]) as process:
        while process.poll() is None:
            healthy, ready, page = get(port, "/healthz")[0], get(port, "/readyz")[0], get(port, "/metrics")[1]
            now = f"probe: healthz={healthy} readyz={ready} peers={number_of(page, 'annulus_peers_alive')}"
            if now != before:
                print(now, flush=True)
            before = now
            time.sleep(0.02)
    sys.exit(process.returncode)


main()
