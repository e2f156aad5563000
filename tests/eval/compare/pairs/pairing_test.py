"""Which models and conditions are compared, and what is refused."""

import numpy as np
from absl.testing import parameterized

from eval.compare.pairs import pairing
from robust_tfds import errors
from robust_tfds.conditions import Condition
from tests.eval.compare.pairs import sides_case


class ModelsTest(parameterized.TestCase):
  @parameterized.parameters(
    (["a", "b"], ["b", "a"], "", [("a", "a"), ("b", "b")]),
    (["a"], ["a", "c"], "", [("a", "a")]),
    (["a", "b"], ["b", "c"], "a,c", [("a", "c")]),
    (["a", "b"], ["a", "b"], "b,a", [("b", "a")]),
    (["a"], ["c"], " a , c", [("a", "c")]),
    (["a,x"], ["c"], "a,x,c", [("a,x", "c")]),
  )
  def test_pairs(self, first, second, named, want):
    self.assertEqual(pairing.models(first, second, named), want)

  @parameterized.parameters(
    ("", r"the first has net, vit, the second cnn\. .*--models=net,cnn"),
    ("net", r"expected A,B, a label of the first run \(net, vit\)"),
    ("nett,cnn", "model of the first run 'nett'.*Did you mean 'net'"),
    ("net,cn", "model of the second run 'cn'.*Did you mean 'cnn'"),
    ("a,b,c", "expected A,B"),
  )
  def test_refusals(self, named, message):
    with self.assertRaisesRegex(errors.UserError, message):
      pairing.models(["net", "vit"], ["cnn"], named)


class RunsTest(sides_case.TestCase):
  def test_common_conditions(self):
    one = self.side("one", chosen=lambda _, c: c.level != 2)
    other = self.side("other", chosen=lambda _, c: c.level != 5)
    common, notes = pairing.conditions(one, other)
    self.assertEqual(
      [c.config for c in common], ["clean", "fog_1", "fog_3", "fog_4"]
    )
    self.assertEqual(
      notes,
      [
        "In the first run alone, and not compared: fog_5.",
        "In the second run alone, and not compared: fog_2.",
      ],
    )

  def test_no_common_condition(self):
    one = self.side("one", chosen=lambda _, c: c.level == 2)
    other = self.side("other", chosen=lambda _, c: c.level == 3)
    with self.assertRaisesRegex(
      errors.UserError, "in common: the first has fog_2, the second fog_3"
    ):
      pairing.conditions(one, other)

  @parameterized.parameters(
    ({"codec": "jpeg85"}, "codec: raw .first., jpeg85 .second."),
    ({"geometry": "resize"}, "geometry: none .first., resize"),
    ({"px": [64, 64]}, "px: 32 x 32 .first., 64 x 64 .second."),
    ({"settings": {"views": 5}}, "views: unknown .first., 5"),
    ({"codec": None}, "codec: raw .first., unknown .second."),
    (
      {"codec": "h264", "pixels": 2},
      "codec: raw .*h264 .second.; pixels: 4 .first., 2 ",
    ),
  )
  def test_other_data(self, facts, message):
    one, other = self.side("one"), self.side("other", facts=facts)
    with self.assertRaisesRegex(errors.UserError, f"other data, .*{message}"):
      pairing.check_facts(one, other, [Condition()])

  def test_facts_that_nobody_noted(self):
    one, other = (self.side(n, noted=False) for n in ("one", "other"))
    (note,) = pairing.check_facts(one, other, list(one.cells))
    self.assertIn("Neither run records these facts", note)
    self.assertIn("version", note)
    self.assertEmpty(
      pairing.check_facts(*[self.side("noted")] * 2, [Condition()])
    )

  def test_content_and_seed_may_differ(self):
    one = self.side("one")
    other = self.side("other", seed=1, facts={"content": "1" * 64})
    self.assertEmpty(pairing.check_facts(one, other, list(one.cells)))

  def test_other_decoders_are_said(self):
    one = self.side("one")
    other = self.side("other", facts={"decoders": "read with PyAV 18"})
    (note,) = pairing.check_facts(one, other, list(one.cells))
    self.assertIn("none (first); read with PyAV 18 (second)", note)


def _columns(**changes):
  ids = np.array(["a", "b", "c"])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(3, np.int32),
    "label": np.array([0, 1, 2]),
    **changes,
  }


class ColumnsTest(parameterized.TestCase):
  def test_equal(self):
    pairing.check_columns(Condition(), _columns(), _columns(top5=1))
    frames = {"example_id": np.array(["a", "a", "b"]), "frame": np.arange(3)}
    pairing.check_columns(Condition(), _columns(**frames), _columns(**frames))

  @parameterized.parameters(
    (
      {"example_id": np.array(["a", "b", "d"])},
      "fog_3: the runs are of other examples: 2 are in one alone, e.g. c",
    ),
    (
      {"label": np.array([0, 5, 2])},
      "fog_3: 1 of 3 examples have another true class.* b: 1 in the first, 5",
    ),
    (
      {"group_id": np.array(["a", "a", "c"])},
      "another group in the two runs, e.g. b: b in the first, a in",
    ),
  )
  def test_refusals(self, change, message):
    with self.assertRaisesRegex(errors.UserError, message):
      pairing.check_columns(Condition("fog", 3), _columns(), _columns(**change))

  def test_several_labels(self):
    one = _columns(labels=np.array([[0, -1], [1, 2], [2, -1]]))
    other = _columns(labels=np.array([[0, -1], [1, 3], [2, -1]]))
    with self.assertRaisesRegex(errors.UserError, r"b: \[1, 2\] in .*\[1, 3\]"):
      pairing.check_columns(Condition(), one, other)
    with self.assertRaisesRegex(errors.UserError, "another true classes"):
      pairing.check_columns(
        Condition(), one, _columns(labels=np.zeros((3, 3), int))
      )

  def test_other_frames(self):
    frames = {"example_id": np.array(["a", "a", "b"]), "frame": np.arange(3)}
    other = frames | {"frame": np.array([0, 4, 2])}
    with self.assertRaisesRegex(errors.UserError, "2 are in one.* a frame 1"):
      pairing.check_columns(Condition(), _columns(**frames), _columns(**other))
