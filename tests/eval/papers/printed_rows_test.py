"""Every printed number is stored, and nothing else: against the tables as read."""

import collections
import json
import pathlib
import statistics
from collections.abc import Iterable, Iterator

from absl.testing import parameterized

from eval.metrics import corruption_error
from eval.papers import printed_rows
from eval.papers.printed_rows import PrintedRow
from robust_tfds import conditions
from tests import shared_data

_NO_NAME = ("mean", "clean", "x", "seen", "unseen")
_TRAININGS = {"": "", "S": "scratch", "P": "kinetics400"}
# Stored beside these tables: AlexNet's means, two medians, TABLE.md's rows.
_BESIDES = {
  "hendrycks2019": ("appendix_d",),
  "shankar2021": ("abstract",),
  "michaelis2019": ("table_md",),
}
# Table, network, training, metric, condition, number: what a test counts.
Fact = tuple[str, str, str, str, str, float]


def _read_as() -> dict[str, dict[str, str]]:
  """Names in the tables as read -> ours, of each kind of name."""
  out: dict[str, dict[str, str]] = {}
  path = pathlib.Path(__file__).with_name("read_as.tsv")
  for line in path.read_text("utf-8").splitlines():
    of, read, ours = line.split("\t")
    out.setdefault(of, {})[read] = ours
  return out


def _table(*parts: str) -> list[dict[str, str]]:
  return shared_data.lines(shared_data.published(*parts))


_READ_AS = _read_as()


def _facts(rows: Iterable[PrintedRow]) -> Iterator[Fact]:
  """What is stored, in the unit of print; ends of an interval are facts, too."""
  for row in rows:
    factor = float(row.text) / row.value if row.value else 1.0
    numbers = {"": float(row.text)}
    if row.lo is not None:
      numbers |= {"_lo": factor * row.lo, "_hi": factor * row.hi}
    for end, number in numbers.items():
      yield (
        row.table,
        row.network,
        row.training,
        row.metric + end,
        row.name,
        round(number, 6),
      )


def _stored(paper: str, *but: str) -> collections.Counter[Fact]:
  rows = printed_rows.paper_rows(paper)
  but += _BESIDES.get(paper, ())
  return collections.Counter(_facts(r for r in rows if r.table not in but))


def _hendrycks() -> Iterator[Fact]:
  for row in _table("hendrycks_rows.csv"):
    yield (
      _READ_AS["table"].get(row["table"], row["table"]),
      row["network"],
      "",
      _READ_AS["metric"][row["metric"]],
      "" if row["name"] in _NO_NAME else row["name"],
      float(row["value"]),
    )


def _shares(row, table, network, training="", name="", drop="delta"):
  """The three numbers of a line about pm-0 and pm-10, and their ends."""
  columns = {"orig": "acc_orig", "pert": "acc_pmk"}
  for column, metric in columns.items():
    for end in ("", "_lo", "_hi"):
      if row.get(column + end):
        number = float(row[column + end])
        yield table, network, training, metric + end, name, number
  yield table, network, training, "drop", name, float(row[drop])


