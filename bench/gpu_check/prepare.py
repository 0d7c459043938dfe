"""Packs what a machine with a GPU and nothing else needs: ./dev bench gpu_check --prepare DIR.

Programs and tests of preset cuda (stripped), the Debian libraries they use, a part of CIFAR-10, and
these scripts. At most 60 MiB. Called by gpu_check.
"""
import json
import os
import shutil
import subprocess
from pathlib import Path

from libraries import is_nvidias

HERE = Path(__file__).resolve().parent
LIMIT_MIB = 60
TESTS = ("gpu_test", "kernel_properties_test", "layer_gradient_test", "step_test", "evaluate_test")
PROGRAMS = ("annulus", "bench_kernels", "bench_train", *TESTS)
SCRIPTS = ("gpu_check", "checks.py", "libraries.py", "prepare.py", "rows.py")
PEER_SCRIPTS = ("pytorch_train.py", "pytorch_models.py")
# Of the machine itself: they fit its kernel and its other programs.
THE_MACHINES = ("ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "linux-vdso")
RECORD = 1 + 32 * 32 * 3
TRAIN_IMAGES, TEST_IMAGES = 6000, 1500


def pack(folder, build, data):
    """Fills `folder`, which must be new or empty; returns its size in MiB."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SystemExit(f"gpu_check: --prepare {folder}: it is not empty; choose a new folder")
    (folder / "bin").mkdir()
    (folder / "lib").mkdir()
    for name in PROGRAMS:
        program = build / "bin" / name
        if not program.exists():
            raise SystemExit(f"gpu_check: no {program}; build it with ./dev build cuda")
        subprocess.run(["strip", "-o", folder / "bin" / name, program], check=True)
        copy_libraries(program, folder / "lib")
    for name in SCRIPTS:
        shutil.copy(HERE / name, folder)
    for name in PEER_SCRIPTS:
        shutil.copy(HERE.parent / "peers" / name, folder)
    if data:
        cut_cifar10(Path(data), folder / "data")
    manifest = {"cpu_device": str(build / "lib/annulus/cpu-device"), "data": bool(data)}
    (folder / "manifest.json").write_text(json.dumps(manifest) + "\n")
    mib = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    if mib > LIMIT_MIB:
        raise SystemExit(f"gpu_check: {folder} holds {mib:.0f} MiB, more than the {LIMIT_MIB} that may travel")
    return mib


def copy_libraries(program, folder):
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        soname, _, rest = line.strip().partition(" => ")
        path = rest.split(" (")[0]
        if os.path.isabs(path) and not soname.startswith(THE_MACHINES) and not is_nvidias(soname):
            if not (folder / soname).exists():
                shutil.copy(path, folder / soname)


def cut_cifar10(source, folder):
    """The first images of the first training file, spread over five, and of the test file."""
    folder.mkdir()
    with open(source / "data_batch_1.bin", "rb") as records:
        for number in range(1, 6):
            part = records.read(TRAIN_IMAGES // 5 * RECORD)
            (folder / f"data_batch_{number}.bin").write_bytes(part)
    with open(source / "test_batch.bin", "rb") as records:
        (folder / "test_batch.bin").write_bytes(records.read(TEST_IMAGES * RECORD))
