"""Labels, names and lists that tasks score by."""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from eval.cells.cell_facts import DataFacts
from eval.cells.files import predictions
from eval.metrics import detection, resampling
from eval.metrics.detection import checks, coco
from eval.pipeline import inputs
from eval.tasks.detections import (
  average_precision,
  result_lists,
  worst_frames,
)
from eval.tasks.parts import (
  class_names,
  example_checks,
  label_space,
  source_videos,
  top_k,
)
from robust_tfds import datasets, errors, strings
from robust_tfds.building import base as building_base
from robust_tfds.building import frame_boxes
from robust_tfds.building.sources import imagenet
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.reading.column_files import ColumnFile, Texts
from tests import in_folder, quick, shared_data


def _file(**columns) -> ColumnFile:
  columns = {"example_id": ["x0", "x1"], **columns}
  texts = {name: Texts.from_texts(column) for name, column in columns.items()}
  return ColumnFile("mine.csv", list(texts), texts)


class ClassNamesTest(in_folder.TestCase):
  """Names of classes in the cells of a table."""

  def _numbers(self, label, top1, names, dataset="mine_c"):
    path = self.root / "names.txt"
    path.write_text("\n".join(names))
    file = _file(label=label, top1=top1)
    classes = class_names.Classes.from_labels(
      dataset, path if names else None, label
    )
    return [
      classes.column(file, name, name == "top1").tolist()
      for name in ("label", "top1")
    ]

  @parameterized.parameters(
    (["dog", "cat"], ["cat", " dog "], (), [1, 0], [0, 1]),
    (["dog", "cat"], ["owl", "1"], ("owl", "dog", "cat"), [1, 2], [0, 1]),
    (["1", "0"], ["owl", "1,0"], ("owl", "dog"), [1, 0], [0, 1]),
    (["10", "2.0"], ["2", "10"], ("10", "2"), [0, 1], [1, 0]),
    (["07", "7"], ["7", "07"], ("7", "07"), [1, 0], [0, 1]),
    (["3", "4.0"], ["3", ""], (), [3, 4], [3, class_names.EMPTY]),
    (["dog", "cat"], ["0", "dog"], (), [5, 3], [0, 5], "cifar10_c"),
    (["3", "4"], ["9", "0"], (), [3, 4], [9, 0], "cifar10_c"),
  )
  def test_numbers(self, label, top1, names, labels, predicted, *dataset):
    got = self._numbers(label, top1, names, *dataset)
    self.assertEqual(got, [labels, predicted])

  @parameterized.parameters(
    (["dog", "cat"], ["cat", "dgo"], (), r"row 2 .'x1'.: .*mean 'dog'.*--cla"),
    (["dog", "cat"], ["0", "1"], (), "row 1 .*Unknown class '0'.* --classes"),
    (["10", "2"], ["3", "2"], ("10", "2"), "row 1 .*Unknown class '3'"),
    (["dog", ""], ["dog", "dog"], (), "'label', row 2 .'x1'. is empty"),
    (["1", "x"], ["1", "2"], (), "got 'x', expected a whole number"),
    (
      ["1", "-1"],
      ["1", "2"],
      (),
      "no class -1. Classes are whole numbers from",
    ),
    (["1", "10"], ["1", "2"], (), "has the classes 0-9; name", "cifar10_c"),
    (["1", "0"], ["1", "0"], ("a", "b"), "2 names, but cifar10_c", "cifar10_c"),
  )
  def test_what_is_no_class(self, label, top1, names, message, *dataset):
    with self.assertRaisesRegex(errors.UserError, message):
      self._numbers(label, top1, names, *dataset)

  @parameterized.parameters(
    ("cat\n", "1 names, expected"),
    ("cat\n\ndog\n", "line 2: empty, expected the name of class 1"),
    ("cat\ndog\ncat\n", "line 3: 'cat' stands twice"),
  )
  def test_files(self, text, message):
    path = self.root / "names.txt"
    path.write_text("\ufeffcat \r\ndog\n\n")
    self.assertEqual(class_names.read(path), ("cat", "dog"))
    path.write_text(text)
    with self.assertRaisesRegex(errors.UserError, message):
      class_names.read(path)


def _label_space_file(**change) -> str:
  one = {"name": "a", "members": [2], **change}
  return json.dumps({"source_classes": 3, "classes": [one]})


