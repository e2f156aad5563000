"""The static site about boards: pages, pictures and files, from plain data alone.

  pages.py            all files of a site: `write`
  index_page.py       all boards and models
  board_page.py       one board: board_table.py, heat_map.py, filters.py
  model_page.py       one entry: curves.py, reliability.py
  definitions_page.py what the numbers are: definitions/
  csv_files.py        the same numbers for spreadsheets
  page.py, style.css, board.js   the frame of every page
  layout.py, file_names.py       where files lie
  view.py, number_text.py, fact_text.py, markup.py, svg.py   the parts

Nothing is loaded from anywhere: style and script stand in the pages, which work
without the script.
"""
