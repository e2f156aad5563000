"""Sources that are folders."""

import gzip
import io
import pathlib
import tarfile
import zipfile
from unittest import mock

import numpy as np
from absl.testing import parameterized

from robust_tfds import datasets, errors, missing
from robust_tfds.building import geometry
from robust_tfds.building.sources import folders, frost, imagenet
from robust_tfds.corruptions import frost_pictures
from robust_tfds.storage import paths
from tests import frost_folder, in_folder, tiny_files
from tests.building.sources import action_layouts, small_sets


class FindTest(in_folder.TestCase):
  """Files in folders and archives; texts; archives that are extracted once."""

  def _tar(self, members, *links):
    (self.root / "a.tar").write_bytes(tiny_files.tar(members, *links))

  def _find(self, **kwargs):
    return folders.find(
      self.root,
      "top/below",
      ["a.tar", "b.zip"],
      instructions="Get it.",
      **kwargs,
    )

  def _data(self, **kwargs):
    return {name: f.data() for name, f in self._find(**kwargs).items()}

  def test_folder_before_archives(self):
    self._tar([("top/below/x", b"tar")])
    (self.root / "top/below/deep").mkdir(parents=True)
    (self.root / "top/below/deep/y").write_bytes(b"folder")
    self.assertEqual(self._data(), {"deep/y": b"folder"})

  def test_the_marker_decides(self):
    self._tar([("./top/below/x", b"tar"), ("top/below/test.txt", b"1")])
    (self.root / "top/below").mkdir(parents=True)
    (self.root / "top/below/y").write_bytes(b"folder")
    self.assertEqual(
      self._data(marker="test.txt"), {"x": b"tar", "test.txt": b"1"}
    )

  def test_other_folders_are_left_out(self):
    self._tar([("top/below/x", b"in"), ("top/belowish/z", b"other")])
    self.assertEqual(self._data(), {"x": b"in"})

  def test_what_systems_leave_in_a_folder(self):
    self._tar([("top/below/x", b"in"), ("top/below/._x", b"mac")])
    self.assertEqual(self._data(), {"x": b"in"})
    (self.root / "top/below").mkdir(parents=True)
    for name in ("y", "._y.png", ".DS_Store", "Thumbs.db"):
      (self.root / "top/below" / name).write_bytes(b"folder")
    self.assertEqual(self._data(), {"y": b"folder"})

  def test_zip(self):
    with zipfile.ZipFile(self.root / "b.zip", "w") as z:
      z.writestr("top/below/", b"")
      z.writestr("top/below/x", b"zip" * 50, zipfile.ZIP_DEFLATED)
    self.assertEqual(self._data(), {"x": b"zip" * 50})

  def test_a_replaced_archive_is_read_again(self):
    self._tar([("top/below/x", b"old")])
    self.assertEqual(self._data(), {"x": b"old"})
    self._tar([("top/below/filler", b"x" * 20000), ("top/below/x", b"new")])
    self.assertEqual(self._data()["x"], b"new")

  def test_cut_off(self):
    self._tar([("top/below/x", b"1" * 5000)])
    found = self._find()
    data = (self.root / "a.tar").read_bytes()
    (self.root / "a.tar").write_bytes(data[:3000])
    with self.assertRaisesRegex(ValueError, "a.tar: top/below/x: .*ownload"):
      found["x"].data()
    with self.assertRaisesRegex(
      ValueError, "a.tar: (not a whole|top/below/x: the archive is cut)"
    ):
      self._find()
    (self.root / "a.tar").write_bytes(b"<html>404</html>")
    with self.assertRaisesRegex(
      ValueError, "a.tar: (not a whole|top/below/x: the archive is cut)"
    ):
      self._find()

  def test_missing(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "top/below/m is not in .*a.tar, b.zip.\nGet it."
    ):
      self._find(marker="m")


class FoldersTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    for name in ("one", "two"):
      (self.root / name / "metadata").mkdir(parents=True)
    self.files = folders.SourceFolders(
      (self.root / "one", self.root / "two"), "Put them there."
    )

  def _text(self, name, places):
    return folders.text(self.files.file(name, places))

  def test_the_first_root_counts_and_gzip_is_read(self):
    second = self.root / "two" / "metadata"
    (second / "a.json.gz").write_bytes(gzip.compress("ä".encode()))
    self.assertEqual(self._text("a.json", (".", "metadata")), "ä")
    (self.root / "one" / "a.json").write_text("plain")
    self.assertEqual(self._text("a.json", (".", "metadata")), "plain")

  def test_absent_texts(self):
    self.assertIsNone(self.files.optional_file("b", (".",)))
    with self.assertRaisesRegex(
      FileNotFoundError, "No b. Looked for .*one/b, .*two/b.\nPut them there"
    ):
      self.files.file("b", (".",))

  @parameterized.parameters(
    ("a", b"\xff\xfe", "UTF-16"),
    ("a.gz", gzip.compress(b"a\xff"), "not UTF-8"),
    ("a.gz", b"no gzip", "cannot be unpacked"),
    ("a.gz", gzip.compress(b"text")[:-4], "cannot be unpacked"),
    ("a.gz", gzip.compress(bytes(1 << 27)), "ROBUST_TFDS_LIMITS"),
  )
  def test_broken_texts(self, name, data, message):
    (self.root / "one" / name).write_bytes(data)
    with self.assertRaisesRegex(ValueError, f"one/{name}: .*{message}"):
      self._text("a", (".",))

  def test_folders(self):
    self.assertEqual(
      self.files.folder(("frames", "metadata")), self.root / "one" / "metadata"
    )
    self.assertIsNone(self.files.optional_folder(("frames",)))


class ExtractedTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    downloads = pathlib.Path(self.create_tempdir().full_path)
    self.manager = mock.Mock(manual_dir=self.root, download_dir=downloads)

  def _roots(self):
    return folders.extracted(self.manager, ("a.tar.gz", "a.tar"), "a")

  def _tar(self, text):
    (self.root / "source.txt").write_text(text)
    with tarfile.open(self.root / "a.tar.gz", "w:gz") as tar:
      tar.add(self.root / "source.txt", "a/b.txt")

  def test_only_where_its_folder_is_not_there(self):
    self.assertEqual(self._roots(), (self.root,))
    self._tar("old")
    root, place = self._roots()
    self.assertEqual(root, self.root)
    self.assertEqual((place / "a/b.txt").read_text(), "old")
    self.assertEqual(self._roots(), (root, place))
    self._tar("replaced")
    self.assertEqual((self._roots()[1] / "a/b.txt").read_text(), "replaced")
    (self.root / "a").mkdir()
    self.assertEqual(self._roots(), (self.root,))


class _NoManualDir:
  """TFDS's download manager where no manual dir is there."""

  def __init__(self, download):
    self.download = download

  @property
  def manual_dir(self):
    raise AssertionError("no manual dir")


class FrostTest(in_folder.TestCase):
  """Where builders find the frost pictures: where all do, else by a download."""

  def _nowhere(self):
    absent = missing.MissingError(missing.Lack("frost", "Nowhere."))
    return mock.patch.object(frost_pictures, "folder", side_effect=absent)

  def test_where_all_look(self):
    installed = pathlib.Path("/installed/frost")
    manager = mock.Mock(manual_dir=self.root)
    with mock.patch.object(
      frost_pictures, "folder", return_value=installed
    ) as look:
      self.assertEqual(frost.find(manager), str(installed))
    look.assert_called_once_with(paths.parse(self.root))
    manager.download.assert_not_called()

  def test_then_the_download_with_names_of_its_own(self):
    drawn = frost_folder.drawn()
    manager = _NoManualDir(lambda urls: {name: drawn / name for name in urls})
    with self._nowhere():
      folder = pathlib.Path(frost.find(manager))
    for name in frost_pictures.SHA256:
      self.assertEqual(
        (folder / name).read_bytes(), (drawn / name).read_bytes()
      )

  def test_no_network_says_what_to_do(self):
    manager = _NoManualDir(mock.Mock(side_effect=RuntimeError("offline")))
    with self._nowhere():
      with self.assertRaisesRegex(FileNotFoundError, "offline.*folder `frost`"):
        frost.find(manager)


def _jpeg(seed=0) -> bytes:
  return tiny_files.encoded(tiny_files.noise(40, 60, seed), "JPEG")


