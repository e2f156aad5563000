"""The task of segmentation: what is kept, headlines, protocols, pictures."""

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from etils import epath

from eval import readers, tasks
from eval.cells.cell import Cell
from eval.cells.files import packed
from eval.compare import runs, scores
from eval.compare.boards import build
from eval.compare.pairs import compare
from eval.metrics import segmentation as metrics
from eval.pipeline import inputs, relabel
from eval.readers import base as readers_base
from eval.report.reports.segmentation import gallery
from eval.tasks import base, segmentation
from eval.tasks.parts import class_maps, protocols
from robust_tfds import conditions, corruptions, devices, errors
from robust_tfds.conditions import Condition
from tests import in_folder, tiny_files
from tests.eval.compare import task_runs

_CLASSES = 5


def _maps(seed, shape=(3, 20, 30)):
  rng = np.random.default_rng(seed)
  truth = rng.integers(0, _CLASSES, shape).astype(np.uint8)
  truth[rng.random(shape) < 0.1] = 255
  answer = np.where(rng.random(shape) < 0.6, truth, rng.integers(0, 5, shape))
  return truth, np.where(answer == 255, 0, answer)


def _columns(seed, pictures=12):
  truth, answers = _maps(seed, (pictures, 9, 11))
  matrices = [metrics.confusion(t, a, 5) for t, a in zip(truth, answers)]
  ids = np.array([f"{i:02d}" for i in range(pictures)])
  areas = metrics.areas(np.stack(matrices))
  frame = np.zeros(pictures, np.int32)
  return {"areas": areas, "example_id": ids, "group_id": ids, "frame": frame}


def _reduced(truth, answers):
  """Return what a step gives of answers to masks."""
  return segmentation.reduce(
    {"classes": jnp.asarray(answers)}, jnp.asarray(truth), classes=_CLASSES
  )


def _batch(truth, sizes=((20, 30),) * 3):
  """Return a batch of the pictures a, b and c with their masks."""
  return inputs.Batch(
    np.zeros((3, 20, 30, 3), np.uint8),
    np.array(sizes),
    np.ones(3, bool),
    ["a", "b", "c"],
    ["a", "b", "c"],
    np.zeros(3, np.int32),
    truth,
    [{"place": i} for i in range(3)],
    True,
  )


def _task(protocol="", **data):
  data = {"corruptions": "common", "severities": (1, 2, 3, 4, 5), **data}
  if protocol:
    data["protocol"] = protocol
  setting = base.Setting(
    "mine",
    "any",
    "raw",
    baseline="model:b",
    data=ml_collections.ConfigDict(data),
  )
  return tasks.get("segmentation")(setting)


class ReduceTest(parameterized.TestCase):
  def test_counts_are_those_of_the_confusion(self):
    truth, answers = _maps(0)
    out = _reduced(truth, answers)
    matrices = [metrics.confusion(t, a, 5) for t, a in zip(truth, answers)]
    want = metrics.areas(np.stack(matrices))
    np.testing.assert_array_equal(out["areas"], want)
    np.testing.assert_array_equal(out["outside"], [-1, -1, -1])

  def test_an_output_that_is_no_class_is_wrong_and_no_class(self):
    truth, answers = _maps(0)
    of_outputs = relabel.Relabelling((2, relabel.NONE, 0, 1, 4, 3), _CLASSES)
    known = of_outputs({"classes": jnp.asarray(answers + 1)})
    out = segmentation.reduce(known, jnp.asarray(truth), classes=_CLASSES)
    mapped = np.array([2, -1, 0, 1, 4, 3])[answers + 1]
    counted = truth != 255
    for number in range(_CLASSES):
      said = (mapped == number) & counted
      union = (said | (truth == number)).sum((1, 2))
      np.testing.assert_array_equal(out["areas"][:, number, 1], union)
    np.testing.assert_array_equal(out["outside"], [-1, -1, -1])

  @parameterized.parameters(5, 300, -2)
  def test_an_id_that_is_no_class(self, wrong):
    truth, answers = _maps(0)
    truth[1, 3, 4] = 0
    answers[1, 3, 4] = wrong
    out = _reduced(truth, answers)
    fetched = {k: np.asarray(v) for k, v in out.items()}
    with self.assertRaisesRegex(
      errors.UserError, f"'b' was answered with the class id {wrong}, expected"
    ):
      _task().columns(_batch(truth), fetched, Condition())

  def test_class_maps_of_the_first_pictures_are_kept(self):
    truth, answers = _maps(0)
    out = _reduced(truth, answers)
    fetched = {k: np.asarray(v) for k, v in out.items()}
    batch = _batch(truth, [[20, 30], [17, 30], [20, 30]])
    for task, kept in ((_task(), 2), (_task(keep_masks=True), 3)):
      columns = task.columns(batch, fetched, Condition())
      columns["example_id"] = np.array(["a", "b", "c"])
      stored = packed.loads(packed.dumps(columns), "a cell")
      np.testing.assert_array_equal(stored["areas"], out["areas"])
      found = [task.class_map(name, stored) for name in "abc"]
      self.assertEqual(sum(f is not None for f in found), kept)
      np.testing.assert_array_equal(found[1], answers[1, :17])


