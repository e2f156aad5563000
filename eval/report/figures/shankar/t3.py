"""Table 3: detection and localization."""

from robust_tfds.eval.report.figures.parts import printed_table


class Table3(printed_table.PrintedTable):
  """mAP of three detectors."""

  title = "Table 3: mAP of detectors on anchors and worst frames"
  of = ("shankar2021", "table3")