class SourcesTest(in_folder.TestCase):
  def _labels(self):
    return [(f.name, f.label) for f in imagenet.clean(self.root)]

  def test_files_named_by_wnid(self):
    (self.root / "n01443537_goldfish.JPEG").write_bytes(_jpeg())
    self.assertEqual(self._labels(), [("n01443537_goldfish.JPEG", 1)])

  def test_official_names_with_the_devkits_truth(self):
    from scipy import io as scipy_io

    folder = self.root / "val"
    folder.mkdir()
    for i in (1, 2):
      (folder / f"ILSVRC2012_val_{i:08d}.JPEG").write_bytes(_jpeg())
    (self.root / "ILSVRC2012_validation_ground_truth.txt").write_text("7\n5\n")
    rows = np.array(
      [(5, "n01440764"), (7, "n01443537")],
      dtype=[("ILSVRC2012_ID", "O"), ("WNID", "O")],
    )
    scipy_io.savemat(self.root / "meta.mat", {"synsets": rows})
    self.assertEqual([label for _, label in self._labels()], [1, 0])

  def test_official_names_with_the_list_of_tfds(self):
    (self.root / "ILSVRC2012_val_00000001.JPEG").write_bytes(_jpeg())
    # The first validation image is a sea snake, n01751748.
    self.assertEqual(self._labels(), [("ILSVRC2012_val_00000001.JPEG", 65)])

  def _tar(self, name, data, kind=tarfile.REGTYPE):
    with tarfile.open(self.root / imagenet.VALIDATION_TAR, "a") as tar:
      member = tarfile.TarInfo(name)
      member.size, member.type = len(data), kind
      tar.addfile(member, io.BytesIO(data))

  def test_devkit_in_its_archive(self):
    from scipy import io as scipy_io

    (self.root / "ILSVRC2012_val_00000001.JPEG").write_bytes(_jpeg())
    meta = io.BytesIO()
    kinds = [("ILSVRC2012_ID", "O"), ("WNID", "O")]
    rows = np.array([(5, "n01440764"), (7, "n01443537")], dtype=kinds)
    scipy_io.savemat(meta, {"synsets": rows})
    for truth, meta_data, message in (
      (b"7\n", meta.getvalue(), ""),
      (b"9\n", meta.getvalue(), "ground_truth.txt, line 1: synset 9 is not in"),
      (b"7\nx\n", meta.getvalue(), "line 2: the number of a synset expected"),
      (b"7\n", b"no matlab", "meta.mat beside it cannot be read"),
      (b"7\n", None, "devkit_t12.tar.gz: holds no meta.mat"),
    ):
      folder = "ILSVRC2012_devkit_t12/data"
      files = {f"{folder}/ILSVRC2012_validation_ground_truth.txt": truth}
      if meta_data is not None:
        files[f"{folder}/meta.mat"] = meta_data
      archive = self.root / "ILSVRC2012_devkit_t12.tar.gz"
      archive.write_bytes(tiny_files.tar(files, mode="w:gz"))
      if message:
        with self.assertRaisesRegex(errors.UserError, message):
          self._labels()
      else:
        self.assertEqual(self._labels()[0][1], 1)

  def test_tar_is_read_in_place(self):
    data = _jpeg(seed=3)
    self._tar("ILSVRC2012_val_00000001.JPEG", data)
    (found,) = imagenet.clean(self.root)
    self.assertEqual(found.name, "ILSVRC2012_val_00000001.JPEG")
    self.assertEqual(found.data(), data)
    self.assertLen(list(self.root.parent.rglob("*.JPEG")), 0)

  def test_missing_data_says_what_was_looked_for(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "Looked for: ILSVRC2012_img"
    ):
      imagenet.clean(self.root)

  def test_image_without_label_is_named(self):
    (self.root / "cat.JPEG").write_bytes(_jpeg())
    with self.assertRaisesRegex(ValueError, "cat.JPEG has no label"):
      imagenet.clean(self.root)

  @parameterized.parameters((_jpeg()[:300],), (b"no image at all",))
  def test_broken_image_is_named(self, data):
    (self.root / "n01443537_x.JPEG").write_bytes(data)
    with self.assertRaisesRegex(ValueError, "n01443537_x.JPEG cannot be read"):
      datasets.prepare(
        "imagenet_c",
        "clean",
        data_dir=self.create_tempdir().full_path,
        manual_dir=self.root,
      )

  def test_manual_dir_that_is_not_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "there is no such folder"):
      datasets.prepare("imagenet_c", "clean", manual_dir="/nowhere")


