"""Papers: protocols, derived numbers, kinds, raw results."""

import collections
import fnmatch
import json
import pathlib
import statistics

from absl.testing import absltest, parameterized

from eval import papers
from eval.metrics import intervals, trend
from eval.papers import (
  derived,
  printed_rows,
  protocols,
  raw_results,
  testbed_kinds,
)
from eval.papers import doubt as doubt_lib
from robust_tfds import conditions, models
from robust_tfds.conditions import Condition
from tests import shared_data


class RowsTest(parameterized.TestCase):
  """Views of the printed numbers: by model, by network, by data set."""

  @parameterized.parameters("digits_c", "", "mine")
  def test_nothing_of_sets_that_no_paper_prints(self, dataset):
    self.assertEmpty(papers.rows(dataset))
    self.assertIsNone(papers.protocol(dataset))


class NetworksTest(parameterized.TestCase):
  def test_detectors_by_our_names(self):
    """The 12 zoo models of Michaelis et al. 2019 find their rows."""
    listed = papers.printed_networks("coco_c")
    ours = {n.model: n for n in listed if n.model in models.names()}
    self.assertLen(ours, 12)
    got = papers.printed("maskrcnn_resnet50_dconv_fpn_mmdet1", "coco_c")
    self.assertEqual((got["rpc"], got["segm/rpc"]), (0.567, 0.557))
    got = papers.printed("htc_resnext101_64x4d_dconv_fpn_mmdet1", "coco_c")
    self.assertEqual((got["p"], got["segm/p"]), (0.506, 0.438))
    page = (
      pathlib.Path(models.__file__).parent / "detection" / "README.md"
    ).read_text("utf-8")
    for network, facts in printed_rows.facts("michaelis2019")[
      "networks"
    ].items():
      count = models.get(facts["name"]).spec.parameters
      row = f"\n| {network} | `{facts['name']}` | {count:,} |"
      self.assertIn(row, page)
      self.assertIn(f"`{facts['checkpoint']}` |", page)
    # Stylized training is of another network.
    (stylized,) = (n for n in listed if n.label == "Faster R-CNN r50, stylized")
    self.assertNotIn(stylized.model, models.names())

  @parameterized.parameters(
    ("imagenet_c", "ce", conditions.PICTURES),
    ("imagenet_c", "relative_ce", conditions.PICTURES),
    ("imagenet_p", "fr", conditions.SEQUENCES),
    ("imagenet_p", "t5d", conditions.SEQUENCES),
  )
  def test_conditions_are_the_common_ones(self, dataset, metric, family):
    printed = papers.printed("resnet50", dataset)[metric]
    self.assertCountEqual(printed, family.names("common"))

  def test_of_two_tables_the_first_counts(self):
    printed = papers.printed("timesformer_base", "kinetics400_p")
    # 0.94 and 0.96 in two tables: the mean of its five lines is used.
    self.assertAlmostEqual(printed["gamma_r/temporal"], 0.966)
    self.assertIn("0.94 in Table 2; 0.96 in Table 4 (shown", printed["source"])
    self.assertEqual(printed["gamma_r"][""], 0.88)
    self.assertEqual(printed["gamma_r"]["jpeg"], 0.94)
    self.assertIn("Schiappa", printed["source"])
    self.assertIn("Table 2, Table 4", printed["source"])

  def test_lists_and_all_that_is_printed(self):
    listed = papers.printed_networks("imagenet_c")
    self.assertLen(listed, 7)
    every = {n.label: n for n in papers.printed_networks("imagenet_c", True)}
    self.assertContainsSubset({n.label for n in listed}, every)
    best = every["DeepAugment+AugMix"]
    self.assertEqual(best.numbers["mce", ""].value, 0.536)
    self.assertIn("README, ImageNet-C board", best.source)
    self.assertEqual(every["ResNet-50"].numbers["clean_error", ""].text, "23.9")
    self.assertEqual(every["ResNet-50"].model, "resnet50")

  def test_names_of_networks_are_the_catalogues(self):
    names = set(models.names())
    for paper in ("hendrycks2019", "shankar2021", "schiappa2023"):
      of_paper = {row.model for row in printed_rows.paper_rows(paper)} - {""}
      self.assertNotEmpty(of_paper, paper)
      self.assertEmpty(of_paper - names, paper)

  def test_zero_shot(self):
    """Errors of what is printed as accuracies, each beside its natural set."""
    got = papers.printed("clip_vit_l_14", "objectnet")
    self.assertAlmostEqual(got["clean_error"], 1 - 0.6889)
    self.assertIn("Cherti et al. 2023", got["source"])
    rows = papers.rows("openclip2023")
    self.assertLen(rows, 13 * 6)
    self.assertEqual(rows[0].text, "0.5982")
    self.assertEqual({r.metric for r in rows}, {"clean_error"})

  @parameterized.parameters(
    "digits_c", "tiny_imagenet_p", "digits_detection_c", "mine"
  )
  def test_nothing_of_another_paper(self, dataset):
    self.assertEmpty(papers.printed("resnet50", dataset))
    self.assertEmpty(papers.networks(dataset, "clean_error", "mce"))
    self.assertEmpty(papers.intervals(dataset, "acc_orig"))
    self.assertEmpty(papers.testbed(dataset))
    self.assertIsNone(papers.anchors(dataset))