def _shankar() -> Iterator[Fact]:
  for row in _table("shankar", "table1_dataset.csv"):
    quantity = row["quantity"].replace("_%", "_share")
    for dataset in ("imagenet_vid_robust", "ytbb_robust"):
      if row[dataset]:
        yield "table1", "", "", quantity, "", float(row[dataset])
  for row in _table("shankar", "table2_model_types.csv"):
    yield from _shares(
      row, "table2", row["architecture"], row["model_type"], "", "delta_printed"
    )
  parts = {"map_orig": "map_orig", "map_pert": "map_pmk"}
  for row in _table("shankar", "table3_detection.csv"):
    prefix = "" if row["task"] == "detection" else "localization/"
    for column, metric in {**parts, "delta_printed": "drop"}.items():
      number = float(row[column])
      yield "table3", row["model"], "", prefix + metric, "", number
  tuned = "ResNet-152", "fine-tuned"
  for row in _table("shankar", "table4_review.csv"):
    name = "reviewed" if row["reviewed"] == "1" else "all"
    yield from _shares(row, "table4", *tuned, name, "delta_printed")
  for table, file in (("5", "table5_vid"), ("6", "table6_ytbb")):
    for row in _table("shankar", f"shankar_{file}.csv"):
      yield from _shares(row, f"table{table}", row["model"])
  for row in _table("shankar", "table7_frame_types.csv"):
    yield from _shares(row, "table7", *tuned, row["subset"])
    yield "table7", *tuned, "anchors", row["subset"], float(row["anchors"])
  for row in _table("shankar", "table8_fps.csv"):
    name = f"{row['fps']} fps"
    yield from _shares(row, "table8", *tuned, name, "drop")
    yield "table8", *tuned, "anchors", name, float(row["videos"])
  for row in _table("shankar", "table9_ilsvrc30.csv"):
    training = "fine-tuned" if row["model"].endswith("FT") else ""
    yield from _shares(row, "table9", "ILSVRC-30", training, "", "drop_printed")
  for table, file in (
    ("table10", "table10_finetune_hparams.csv"),
    ("table11", "table11_detection_hparams.csv"),
  ):
    for row in _table("shankar", file):
      network = row.pop("model")
      row.pop("schedule")
      row["learning_rate"] = row.pop("base_lr")
      for metric, text in row.items():
        yield table, network, "", metric, "", float(text)


def _video_columns(table: str) -> Iterator[Fact]:
  """Tables 4 to 7: a line a perturbation or group, two columns a network."""
  for row in _table("schiappa", f"{_READ_AS['file'][table]}.csv"):
    for column, text in row.items():
      network, _, measure = column.rpartition("_gamma_")
      if network and text:
        network, _, training = network.partition("-")
        metric, name = f"gamma_{measure}", ""
        if row["is_category_mean"] == "1":
          metric = f"{metric}/{row['category'].lower()}"
        else:
          name = _READ_AS["perturbation"][row["perturbation"]]
        trained = _TRAININGS[training]
        yield table, network, trained, metric, name, float(text)


def _schiappa() -> Iterator[Fact]:
  own = ("parameters_millions", "gflops", "frames", "stride")
  for model, *numbers in (
    r.values() for r in _table("schiappa", "table1_models.csv")
  ):
    for metric, text in zip(own, numbers, strict=True):
      yield "table1", model, "", metric, "", float(text)
  for table in ("table2", "table3"):
    for row in _table("schiappa", f"{_READ_AS['file'][table]}.csv"):
      for column, text in row.items():
        group, _, measure = column.partition("_gamma_")
        if measure:
          part = "" if group == "Mean" else f"/{group.lower()}"
          metric = f"gamma_{measure}{part}"
          yield table, row["model"], "", metric, "", float(text)
  for table in ("table4", "table5", "table6", "table7"):
    yield from _video_columns(table)
  for row in _table("schiappa", "table8_ucf101_ds.csv"):
    for metric in ("shifts", "clips"):
      number = float(row[f"num_{metric}"])
      yield "table8", "", "", metric, row["category"], number
  for row in _table("schiappa", "table12_ucf101_ds_gamma_r.csv"):
    for training in ("mixed", "pixmix", "spatial", "temporal"):
      number = float(row[training])
      yield "figure12", row["model"], training, "gamma_r", "", number


def _michaelis() -> Iterator[Fact]:
  for row in _table("detection_printed_rows.csv"):
    network = f"{row['model']} {row['backbone'].partition(' (')[0]}"
    prefix = "segm/" if row["task"] == "segm" else ""
    for part in ("P", "mPC", "rPC"):
      yield (
        f"table{row['table']}",
        network,
        row["train_data"],
        prefix + part.lower(),
        "",
        float(row[part]),
      )


