"""CCC: matrices, paths of equal accuracy, streams, what adapts to them."""

import itertools
import pathlib
from unittest import mock

import jax
import numpy as np
import pytest
from absl.testing import absltest, parameterized

import models
from eval import evaluate
from eval.run.ccc import calibration, evaluation, kept, stream
from eval.run.ccc import matrix as matrix_lib
from eval.run.ccc import models as models_lib
from robust_tfds import errors
from robust_tfds.datasets.signs import signs_dataset_builder as signs

_HARD = matrix_lib.DIFFICULTIES["hard"][1]


def _falling(names=_HARD, seed=0):
  """A made matrix: accuracies that fall with either severity."""
  rng = np.random.default_rng(seed)
  drops = rng.uniform(0.01, 0.08, (2, len(names), len(names), 21)).cumsum(-1)
  down, across = drops
  return np.clip(1 - down[..., :, None] - across[..., None, :], 0.0, 1.0)


def _file(folder, names=_HARD, accuracy=None):
  place = pathlib.Path(folder) / "matrix.npz"
  accuracy = _falling(names) if accuracy is None else accuracy
  np.savez(place, names=np.array(names), accuracy=accuracy)
  return place


class PathTest(parameterized.TestCase):
  @parameterized.parameters(0.0, 0.2, 0.4)
  def test_by_all_paths(self, target):
    """Of a small corner the rule, cell by cell, with paths written out."""
    accuracy = _falling(seed=3)[0, 1]

    def best(i, j):
      if i == 0:
        return [accuracy[0, j]], [(0, j)]
      ways = [best_of(i - 1, j)]
      if j < 20:
        ways.insert(0, best_of(i, j + 1))
      away = [abs(np.mean([accuracy[i, j], *w[0]]) - target) for w in ways]
      values, cells = ways[int(np.argmin(away))]
      return [accuracy[i, j], *values], [(i, j), *cells]

    kept = {}

    def best_of(i, j):
      if (i, j) not in kept:
        kept[i, j] = best(i, j)
      return kept[i, j]

    starts = [best_of(i, 0) for i in range(1, 21)]
    away = [abs(np.mean(values) - target) for values, _ in starts]
    expected = starts[int(np.argmin(away))][1]
    self.assertEqual(list(matrix_lib.path(accuracy, target)), expected)

  def test_steps(self):
    cells = matrix_lib.path(_falling()[0, 1], 0.4)
    self.assertEqual((cells[0][1], cells[-1][0]), (0, 0))
    for (i, j), (k, m) in itertools.pairwise(cells):
      self.assertIn((k - i, m - j), ((-1, 0), (0, 1)))


