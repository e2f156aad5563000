"""Natural sets: TFDS's own layouts made from pictures, ObjectNet's folder."""

import json
import pathlib
from unittest import mock

import numpy as np
import pyarrow as pa
import tensorflow_datasets as tfds
from absl.testing import parameterized
from pyarrow import parquet as pq

from eval.run.model import output_classes
from robust_tfds import datasets, errors, natural_sets, user_data
from robust_tfds.building.sources import imagenet
from tests import tiny_files
from tests.user_data import made

# Of ImageNet: the best answer is no class of the sets that have few.
_RANKED = (500, 41, 409, 700, 3)
_LABELS = [3, 700, 41, 41]
_TABLES = {
  "folder_to_objectnet_label.json": {
    "clock": "Alarm clock",
    "mug": "Mug",
    "other": "Bread",
  },
  "objectnet_to_imagenet_1k.json": {
    "Alarm clock": "analog clock; digital clock",
    "Mug": "coffee mug",
  },
  "pytorch_to_imagenet_2012_id.json": {"409": 1, "530": 0, "504": 2},
}


def ranked(images: np.ndarray) -> np.ndarray:
  """Logits of ImageNet, the same for every picture."""
  logits = np.zeros((len(images), 1000))
  logits[:, _RANKED] = np.arange(len(_RANKED), 0, -1)
  return logits


def prepare(name: str, root: pathlib.Path, labels: list = _LABELS) -> None:
  """A set as TFDS's own builder writes it, without its archive."""
  builder = tfds.builder(name, data_dir=root)
  several = "real_label" in builder.info.features

  def examples():
    for i, label in enumerate(labels):
      file_name = f"ILSVRC2012_val_{i + 1:08d}.JPEG"
      picture = tiny_files.encoded(tiny_files.noise(60, 50 + i, i), "JPEG")
      tiny_files.put(root / "files", {file_name: picture})
      of_label = {"real_label": label, "original_label": 0}
      yield (
        file_name,
        {
          "image": str(root / "files" / file_name),
          "file_name": file_name,
          **(of_label if several else {"label": label}),
        },
      )

  split = {"validation" if several else "test": examples()}
  with mock.patch.object(builder, "_split_generators", lambda *_: split):
    builder.download_and_prepare()


def validation(root: pathlib.Path) -> None:
  """ImageNet's pictures, the last one of another class."""
  for i, label in enumerate((3, 700, 41, 8)):
    picture = tiny_files.encoded(tiny_files.noise(60, 70, 90 + i), "JPEG")
    name = f"val/{imagenet.wnids()[label]}/ILSVRC2012_val_0000000{i}.JPEG"
    tiny_files.put(root, {name: picture})


def objectnet(root: pathlib.Path) -> pathlib.Path:
  """The archive's folder: red borders, and a class that ImageNet lacks."""
  files = {f"mappings/{n}": json.dumps(t).encode() for n, t in _TABLES.items()}
  files["mappings/imagenet_to_label_2012_v2"] = (
    b"digital clock\nanalog clock\ncoffee mug\n"
  )
  for seed, name in enumerate(("clock", "clock", "mug", "other")):
    pixels = np.full((34, 34, 3), (255, 0, 0), np.uint8)
    pixels[1:-1, 1:-1] = tiny_files.noise(32, 32, seed)
    picture = tiny_files.encoded(pixels)
    files[f"images/{name}/{seed}.png"] = picture
  tiny_files.put(root / "objectnet-1.0", files)
  return root / "objectnet-1.0"


def of_folders(root: pathlib.Path) -> None:
  """ImageNet-D, -ES and LAION-C as their authors lay them out, tiny."""
  parts = "mosaic stickers vertical_lines geometric_shapes glitched"
  places = [
    *(f"ImageNet-D/background/{name}" for name in ("chair", "mug")),
    *(f"ImageNet-D/{part}/chair" for part in ("texture", "material")),
    *(f"ImageNet-ES/es-test/param_control/l{i}/param_1" for i in (1, 5)),
    *(
      f"LAION-C/{part}/intensity_level_{level}/{name}"
      for part in (*parts.split(), "luminance_checkerboard")
      for level in (1, 5)
      for name in ("cat", "dog")
    ),
  ]
  files = {"ImageNet-D/questions/background.csv": b"image,question"}
  for seed, place in enumerate(places):
    wnid = f"/{imagenet.wnids()[(41, 700)[seed % 2]]}" * ("param" in place)
    picture = tiny_files.encoded(tiny_files.noise(40, 50, seed))
    files[f"{place}{wnid}/{seed}.png"] = picture
  tiny_files.put(root, files)


def parquet(root: pathlib.Path, labels: list) -> pathlib.Path:
  """ImageNet-Hard as the hub has it: two parts, lists of labels."""
  rows = [
    {
      "image": {"bytes": tiny_files.encoded(tiny_files.noise(40, 50, i))},
      "label": known,
      "origin": "imagenet_a",
    }
    for i, known in enumerate(labels)
  ]
  folder = root / "imagenet-hard" / "data"
  folder.mkdir(parents=True, exist_ok=True)
  half = len(rows) // 2
  for i, part in enumerate((rows[:half], rows[half:])):
    file = folder / f"validation-0000{i}-of-00002-5f63.parquet"
    pq.write_table(pa.Table.from_pylist(part), file)
  return folder


