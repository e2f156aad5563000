"""Weights of the Hugging Face hub."""

import json
import os
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized
from safetensors import numpy as safetensors

from models.convert import match
from models.convert.sources import hub
from robust_tfds import errors, models
from tests.models.convert import checkpoints
from tests.models.convert.sources import local_server

try:
  import huggingface_hub as _  # noqa: F401
except ImportError as error:
  raise absltest.unittest.SkipTest(str(error)) from error

_LATER = "b" * 40
_TIMM = {
  "architecture": "digits",
  "num_classes": 10,
  "pretrained_cfg": {
    "input_size": [3, 224, 224],
    "crop_pct": 0.95,
    "interpolation": "bicubic",
  },
}


class LoadTest(local_server.Case):
  """`hf:` and `timm:` names, on a hub of this machine."""

  def setUp(self):
    super().setUp()
    self.flat = checkpoints.drawn("digits_linear")
    self.arrays = checkpoints.as_torch(self.flat)

  def same(self, variables, flat=None):
    checkpoints.Case.same(self, variables, flat or self.flat)

  def test_safetensors_come_before_pickles(self):
    self.serve(
      {
        "pytorch_model.bin": b"never read",
        "model.safetensors": safetensors.save(self.arrays),
        "README.md": b"",
      }
    )
    self.same(models.convert.load("digits_linear", "hf:me/net"))
    asked = {path for path, _ in self.served.requests}
    self.assertEqual(
      asked,
      {
        "/api/models/me/net/revision/main",
        "/me/net/resolve/main/model.safetensors",
      },
    )

  def test_a_branch_moves_and_is_remembered_without_a_connection(self):
    self.serve({"model.safetensors": safetensors.save(self.arrays)})
    self.same(models.convert.load("digits_linear", "hf:me/net"))
    later = {p: a + 1 for p, a in self.flat.items()}
    data = safetensors.save(checkpoints.as_torch(later))
    self.serve({"model.safetensors": data}, commit=_LATER)
    self.same(models.convert.load("digits_linear", "hf:me/net"), later)
    self.same(models.convert.load("digits_linear", f"hf:me/net@{'a' * 40}"))
    self.served.files.clear()  # the hub is gone
    with self.assertLogs("absl", "WARNING") as logged:
      self.same(models.convert.load("digits_linear", "hf:me/net"), later)
    self.assertRegex(logged.output[0], f"fetched before: .*{_LATER}")

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

  def test_a_file_of_the_cache_that_was_changed(self):
    self.serve({"model.safetensors": safetensors.save(self.arrays)})
    place = hub.fetch("hf:me/net")
    content = os.path.realpath(place)
    with open(content, "ab") as file:
      file.write(b"changed")
    with self.assertRaisesRegex(
      errors.UserError, f"{content}: has sha256 .* expected .*Remove it"
    ):
      hub.fetch("hf:me/net")
    os.remove(content)  # as the message says
    self.same(models.convert.load("digits_linear", "hf:me/net"))

  def test_names_of_files_that_leave_the_cache(self):
    self.serve({"../../evil.npz": b"x"})
    with self.assertRaisesRegex(errors.UserError, "holds 0 files of weights"):
      models.convert.load("digits_linear", "hf:me/net")
    index = {"weight_map": {"a": "../x.safetensors"}}
    files = {"model.safetensors.index.json": json.dumps(index).encode()}
    self.serve(files, commit=_LATER)
    with self.assertRaisesRegex(errors.UserError, "in its own folder"):
      models.convert.load("digits_linear", "hf:me/net")

  def test_the_token_is_sent_and_never_shown(self):
    with mock.patch.dict(os.environ, {hub.TOKEN: "hf_secret"}):
      with self.assertRaises(errors.UserError) as caught:
        models.convert.load("digits_linear", "hf:me/hidden")
    _, headers = self.served.requests[0]
    sent = {name.lower(): value for name, value in headers.items()}
    self.assertEqual(sent["authorization"], "Bearer hf_secret")
    self.assertNotIn("hf_secret", str(caught.exception))
    self.assertRegex(
      str(caught.exception),
      "hf:me/hidden: .*404.*needs HF_TOKEN.*give that folder's path",
    )

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
      (got.name, got.revision, got.file), ("a/b.c", "refs/pr/1", "d/e.bin")
    )
    self.assertEqual(
      hub.parse_timm("timm:resnet50.a1_in1k").name, "timm/resnet50.a1_in1k"
    )
