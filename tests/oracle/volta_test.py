#!/usr/bin/python3
"""V100 is asked about of the last cuDNN that has it, from PyPI's wheels for CUDA 12, in place of the newer one.
Usage: volta_test.py ORACLE_TEST FOLDER. FOLDER keeps what is downloaded (1.3 GB). Ends with 77 without pip or network.
"""
import os
import pathlib
import subprocess
import sys
import zipfile

WHEELS = ("nvidia-cudnn-cu12==9.10.2.21", "nvidia-cublas-cu12==12.9.1.4")  # cuDNN loads libcublasLt.so.12


def download(folder):
    """Unpacks the wheels once; false where they cannot be had."""
    done = folder / "done"
    if done.exists():
        return True
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", folder, *WHEELS]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print("skipped:", (result.stderr.strip().splitlines() or ["pip failed"])[-1])
        return False
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        wheel.unlink()
    done.touch()
    return True


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if not download(folder):
        return 77
    libraries = [str(folder / "nvidia" / package / "lib") for package in ("cudnn", "cublas")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}
    result = subprocess.run([program, "--gtest_filter=Volta.HasAnEngine*"], env=environment, capture_output=True,
                            text=True, check=False)
    print(result.stdout, result.stderr)
    return result.returncode or int("[  PASSED  ] 1 test" not in result.stdout)


if __name__ == "__main__":
    sys.exit(main())