class PublishedTest(parameterized.TestCase):
  """Projections of logits onto other label spaces."""

  @parameterized.parameters(
    ("imagenet_vid_robust", 30, 288, "imagenet_vid_30_class_map.json"),
    ("ytbb_robust", 24, 231, "ytbb_24_class_map.json"),
  )
  def test_groups(self, name, classes, columns, file):
    space = label_space.get(name)
    self.assertLen(space.classes, classes)
    self.assertLen(space.columns, columns)
    path = shared_data.golden("vid_robust", file)
    for found in json.loads(path.read_text())["classes"]:
      self.assertEqual(space.classes[found["index"]], found["name"])
      self.assertEqual(
        space.members[found["index"]], tuple(found["ilsvrc_indices"])
      )

  def test_classes_without_members_are_never_predicted(self):
    space = label_space.get("ytbb_robust")
    out = np.asarray(space.project(-jnp.ones((3, 1000))))
    empty = [i for i, group in enumerate(space.members) if not group]
    self.assertEqual(empty, [6, 8, 14, 18, 22])
    self.assertTrue(np.isneginf(out[:, empty]).all())
    self.assertEqual(out.max(), -1)


class ProjectTest(parameterized.TestCase):
  @parameterized.product(merge=label_space.MERGES, members_only=(False, True))
  def test_merges(self, merge, members_only):
    space = label_space.get("imagenet_vid_robust")
    logits = np.random.default_rng(0).normal(size=(4, 1000)).astype(np.float32)
    operation = getattr(np, merge)
    want = [operation(logits[:, list(g)], axis=-1) for g in space.members]
    given = logits[:, list(space.columns)] if members_only else logits
    got = jax.jit(lambda x: space.project(x, merge))(given)
    np.testing.assert_allclose(got, np.stack(want, -1), rtol=1e-5, atol=1e-5)

  def test_its_own_classes_pass(self):
    space = label_space.get("imagenet_vid_robust")
    logits = jnp.arange(30.0)
    np.testing.assert_array_equal(space.project(logits), logits)

  def test_refuses(self):
    space = label_space.get("imagenet_vid_robust")
    with self.assertRaisesRegex(ValueError, "Wrong label space: 10 logits"):
      space.project(jnp.zeros((2, 10)))
    with self.assertRaisesRegex(ValueError, "Did you mean 'max'"):
      space.project(jnp.zeros((2, 1000)), "maxx")
    with self.assertRaisesRegex(ValueError, "Did you mean 'ytbb_robust'"):
      label_space.get("ytbb_robus")

  def test_files(self):
    folder = self.create_tempdir()
    with self.assertRaisesRegex(FileNotFoundError, "No label map at"):
      label_space.get(f"{folder.full_path}/none.json")
    broken = folder.create_file("broken.json", '{"classes": [{"name": "a"}]}')
    with self.assertRaisesRegex(
      ValueError, "broken.json: source_classes: missing"
    ):
      label_space.get(broken.full_path)
    for i, (text, message) in enumerate(
      (
        ("", "the file is empty"),
        ("[" * 100_000, "nested too deep"),
        ("[]", "got .., expected"),
        (_label_space_file(members="12"), "classes.0.members: got '12'"),
        (_label_space_file(members=[1.5]), "classes.0.members.0: got 1.5"),
        (_label_space_file(members=[True]), "classes.0.members.0: got True"),
        (_label_space_file(members=[7]), "bad.*json: bad.*: got member 7"),
        (_label_space_file(members=[2, 2]), "2 is a member of two classes"),
        (_label_space_file(members=[]), "no class has a member"),
        (_label_space_file(name=None), "classes.0.name: got None"),
      )
    ):
      bad = folder.create_file(f"bad{i}.json", text).full_path
      with self.assertRaisesRegex(
        ValueError, f"bad{i}.json: .*{message}|{message}"
      ):
        label_space.get(bad)
    own = folder.create_file(
      "own.json",
      '{"source_classes": 3, "classes": [{"name": "a", "members": [2]}]}',
    )
    space = label_space.get(own.full_path)
    self.assertEqual((space.name, space.classes), ("own", ("a",)))
    self.assertEqual(float(space.project(jnp.arange(3.0))[0]), 2)


_LISTS = (
  ("typical_200x10", "bbox"),
  ("typical_200x10", "segm"),
  ("ties_200x10", "bbox"),
  ("all_ties", "bbox"),
)


