"""The command: an npz, its digest, a report; one line for bad input."""

import json

from models import variables as variables_lib
from models.convert import __main__ as command
from models.convert import match, report
from robust_tfds import models
from tests import in_process
from tests.models.convert import checkpoints


class CommandTest(checkpoints.Case):
  def test_writes_npz_digest_and_report(self):
    flat = checkpoints.drawn("digits_cnn")
    source = self.npz(checkpoints.as_torch(flat), "in.npz")
    out = self.folder / "out" / "digits.npz"
    self._convert("digits_cnn", source, out)
    self.same(models.convert.load("digits_cnn", out), flat)
    digest = out.with_name("digits.npz.sha256").read_text("utf-8").split()[0]
    facts = json.loads(
      out.with_name("digits.npz.report.json").read_text("utf-8")
    )
    self.assertEqual(facts["npz_sha256"], digest)
    self.assertEqual(facts["parameters"], 33_834)
    self.assertLen(facts["sources"], len(flat))
    again = report.write_npz(
      variables_lib.nest(flat), self.folder / "again.npz"
    )
    self.assertEqual(again, digest)

  def test_what_files_beside_say_goes_with_the_npz(self):
    flat = checkpoints.drawn("resnet18")
    source = self.npz(checkpoints.as_torch(flat), "in.npz")
    config = {"pretrained_cfg": {"crop_pct": 0.95, "num_classes": 1000}}
    (self.folder / "config.json").write_text(json.dumps(config))
    out = self.folder / "out" / "resnet18.npz"
    with self.assertWarnsRegex(UserWarning, "resize_px 235"):
      self._convert("resnet18", source, out)
    loaded = match.load("resnet18", out)
    self.assertEqual(loaded.style, match.OWN)
    self.assertEqual(loaded.declared.fields["resize_px"], 235)
    self.assertEndsWith(loaded.declared.origin, "resnet18.npz.report.json")

  def test_detectors_and_video_networks_too(self):
    for name in ("tiny_retinanet", "tiny_r3d"):
      variables = variables_lib.nest(checkpoints.drawn(name))
      source, out = self.folder / f"{name}.npz", self.folder / f"{name}2.npz"
      first = report.write_npz(variables, source)
      self._convert(name, source, out)
      told = json.loads(out.with_name(f"{name}2.npz.report.json").read_text())
      self.assertEqual(told["npz_sha256"], first)
      self.assertIn("not measured", told["parity"])

  def test_bad_input_is_one_line_and_a_status(self):
    folder = self.folder / "empty"
    folder.mkdir()
    words = ["digits_cnn", folder / "none.npz", folder / "out.npz"]
    for given, message in (
      (words, "none.npz"),
      (words[:2], "Error: Name a model and two files: NAME FILE OUT."),
    ):
      done = in_process.run(command, *map(str, given))
      in_process.check_refused(self, done, message)
    self.assertEmpty(list(folder.iterdir()))

  def _convert(self, *words) -> None:
    done = in_process.run(command, *map(str, words))
    self.assertEqual(done.returncode, 0, done.stderr)
