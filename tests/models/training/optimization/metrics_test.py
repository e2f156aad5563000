"""metrics.csv: means over steps; a training that goes on has the same lines."""

from absl.testing import parameterized
from etils import epath

from models.training.optimization import metrics
from robust_tfds import errors
from tests import in_folder


class MetricsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.file = epath.Path(self.root) / metrics.FILE

  def _open(self):
    return metrics.Metrics(self.file)

  def test_lines(self):
    opened = self._open()
    opened.add({"loss": 1.0})
    opened.add({"loss": 2.0})
    opened.line(2, {"seconds": 0.5})
    opened.add({"loss": 1 / 3})
    opened.line(3, {"validation_error": 0.25})
    self.assertEqual(
      self.file.read_text(),
      "step,loss,seconds,validation_error\n2,1.5,0.5,\n3,0.3333333,,0.25\n",
    )

  def test_going_on(self):
    """Lines after the checkpoint go; what was no line yet is counted."""
    opened = self._open()
    opened.add({"loss": 1.0})
    opened.line(1, {})
    opened.add({"loss": 2.0})
    pending = opened.pending
    opened.add({"loss": 4.0})
    opened.line(3, {})
    whole = self.file.read_text()
    again = self._open()
    again.read(2, pending)
    again.add({"loss": 4.0})
    again.line(3, {})
    self.assertEqual(self.file.read_text(), whole)

  @parameterized.parameters(
    ("a,b\n1,2\n", "no column 'step'"),
    ("step,loss\n1,x\n", "could not convert string to float: 'x'"),
    ("\0", "is NUL"),
  )
  def test_no_numbers(self, text, message):
    self.file.write_text(text)
    with self.assertRaisesRegex(
      errors.UserError,
      f"metrics.csv: these are not .*{message}.*Remove the file: the same command",
    ):
      self._open().read(2, self._open().pending)

  def test_nothing_is_written_where_nobody_asks(self):
    opened = metrics.Metrics(None)
    opened.add({"loss": 1.0})
    self.assertEqual(opened.line(1, {}), {"step": 1, "loss": 1.0})
