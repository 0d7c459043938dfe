"""A stand-in for the status server of Kubeflow Trainer 2.2 and 2.3: TLS with certificates of its own CA, one path a
TrainJob, and the answers of pkg/statusserver. What is asked of a body is the schema of the TrainJob's trainerStatus.
Used by status_test.py.
"""
import http.server
import json
import pathlib
import re
import ssl
import subprocess
import threading
import time

MOST_BYTES = 65536
INT32 = 2**31 - 1
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Authority:
    """A CA, and certificates that it signs."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.certificate = self.folder / "ca.crt"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                      "-subj", f"/CN={self.folder.name}", "-keyout", "ca.key", "-out", "ca.crt")

    def sign(self, host):
        """(certificate, key) of a server whose SAN is exactly this name."""
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=server",
                      "-keyout", f"{host}.key", "-out", f"{host}.csr")
        (self.folder / f"{host}.ext").write_text(f"subjectAltName=DNS:{host}\n")
        self._openssl("x509", "-req", "-in", f"{host}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "2", "-extfile", f"{host}.ext", "-out", f"{host}.crt")
        return self.folder / f"{host}.crt", self.folder / f"{host}.key"

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)


def faults_of(body):
    """Why the API server would not take this body; [] where it would."""
    try:
        status = json.loads(body)["trainerStatus"]
    except (ValueError, KeyError, TypeError) as error:
        return [f"no trainerStatus: {error!r}"]
    faults = []

    def expect(holds, fault):
        if not holds:
            faults.append(fault)

    def is_integer(value, most):
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most

    known = {"progressPercentage", "estimatedRemainingSeconds", "metrics", "lastUpdatedTime"}
    expect(status.keys() <= known, f"fields {sorted(status.keys() - known)}")
    expect(is_integer(status.get("progressPercentage", 0), 100), "progressPercentage")
    expect(is_integer(status.get("estimatedRemainingSeconds", 0), INT32), "estimatedRemainingSeconds")
    expect(TIME.fullmatch(status.get("lastUpdatedTime", "")), "lastUpdatedTime")
    metrics = status.get("metrics", [])
    expect(len(metrics) <= 256, "more than 256 metrics")
    for metric in metrics:
        expect(metric.keys() == {"name", "value"}, f"metric {metric}")
        for text in metric.values():
            expect(isinstance(text, str) and 1 <= len(text) <= 64, f"metric {metric}")
    return faults


class Job:
    """One TrainJob at the server: what came, and how it is answered (a code, or "hang")."""

    def __init__(self, token, answer=200):
        self.token = token
        self.answer = answer
        self.posts = []  # {"time", "code", "body", "faults", "certificate"}

    def bodies(self):
        return [json.loads(post["body"])["trainerStatus"] for post in self.posts if post["code"] == 200]


class StatusServer:
    """Serves https://localhost:PORT/{name} for each of `jobs`, in a thread."""

    def __init__(self, jobs, authority):
        self.jobs = jobs
        self.context, self.generation = None, 0  # of the certificate
        self._closing = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.take(self)

            def log_message(self, *words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def get_request(self):
                """The handshake belongs to the thread of the connection: one that fails must not stop the server."""
                connection, address = super().get_request()
                return outer.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

            def handle_error(self, request, client_address):
                """A client that does not trust the certificate hangs up: that is its own matter."""

        self.use(authority)
        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def use(self, authority, host="localhost"):
        """From now on, new connections see a certificate by this CA."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.sign(host))
        self.generation += 1
        self.context = context

    def url(self, name):
        return f"https://localhost:{self.port}/{name}"

    def take(self, request):
        generation = self.generation
        began = time.monotonic()
        job = self.jobs.get(request.path[1:])
        length = int(request.headers.get("Content-Length", 0))
        body = request.rfile.read(min(length, MOST_BYTES + 1)).decode()
        code, message = self.judge(request, job, length, body)
        if job:
            job.posts.append({"time": began, "code": code, "body": body, "faults": faults_of(body),
                              "generation": generation, "headers": dict(request.headers)})
        if code == "hang":
            self._closing.wait(120)
            return
        if code == 200:
            answer = body
        else:
            answer = json.dumps({"kind": "Status", "status": "Failure", "message": message, "code": code})
        request.send_response(code)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer.encode())

    @staticmethod
    def judge(request, job, length, body):
        if job is None:
            return 404, "no such TrainJob"
        if job.answer != 200:
            return job.answer, f"as told: {job.answer}"
        if request.headers.get("Authorization") != f"Bearer {job.token}":
            return 403, "token"
        if length > MOST_BYTES:
            return 413, "body"
        faults = faults_of(body)
        return (422, "; ".join(faults)) if faults else (200, "")

    def close(self):
        self._closing.set()
        self._server.shutdown()
