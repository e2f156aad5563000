"""Equal bytes: one process, several workers, Beam's worker processes."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
from absl.testing import parameterized

from robust_tfds import datasets
from tests import quick
from tests.building.sources import small_sets

_BEAM = (
  "runner=DirectRunner",
  "direct_running_mode=multi_processing",
  "direct_num_workers=2",
)
_CASES = (
  ("digits_c", "brightness_2", 40),
  ("digits_p", "translate", 12),
  ("digits_detection_c", "brightness_4", 12),
)

_FROM_FILES = (  # in pictures of few chunks: each starts two processes
  ("cifar100_c", "shot_noise_2"),
  ("tiny_imagenet_c", "shot_noise_2"),
  ("imagenet_c", "contrast_2_inception"),
)


def _records(name: str, config: str, folder: str, **options) -> list[bytes]:
  built = datasets.prepare(name, config, data_dir=folder, **options)
  paths = sorted(pathlib.Path(built.data_dir).glob("*record-*"))
  return [path.read_bytes() for path in paths]


class WriterTest(parameterized.TestCase):
  def _folder(self) -> str:
    return self.create_tempdir().full_path

  @parameterized.parameters(*_CASES[:2])  # of objects: coco_c_test
  @pytest.mark.slow  # quick: of files, below
  def test_workers(self, name, config, limit):
    one, two = (
      _records(name, config, self._folder(), workers=workers, limit=limit)
      for workers in (1, 2)
    )
    self.assertNotEmpty(one)
    self.assertEqual(one, two)

  @pytest.mark.slow  # workers are other processes too
  def test_another_process(self):
    code = (
      "import sys; from robust_tfds import datasets;"
      "datasets.prepare('digits', data_dir=sys.argv[1], limit=50)"
    )
    folder = self._folder()
    # Protocol buffers order their maps by a hash that is seeded per process.
    subprocess.run(
      [sys.executable, "-c", code, folder],
      check=True,
      env={**os.environ, "PYTHONHASHSEED": "1"},
      capture_output=True,
    )
    self.assertEqual(
      _records("digits", "", folder, limit=50),
      _records("digits", "", self._folder(), limit=50),
    )

  @quick.cases(_FROM_FILES[1:2], (_FROM_FILES[0], _FROM_FILES[2]))
  def test_workers_read_files(self, name, config):
    manual = small_sets.MAKERS[name](pathlib.Path(self._folder()))
    one, two = (
      _records(name, config, self._folder(), workers=workers, manual_dir=manual)
      for workers in (1, 2)
    )
    self.assertNotEmpty(one)
    self.assertEqual(one, two)

  @parameterized.parameters(*_FROM_FILES)
  def test_beam_reads_files(self, name, config):
    if importlib.util.find_spec("apache_beam") is None:
      self.skipTest("needs apache-beam: pip install 'robust_tfds[beam]'")
    manual = small_sets.MAKERS[name](pathlib.Path(self._folder()))
    beam = {"beam": True, "beam_options": _BEAM}
    self.assertEqual(
      _records(name, config, self._folder(), manual_dir=manual, **beam),
      _records(name, config, self._folder(), manual_dir=manual),
    )

  @parameterized.parameters(*_CASES)
  def test_beam(self, name, config, limit):
    if importlib.util.find_spec("apache_beam") is None:
      self.skipTest("needs apache-beam: pip install 'robust_tfds[beam]'")
    folder = self._folder()
    self.assertEqual(
      _records(
        name, config, folder, limit=limit, beam=True, beam_options=_BEAM
      ),
      _records(name, config, self._folder(), limit=limit),
    )
