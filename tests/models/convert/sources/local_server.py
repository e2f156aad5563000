"""A server of files on this machine, and an empty cache, for tests."""

import dataclasses
import http.server
import io
import os
import pathlib
import threading
from unittest import mock

import numpy as np
from absl.testing import parameterized

from models.convert.sources import download, hub
from robust_tfds.storage import cache as cache_folder


@dataclasses.dataclass
class Served:
  """What a server answers, and what it was asked.

  Attributes:
    files: path -> bytes, or an address that it leads to.
    breaks: how many answers end in the middle.
    fails: how many answers are 503.
    ranges: whether it continues a file.
    requests: (path, headers) of each request.
  """

  files: dict[str, bytes | str] = dataclasses.field(default_factory=dict)
  breaks: int = 0
  fails: int = 0
  ranges: bool = True
  requests: list = dataclasses.field(default_factory=list)
  address: str = ""

  def asked(self) -> list[str]:
    return [path for path, _ in self.requests]


class _Handler(http.server.BaseHTTPRequestHandler):
  served: Served

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
      self._send(body)

  def _send(self, body: bytes):
    tag = f'"{len(body)}-{sum(body) % 9973}"'
    asked = self.headers.get("Range", "")
    start = 0
    if asked and self.served.ranges and self.headers.get("If-Range") == tag:
      start = int(asked.removeprefix("bytes=").rstrip("-"))
    self.send_response(206 if start else 200)
    self.send_header("ETag", tag)
    self.send_header("Content-Length", str(len(body) - start))
    if start:
      last = len(body) - 1
      self.send_header("Content-Range", f"bytes {start}-{last}/{len(body)}")
    self.end_headers()
    part = body[start:]
    if self.served.breaks:
      self.served.breaks -= 1
      part = part[: len(part) // 2]
    self.wfile.write(part)

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
          cache_folder.VARIABLE: str(self.folder / "cache"),
          download.LOCAL_HTTP: "1",
          hub.ENDPOINT: self.served.address,
          "no_proxy": "127.0.0.1,localhost",
        },
      )
    )
    os.environ.pop(hub.TOKEN, None)
    self.enter_context(mock.patch.object(download, "_PAUSE_S", 0.0))

  def nothing_left(self):
    """No part of a file lies in the cache."""
    left = [p.name for p in (self.folder / "cache").rglob("*.part*")]
    self.assertEmpty(left)
