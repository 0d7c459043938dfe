"""The node's network: a bridge in a network namespace of the run's own, which carries the address
of the DNS server, and one link to it for each pod. Nothing of it is visible outside, and it goes
with the last process of the node. Called by node.py, inside the node's namespace."""
from __future__ import annotations

import subprocess
from dataclasses import dataclass

BRIDGE = "pods0"
# Told, as a bridge otherwise takes a link's and changes it when links go; pods would talk to the
# old one for a minute.
BRIDGE_HARDWARE = "02:00:0a:f4:00:01"
DNS = {"ipv4": "10.96.0.10", "ipv6": "fd00:10:96::a"}
GATEWAY = {"ipv4": "10.244.0.1", "ipv6": "fd00:10:244::1"}


@dataclass(frozen=True)
class Address:
    """Of one life of a pod: a pod that starts again gets another number."""

    number: int  # from 2
    family: str  # "ipv4", "ipv6" or "both"

    def all(self) -> list[str]:
        """As text, IPv4 first."""
        texts = [f"10.244.{self.number // 256}.{self.number % 256}"] * (self.family != "ipv6")
        return texts + [f"fd00:10:244::{self.number:x}"] * (self.family != "ipv4")


def _families(family: str) -> list[str]:
    return ["ipv4", "ipv6"] if family == "both" else [family]


def _ip(*commands: str) -> None:
    """One call of ip(8) for all of them, as a call costs milliseconds."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(commands), text=True, check=True)


def dns_server(family: str) -> str:
    """The address that the pods' resolv.conf names."""
    return DNS[_families(family)[0]]


def open_bridge() -> None:
    """Once, before the first pod."""
    _ip("link set lo up",
        f"link add {BRIDGE} address {BRIDGE_HARDWARE} type bridge",
        f"addr add {GATEWAY['ipv4']}/16 dev {BRIDGE}",
        f"addr add {DNS['ipv4']}/32 dev {BRIDGE}",
        f"addr add {GATEWAY['ipv6']}/64 dev {BRIDGE} nodad",
        f"addr add {DNS['ipv6']}/128 dev {BRIDGE} nodad",
        f"link set {BRIDGE} up")


def link_name(address: Address) -> str:
    """The bridge's end of a pod's link; the pod's own is eth0."""
    return f"pod{address.number}"


def connect(address: Address, pid: int) -> None:
    """Gives the network namespace of process `pid` an eth0 with that address."""
    link = link_name(address)
    _ip(f"link add {link} type veth peer name eth0 netns {pid}",
        f"link set {link} master {BRIDGE} up")
    commands = ["link set lo up"]
    for text in address.all():
        commands.append(f"addr add {text}/64 dev eth0 nodad" if ":" in text
                        else f"addr add {text}/16 dev eth0")
    commands.append("link set eth0 up")
    for family in _families(address.family):
        commands.append(f"route add default via {GATEWAY[family]}")
    subprocess.run(["nsenter", f"--net=/proc/{pid}/ns/net", "ip", "-batch", "-"],
                   input="\n".join(commands), text=True, check=True)


def set_link(address: Address, state: str) -> None:
    """`state`: up or down. Down is a cable that is pulled: nobody is told by a packet."""
    _ip(f"link set {link_name(address)} {state}")
