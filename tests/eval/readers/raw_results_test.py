"""The detection paper's numbers from its raw results.

More files are refused in tests/faults/detections_cases.py.
"""

import copy
import json
import pathlib

from absl.testing import parameterized

from eval import tasks
from eval.cells import table
from eval.metrics import detection
from eval.metrics.detection import benchmark
from eval.readers import base, raw_results
from eval.tables import detection_tables
from robust_tfds import conditions
from tests import shared_data

_FOLDER = "detection_raw_results"
_SUFFIXES = {"": "", "all": "_all", "validation": "_validation"}


def files():
  """The authors' files."""
  return sorted(shared_data.golden(_FOLDER).glob("*__*.json"))


def _made_up():
  names = list(benchmark.names("all"))
  values = [[0.5] + [0.5 - 0.05 * s for s in range(1, 6)] for _ in names]
  return {
    "dataset": "coco",
    "model": "mine",
    "corruptions": names,
    "severities": list(range(6)),
    "results": {"bbox": {"AP": values}},
  }


def _rows(*all_data) -> list[table.Row]:
  rows = []
  for data in all_data:
    cells = raw_results.cells(data)
    task = tasks.bind(base.config("detection", list(cells)))
    rows += task.score(cells.items()).rows
  return rows


def _summary(numbers: raw_results.Numbers, metric: str, scope: str) -> dict:
  """P, mPC and rPC of any metric of a file."""
  by_name: dict[str, list[float]] = {}
  for condition, values in numbers.items():
    if not condition.clean:
      by_name.setdefault(condition.name, []).append(values[metric])
  clean = numbers[conditions.Condition()][metric]
  return detection.summarize(by_name, clean, scope)


class RawResultsTest(parameterized.TestCase):
  def test_every_file_gives_the_computed_and_the_printed_numbers(self):
    rows = _rows(*map(raw_results.read, files()))
    values = {
      (r.dataset, r.model, r.metric): 100 * r.value
      for r in rows
      if not r.config and not r.corruption
    }
    path = shared_data.golden(_FOLDER, "expected_public.csv")
    expected = shared_data.lines(path)
    self.assertNotEmpty(expected)
    checked = 0
    for row in expected:
      prefix = "" if row["task"] == "bbox" else "segm/"
      for part in ("P", "mPC", "rPC"):
        for scope, suffix in _SUFFIXES.items():
          column = "_".join([part, *([scope] if scope else []), "computed"])
          metric = f"{prefix}{part.lower()}{suffix}"
          key = row["dataset"], row["model"], metric
          if row.get(column) and key in values and _is_headline(row):
            checked += 1
            self.assertAlmostEqual(values[key], float(row[column]), delta=1e-5)
    self.assertGreater(checked, 90)
    compared = detection_tables.compare(rows)
    self.assertLen(compared, 32)
    for line in compared:
      if not all(line.agrees):
        self.assertNotEmpty(line.row.note, line)

  def test_all_metrics_to_1e_9(self):
    path = shared_data.golden(_FOLDER, "expected_public_all_metrics.json")
    expected = json.loads(path.read_text())
    checked = 0
    for file in files():
      data = raw_results.read(file)
      numbers = raw_results.numbers(data)
      for task, metrics in expected[
        f"{data['dataset']}/{data['model']}"
      ].items():
        for metric, stored in metrics.items():
          name = f"{task}/{metric.removesuffix('_per_class')}"
          if not all(v.get(name, -1) >= 0 for v in numbers.values()):
            continue  # not defined somewhere, or no metric (AP of each class)
          for part, scope, key in (
            ("p", "benchmark", "P"),
            ("mpc", "benchmark", "mPC"),
            ("rpc", "benchmark", "rPC"),
            ("mpc", "all", "mPC_all19"),
            ("rpc", "all", "rPC_all19"),
            ("mpc", "validation", "mPC_validation4"),
          ):
            names = {c.name for c in numbers}
            if stored.get(key) and names.issuperset(benchmark.names(scope)):
              got = _summary(numbers, name, scope)[part]
              self.assertAlmostEqual(got, stored[key], delta=1e-9)
              checked += 1
    self.assertGreater(checked, 500)

  def test_by_name_in_any_order(self):
    data = _made_up()
    for i, row in enumerate(data["results"]["bbox"]["AP"]):
      row[3] += i / 1000
    turned = copy.deepcopy(data)
    turned["corruptions"].reverse()
    turned["severities"].reverse()
    turned["results"]["bbox"]["AP"] = [
      r[::-1] for r in reversed(data["results"]["bbox"]["AP"])
    ]
    self.assertEqual(raw_results.numbers(turned), raw_results.numbers(data))

  def test_fifteen_corruptions_are_enough(self):
    data = _made_up()
    data["corruptions"] = data["corruptions"][:15]
    data["results"]["bbox"]["AP"] = data["results"]["bbox"]["AP"][:15]
    metrics = {r.metric for r in _rows(data) if not r.config}
    self.assertContainsSubset({"p", "mpc", "rpc"}, metrics)
    self.assertNotIn("mpc_all", metrics)

  @parameterized.named_parameters(
    ("severity", lambda d: d["severities"].__setitem__(2, 9), "no severity 2"),
    (
      "shape",
      lambda d: d["results"]["bbox"]["AP"].pop(),
      "19 corruptions x 6 severities",
    ),
    (
      "clean",
      lambda d: d["results"]["bbox"]["AP"][4].__setitem__(0, 0.1),
      "clean results differ",
    ),
    (
      "flag",
      lambda d: d["results"]["bbox"]["AP"][9].__setitem__(2, True),
      "got 'True' in it",
    ),
    (
      "severities",
      lambda d: d.update(severities=[0.5]),
      "severities.0: got 0.5",
    ),
  )
  def test_refusals(self, spoil, message):
    data = _made_up()
    spoil(data)
    path = pathlib.Path(self.create_tempdir().full_path) / "x.json"
    path.write_text(json.dumps(data))
    with self.assertRaisesRegex(ValueError, f"x.json.*{message}"):
      raw_results.RawResultsReader().read([path], base.Options())

  def test_a_results_list_is_a_cell_of_a_folder(self):
    path = pathlib.Path(self.create_tempdir().full_path) / "clean.json"
    path.write_text("[]")
    with self.assertRaisesRegex(ValueError, "name the folder"):
      raw_results.read(path)

  def test_a_metric_that_is_undefined_somewhere_has_no_summary(self):
    data = _made_up()
    data["results"]["bbox"]["AP"][2][3] = -1.0
    rows = _rows(data)
    self.assertEmpty(table.select(rows, config="impulse_noise_3"))
    (mpc,) = table.select(rows, metric="mpc")
    self.assertEqual(mpc.note, "missing: impulse_noise 3 (1 of 75)")
    self.assertFalse(mpc.has_value)
    self.assertNotEmpty(table.select(rows, metric="mpc_validation"))


def _is_headline(row: dict[str, str]) -> bool:
  """P of VOC is AP50, else AP."""
  voc = row["dataset"] == "pascal_voc"
  return row["metric"].removesuffix("_per_class") == ("AP50" if voc else "AP")