class FramesTest(parameterized.TestCase):
  @parameterized.parameters(
    ("imagenet_vid_robust", 45, 1109), ("ytbb_robust", 60, 2030)
  )
  def test_numbers_and_intervals(self, dataset, count, anchors):
    values = papers.networks(dataset, "acc_orig", "acc_pmk", "drop")
    ends = papers.intervals(dataset, "acc_orig", "acc_pmk")
    self.assertLen(values, count)
    self.assertEqual(values.keys(), ends.keys())
    for name, (orig, perturbed, drop) in values.items():
      # One share is the testbed's 960 of 2,030, printed 47.2 %.
      allowed = 1e-3 if name.startswith("senet154") else 1e-9
      self.assertAlmostEqual(orig - perturbed, drop, delta=allowed)
      self.assertBetween(orig, *ends[name][:2])
      self.assertBetween(perturbed, *ends[name][2:])
    self.assertEqual(papers.anchors(dataset), anchors)
    testbed = papers.testbed(dataset)
    self.assertLen(testbed, 335)
    for share in (share for point in testbed.values() for share in point):
      right = share * anchors
      self.assertAlmostEqual(right, round(right), delta=1e-6)

  def test_medians_of_the_drops(self):
    """As the abstract has them: 17.0 and 14.9 points."""
    for dataset, median in (
      ("imagenet_vid_robust", 0.17),
      ("ytbb_robust", 0.149),
    ):
      drops = [drop for (drop,) in papers.networks(dataset, "drop").values()]
      self.assertAlmostEqual(statistics.median(drops), median, delta=0.00051)


_TRAININGS = {"": "", "S": ", scratch", "P": ", kinetics400"}
_TABLES = {"ucf101_p": "table6", "hmdb51_p": "table7"}


class DerivedTest(absltest.TestCase):
  """What follows from printed numbers, against what others computed of them."""

  def test_clean_accuracies(self):
    path = shared_data.published("schiappa", "implied_clean_accuracy.json")
    expected = {}
    for key, stored in json.loads(path.read_text()).items():
      dataset, _, name = key.partition(":")
      network, _, training = name.partition("-")
      expected[dataset, network + _TRAININGS[training]] = tuple(stored.values())
    implied = {
      (a.dataset, a.label): (
        round(100 * a.value, 1),
        a.rows,
        round(100 * a.lo, 1),
        round(100 * a.hi, 1),
        a.consistent,
      )
      for a in derived.clean_accuracies()
    }
    self.assertEqual(implied, expected)

  def test_groups_of_figure_6(self):
    path = shared_data.published("schiappa", "fig6_groups_derived.csv")
    rows = shared_data.lines(path)
    self.assertNotEmpty(rows)
    for row in rows:
      label = f"{row['model']}, {row['pretraining']}"
      of_network = derived.groups(_TABLES[row["dataset"]])[label]
      value = of_network[row["metric"]][row["group"]]
      self.assertAlmostEqual(value, float(row["mean_of_perturbation_rows"]), 4)
    count = sum(len(derived.groups(t)) for t in _TABLES.values())
    self.assertLen(rows, count * 2 * 3)


