"""Photographs that a real network saw: pictures on the page, lines of words."""

import numpy as np

from eval.report.reports.classification import photographs
from tests import in_folder
from tests.eval.report.reports import contexts


class PhotographsTest(in_folder.TestCase):
  def test_pictures_and_words(self):
    picture = np.zeros((8, 8, 3), np.uint8)
    said = [(picture, "daisy 90%"), (picture, "honeycomb 20%")]
    report = photographs.Photographs()
    context = contexts.of_task("classification", gallery={"a flower": said})
    report.write(context, self.root)
    text = (self.root / "photographs.md").read_text("utf-8")
    self.assertEqual(text, "a flower: daisy 90% · honeycomb 20%\n")
    (line,) = report.on_page(context).lines
    self.assertEqual([p.caption for p in line.pictures], [w for _, w in said])

  def test_nothing_of_no_network(self):
    context = contexts.of_task("classification", gallery={})
    self.assertEqual(photographs.Photographs().write(context, self.root), [])
