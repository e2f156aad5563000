"""What printed numbers are of, and what keeps a run from standing beside them."""

from absl.testing import parameterized

from eval import papers
from eval.papers import protocols

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

  def test_words(self):
    self.assertEqual(
      papers.protocol("imagenet_c").words(),
      "split validation, examples 50,000, codec jpeg85, edition imagenet, px 224 x"
      " 224",
    )

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
