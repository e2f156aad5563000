"""Class maps of other programs: numbers, sets of ours, bad folders."""

import numpy as np
from absl.testing import parameterized
from etils import epath
from PIL import Image

from eval import readers
from eval.metrics import segmentation
from eval.readers import base
from robust_tfds import errors
from tests import in_folder, tiny_files
from tests.building.sources import small_sets

_CONDITIONS = ("clean", "fog_3", "snow_1")


class ClassMapsTest(in_folder.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.maps = {}
    for i, name in enumerate(("a", "sub/b")):
      truth = tiny_files.noise(20, 30, i)[..., 0] % 4
      truth[truth == 3] = 255
      self._put(f"masks/{name}.png", truth)
      for k, condition in enumerate(_CONDITIONS):
        answer = tiny_files.noise(20, 30, 9 + i + 2 * k)[..., 1] % 3
        self._put(f"mine/{condition}/{name}.png", answer)
        self.maps[condition, name] = truth, answer
    (self.root / "names.txt").write_text("road\ntree\nsky\n")

  def _put(self, place, ids):
    tiny_files.put(self.root, {place: tiny_files.encoded(ids)})

  def _read(self, path="mine", **options):
    place = epath.Path(self.root / path)
    given = {"truth": "masks", "classes": "names.txt", **options}
    paths = {
      k: epath.Path(self.root / v) if k in ("truth", "classes") else v
      for k, v in given.items()
      if v
    }
    known = base.Options(**paths)
    return readers.choose([place], readers.AUTO, known).read([place], known)

  def test_numbers(self):
    rows = self._read().rows()
    miou = {r.config: r.value for r in rows if r.metric == "miou"}
    for condition in _CONDITIONS:
      total = sum(
        segmentation.confusion(*pair, 3)
        for (of, _), pair in self.maps.items()
        if of == condition
      )
      expected = segmentation.summarize(total).miou
      self.assertAlmostEqual(miou[condition], expected)

  def test_a_protocol_is_a_fact_of_the_run(self):
    run = self._read(protocol="semsegbench_15")
    (mean,) = [
      r for r in run.rows() if r.metric == "mean_miou" and r.corruption == "fog"
    ]
    fog = [r for r in run.rows() if r.metric == "miou" and r.config == "fog_3"]
    self.assertEqual(mean.value, fog[0].value)  # its only severity
    settings = run.task(run.datasets[0]).data_facts()
    self.assertEqual(settings["protocol"], "semsegbench_15")

  def test_corruptions_of_c_bar(self):
    for name in ("a", "sub/b"):
      answer = np.zeros((20, 30), np.uint8)
      self._put(f"mine/blue_noise_sample_3/{name}.png", answer)
    configs = [cell.condition.config for cell in self._read().cells]
    self.assertEqual(
      configs, ["clean", "snow_1", "fog_3", "blue_noise_sample_3"]
    )

  def test_a_set_of_ours_by_its_official_files(self):
    small_sets.cityscapes_seg(self.root / "official")
    for file in (self.root / "official/leftImg8bit").rglob("*.png"):
      answer = np.full((40, 72), 2, np.uint8)
      self._put(f"city/clean/{file.name}", answer)
    options = {
      "truth": "official",
      "classes": "",
      "dataset": "cityscapes_seg_c",
    }
    run = self._read("city", **options)
    areas = run.columns(run.cells[0])["areas"]
    self.assertEqual(areas.shape, (2, 19, 3))
    ids = next((self.root / "official").rglob("*frankfurt*labelIds.png"))
    building = (np.asarray(Image.open(ids)) == 11).sum()
    self.assertEqual(areas[0, 2, 0], building)
    next((self.root / "city/clean").glob("frankfurt*")).unlink()
    with self.assertRaisesRegex(errors.UserError, "no class map of 'frankfurt"):
      self._read("city", **options)
    run = self._read("city", **options, subset="one")
    self.assertLen(run.columns(run.cells[0])["areas"], 1)

  @parameterized.parameters(
    ("missing", r"fog_3: no class map of 'a.png'. Expected 2"),
    ("more", "z.png: there is no mask of this name among 2"),
    ("size", "a.png: truth .* and predicted .* have different shapes"),
    ("outside", "a.png: predicted holds the id 7, expected 0 to 2"),
    ("colours", "^[^:]*mine/fog_3/a.png: a mask of mode RGB"),
    ("rgba", "a.png: a mask of mode RGBA"),
    ("jpeg", "a.png: a mask as JPEG, which changes ids"),
    ("condition", "foggy is not named after a condition"),
    ("clean", "clean: missing"),
    ("truth", "--truth=: the class maps of .* are scored with their masks"),
    ("classes", "--classes: missing"),
  )
  def test_bad_folders(self, fault, message):
    place, options = self.root / "mine/fog_3/a.png", {}
    ids = np.zeros((20, 30), np.uint8)
    if fault == "missing":
      place.unlink()
    elif fault == "more":
      self._put("mine/fog_3/z.png", ids)
    elif fault == "size":
      self._put("mine/fog_3/a.png", ids[1:])
    elif fault == "outside":
      self._put("mine/fog_3/a.png", ids + 7)
    elif fault == "colours":
      self._put("mine/fog_3/a.png", np.zeros((20, 30, 3), np.uint8))
    elif fault == "rgba":
      self._put("mine/fog_3/a.png", np.zeros((20, 30, 4), np.uint8))
    elif fault == "jpeg":
      data = tiny_files.encoded(ids, "JPEG")
      tiny_files.put(self.root, {"mine/fog_3/a.png": data})
    elif fault == "condition":
      place.parent.rename(self.root / "mine/foggy")
    elif fault == "clean":
      (self.root / "mine/clean").rename(self.root / "mine/frost_1")
    else:
      options = {fault: ""}
    reader = readers.get("class_maps")
    self.assertTrue(reader.fits(epath.Path(self.root / "mine"), base.Options()))
    given = {"truth": "masks", "classes": "names.txt", **options}
    known = base.Options(
      **{k: epath.Path(self.root / v) for k, v in given.items() if v}
    )
    with self.assertRaisesRegex(errors.UserError, message):
      reader.read([epath.Path(self.root / "mine")], known).rows()
