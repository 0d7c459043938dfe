#!/usr/bin/env python3
"""Pods find each other by DNS as clusters have it: names that come late, one by one or in another
domain, IPv6, a wildcard in a search domain, a server in trouble. Each ends in the right ring, or in
time and with the right word. Run by ctest."""
from __future__ import annotations

import case
import names
from training import TrainingTest, train, train_on

SETTLE = ("--settle", "1")
ZONE = "cifar.ml.svc.cluster.local"


class Names(TrainingTest):
    """How names come."""

    def test_one_by_one_of_a_told_number(self) -> None:
        result = self.play(pods=3, publish_every=2, command=train("--nodes", "3"))
        self.assert_trained(result, 3)
        self.assert_between(result, self.ended(result, "0"), 4, 30)

    def test_before_the_pods_are_ready(self) -> None:
        result = self.play(pods=2, start=1, pod={"0": {"start": 2}}, command=train("--nodes", "2"))
        self.assert_trained(result, 2)
        self.assert_between(result, self.ended(result, "1"), 2, 30)

    def test_after_the_pods_are_ready(self) -> None:
        result = self.play(pods=2, publish=2, command=train(*SETTLE))
        self.assert_trained(result, 2)
        self.assert_between(result, self.ended(result, "0"), 3, 40)

    def test_one_never_comes(self) -> None:
        result = self.play(pods=3, pod={"2": {"publish": None, "command": ["true"]}},
                           command=train("--nodes", "3", "--discovery-timeout", "3"))
        self.assert_codes(result, {"0": 200, "1": 200})
        self.assert_says(result, "0", "cifar-node-0-2 (NXDOMAIN)")
        self.assert_says(result, "1", "cifar-node-0-2 (NXDOMAIN)")
        for key in "01":
            self.assert_between(result, self.ended(result, key), 3, 12)

    def test_one_alone_is_no_ring(self) -> None:
        result = self.play(pods=1, command=train(*SETTLE, "--discovery-timeout", "3"))
        self.assert_codes(result, {"0": 200})
        self.assert_says(result, "0", "--min-workers 1")
        self.assert_between(result, self.ended(result, "0"), 3, 12)

    def test_one_alone_listens_for_a_later_one(self) -> None:
        result = self.play(pods=2, pod={"1": {"start": 4, "publish": 4}},
                           command=train_on(*SETTLE, "--min-workers", "1"))
        self.assert_codes(result, {"0": 203, "1": 203})
        self.assert_says(result, "0", "the set of workers has changed")


class Servers(TrainingTest):
    """What answers."""

    def test_another_cluster_domain(self) -> None:
        result = self.play(pods=2, domain="k8s.corp.example", command=train(*SETTLE))
        self.assert_trained(result, 2)
        self.assert_asked_absolutely(result, "cifar.ml.svc.k8s.corp.example")

    def test_ipv6_only(self) -> None:
        self.assert_trained(self.play(pods=2, family="ipv6", command=train(*SETTLE)), 2)

    def test_a_wildcard_in_a_search_domain(self) -> None:
        result = self.play(pods=2, search=["corp.example"], command=train(*SETTLE),
                           wildcards={"corp.example": "203.0.113.9"})
        self.assert_trained(result, 2)
        self.assert_asked_absolutely(result, ZONE)

    def test_servfail_for_a_while(self) -> None:
        if names.scripted_server() is None:
            self.skipTest("no ../shared")
        result = self.play(pods=2, trouble={"rcode": "SERVFAIL", "until": 2},
                           command=train(*SETTLE))
        self.assert_trained(result, 2)
        self.assert_between(result, self.ended(result, "0"), 3, 40)
        self.assert_asked_absolutely(result, ZONE)


class InAll(TrainingTest):
    """More, and with the times that clusters have."""

    def test_one_by_one_within_the_settle_time(self) -> None:
        result = self.play(pods=3, publish_every=0.5, command=train("--settle", "2"))
        self.assert_trained(result, 3)
        self.assert_between(result, self.ended(result, "0"), 3, 40)

    def test_one_alone_if_told(self) -> None:
        result = self.play(pods=1, command=train(*SETTLE, "--min-workers", "1"))
        self.assert_codes(result, {"0": 0})

    def test_both_families(self) -> None:
        self.assert_trained(self.play(pods=2, family="both", command=train(*SETTLE)), 2)

    def test_servfail_to_the_end(self) -> None:
        if names.scripted_server() is None:
            self.skipTest("no ../shared")
        result = self.play(pods=2, trouble={"rcode": "SERVFAIL", "until": 100},
                           command=train(*SETTLE, "--discovery-timeout", "3"))
        self.assert_codes(result, {"0": 200, "1": 200})
        for key in "01":
            self.assert_says(result, key, "SERVFAIL")
            self.assert_between(result, self.ended(result, key), 3, 12)

    def test_one_by_one_over_half_a_minute_of_a_told_number(self) -> None:
        result = self.play(pods=4, publish_every=10, time_limit=180, command=train("--nodes", "4"))
        self.assert_trained(result, 4)
        self.assert_between(result, self.ended(result, "0"), 30, 120)
        self.assert_says(result, "0", "discovery: 3 of 4 workers after",
                         "missing cifar-node-0-3 (NXDOMAIN)")

    def test_one_by_one_over_half_a_minute_of_an_unknown_number(self) -> None:
        """Two begin before the third is known; the fourth finds nobody any more."""
        result = self.play(pods=4, publish_every=10,
                           command=train_on("--discovery-timeout", "50"))
        self.assert_codes(result, {"0": 203, "1": 203, "2": 203, "3": 200})
        for key in "012":
            self.assert_between(result, self.ended(result, key), 20, 60)
        self.assert_between(result, self.ended(result, "3"), 50, 90)

    def test_no_answer_for_a_while(self) -> None:
        if names.scripted_server() is None:
            self.skipTest("no ../shared")
        for rcode in ("DROP", "REFUSED", "NODATA"):
            result = self.play(pods=2, trouble={"rcode": rcode, "until": 10}, command=train())
            self.assert_trained(result, 2)
            self.assert_between(result, self.ended(result, "0"), 15, 60)


if __name__ == "__main__":
    case.main([Names, Servers], [InAll])
