"""The page: what the reports wrote, and nothing that they did not."""

from robust_tfds.eval.report.pages import run_page
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot
from tests import in_folder
from tests.eval.report.reports import contexts


class _Two(base.Report):
  """Two pictures, of which one is written, and a table."""

  pictures = (("there.png", "Here <it> is"), ("absent.png", "Not here"))

  def write(self, context, folder):
    (folder / "there.png").write_bytes(b"picture")
    return [folder / "there.png"]

  def tables(self, context):
    return [pivot.Table("Counts & sums", "Class", ["<a>"], [])]


class HtmlTest(in_folder.TestCase):
  def test_pictures_tables_and_provenance(self):
    context = contexts.of_task("classification", provenance=["seed <0>"])
    report = _Two()
    report.write(context, self.root)
    (path,) = run_page.write(context, [report], self.root)
    self.assertEqual(path, self.root / "report.html")
    page = path.read_text("utf-8")
    self.assertIn('alt="Here &lt;it&gt; is"', page)
    self.assertIn("data:image/png;base64,cGljdHVyZQ==", page)
    self.assertNotIn("Not here", page)
    self.assertIn("<h2>Counts &amp; sums</h2>", page)
    self.assertIn("<td>&lt;a&gt;</td>", page)
    self.assertIn("seed &lt;0&gt;</footer>", page)
    for model in context.models:
      self.assertIn(f"<td>{model}</td>", page)