class HeadlinesTest(parameterized.TestCase):
  def _rows(self, protocol="", **data):
    task = _task(protocol, **data)
    cells = []
    for model in "ab":
      for i, condition in enumerate(task.conditions()):
        cell = Cell(model, "mine", condition, fingerprint=f"{model}{i}")
        cells.append((cell, _columns(7 * i + (model == "b"))))
    scored = task.score(cells)
    miou = {
      (r.model, r.corruption, r.severity): r
      for r in scored.rows
      if r.metric == "miou"
    }
    return task, scored.rows, miou

  @parameterized.parameters("", *(n for n in protocols.names() if n))
  def test_they_are_the_metrics_degradation(self, protocol):
    task, rows, miou = self._rows(protocol)
    tables = {
      model: {
        name: [miou[model, c.name, c.level].value for c in listed]
        for name in dict.fromkeys(c.name for c in task.conditions() if c.name)
        for listed in [[c for c in task.conditions() if c.name == name]]
      }
      for model in "ab"
    }
    want = metrics.degradation(
      tables["a"],
      miou["a", "", 0].value,
      tables["b"],
      miou["b", "", 0].value,
    )
    found = {(r.metric, r.corruption): r.value for r in rows if r.model == "a"}
    for name in ("mcd", "mrcd", "mean_miou", "retention", "gam"):
      self.assertAlmostEqual(found[name, ""], getattr(want, name), msg=name)
    for name, cd in want.cd.items():
      self.assertAlmostEqual(found["cd", name], cd)
      self.assertAlmostEqual(found["rcd", name], want.rcd[name])

  def test_intervals_are_of_draws_of_pictures(self):
    _, rows, miou = self._rows(corruptions="fog", severities=(3,))
    row = miou["a", "fog", 3]
    self.assertLess(row.lo, row.value)
    self.assertLess(row.value, row.hi)
    self.assertEqual(row.n, 12)
    classes = [r for r in rows if r.metric == "clean_iou/class=4"]
    self.assertLen(classes, 2)
    self.assertLess(classes[0].lo, classes[0].hi)

  def test_a_class_that_is_nowhere_is_left_out(self):
    columns = _columns(0)
    columns["areas"][:, 2] = 0
    cell = Cell("a", "mine", Condition())
    measured = _task().measure(cell, columns)
    want = metrics.from_areas(columns["areas"].sum(0)).miou
    self.assertAlmostEqual(measured.rows[0].value, want)
    self.assertIn("1 of 5 classes in neither", measured.rows[0].note)
    self.assertNotIn("iou/class=2", measured.numbers)


class SideBySideTest(in_folder.TestCase):
  """Boards and comparisons of two runs."""

  def _run(self, name, strength, **options):
    place = self.root / name
    return task_runs.segmentation(place, strength, label=name, **options)

  def _boards(self, *folders):
    return build.boards(scores.score_runs(runs.read([str(f) for f in folders])))

  def test_a_board_ranks_one_protocol(self):
    one, other = self._run("one", 0.9), self._run("other", 0.8)
    theirs = self._run("theirs", 0.7, protocol="fan_19", corruptions="all")
    boards = self._boards(one, other, theirs)
    self.assertLen(boards, 2)
    first = max(boards, key=lambda board: len(board.entries))
    ranked = [e.label for e in first.entries if e.rank]
    self.assertEqual(ranked, ["one", "other"])  # printed rows stand beside
    self.assertEqual(first.ranked_by, "mean_miou")

  def test_a_comparison_of_the_same_pictures(self):
    both = self._run("one", 0.9), self._run("other", 0.7)
    first, second = runs.read_pair(*map(str, both))
    (compared,) = compare.runs(first, second, "one,other")
    lines = {(ln.metric, ln.corruption, ln.level): ln for ln in compared.lines}
    for key in (("mean_miou", "", None), ("miou", "", 0), ("miou", "fog", 3)):
      difference = lines[key].difference
      self.assertAlmostEqual(
        difference.value, lines[key].first - lines[key].second
      )
      self.assertGreater(difference.lo, 0, key)

  def test_a_stored_run_is_the_baseline(self):
    """`score --predictions=ONE --predictions=STORED --baseline=model:stored`."""
    folders = self._run("one", 0.9), self._run("stored", 0.8)
    known = readers_base.Options(baseline="model:stored")
    reader = readers.choose(folders, readers.AUTO, known)
    rows = reader.read([epath.Path(f) for f in folders], known).rows()
    miou = {
      (r.model, r.corruption, r.severity): r.value
      for r in rows
      if r.metric == "miou"
    }
    names = {name for _, name, _ in miou if name}
    ours, theirs = (
      {n: [miou[model, n, s] for s in range(1, 6)] for n in names}
      for model in ("one", "stored")
    )
    clean = [miou[model, "", 0] for model in ("one", "stored")]
    want = metrics.degradation(ours, clean[0], theirs, clean[1])
    got = {r.metric: r.value for r in rows if r.model == "one"}
    self.assertLess(want.mcd, 1)
    self.assertAlmostEqual(got["mcd"], want.mcd)
    self.assertAlmostEqual(got["mrcd"], want.mrcd)


