"""What a task has that overrides nothing, and how cells become a table."""

import types

import numpy as np
from absl.testing import absltest

from eval.cells import facts
from eval.cells.cell import Cell, Summary
from eval.metrics import resampling
from eval.pipeline import blocks, inputs, predict, show
from eval.tasks import base
from robust_tfds import conditions, errors, hosts

_CLEAN = conditions.Condition()
_FOG = conditions.Condition("fog", 1)


class _Mean(base.Task):
  """The mean of a column."""

  facts = facts.TaskFacts("mean", "corruption", ())

  def conditions(self):
    return [_CLEAN]

  def reducer(self, condition):
    return dict

  def columns(self, batch, outputs, condition):
    return {}

  def cell_rows(self, cell, columns, truth=None):
    return [cell.row("mean", columns["x"].mean() + (truth or {}).get("add", 0))]

  def inputs(self, columns):
    return columns["x"].max()

  def summary_rows(self, models):
    summary = Summary.of(models[0].every_row)
    return [summary.row("", "largest", models[0].inputs[_FOG])]


class _Pairs(_Mean):
  has_pairs = True

  def pairs(self, columns):
    return np.stack([columns["x"]] * 2, axis=1)


def _cells():
  for condition, x in ((_CLEAN, [1, 3]), (_FOG, [4, 8])):
    yield Cell("m", "d", condition), {"x": np.array(x)}


class TaskTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.task = _Mean(base.Setting("d"))

  def test_a_task_without_its_own_protocol_cannot_be_made(self):
    with self.assertRaises(TypeError):
      base.Task(base.Setting("d"))

  def test_defaults(self):
    task = self.task
    self.assertIs(task.transform(None), predict.unchanged)
    source = types.SimpleNamespace(shape=(2, 3, 3), host=hosts.Host())
    reader = task.reader(source, [_FOG], {})
    self.assertIsInstance(reader, blocks.PictureReader)
    self.assertIsInstance(task.show(None, {}), show.PictureShow)
    self.assertEqual(task.images_per_example(_FOG), 1)
    self.assertEqual(task.model_classes(10), (10,))
    self.assertEqual(task.label_feature({"label": "l"}), "l")
    self.assertIsNone(task.truth(None))
    ids = np.array(["a", "b"])
    self.assertIs(task.group_ids({"group_id": ids}), ids)
    self.assertEqual(task.totals({}), {})
    self.assertEqual(task.replicates({}, resampling.Draws.from_groups(ids)), {})
    self.assertEqual(task.headlines({}, {}), [])
    self.assertEqual(task.over_cells({}), {})
    self.assertEqual(task.common, conditions.PICTURES.names("common"))
    self.assertEqual(dict(task.published_networks()), {})
    self.assertEqual(task.gallery([], {}, []), {})
    self.assertIsNone(task.sample(np.zeros(1), _FOG, "a"))
    for method in (
      lambda: task.pairs({}),
      lambda: task.overlays("a", {}, {}, 0),
    ):
      with self.assertRaisesRegex(NotImplementedError, "mean has no"):
        method()

  def test_facts_of_examples_are_those_of_valid_rows(self):
    batch = inputs.Batch(
      image=np.zeros((3, 1)),
      size=np.zeros((3, 2)),
      mask=np.array([True, True, False]),
      example_id=["a", "long", ""],
      group_id=["g", "g", ""],
      frame=np.array([0, 2, 0], np.int32),
      label=np.array([5, 6, -1], np.int32),
    )
    columns = self.task.example_columns(batch)
    self.assertEqual(
      {name: values.tolist() for name, values in columns.items()},
      {
        "example_id": ["a", "long"],
        "group_id": ["g", "g"],
        "frame": [0, 2],
        "label": [5, 6],
      },
    )

  def test_no_baseline(self):
    self.task.check_baseline(["a"])
    task = _Mean(base.Setting("d", baseline="alexnet"))
    with self.assertRaisesRegex(errors.UserError, "mean has no baseline"):
      task.check_baseline(["a"])

  def test_settings_of_other_data_are_one(self):
    self.assertEqual(base.Setting("d", data={"a": 1}), base.Setting("d"))


class ScorerTest(absltest.TestCase):
  def test_cells_in_any_order_make_the_same_table(self):
    task, cells = _Pairs(base.Setting("d")), list(_cells())
    scorer = base.Scorer(task, {"add": 1})
    rows = [scorer.add(cell, columns) for cell, columns in cells[::-1]]
    self.assertEqual([r.value for (r,) in rows], [7.0, 3.0])
    listed = [cell for cell, _ in cells]
    self.assertEqual(
      scorer.scored(listed).rows, task.score(cells, {"add": 1}).rows
    )
    # A table of some.
    (row, *_) = scorer.scored(listed[1:]).rows
    self.assertEqual(row.config, "fog_1")


class ScoreTest(absltest.TestCase):
  def test_cells_then_summaries_each_read_once(self):
    scored = _Pairs(base.Setting("d")).score(_cells(), {"add": 1})
    self.assertEqual(
      [(r.config, r.metric, r.value) for r in scored.rows],
      [("clean", "mean", 3.0), ("fog_1", "mean", 7.0), ("", "largest", 8.0)],
    )
    self.assertEqual([c.name for c in scored.cells], ["", "fog"])
    pairs = scored.pairs[scored.cells[1]]
    self.assertEqual(pairs.tolist(), [[4, 4], [8, 8]])

  def test_no_pairs_unless_the_task_has_some(self):
    self.assertEqual(_Mean(base.Setting("d")).score(_cells()).pairs, {})

  def test_nothing(self):
    scored = _Mean(base.Setting("d")).score([])
    self.assertEqual((scored.rows, scored.cells), ([], []))
