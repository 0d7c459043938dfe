"""Where NVIDIA's libraries are on a machine that nobody set up for us.

They are not carried (their licences and 2 GB): a machine with a GPU has them with its toolkit or with
PyTorch. Used by gpu_check.
"""
import glob
import os
import site
import subprocess


def folders():
    """Where they may lie, the likeliest first."""
    found = [os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/lib64", "/usr/local/cuda/lib"]
    found += sorted(glob.glob("/usr/local/cuda-1[23]*/lib64"), reverse=True)
    for packages in [*site.getsitepackages(), site.getusersitepackages()]:
        found += sorted(glob.glob(f"{packages}/nvidia/*/lib"))
    found += ["/usr/lib/x86_64-linux-gnu", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"]
    return [folder for folder in found if os.path.isdir(folder)]


def needed_by(program, library_path):
    """(soname, where the loader finds it or None), for NVIDIA's libraries that a program is linked to."""
    listing = subprocess.run(
        ["ldd", program], env={**os.environ, "LD_LIBRARY_PATH": library_path}, capture_output=True, text=True
    ).stdout
    for line in listing.splitlines():
        words = line.split()
        if words and is_nvidias(words[0]):
            yield words[0], None if "not found" in line else words[2]


def is_nvidias(soname):
    return soname.startswith(("libcud", "libcublas", "libnccl", "libnv"))


def library_path(own):
    """Our own libraries, then NVIDIA's folders, for LD_LIBRARY_PATH."""
    holds = [folder for folder in folders() if glob.glob(f"{folder}/lib*.so*")]
    return ":".join([own, *holds])
