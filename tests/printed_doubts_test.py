"""Printed numbers that do not fit others."""

import collections
import dataclasses
import json
import statistics

import numpy as np
from absl.testing import absltest, parameterized
from scipy import special

from eval import papers
from eval.metrics import trend
from eval.papers import doubt as doubt_lib
from eval.papers import printed_rows
from eval.papers.doubt import Doubt
from tests import shared_data
from tools import interval_doubts, printed_doubts, printed_page

_NETWORKS = {"S": "scratch", "P": "kinetics400"}
_VIDEO_TABLES = {
  2: "table2_kinetics400_p_summary",
  3: "table3_ssv2_p_summary",
}
_GROUPS = ("Noise", "Blur", "Temporal", "Digital", "Camera")


def _table(*parts: str) -> list[dict[str, str]]:
  return shared_data.lines(shared_data.published(*parts))


def _doubts(paper: str, *words: str) -> list[Doubt]:
  """Those of a paper whose words hold one of these."""
  return [d for d in papers.doubts(paper) if any(w in d.words for w in words)]


def _label(name: str) -> str:
  network, _, training = name.partition("-")
  return ", ".join(filter(None, (network, _NETWORKS.get(training, ""))))


class HendrycksTest(parameterized.TestCase):
  """Each doubt, recomputed from the tables as they were read."""

  def test_one_mean_does_not_follow_from_its_parts(self):
    parts = collections.defaultdict(list)
    means = {}
    for row in _table("hendrycks_rows.csv"):
      key = row["table"], row["network"]
      if row["table"] in ("table1", "table2", "table3", "table4"):
        if row["name"] == "mean":
          means[key] = float(row["value"])
        elif row["name"] != "clean":
          parts[key].append(float(row["value"]))
    self.assertLen(means, 28)
    off = {
      key: statistics.fmean(parts[key])
      for key, mean in means.items()
      if abs(statistics.fmean(parts[key]) - mean) > 0.55 + 1e-9
    }
    self.assertEqual(off.keys(), {("table3", "VGG-19+BN")})
    self.assertAlmostEqual(off["table3", "VGG-19+BN"], 64.4)
    (doubt,) = _doubts("hendrycks2019", "the mean of")
    self.assertEqual((doubt.where, doubt.what), ("Table 3", "VGG-19+BN, mfr"))
    self.assertIn("64.40, printed 65.1", doubt.words)

  def test_rows_of_semsegbench(self):
    rows = _doubts("agnihotri2025", "the smallest of")
    self.assertEqual(
      {d.what: d.rows[0].used.value for d in rows},
      {
        f"segformer mit-b{i}, 512x1024, gam": least
        for i, least in enumerate((0.2502, 0.2225, 0.1746, 0.2386))
      },
    )
    broken = [d for d in papers.doubts("agnihotri2025") if d.kind == "row"]
    self.assertLen({d.rows[0].line for d in broken}, 3)
    self.assertTrue(all(r.marked for d in broken for r in d.rows))

  def test_numbers_that_stand_in_two_ways(self):
    found = {d.what: d.words for d in _doubts("hendrycks2019", " in Table")}
    self.assertEqual(
      found.keys(), {"ResNet-50, clean_error", "ResNet-50, mt5d"}
    )
    printed = {
      r["value"]
      for r in _table("hendrycks_rows.csv")
      if r["network"] in ("ResNet-50", "ResNet-50 Baseline")
      and r["metric"] in ("clean_error_%", "mT5D_%")
    }
    for text in printed:
      self.assertTrue(any(f"{text} in" in w for w in found.values()), text)

  def test_a_figure_shows_another_network(self):
    (doubt,) = _doubts("hendrycks2019", "VGG-19 for VGG-11")
    by_network = collections.defaultdict(dict)
    for row in _table("hendrycks_rows.csv"):
      if row["table"] == "figure9":
        by_network[row["network"]][row["name"]] = float(row["value"])
    drawn = by_network["VGG-11 (script loads VGG-19)"]
    for name in ("seen", "unseen"):
      self.assertAlmostEqual(
        drawn[name], by_network["VGG-19"][name], delta=0.11
      )
      self.assertIn(f"{drawn[name]}", doubt.words)


