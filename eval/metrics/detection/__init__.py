"""Detection metrics: COCO AP, VOC AP50, and the Robust Detection Benchmark.

Michaelis et al. 2019: P is a cell's performance (VOC AP50, else COCO AP), mPC
its mean over corruptions and severities, rPC their ratio to clean performance.
"""

from eval.metrics.detection.benchmark import summarize
from eval.metrics.detection.coco import coco_ap
from eval.metrics.detection.pixel_rmse import rmse, rmse_table
from eval.metrics.detection.voc import voc_ap50

__all__ = ("coco_ap", "rmse", "rmse_table", "summarize", "voc_ap50")
