"""Formats of sets: which is written, both read, with and without TensorFlow."""

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import datasets
from robust_tfds.building import file_formats
from tests import in_folder, in_process, pages

# A machine without TensorFlow; programs' last lines are their own.
_HIDDEN = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *places: (
  None if name == "tensorflow" else find(name, *places)
)
"""
_WITHOUT = """
from robust_tfds import datasets, errors
from robust_tfds.building import file_formats
from eval.pipeline import inputs
built = datasets.prepare("digits_c", "clean", data_dir={root!r}, limit=5)
try:
  (batch,) = inputs.Source(built, "test", batch_size=5).batches()
  rows = list(file_formats.rows(built, "test"))
  print(batch.image.sum() == sum(r["image"].sum() for r in rows))
except errors.UserError as refusal:
  print(refusal)
"""
_OUR_LOAD = """
import os, robust_tfds
from robust_tfds import errors
for name in ("digits_c", "digits_c/fog/3"):
  try:
    robust_tfds.load(name, split="test", data_dir={root!r})
  except errors.UserError as refusal:
    print(refusal)
print(int(os.path.exists({root!r} + "/digits_c/fog_3")))
"""
_LOAD = """
import robust_tfds, tensorflow_datasets as tfds
builder = tfds.builder("digits_c/clean", data_dir={root!r} + "_array")
builder.download_and_prepare(file_format="array_record")
try:
  tfds.load("digits_c/fog_3", split="test", data_dir={root!r})
except robust_tfds.errors.UserError as refusal:
  print(refusal)
"""


class FileFormatsTest(in_folder.TestCase):
  def _prepare(self, **options):
    options = {"data_dir": self.root, "limit": 5, **options}
    return datasets.prepare("digits_c", "clean", **options)

  def test_defaults(self):
    self.assertTrue(file_formats.is_array_record(self._prepare()))
    for folder, expected in (
      (None, "array_record"),
      ("/data", "array_record"),
      ("gs://bucket/data", "tfrecord"),
    ):
      self.assertEqual(file_formats.default_format(folder), expected)

  def test_both_are_read(self):
    there = self._prepare(file_format="tfrecord", data_dir=self.root / "old")
    again = self._prepare(data_dir=self.root / "old")
    self.assertFalse(file_formats.is_array_record(again))
    for old, new in zip(
      file_formats.rows(there, "test"),
      file_formats.rows(self._prepare(), "test"),
      strict=True,
    ):
      self.assertEqual(old["example_id"], new["example_id"])
      np.testing.assert_array_equal(old["image"], new["image"])

  def test_tfds_load_reads_what_was_prepared(self):
    folder = self._prepare().data_dir.partition("/digits_c")[0]
    ids = [
      r["example_id"]
      for r in tfds.as_numpy(
        tfds.load("digits_c", split="test[1:4]", data_dir=folder)
      )
    ]
    whole = [
      r["example_id"] for r in file_formats.rows(self._prepare(), "test")
    ]
    self.assertEqual(ids, whole[1:4])
    shuffled = tfds.load(
      "digits_c", split="test", data_dir=folder, shuffle_files=True
    )
    self.assertLen(list(shuffled), 5)

  @parameterized.parameters(
    ("array_record", "^True$"),
    (
      "tfrecord",
      r"digits_c.* \(TFRecord files\) needs TensorFlow, which is not installed:"
      r" pip install 'robust_tfds\[tf\]'\.$",
    ),
  )
  def test_without_tensorflow(self, file_format, said):
    self._prepare(file_format=file_format)
    program = _HIDDEN + _WITHOUT.format(root=str(self.root))
    done = in_process.python("-c", program)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertNotIn("OpenCV", done.stderr)
    self.assertRegex(done.stdout.splitlines()[-1], said)

  def test_our_load_without_tensorflow_names_what_works(self):
    """Also of a set that is there, where TFDS ended with a ModuleNotFoundError."""
    self._prepare()
    program = _HIDDEN + _OUR_LOAD.format(root=str(self.root))
    done = in_process.python("-c", program)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(
      done.stdout.splitlines()[-2:],
      [
        "robust_tfds.load gives a tf.data.Dataset and needs TensorFlow, which is not"
        " installed: pip install 'robust_tfds[tf]'. Without it, e.g. for PyTorch's"
        ' DataLoader: tfds.data_source("digits_c/fog_3", split=..., builder_kwargs='
        '{"file_format": "array_record"}).',
        "0",  # nothing was prepared
      ],
    )

  def test_the_page_of_a_data_loader_without_tensorflow(self):
    pytest.importorskip("torch")
    section = pages.sections("QUICKSTART.md")["Corrupted sets with `tfds.load`"]
    (block,) = [b for kind, b in section if "torch" in b]
    block = block.replace(
      'split="test"', 'split="test", data_dir="' + str(self.root) + '"'
    )
    done = in_process.python("-c", _HIDDEN + block)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(
      done.stdout.splitlines()[-1], "torch.Size([64, 32, 32, 3])"
    )

  def test_load_without_tensorflow_begins_nothing(self):
    program = _HIDDEN + _LOAD.format(root=str(self.root / "new"))
    done = in_process.python("-c", program)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertRegex(
      done.stdout.splitlines()[-1],
      r"needs TensorFlow.* pip install 'robust_tfds\[tf\]'\.",
    )
    self.assertFalse((self.root / "new").exists())