def _stored(case, name):
  return shared_data.golden_json("detection", "coco", case, name)


def _one(**changes):
  row = {"image_id": 1, "category_id": 2, "score": 0.5, "bbox": [1, 2, 3, 4]}
  row |= changes
  return [{k: v for k, v in row.items() if v is not None}]


_TRUTH = {
  "images": [{"id": 1, "width": 9, "height": 9}],
  "categories": [{"id": 2, "name": "cat"}],
  "annotations": [],
}


class ResultListsTest(parameterized.TestCase):
  """Results lists as columns: exact, in their order, checked."""

  @parameterized.parameters(*_LISTS)
  def test_the_list_again_to_the_last_bit(self, case, kind):
    truth = _stored(case, "gt.json.gz")
    results = _stored(case, f"dt_{kind}.json.gz")
    columns = predictions.sort(result_lists.columns(results, truth))
    self.assertEqual(result_lists.kinds(columns, {}), [kind])
    found = result_lists.detections(kind, columns, truth)
    again, given = (
      detection.coco_ap(truth, list_, kind, backend=coco.fastest())
      for list_ in (found, results)
    )
    self.assertEqual(again, given)

  def test_columns(self):
    rows = _one(score=1 / 3) + _one(bbox=[0.1, 0.2, 1 / 3, 1])
    columns = result_lists.columns(rows, _TRUTH)
    self.assertTrue(result_lists.holds_results(columns))
    self.assertEqual(columns["score"].tolist(), [1 / 3, 0.5])
    self.assertEqual(columns["bbox"][1].tolist(), [0.1, 0.2, 1 / 3, 1])
    self.assertEqual(columns["frame"].tolist(), [0, 1])
    self.assertEqual(columns["score"].dtype, np.float64)
    empty = result_lists.columns([], _TRUTH)
    self.assertEqual(empty["bbox"].shape, (0, 4))

  def test_voc_needs_boxes(self):
    mask = {"size": [9, 9], "counts": "a2"}
    columns = result_lists.columns(_one(bbox=None, segmentation=mask), _TRUTH)
    with self.assertRaisesRegex(ValueError, "needs boxes"):
      result_lists.corners(columns, _TRUTH)


class SourceVideosTest(parameterized.TestCase):
  """Videos of anchor sets."""

  @parameterized.parameters(
    (
      "ytbb_robust",
      ["a_b_1000/frame-30.jpg", "a_b_2000/frame-60.jpg", "c_1/frame-2.jpg"],
      ["a_b", "a_b", "c"],
    ),
    (
      "imagenet_vid_robust",
      ["val/ILSVRC2015_val_00000000/000442.JPEG", "val/x_1/000001.JPEG"],
      ["val/ILSVRC2015_val_00000000", "val/x_1"],
    ),
    ("ytbb_robust", ["of another name"], ["of another name"]),
    ("digits_vid_robust", ["a_1/frame-2.jpg"], ["a_1/frame-2.jpg"]),
  )
  def test_of(self, dataset, sets, want):
    got = source_videos.video_ids(dataset, np.array(sets))
    self.assertEqual(got.tolist(), want)


