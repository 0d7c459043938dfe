#!/usr/bin/python3
"""Stand-ins for how MPI reaches the other pods, under the names that the image has them: ssh and
sshd, over TCP on the pods' network, by the key of the job's Secret; kubectl exec, through the API
server (cluster.py), by the pod's token. A session of sshd has an environment of its own, that of
kubectl exec the container's, as the real ones'. Understood is what the manifests of k8s/ and
mpirun say. Called in pods; cluster.py serves kubectl with serve()."""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import BinaryIO

OUT, ERR, EXIT = 1, 2, 3  # a frame: one of these, the length in 4 bytes, the bytes
TOKEN = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
# What belongs to the machine, not to the container's environment: its devices and cores.
OF_THE_MACHINE = ("ANNULUS_CPU_", "ANNULUS_THREADS")


def serve(connection: socket.socket, incoming: BinaryIO, process: subprocess.Popen[bytes]) -> None:
    """Carries a process's streams and exit code; a caller that goes away ends the process."""
    lock = threading.Lock()

    def send(kind: int, data: bytes) -> None:
        with lock:
            connection.sendall(struct.pack("!BI", kind, len(data)) + data)

    def carry(kind: int, stream: BinaryIO) -> None:
        try:
            while data := os.read(stream.fileno(), 65536):
                send(kind, data)
        except OSError:
            process.kill()

    def feed(stream: BinaryIO) -> None:
        try:
            while data := incoming.read1(65536):  # type: ignore[attr-defined]
                stream.write(data)
                stream.flush()
            stream.close()
        except OSError:
            pass

    def await_hang_up() -> None:
        # The caller's end of stdin is no hang-up: it half-closes and goes on reading.
        while process.poll() is None:
            try:
                send(OUT, b"")
            except OSError:
                process.kill()
            time.sleep(0.2)

    threads = [threading.Thread(target=carry, args=(OUT, process.stdout)),
               threading.Thread(target=carry, args=(ERR, process.stderr))]
    for thread in threads:
        thread.start()
    for helper, args in ((feed, (process.stdin,)), (await_hang_up, ())):
        threading.Thread(target=helper, args=args, daemon=True).start()
    for thread in threads:
        thread.join()
    code = process.wait()
    try:
        send(EXIT, str(code if code >= 0 else 128 - code).encode())
    except OSError:
        pass
    connection.close()


def call(connection: socket.socket, request: dict[str, str]) -> int:
    """Sends the request, then carries stdin there and the streams back; the exit code, or 255."""
    connection.sendall(json.dumps(request).encode() + b"\n")

    def feed() -> None:
        try:
            while data := os.read(0, 65536):
                connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    threading.Thread(target=feed, daemon=True).start()
    incoming = connection.makefile("rb")
    while len(head := incoming.read(5)) == 5:
        kind, length = struct.unpack("!BI", head)
        data = incoming.read(length)
        if kind == EXIT:
            return int(data)
        os.write(kind, data)
    print("remote: the connection is closed", file=sys.stderr)
    return 255


def _connect(host: str, port: int, attempts: int) -> socket.socket:
    for attempt in range(1, attempts + 1):
        try:
            connection = socket.create_connection((host, port), 10)
            connection.settimeout(None)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return connection
        except OSError as error:
            if attempt == attempts:
                print(f"ssh: connect to host {host} port {port}: {error}", file=sys.stderr)
                sys.exit(255)
            time.sleep(1)
    raise AssertionError("no attempt")


def _options(words: list[str], with_value: str) -> tuple[dict[str, str], list[str]]:
    """Of ssh and sshd: -p 2222 or -p2222, -o Name=value by its name; then the other words."""
    options: dict[str, str] = {}
    while words and words[0].startswith("-"):
        word = words.pop(0)
        letter, value = word[1], word[2:]
        if letter in with_value and not value:
            value = words.pop(0)
        if letter == "o":
            letter, _, value = value.partition("=")
        options[letter] = value
    return options, words


def ssh(words: list[str]) -> int:
    """ssh [OPTION…] HOST COMMAND…"""
    options, rest = _options(words, "piol")
    key = pathlib.Path(options.get("i", "/root/.ssh/id_rsa")).read_text("ascii")
    attempts = int(options.get("ConnectionAttempts", "1"))
    connection = _connect(rest[0], int(options.get("p", "22")), attempts)
    return call(connection, {"key": key, "command": " ".join(rest[1:])})


def _reap_orphans(sessions: set[int], lock: threading.Lock) -> None:
    """As process 1 does it, but for the sessions' own, whose codes are waited for."""
    while True:
        time.sleep(0.1)
        try:
            with lock:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if ended is not None and ended.si_pid not in sessions:
                    os.waitpid(ended.si_pid, os.WNOHANG)
        except ChildProcessError:
            pass


def sshd(words: list[str]) -> int:
    """sshd -De -pPORT -oHostKey=FILE -oAuthorizedKeysFile=FILE …"""
    options, _ = _options(words, "pof")
    if not pathlib.Path(options.get("HostKey", "/etc/ssh/ssh_host_rsa_key")).is_file():
        print("sshd: no hostkeys available -- exiting.", file=sys.stderr)
        return 1
    keys = pathlib.Path(options["AuthorizedKeysFile"]).read_text("ascii").split()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(255))
    listener = socket.create_server(("", int(options.get("p", "22"))), backlog=64)
    environment = {"HOME": os.environ["HOME"], "SHELL": "/bin/sh",
                   "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/games"}
    environment.update((name, value) for name, value in os.environ.items()
                       if name.startswith(OF_THE_MACHINE))

    sessions: set[int] = set()
    lock = threading.Lock()
    threading.Thread(target=_reap_orphans, args=(sessions, lock), daemon=True).start()

    def session(connection: socket.socket) -> None:
        incoming = connection.makefile("rb")
        line = incoming.readline()
        if not line:  # a probe's
            return
        request = json.loads(line)
        if hashlib.sha256(request["key"].encode()).hexdigest() not in keys:
            connection.close()
            return
        with lock:
            process = subprocess.Popen(
                ["/bin/sh", "-c", request["command"]], env=environment, cwd="/",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True)
            sessions.add(process.pid)
        serve(connection, incoming, process)

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=session, args=(connection,), daemon=True).start()


def kubectl(words: list[str]) -> int:
    """kubectl exec POD [--container NAME] -- COMMAND…"""
    if words[0] != "exec" or "--" not in words:
        print(f"kubectl: {' '.join(words)}: only exec is known here", file=sys.stderr)
        return 1
    if not TOKEN.is_file():
        print("error: You must be logged in to the server (no token)", file=sys.stderr)
        return 1
    server = (os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"]))
    request = {"token": TOKEN.read_text("ascii"), "pod": words[1],
               "command": json.dumps(words[words.index("--") + 1:])}
    return call(_connect(*server, attempts=1), request)


if __name__ == "__main__":
    NAME = pathlib.Path(sys.argv[0]).name
    sys.exit({"ssh": ssh, "sshd": sshd, "kubectl": kubectl}[NAME](sys.argv[1:]))
