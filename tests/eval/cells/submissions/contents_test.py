"""Cells against the manifest and each other; the campaign is in checker_test."""

from unittest import mock

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.cells.submissions import contents
from robust_tfds.eval.cells.submissions import manifest as manifest_lib
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.tasks.parts import known
from tests import in_folder
from tests.eval.cells.submissions import small
from tests.eval.compare import small_runs


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

  def test_weights_of_a_model_that_the_run_did_not_train(self):
    self._with_weights(np.zeros(3))
    self._refuses("weights.npz: config.json does not train a: a submission")

  def test_other_weights_than_those_of_the_facts(self):
    self.tampered.config(lambda c: c["models"]["a"].update(train={"steps": 1}))
    self._with_weights(np.zeros(3))
    self._refuses("weights.npz: these weights have the sha256 .* say a0000")

  def test_weights_of_a_model_that_is_not_there(self):
    self._with_weights(np.zeros(3), "b")
    self._refuses("b/weights.npz: it belongs to no finished cell")

  def _with_weights(self, array, label="a") -> None:
    path = self.folder / "models" / label / "weights.npz"
    path.parent.mkdir(parents=True)
    small.write_packed(path, {"kernel": array})
    self.tampered.manifest()

  def test_other_models_than_the_manifests(self):
    by = small_runs.model_facts("c").model_dump()
    self.tampered.manifest(lambda m: m["models"].update(c=by))
    self._refuses("models: got .*c.*, but the cells are of a")

  def test_other_facts_of_a_model(self):
    better = {"trained_on": "something better"}
    self.tampered.manifest(lambda m: m["models"]["a"].update(better))
    self._refuses(
      "by: other facts than submission.json has of a: trained_on: 'digits train'"
    )

  def test_a_corruption_that_is_none(self):
    seen = {"corruptions_seen": ["Fog"]}
    self.tampered.manifest(lambda m: m["models"]["a"].update(seen))
    self._refuses("models.a.corruptions_seen: 'Fog' is no corruption")

  def test_another_task(self):
    self.tampered.manifest(lambda m: m.update(task="video"))
    self._refuses("task: got 'video', but config.json has 'classification'")

  def test_facts_under_another_hash(self):
    def change(content):
      ((_, facts),) = content["data"].items()
      content["data"] = {"0" * 12: facts}

    self.tampered.manifest(change)
    self._refuses("data.000000000000: these facts have the hash")

  def test_a_note_of_other_ids(self):
    self.tampered.notes(lambda n: n["split"].update(ids="0" * 64))
    self.tampered.manifest()
    self._refuses("split: 359 examples and their hashes are not those")

  def test_a_note_without_facts(self):
    self.tampered.notes(lambda n: n.pop("data"))
    self.tampered.manifest()
    self._refuses("data, by: a submission's cells say their facts")

  def test_a_seed_that_is_not_the_configs(self):
    self.tampered.config(lambda c: c.update(seed=5))
    self.tampered.manifest()
    self._refuses("seed: got 0, but config.json has 5")

  def test_pixels_that_are_not_the_configs(self):
    self.tampered.config(lambda c: c["versions"].update(pixels=2))
    self.tampered.manifest()
    self._refuses(r"data.pixels: got \d+, but config.json has 2")

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

  @parameterized.parameters(
    (b"foreign", b"", "before"), (b"", b"foreign", "behind the end")
  )
  def test_archives_of_more_than_arrays(self, before, after, message):
    for folder in ("cells/a/digits_c/fog_3/seed0", "examples"):
      (path,) = (self.folder / folder).glob("*.npz")
      whole = path.read_bytes()
      path.write_bytes(before + whole + after)
      if folder == "examples":
        path = path.rename(
          path.with_name(f"{small.file(path)['sha256'][:16]}.npz")
        )
      self.tampered.notes()
      self.tampered.manifest()
      self._refuses(f"^{path}: foreign bytes {message}")
      path.write_bytes(whole)

  def test_fewer_that_the_config_says(self):
    self.folder = small.submission(self.root, limit=50)
    self.assertEqual(self._check().labels, {"digits_c": (50, 50)})
