"""One model of a run; facts as cells say them, as the config does, or unknown."""

from etils import epath

from eval.cells import cell_facts
from eval.compare import runs
from eval.compare.sides import Side
from eval.readers import base
from eval.run.results import rescore
from robust_tfds.conditions import Condition
from tests import in_folder
from tests.eval.compare import small_runs


class SidesTest(in_folder.TestCase):
  def _facts(self, name):
    (run,) = runs.read([str(self.root / name)])
    side = Side.of(run, run.datasets[0], run.labels()[0])
    return side.data(), side.model_facts.words()

  def test_a_model_of_a_run(self):
    folder = small_runs.write(
      self.root / "run",
      {"a": 0.2, "b": 0.3},
      names=["fog"],
      seed=3,
      chosen=lambda label, c: label == "a" or c.level < 2,
      baseline="model:a",
    )
    (run,) = runs.read([str(folder)])
    self.assertEqual(run.datasets, [small_runs.DATASET])
    self.assertEqual(run.labels(), ["a", "b"])
    self.assertEmpty(run.labels("imagenet_c"))
    side = Side.of(run, small_runs.DATASET, "b")
    self.assertEqual([c.config for c in side.cells], ["clean", "fog_1"])
    self.assertEqual(side.seed, 3)
    self.assertEqual(side.task.setting.baseline, "model:a")
    self.assertEqual(side.model_facts.trained_on, "digits train")
    self.assertEqual(side.data([Condition()])["codec"], "raw")
    self.assertLen(side.columns(Condition())["label"], small_runs.EXAMPLES)
    self.assertEmpty(side.remarks)
    other = run.task(small_runs.DATASET, "alexnet")
    self.assertEqual(other.setting.baseline, "alexnet")
    self.assertEqual(run.config.baseline, "model:a")

  def test_as_the_cells_say(self):
    small_runs.write(self.root / "run", {"a": 0.1}, names=["fog"])
    data, model = self._facts("run")
    self.assertEqual((data["version"], data["px"]), ("1.0.0", [32, 32]))
    self.assertLen(data["ids"], 64)
    self.assertLen(data["labels"], 64)
    self.assertNotIn("content", data)
    self.assertEqual(model["trained_on"], "digits train")

  def test_of_a_workdir_without_facts(self):
    small_runs.write(self.root / "run", {"a": 0.1}, names=["fog"], noted=False)
    data, model = self._facts("run")
    self.assertEqual((data["codec"], data["source"]), ("raw", "fly"))
    self.assertIsNone(data["version"])
    self.assertEqual(data["examples"], small_runs.EXAMPLES)
    self.assertEqual(model["name"], "digits_cnn")
    self.assertIsNone(model["weights"])

  def test_of_another_program(self):
    path = self.root / "predictions.csv"
    path.write_text(
      "corruption,severity,example_id,label,top1\n"
      + "".join(f"clean,0,x{i},1,1\n" for i in range(3))
    )
    rescore.score(
      [epath.Path(path)], epath.Path(self.root / "out"), base.Options()
    )
    data, model = self._facts("out")
    self.assertEqual(data["source"], cell_facts.ELSEWHERE)
    self.assertIsNone(data["codec"])
    self.assertEqual(data["examples"], 3)
    self.assertIsNone(model["trained_on"])

  def test_cells_that_differ_say_all_values(self):
    folder = self.root / "run"
    small_runs.write(folder, {"a": 0.1}, names=["fog"])
    extra = {"facts": {"version": "2.0.0"}}
    small_runs.write(
      folder,
      {"a": 0.1},
      names=["fog"],
      chosen=lambda _, c: c.level == 5,
      **extra,
    )
    data, _ = self._facts("run")
    self.assertEqual(data["version"], ["1.0.0", "2.0.0"])