class ShankarTest(parameterized.TestCase):
  def test_drops(self):
    files = {
      "Table 2": ("table2_model_types.csv", "delta_printed"),
      "Table 3": ("table3_detection.csv", "delta_printed"),
      "Table 4": ("table4_review.csv", "delta_printed"),
      "Table 5": ("shankar_table5_vid.csv", "delta"),
      "Table 6": ("shankar_table6_ytbb.csv", "delta"),
      "Table 7": ("table7_frame_types.csv", "delta"),
      "Table 8": ("table8_fps.csv", "drop"),
      "Table 9": ("table9_ilsvrc30.csv", "drop_printed"),
    }
    off = collections.Counter()
    for where, (file, column) in files.items():
      for row in _table("shankar", file):
        orig = float(row.get("orig") or row["map_orig"])
        perturbed = float(row.get("pert") or row["map_pert"])
        if abs(orig - perturbed - float(row[column])) > 0.05:
          off[where] += 1
    found = collections.Counter(d.where for d in _doubts("shankar2021", " - "))
    self.assertEqual(found, off)
    self.assertEqual(off, {"Table 2": 2, "Table 4": 2, "Table 9": 1})
    words = " | ".join(d.words for d in _doubts("shankar2021", " - "))
    for text in (
      "54.3 - 40.8 = 13.50, printed 12.4",
      "84.8 - 70.2 = 14.60, printed 14.4",
      "92.9 - 84.7 = 8.20, printed 8.9",
      "61.0 - 44.9 = 16.10, printed 15.1",
    ):
      self.assertIn(text, words)

  def test_medians_of_the_abstract(self):
    found = [d.words for d in _doubts("shankar2021", "the median of Table")]
    self.assertLen(found, 2)
    for words, file, printed in zip(
      found, ("shankar_table5_vid.csv", "shankar_table6_ytbb.csv"), (16, 10)
    ):
      median = statistics.median(
        float(r["delta"]) for r in _table("shankar", file)
      )
      self.assertGreater(median - printed, 0.5)
      self.assertIn(f"{median:.2f}, printed {printed}", words)

  def test_one_number_differs_from_the_testbed(self):
    path = shared_data.published("shankar", "testbed_vidrobust_reference.json")
    testbed = {m["model"]: m for m in json.loads(path.read_text())}
    off, both = [], 0
    for file, column in (
      ("shankar_table5_vid.csv", "imagenet-vid-robust"),
      ("shankar_table6_ytbb.csv", "ytbb-robust"),
    ):
      for row in _table("shankar", file):
        name, suffix, _ = row["model"].partition("_imagenet_pretrained")
        if suffix and name in testbed:
          both += 1
          for k, which in (("pm0", "orig"), ("pm10", "pert")):
            share = float(testbed[name][f"{column}_{k}"])
            if abs(share - float(row[which])) > 0.05 + 1e-9:
              off.append((row["model"], which))
    self.assertGreater(both, 70)
    self.assertEqual(off, [("senet154_imagenet_pretrained", "pert")])
    (doubt,) = _doubts("shankar2021", "the testbed has")
    self.assertEqual(doubt.what, "senet154_imagenet_pretrained, acc_pmk")

  def test_one_model_in_two_tables(self):
    (doubt,) = _doubts("shankar2021", "in Table 2;")
    self.assertEqual(doubt.words, "65.4 in Table 2; 65.0 in Table 5")