class MatrixTest(parameterized.TestCase):
  def _read(self, difficulty="hard", **arrays):
    return matrix_lib.read(
      _file(self.create_tempdir().full_path, **arrays), difficulty
    )

  def test_read(self):
    matrix = self._read()
    np.testing.assert_array_equal(
      matrix.of_pair("shot_noise", "contrast"), _falling()[1, 3]
    )

  def test_severities_of_elastic_transform_are_uneven(self):
    """Its pixels move by less from severity 3 on, so a measured matrix rises."""
    names = matrix_lib.DIFFICULTIES["medium"][1]
    for name, refused in (("elastic_transform", False), ("fog", True)):
      accuracy = _falling(names) / 2
      accuracy[:, names.index(name), :, 12:] += 0.4
      accuracy[:, names.index(name), :, 20:] = 0
      file = {"names": names, "accuracy": accuracy, "difficulty": "medium"}
      if refused:
        with self.assertRaisesRegex(
          errors.UserError, "severity 2.75 and 3 of fog"
        ):
          self._read(**file)
      else:
        self._read(**file)

  @parameterized.parameters(
    ({"names": _HARD[:3], "accuracy": _falling()[:3, :3]}, "once, got"),
    ({"difficulty": "medium"}, "defocus_blur.*once, got gaussian_noise"),
    ({"difficulty": "mild"}, "Unknown difficulty 'mild'"),
    ({"accuracy": _falling()[..., :5]}, r"must be \[4, 4, 21, 21\], real"),
    ({"accuracy": _falling()[..., ::-1]}, "the accuracy rises from"),
    ({"accuracy": 100 * _falling()}, "fractions from 0 to 1, got"),
    ({"accuracy": np.nan * _falling()}, "not measured, got nan"),
    ({"accuracy": _falling().astype(str)}, "real numbers, got .* <U32"),
    ({"names": (*_HARD[:3], "fogg")}, "Unknown corruption 'fogg'"),
  )
  def test_refused(self, arrays, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._read(**arrays)


class StreamTest(absltest.TestCase):
  def _parts(self, speed=5, limit=12, seed=43):
    matrix = matrix_lib.Matrix(_HARD, _falling())
    return list(
      stream.parts(
        signs.sources("test")[:24],
        stream.nodes(matrix, "hard", seed),
        dataset="signs_ccc",
        side_px=64,
        speed=speed,
        seed=seed,
        limit=limit,
      )
    )

  def test_nodes(self):
    matrix = matrix_lib.Matrix(_HARD, _falling())
    nodes = list(itertools.islice(stream.nodes(matrix, "hard", 43), 200))
    pairs = [
      k for k, _ in itertools.groupby((n.first, n.second) for n in nodes)
    ]
    for (_, before), (after, other) in itertools.pairwise(pairs):
      self.assertEqual(before, after)
      self.assertNotEqual(after, other)
    self.assertEqual(nodes[0].second_severity, 0)

  def test_pictures(self):
    first, again = self._parts(), self._parts()
    self.assertEqual([len(p.labels) for p in first], [5, 5, 2])
    for a, b in zip(first, again, strict=True):
      np.testing.assert_array_equal(a.images, b.images)
    longer = self._parts(limit=15)
    np.testing.assert_array_equal(longer[1].images, first[1].images)
    self.assertTrue((self._parts(seed=44)[0].images != first[0].images).any())


class ResultTest(absltest.TestCase):
  def test_collapse(self):
    source = np.full(20, 0.5)
    tent = np.array([0.6] * 8 + [0.1] * 12)
    result = evaluation.Result(
      {"my net": source, "my net tent": tent, "my net bn": source + 0.1},
      np.full(20, 64),
      ["clean"] * 20,
      "a stream",
    )
    self.assertAlmostEqual(result.summary["my net tent/accuracy"], 0.3)
    self.assertEqual(
      result.collapses,
      {
        "my net tent": "below source from picture 512 on",
        "my net bn": "not below source at the end",
      },
    )
    folder = pathlib.Path(self.create_tempdir().full_path)
    result.report(folder)
    rows = (folder / "stream.csv").read_text().splitlines()
    self.assertEqual(rows[1], "0,64,clean,0.5,0.6,0.6")
    self.assertTrue((folder / "stream.png").exists())


class DoorTest(parameterized.TestCase):
  """What `evaluate` refuses of streams."""

  @parameterized.parameters(
    ("signs_ccc", {}, "needs matrix=FILE.npz"),
    ("signs_ccc", {"matrix": "", "difficulty": "mild"}, "difficulty 'mild'"),
    ("signs_ccc", {"matrix": "", "speed": 1000}, "speed must be .* 1 to 240"),
    ("signs_ccc", {"matrix": "", "limit": -1}, "limit must be .* got -1"),
    ("signs_ccc", {"matrix": "", "stream_seed": "a"}, "seed is .* got 'a'"),
    ("signs_ccc", {"matrix": "", "difficulty": ["hard"]}, "mean 'hard'"),
    ("signs_ccc", {"matrix": 5}, "got int, expected the path"),
    ("signs_ccc", {"batch_size": 16, "seed": 1}, "Got batch_size, seed: no"),
    ("signs_ccc", {"adapt": {"setting": "episodic"}}, "Got adapt's setting"),
    ("signs_ccc", {"matrix": "/nowhere.npz"}, "nowhere.npz"),
    ("digits_c", {"speed": 5}, "only for the streams imagenet_ccc, signs_ccc"),
  )
  def test_refused(self, dataset, options, message):
    if options.get("matrix") == "":
      file = _file(self.create_tempdir().full_path)
      options = {"difficulty": "hard", **options, "matrix": file}
    with self.assertRaisesRegex(errors.UserError, message):
      evaluate(lambda images: np.zeros((len(images), 12)), dataset, **options)

  def test_step_between_quarters(self):
    with self.assertRaisesRegex(errors.UserError, "--step=0.3: expected 0.25,"):
      calibration.measure(None, None, _HARD, apart=1.2, out="m.npz", facts="")


class ResumeTest(absltest.TestCase):
  @pytest.mark.slow
  def test_stopped_in_the_middle(self):
    """The table of a stream that was stopped after any batch is the whole one's."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    model = models.get("signs_bn")
    options = {
      "variables": model.init(jax.random.key(0)),
      "matrix": _file(folder),
      "difficulty": "hard",
      "speed": 50,
      "limit": 200,
      "adapt": "tent",
    }

    def run(name, **changed):
      out = folder / name
      evaluate(model, "signs_ccc", workdir=out, **{**options, **changed})
      return (out / "stream.csv").read_bytes()

    whole = run("whole")
    right, shown = models_lib.Network.right, []

    def stopped(network, *args):
      shown.append(args)
      if len(shown) == 6:  # of the third batch the second network
        raise KeyboardInterrupt
      return right(network, *args)

    with (
      mock.patch.object(kept, "_SECONDS", 0),
      mock.patch.object(models_lib.Network, "right", stopped),
    ):
      with self.assertRaises(KeyboardInterrupt):
        run("stopped")
      self.assertEqual(run("stopped"), whole)
      self.assertLen(shown, 6 + 2 * 2)
      self.assertEqual(run("stopped"), whole)  # nothing is shown again
      self.assertLen(shown, 6 + 2 * 2)
    for changed in ({"speed": 49}, {"limit": 150}, {"adapt": "bn"}):
      with self.assertRaisesRegex(errors.UserError, "it holds another stream"):
        run("stopped", **changed)


class SignsTest(absltest.TestCase):
  @pytest.mark.slow
  def test_measured_and_streamed(self):
    """A network's own matrix, then a stream with and without adapting."""
    model = models.get("signs_bn")
    variables = model.init(jax.random.key(0))
    out = pathlib.Path(self.create_tempdir().full_path) / "signs.npz"
    options = {"difficulty": "hard", "count": 6, "apart": 4, "out": out}
    matrix = calibration.run(model, "signs_ccc", variables=variables, **options)
    self.assertFalse(np.isnan(matrix.of_pair(*_HARD[:2])).any())
    with self.assertRaisesRegex(errors.UserError, "measured of"):
      calibration.run(
        model, "signs_ccc", variables=variables, **{**options, "count": 7}
      )
    results = [
      evaluate(
        model,
        "signs_ccc",
        variables=variables,
        matrix=_file(out.parent),
        difficulty="hard",
        speed=24,
        limit=limit,
        adapt={"method": "tent", "beside": "bn"},
      )
      for limit in (100, 150)
    ]
    short, long = (r.accuracy["signs_bn tent"] for r in results)
    self.assertEqual(
      list(results[1].accuracy), ["signs_bn", "signs_bn tent", "signs_bn bn"]
    )
    self.assertEqual(results[1].sizes.tolist(), [64, 64, 22])
    self.assertEqual(short[0], long[0])  # a longer stream begins alike
