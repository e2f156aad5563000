"""`eval.main`: plan or run, and where; what a run was started with."""

import json
import pathlib
import types
import webbrowser
from unittest import mock

from absl import app, flags
from absl.testing import absltest
from etils import epath

from eval import main
from eval.run import estimate, runner
from models.training import run as training
from models.training import workdir as workdir_lib
from robust_tfds import errors, shards
from tests.eval import tiny_config
from tests.models.training import tiny_trainings


def _settings(**changes) -> types.SimpleNamespace:
  settings = {
    "config": tiny_config.get_config(),
    "workdir": None,
    "list": False,
    "plan": False,
    "multihost": False,
    "coordinator": None,
    "num_processes": None,
    "process_id": None,
    "break_lock": False,
    "shard": "1/1",
    "open": False,
  }
  return types.SimpleNamespace(**{**settings, **changes})


class MainTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.workdir = self.create_tempdir()
    self.run = self.enterContext(mock.patch.object(runner, "Runner"))
    self.describe = self.enterContext(
      mock.patch.object(estimate, "describe", return_value="")
    )

  def _main(self, *words, **settings) -> None:
    with mock.patch.object(flags, "FLAGS", _settings(**settings)):
      main.main(["main", *words])

  def test_opens_the_report(self):
    config = tiny_config.get_config().unlock()
    config.reports = True
    browser = mock.Mock()
    with (
      mock.patch.object(webbrowser, "get", return_value=browser),
      mock.patch.object(main, "_say_result"),
    ):
      self._main(workdir=self.workdir.full_path, config=config, open=True)
    (address,), _ = browser.open.call_args
    folder = pathlib.Path(self.workdir.full_path)
    self.assertEqual(address, (folder / "reports/report.html").as_uri())

  def test_nothing_runs_that_could_not_be_opened(self):
    config = tiny_config.get_config().unlock()
    for reports, words in ((False, "makes no report"), (True, "no browser is")):
      config.reports = reports
      with (
        mock.patch.object(webbrowser, "get", side_effect=webbrowser.Error),
        self.assertRaisesRegex(errors.UserError, words),
      ):
        self._main(workdir=self.workdir.full_path, config=config, open=True)
    self.run.assert_not_called()

  def test_plans_refuse_weights_that_runs_refuse(self):
    """Those that are not the ones which were written."""
    root = pathlib.Path(self.workdir.full_path)
    note = {"recipe": {}, "files": {"variables/_METADATA": "0" * 64}}
    (root / "models" / "digits_cnn").mkdir(parents=True)
    file = root / "models" / "digits_cnn" / "recipe.json"
    file.write_text(json.dumps(note))
    for measure in ("", "measure"):
      with self.assertRaisesRegex(errors.UserError, "are not what was writ"):
        self._main(workdir=str(root), plan=measure or True)
    self.describe.assert_not_called()

  def test_a_trainings_workdir_without_its_disclosure(self):
    """The evaluator does not take such weights as ones of which nothing is known."""
    folder = epath.Path(self.create_tempdir().full_path)
    prepared = tiny_trainings.prepared(
      allow_benchmark_conditions=True,
      recipe={"name": "corruption_mix", "names": ("fog",)},
    )
    workdir_lib.begin(folder, training._facts(prepared))
    (folder / "weights.npz").write_bytes(b"weights")
    config = tiny_config.get_config().unlock()
    del config.models["digits_cnn"].train
    for place in (folder, folder / "weights.npz"):
      config.models["digits_cnn"].checkpoint = str(place)
      with self.assertRaisesRegex(
        errors.UserError,
        r"config.json belongs to a training \(recipe corruption_mix\), but disclosure",
      ):
        self._main(config=config, workdir=self.workdir.full_path)
    self.run.assert_not_called()

  def test_break_lock(self):
    self._main(workdir=self.workdir.full_path, break_lock=True)
    self.assertEqual(
      self.run.call_args.kwargs,
      {"break_lock": True, "shard": shards.WHOLE},
    )

  def test_a_shard(self):
    self._main(workdir=self.workdir.full_path, shard="2/4")
    self.assertEqual(self.run.call_args.kwargs["shard"], shards.Shard(2, 4))
    with self.assertRaisesRegex(errors.UserError, "--shard=5/4: expected i/n"):
      self._main(workdir=self.workdir.full_path, shard="5/4")

  def test_a_plan_knows_the_workdir_and_runs_nothing(self):
    self._main(plan=True, workdir=self.workdir.full_path)
    _, workdir, _ = self.describe.call_args.args
    self.assertEqual(str(workdir.path), self.workdir.full_path)
    self._main(plan=True)
    self.assertIsNone(self.describe.call_args.args[1])
    self.run.assert_not_called()

  def test_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "--workdir=FOLDER"):
      self._main()
    config = tiny_config.get_config()
    config.data.corruptions = "fogg"
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'fog'"):
      self._main(config=config, workdir=self.workdir.full_path)
    with self.assertRaisesRegex(app.UsageError, "word"):
      self._main("word", workdir=self.workdir.full_path)
    self.run.assert_not_called()

  def test_flags_that_contradict_each_other(self):
    file = self.create_tempfile().full_path
    hosts = {"multihost": True, "num_processes": 2}
    for settings, message in (
      ({"workdir": file}, "is a file, expected a folder"),
      ({"process_id": 1}, "--process_id=1 needs --multihost"),
      ({**hosts, "process_id": 2}, "--process_id=2: expected 0 to 1"),
      ({**hosts, "num_processes": 0}, "--num_processes=0"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        self._main(**{"workdir": self.workdir.full_path, **settings})
    self.run.assert_not_called()

  def test_hosts_find_each_other_first(self):
    with mock.patch("jax.distributed.initialize") as initialize:
      self._main(
        workdir=self.workdir.full_path,
        multihost=True,
        coordinator="a:1",
        num_processes=2,
        process_id=1,
      )
    initialize.assert_called_once_with("a:1", 2, 1)
