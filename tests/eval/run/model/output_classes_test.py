"""`config.model.classes`: names, wnids and indices of a model's outputs."""

import jax
import ml_collections
import numpy as np
from absl.testing import parameterized
from etils import epath

from configs import vid_robust
from eval.cells.workdir import Workdir
from eval.pipeline import relabel
from eval.run import plan as plan_lib
from eval.run import runner
from eval.run.model import output_classes
from models.convert import report
from robust_tfds import datasets, errors, models
from robust_tfds.building.sources import imagenet
from robust_tfds.conditions import Condition
from tests import in_folder
from tests.eval import tiny_config

_NAMES = [("cat",), ("dog",), ("Sea Lion",), ("9",)]


class ReadTest(parameterized.TestCase):
  def _read(self, text: str, names=tuple(_NAMES), classes=4, outputs=None):
    path = self.create_tempfile("classes.txt", text).full_path
    if outputs is None:
      outputs = len(text.splitlines()) - text.startswith("index\n")
    return output_classes.read(path, names, classes, outputs).relabelling

  @parameterized.parameters(
    ("dog\nsea_lion\ncat\n9\n", (1, 2, 0, 3), 0),
    ("unicorn\n DOG \n-\n", (-1, 1, -1), 3),
    ("index\n3\n0\n", (3, 0), 2),
    ("index\n-\n2\n", (-1, 2), 3),
  )
  def test_names_and_indices(self, text, class_of, without_output):
    got = self._read(text)
    self.assertEqual(got.class_of, class_of)
    self.assertEqual(got.without_output, without_output)

  def test_imagenet(self):
    names = datasets.builder_class("imagenet_c").class_names()
    wnids = imagenet.wnids()
    text = f"Tench\n{wnids[999]} toilet tissue\ncrane bird\nn00000000 x\n"
    got = self._read(text, names, 1000)
    self.assertEqual(got.class_of, (0, 999, 134, -1))
    english = [imagenet.names()[wnid][-1] for wnid in wnids]
    got = self._read("\n".join(english), names, 1000)
    self.assertEqual(got.class_of, tuple(range(1000)))
    with self.assertRaisesRegex(
      errors.UserError, "line 2: 'crane' is the name of 2 classes: write n0201"
    ):
      self._read("tench\ncrane\n", names, 1000)

  def test_imagenet_by_itself(self):
    wnids = imagenet.wnids()
    for names, expected in (
      ([wnids[3], wnids[0]], (3, 0)),
      (["tench", "Tabby", "n02119789"], (0, 281, 278)),
      (["tench", "crane"], None),  # a bird or a machine
      (["tench", "goldfinch", "cat"], None),
      (wnids, None),
    ):
      names = [(n,) for n in names]
      got = output_classes.from_published(names, "classification")
      if expected is None:
        self.assertIsNone(got)
      else:
        class_of = got.relabelling.class_of
        self.assertEqual([class_of[o] for o in expected], [*range(len(names))])
        self.assertEqual(class_of.count(-1), 1000 - len(names))

  @parameterized.parameters(
    ("cat\n\ndog\n", "line 2: empty, expected a class"),
    ("cat\ndog\nCat\n", r"lines 1 and 3 \(.Cat.\) are one class"),
    ("index\n0\n4\n", "line 3: '4' .*, expected an index from 0 to 3"),
    ("index\n0\n2\nx\n", "line 4: 'x' is no class, expected an index"),
    ("0\n2\n", "e.g. '0'; expected names .* below a first line 'index'"),
    ("dog\nsea_lon\n", "line 2: 'sea_lon' .*'Sea Lion' has no line"),
    ("index\n1\n1\n", "lines 2 and 3"),
    ("09\ndog\nlion\n", "line 1: '09' .*'9' has no line"),
    (
      "horse\ncow\n",
      "no line is a class of the data set, e.g. 'horse'; .* cat",
    ),
  )
  def test_refusals(self, text, words):
    with self.assertRaisesRegex(errors.UserError, f"classes.txt: .*{words}"):
      self._read(text)

  def test_other_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "2 lines, .* has 3 outputs"):
      self._read("cat\ndog\n", outputs=3)
    with self.assertRaisesRegex(errors.UserError, "the names .* are not known"):
      self._read("cat\ndog\n", names=())
    with self.assertRaisesRegex(errors.UserError, "no.txt"):
      output_classes.read("no.txt", _NAMES, 4, 1)

  def test_of_a_training(self):
    """Mapped by name; as they are; nobody knows; refused."""
    names = [("cat",), ("dog",), ("owl",)]
    of = lambda trained, n=3, **numbered: output_classes.from_training(
      "config.model.checkpoint", trained, names, n, **numbered
    )
    got = of(["owl", "cat", "dog", "bat"], 4)
    self.assertEqual(got.relabelling.class_of, (2, 0, 1, relabel.NONE))
    self.assertIsNone(of(["cat", "dog", "owl"]))
    self.assertIsNone(of(["0", "1", "2"], numbered=True))
    with self.assertRaisesRegex(errors.UserError, "not trained on 3 .*'cat'"):
      of(["0", "1", "2"])
    # Class folders that are called by numbers, one of them otherwise now.
    names = [("1",), ("2",), ("zero",)]
    with self.assertRaisesRegex(errors.UserError, "not trained on 1 .*'zero'"):
      of(["0", "1", "2"])
    names = [("cat",), ("dog",), ("owl",)]
    with self.assertRaisesRegex(errors.UserError, "not trained on 1 .*'owl'"):
      of(["cat", "dog", "bat"])

  def test_sets_whose_classes_are_listed_elsewhere(self):
    names = datasets.builder_class("kinetics400_p").class_names()
    self.assertEqual((len(names), names[0]), (400, ("abseiling",)))
    tiny = datasets.builder_class("tiny_imagenet_c")
    self.assertEqual(list(tiny.class_names()), [])


class RunTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    variables = models.get("digits_linear").init(jax.random.key(3))
    report.write_npz(variables, self.root / "weights.npz")

  def _plan(self, classes: str, **spec) -> plan_lib.Plan:
    (self.root / "classes.txt").write_text(classes)
    config = tiny_config.get_config().unlock()
    config.data.corruptions = "none"
    config.data.limit = 16
    config.models = ml_collections.ConfigDict()
    plain = {
      "name": "digits_linear",
      "checkpoint": str(self.root / "weights.npz"),
      "spec": spec,
    }
    config.models.plain = plain
    config.models.ours = {**plain, "classes": str(self.root / "classes.txt")}
    return plan_lib.make(config.lock())

  def test_a_run(self):
    # Outputs 0 and 1 change places; 2 and 3 are none.
    text = "1\n0\n-\n-\n4\n5\n6\n7\n8\n9\n"
    run = runner.Runner(self._plan(text), epath.Path(self.root / "run"))
    rows = run.run()
    cells = {c.model: c for c in Workdir(epath.Path(run.workdir.path)).cells()}
    top5 = {m: run.workdir.columns(c)["top5"] for m, c in cells.items()}
    known = np.array([1, 0, -1, -1, 4, 5, 6, 7, 8, 9])[top5["plain"]]
    first = [next(c for c in row if c >= 0) for row in known]
    self.assertEqual(top5["ours"][:, 0].tolist(), first)
    self.assertFalse(np.isin(top5["ours"], (2, 3)).any())
    for row in rows:
      lacks = "2 classes without an output" in row.note
      self.assertEqual(lacks, row.model == "ours", row)
    marks = {c.of_model for c in cells.values()}
    self.assertLen(marks, 2)

  def test_refused_before_the_run(self):
    with self.assertRaisesRegex(errors.UserError, "2 lines, .* 10 outputs"):
      self._plan("0\n1\n")

  def test_frames_have_label_maps(self):
    (self.root / "classes.txt").write_text("0\n")
    config = vid_robust.get_config("digits_linear").unlock()
    config.data.name = "digits_vid_robust"
    config.data.geometry = ""
    config.model.checkpoint = str(self.root / "weights.npz")
    with config.ignore_type():
      config.model.classes = str(self.root / "classes.txt")
    with self.assertRaisesRegex(
      errors.UserError, "set config.data.label_space"
    ):
      plan_lib.make(config.lock())

  def test_fields_of_the_spec(self):
    plan = self._plan("0\n" + "-\n" * 9, mean=(0.5, 0.5, 0.5), scale=0.25)
    for label in plan.models:
      self.assertEqual(plan.model(label).spec.mean, (0.5, 0.5, 0.5))
    with self.assertRaisesRegex(errors.UserError, "field of a Spec 'frames'"):
      self._plan("0\n" + "-\n" * 9, frames=3)
    self.assertEqual(plan.conditions, [Condition()])
    self.assertIn("1 of 10 outputs are classes", plan.notes("ours")[-1])
    self.assertEqual(plan.notes("plain"), [])
