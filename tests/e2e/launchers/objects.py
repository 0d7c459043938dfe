"""What a namespace holds beside pods: ConfigMaps, Secrets (kept like them) and Services.
Controllers put theirs there. Called by cluster.py, and by launchers_environment_test.py, which
needs no pods."""
from __future__ import annotations

from pod_spec import ConfigMaps, Manifest


class Objects:
    """Of one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.maps: ConfigMaps = {}
        self.services: list[Manifest] = []

    def apply(self, objects: list[Manifest]) -> None:
        """ConfigMaps and Services of a manifest."""
        for manifest in objects:
            if manifest["kind"] == "ConfigMap":
                self.maps[manifest["metadata"]["name"]] = dict(manifest["data"])
            elif manifest["kind"] == "Service":
                self.services.append(manifest)

    def headless_service(self, name: str, selector: dict[str, str], early: bool) -> None:
        """`early`: publishNotReadyAddresses."""
        self.services.append({"kind": "Service", "metadata": {"name": name}, "spec": {
            "clusterIP": "None", "publishNotReadyAddresses": early, "selector": selector}})
