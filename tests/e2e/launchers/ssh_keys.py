"""The Secret by which an MPI launcher reaches its workers. Keys are remote.py's stand-ins: a word,
and its SHA-256 for those who let its owner in. Called by trainer.py and mpijob.py."""
from __future__ import annotations

import hashlib


def secret(job: str) -> dict[str, str]:
    """Of a job, under the names that the operators mount."""
    private = f"private key of {job}\n"
    public = hashlib.sha256(private.encode()).hexdigest() + "\n"
    return {"id_rsa": private, "id_rsa.pub": public, "authorized_keys": public}
