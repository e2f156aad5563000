"""Printed numbers: each equals the paper's table; none where none is printed."""

import csv

from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import conditions
from robust_tfds.eval import papers
from tests import shared_data

_HENDRYCKS = {
  "clean_error": "clean_error_%",
  "mce": "mCE_%",
  "ce": "CE_%",
  "relative_mce": "relative_mCE_%",
  "relative_ce": "relative_CE_%",
  "mfr": "mFR_%",
  "fr": "FR_%",
  "mt5d": "mT5D_%",
  "t5d": "T5D_%",
}
_TABLES = ("table1", "table2", "table3", "table4")
_SHANKAR = {
  "imagenet_vid_robust": "shankar_table5_vid.csv",
  "ytbb_robust": "shankar_table6_ytbb.csv",
}
# Data set -> (perturbations' table, groups' table where there is one).
_SCHIAPPA = {
  "kinetics400_p": ("table4_kinetics400_p", "table2_kinetics400_p_summary"),
  "ssv2_p": ("table5_ssv2_p", "table3_ssv2_p_summary"),
  "ucf101_p": ("table6_ucf101_p", ""),
  "hmdb51_p": ("table7_hmdb51_p", ""),
}
_PERTURBATIONS = {
  "Gaussian": "gaussian_noise",
  "Shot": "shot_noise",
  "Impulse": "impulse_noise",
  "Speckle": "speckle_noise",
  "Defocus Blur": "defocus_blur",
  "Motion Blur": "motion_blur",
  "Zoom Blur": "zoom_blur",
  "JPEG": "jpeg",
  "MPEG1": "mpeg1",
  "MPEG2": "mpeg2",
  "Sampling": "sampling",
  "Reversing": "reverse_sampling",
  "Jumbling": "jumbling",
  "Box Jumbling": "box_jumbling",
  "Freezing": "freezing",
  "Rotate": "static_rotation",
  "Var Rotate": "random_rotation",
  "Translate": "translation",
}


def _rows(*parts: str) -> list[dict[str, str]]:
  path = shared_data.golden("published", *parts)
  with path.open(newline="", encoding="utf-8") as f:
    return list(csv.DictReader(f))


class HendrycksTest(parameterized.TestCase):
  def test_every_number(self):
    rows = [r for r in _rows("hendrycks_rows.csv") if r["table"] in _TABLES]
    models = papers.load("hendrycks2019")["models"].values()
    checked = set()
    for model in models:
      for metric, value in model.items():
        if metric == "name":
          continue
        numbers = value if isinstance(value, dict) else {None: value}
        for name, number in numbers.items():
          printed = {
            float(r["value"])
            for r in rows
            if (r["network"], r["metric"])
            == (model["name"], _HENDRYCKS[metric])
            and name in (None, r["name"])
          }
          self.assertEqual(printed, {round(100 * number, 6)}, (model, metric))
          checked.add((model["name"], _HENDRYCKS[metric], name))
    in_tables = {(r["network"], r["metric"]) for r in rows}
    self.assertEqual({key[:2] for key in checked}, in_tables)
    self.assertLen(checked, 7 * (5 + 15 + 15 + 10 + 10))

  def test_squeezenet_turns_are_not_exchanged(self):
    printed = papers.printed("squeezenet1_1", "imagenet_p")
    self.assertEqual(
      [printed["fr"]["rotate"], printed["t5d"]["rotate"]], [1.03, 1.06]
    )
    self.assertEqual(
      [printed["fr"]["tilt"], printed["t5d"]["tilt"]], [1.09, 1.11]
    )

  @parameterized.parameters(
    ("imagenet_c", "ce", conditions.PICTURES),
    ("imagenet_c", "relative_ce", conditions.PICTURES),
    ("imagenet_p", "fr", conditions.SEQUENCES),
    ("imagenet_p", "t5d", conditions.SEQUENCES),
  )
  def test_conditions_are_the_common_ones(self, dataset, metric, family):
    printed = papers.printed("resnet50", dataset)[metric]
    self.assertCountEqual(printed, family.names("common"))

  def test_each_set_has_its_own_metrics(self):
    self.assertNotIn("mfr", papers.printed("resnet50", "imagenet_c"))
    self.assertNotIn("mce", papers.printed("resnet50", "imagenet_p"))
    self.assertLen(papers.networks("imagenet_c", "clean_error", "mce"), 7)
    self.assertEmpty(papers.networks("imagenet_p", "clean_error", "mce"))


