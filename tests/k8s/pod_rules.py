"""What every pod of k8s/ must keep, whatever launcher starts it: the pod security level `restricted`, and what Annulus
asks beyond it. Works on manifests as YAML gives them; called by manifests_test.py.
"""

# https://kubernetes.io/docs/concepts/security/pod-security-standards/, "Restricted"
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
SECCOMP = {"RuntimeDefault", "Localhost"}

# Set by operators for the pods they start: a value of our own would be refused or would hide theirs.
RESERVED_PREFIXES = ("PET_", "OMPI_", "DMLC_", "KUBEFLOW_TRAINER_", "JAX_", "VC_", "VK_", "KATIB_", "ANNULUS_LAUNCHER_")
RESERVED = {"TF_CONFIG", "JOB_COMPLETION_INDEX", "K_MPI_JOB_ROLE", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}


def pods_of(node, path=""):
    """(path, pod spec) of every pod in a manifest, at whatever depth its kind holds it."""
    if isinstance(node, dict):
        if isinstance(node.get("containers"), list):
            yield path, node
        for key, value in node.items():
            yield from pods_of(value, f"{path}.{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from pods_of(value, f"{path}[{index}]")


def containers_of(pod):
    return pod["containers"] + pod.get("initContainers", [])


def restricted_faults(pod):
    """Why the level `restricted` refuses this pod."""
    outer = pod.get("securityContext", {})
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield name
    for volume in pod.get("volumes", []):
        if not VOLUMES & volume.keys():
            yield f"volume {volume['name']} is of a kind that is not allowed"
    for container in containers_of(pod):
        inner = container.get("securityContext", {})
        name, both = container["name"], {**outer, **inner}
        added = set(inner.get("capabilities", {}).get("add", [])) - {"NET_BIND_SERVICE"}
        if inner.get("allowPrivilegeEscalation") is not False or inner.get("privileged"):
            yield f"{name}: allowPrivilegeEscalation is not false"
        if "ALL" not in inner.get("capabilities", {}).get("drop", []) or added:
            yield f"{name}: capabilities {sorted(added)} beyond none"
        if both.get("runAsNonRoot") is not True or both.get("runAsUser") == 0:
            yield f"{name}: may run as root"
        if both.get("seccompProfile", {}).get("type") not in SECCOMP:
            yield f"{name}: no seccomp profile"
        if any(port.get("hostPort") for port in container.get("ports", [])):
            yield f"{name}: hostPort"


def own_faults(pod):
    """What Annulus asks of its pods beyond that level."""
    if pod.get("automountServiceAccountToken") is not False:
        yield "a token is mounted"
    if "fsGroup" not in pod.get("securityContext", {}):
        yield "no fsGroup"
    if not any(volume.get("emptyDir", {}).get("medium") == "Memory" for volume in pod.get("volumes", [])):
        yield "no memory for /dev/shm"
    for container in containers_of(pod):
        if container.get("securityContext", {}).get("readOnlyRootFilesystem") is not True:
            yield f"{container['name']}: the root file system can be written"
        for part in ("requests", "limits"):
            if not {"cpu", "memory"} <= container.get("resources", {}).get(part, {}).keys():
                yield f"{container['name']}: no {part} for cpu and memory"


def environment_of(manifest):
    """The names of all variables that a manifest sets."""
    names = {entry["name"] for _, pod in pods_of(manifest) for container in containers_of(pod)
             for entry in container.get("env", [])}
    trainer = manifest.get("spec", {}).get("trainer", {}) if manifest["kind"] == "TrainJob" else {}
    return names | {entry["name"] for entry in trainer.get("env", [])}


def reserved_names(manifest):
    return sorted(name for name in environment_of(manifest)
                  if name in RESERVED or name.startswith(RESERVED_PREFIXES))
