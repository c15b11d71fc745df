# SPDX-License-Identifier: MIT
"""An HTTP server on a loopback port that answers as a test tells it, and a certificate for one that speaks TLS."""

import contextlib
import http.server
import shutil
import ssl
import subprocess
import threading

import tap


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer):
        self.answer = answer  # (method, path, headers, body) -> (status, headers, body), or None: close without an answer
        self.requests = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def port(self):
        return self.server_address[1]

    def handle_error(self, request, client_address):
        pass  # a client that gives up is part of the tests


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = (self.command, self.path, self.headers, body)
        self.server.requests.append(request)
        answer = self.server.answer(*request)
        if answer is None:
            self.close_connection = True
            return
        status, headers, content = answer
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_any

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serve(answer, certificate=None):
    server = Server(answer)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def certificate(folder, name):
    """A self-signed certificate for 127.0.0.1: (certificate, key)."""
    if not shutil.which("openssl"):
        tap.skip("openssl is not installed here")
    paths = f"{folder}/{name}.pem", f"{folder}/{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", paths[0], "-keyout", paths[1]],
                   check=True, capture_output=True, timeout=60)
    return paths