def _agnihotri() -> Iterator[Fact]:
  metrics = {"mean": "mean_miou", "gam": "gam"}
  for row in _table("semsegbench_2d_sev3.tsv"):
    network = f"{row['architecture']} {row['backbone']}"
    for column, text in row.items():
      start, _, name = column.partition("_2d_")
      if column == "mIoU_clean" or name:
        metric = metrics.get(name, "miou") if name else "clean_miou"
        name = "" if name in metrics else name
        fact = (network, row["crop_size"], metric, name, float(text))
        yield "severity3", *fact


class CompleteTest(parameterized.TestCase):
  """No number is missing, none too many, each as often as it is printed."""

  @parameterized.named_parameters(
    ("agnihotri", "agnihotri2025", _agnihotri, 76 * 18),
    ("hendrycks", "hendrycks2019", _hendrycks, 512),
    ("michaelis", "michaelis2019", _michaelis, 35 * 3),
    ("schiappa", "schiappa2023", _schiappa, 1660),
    ("shankar", "shankar2021", _shankar, 919),
  )
  def test_both_ways(self, paper, read, count):
    apart = ("testbed_vid", "testbed_ytbb", "training_mixes")
    stored, printed = _stored(paper, *apart), collections.Counter(read())
    self.assertEmpty(printed - stored)
    self.assertEmpty(stored - printed)
    self.assertEqual(stored.total(), count)

  @parameterized.parameters(
    ("testbed_vid", "imagenet-vid-robust", "val-on-vid-robust-classes"),
    ("testbed_ytbb", "ytbb-robust", "val-on-ytbb-robust-classes"),
  )
  def test_testbed(self, table, column, pictures):
    name = "testbed_vidrobust_reference.json"
    path = shared_data.published("shankar", name)
    columns = {
      f"{column}_pm0": "acc_orig",
      f"{column}_pm10": "acc_pmk",
      pictures: "acc_val",
    }
    printed = {
      (model["model"], metric): float(model[key]) / 100
      for model in json.loads(path.read_text())
      for key, metric in columns.items()
      if model[key]
    }
    stored = {
      (r.network, r.metric): r.value
      for r in printed_rows.paper_rows("shankar2021")
      if r.table == table
    }
    self.assertEqual(stored.keys(), printed.keys())
    self.assertGreater(len(stored), 1000)
    for key, value in printed.items():
      self.assertAlmostEqual(stored[key], value, delta=1e-12)

  def test_training_mixes(self):
    lines = list(printed_rows.lines("schiappa2023", "training_mixes"))
    mixes = _table("schiappa", "training_mixes.csv")
    self.assertLen(lines, len(mixes))
    for line, row in zip(lines, mixes):
      self.assertEqual(
        (line["training"], line["condition"]), (row["mix"], row["split"])
      )
      levels = row["severities"].partition(" ")[0].split("|")
      ends = line["lowest_severity"], line["highest_severity"]
      self.assertEqual(ends, (levels[0], levels[-1]))

  def test_data_sets_of_tables_with_several(self):
    rows = printed_rows.paper_rows("shankar2021")
    for table, file in (
      ("table2", "table2_model_types.csv"),
      ("table4", "table4_review.csv"),
    ):
      stored = collections.Counter(
        (r.datasets[0], r.text)
        for r in rows
        if r.table == table and r.metric == "acc_orig"
      )
      printed = collections.Counter(
        (r["dataset"], r["orig"]) for r in _table("shankar", file)
      )
      self.assertEqual(stored, printed)
    detectors = collections.Counter(
      (r.table, r.datasets[0], r.text)
      for r in printed_rows.paper_rows("michaelis2019")
      if r.metric.endswith("mpc") and r.table != "table_md"
    )
    printed = collections.Counter(
      (f"table{r['table']}", _READ_AS["dataset"][r["dataset"]], r["mPC"])
      for r in _table("detection_printed_rows.csv")
    )
    self.assertEqual(detectors, printed)

  def test_alexnet(self):
    read = json.loads(shared_data.published("alexnet.json").read_text())
    printed = {
      r.name: float(r.text)
      for r in printed_rows.paper_rows("hendrycks2019")
      if r.table == "appendix_d"
    }
    self.assertEqual(printed, read["paper_mean_percent"])
    baseline = corruption_error.load_baseline("alexnet")
    self.assertEqual(baseline["errors"], read["errors"])
    for ours, theirs, of in (
      ("flip_probability", "FP_percent", 100),
      ("unnormalised_t5d", "uT5D", 1),
    ):
      self.assertEqual(baseline[ours].keys(), read[theirs].keys())
      for name, value in read[theirs].items():
        self.assertAlmostEqual(of * baseline[ours][name], value, delta=1e-9)
    for name, percent in printed.items():
      mean = 100 * statistics.fmean(baseline["errors"][name])
      self.assertAlmostEqual(mean, percent, delta=0.05 + 1e-9)

  def test_rows_of_table_md_are_those_of_public_files(self):
    path = shared_data.golden("detection_raw_results", "expected_public.csv")
    expected = [r for r in shared_data.lines(path) if r["source"] == "TABLE.md"]
    printed = {
      (r["model"], ("segm/" if r["task"] == "segm" else "") + part.lower()): r[
        f"{part}_printed"
      ]
      for r in expected
      for part in ("P", "mPC", "rPC")
    }
    stored = {
      (r.model, r.metric): r.text
      for r in printed_rows.paper_rows("michaelis2019")
      if r.table == "table_md"
    }
    self.assertEqual(stored, printed)


