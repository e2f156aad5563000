"""What a conversion leaves: equal bytes, a digest, an account in JSON."""

import hashlib
import json
import pathlib

import numpy as np

from models import variables as variables_lib
from models.convert import match, report, sources
from robust_tfds import models
from tests.models.convert import checkpoints


class ReportTest(checkpoints.Case):
  def test_npz_is_the_same_bytes_and_can_be_loaded(self):
    flat = checkpoints.drawn("digits_linear")
    one, two = (self.folder / folder / "a.npz" for folder in ("x", "y"))
    digest = report.write_npz(variables_lib.nest(flat), one)
    self.assertEqual(report.write_npz(variables_lib.nest(flat), two), digest)
    self.assertEqual(hashlib.sha256(two.read_bytes()).hexdigest(), digest)
    said = one.with_name("a.npz.sha256").read_text("utf-8")
    self.assertEqual(said, f"{digest}  a.npz\n")
    self.assertLen(list(one.parent.iterdir()), 2)
    self.same(models.convert.load("digits_linear", one), flat)
    with np.load(one, allow_pickle=False) as arrays:
      self.assertIn("head/kernel", arrays.files)

  def test_another_ending_is_refused(self):
    with self.assertRaisesRegex(ValueError, "expected a name ending in .npz"):
      report.write_npz({}, pathlib.Path("a.npy"))

  def test_the_account(self):
    flat = checkpoints.drawn("digits_linear")
    arrays = checkpoints.as_torch(flat)
    source = self.npz({**arrays, "bn.num_batches_tracked": np.int64(3)})
    loaded = match.load("digits_linear", source)
    out = self.folder / "out.npz"
    located = sources.locate(source)
    summary = report.write_report(located, loaded, "f" * 64, out)
    self.assertRegex(summary, "2 arrays .30,730 parameters.*style torch")
    facts = json.loads(out.with_name("out.npz.report.json").read_text())
    self.assertEqual(facts["sources"], dict(loaded.sources))
    self.assertEqual(facts["ignored"], ["bn.num_batches_tracked"])
    self.assertEqual(
      facts["checkpoint_sha256"],
      hashlib.sha256(source.read_bytes()).hexdigest(),
    )
    self.assertIn("no reference of digits_linear", facts["parity"])
