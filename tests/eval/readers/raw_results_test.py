"""The detection paper's tables from its raw results."""

import copy
import csv
import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from eval.metrics.detection import benchmark
from eval.readers import raw_results
from eval.results import table
from tests import shared_data

_FOLDER = "detection_raw_results"


def _files():
  return sorted(shared_data.golden(_FOLDER).glob("*__*.json"))


def _made_up():
  names = list(benchmark.ALL)
  values = [[0.5] + [0.5 - 0.05 * s for s in range(1, 6)] for _ in names]
  return {
    "dataset": "coco",
    "model": "mine",
    "corruptions": names,
    "severities": list(range(6)),
    "results": {"bbox": {"AP": values}},
  }


class RawResultsTest(parameterized.TestCase):
  def test_every_file_gives_the_computed_and_the_printed_numbers(self):
    found = [r for f in _files() for r in raw_results.rows(raw_results.read(f))]
    values = {
      (r.dataset, r.model, r.metric, r.corruption): 100 * r.value for r in found
    }
    path = shared_data.golden(_FOLDER, "expected_public.csv")
    with open(path, newline="") as f:
      expected = list(csv.DictReader(f))
    self.assertNotEmpty(expected)
    for row in expected:
      metric = f"{row['task']}/{row['metric']}"
      for part in ("P", "mPC", "rPC"):
        for scope, column in (
          ("", f"{part}_computed"),
          ("all", f"{part}_all_computed"),
          ("validation", f"{part}_validation_computed"),
        ):
          if row.get(column):
            key = (
              row["dataset"],
              row["model"],
              f"{metric}/{part.lower()}",
              scope,
            )
            self.assertAlmostEqual(values[key], float(row[column]), delta=1e-5)
    for line in raw_results.compare(found):
      if not all(line[k][2] for k in ("p", "mpc", "rpc")):
        self.assertNotEmpty(line["note"], line)

  def test_all_metrics_to_1e_9(self):
    path = shared_data.golden(_FOLDER, "expected_public_all_metrics.json")
    expected = json.loads(path.read_text())
    for file in _files():
      data = raw_results.read(file)
      want = expected[f"{data['dataset']}/{data['model']}"]
      values = {
        (r.metric, r.corruption): r.value
        for r in raw_results.rows(data)
        if not r.config
      }
      for task, metrics in want.items():
        for metric, numbers in metrics.items():
          name = f"{task}/{metric.removesuffix('_per_class')}"
          for key, scope, stored in (
            ("p", "", "P"),
            ("mpc", "", "mPC"),
            ("rpc", "", "rPC"),
            ("mpc", "all", "mPC_all19"),
            ("rpc", "all", "rPC_all19"),
            ("mpc", "validation", "mPC_validation4"),
          ):
            if (f"{name}/{key}", scope) in values and numbers.get(stored):
              self.assertAlmostEqual(
                values[f"{name}/{key}", scope], numbers[stored], delta=1e-9
              )

  def test_by_name_in_any_order(self):
    data = _made_up()
    for i, row in enumerate(data["results"]["bbox"]["AP"]):
      row[3] += i / 1000
    want = list(raw_results.rows(data))
    turned = copy.deepcopy(data)
    turned["corruptions"].reverse()
    turned["severities"].reverse()
    turned["results"]["bbox"]["AP"] = [
      r[::-1] for r in reversed(data["results"]["bbox"]["AP"])
    ]
    for one, two in zip(
      [r for r in want if not r.config],
      [r for r in raw_results.rows(turned) if not r.config],
      strict=True,
    ):
      self.assertEqual(one.metric, two.metric)
      self.assertAlmostEqual(one.value, two.value, delta=1e-12)

  def test_fifteen_corruptions_are_enough(self):
    data = _made_up()
    data["corruptions"] = data["corruptions"][:15]
    data["results"]["bbox"]["AP"] = data["results"]["bbox"]["AP"][:15]
    scopes = {r.corruption for r in raw_results.rows(data) if not r.config}
    self.assertEqual(scopes, {""})

  @parameterized.named_parameters(
    ("corruption", lambda d: d["corruptions"].__setitem__(3, "fogg"), "fogg"),
    ("severity", lambda d: d["severities"].__setitem__(2, 9), "no severity 2"),
    ("twice", lambda d: d["corruptions"].__setitem__(3, "fog"), "one twice"),
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
      "nan",
      lambda d: d["results"]["bbox"]["AP"][9].__setitem__(2, float("nan")),
      "fog, severity 2",
    ),
    ("keys", lambda d: d.pop("corruptions"), "lacks corruptions"),
  )
  def test_refusals(self, spoil, message):
    data = _made_up()
    spoil(data)
    path = pathlib.Path(self.create_tempdir().full_path) / "x.json"
    path.write_text(json.dumps(data))
    with self.assertRaisesRegex(ValueError, message):
      list(raw_results.rows(raw_results.read(path)))

  def test_a_metric_that_is_undefined_somewhere_has_no_summary(self):
    data = _made_up()
    data["results"]["bbox"]["APs"] = copy.deepcopy(
      data["results"]["bbox"]["AP"]
    )
    data["results"]["bbox"]["APs"][2][3] = -1.0
    metrics = {r.metric for r in raw_results.rows(data) if not r.config}
    self.assertContainsSubset({"bbox/AP/mpc"}, metrics)
    self.assertNotIn("bbox/APs/mpc", metrics)

  def test_tables_read_back(self):
    found = list(raw_results.rows(_made_up()))
    folder = pathlib.Path(self.create_tempdir().full_path)
    self.assertEqual(table.read(table.write(found, folder / "t.csv")), found)
    self.assertIn(
      "| coco | mine | bbox/AP | 50.00 |", raw_results.markdown(found)
    )


if __name__ == "__main__":
  absltest.main()