def domains(root: pathlib.Path) -> None:
  """Two domains of COCO-O, each of two pictures with a box."""
  content = {
    "images": [
      {"id": i, "file_name": f"{i}.jpg", "height": 64, "width": 64}
      for i in (1, 2)
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 3, "name": "car"}],
    "annotations": [
      {
        "id": i,
        "image_id": i,
        "category_id": 2 * i - 1,
        "bbox": [8, 8, 40, 40],
        "area": 1600,
        "iscrowd": 0,
      }
      for i in (1, 2)
    ],
  }
  for domain in ("sketch", "tattoo"):
    tiny_files.put(
      root / "ood_coco" / domain,
      {
        "annotations/instances_val2017.json": json.dumps(content).encode(),
        **{
          f"val2017/{i}.jpg": tiny_files.encoded(
            tiny_files.noise(64, 64, i), "JPEG"
          )
          for i in (1, 2)
        },
      },
    )


def unsure(images: np.ndarray) -> np.ndarray:
  """A cat is certain, and 100 dogs are likely: in sum dogs, in the mean a cat."""
  logits = np.full((len(images), 1000), -9.0)
  logits[:, 281], logits[:, 151:251], logits[:, 504] = 4, 2, 5
  return logits


class NaturalTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.data = self.folder / "data"

  def _run(self, dataset, model=ranked, **options):
    dirs = {"data_dir": self.data, "manual_dir": self.folder}
    few = {"conditions": None, **dirs, **options}
    return made.evaluate(model, dataset, **few)

  def _builder(self, dataset):
    dirs = {"data_dir": str(self.data), "manual_dir": str(self.folder)}
    return datasets.builder_class(dataset, user_data.Options(**dirs))

  @parameterized.parameters(
    ("imagenet_a", "imagenet_a", _LABELS, 0.5, "of 3 classes (n01491361, "),
    ("imagenet_v2/topimages", "imagenet_v2/topimages", [500, 3], 0.5, "1000"),
    (
      "imagenet2012_real",
      "imagenet2012_real",
      [[3, 500], [], [3], [500, 7, 9]],
      1 / 3,
      "pictures without a label left out: 1",
    ),
  )
  def test_error_on_its_classes(self, name, source, labels, error, words):
    prepare(source, self.data, labels)
    result, said = self._run(name)
    self.assertAlmostEqual(result.summary["clean_error"], error)
    self.assertEqual({row.config for row in result.table}, {"", "clean"})
    self.assertIn(words, said)
    self.assertIn("terms: ", said)

  def test_prepared_and_under_corruptions(self):
    labels = [[3, 500], [3], [500, 7, 9]]
    prepare("imagenet2012_real", self.data, labels)
    fly, ready = self.folder / "fly", self.folder / "prepared"
    for workdir in (fly, ready):
      result, _ = self._run(
        "imagenet2012_real",
        workdir=workdir,
        source=workdir.name,
        conditions="gaussian_noise",
      )
    self.assertEqual(made.cells(fly), made.cells(ready))
    name = "part_mean_corruption_error"
    self.assertAlmostEqual(result.summary[name], 1 / 3)
    self.assertNotIn("mce", result.summary)

  def test_objectnet(self):
    objectnet(self.folder)
    result, said = self._run("objectnet")
    self.assertAlmostEqual(result.summary["clean_error"], 1 / 3)
    self.assertIn("objectnet: 3 examples of 2 classes (Alarm clock, Mug)", said)
    self.assertIn("never tune", said)
    made_of = self._builder("objectnet")
    builder = datasets.builder(made_of, "clean", geometry="whole")
    pictures = [each.picture.read() for each in builder._sources(None)]
    for seed, picture in enumerate(pictures):
      np.testing.assert_array_equal(picture, tiny_files.noise(32, 32, seed))

  @parameterized.parameters(
    ("laion_c", unsure, 1 / 2, "of 16 classes", "12 parts of 2 pictures"),
    ("laion_c/glitched", unsure, 1 / 2, "laion_c_glitched: 4", "2 parts of 2"),
    ("imagenet_d", unsure, 3 / 4, "of 113 classes", "1 to 2 pictures: the er"),
    ("imagenet_es", ranked, 1 / 2, "of 2 classes (n01685808", "CC BY 4.0"),
  )
  def test_folders(self, name, model, error, *words):
    of_folders(self.folder)
    result, said = self._run(name, model)
    self.assertAlmostEqual(result.summary["clean_error"], error)
    for each in words:
      self.assertIn(each, said)

  def test_parquet(self):
    """Right if among the list; by the positions of the parts in their order."""
    place = parquet(self.folder, [[3, 500], [41], [7, 500, 9], [700]])
    result, said = self._run("imagenet_hard")
    self.assertAlmostEqual(result.summary["clean_error"], 1 / 2)
    for words in (
      "4 examples of 1000 classes",
      "terms: MIT",
      f"{place.parent}",
    ):
      self.assertIn(words, said)

  @parameterized.parameters(
    (lambda f: f.unlink(), [[3]] * 4, "parts 1 of 2, expected all parts"),
    (
      lambda f: f.with_name("validation-00000-of-00005.parquet").touch(),
      [[3]] * 4,
      "2 splits or downloads, expected all parts",
    ),
    (lambda f: f.write_bytes(b"PAR1"), [[3]] * 4, "not a whole Parquet file"),
    (lambda f: None, [[3], [1000]] * 2, "row 2 has label .1000., expected"),
    (lambda f: None, [3] * 4, "row 1 has label 3, expected"),
  )
  def test_broken_parquet(self, spoil, labels, words):
    place = parquet(self.folder, labels)
    spoil(place / "validation-00000-of-00002-5f63.parquet")
    with self.assertRaisesRegex(errors.UserError, words):
      self._run("imagenet_hard")

  def test_coco_o(self):
    domains(self.folder)

    def boxes(image):
      del image
      return {"boxes": [[8, 8, 48, 48]], "scores": [0.9], "classes": [0]}

    for domain in ("sketch", "tattoo"):
      made_of = self._builder(f"coco_o/{domain}")
      self.assertEqual(made_of.set_name(), f"coco_o_{domain}")
      self.assertEqual(made_of.OWN.classes, ("person", "car"))
    result, said = self._run("coco_o", boxes, size=None)
    self.assertIn("coco_o_sketch: 2 examples of 2 classes (person, car)", said)
    self.assertEqual({row.config for row in result.table}, {"", "clean"})
    self.assertAlmostEqual(result.summary["p"], 1 / 2)
    with self.assertRaisesRegex(FileNotFoundError, "painting/annotations/inst"):
      self._run("coco_o/painting", boxes, size=None)
    with self.assertRaisesRegex(errors.UserError, "Unknown coco_o's config"):
      self._run("coco_o/reference", boxes, size=None)

  def test_superclasses_by_the_mean(self):
    """The authors' loop over classes, on random outputs."""
    of_set = natural_sets.groups("laion_c")
    logits = np.random.default_rng(0).normal(size=(50, 1000)) * 3
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    means = [shares[:, list(g)].mean(-1) for g in of_set.values()]
    outputs = output_classes.from_members(
      list(of_set.values()), list(of_set), joined="mean"
    )
    got = np.asarray(outputs.relabelling(logits))
    np.testing.assert_array_equal(
      got.argmax(-1), np.stack(means, -1).argmax(-1)
    )

  @parameterized.parameters(
    ("laion_c/mosaic", "LAION-C/mosaic/x/catt/1.png", "Did you mean 'cat'"),
    ("laion_c", None, "LAION-C/stickers: no picture"),
    ("laion_c/mosaik", None, "Did you mean 'mosaic'"),
  )
  def test_broken_folders(self, name, file, words):
    picture = tiny_files.encoded(tiny_files.noise(40, 50, 0))
    first = "LAION-C/mosaic/intensity_level_1/dog/0.png"
    tiny_files.put(self.folder, {file or first: picture})
    with self.assertRaisesRegex(errors.UserError, words):
      self._run(name)

  @parameterized.parameters(
    ("mappings/objectnet_to_imagenet_1k.json", None, "1k.json missing"),
    ("mappings/pytorch_to_imagenet_2012_id.json", b"{}", "do not go together"),
    ("images/mug/2.png", None, "mug: no picture"),
  )
  def test_a_broken_objectnet(self, file, data, words):
    place = objectnet(self.folder) / file
    place.unlink() if data is None else place.write_bytes(data)
    with self.assertRaisesRegex(errors.UserError, words):
      self._run("objectnet")

  def test_refused(self):
    with self.assertRaisesRegex(FileNotFoundError, "unzip -P PASSWORD objectn"):
      self._run("objectnet")
    with self.assertRaisesRegex(FileNotFoundError, "LAION-C.tar with them"):
      self._run("laion_c")
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'topimages'"):
      self._run("imagenet_v2/topimage")
    prepare("imagenet_a", self.data)
    with self.assertRaisesRegex(errors.UserError, "has its name"):
      self._run("imagenet_a", name="mine")
    with self.assertRaisesRegex(errors.UserError, "answered .* 3 or 1000"):
      self._run("imagenet_a", lambda images: np.zeros((len(images), 10)))
    with self.assertRaisesRegex(errors.UserError, "name of a natural set"):
      self._run("tfds:imagenet_a")
    version = next((self.data / "imagenet_a").iterdir())
    version.rename(version.with_name("9.9.9"))
    with self.assertRaisesRegex(errors.UserError, "holds version 9.9.9"):
      self._run("imagenet_a")

  def test_the_reference(self):
    prepare("imagenet_a", self.data)
    validation(self.folder)
    held = self._builder("imagenet_a/reference").OWN
    self.assertEqual([file.label for file in held.files()], [0, 2, 1])
    self.assertEqual(held.name, "imagenet_a_reference")
