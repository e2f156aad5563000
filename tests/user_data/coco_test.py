"""`coco:FILE`: numbers of own categories, at the public doors; bad files."""

import pathlib
import shutil

import jax
import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized
from etils import epath
from PIL import Image

from eval import leaderboard, main
from eval.metrics import detection
from eval.submissions import writer
from models.convert import report
from robust_tfds import (
  build,
  datasets,
  errors,
  evaluate,
  models,
  user_data,
)
from robust_tfds.reading import pictures
from tests import in_process, tiny_files
from tests.user_data import made

_OTHER = tiny_files.encoded(tiny_files.noise(50, 120), "WEBP")
_MASK = {"size": [61, 83], "counts": [0, 61, 61 * 82]}


def _results(root):
  """What the detector finds in the clean pictures, as COCO's results."""
  out = []
  for i, name in enumerate(made.SCENES):
    found = made.detect(pictures.picture(root / "images" / name))
    for box, score, label, _ in zip(*(list(v) for v in found.values())):
      x, y, right, bottom = map(float, box)
      bbox = [x, y, right - x, bottom - y]
      category = (2, 9)[label]
      out.append(
        {"image_id": i, "category_id": category, "bbox": bbox, "score": score}
      )
  return out


class CocoTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path) / "mine"
    self.images = self.root / "images"

  def _evaluate(self, file, model=made.detect, images=None, **options):
    return made.evaluate(
      model, f"coco:{file}", images=images or self.images, size=None, **options
    )

  def test_a_detector_has_no_size(self):
    with self.assertRaisesRegex(
      errors.UserError, "size=100: a detector is shown"
    ):
      evaluate(
        made.detect,
        f"coco:{made.scenes(self.root)}",
        images=self.images,
        size=100,
      )

  def _loaded(self, place):
    name = "coco_own_c/gaussian_noise_3"
    rows = tfds.as_numpy(tfds.load(name, data_dir=place, split="test"))
    return {row["example_id"].decode(): row for row in rows}

  def _own(self, file, **options):
    options = user_data.Options(**{"images": str(self.images), **options})
    return datasets.builder_class(f"coco:{file}", options).OWN

  def test_numbers_are_cocos_of_the_categories(self):
    file = made.scenes(self.root)
    result, said = self._evaluate(file, conditions="none")
    expected = detection.coco_ap(made.content(), _results(self.root), "bbox")
    self.assertGreater(expected["AP"], 0.5)
    self.assertAlmostEqual(result.summary["p"], expected["AP"])
    self.assertEqual({row.dataset for row in result.table}, {"mine"})
    self.assertFalse([r for r in result.table if r.metric.startswith("segm")])
    for words in (
      "mine: 3 examples of 2 classes (blue, red), content ",
      "outputs are the categories in the order of their ids; pictures without"
      " annotations: 1",
      "annotations without a mask, so only boxes are evaluated: 3; annotations"
      " without an area, so their box's area is used: 3.",
    ):
      self.assertIn(words, said)

  def test_detectors_of_cocos_classes_need_no_word(self):
    names = [{"id": 9, "name": "stop sign"}, {"id": 2, "name": "Bicycle"}]
    file = made.scenes(self.root, categories=names)
    own, _ = self._evaluate(file, conditions="none")
    of = np.array([1, 11])  # of bicycle and stop sign in COCO's 80

    def detect(picture):
      found = made.detect(picture)
      return {**found, "classes": of[found["classes"]]}

    spec = models.detection.spec.DetectorSpec(short_px=0)
    model = models.adapters.get("on_host")(detect, spec, name="m")
    result, said = self._evaluate(file, model, conditions="none")
    self.assertIn("2 of 80 outputs are classes of the data set", said)
    self.assertEqual(result.summary["p"], own.summary["p"])

  def test_masks(self):
    rows = [
      {**row, "segmentation": _MASK} for row in made.content()["annotations"]
    ]
    file = made.scenes(self.root, annotations=rows[:2])
    result, said = self._evaluate(file, conditions="none")
    self.assertIn("segm/p", result.summary)
    self.assertNotIn("without a mask", said)

  def test_prepared_is_on_the_fly_and_what_is_built(self):
    file = made.scenes(self.root)
    fly, prepared = self.root / "fly", self.root / "prepared"
    for workdir in (fly, prepared):
      self._evaluate(file, workdir=workdir, source=workdir.name)
    self.assertLen(made.cells(fly), 2)
    self.assertEqual(made.cells(fly), made.cells(prepared))
    flags = (f"--images={self.images}", "--config=gaussian_noise_3")
    built = in_process.run(
      build, f"coco:{file}", *flags, f"--data_dir={self.root}/data"
    )
    self.assertIn("coco_own_c/gaussian_noise_3/1.0.0: 3 test", built.stdout)
    one, other = map(self._loaded, (self.root / "data", prepared / "data"))
    for name, size in made.SCENES.items():
      pictures_ = [rows[name]["image"] for rows in (one, other)]
      np.testing.assert_array_equal(*pictures_)
      self.assertEqual(pictures_[0].shape[:2], size)
    self.assertEqual(one["a.png"]["objects"]["label"].tolist(), [1, 0])

  def test_the_command_plans(self):
    file = made.scenes(self.root)
    done = in_process.run(
      main,
      "--config=configs/own_data.py:tests.user_data.made:detector",
      f"--config.data.name=coco:{file}",
      f"--config.data.images={self.images}",
      "--config.data.corruptions=fog",
      "--plan",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("fog at 1, 2, 3, 4, 5: squares", done.stdout)

  @pytest.mark.slow
  def test_its_cells_are_computed_again(self):
    file, name = made.scenes(self.root), "tiny_retinanet"
    weights = epath.Path(self.root.parent / "weights.npz")
    key = jax.random.PRNGKey(0)
    report.write_npz(models.get(name).init(key), weights)
    run, sent = self.root / "run", self.root / "sent"
    names = ["blue", "red", *"abcdefgh"]
    of_run = {"checkpoint": weights, "classes": names, "workdir": run}
    self._evaluate(file, name, **of_run)
    writer.export([run], sent, {name: "x"}, {})
    moved = shutil.move(self.root, self.root.with_name("elsewhere"))
    checked = [f"--check={moved}/sent", "--rerun=2"]
    own_data = f"--own_data=coco:{moved}/scenes.json,images={moved}/images"
    done = in_process.run(leaderboard, *checked, own_data)
    self.assertIn("2 of 2 cells, computed again", done.stdout + done.stderr)
    tiny_files.put(moved / "images", {"c.webp": _OTHER})
    done = in_process.run(leaderboard, *checked, own_data)
    self.assertEqual(done.returncode, 1, done.stdout)

  def test_outputs_of_other_classes(self):
    file, names = made.scenes(self.root), ["person", "red", "-", "blue"]

    def of_four(picture):
      found = made.detect(picture)
      return {**found, "classes": np.array([3, 1])[found["classes"]]}

    plain, _ = self._evaluate(file, conditions="none")
    lines = self.root / "names.txt"
    lines.write_text("\n".join(names))
    for classes in (names, {"blue": 3, "red": 1}, lines):
      other, _ = self._evaluate(
        file, of_four, conditions="none", classes=classes
      )
      self.assertEqual(plain.summary["p"], other.summary["p"])

  def test_categories_that_are_numbers(self):
    """A list of them is of names; ids order the classes."""
    categories = [{"id": 9, "name": "0"}, {"id": 2, "name": "1"}]
    file = made.scenes(self.root, categories=categories)

    def of_names(picture):
      found = made.detect(picture)
      return {**found, "classes": np.array([1, 0])[found["classes"]]}

    plain, _ = self._evaluate(file, conditions="none")
    named, _ = self._evaluate(
      file, of_names, conditions="none", classes=["0", "1"]
    )
    self.assertEqual(named.summary["p"], plain.summary["p"])
    self.assertGreater(plain.summary["p"], 0.5)

  def test_the_content_is_of_annotations_and_pictures(self):
    first = self._own(made.scenes(self.root))
    moved = shutil.copytree(self.root, self.root.parent / "x" / "mine")
    folder = moved / "annotations"  # names no set
    folder.mkdir()
    file = shutil.move(moved / "scenes.json", folder)
    there = self._own(file, images=str(moved / "images"))
    self.assertEqual((first.content, first.name), (there.content, "mine"))
    self.assertEqual(self._own(file, name="yours").name, "yours")
    rows = made.content()["annotations"]
    other = [{**rows[0], "bbox": [8, 10, 20, 19]}, *rows[1:]]
    sea = [{"id": 9, "name": "red"}, {"id": 2, "name": "sea"}]
    same = {"info": {}, "licenses": [{"id": 1}], "annotations": rows[::-1]}
    contents = [
      self._own(made.scenes(self.root, **change)).content
      for change in (same, {"annotations": other}, {"categories": sea})
    ]
    file = made.scenes(self.root)
    tiny_files.put(self.images, {"c.webp": _OTHER})
    contents.append(self._own(file).content)
    self.assertEqual(contents[0], first.content)
    self.assertLen(set(contents), 4)

  def test_pictures_that_viewers_turn(self):
    file = made.scenes(self.root)
    plain, said = self._evaluate(file, conditions="none")
    self.assertNotIn("EXIF", said)
    pixels = Image.open(self.images / "a.png")
    on_its_side = pixels.transpose(Image.Transpose.ROTATE_90)
    for shown, stored in (("as stored", pixels), ("upright", on_its_side)):
      self._mark(stored, 6)  # the annotations' size says which was annotated
      result, said = self._evaluate(file, conditions="none")
      self.assertEqual(result.summary["p"], plain.summary["p"], shown)
      self.assertRegex(
        said, f"an EXIF rotation, used .*{shown} as .* require: 1[;.]"
      )
    self._mark(pixels, 3)  # nothing says it
    with self.assertRaisesRegex(errors.UserError, "a.png: .*orientation 3"):
      self._evaluate(file, conditions="none")

  def _mark(self, pixels, turn):
    exif = Image.Exif()
    exif[274] = turn
    data = tiny_files.encoded(pixels, "PNG", exif=exif)
    tiny_files.put(self.images, {"a.png": data})

  def test_categories_without_boxes_shift_no_classes(self):
    plain, _ = self._evaluate(made.scenes(self.root), conditions="none")
    two, names = made.content()["categories"], ["blue", "red"]
    file = made.scenes(self.root, categories=[{"id": 0, "name": "top"}, *two])
    both = r"\(top\).*classes=\['blue', 'red'\].*classes=\['top', 'blue'"
    for model in (made.detect, made.detector()):
      with self.assertRaisesRegex(errors.UserError, both):
        self._evaluate(file, model, conditions="none")
      result, said = self._evaluate(
        file, model, conditions="none", classes=names
      )
      self.assertEqual(result.summary["p"], plain.summary["p"])
      self.assertIn("categories without boxes (top): 1", said)

    def of_all(picture):
      found = made.detect(picture)
      return {**found, "classes": found["classes"] + 1}

    result, _ = self._evaluate(
      file, of_all, conditions="none", classes=["top", *names]
    )
    self.assertEqual(result.summary["p"], plain.summary["p"])
    file = made.scenes(self.root, categories=[*two, {"id": 10, "name": "x"}])
    result, _ = self._evaluate(file, conditions="none")  # both readings agree
    self.assertEqual(result.summary["p"], plain.summary["p"])

  def test_boxes_a_little_outside_and_keypoints_are_said(self):
    rows = made.content()["annotations"]
    rows[0] |= {"bbox": [8, 10, 77, 20], "keypoints": [9, 11, 2]}
    file = made.scenes(self.root, annotations=rows)
    result, said = self._evaluate(file, conditions="none")
    expected = detection.coco_ap(
      {**made.content(), "annotations": rows}, _results(self.root), "bbox"
    )
    self.assertAlmostEqual(result.summary["p"], expected["AP"])
    self.assertIn("keypoints, which are not evaluated: 1", said)
    self.assertIn("up to 2 px outside of their pictures, taken as", said)
    rows[0]["bbox"] = [8, 10, 78, 20]
    with self.assertRaisesRegex(errors.UserError, "object 6.*outside"):
      self._evaluate(made.scenes(self.root, annotations=rows))
    shares = [{**row, "bbox": [0.1, 0.1, 0.4, 0.5]} for row in rows]
    with self.assertRaisesRegex(
      errors.UserError, "all 3 boxes lie within 1 px"
    ):
      self._evaluate(made.scenes(self.root, annotations=shares))