def _tiny_imagenet_jpeg(width, height, seed=0) -> bytes:
  return tiny_files.encoded(tiny_files.smooth(width, height, seed), "JPEG")


class TinyImagenetPTest(action_layouts.Layout):
  """Tiny ImageNet in a folder, a zip archive, with larger crops; refusals."""

  NAME = "tiny_imagenet_p"
  SPLIT = "validation"

  def setUp(self):
    super().setUp()
    self.manual = self.root
    first, second = small_sets.tiny_wnids()[-1:-3:-1]
    self.annotations = (
      f"val_0.JPEG\t{second}\t0\t0\t9\t9\nval_1.JPEG\t{first}\t0\t0\t9\t9\n"
    )
    self.second = second

  def _write(self, root):
    pictures = {
      f"val/images/val_{i}.JPEG": _tiny_imagenet_jpeg(64, 64, i)
      for i in range(2)
    }
    tiny_files.put(
      root,
      {
        "wnids.txt": "\n".join(small_sets.tiny_wnids()),
        "val/val_annotations.txt": self.annotations,
        **pictures,
      },
    )

  def _labels(self):
    rows = self._rows()
    return {e["example_id"]: (e["label"], e["frames"]) for e in rows}

  def test_folder_zip_and_larger_crops(self):
    root = self.manual / "tiny-imagenet-200"
    self._write(root)
    folder = self._labels()
    self.assertEqual(
      {k: int(v[0]) for k, v in folder.items()},
      {b"val_0.JPEG": 1, b"val_1.JPEG": 0},
    )
    with zipfile.ZipFile(self.manual / "tiny-imagenet-200.zip", "w") as archive:
      for path in sorted(root.rglob("*")):
        archive.write(path, path.relative_to(self.manual))
    crop = root / "bbox_crop" / self.second
    crop.mkdir(parents=True)
    (crop / "val_0.JPEG").write_bytes(_tiny_imagenet_jpeg(90, 70, 5))
    larger = self._labels()
    expected = geometry.decode(
      _tiny_imagenet_jpeg(90, 70, 5), "short64_crop64", "crop"
    )
    frame = larger[b"val_0.JPEG"][1][0].astype(int)
    self.assertLess(np.abs(frame - expected).mean(), 1)
    root.rename(self.manual / "elsewhere")
    zipped = self._labels()
    for name, (label, frames) in folder.items():
      self.assertEqual(zipped[name][0], label)
      np.testing.assert_array_equal(zipped[name][1], frames)

  def test_refusals(self):
    with self.assertRaisesRegex(FileNotFoundError, "No Tiny ImageNet in"):
      self._labels()
    (self.manual / "other").mkdir()
    with self.assertRaisesRegex(FileNotFoundError, "Looked for tiny-imagenet"):
      self._labels()
    self.annotations = f"../../val_0.JPEG\t{self.second}\t0\n"
    self._write(self.manual / "tiny-imagenet-200")
    with self.assertRaisesRegex(ValueError, "leaves its folder"):
      self._labels()
    annotations = self.manual / "tiny-imagenet-200/val/val_annotations.txt"
    annotations.write_text("val_0.JPEG n02\n")
    with self.assertRaisesRegex(ValueError, "line 1"):
      self._labels()

  @parameterized.parameters(
    (lambda names: [], "got 0 lines with 0"),
    (lambda names: [f"x{i}" for i in range(200)], "<wnid> of wnids.txt"),
    (lambda names: names[:199], "got 199 lines with 199"),
    (lambda names: [*names[:199], names[0]], "got 200 lines with 199"),
    (lambda names: [*names, "n00000999"], "got 201 lines with 201"),
  )
  def test_the_whole_list_of_classes(self, change, message):
    root = self.manual / "tiny-imagenet-200"
    self._write(root)
    names = change(small_sets.tiny_wnids())
    (root / "wnids.txt").write_text("\n".join(names))
    with self.assertRaisesRegex(errors.UserError, message):
      self._labels()
