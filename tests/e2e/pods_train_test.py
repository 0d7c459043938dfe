#!/usr/bin/env python3
"""Pods that are told nothing of each other train together, in the bits of virtual ranks. Run by
ctest."""
from __future__ import annotations

import case
from training import TrainingTest, train


class Together(TrainingTest):
    """A TrainJob's pods; its number of nodes told by the manifest, or found in DNS."""

    def test_two_that_count_each_other(self) -> None:
        result = self.play(pods=2, command=train("--settle", "1"))
        self.assert_trained(result, 2)
        self.assert_between(result, self.ended(result, "0"), 1, 40)

    def test_four_of_a_told_number(self) -> None:
        result = self.play(pods=4, command=train("--nodes", "4"))
        self.assert_trained(result, 4)

    def test_two_of_two_devices(self) -> None:
        result = self.play(pods=2, devices=2, command=train("--nodes", "2"))
        self.assert_trained(result, 2, devices=2)


class InAll(TrainingTest):
    """More, and with the waiting times that users have."""

    def test_eight_that_count_each_other(self) -> None:
        result = self.play(pods=8, command=train())
        self.assert_trained(result, 8)
        self.assert_between(result, self.ended(result, "0"), 5, 100)

    def test_four_of_two_devices(self) -> None:
        result = self.play(pods=4, devices=2, command=train("--settle", "1"))
        self.assert_trained(result, 4, devices=2)


if __name__ == "__main__":
    case.main([Together], [InAll])
