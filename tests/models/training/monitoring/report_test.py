"""A training's page: its curves, pictures, and that it stops no training."""

from unittest import mock

from absl.testing import parameterized
from etils import epath

from models.training import run
from models.training.monitoring import report
from tests import in_folder
from tests.eval.report.pages import html_check
from tests.models.training import tiny_trainings

_LINES = [
  {"step": 1, "loss": 2.0, "error": 0.5, "seconds": 9.0},
  {"step": 2, "loss": 1.0, "error": 0.4, "seconds": 10.0},
]


class ReportTest(in_folder.TestCase):
  def _trained(self, **changes):
    prepared = tiny_trainings.prepared(
      tiny_trainings.Source(validation=8), data__validation=0.25, **changes
    )
    workdir, said = epath.Path(self.root) / "run", []
    run.train(prepared, workdir, say=said.append)
    return workdir, said

  def test_a_training(self):
    workdir, _ = self._trained()
    text = (workdir / report.FILE).read_text()
    page = html_check.Page(text, images=True)
    self.assertEmpty(page.faults)
    for words in (
      "tiny, standard on tones train",
      "tones train: standard, 12 steps",
      "model.name",
      "as read",
      "as seen",
    ):
      self.assertIn(words, text)
    self.assertIn("12 steps, done", text)
    self.assertIn("weights.npz", page.links)
    pictures = text.count('<img class="small" src="data:image/png')
    self.assertEqual(pictures, 2 * 8)
    for name in ("loss", "error", "learning rate"):
      self.assertIn(f'aria-label="{name}: ', text)
    self.assertIn("; on validation data: ", text)

  def test_one_that_is_stopped_has_a_page(self):
    prepared = tiny_trainings.prepared()
    workdir = epath.Path(self.root) / "run"
    with mock.patch.object(
      run.handover, "write", side_effect=KeyboardInterrupt
    ):
      with self.assertRaises(KeyboardInterrupt):
        run.train(prepared, workdir)
    self.assertIn("tones train", (workdir / report.FILE).read_text())

  def test_a_page_that_fails_stops_nothing(self):
    broken = mock.Mock(side_effect=ValueError("no sheet"))
    with mock.patch.object(report.sheet, "lines", broken):
      workdir, said = self._trained()
    self.assertTrue((workdir / "weights.npz").exists())
    self.assertFalse((workdir / report.FILE).exists())
    self.assertIn(
      "report.html could not be written: ValueError: no sheet", said
    )

  def test_trainings_of_seconds_have_none(self):
    workdir, _ = self._trained(keep__last=0)
    self.assertFalse((workdir / report.FILE).exists())

  def test_several_views_and_what_it_must_say(self):
    prepared = tiny_trainings.prepared(
      recipe={"name": "corruption_mix", "names": ("fog",)},
      allow_benchmark_conditions=True,
      model__checkpoint="/somewhere/else.npz",
    )
    page = report.Report(prepared, epath.Path(self.root), 12, self.fail)
    page.write(_LINES[:1])
    text = (epath.Path(self.root) / report.FILE).read_text()
    self.assertIn("on fog at 1, 2, 3", text)
    self.assertIn("what that was trained on is not stated", text)


class SentencesTest(parameterized.TestCase):
  @parameterized.parameters(
    ([], ["No line yet, of 9 steps."]),
    (
      _LINES,
      [
        "Step 2 of 9, 10s of training, about 7s left.",
        "loss 1, error 0.4",
      ],
    ),
    (
      [*_LINES, {"step": 4, "loss": 1.0, "seconds": 14.0}],
      ["Step 4 of 9, 14s of training, about 10s left.", "loss 1"],
    ),
    (
      [*_LINES, {"step": 9, "validation_error": 0.1, "seconds": 12.0}],
      [
        "9 steps, done; 12s of training.",
        "validation error 0.1",
        "Least validation error: 0.1, after step 9.",
      ],
    ),
  )
  def test_sentences(self, lines, expected):
    self.assertEqual(list(report.sentences(lines, 9)), expected)

  def test_validation_is_dashed(self):
    lines = [dict(_LINES[0], validation_loss=3.0), _LINES[1]]
    loss, error = report.drawn(lines)
    self.assertEqual([loss.title, error.title], ["loss", "error"])
    dashed = [chart.svg.count("stroke-dasharray") for chart in (loss, error)]
    self.assertGreater(*dashed)
    self.assertIn("<title>validation loss\n1: 3</title>", loss.svg)