class UsedTest(parameterized.TestCase):
  def test_every_kind_has_one_rule(self):
    """Recomputed ones have a number for every row, others for none."""
    kinds = doubt_lib.kinds()
    self.assertEqual({d.kind for d in papers.doubts()}, set(kinds))
    for one in papers.doubts():
      used, why = kinds[one.kind]
      self.assertIn(used, ("printed", "recomputed"))
      self.assertNotEmpty(why)
      has = [any(v is not None for v in better) for better in one.used]
      self.assertEqual(set(has), {used == "recomputed"}, one)

  @parameterized.parameters(
    ("schiappa2023", "table7", "X3D, scratch", "gamma_r/digital", 0.13, 0.8733),
    ("schiappa2023", "table5", "X3D", "gamma_r/blur", 0.67, 0.8367),
    ("schiappa2023", "table3", "X3D", "gamma_r/blur", 0.67, 0.8367),
    # Of the groups that are used: .67 .8367 .61 .78 .67.
    ("schiappa2023", "table3", "X3D", "gamma_r", 0.76, 0.7133),
    ("hendrycks2019", "table3", "VGG-19+BN", "mfr", 0.651, 0.644),
    ("shankar2021", "table9", "ILSVRC-30", "drop", 0.151, 0.161),
    ("hendrycks2019", "table1", "ResNet-50", "clean_error", 0.239, 0.239),
  )
  def test_rows_are_printed_and_views_recomputed(
    self, paper, table, label, metric, printed, used
  ):
    (row,) = (
      r
      for r in papers.rows(paper)
      if (r.table, r.label, r.metric, r.name) == (table, label, metric, "")
    )
    self.assertAlmostEqual(row.value, printed)
    self.assertAlmostEqual(row.used.value, used, delta=5e-5)
    words = doubt_lib.sentences([row])
    shown = "recomputed" if row.better else "as printed"
    self.assertIn(f"(shown {shown})", words)
    as_printed = doubt_lib.sentences([row], as_printed=True)
    self.assertIn("(shown as printed)", as_printed)
    if row.listed:
      networks = papers.printed_networks(row.datasets[0])
      numbers = {n.label: n.numbers for n in networks}[label]
      self.assertAlmostEqual(numbers[metric, ""].value, row.used.value)

  def test_intervals_of_another_number_of_anchors(self):
    ends = papers.intervals("ytbb_robust", "acc_orig")
    for label, (share,) in papers.networks("ytbb_robust", "acc_orig").items():
      lo, hi = intervals.clopper_pearson(round(share * 2030), 2030)
      self.assertAlmostEqual(ends[label][0], lo, delta=1e-3)
      self.assertAlmostEqual(ends[label][1], hi, delta=1e-3)


_RUN = {
  "examples": 50_000,
  "codec": "jpeg85",
  "edition": "imagenet",
  "split": "validation",
  "px": [224, 224],
  "subset": "",
  "source": "fly",
}


class ProtocolsTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, {}),
    ({"codec": "published", "source": "prepared"}, {}),
    ({"codec": "raw"}, {"codec": ("jpeg85", "raw")}),
    ({"split": "train"}, {"split": ("validation", "train")}),
    ({"examples": 5000}, {"examples": (50_000, 5000)}),
    ({"px": [299, 299]}, {"px": ([224, 224], [299, 299])}),
    ({"subset": "robustbench5k"}, {"subset": ("", "robustbench5k")}),
    ({"codec": None}, {"codec": ("jpeg85", None)}),
    ({"baseline": "alexnet"}, {}),
    ({"baseline": "AlexNet (its source)"}, {}),
    (
      {"baseline": "net, in the run"},
      {"baseline": ("AlexNet", "net, in the run")},
    ),
  )
  def test_imagenet_c(self, changed, differences):
    protocol = papers.protocol("imagenet_c")
    self.assertEqual(protocol.differences({**_RUN, **changed}), differences)

  def test_sequences_are_of_their_videos(self):
    protocol = papers.protocol("imagenet_p")
    run = {**_RUN, "codec": "png"}
    self.assertEqual(protocol.differences(run), {"codec": ("h264", "png")})
    self.assertEmpty(protocol.differences({**run, "codec": "h264"}))

  def test_detectors_saw_other_pixels(self):
    protocol = papers.protocol("coco_c")
    differences = protocol.differences({"examples": 5000, "subset": ""})
    self.assertEqual(list(differences), ["pixels"])
    self.assertIn("BGR", protocol.words())

  def test_every_set_with_a_list_of_networks_has_one(self):
    self.assertEqual(
      {
        d
        for p in papers.names()
        for r in papers.rows(p)
        if r.listed
        for d in r.datasets
      }
      - set(protocols.PROTOCOLS),
      set(),
    )
    for protocol in protocols.PROTOCOLS.values():
      self.assertIn(protocol.paper, papers.names())


_SETS = {
  "coco": "coco_c",
  "pascal_voc": "pascal_c",
  "cityscapes": "cityscapes_c",
}
_VOC = ("pascal_c", "faster_rcnn_r50_fpn_1x_voc0712")
_COMBINED = ("pascal_c", "faster_rcnn_r50_fpn_1x_vocsvoc0712")


def _values(metrics):
  """`[19][6]`; of VOC the mean over classes."""
  if "AP" in metrics:
    return metrics["AP"]
  return [
    [statistics.fmean(classes) for classes in row]
    for row in metrics["AP50_per_class"]
  ]


