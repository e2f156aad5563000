"""The templates of sites and runs, with the modules that they call."""

import pathlib

from eval.metrics import definitions
from eval.report.pages import fact_text
from eval.tables import numbers
from robust_tfds.html_pages import template

INDEX, DEFINITIONS = "index.html", "definitions.html"
TEMPLATES = template.Templates(
  pathlib.Path(__file__).parent / "templates",
  definitions=definitions,
  facts=fact_text,
  numbers=numbers,
  INDEX=INDEX,
  DEFINITIONS=DEFINITIONS,
)
page = TEMPLATES.page