class SchiappaTest(parameterized.TestCase):
  def test_groups_that_are_no_means(self):
    listed = _table("schiappa", "check_category_means.csv")
    expected = {
      (
        f"Table {r['table']}",
        ", ".join(
          (_label(r["model"]), f"{r['metric']}/{r['category'].lower()}")
        ),
      )
      for r in listed
    }
    found = {
      (d.where, d.what): d.words
      for d in _doubts("schiappa2023", "perturbations is")
    }
    self.assertLen(listed, 37)
    self.assertEqual(found.keys(), expected)
    for row in listed:
      subject = (
        f"{_label(row['model'])}, {row['metric']}/{row['category'].lower()}"
      )
      words = found[f"Table {row['table']}", subject]
      self.assertIn(f"printed {float(row['printed']):.2f}", words)

  @parameterized.parameters(*_VIDEO_TABLES)
  def test_means_of_groups(self, table):
    off = set()
    for row in _table("schiappa", f"{_VIDEO_TABLES[table]}.csv"):
      for measure in ("gamma_a", "gamma_r"):
        mean = statistics.fmean(float(row[f"{g}_{measure}"]) for g in _GROUPS)
        if abs(mean - float(row[f"Mean_{measure}"])) > 0.01 + 1e-9:
          off.add(f"{row['model']}, {measure}")
    found = {
      d.what
      for d in _doubts("schiappa2023", "groups is")
      if d.where == f"Table {table}"
    }
    self.assertEqual(found, off)
    self.assertLen(off, 0 if table == 2 else 8)

  def test_one_group_is_printed_in_two_ways(self):
    (doubt,) = _doubts("schiappa2023", "in Table 2;")
    self.assertEqual(doubt.what, "TF, gamma_r/temporal")
    self.assertEqual(doubt.words, "0.94 in Table 2; 0.96 in Table 4")

  def test_networks_without_one_clean_accuracy(self):
    path = shared_data.published("schiappa", "implied_clean_accuracy.json")
    expected = {
      _label(key.partition(":")[2]) + f" {key.partition(':')[0]}"
      for key, value in json.loads(path.read_text()).items()
      if not value["consistent"]
    }
    found = {
      f"{d.what} {d.rows[0].datasets[0]}"
      for d in _doubts("schiappa2023", "no accuracy A")
    }
    self.assertEqual(found, expected)

  def test_how_tokens_were_read(self):
    path = shared_data.published("schiappa", "parse_doubts.json")
    tokens = json.loads(path.read_text())
    found = _doubts("schiappa2023", "printed without", "with one digit")
    self.assertLen(found, len(tokens))
    for doubt, token in zip(found, tokens, strict=True):
      number = doubt.where.removeprefix("Table ")
      self.assertStartsWith(token, f"T{number} row ")
      read = float("0." + doubt.words.rpartition(".")[2].strip("'"))
      self.assertIn(read, [r.value for r in doubt.rows], token)


class MichaelisTest(absltest.TestCase):
  def test_rows_that_do_not_follow_from_their_files(self):
    path = shared_data.golden("detection_raw_results", "expected_public.csv")
    expected = collections.Counter(
      (row["source"], row["model"], part)
      for row in shared_data.lines(path)
      for part in ("P", "mPC", "rPC")
      if f"{part}: computed" in row["mismatch"]
    )
    names = {"p": "P", "mpc": "mPC", "rpc": "rPC"}
    found = collections.Counter(
      (r.where, r.model, names[r.metric])
      for d in _doubts("michaelis2019", "the file ")
      for r in d.rows
    )
    self.assertEqual(found, expected)
    self.assertEqual(found.total(), 7)

  def test_a_row_with_another_backbone(self):
    (doubt,) = _doubts("michaelis2019", "say x101-32x4d")
    rows = _table("detection_printed_rows.csv")
    self.assertTrue(any("really 32x4d" in r["backbone"] for r in rows))
    self.assertEqual(doubt.what, "Faster R-CNN x101-64x4d-dcn")