class RawResultsTest(absltest.TestCase):
  """The stored P of every condition equals the authors' files."""

  def test_every_cell_and_no_other(self):
    seen = set()
    for path in shared_data.golden("detection_raw_results").glob("*__*.json"):
      data = json.loads(path.read_text())
      for task, metrics in data["results"].items():
        metric = "segm/p" if task == "segm" else "p"
        key = _SETS[data["dataset"]], data["model"], metric
        cells = raw_results.cells(*key)
        seen.add(key)
        self.assertLen(cells, 19 * 5 + 1)
        for name, values in zip(data["corruptions"], _values(metrics)):
          self.assertAlmostEqual(cells[Condition()], values[0], delta=6e-7)
          for level, value in enumerate(values[1:], 1):
            stored = cells[Condition(name, level)]
            self.assertAlmostEqual(stored, value, delta=6e-7)
    self.assertEqual(seen, set(raw_results.files()))

  def test_rmse_and_figure_6(self):
    path = shared_data.path("data", "detection_raw_results", "figure6.json")
    data = json.loads(path.read_text())
    stored = data["rmse_by_corruption_severity"]
    self.assertEqual({_SETS[name] for name in stored}, set(raw_results.rmse()))
    for dataset, of_set in stored.items():
      for name, levels in of_set.items():
        for level, value in levels.items():
          ours = raw_results.rmse()[_SETS[dataset]][Condition(name, int(level))]
          self.assertAlmostEqual(ours, value, delta=6e-7)
    standard, combined = (raw_results.cells(*key) for key in (_VOC, _COMBINED))
    for name, drawn in data["figure6"].items():
      levels = [Condition(name, s) for s in conditions.SEVERITIES]
      means = [
        100 * statistics.fmean(cells[c] for c in levels) / standard[Condition()]
        for cells in (standard, combined)
      ]
      self.assertAlmostEqual(means[0], drawn["rpc_standard"], delta=1e-3)
      tip = drawn["rpc_combined_over_standard_clean"]
      self.assertAlmostEqual(means[1], tip, delta=1e-3)


class TestbedKindsTest(parameterized.TestCase):
  """Which of the testbed's models are of which kind, and the authors' line."""

  @parameterized.parameters("imagenet_vid_robust", "ytbb_robust")
  def test_every_model_has_one_kind(self, dataset):
    kinds = testbed_kinds.kinds()
    self.assertSameElements(kinds, papers.testbed(dataset))
    self.assertEqual(
      collections.Counter(kinds.values()),
      {
        **{"standard": 78, "robust": 86, "more_data": 43},  # 30 in the paper
        **{"checkpoint": 110, "control": 7, "later": 11},
      },
    )
    self.assertSameElements(kinds.values(), testbed_kinds.KINDS)
    self.assertLen(papers.testbed(dataset, "checkpoint"), 110)

  def test_every_line_has_a_source_and_a_model(self):
    listed = list(printed_rows.lines("shankar2021", "testbed_models"))
    names = [line["network"] for line in listed]
    self.assertLen(set(names), len(names))
    for line in listed:
      self.assertRegex(line["source"], r"^(plotting|src)/\S+\.py|arXiv")
      self.assertIn(line["kind"], testbed_kinds.KINDS)
      one_of_many = "*" in line["network"]
      self.assertEqual(one_of_many, line["kind"] == "checkpoint", line)
      self.assertTrue(
        one_of_many or line["network"] in testbed_kinds.kinds(), line
      )

  def test_a_model_has_a_name_of_ours_or_a_reason(self):
    names = [
      {r["network"]: r["model"] for r in printed_rows.lines("shankar2021", t)}
      for t in ("testbed_vid", "testbed_ytbb")
    ]
    self.assertEqual(*names)
    ours = {network: name for network, name in names[0].items() if name}
    self.assertLen(ours, 68)
    self.assertContainsSubset(ours.values(), models.names())
    reasons = list(printed_rows.lines("shankar2021", "testbed_unnamed"))
    for network in names[0].keys() - ours.keys():
      fits = (fnmatch.fnmatchcase(network, r["network"]) for r in reasons)
      self.assertTrue(any(fits), network)

  @parameterized.parameters(
    ("vit_base_patch16_224", "imagenet_vid_robust", 0.8575),
    ("googlenet", "ytbb_robust", 0.5921),
    ("resnetv2_50x1_bit", "imagenet_vid_robust", 0.7647),
  )
  def test_a_run_finds_its_row(self, model, dataset, value):
    got = papers.printed(model, dataset)
    self.assertAlmostEqual(got["acc_orig"], value, places=4)
    self.assertIn("testbed", got["source"])

  @parameterized.parameters(("", 76.84, 5.29), ("standard", 79.74, 2.40))
  def test_the_line_depends_on_whom_it_is_fitted_to(self, kind, at, above):
    of = papers.testbed("imagenet_vid_robust", kind)
    line = trend.fit(*zip(*of.values()), logits=True)
    self.assertAlmostEqual(100 * float(line.predict(0.88)), at, delta=0.01)
    x, y = papers.testbed("imagenet_vid_robust")["efficientnet-l2-noisystudent"]
    self.assertAlmostEqual(100 * float(y - line.predict(x)), above, delta=0.01)
