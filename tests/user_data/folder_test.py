"""`folder:PATH`: what is listed, and what is refused by file."""

import json
import os
import pathlib
import unicodedata
from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized

from models import adapters
from models.spec import Spec
from robust_tfds import datasets, errors
from tests import tiny_files
from tests.user_data import made

_PNG = tiny_files.encoded(tiny_files.noise(9, 7))


def _odd() -> list[bytes]:
  """To be turned, of an alpha channel that hides nothing, of two frames."""
  first, second = (tiny_files.smooth(40, 33, seed) for seed in (1, 2))
  exif = first.getexif()
  exif[274] = 6
  frames = {"save_all": True, "append_images": [second]}
  return [
    tiny_files.encoded(first, "PNG", exif=exif),
    tiny_files.encoded(first.convert("RGBA"), "PNG"),
    tiny_files.encoded(first, "GIF", **frames),
  ]


class FolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = made.folder(pathlib.Path(self.create_tempdir().full_path) / "p")

  def _own(self):
    return datasets.builder_class(f"folder:{self.root}").OWN

  def test_listed(self):
    tiny_files.put(
      self.root,
      {
        **{"Thumbs.db": "", "cat/._1.png": "", "cat/a.txt": "", "x.png": _PNG},
        **{
          "__MACOSX/cat/._0.png": "",
          "dog/y/8.png": _PNG,
          "dog/z/9.png": _PNG,
        },
        **{f"dog/z/{i}.png": each for i, each in enumerate(_odd())},
      },
    )
    own = self._own()
    self.assertEqual(own.classes, made.CLASSES)
    ids = [file.name for file in own.files()]
    self.assertEqual(
      ids[:4],
      [f"Füchse/{n}" for n in ("0.png", "1.jpeg", "2.png", "deep/3.jpeg")],
    )
    self.assertEqual(
      [file.label for file in own.files()], [0] * 4 + [1] * 4 + [2] * 9
    )
    self.assertContainsSubsequence(
      own.words.split("; "),
      [
        "hidden files left out: 2",
        "files that are no pictures left out: 2",
        "pictures beside the class folders left out: 1",
        "pictures have a side below 32 px: 2",
        "pictures turned upright as their EXIF data ask: 1",
        "pictures have more frames, of which the first was taken: 1",
        "files that repeat another of their class, byte for byte: 1.",
      ],
    )

  def test_ids_are_of_one_unicode_form(self):
    decomposed = unicodedata.normalize("NFD", "Füchse")
    os.rename(self.root / "Füchse", self.root / decomposed)
    self.assertEqual(self._own().files()[0].name, "Füchse/0.png")
    self.assertEqual(self._own().classes, made.CLASSES)

  def test_a_link_inside(self):
    (self.root / "cat" / "again").symlink_to(self.root / "cat" / "deep")
    ids = [file.name for file in self._own().files()]
    self.assertIn("cat/again/3.jpeg", ids)

  @parameterized.parameters(
    ({"DOG/9.png": _PNG}, "the classes 'DOG' and 'dog' differ by case"),
    (
      {"cat/0.PNG": _PNG},
      "pictures 'cat/0.PNG' and 'cat/0.png' differ by case",
    ),
    ({"owl/.keep": ""}, "owl: a class without a picture. Add"),
    ({"a\nb/1.png": _PNG}, "control characters in its name"),
    ({"cat/up": "cat"}, "cat/up: a link to a folder above it. Remove it"),
    ({"cat/out": ".."}, "out: a link out of"),
    ({"cat/out.png": "nothing.png"}, "out.png: cannot be read"),
  )
  def test_refused(self, files, words):
    ((name, content),) = files.items()
    if isinstance(content, str) and content:
      (self.root / name).symlink_to(self.root / content)
    else:
      tiny_files.put(self.root, files)
    with self.assertRaisesRegex(errors.UserError, words):
      self._own()

  def test_a_home_folder(self):
    with mock.patch.dict(os.environ, {"HOME": str(self.root.parent)}):
      own = datasets.builder_class("folder:~/p").OWN
    self.assertLen(own.files(), 12)

  def test_numbers_are_names(self):
    """A list, a file, name -> output; places below `index` alone."""
    numbers = [str(i) for i in range(12)]
    years = ["2019", "2020", "2021"]
    lines = lambda *words: (
      self.create_tempfile(content="\n".join(words)).full_path
    )
    for names, classes in (
      (numbers, numbers),
      (numbers, list(range(12))),
      (numbers, lines(*numbers)),
      (numbers, {name: i for i, name in enumerate(numbers)}),
      (numbers, "numeric"),
      (years, years),
      (years, None),
      (years, lines("index", "0", "1", "2")),
      (["class_1", "class_2", "class_10"], "numeric"),
    ):
      root = made.greys(self.root / f"of_{names[-1]}", names)
      given = {} if classes is None else {"classes": classes}
      result, _ = made.evaluate(
        made.nearest(names, names),
        f"folder:{root}",
        conditions="none",
        **given,
      )
      self.assertEqual(result.summary["clean_error"], 0, classes)
    result, _ = made.evaluate(
      made.nearest(numbers, sorted(numbers)),
      f"folder:{self.root}/of_11",
      conditions="none",
      classes="textual",
    )
    self.assertEqual(result.summary["clean_error"], 0)

  def test_a_torch_network_needs_no_number_of_classes(self):
    torch = pytest.importorskip("torch")
    names = ["a", "b", "c", "d", "e"]
    greys = torch.tensor([(5 + 20 * i) / 255 for i in range(5)])

    class Net(torch.nn.Module):
      def __init__(self):
        super().__init__()
        self.greys = torch.nn.Parameter(greys)

      def forward(self, pixels):
        seen = pixels[:, :, 8:-8, 8:-8].mean((1, 2, 3))
        return {"logits": -((seen[:, None] - self.greys) ** 2), "seen": seen}

    spec = Spec(input_px=32, mean=(0, 0, 0), std=(1, 1, 1))
    model = adapters.get("torch")(Net().eval(), spec)
    root = made.greys(self.root / "five", names)
    result, _ = made.evaluate(
      model, f"folder:{root}", conditions="none", size=None
    )
    self.assertEqual(result.summary["clean_error"], 0)

  def test_functions_that_write_into_their_pictures(self):
    names = ["ant", "bee", "cat"]
    root = made.greys(self.root / "three", names)
    right = made.nearest(names, names)

    def writes(pictures):
      answer = right(pictures)
      pictures[...] = 0
      return answer

    models = {"writes": writes, "reads": right}
    result, _ = made.evaluate(models, f"folder:{root}", conditions="none")
    for label in models:
      self.assertEqual(result.summary[f"{label}/clean_error"], 0)

  def test_the_same_outputs_for_all_pictures_are_said(self):
    names = ["ant", "bee"]
    root = made.greys(self.root / "two", names)

    def same(pictures):
      return np.tile(np.float32([0, 3]), (len(pictures), 1))

    result, said = made.evaluate(same, f"folder:{root}", conditions="none")
    self.assertEqual(result.summary["clean_error"], 0.5)
    self.assertIn("same: gives the same outputs for all 4 pictures", said)
    right = made.nearest(names, names)
    _, said = made.evaluate(right, f"folder:{root}", conditions="none")
    self.assertNotIn("the same outputs", said)

  @parameterized.parameters(
    (
      ["0", "1", "2", "10"],
      None,
      "textual 0, 1, 10, 2; numeric 0, 1, 2, 10. Say .*'textual'",
    ),
    (["c_9", "c_10"], None, "textual c_10, c_9; numeric c_9, c_10"),
    (["1_cat", "2_dog", "10_owl"], None, "textual 10_owl, 1_cat, 2_dog; num"),
    (["2019", "2020"], [0, 1], "e.g. '0'; expected names .* 'index'"),
    (["1", "2", "3"], [0, 1, 2], "line 1: '0' is no class, and '3'"),
    (["cat", "dog"], "numeric", "classes are cat, dog, .*expected numbers"),
    (["cat", "dog"], "numbers", "'textual' or 'numeric' for their order"),
  )
  def test_numbers_of_another_order_are_refused(self, names, classes, words):
    root = made.greys(self.root / "n", names)
    given = {} if classes is None else {"classes": classes}
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(
        made.nearest(names, names),
        f"folder:{root}",
        conditions="none",
        **given,
      )

  def test_broken_files_are_named_together(self):
    """Ten of them; or left out, and counted."""
    names = ["cat", "dog"]
    root = made.greys(self.root / "broken", names)
    whole = tiny_files.encoded(tiny_files.noise(64, 64), "JPEG")
    for i in range(12):
      cut = whole[: len(whole) // 2] + bytes([i])
      tiny_files.put(root, {f"dog/cut{i:02}.jpg": cut})
    function, text = made.nearest(names, names), f"folder:{root}"
    words = (
      r"12 of 16 files .*:\n(.*cut0.*\n){10}\.\.\. and 2 more.*\n.*skip_err"
    )
    with self.assertRaisesRegex(errors.UserError, words):
      made.evaluate(function, text, conditions="none")
    workdir = self.root / "run"
    result, said = made.evaluate(
      function, text, conditions="none", skip_errors=True, workdir=workdir
    )
    self.assertIn("left out: 12 (dog/cut00.jpg, dog/cut01", said)
    self.assertEqual([r.n for r in result.table if r.metric == "error"], [4])
    kept = json.loads((workdir / "config.json").read_text())
    self.assertTrue(kept["data"]["skip_errors"])
    result.report(self.root / "report")
    pages = (self.root / "report").rglob("*.md")
    self.assertTrue(
      any(
        "12 files that cannot be read left out" in p.read_text() for p in pages
      )
    )

  def test_a_table_of_labels(self):
    names = ["2", "10", "9"]
    folders, flat = made.greys(self.root / "f", names), self.root / "flat"
    rows = ["path,label"]
    for i, file in enumerate(sorted(folders.rglob("*.png"))):
      tiny_files.put(flat, {f"deep/{i}.png": file.read_bytes()})
      rows.append(f"deep/{i}.png,{file.parent.name}")
    tiny_files.put(flat, {"7.png": _PNG})
    table = self.root / "labels.csv"
    table.write_text("\n".join(rows))
    function = made.nearest(names, names)
    few = {"conditions": "none", "labels": table}
    result, said = made.evaluate(
      function, f"folder:{flat}", classes=names, **few
    )
    self.assertEqual(result.summary["clean_error"], 0)
    self.assertIn("pictures without a label left out: 1", said)
    with self.assertRaisesRegex(errors.UserError, "textual 10, 2, 9; num"):
      made.evaluate(function, f"folder:{flat}", **few)
    for row, words in (
      ("no.png,2", "row 7: 'no.png' is no picture below"),
      ("../f/2/0.png,2", "row 7: '../f/2/0.png' is no picture below"),
      ("deep/0.png,2", "row 7: 'deep/0.png' stands twice"),
      ("7.png,", "row 7: '7.png' has no label"),
    ):
      table.write_text("\n".join([*rows, row]))
      with self.assertRaisesRegex(errors.UserError, words):
        made.evaluate(function, f"folder:{flat}", **few)

  def test_class_folders_that_are_links(self):
    (self.root.parent / "links").mkdir()
    for name in made.CLASSES:
      (self.root.parent / "links" / name).symlink_to(self.root / name)
    linked = datasets.builder_class(f"folder:{self.root.parent}/links").OWN
    self.assertEqual(linked.content, self._own().content)

  def test_no_classes(self):
    with self.assertRaisesRegex(
      errors.UserError, "two folders or more.* got 1"
    ):
      datasets.builder_class(f"folder:{self.root}/cat")
    root = self.root / "v"
    tiny_files.put(root, {"a/1.mp4": "", "b/2.mov": ""})
    with self.assertRaisesRegex(errors.UserError, f"name videos:{root}"):
      datasets.builder_class(f"folder:{root}")
    with self.assertRaisesRegex(
      errors.UserError, f"name folder:{self.root}/cat"
    ):
      datasets.builder_class(f"videos:{self.root}/cat")
    place = made.folder(self.root / "x" / "val").parent
    with self.assertRaisesRegex(
      errors.UserError, "holds the splits val, .*/val"
    ):
      datasets.builder_class(f"folder:{place}")
