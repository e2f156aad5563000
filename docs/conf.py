"""The docs site: `sphinx-build -EW -c docs . build/docs` (extra `docs`).

Its sources are the repository's own pages, where they lie; what is generated
`tools/docs_site` adds to them as they are read. Nothing of it is committed.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from robust_tfds.version import VERSION  # noqa: E402

project = "robust_tfds"
release = VERSION
copyright = "the robust_tfds authors"
root_doc = "docs/index"
include_patterns = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "docs/**.md",
  "models/**.md",
  "notebooks/*.ipynb",
  "robust_tfds/datasets/*/README.md",
  "tests/golden/corruptions/README.md",
]
exclude_patterns = [".*", "**/.*", "build"]
extensions = [
  "myst_nb",
  "sphinx.ext.autodoc",
  "sphinx.ext.napoleon",
  "tools.docs_site",
]
nb_execution_mode = "off"
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
default_role = "code"
autodoc_typehints = "none"  # the signature has them
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = f"robust_tfds {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