class ProtocolTest(absltest.TestCase):
  def test_cells(self):
    counts = {n: len(protocols.get(n).cells) for n in protocols.names()}
    expected = {"": 75, "kamann_rother_16": 4 * 3 + 12 * 5, "fan_19": 57}
    self.assertEqual(counts, {**expected, "semsegbench_15": 15})

  def test_two_protocols_have_other_facts(self):
    facts = [_task(name).config_facts() for name in protocols.names()]
    for i, one in enumerate(facts):
      self.assertNotIn(one, facts[:i])

  def test_pictures_that_the_protocol_resizes_first_are_noted(self):
    for dataset, words in (
      (
        "ade20k_c",
        "semsegbench_15 corrupts resized pictures of ade20k_c, here",
      ),
      ("cityscapes_seg_c", ""),
    ):
      data = ml_collections.ConfigDict({"protocol": "semsegbench_15"})
      setting = base.Setting(dataset, "any", "raw", data=data)
      note = tasks.get("segmentation")(setting).note
      self.assertStartsWith(note, words)
      self.assertEqual(bool(note), bool(words))

  @pytest.mark.slow
  def test_swapped_channels(self):
    image, condition = tiny_files.noise(32, 32), Condition("saturate", 3)
    mesh = devices.mesh(jax.local_devices()[:1])
    show = _task("fan_19").show(mesh, {})
    ones = np.ones(1, np.int32)
    batch = inputs.Batch(
      image[None],
      np.array([[32, 32]], np.int32),
      ones > 0,
      ["a"],
      ["a"],
      ones,
      np.zeros((1, 32, 32), np.uint8),
      any_size=True,
    )
    seen, _ = show.see(show.put(batch), condition, None)
    (key,) = condition.keys(0, "mine", ["a"])
    want = corruptions.corrupt(
      image[..., ::-1], "saturate", 3, edition="any", key=jnp.asarray(key)
    )
    np.testing.assert_array_equal(seen[0], np.asarray(want)[..., ::-1])

  def test_a_part_of_a_protocol(self):
    task = _task("kamann_rother_16", corruptions="noise", severities=(3, 4))
    chosen = [c.config for c in task.conditions()]
    noises = ("gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise")
    known = set(conditions.PICTURES.resolve("noise")) & {*noises}
    self.assertCountEqual(chosen, ["clean", *(f"{n}_3" for n in known)])
    for names, lines in (
      ("fog,elastic_transform", ["kamann_rother_16: elastic_transform"]),
      ("noise", []),
      ("all", []),
    ):
      task = _task("kamann_rother_16", corruptions=names, severities=(1,))
      left_out = [f"left out, not of {line}" for line in lines]
      self.assertEqual(task.pixel_words[1:], left_out)


class GalleryTest(absltest.TestCase):
  def test_errors_are_where_the_answer_is_wrong(self):
    image = np.full((2, 2, 3), 90, np.uint8)
    mask = np.array([[0, 1], [255, 1]], np.uint8)
    answer = np.array([[0, 0], [0, 1]], np.uint8)
    shown = gallery.errors(image, mask, answer)
    self.assertEqual(shown[0, 0].tolist(), [30, 30, 30])
    self.assertNotEqual(shown[0, 1].tolist(), [30, 30, 30])
    self.assertEqual(shown[1, 0].tolist(), [128, 128, 128])
    self.assertLen({tuple(c) for c in gallery.colours(40)[:40].tolist()}, 40)

  def test_texts_of_class_maps(self):
    ids = np.random.default_rng(0).integers(0, 255, (7, 5)).astype(np.uint8)
    np.testing.assert_array_equal(
      class_maps.from_text(class_maps.text(ids)), ids
    )
