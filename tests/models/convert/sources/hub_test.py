"""Weights of the hub, downloads."""

import contextlib
import hashlib
import io
import json
import os
from unittest import mock

import numpy as np
from absl.testing import parameterized
from safetensors import numpy as safetensors

from models.convert import match
from models.convert.sources import download, hub
from robust_tfds import errors, models
from tests.models.convert import checkpoints
from tests.models.convert.sources import local_server

_COMMIT, _LATER = "a" * 40, "b" * 40
_TIMM = {
  "architecture": "digits",
  "num_classes": 10,
  "pretrained_cfg": {
    "input_size": [3, 224, 224],
    "crop_pct": 0.95,
    "interpolation": "bicubic",
  },
}


class _Case(local_server.Case):
  def setUp(self):
    super().setUp()
    self.flat = checkpoints.drawn("digits_linear")
    self.arrays = checkpoints.as_torch(self.flat)

  def serve(self, files, repository="me/net", commit=_COMMIT, revision="main"):
    """Files of a repository at a commit, as the hub answers them."""
    listing = {
      "sha": commit,
      "siblings": [
        {
          "rfilename": name,
          **(
            {"lfs": {"sha256": hashlib.sha256(data).hexdigest()}}
            if name.endswith(("safetensors", "bin"))
            else {}
          ),
        }
        for name, data in files.items()
      ],
    }
    api = f"/api/models/{repository}/revision"
    for name in (revision, commit):
      self.served.files[f"{api}/{name}"] = json.dumps(listing).encode()
    for name, data in files.items():
      self.served.files[f"/{repository}/resolve/{commit}/{name}"] = data

  def same(self, variables, flat=None):
    checkpoints.Case.same(self, variables, flat or self.flat)


