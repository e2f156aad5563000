"""The C-bar corruptions against the authors' pixels, given their draws.

`ROBUST_TFDS_GOLDEN_C_BAR` names another folder of the same layout. Its README says
how the expected values were made, and which differences float32 makes.
"""

import gzip
import io
import json
import pathlib
import unittest
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized
from PIL import Image

from eval import evaluate, papers
from eval.metrics import corruption_error
from eval.tasks.headlines import error_headlines
from eval.tasks.headlines.headlines import value_alone
from robust_tfds import build, conditions, corruptions, datasets, errors
from robust_tfds.building.sources import published_arrays
from robust_tfds.datasets.imagenet_c import (
  imagenet_c_dataset_builder as imagenet_c,
)
from tests import shared_data, tiny_files

FOLDER = shared_data.folder_of_goldens("c_bar")
_SETS = {"imagenet224": ("imagenet", 224), "cifar32": ("cifar10", 32)}
_PLANES = {"blue_noise_sample": 1, "brownish_noise": 3}
_LEVELS = conditions.SEVERITIES
_SHARE = 0.999  # of the values differ by at most 1
_MEAN = 0.02  # levels; rounding in place of truncation would be .5


def _manifest():
  place = FOLDER / "manifest.json"
  if not place.exists():
    raise unittest.SkipTest(f"no golden values in {FOLDER}")
  return json.loads(place.read_text())


def _draws(case, stored, side):
  """Return the authors' draws of a case, by their names."""
  draws = {
    **case["params"],
    **{k: v for k, v in stored.items() if k.startswith("draw_")},
  }
  planes = _PLANES.get(case["corruption"])
  if planes and "draw_phases" not in draws:
    state = np.random.RandomState(draws["seed"])
    shape = side, side // 2
    draws["draw_phases"] = np.stack(
      [state.uniform(0, 2 * np.pi, shape) for _ in range(planes)]
    )
  return draws


def _load(case):
  with np.load(FOLDER / case["file"]) as file:
    return {name: file[name] for name in file.files}


def _corrupted(case, edition, side):
  """Return the picture under the authors' draws, and what was stored."""
  picture = FOLDER / "inputs" / f"{case['picture']}_{side}.png"
  image, stored = np.array(Image.open(picture).convert("RGB")), _load(case)
  got = corruptions.corrupt(
    image,
    case["corruption"],
    case["severity"],
    edition=edition,
    draws=_draws(case, stored, side),
  )
  return np.asarray(got).astype(int), stored


class GoldenTest(parameterized.TestCase):
  """Every case of the folder."""

  @parameterized.parameters(*_SETS)
  def test_every_case(self, name):
    edition, side = _SETS[name]
    for case in _manifest()[name]:
      with self.subTest(case["file"]):
        got, stored = _corrupted(case, edition, side)
        if "output" in stored:
          parts = [(got, stored["output"])]
        else:
          parts = [
            (got[:56, :56], stored["crop_top_left_56"]),
            (got[-56:, -56:], stored["crop_bottom_right_56"]),
          ]
          blocks = got.reshape(14, 16, 14, 16, 3).mean((1, 3))
          away = np.abs(blocks - stored["block_mean16"]).mean()
          self.assertLess(away, _MEAN)
        d = np.concatenate([(a - b.astype(int)).ravel() for a, b in parts])
        self.assertGreaterEqual(np.mean(np.abs(d) <= 1), _SHARE)
        self.assertLess(abs(d.mean()), _MEAN)


class StatisticsTest(parameterized.TestCase):
  """With our own draws: within 4 standard errors of the authors' statistics."""

  _DRAWS = 8

  @parameterized.parameters(*_SETS)
  @pytest.mark.slow
  def test_every_corruption(self, name):
    edition, side = _SETS[name]
    _manifest()
    stats = json.loads((FOLDER / "stats.json").read_text())
    pictures = _pictures(stats["pictures"], side)
    for corruption, by_severity in stats["port"][name].items():
      for severity, expected in by_severity.items():
        with self.subTest(f"{corruption} {severity}"):
          own = _own_statistics(
            pictures, corruption, int(severity), edition, self._DRAWS
          )
          for key, want in expected.items():
            if key != "n":
              self._check(key, own[key], want, expected["n"], len(pictures))

  def _check(self, key, own, want, counts, pictures):
    mean, spread = want
    draws = 1 / (pictures * self._DRAWS) + 1 / (counts[0] * counts[1])
    bound = 4 * (spread or 0) * draws**0.5 + 0.005 * abs(mean)
    self.assertLessEqual(abs(own - mean), bound + 1e-3, key)


