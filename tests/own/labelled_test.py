"""Labelled pictures of one's own: prepared is on the fly, wherever they lie."""

import pathlib

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import conditions, corruptions, errors, models
from robust_tfds.building import geometry
from robust_tfds.eval import main
from robust_tfds.models import adapters
from robust_tfds.models import spec as spec_lib
from tests import in_process
from tests.own import made


class LabelledTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.root = made.folder(self.folder / "pets")

  @parameterized.parameters(
    ({}, 2, "folder_c/gaussian_noise_3_short37_crop32_cifar10", "image"),
    (
      {"perturbations": "gaussian_noise"},
      2,
      "folder_p/gaussian_noise_short32_crop32",
      "frames",
    ),
  )
  def test_prepared_is_on_the_fly(self, more, count, name, feature):
    workdirs = [self.folder / "fly", self.folder / "prepared"]
    model = made.Seen()
    for workdir, source in zip(workdirs, ("fly", "prepared")):
      made.evaluate(
        model, f"folder:{self.root}", workdir=workdir, source=source, **more
      )
    fly, prepared = map(made.cells, workdirs)
    self.assertLen(fly, count)
    self.assertEqual(fly, prepared)
    rows = tfds.load(name, data_dir=workdirs[1] / "data", split="test")
    loaded = {r["example_id"].decode(): r for r in tfds.as_numpy(rows)}
    self.assertLen(loaded, 12)
    self.assertIn("Füchse/deep/3.jpeg", loaded)
    pixels = [np.reshape(r[feature], (-1, 32, 32, 3)) for r in loaded.values()]
    self.assertContainsSubset(
      {made.sha256(image) for each in pixels for image in each}, model.pictures
    )

  def test_models_side_by_side_and_their_classes(self):
    # The second model's outputs stand for the same classes in another order.
    other = made.Seen()
    turned = lambda images: other(images)[:, ::-1]
    pair = {"a": made.Seen(), "b": other}
    both, _ = made.evaluate(pair, f"folder:{self.root}")
    clean = both.summary["a/clean_error"]
    self.assertEqual(clean, both.summary["b/clean_error"])
    self.assertIn("b/part_mean_corruption_error", str(both))
    names = ["dog", "cat", "Füchse"]
    for classes in (names, {name: i for i, name in enumerate(names)}):
      alone, _ = made.evaluate(turned, f"folder:{self.root}", classes=classes)
      self.assertEqual(alone.summary["clean_error"], clean)

  def test_the_share_of_the_clean_accuracy(self):
    result, _ = made.evaluate(
      made.Seen(), f"folder:{self.root}", conditions="fog,contrast"
    )
    error = {r.config: r.value for r in result.table if r.metric == "error"}
    right = 1 - (error["fog_3"] + error["contrast_3"]) / 2
    (share,) = (r for r in result.table if r.metric == "part_accuracy_retained")
    self.assertAlmostEqual(share.value, right / (1 - error["clean"]))
    self.assertIn("mean over 2 of 75 cells", share.note)
    self.assertIn("part_accuracy_retained", str(result))
    result.report(self.folder / "report")
    page = (self.folder / "report" / "report.html").read_text("utf-8")
    self.assertIn("Accuracy retained (part)", page)

  def _pixels(self, name, rule):
    """What the pictures look like clean and under a condition, then cropped."""
    key_of = conditions.Condition(name, 3).keys
    out = set()
    for file in sorted(self.root.rglob("*.*")):
      below = file.relative_to(self.root).as_posix()
      whole = geometry.decode(file.read_bytes(), "whole", below)
      (key,) = key_of(0, "pets", [below])
      changed = corruptions.corrupt(whole, name, 3, edition="any", key=key)
      for picture in (whole, np.asarray(changed)):
        out.add(made.sha256(geometry.apply(picture, rule)))
    return out

  def test_corrupted_whole_then_cropped_as_each_model_wants(self):
    seen = {"short37_crop32": made.Seen(), "short50_crop48": made.Seen()}
    models_ = {}
    for (rule, model), px in zip(seen.items(), (32, 48)):
      spec = spec_lib.Spec(
        num_classes=3,
        label_space="custom",
        input_px=px,
        resize_px=int(rule[5:7]),
      )
      models_[rule] = adapters.get("on_host")(model, spec, name=rule)
    place, fly = f"folder:{self.root}", self.folder / "fly"
    for size, workdir in ((8, fly), (3, self.folder / "three")):
      made.evaluate(
        models_,
        place,
        size=None,
        geometry="none",
        conditions="fog",
        batch_size=size,
        workdir=workdir,
      )
    self.assertEqual(made.cells(fly), made.cells(self.folder / "three"))
    for rule, model in seen.items():
      self.assertContainsSubset(self._pixels("fog", rule), model.pictures)

  def test_whole_pictures_prepared_are_those_on_the_fly(self):
    options = {"geometry": "none", "conditions": "fog"}
    workdirs = [self.folder / "fly", self.folder / "prepared"]
    for workdir, source in zip(workdirs, ("fly", "prepared")):
      whole, _ = made.evaluate(
        made.Seen(),
        f"folder:{self.root}",
        workdir=workdir,
        source=source,
        **options,
      )
    fly, prepared = map(made.cells, workdirs)
    self.assertLen(fly, 2)
    self.assertEqual(fly, prepared)
    cropped, _ = made.evaluate(
      made.Seen(), f"folder:{self.root}", conditions="none"
    )
    clean = cropped.summary["clean_error"]
    self.assertEqual(whole.summary["clean_error"], clean)
    whole.report(self.folder / "report")
    facts = (workdirs[0] / "config.json").read_text("utf-8")
    self.assertIn('"geometry": "none"', facts)
    rows = tfds.load(
      "folder_c/fog_3_none", data_dir=workdirs[1] / "data", split="test"
    )
    shapes = {r["image"].shape for r in tfds.as_numpy(rows)}
    self.assertLen(shapes, 4)

  @parameterized.parameters(
    ({"perturbations": "gaussian_noise"}, "pets: geometry=none corrupts whole"),
    ({"codec": "jpeg85"}, "'jpeg85' cannot be made on the fly"),
  )
  def test_what_whole_pictures_are_not_made_into(self, more, words):
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(made.Seen(), f"folder:{self.root}", geometry="none", **more)

  def test_the_command_plans_whole_pictures(self):
    done = in_process.run(
      main,
      "--config=configs/own_data.py:tests.own.made:three_levels",
      f"--config.data.name=folder:{self.root}",
      "--config.data.geometry=none",
      "--config.data.corruptions=fog",
      f"--workdir={self.folder}/run",
      "--plan",
    )
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("fog_5: tests.own.made:three_levels", done.stdout)

  def test_several_outputs_of_a_class(self):
    model = made.Seen(5)
    classes = {"cat": [0, 3], "dog": 1, "Füchse": [2]}
    seen, _ = made.evaluate(model, f"folder:{self.root}", classes=classes)
    self.assertIn("clean_error", seen.summary)
    with self.assertRaisesRegex(errors.UserError, "output 3 is named twice"):
      classes = {"cat": [0, 3], "dog": 3}
      made.evaluate(model, f"folder:{self.root}", classes=classes)

  @parameterized.parameters(
    (
      5,
      None,
      "shape .2, 5., expected .B, classes. with 3 classes; .* classes=",
    ),
    (
      3,
      ["cat", "dgo", "Füchse"],
      "line 2: 'dgo' is no class, and 'dog' has no",
    ),
    (3, {"cat", "dog", "Füchse"}, "in the order of the outputs"),
    (3, 3, "classes=3: expected a file"),
  )
  def test_outputs_that_are_no_classes(self, outputs, classes, words):
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(made.Seen(outputs), f"folder:{self.root}", classes=classes)

  def test_a_plain_function_of_imagenet(self):
    names = ["tench", "n01443537", "tabby"]
    root = made.folder(self.folder / "fish", classes=names)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(32 * 32 * 3, 1000))
    full = lambda images: images.reshape(len(images), -1) @ weights
    all_of_it, said = made.evaluate(full, f"folder:{root}")
    self.assertIn("3 of 1000 outputs are classes", said)
    few = lambda images: full(images)[:, [1, 281, 0]]  # of the sorted names
    alone, _ = made.evaluate(few, f"folder:{root}")
    self.assertEqual(all_of_it.summary, alone.summary)

  def test_sequences_are_summed_up_at_the_first_difficulty(self):
    waves = lambda images: np.sin(images.mean((1, 2)) + [0, 2, 4])
    of_one = {"perturbations": "common", "conditions": "brightness"}
    result, _ = made.evaluate(waves, f"folder:{self.root}", **of_one)
    mean = "part_mean_flip_probability"
    of = {r.severity: r.value for r in result.table if r.metric == mean}
    self.assertLen(set(of.values()), 3)
    self.assertEqual(result.summary[mean], of[1])
    one = result.summary["flip_probability/brightness"]
    self.assertEqual(result.summary[mean], one)
    self.assertNotIn("mean_flip_probability", result.summary)

  def test_baselines_are_models_of_the_run(self):
    pair = {"a": made.Seen(), "b": made.Seen()}
    root = f"folder:{self.root}"
    with self.assertRaisesRegex(
      errors.UserError, "of other pictures than pets"
    ):
      made.evaluate(pair, root, baseline="alexnet")
    both, _ = made.evaluate(pair, root, baseline="model:a")
    of_part = [r for r in both.table if "mce" in r.metric and r.model == "b"]
    self.assertTrue(of_part)

  def test_a_size_is_of_plain_functions(self):
    model = models.get("digits_linear", num_classes=3)
    with self.assertRaisesRegex(errors.UserError, "size=32: .* says its size"):
      made.evaluate(model, f"folder:{self.root}")
    with self.assertRaisesRegex(errors.UserError, "digits_c has its name"):
      made.evaluate(model, "digits_c", name="mine", size=None)
    for size in ("32", 0):
      with self.assertRaisesRegex(errors.UserError, f"size={size!r}: expected"):
        made.evaluate(made.Seen(), f"folder:{self.root}", size=size)
