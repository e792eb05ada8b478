"""Servers for real clients, at one address: static files by host name over HTTP and HTTPS, git over HTTPS and ssh, and
PostgreSQL. Usage: servers.py ADDRESS DIRECTORY UID SSHD. Prints `ready`, and ends with its standard input.
"""

import functools
import glob
import http.server
import os
import pathlib
import shutil
import signal
import socketserver
import ssl
import subprocess
import sys
import threading

import sites


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def translate_path(self, path):
        return super().translate_path(f"/{self.name()}{path}")

    def name(self):
        return (self.headers["Host"] or "none").split(":")[0]

    def do_GET(self):
        self.git() if self.name() == "git.test" else super().do_GET()

    def do_POST(self):
        self.git()

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers["Transfer-Encoding"] != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"] or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def git(self):
        path, _, query = self.path.partition("?")
        body = self.body()
        variables = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": f"{HOME}/repos",
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "GIT_PROTOCOL": self.headers["Git-Protocol"] or "",
            "HTTP_CONTENT_ENCODING": self.headers["Content-Encoding"] or "",
            "CONTENT_TYPE": self.headers["Content-Type"] or "",
            "CONTENT_LENGTH": str(len(body)),
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "REMOTE_USER": "git",
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=variables, stdout=subprocess.PIPE, check=False)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


class Ssh(socketserver.BaseRequestHandler):
    """Starts one sshd for each connection, as its user."""

    def handle(self):
        words = [*AS_USER, f"{HOME}/bin/sshd", "-i", "-e", "-f", f"{HOME}/sshd_config"]
        libraries = {**os.environ, "LD_LIBRARY_PATH": f"{HOME}/bin"}
        subprocess.run(words, stdin=self.request, stdout=self.request, env=libraries, check=False)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


def serve(port, handler, context=None):
    server = Server((ADDRESS, port), handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def postgres():
    programs = glob.glob("/usr/lib/postgresql/*/bin")[0]
    data = f"{HOME}/pg"
    initdb = [f"{programs}/initdb", "--pgdata", data, "--username", "agent", "--auth", "trust", "--no-sync"]
    subprocess.run(AS_USER + initdb, check=True, stdout=subprocess.DEVNULL)
    pathlib.Path(data, "pg_hba.conf").write_text("host all all all trust\n")
    options = ["listen_addresses=" + ADDRESS, "unix_socket_directories=", "fsync=off"]
    # Files in /dev/shm would stay if the test is killed.
    options.append("dynamic_shared_memory_type=mmap")
    words = [word for option in options for word in ("-c", option)]
    server = subprocess.Popen([*AS_USER, f"{programs}/postgres", "-D", data, *words], stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        if "ready to accept connections" in line:
            break
    threading.Thread(target=server.stderr.read, daemon=True).start()
    return server


ADDRESS, HOME, USER, SSHD = sys.argv[1:]
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]
# A user may not be able to reach the originals.
os.mkdir(f"{HOME}/bin")
for file in [SSHD, f"{os.path.dirname(SSHD)}/libwrap.so.0"]:
    shutil.copy(file, f"{HOME}/bin")
sites.prepare(pathlib.Path(HOME), int(USER))
handler = functools.partial(Handler, directory=f"{HOME}/sites")
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(f"{HOME}/tls.pem", f"{HOME}/tls.key")
serve(80, handler)
serve(443, handler, tls)
serve(22, Ssh)
database = postgres()
print("ready", flush=True)
sys.stdin.read()
# It removes its shared memory. SIGKILL would leave it.
database.send_signal(signal.SIGINT)
try:
    database.wait(20)
except subprocess.TimeoutExpired:
    database.kill()
    database.wait()