def _pictures(names, side):
  """Return photographs as the goldens' inputs were made: uint8 `[N, S, S, 3]`."""
  folder = shared_data.path("data", "imagenet_samples")
  out = []
  for name in names:
    picture = Image.open(folder / name).convert("RGB")
    scale = 256 / min(picture.size)
    size = [
      256 if n == min(picture.size) else int(n * scale) for n in picture.size
    ]
    picture = picture.resize(size, Image.Resampling.BILINEAR)
    left, top = ((n - 224) // 2 for n in picture.size)
    picture = picture.crop((left, top, left + 224, top + 224))
    if side == 32:
      picture = picture.resize((32, 32), Image.Resampling.BOX)
    out.append(np.array(picture))
  return np.stack(out)


def _own_statistics(pictures, name, severity, edition, draws):
  """Return the goldens' statistics of pictures under our own draws."""
  images = np.tile(pictures, (draws, 1, 1, 1))
  ids = [str(i) for i in range(len(images))]
  keys = conditions.raw_keys(0, "statistics", name, severity, ids)
  after = np.asarray(
    corruptions.corrupt_batch(
      images, name, severity, edition=edition, keys=keys
    )
  )
  o, a = after.astype(np.float64), images.astype(np.float64)
  out = {}
  for channel, letter in enumerate("rgb"):
    out[f"mean_{letter}"] = o[..., channel].mean()
    out[f"std_{letter}"] = o[..., channel].std((1, 2)).mean()
  away = o - a
  return {
    **out,
    "mad": np.abs(away).mean(),
    "rmse": np.sqrt((away**2).mean((1, 2, 3))).mean(),
    "changed": (away != 0).mean(),
    "zeros": (after == 0).mean(),
    "full": (after == 255).mean(),
  }


class DrawsTest(parameterized.TestCase):
  """Given draws are checked by name, shape and severity."""

  _FREQUENCY = {"freq": [0.5, 0.1], "phase": 0.2, "intensity": 39.2}

  def _corrupt(self, **changes):
    draws = {**self._FREQUENCY, **changes}
    draws = {k: v for k, v in draws.items() if v is not None}
    image = np.full((224, 224, 3), 128, np.uint8)
    return corruptions.corrupt(
      image, "single_frequency_greyscale", 3, draws=draws
    )

  def test_accepted(self):
    self.assertEqual(np.asarray(self._corrupt()).shape, (224, 224, 3))
    self._corrupt(intensity=None)  # the severity has it

  @parameterized.parameters(
    ({"freq": None}, "need 'freq', got phase, intensity"),
    ({"freq": [1.0, 2.0, 3.0]}, r"'freq' must be numbers of shape \[2\]"),
    ({"phase": "x"}, "'phase' must be numbers"),
    ({"intensity": 19.6}, r"'intensity' is 19.6, but severity 3 has 39.2"),
  )
  def test_refused(self, changes, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._corrupt(**changes)

  def test_of_corruptions_without(self):
    image = np.zeros((224, 224, 3), np.uint8)
    with self.assertRaisesRegex(errors.UserError, "fog takes no draws"):
      corruptions.corrupt(image, "fog", 3, draws={})
    with self.assertRaisesRegex(errors.UserError, "draws and another"):
      corruptions.corrupt(image, "fog", 3, draws={}, seed=0)


class NamesTest(absltest.TestCase):
  def test_both_sets(self):
    sets = [corruptions.names(s) for s in ("c_bar", "c_bar_cifar")]
    self.assertEqual([len(s) for s in sets], [10, 10])
    self.assertLen(set(sets[0]) & set(sets[1]), 5)
    self.assertLen(corruptions.names("all"), 19)
    self.assertEqual(sets[0][:2], ("blue_noise_sample", "plasma_noise"))


class SetsTest(parameterized.TestCase):
  """The two data sets: their own conditions, and the authors' files."""

  def test_configs(self):
    for name, members in (
      ("imagenet_c_bar", "c_bar"),
      ("cifar10_c_bar", "c_bar_cifar"),
    ):
      builder = datasets.builder_class(name)
      expected = [
        f"{n}_{s}" for n in corruptions.names(members) for s in _LEVELS
      ]
      self.assertEqual(builder.condition_names(), ["clean", *expected])
      self.assertEqual(build.configs(name, members), expected)
    for name in ("imagenet_c", "cifar10_c", "digits_c"):
      self.assertLen(datasets.builder_class(name).condition_names(), 96)

  @parameterized.parameters(
    ("imagenet_c_bar", "fog_3", "Unknown corruption 'fog'"),
    ("imagenet_c", "lines_3", "Unknown config 'lines_3'"),
  )
  def test_conditions_of_other_sets(self, name, config, message):
    with self.assertRaisesRegex(errors.UserError, message):
      datasets.builder(name, config)

  @parameterized.parameters(
    ("imagenet_c_bar.tar", False),
    ("imagenet_c_bar.tar.gz", True),
    ("imagenet-c-bar/sparkles/2/n01440764/a.JPEG", None),
  )
  def test_published_pictures(self, path, gz):
    root = pathlib.Path(self.create_tempdir().full_path)
    data = tiny_files.encoded(tiny_files.smooth(224, 224, 0), "JPEG")
    members = {f"x/sparkles/{s}/n01440764/a.JPEG": data for s in (1, 2)}
    file = data if gz is None else tiny_files.tar(members)
    tiny_files.put(root, {path: gzip.compress(file) if gz else file})
    (row,) = self._read("imagenet_c_bar", "sparkles_2", root, "validation")
    self.assertEqual((row["example_id"], row["label"]), (b"a.JPEG", 0))
    expected = np.asarray(Image.open(io.BytesIO(data)))
    np.testing.assert_array_equal(row["image"], expected)

  def test_the_authors_arrays(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    folder = root / "CIFAR-10-C-Bar"
    folder.mkdir()
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (5, 4, 32, 32, 3), np.uint8)
    np.save(folder / "lines.npy", pixels.reshape(20, 32, 32, 3))
    np.save(folder / "labels.npy", np.tile(np.arange(4), 5))
    with mock.patch.object(published_arrays, "IMAGES", 4):
      rows = self._read("cifar10_c_bar", "lines_3", root, "test")
    got = {int(r["label"]): r["image"] for r in rows}
    np.testing.assert_array_equal([got[i] for i in range(4)], pixels[2])

  def _read(self, name, config, manual_dir, split):
    built = datasets.prepare(
      name,
      f"{config}_published",
      data_dir=self.create_tempdir().full_path,
      manual_dir=manual_dir,
    )
    return list(tfds.as_numpy(built.as_dataset(split=split)))


class HeadlinesTest(parameterized.TestCase):
  """A plain mean over severities, then over the ten; never in mCE."""

  @parameterized.parameters(
    (conditions.C_BAR, "c_bar", "mean_corruption_error"),
    (conditions.C_BAR_CIFAR, "c_bar_cifar", "mean_corruption_error"),
    (conditions.PICTURES, "c_bar", "c_bar_mean_error"),
    (conditions.PICTURES, "c_bar_cifar", "c_bar_mean_error"),
  )
  def test_means(self, family, members, metric):
    names = corruptions.names(members)
    errors_of = np.random.default_rng(0).uniform(size=(10, 5))
    numbers = {
      conditions.Condition(name, level): {"error": value_alone(value)}
      for name, row in zip(names, errors_of)
      for level, value in zip(_LEVELS, row)
    }
    numbers[conditions.Condition()] = {"error": value_alone(0.1)}
    alexnet = error_headlines.published_cells(
      corruption_error.load_baseline("alexnet")
    )
    for reference in ({}, alexnet):
      of = error_headlines.headlines(numbers, reference, family=family)
      self.assertTrue(all(h.cells for h in of))
      there = {h.key: h for h in of if h.is_triggered(numbers)}
      means = {("mean_error", name, None) for name in names}
      self.assertEqual(
        set(there), {*means, (metric, "", None), ("clean_error", "", None)}
      )
      got = there[metric, "", None].number(numbers, reference)
      self.assertAlmostEqual(float(got.value), errors_of.mean())

  def test_names_of_both_lists(self):
    names = ("lines", "caustic_refraction")  # of one list each
    cells = {conditions.Condition(n, 1): ("error",) for n in names}
    of = error_headlines.headlines(cells, {})
    self.assertNotIn("c_bar_mean_error", {h.metric for h in of})

  def test_the_papers_table(self):
    listed = papers.printed_networks("imagenet_c_bar")
    self.assertLen(listed, 6)
    for network in listed:
      names = corruptions.names("c_bar")
      parts = [network.numbers["mean_error", n].value for n in names]
      mean = network.numbers["mean_corruption_error", ""]
      self.assertAlmostEqual(np.mean(parts), mean.value, delta=6e-4)
      self.assertIn("ImageNet-C error of the same networks", mean.note)
    self.assertLen(papers.printed_networks("cifar10_c_bar"), 4)

  @pytest.mark.slow
  def test_evaluate(self):
    """Signs under C-bar's corruptions, and the set itself with a function."""

    def brightest(images):
      return images.mean((1, 2)).astype(np.float32).repeat(4, 1)

    result = evaluate(
      brightest, "signs_c", conditions="c_bar", severities=(1, 3), limit=8
    )
    errors_of = [
      r.value
      for r in result.table
      if r.metric == "error" and r.config != "clean"
    ]
    self.assertLen(errors_of, 20)
    self.assertAlmostEqual(
      result.summary["part_c_bar_mean_error"], np.mean(errors_of)
    )
    self.assertNotIn("mce", result.summary)
    names = ("checkerboard_cutout", "sparkles")
    result = evaluate(
      lambda images: images.mean((1, 2)).repeat(334, 1)[:, :1000].astype("f"),
      "imagenet_c_bar",
      manual_dir=imagenet_c.Builder.code_path.parent / "dummy_data",
      conditions=names,
    )
    self.assertIn("part_mean_corruption_error", result.summary)
    self.assertNotIn("mce", result.missing)
    self.assertIn("mean_corruption_error", result.missing)
