"""Cells against the manifest and each other; the campaign is in checker_test."""

from unittest import mock

import numpy as np
from absl.testing import parameterized

from eval.cells.workdir import Workdir
from eval.submissions import contents
from eval.submissions import manifest as manifest_lib
from eval.tasks.parts import known
from robust_tfds import errors
from tests import in_folder
from tests.eval.cells.submissions import small


class ContentsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = small.submission(self.create_tempdir().full_path)
    self.tampered = small.Tampered(self.folder)

  def _check(self) -> contents.Account:
    manifest = manifest_lib.read(self.folder)
    return contents.check(self.folder, manifest, contents.read(self.folder))

  def _refuses(self, message) -> None:
    with self.assertRaisesRegex(errors.UserError, message):
      self._check()

  def test_the_account(self):
    account = self._check()
    self.assertEqual((account.cells, account.marked), (3, 3))
    self.assertEqual(account.planned, 3)
    self.assertEqual(list(account.examples), ["digits_c"])
    verified = [e.verified for e in account.examples["digits_c"]]
    self.assertIn("its 359 examples", "".join(verified))
    self.assertEqual(account.labels, {"digits_c": (359, 359)})

  def test_an_example_that_is_another_in_another_cell(self):
    workdir = Workdir(self.folder)
    cell = workdir.cells()[-1]
    columns = dict(workdir.columns(cell))
    columns["group_id"] = np.array([f"g{i}" for i in range(359)])
    workdir.write_cell(cell, columns, "test")
    self.tampered.manifest()
    self._refuses("group_id of 'digit_0004': got 'g0', but in digits_c it is")
    with mock.patch.object(known, "check_groups"):  # as of an unknown set
      self._refuses(
        "group_id, label of 'digit_0004': got .'g0', 4., but .'digit_0004', 4."
      )

  @parameterized.parameters(
    ([], "images"),
    ({}, "images"),
    ({"images": 1, "annotations": [], "categories": []}, "images"),
    ({"images": [{"id": "x"}], "annotations": [], "categories": []}, "id"),
  )
  def test_ground_truth_that_is_none(self, truth, message):
    Workdir(self.folder).write_truth(truth)
    self.tampered.manifest()
    self._refuses(f"^{self.folder}/truth.json: .*{message}")

  def test_fewer_that_the_config_says(self):
    self.folder = small.submission(self.root, limit=50)
    self.assertEqual(self._check().labels, {"digits_c": (50, 50)})
