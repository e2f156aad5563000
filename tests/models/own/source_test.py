"""The files that a user's own model consists of."""

import sys

from models.own import source as own_source
from tests import in_folder


class OwnSourceTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    sys.path.insert(0, str(self.root))
    self.addCleanup(sys.path.remove, str(self.root))
    self._write("source_model.py", "import json, jax\nimport source_net.parts")
    self._write("source_net/__init__.py", "")
    self._write(
      "source_net/parts.py",
      "from models import own\n\n"
      "def f():\n  from . import head\n  from .deep.er import thing\n",
    )
    self._write("source_net/head.py", "import source_model")
    self._write("source_net/deep/er.py", "thing = = 1")  # does not even parse
    self._write("source_net/other.py", "")

  def _write(self, name, text):
    path = self.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)

  def test_the_module_and_the_local_ones_it_imports(self):
    self.assertEqual(
      list(own_source.hashes("source_model:build")),
      [
        "source_model",
        "source_net",
        "source_net.deep.er",
        "source_net.head",
        "source_net.parts",
      ],
    )
    self.assertNotIn("source_net", sys.modules)

  def test_an_edit_changes_its_file_alone(self):
    before = own_source.hashes("source_model:build")
    self._write("source_net/head.py", "import source_model  # another head")
    after = own_source.hashes("source_model:build")
    changed = [m for m in before if before[m] != after[m]]
    self.assertEqual(changed, ["source_net.head"])

  def test_what_is_not_local(self):
    for name in ("json:load", "models.own:x", "models.own:x"):
      self.assertEqual(own_source.hashes(name), {})
    self.assertEqual(own_source.hashes("jax:x"), {})
    self.assertEqual(own_source.hashes("not_there_at_all:x"), {})