class LoadTest(_Case):
  """`hf:` and `timm:` names, on a hub of this machine."""

  def test_safetensors_come_before_pickles(self):
    self.serve(
      {
        "pytorch_model.bin": b"never read",
        "model.safetensors": safetensors.save(self.arrays),
        "README.md": b"",
      }
    )
    self.same(models.convert.load("digits_linear", "hf:me/net"))
    self.assertEqual(
      self.served.asked(),
      [
        "/api/models/me/net/revision/main",
        f"/me/net/resolve/{_COMMIT}/model.safetensors",
      ],
    )

  def test_a_commit_is_asked_for_once_a_branch_each_time(self):
    self.serve({"model.safetensors": safetensors.save(self.arrays)})
    for _ in range(2):
      models.convert.load("digits_linear", f"hf:me/net@{_COMMIT}")
    self.assertLen(self.served.requests, 2)
    models.convert.load("digits_linear", "hf:me/net")
    self.assertLen(self.served.requests, 3)
    later = {p: a + 1 for p, a in self.flat.items()}
    data = safetensors.save(checkpoints.as_torch(later))
    self.serve({"model.safetensors": data}, commit=_LATER)
    self.same(models.convert.load("digits_linear", "hf:me/net"), later)
    self.served.files.clear()  # the hub is gone
    with self.assertLogs("absl", "WARNING") as logged:
      self.same(models.convert.load("digits_linear", "hf:me/net"), later)
    self.assertIn(f"takes commit {_LATER}", logged.output[0])

  def test_a_named_file_and_one_of_another_name(self):
    data = safetensors.save(self.arrays)
    self.serve({"a/x.safetensors": data, "b.safetensors": b"?"})
    name = "hf:me/net:a/x.safetensors"
    self.same(models.convert.load("digits_linear", name))
    with self.assertRaisesRegex(errors.UserError, "2 files of weights.*:FILE"):
      models.convert.load("digits_linear", "hf:me/net")
    with self.assertRaisesRegex(errors.UserError, "Unknown file of hf:me/net"):
      models.convert.load("digits_linear", "hf:me/net:c.safetensors")

  def test_several_files(self):
    names = list(self.arrays)
    files = {
      f"model-0000{i}-of-00002.safetensors": safetensors.save(
        {n: self.arrays[n] for n in part}
      )
      for i, part in ((1, names[:1]), (2, names[1:]))
    }
    places = dict.fromkeys(names[:1], list(files)[0])
    places |= dict.fromkeys(names[1:], list(files)[1])
    index = json.dumps({"weight_map": places}).encode()
    self.serve({**files, "model.safetensors.index.json": index})
    self.same(models.convert.load("digits_linear", "hf:me/net"))

  def test_what_the_repository_says_of_preprocessing(self):
    flat = checkpoints.drawn("vit_tiny_patch16_224")
    architecture = "vit_tiny_patch16_224"
    config = {**_TIMM, "architecture": architecture, "num_classes": 1000}
    files = {
      "model.safetensors": safetensors.save(checkpoints.as_torch(flat)),
      "config.json": json.dumps(config).encode(),
    }
    self.serve(files, "timm/vit_tiny_patch16_224.mine")
    loaded = match.load(
      "vit_tiny_patch16_224", "timm:vit_tiny_patch16_224.mine"
    )
    self.assertEqual(loaded.declared.fields["resize_px"], 235)
    self.assertEqual(loaded.declared.fields["mean"], (0.485, 0.456, 0.406))
    self.assertEqual(loaded.declared.doubt, "")
    self.assertIn("config.json: pretrained_cfg", loaded.declared.origin)

  def test_another_file_than_the_hub_says(self):
    self.serve({"model.safetensors": safetensors.save(self.arrays)})
    place = f"/me/net/resolve/{_COMMIT}/model.safetensors"
    self.served.files[place] = b"changed on the way"
    with self.assertRaisesRegex(errors.UserError, "got a file of sha256"):
      models.convert.load("digits_linear", "hf:me/net")
    self.nothing_left()

  def test_names_of_files_that_leave_the_cache(self):
    self.serve({"../../evil.npz": b"x"})
    with self.assertRaisesRegex(errors.UserError, "name of a file to keep"):
      models.convert.load("digits_linear", "hf:me/net")
    self.serve(
      {
        "model.safetensors.index.json": json.dumps(
          {"weight_map": {"a": "../x.safetensors"}}
        ).encode()
      },
      commit=_LATER,
    )
    with self.assertRaisesRegex(errors.UserError, "in its own folder"):
      models.convert.load("digits_linear", "hf:me/net")

  def test_the_token_is_sent_and_never_shown(self):
    with mock.patch.dict(os.environ, {hub.TOKEN: "hf_secret"}):
      with self.assertRaises(errors.UserError) as caught:
        models.convert.load("digits_linear", "hf:me/hidden")
    _, headers = self.served.requests[0]
    self.assertEqual(headers["Authorization"], "Bearer hf_secret")
    self.assertNotIn("hf_secret", str(caught.exception))
    self.assertRegex(
      str(caught.exception),
      "hf:me/hidden: .*answers 404.*needs HF_TOKEN.*give that folder's path",
    )

  def test_no_hub_at_the_address(self):
    self.served.files["/api/models/me/net/revision/main"] = b"{}"
    with self.assertRaisesRegex(errors.UserError, "Is HF_ENDPOINT a hub"):
      models.convert.load("digits_linear", "hf:me/net")

  def test_a_folder_that_a_hub_left_here(self):
    safetensors.save_file(self.arrays, self.folder / "model.safetensors")
    (self.folder / "config.json").write_text("{}")
    np.savez(self.folder / "other.npz", a=np.ones(3))
    self.same(models.convert.load("digits_linear", self.folder))


class NameTest(parameterized.TestCase):
  @parameterized.parameters(
    "hf:net",
    "hf:",
    "hf:a/b/c",
    "hf:a/..",
    "hf:a/b:../c",
    "hf:a/b:/c",
    "hf:a/b@",
  )
  def test_hub_refusals(self, text):
    with self.assertRaisesRegex(errors.UserError, "expected hf:OWNER/REPOSI"):
      models.convert.load("digits_linear", text)

  @parameterized.parameters("timm:resnet50", "timm:", "timm:a/b.c")
  def test_timm_refusals(self, text):
    with self.assertRaisesRegex(errors.UserError, "expected timm:NAME.TAG"):
      models.convert.load("digits_linear", text)
    with self.assertRaisesRegex(errors.UserError, "e.g. timm:resnet50.a1_in1k"):
      hub.parse_timm("timm:resnet50")

  def test_parts(self):
    got = hub.parse("hf:a/b.c@refs/pr/1:d/e.bin")
    self.assertEqual(
      (got.owner, got.name, got.revision, got.file),
      ("a", "b.c", "refs/pr/1", "d/e.bin"),
    )
    got = hub.parse_timm("timm:resnet50.a1_in1k")
    self.assertEqual((got.owner, got.name), ("timm", "resnet50.a1_in1k"))


_DATA = bytes(range(256)) * 400


class FileTest(local_server.Case):
  """A file over the network: whole, continued, or refused in words."""

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