class MichaelisTest(absltest.TestCase):
  def test_every_row_is_printed(self):
    printed = {
      tuple(r[k] for k in ("dataset", "task", "metric", "P", "mPC", "rPC"))
      for r in _rows("detection_printed_rows.csv")
    }
    rows = papers.detection_rows()
    self.assertLen(rows, 32)
    for row in rows:
      numbers = [str(n) for n in row.numbers]
      self.assertIn((row.dataset, row.task, row.metric, *numbers), printed)

  def test_detectors(self):
    detectors = papers.detectors("coco_c")
    p, mpc = detectors["cascade_rcnn_r50_fpn_1x"]
    self.assertAlmostEqual(p, 0.404)
    self.assertAlmostEqual(mpc, 0.201)
    self.assertEqual(papers.detectors("coco"), detectors)
    self.assertNotEmpty(papers.detectors("pascal_c"))
    self.assertEmpty(papers.detectors("digits_detection_c"))


class ShankarTest(parameterized.TestCase):
  @parameterized.parameters(*_SHANKAR.items())
  def test_every_number(self, dataset, table):
    rows = {r["model"]: r for r in _rows("shankar", table)}
    values = papers.networks(dataset, "acc_orig", "acc_pmk", "drop")
    ends = papers.intervals(dataset, "acc_orig", "acc_pmk")
    self.assertEqual(values.keys(), rows.keys())
    for name, row in rows.items():
      printed = [float(row[k]) for k in ("orig", "pert", "delta")]
      self.assertEqual(printed, [round(100 * v, 6) for v in values[name]])
      printed = [
        float(row[k]) for k in ("orig_lo", "orig_hi", "pert_lo", "pert_hi")
      ]
      self.assertEqual(printed, [round(100 * v, 6) for v in ends[name]])

  @parameterized.parameters(
    ("imagenet_vid_robust", "imagenet-vid-robust"),
    ("ytbb_robust", "ytbb-robust"),
  )
  def test_testbed(self, dataset, column):
    name = "testbed_vidrobust_reference.json"
    stored = shared_data.golden_json("published", "shankar", name)
    testbed = papers.testbed(dataset)
    self.assertLen(testbed, 335)
    for row in stored:
      for k, value in zip((0, 10), testbed[row["model"]]):
        printed = float(row[f"{column}_pm{k}"])
        self.assertAlmostEqual(100 * value, printed, delta=1e-9)


class SchiappaTest(parameterized.TestCase):
  @parameterized.parameters(*_SCHIAPPA)
  def test_every_number(self, dataset):
    detail, summary = _SCHIAPPA[dataset]
    rows = _rows("schiappa", f"{detail}.csv")
    summaries = {}
    if summary:
      listed = _rows("schiappa", f"{summary}.csv")
      summaries = {r["model"]: r for r in listed}
    checked = 0
    for model in papers.load("schiappa2023")["datasets"][dataset].values():
      name = model["name"]
      for measure in ("gamma_a", "gamma_r"):
        printed = {
          _PERTURBATIONS[r["perturbation"]]: float(r[f"{name}_{measure}"])
          for r in rows
          if r["is_category_mean"] == "0" and r[f"{name}_{measure}"]
        }
        groups = {
          r["category"].lower(): float(r[f"{name}_{measure}"])
          for r in rows
          if r["is_category_mean"] == "1" and r[f"{name}_{measure}"]
        }
        if summary:
          of_model = summaries[name]
          printed[""] = float(of_model[f"Mean_{measure}"])
          groups = {
            g: float(of_model[f"{g.capitalize()}_{measure}"])
            for g in conditions.VIDEOS.groups
          }
        self.assertEqual(model[measure], printed)
        for group, value in groups.items():
          self.assertEqual(model[f"{measure}/{group}"], value)
        checked += len(printed) + len(groups)
    columns = [c for c in rows[0] if c.endswith(("gamma_a", "gamma_r"))]
    self.assertGreater(checked, 22 * len(columns))

  def test_by_our_names(self):
    printed = papers.printed("x3d_m", "kinetics400_p")
    self.assertEqual(printed["gamma_r"][""], 0.8)
    self.assertEqual(printed["gamma_r/noise"], 0.62)
    self.assertIn("Schiappa", printed["source"])


class UnknownTest(parameterized.TestCase):
  @parameterized.parameters("digits_c", "tiny_imagenet_p", "coco_c", "mine")
  def test_nothing_of_another_paper(self, dataset):
    self.assertEmpty(papers.printed("resnet50", dataset))
    self.assertEmpty(papers.networks(dataset, "clean_error", "mce"))
    self.assertEmpty(papers.intervals(dataset, "acc_orig"))
    self.assertEmpty(papers.testbed(dataset))
    self.assertIsNone(papers.anchors(dataset))

  def test_every_paper_has_a_source(self):
    self.assertLen(papers.names(), 5)
    for name in papers.names():
      self.assertNotEmpty(papers.load(name)["source"])

  def test_unknown_models_have_nothing(self):
    self.assertEmpty(papers.printed("my_model", "imagenet_c"))


if __name__ == "__main__":
  absltest.main()
