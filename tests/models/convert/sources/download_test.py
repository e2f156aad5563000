"""A file over the network: whole, continued, or refused in words."""

import contextlib
import io
import os
from unittest import mock

from absl.testing import parameterized

from models.convert.sources import download
from robust_tfds import errors
from tests.models.convert.sources import local_server

_DATA = bytes(range(256)) * 400


class FileTest(local_server.Case):
  def setUp(self):
    super().setUp()
    self.part = self.folder / "file.part"
    self.served.files = {"/a.npz": _DATA}
    self.address = f"{self.served.address}/a.npz"

  def test_whole_and_nothing_else_is_left(self):
    download.file(self.address, self.part)
    self.assertEqual(self.part.read_bytes(), _DATA)
    self.assertEqual([p.name for p in self.folder.iterdir()], ["file.part"])

  def test_a_connection_that_breaks_is_continued(self):
    self.served.breaks = 2
    download.file(self.address, self.part)
    self.assertEqual(self.part.read_bytes(), _DATA)
    asked = [h.get("Range") for _, h in self.served.requests]
    half = len(_DATA) // 2
    self.assertEqual(asked, [None, f"bytes={half}-", f"bytes={half * 3 // 2}-"])

  @parameterized.parameters("other file", "no ranges")
  def test_what_changed_meanwhile_begins_anew(self, why):
    self.served.breaks = 4
    with self.assertRaisesRegex(errors.UserError, "after 4 tries"):
      download.file(self.address, self.part)
    self.assertGreater(self.part.stat().st_size, 0)
    new = _DATA[::-1] + b"more"
    if why == "other file":
      self.served.files["/a.npz"] = new
    else:
      self.served.ranges, new = False, _DATA
    download.file(self.address, self.part)
    self.assertEqual(self.part.read_bytes(), new)

  def test_a_part_of_unknown_origin_is_not_continued(self):
    self.part.write_bytes(b"what somebody left")
    download.file(self.address, self.part)
    self.assertEqual(self.part.read_bytes(), _DATA)

  def test_a_busy_server_is_asked_again_one_that_refuses_is_not(self):
    self.served.fails = 2
    download.file(self.address, self.part)
    self.assertLen(self.served.requests, 3)
    with self.assertRaisesRegex(errors.UserError, "answers 404.*compare the"):
      download.file(f"{self.served.address}/none", self.part)
    self.assertLen(self.served.requests, 4)

  def test_limits(self):
    with mock.patch.object(download.limits, "CHECKPOINT_BYTES", 1000):
      with self.assertRaisesRegex(
        errors.UserError, "bytes, the limit is 1,000"
      ):
        download.file(self.address, self.part)
    usage = mock.Mock(free=5)
    with mock.patch.object(download.shutil, "disk_usage", return_value=usage):
      with self.assertRaisesRegex(errors.UserError, "has room for 5"):
        download.file(self.address, self.part)

  def test_progress_of_a_long_one(self):
    err = io.StringIO()
    with mock.patch.object(download, "_QUIET_S", -1.0):
      with contextlib.redirect_stderr(err):
        download.file(self.address, self.part)
    self.assertRegex(err.getvalue(), r"a\.npz: 0 MiB of 0, 0s left")


class SecretTest(local_server.Case):
  def test_where_http_and_redirects_lead(self):
    self.served.files["/a"] = "http://example.org/b"
    self.served.files["/c"] = "/b"
    self.served.files["/b"] = b"x"
    address = self.served.address
    with self.assertRaisesRegex(errors.UserError, "example.org/b: expected an"):
      download.text(f"{address}/a", {}, 10)
    self.assertEqual(download.text(f"{address}/c", {}, 10), b"x")
    with mock.patch.dict(os.environ, {download.LOCAL_HTTP: ""}):
      with self.assertRaisesRegex(errors.UserError, "begins with https://"):
        download.text(f"{address}/c", {}, 10)
    for other in ("ftp://a/b", "file:///etc/passwd", "http://10.0.0.1/a"):
      with self.assertRaisesRegex(errors.UserError, "begins with https://"):
        download.text(other, {}, 10)

  def test_secrets_are_sent_to_their_host_alone_and_never_shown(self):
    port = self.served.address.rpartition(":")[2]
    self.served.files |= {"/a": f"http://localhost:{port}/b", "/b": b"x"}
    headers = {"Authorization": "Bearer secret"}
    download.text(f"{self.served.address}/a", headers, 10)
    (_, first), (_, second) = self.served.requests
    self.assertEqual(first["Authorization"], "Bearer secret")
    self.assertNotIn("Authorization", second)
    named = self.served.address.replace("//", "//me:pass%20word@")
    with self.assertRaises(errors.UserError) as caught:
      download.text(f"{named}/none?signature=xyz", {}, 10)
    sent = self.served.requests[-1][1]["Authorization"]
    self.assertEqual(sent, "Basic bWU6cGFzcyB3b3Jk")
    for secret in ("me", "pass", "xyz"):
      self.assertNotIn(secret, str(caught.exception).split(" ")[0])

  def test_an_answer_that_is_too_long(self):
    self.served.files["/b"] = b"x" * 11
    with self.assertRaisesRegex(errors.UserError, "more than 10 bytes"):
      download.text(f"{self.served.address}/b", {}, 10)
