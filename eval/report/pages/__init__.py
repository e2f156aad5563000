"""Pages: the static site about boards, and the page of a run.

  site.py              all files of a site: `write`
  run_page.py          one run on one page: tables, pictures, provenance
  index_page.py, board_page.py, model_page.py   what a kind of page shows, as data
  templates/           markup, style and script; shared: `robust_tfds/html_pages`
  entry_charts.py, heat_map.py, gallery.py   charts, maps, pictures
  view.py, fact_text.py                         the parts

Everything on a page passes a template, which escapes it. Pages load nothing: style
and script are inside them, and they work without the script.
"""