class RowsTest(parameterized.TestCase):
  @parameterized.parameters(*printed_rows.names())
  def test_every_row_is_whole(self, paper):
    for row in printed_rows.paper_rows(paper):
      self.assertIn(row.where, row.source)
      self.assertIn("20", row.source)
      self.assertGreaterEqual(row.value, 0)
      if row.lo is not None:
        self.assertBetween(row.value, row.lo, row.hi)

  @parameterized.parameters(
    ("hendrycks2019", ("ce", "relative_ce"), conditions.PICTURES),
    ("hendrycks2019", ("fr", "t5d"), conditions.SEQUENCES),
    ("agnihotri2025", ("miou",), conditions.PICTURES),
    ("schiappa2023", ("gamma_a", "gamma_r"), conditions.VIDEOS),
  )
  def test_conditions_have_our_names(self, paper, metrics, family):
    rows = [r for r in printed_rows.paper_rows(paper) if r.metric in metrics]
    found = {r.name for r in rows if r.name}
    self.assertEqual(found, set(family.names("common")))

  @parameterized.parameters(
    ("mce%", "76.7", "mce", "", 0.767, None, 0.001),
    ("ce:fog%", "66", "ce", "fog", 0.66, None, 0.01),
    ("acc%", "67.5 [64.7, 70.3]", "acc", "", 0.675, (0.647, 0.703), 0.001),
    ("acc/1109", "976", "acc", "", 976 / 1109, None, 0.0),
    ("gamma_a/noise", "0.80", "gamma_a/noise", "", 0.8, None, 0.01),
    ("ut5d:scale", "3.6", "ut5d", "scale", 3.6, None, 0.1),
    ("learning_rate", "1e-05", "learning_rate", "", 1e-5, None, 1e-5),
  )
  def test_cells(self, head, cell, metric, name, value, ends, digit):
    number = printed_rows._number(head, cell)
    self.assertEqual((number["metric"], number["name"]), (metric, name))
    self.assertEqual(number["value"], value)
    self.assertEqual((number["lo"], number["hi"]), ends or (None, None))
    self.assertAlmostEqual(number["digit"], digit, delta=1e-15)
