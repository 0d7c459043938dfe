"""The cluster's DNS server. Dnsmasq is the real one: names come and go while it runs. Scripted is
../shared/cases/gen/fake_dns.py, which can also be in trouble (SERVFAIL, no answer), on a timeline
that is known beforehand. Invariant: a name below the cluster's domain that is not published is
NXDOMAIN, and nothing is asked outside. Called by node.py."""
from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Optional

import network
from scenario import Scenario, ScenarioError


def scripted_server() -> Optional[pathlib.Path]:
    """The script, where the reference data is."""
    path = pathlib.Path(os.environ.get("ANNULUS_SHARED", "")) / "cases/gen/fake_dns.py"
    return path if path.is_file() else None


def _wait_until_bound(server: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        bound = "".join(pathlib.Path("/proc/net", table).read_text("ascii")
                        for table in ("udp", "udp6"))
        if ":0035 " in bound:
            return
        if server.poll() is not None:
            break
        time.sleep(0.01)
    raise RuntimeError(f"the DNS server does not start: {server.args}")


class Dnsmasq:
    """Answers from a hosts file, which it reads again when told."""

    def __init__(self, scenario: Scenario, folder: pathlib.Path) -> None:
        self._zone = scenario.zone
        self._hosts = folder / "hosts"
        self._published: dict[str, list[str]] = {}  # by host name
        self._write()
        options = ["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                   f"--addn-hosts={self._hosts}", "--local=/#/", "--cache-size=0",
                   "--user=root", "--group=root", f"--pid-file={folder / 'dnsmasq.pid'}",
                   "--log-queries", f"--log-facility={folder / 'dns.log'}"]
        options += [f"--address=/{domain}/{address}"
                    for domain, address in scenario.wildcards.items()]
        with open(folder / "dnsmasq.err", "wb") as err:
            self._server = subprocess.Popen(["dnsmasq", *options], stderr=err)
        _wait_until_bound(self._server)

    def _write(self) -> None:
        lines = [f"{address} {name}.{self._zone}\n"
                 for name, addresses in self._published.items() for address in addresses]
        fresh = self._hosts.with_suffix(".new")
        fresh.write_text("".join(lines), "ascii")
        fresh.replace(self._hosts)

    def publish(self, name: str, addresses: list[str]) -> None:
        """From now on `name` has these addresses; without any there is no such name."""
        self.publish_only({**self._published, name: addresses})

    def publish_only(self, names: dict[str, list[str]]) -> None:
        """From now on these names are there, and no others."""
        if names != self._published:
            self._published = names
            self._write()
            self._server.send_signal(signal.SIGHUP)


class Scripted:
    """Knows beforehand when each name is published."""

    def __init__(self, scenario: Scenario, folder: pathlib.Path,
                 addresses: dict[str, list[str]]) -> None:
        script = scripted_server()
        if script is None or scenario.trouble is None:
            raise ScenarioError("trouble needs ../shared/cases/gen/fake_dns.py")
        if scenario.family != "ipv4" or scenario.wildcards:
            raise ScenarioError("trouble goes with family ipv4 and without wildcards")
        calm = scenario.trouble.until
        rcode: dict[str, object] = {"t": 0, "rcode": scenario.trouble.rcode}
        zone = {f"*.{scenario.domain}": [rcode, {"t": calm, "rcode": "NXDOMAIN"}]}
        for pod in scenario.pods.values():
            if pod.publish is not None:
                steps = [rcode, {"t": calm, "rcode": "NXDOMAIN"},
                         {"t": max(calm, pod.publish), "A": addresses[pod.name]}]
                zone[f"{pod.name}.{scenario.zone}"] = steps
        zones = folder / "zones.json"
        zones.write_text(json.dumps([{"id": "scenario", "zone": zone}]), "ascii")
        self._server = subprocess.Popen(
            [sys.executable, str(script), str(zones), "scenario", "--port", "53",
             "--bind", network.DNS["ipv4"], "--log", str(folder / "dns.log")])
        _wait_until_bound(self._server)

    def publish(self, name: str, addresses: list[str]) -> None:
        """Nothing to do: the zone holds it already."""
