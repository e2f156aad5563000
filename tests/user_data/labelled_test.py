"""Labelled pictures of one's own: prepared is on the fly, wherever they lie."""

import collections
import contextlib
import csv
import io
import json
import pathlib
import unicodedata
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from eval import main
from eval.pipeline import blocks
from models import adapters
from models import spec as spec_lib
from robust_tfds import conditions, corrupt_folder, corruptions, errors, models
from robust_tfds.building import geometry
from tests import in_process, quick, tiny_files
from tests.user_data import made


class LabelledTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.root = made.folder(self.folder / "pets")

  @quick.cases(
    [({}, "folder_c/gaussian_noise_3_short37_crop32_cifar10", [(32, 32, 3)])],
    [
      (
        {"perturbations": "gaussian_noise"},
        "folder_p/gaussian_noise_short32_crop32",
        [(31, 32, 32, 3)],
      ),
      (
        {"geometry": "none"},
        "folder_c/gaussian_noise_3_none",
        [(h, w, 3) for h, w in made.SIZES],
      ),
    ],
  )
  def test_prepared_is_on_the_fly(self, more, name, shapes):
    workdirs = [self.folder / "fly", self.folder / "prepared"]
    model = made.Seen()
    for workdir in workdirs:
      done, _ = made.evaluate(
        model,
        f"folder:{self.root}",
        workdir=workdir,
        source=workdir.name,
        **more,
      )
    fly, prepared = map(made.cells, workdirs)
    self.assertLen(fly, 2)
    self.assertEqual(fly, prepared)
    rows = tfds.load(name, data_dir=workdirs[1] / "data", split="test")
    loaded = {r["example_id"].decode(): r for r in tfds.as_numpy(rows)}
    self.assertLen(loaded, 12)
    self.assertIn("Füchse/deep/3.jpeg", loaded)
    pixels = [r.get("image", r.get("frames")) for r in loaded.values()]
    self.assertEqual({image.shape for image in pixels}, set(shapes))
    if "geometry" not in more:
      frames = np.reshape(pixels, (-1, 32, 32, 3))
      self.assertContainsSubset(map(made.sha256, frames), model.pictures)
    done.report(self.folder / "report")
    facts = (workdirs[0] / "config.json").read_text("utf-8")
    self.assertEqual('"geometry": "none"' in facts, "geometry" in more)

  @pytest.mark.slow
  def test_corrupt_folder_makes_the_same_pixels(self):
    exif = Image.Exif()
    exif[274] = 6
    picture, second = (tiny_files.smooth(50, 34, seed) for seed in (1, 2))
    decomposed = unicodedata.normalize("NFD", "ö.jpg")
    picture.save(self.root / "Füchse" / decomposed, exif=exif)
    frames = {"save_all": True, "append_images": [second]}
    picture.save(self.root / "dog" / "moves.gif", **frames)
    second.save(self.root / "beside.png")
    picture.putalpha(second.convert("L"))
    picture.save(self.root / "cat" / "clear.png")
    data, of_folder = f"folder:{self.root}", {"drop_alpha": True}
    out, table = self.folder / "out", self.folder / "todo.csv"
    with self.assertRaisesRegex(errors.UserError, "cat/clear.png: has transp"):
      made.evaluate(made.Seen(), data, geometry="none")
    with self.assertRaisesRegex(errors.UserError, "drop_alpha=True: tfds: has"):
      made.evaluate(made.Seen(), "tfds:digits", **of_folder)
    model, workdir = made.Seen(), self.folder / "prepared"
    of_run = {"geometry": "none", "workdir": workdir, "source": "prepared"}
    made.evaluate(model, data, **of_folder, **of_run)
    _, said = made.evaluate(model, data, geometry="none", **of_folder)
    with contextlib.redirect_stdout(io.StringIO()) as notes:
      corrupt_folder.run(
        self.root,
        out,
        names=["gaussian_noise"],
        severities=[3],
        manifest=table,
        **of_folder,
      )
    for words in (
      "pictures turned upright as their EXIF data ask",
      "pictures whose transparency is dropped",
      "pictures have more frames, of which the first was taken",
    ):
      self.assertIn(f"{words}: 1", said)
      self.assertIn(f"1 {words}, e.g. ", notes.getvalue())
    self.assertIn("pictures beside the class folders left out: 1", said)
    self.assertIn("1 pictures beside the class folders left", notes.getvalue())
    name, folder = "folder_c/gaussian_noise_3_none", workdir / "data"
    rows = tfds.as_numpy(tfds.load(name, data_dir=folder, split="test"))
    prepared = {r["example_id"].decode(): r["image"] for r in rows}
    written = collections.defaultdict(dict)
    with open(table, newline="", encoding="utf-8") as file:
      for row in csv.DictReader(file):
        pixels = np.asarray(Image.open(row["path"]))
        written[row["corruption"]][row["example_id"]] = pixels
        cropped = geometry.apply(pixels, "short37_crop32")
        self.assertIn(made.sha256(cropped), model.pictures)
    self.assertLen(prepared, 15)
    self.assertEqual(written["clean"]["Füchse/ö.jpg"].shape, (50, 34, 3))
    np.testing.assert_equal(written["gaussian_noise"], prepared)

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

  def test_a_thousand_classes_over_a_folder_of_four(self):
    """Among the folder's one of eight is wrong, among all three are."""
    names = ["tench", "goldfish", "ostrich", "brambling"]
    best = [[0, 0], [1, 1], [9, 9], [10, 0]]
    for i, (name, of_name) in enumerate(zip(names, best)):
      for j in range(len(of_name)):
        pixels = np.full((40, 40, 3), 20 * (2 * i + j), np.uint8)
        data = tiny_files.encoded(pixels, "PNG")
        tiny_files.put(self.folder / "some", {f"{name}/{j}.png": data})

    def thousand(pictures):
      place = np.rint(pictures.mean((1, 2, 3)) / 20).astype(int) % 8
      logits = np.zeros((len(pictures), 1000))
      logits[np.arange(len(pictures)), np.ravel(best)[place]] = 3
      logits[np.isin(place, (1, 3)), 500] = 6
      return logits

    few = {"conditions": "none", "workdir": self.folder / "all"}
    text = f"folder:{self.folder}/some"
    among, _ = made.evaluate(thousand, text, conditions="none")
    self.assertEqual(among.summary["clean_error"], 0.125)
    everything, said = made.evaluate(thousand, text, label_space="all", **few)
    self.assertEqual(everything.summary["clean_error"], 0.375)
    self.assertIn("the others are wrong answers", said)
    everything.report(self.folder / "report")
    with self.assertRaisesRegex(errors.UserError, "label_space"):
      made.evaluate(thousand, text, **few)
    with self.assertRaisesRegex(errors.UserError, "'al', expected 'all'"):
      made.evaluate(thousand, text, conditions="none", label_space="al")

  def test_classes_that_count_alike(self):
    """A class of six right, one of two wrong: 75 % of the pictures, half."""
    names = ["cat", "dog"]
    root = made.greys(self.folder / "uneven", names)
    for i in range(2, 6):
      data = tiny_files.encoded(np.full((40, 40, 3), 5 + i, np.uint8), "PNG")
      tiny_files.put(root, {f"cat/{i}.png": data})
    result, _ = made.evaluate(
      lambda x: np.eye(2)[np.zeros(len(x), int)], f"folder:{root}"
    )
    self.assertEqual(result.summary["clean_error"], 0.25)
    self.assertAlmostEqual(result.summary["clean_mean_class_accuracy"], 0.5)
    rows = [r for r in result.table if r.metric == "mean_class_accuracy"]
    self.assertLen(rows, 2)
    result.report(self.folder / "report")
    page = (self.folder / "report" / "report.html").read_text("utf-8")
    self.assertIn("Clean mean class accuracy", page)

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

  @pytest.mark.slow
  def test_corrupted_whole_then_cropped_as_each_model_wants(self):
    seen = {"short37_crop32": made.Seen(), "short50_crop48": made.Seen()}
    models_ = {}
    for (rule, model), px in zip(seen.items(), ((37, 32), (50, 48))):
      of = dict(zip(("resize_px", "input_px"), px), label_space="custom")
      spec = spec_lib.Spec(num_classes=3, **of)
      models_[rule] = adapters.get("on_host")(model, spec, name=rule)
    whole = {"size": None, "geometry": "none", "conditions": "fog"}
    # A batch of 6 holds two of the larger canvases, of 128 x 128 px.
    sizes = {3: 1 << 28, 8: 1 << 28, 6: 2 * 3 * 128 * 128}
    workdirs = {size: self.folder / str(size) for size in sizes}
    for size, workdir in workdirs.items():
      few = {"batch_size": size, "workdir": workdir, **whole}
      with mock.patch.object(blocks, "_CANVASES", sizes[size]):
        made.evaluate(models_, f"folder:{self.root}", **few)
    first, *others = map(made.cells, workdirs.values())
    for other in others:
      self.assertEqual(other, first)
    for rule, model in seen.items():
      self.assertContainsSubset(self._pixels("fog", rule), model.pictures)

  @parameterized.parameters(
    (5000, "cat/long.png: 1 x 5000 px become 256 x 1280000"),
    (60000, "cat/long.png: A picture of 1 x 60000 px: .* in the canvas"),
  )
  def test_a_picture_that_is_too_long(self, height, words):
    long = tiny_files.encoded(tiny_files.noise(height, 1), "PNG")
    tiny_files.put(self.root, {"cat/long.png": long})
    whole = {"geometry": "none", "size": None}
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(made.Seen(), f"folder:{self.root}", **whole)

  @parameterized.parameters(
    ({"perturbations": "gaussian_noise"}, "pets: geometry=none corrupts whole"),
    ({"codec": "jpeg85"}, "'jpeg85' cannot be made on the fly"),
  )
  def test_what_whole_pictures_are_not_made_into(self, more, words):
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(made.Seen(), f"folder:{self.root}", geometry="none", **more)

  def test_what_pictures_have_no_use_for(self):
    with self.assertRaisesRegex(errors.UserError, "views=3: pets is read with"):
      made.evaluate(made.Seen(), f"folder:{self.root}", views=3)

  def test_several_outputs_of_a_class(self):
    classes = {"cat": [0, 3], "dog": 1, "Füchse": [2]}
    seen, _ = made.evaluate(
      made.Seen(5), f"folder:{self.root}", classes=classes
    )
    self.assertIn("clean_error", seen.summary)

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
    (5, {"cat": [0, 3], "dog": 3}, "output 3 is named twice"),
    (3, "cat", "classes='cat': expected a file of names that is there"),
    (3, [], "classes=..: expected a file"),
    (3, {"cat": True}, "classes=.*: expected a file"),
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

  @pytest.mark.slow
  def test_baselines_are_models_of_the_run(self):
    pair = {"a": made.Seen(), "b": made.Seen()}
    root = f"folder:{self.root}"
    with self.assertRaisesRegex(
      errors.UserError, "belong to other pictures than pets"
    ):
      made.evaluate(pair, root, baseline="alexnet")
    total = lambda images: images.reshape(len(images), -1).sum(1, int)
    pair = {
      "a": lambda images: np.eye(3)[total(images) % 3],
      "b": lambda images: np.eye(3)[total(images) // 7 % 3],
    }
    both, _ = made.evaluate(
      pair,
      root,
      baseline="model:a",
      conditions="fog,contrast",
      severities=(1, 3),
    )
    error = {
      (r.model, r.config): r.value for r in both.table if r.metric == "error"
    }
    ce = {
      name: sum(error["b", f"{name}_{s}"] for s in (1, 3))
      / sum(error["a", f"{name}_{s}"] for s in (1, 3))
      for name in ("fog", "contrast")
    }
    summary = both.summary
    self.assertEqual(summary["a/part_mce"], 1)
    self.assertAlmostEqual(summary["b/part_mce"], np.mean(list(ce.values())))
    self.assertAlmostEqual(summary["b/part_ce/fog"], ce["fog"])
    self.assertNotAlmostEqual(summary["b/part_mce"], 1)
    self.assertNotIn("b/mce", summary)
    both.report(self.folder / "ce")
    said = (self.folder / "ce" / "summary.txt").read_text("utf-8")
    self.assertRegex(said, "mCE \\(part\\)(?s:.*) b CE \\(part\\)")
    self.assertNotIn("missing", said)  # said once: what the means are over
    self.assertIn("4 of 75 cells: levels 1, 3 of fog, contrast", said)

  def test_a_size_is_of_plain_functions(self):
    model = models.get("digits_linear", num_classes=3)
    with self.assertRaisesRegex(
      errors.UserError, "size=32: .* states its own size"
    ):
      made.evaluate(model, f"folder:{self.root}")
    with self.assertRaisesRegex(errors.UserError, "digits_c has a name"):
      made.evaluate(model, "digits_c", name="mine", size=None)
    for size in ("32", 0, -1):
      with self.assertRaisesRegex(errors.UserError, f"size={size!r}: expected"):
        made.evaluate(made.Seen(), f"folder:{self.root}", size=size)


class ShownTest(parameterized.TestCase):
  """What a model is shown of pictures of one's own, and the line that says it."""

  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _set(self, *sizes):
    """A folder of two classes; sha256 of its pictures as they are stored."""
    stored = set()
    for label, name in enumerate(("cat", "dog")):
      for i, (height, width) in enumerate(sizes):
        pixels = tiny_files.noise(height, width, 100 + 10 * label + i)
        stored.add(made.sha256(pixels))
        data = tiny_files.encoded(pixels, "PNG")
        tiny_files.put(self.folder, {f"pets/{name}/{i}.png": data})
    return stored

  def _show(self, model, **options):
    few = {"conditions": "none", "workdir": self.folder / "run"}
    data = f"folder:{self.folder / 'pets'}"
    return made.evaluate(model, data, **{**few, **options})

  @parameterized.parameters(
    (32, {"size": 32}, "pictures of 32 px: shown as stored"),
    (224, {"size": None}, "pictures of 224 px: shown as stored"),
    (
      32,
      {"size": 32, "geometry": "none"},
      "pictures of 32 px: corrupted whole; shown as stored",
    ),
  )
  def test_of_the_size_that_is_asked_for(self, px, options, words):
    stored, model = self._set((px, px), (px, px)), made.Seen(2)
    result, printed = self._show(model, **options)
    self.assertIn(f"{words}\n", printed)
    self.assertLessEqual(stored, model.pictures)
    self.assertEqual(model.shapes, {(px, px, 3)})  # the probe's, too
    result.report(self.folder / "report")
    report = (self.folder / "report" / "report.html").read_text("utf-8")
    self.assertIn(words, report)

  def test_decided_over_the_whole_split(self):
    stored, model = self._set((32, 32), (32, 32), (40, 32)), made.Seen(2)
    _, printed = self._show(model, limit=1)
    self.assertIn("pictures of 32 to 40 px: short side to 37, cent", printed)
    self.assertFalse(stored & model.pictures)

  def test_a_spec_of_another_size(self):
    self._set((48, 48), (400, 400))
    spec = spec_lib.Spec(input_px=112, num_classes=2)
    seen = made.Seen(2)
    model = adapters.get("on_host")(seen, spec, name="mine")
    words = "48 to 400 px: short side to 128, central 112 (76 % of the picture)"
    _, printed = self._show(model, size=None)
    self.assertIn(f"pictures of {words}\n", printed)
    self.assertEqual(seen.shapes, {(112, 112, 3)})
    notes = [p.read_text() for p in (self.folder / "run").rglob("*.json")]
    shown = [json.loads(n)["data"]["settings"] for n in notes if '"px"' in n]
    self.assertEqual(shown[0], {"shown": words})

  def test_the_plan_says_it(self):
    self._set((32, 32))
    done = in_process.run(
      main,
      "--config=own_data:digits_linear",
      f"--config.data.name=folder:{self.folder / 'pets'}",
      "--config.model.num_classes=2",
      "--plan",
    )
    self.assertIn("pictures of 32 px: shown as stored\n", done.stdout)
