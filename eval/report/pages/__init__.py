"""Pages: the static site about boards, and the page of a run.

  site.py              all files of a site: `write`
  run_page.py          one run on one page: tables, pictures, provenance
  index_page.py, board_page.py, model_page.py   what a kind of page shows, as data
  templates/           the markup, style and script, beside `robust_tfds/html_pages`
  curves.py, heat_map.py, reliability.py   pictures and grounds
  view.py, fact_text.py, csv_files.py           the parts

Everything that stands in a page passes a template, which escapes it. Nothing is
loaded from anywhere: style and script stand in the pages, which work without the
script.
"""
