"""A server of files on this machine, and an empty cache, for tests."""

import dataclasses
import hashlib
import http.server
import io
import json
import os
import pathlib
import threading
from unittest import mock

import numpy as np
from absl.testing import parameterized

from models.convert.sources import download, hub
from robust_tfds.storage import cache


@dataclasses.dataclass
class Served:
  """What a server answers, and what it was asked.

  Attributes:
    files: path -> bytes, or an address that it leads to.
    commits: path of a hub's file -> its commit.
    breaks: how many answers end in the middle.
    fails: how many answers are 503.
    requests: (path, headers) of each request.
  """

  files: dict[str, bytes | str] = dataclasses.field(default_factory=dict)
  commits: dict[str, str] = dataclasses.field(default_factory=dict)
  breaks: int = 0
  fails: int = 0
  requests: list = dataclasses.field(default_factory=list)
  address: str = ""


class _Handler(http.server.BaseHTTPRequestHandler):
  served: Served

  def do_HEAD(self):
    self.do_GET()

  def do_GET(self):
    path = self.path.partition("?")[0]
    self.served.requests.append((path, dict(self.headers)))
    body = self.served.files.get(path)
    if self.served.fails:
      self.served.fails -= 1
      self.send_error(503)
    elif body is None:
      self.send_error(404)
    elif isinstance(body, str):
      self.send_response(302)
      self.send_header("Location", body)
      self.end_headers()
    else:
      self._send(path, body)

  def _send(self, path: str, body: bytes):
    self.send_response(200)
    self.send_header("Content-Length", str(len(body)))
    if path in self.served.commits:
      self.send_header("X-Repo-Commit", self.served.commits[path])
      self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
    self.end_headers()
    if self.command == "HEAD":
      return
    if self.served.breaks:
      self.served.breaks -= 1
      body = body[: len(body) // 2]
    self.wfile.write(body)

  def log_message(self, format, *args):
    del format, args


def npz_bytes(arrays) -> bytes:
  """A `.npz` file of arrays."""
  out = io.BytesIO()
  np.savez(out, **arrays)
  return out.getvalue()


class Case(parameterized.TestCase):
  """A test with a server and a cache of its own; nothing waits."""

  def setUp(self):
    super().setUp()
    self.served = Served()
    handler = type("Handler", (_Handler,), {"served": self.served})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(
      target=server.serve_forever, kwargs={"poll_interval": 0.01}
    )
    thread.start()
    self.addCleanup(thread.join)
    self.addCleanup(server.server_close)
    self.addCleanup(server.shutdown)
    self.served.address = f"http://127.0.0.1:{server.server_port}"
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.enter_context(
      mock.patch.dict(
        os.environ,
        {
          cache.VARIABLE: str(self.folder / "cache"),
          download.LOCAL_HTTP: "1",
          hub.ENDPOINT: self.served.address,
          "no_proxy": "127.0.0.1,localhost",
        },
      )
    )
    os.environ.pop(hub.TOKEN, None)
    self.enter_context(mock.patch.object(download, "_PAUSE_S", 0.0))

  def serve(self, files, repository="me/net", commit="a" * 40, revision="main"):
    """Serve a repository's files at a commit, as the hub does."""
    listing = {
      "id": repository,
      "sha": commit,
      "siblings": [{"rfilename": name} for name in files],
    }
    for name in (revision, commit):
      api = f"/api/models/{repository}/revision/{name}"
      self.served.files[api] = json.dumps(listing).encode()
      for file, data in files.items():
        path = f"/{repository}/resolve/{name}/{file}"
        self.served.files[path] = data
        self.served.commits[path] = commit

  def cached(self):
    """Return the names of the files in the cache."""
    kept = (self.folder / "cache").rglob("*")
    return [p.name for p in kept if p.is_file() and p.suffix != ".lock"]