class DoubtsTest(absltest.TestCase):
  def test_the_files_are_of_these_numbers(self):
    for paper in papers.names():
      self.assertEqual(
        doubt_lib.path(paper).read_text("utf-8"),
        printed_doubts.text(paper),
        "run python -m tools.printed_doubts",
      )

  def test_every_number_has_a_place_of_its_own(self):
    for paper in papers.names():
      places = [printed_rows.place(r) for r in papers.rows(paper)]
      self.assertLen(set(places), len(places))


class PrintedPageTest(parameterized.TestCase):
  """Pages with printed numbers say what `eval/papers` holds."""

  def test_the_page_is_of_these_numbers(self):
    self.assertEqual(
      printed_page.FILE.read_text("utf-8"),
      printed_page.text(),
      "run python -m tools.printed_page",
    )

  @parameterized.parameters("imagenet_vid_robust", "ytbb_robust")
  def test_lines_of_natural_videos(self, dataset):
    page = printed_page.ROOT / "docs" / "VIDEO.md"
    text = " ".join(page.read_text("utf-8").split())
    points = papers.testbed(dataset).values()
    line = trend.fit(*zip(*points))
    self.assertIn(f"{_slope(line)} and", text)
    self.assertIn(f"{100 * line.intercept:.1f} %", text)
    listed = papers.networks(dataset, "acc_orig", "acc_pmk").values()
    self.assertIn(_slope(trend.fit(*zip(*listed))), text)


def _slope(line):
  lo, hi = line.slope_interval
  return f"{line.slope:.3f} [{lo:.3f}, {hi:.3f}]"


def _rows(*tables):
  rows = printed_rows.paper_rows("shankar2021")
  return [r for r in rows if r.table in ("table1", *tables)]


class IntervalsTest(absltest.TestCase):
  """Intervals of Shankar et al. 2021: which are exact, which are not."""

  def test_table_5_is_exact(self):
    rows = _rows("table5")
    self.assertEmpty(list(interval_doubts.check(rows)))
    first = next(r for r in rows if r.lo is not None)
    self.assertTrue(interval_doubts.fits(first, 1109))
    self.assertFalse(interval_doubts.fits(first, 2030))

  def test_a_wrong_end_is_seen(self):
    rows = _rows("table5")
    place = next(i for i, r in enumerate(rows) if r.lo is not None)
    rows[place] = dataclasses.replace(rows[place], lo=rows[place].lo + 0.002)
    (doubt,) = interval_doubts.check(rows)
    self.assertEqual(doubt.rows, (rows[place],))
    self.assertIn("is [82.5, 86.8], printed [82.7, 86.8]", doubt.words)

  def test_table_6_is_one_doubt(self):
    (doubt,) = interval_doubts.check(_rows("table6"))
    self.assertLen(doubt.rows, 120)
    self.assertIn("none of its 120 intervals", doubt.words)

  def test_table_6_was_printed_with_1109_for_2030(self):
    for row in _rows("table6"):
      if row.lo is not None:
        right = interval_doubts._candidates(row, 2030) / 2030 * 1109
        lo = special.betaincinv(right, 1109 - right + 1, 0.025)
        hi = special.betaincinv(right + 1, 1109 - right, 0.975)
        off = np.maximum(np.abs(lo - row.lo), np.abs(hi - row.hi))
        self.assertLessEqual(off.min(), 0.0005 + 1e-9, row)

  def test_breakdowns_are_of_their_own_anchors(self):
    self.assertEmpty(list(interval_doubts.check(_rows("table7", "table8"))))

  def test_table_2(self):
    of_label = {
      doubt.rows[0].label: doubt.words
      for doubt in interval_doubts.check(_rows("table2"))
      if doubt.rows[0].metric == "acc_pmk"
    }
    words = of_label["ResNeXt-101, + l_inf robustness"]
    self.assertIn("is [37.8, 43.7], printed [39.0, 43.7]", words)