def _truth():
  """Two sets of an anchor and the frame after it, an object each."""
  images = [
    {
      "id": 1 + 2 * s + f,
      "file_name": f"{s}/{f}",
      "group_id": f"{s}/0",
      "frame": f,
      "reviewed": True,
    }
    for s in (0, 1)
    for f in (0, 1)
  ]
  rows = [
    {"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 9, 9]}
    for i in (1, 2, 3, 4)
  ]
  rows = [{**row, "area": 81, "iscrowd": 0} for row in rows]
  categories = [{"id": 1, "name": "cat"}]
  return checks.ground_truth(
    {"images": images, "annotations": rows, "categories": categories}
  )


def _columns(found):
  """A cell in another order than the truth; which frames' objects it finds."""
  names = ["1/1", "0/0", "0/1", "1/0"]
  box = np.array([[0, 0, 9, 9]], np.float32)
  return {
    "example_id": np.array(names),
    "boxes": np.stack([box] * 4),
    "scores": np.ones((4, 1), np.float32),
    "classes": np.array([[0 if n in found else -1] for n in names]),
  }


class WorstFramesTest(absltest.TestCase):
  """Frames by the numbers of their ground truth, and the sets that lose most."""

  def _scored(self, found):
    truth = _truth()
    columns = worst_frames.numbered(_columns(found), truth)
    groups = np.array([i["group_id"] for i in truth["images"]])
    pictures = average_precision.Pictures.from_ids(
      np.arange(1, 5), groups, resampling.Draws.from_groups(groups)
    )
    sets = frame_boxes.Sets.from_images(truth["images"])
    return worst_frames.scored(columns, truth, sets, pictures)

  def test_worst_frames_and_what_they_cost(self):
    first, merged = self._scored({"0/0", "0/1", "1/0"})
    self.assertEqual(first.selected, {1: 1, 3: 4})
    self.assertEqual(first.offsets().tolist(), [0, 1])
    self.assertEqual(first.largest_drops(6), [(3, 4)])
    self.assertEqual(first.classes, {0: 2})
    means = {m: (float(x.value), n) for m, (x, n) in first.means().items()}
    self.assertEqual(means["map_orig"], (1.0, 2))
    self.assertAlmostEqual(means["map_pmk"][0], 51 / 101)  # half are found
    self.assertCountEqual(
      merged.numbers(), [f"localization/{m}" for m in means]
    )

  def test_frames_of_another_run(self):
    columns = {**_columns(()), "example_id": np.array(["0/0"])}
    with self.assertRaisesRegex(
      errors.UserError, "'0/1' is in only one of them"
    ):
      worst_frames.numbered(columns, _truth())


class BestTest(absltest.TestCase):
  """The five best classes: order, ties, few classes, valid rows."""

  def test_best_first_ties_by_lower_id(self):
    logits = np.array([[0, 3, 1, 3, 2, -1, 0]], np.float32)
    got = top_k.best(logits)
    self.assertEqual(got["top5"].tolist(), [[1, 3, 4, 2, 0]])
    want = jax.nn.softmax(logits)[0, [1, 3, 4, 2, 0]]
    np.testing.assert_allclose(got["score"][0], want, rtol=1e-6)

  def test_fewer_classes_are_padded(self):
    got = top_k.best(np.array([[[0.0, 1.0]]], np.float32))
    self.assertEqual(got["top5"].tolist(), [[[1, 0, -1, -1, -1]]])
    self.assertEqual(got["score"][0, 0, 2:].tolist(), [0, 0, 0])


_IDS = list(digits.labels("test"))


def _prepared(name: str, folder: str) -> list[str]:
  """Ids of a set that is prepared, in its order."""
  builder = datasets.prepare(name, data_dir=folder)
  source = inputs.Source(builder, builder.SPLIT, batch_size=1)
  rows = source.metadata((source.pixels,))
  return [strings.text(row["example_id"]) for row in rows]


def _known_columns(
  example_id: str, frame: int, group: str
) -> dict[str, np.ndarray]:
  """Of one row."""
  row = {"example_id": example_id, "group_id": group, "frame": frame}
  return {name: np.array([value]) for name, value in row.items()}


class KnownTest(parameterized.TestCase):
  """What is known of data sets, and what is held against it."""

  def test_official_names(self):
    facts = DataFacts(dataset="imagenet_c", split="validation")
    ids = imagenet.official_names()
    got = example_checks.check_examples("x", facts, 0, ids)
    self.assertEqual(got, ("imagenet_c: its 50,000 examples, by their ids", ""))
    with self.assertRaisesRegex(errors.UserError, "no example 'other'"):
      example_checks.check_examples("x", facts, 0, [*ids[1:], "other"])
    subset = facts.model_copy(update={"subset": "robustbench5k"})
    with self.assertRaisesRegex(errors.UserError, "whose ids are a fixed list"):
      example_checks.check_examples("x", subset, 0, ids[:5000])

  def test_examples_that_are_known_one_by_one(self):
    facts = DataFacts(dataset="digits_c", split="test", subset="")
    got = example_checks.check_examples("x", facts, 0, _IDS)
    self.assertEqual(got, ("digits_c: its 359 examples, by their ids", ""))
    with self.assertRaisesRegex(errors.UserError, "358 examples, but digits_c"):
      example_checks.check_examples("x", facts, 0, _IDS[1:])
    with self.assertRaisesRegex(errors.UserError, "no example 'other'"):
      example_checks.check_examples("x", facts, 1, ["other"])
    other = facts.model_copy(update={"split": "train"})
    with self.assertRaisesRegex(
      errors.UserError, "'train', expected 'test' of"
    ):
      example_checks.check_examples("x", other, 0, _IDS)

  @quick.cases(
    ["digits_c", "cifar10_c", "imagenet_p"],
    ["digits_detection_c", "digits_vid_robust"],
  )
  def test_ids_are_those_of_the_builder(self, name):
    builder = datasets.builder_class(name)
    ids = builder.known_ids()
    self.assertLen(set(ids), len(ids))
    if builder.PUBLISHED_EXAMPLES:
      self.assertLen(ids, builder.PUBLISHED_EXAMPLES)
    else:
      prepared = _prepared(name, self.create_tempdir().full_path)
      in_order = sorted(ids, key=functools.partial(building_base.place, "test"))
      self.assertEqual(prepared, in_order)

  @pytest.mark.slow
  def test_unreviewed_frames_are_known_too(self):
    facts = DataFacts(dataset="digits_vid_robust", split="test", config="all")
    with self.assertRaisesRegex(errors.UserError, "1 examples, but .* 2,520"):
      example_checks.check_examples("x", facts, 0, ["digit_0004/000000.png"])

  def test_of_other_sets_nothing_is_known(self):
    facts = DataFacts(dataset="mine")
    got = example_checks.check_examples("x", facts, 0, ["a"])
    self.assertEqual(got, ("", "that mine has these examples and no others"))
    self.assertEqual(
      example_checks.check_labels("x", "mine", ["a"], np.array([3])), 0
    )
    example_checks.check_kind("mine", "pictures")
    with self.assertRaisesRegex(errors.UserError, "takes the first 2 of mine"):
      example_checks.check_examples("x", facts, 2, ["a"])
    chosen = facts.model_copy(update={"subset": "mine-01234567"})
    got = example_checks.check_examples("x", chosen, 0, ["a"])
    self.assertIn("how the subset mine-01234567 was chosen", got.unverified)

  @parameterized.parameters(
    ("digits_c", "digit_0004", 4),
    ("digits_p", "digit_0004", 4),
    ("digits_vid_robust", "digit_0004/000010.png", 4),
    ("digits_video_p", "test_0011.mp4", 3),
    ("imagenet_c", "n01440764_00000293.JPEG", 0),
    ("imagenet64_p", "ILSVRC2012_val_00000001.JPEG", 65),
  )
  def test_labels_that_ids_tell(self, dataset, example_id, label):
    check = example_checks.check_labels
    self.assertEqual(check("x", dataset, [example_id], np.array([label])), 1)
    with self.assertRaisesRegex(
      errors.UserError, f"got {label + 1}, but its id says class {label}"
    ):
      check("x", dataset, [example_id], np.array([label + 1]))

  @parameterized.parameters(
    ("digits_c", "digit_0004", 0, "digit_0004"),
    ("digits_video_p", "test_0011.mp4", 0, "test_0011.mp4"),
    ("imagenet_p", "ILSVRC2012_val_00000001.JPEG", 0, None),
    ("ucf101_p", "v_Archery_g01_c06.avi", 0, "v_Archery_g01"),
    (*("hmdb51_p", "wave/April_09_wave_u_nm_np1_ba_goo_0.avi", 0), "April_09"),
    ("digits_vid_robust", "digit_0004/000007.png", -3, "digit_0004/000010.png"),
    ("imagenet_vid_robust", "val/x_0/000105.JPEG", 7, "val/x_0/000098.JPEG"),
    ("ytbb_robust", "a_12000/frame-101.jpg", 3, "a_12000/frame-98.jpg"),
    ("cityscapes_c", "ulm_000001_000294_leftImg8bit.png", 294, "ulm_000001"),
    ("coco_c", "139", 2, "139"),
  )
  def test_groups_that_ids_tell(self, dataset, example_id, frame, group):
    columns = _known_columns(example_id, frame, group or example_id)
    example_checks.check_groups("x", dataset, columns)
    with self.assertRaisesRegex(
      errors.UserError, f"x: group_id of '{example_id}': got 'g1', expected"
    ):
      example_checks.check_groups(
        "x", dataset, _known_columns(example_id, frame, "g1")
      )

  def test_ids_that_tell_nothing(self):
    ids, labels = ["n99999999_1.JPEG", "x.JPEG"], np.array([1, 2])
    self.assertEqual(
      example_checks.check_labels("x", "imagenet_c", ids, labels), 0
    )
