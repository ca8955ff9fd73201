"""Web servers on this machine."""

import http.server
import ssl
import threading
from pathlib import Path

import pytest


@pytest.fixture
def serve():
    """Starts a web server on this machine that gives one answer; its address."""
    begun = []

    def start(
        status: int, body: str = "", headers: dict[str, str] | None = None, certificate: Path | None = None
    ) -> str:
        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        begun.append(server)
        return f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"

    yield start
    for server in begun:
        server.shutdown()
        server.server_close()
