"""api.py - the daemon's API over its Unix socket or TCP, with Python's standard library"""
import http.client
import json
import socket


class Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout=30):
        super().__init__("corgi", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def call(connection, method, path, body=None, headers=None):
    """Status and parsed answer (the text when it is not JSON)."""
    headers = dict(headers or {})
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
        body = body if isinstance(body, (str, bytes)) else json.dumps(body)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    try:
        return answer.status, json.loads(text) if text else None
    except ValueError:
        return answer.status, text
