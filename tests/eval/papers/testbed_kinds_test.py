"""Which of the testbed's models are of which kind, and the authors' line."""

import collections

from absl.testing import parameterized

from eval import papers
from eval.metrics import trend
from eval.papers import printed_rows, testbed_kinds
from robust_tfds import models


class TestbedKindsTest(parameterized.TestCase):
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

  @parameterized.parameters(
    ("resnet50", "standard"),
    ("efficientnet-l2-noisystudent", "more_data"),
    ("resnet50_linf_eps4_robust", "robust"),
    ("resnet50_aws_baseline", "control"),
    ("resnet18_50k_99_epochs", "checkpoint"),
    ("resnet50_swav", "later"),
    ("vit_base_patch16_224", "more_data"),
  )
  def test_kinds(self, name, kind):
    self.assertEqual(testbed_kinds.kinds()[name], kind)

  def test_a_model_has_a_name_of_ours_or_a_reason(self):
    names = [
      {r["network"]: r["model"] for r in printed_rows.lines("shankar2021", t)}
      for t in ("testbed_vid", "testbed_ytbb")
    ]
    self.assertEqual(*names)
    ours = {network: name for network, name in names[0].items() if name}
    self.assertLen(ours, 68)
    self.assertContainsSubset(ours.values(), models.names())
    unnamed = testbed_kinds.unnamed()
    self.assertSameElements(unnamed, names[0].keys() - ours.keys())
    self.assertNotIn("", unnamed.values())
    # A name that is ours too is another network, or the same.
    self.assertEqual(
      set(models.names()) & set(unnamed), {"vit_small_patch16_224"}
    )
    lines = printed_rows.lines("shankar2021", "testbed_unnamed")
    self.assertSameElements(unnamed.values(), {line["words"] for line in lines})

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
