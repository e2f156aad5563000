"""What is measured of detection under corruption."""

from robust_tfds.eval.metrics.definitions.base import Metric, Topic

_MICHAELIS = "Michaelis et al. 2019 (arXiv 1907.07484)"
_COCO = "Lin et al. 2014 (arXiv 1405.0312); the rules are pycocotools'"
TOPIC = Topic(
  "Detection under corruption",
  "detection",
  "A detection counts as right where it overlaps an object of its class enough"
  " (IoU). `bbox/` is the overlap of boxes, `segm/` that of masks.",
  (
    Metric(
      "AP",
      "AP",
      "higher",
      "Average precision at 101 recalls, the mean over the IoU thresholds 0.50,"
      " 0.55, ..., 0.95 and over the classes.",
      "mean over classes and thresholds of Σ_r precision(r) / 101",
      source=_COCO,
    ),
    Metric(
      "AP50",
      "AP50",
      "higher",
      "Average precision at IoU 0.50; on Pascal VOC by the rules of VOC2007: the"
      " mean of the best precisions at or above the 11 recalls 0, 0.1, ..., 1.",
      source=_COCO,
    ),
    Metric(
      "AP75",
      "AP75",
      "higher",
      "Average precision at IoU 0.75.",
      source=_COCO,
    ),
    *(
      Metric(
        f"AP{size}",
        f"AP {word}",
        "higher",
        f"AP of {word} objects ({area} pixels).",
        source=_COCO,
      )
      for size, word, area in (
        ("s", "small", "below 32²"),
        ("m", "medium", "32² to 96²"),
        ("l", "large", "above 96²"),
      )
    ),
    *(
      Metric(
        f"AR{most}",
        f"AR {most}",
        "higher",
        f"Average recall with at most {most} detections a picture.",
        source=_COCO,
      )
      for most in ("1", "10", "100")
    ),
    *(
      Metric(
        f"AR{size}",
        f"AR {word}",
        "higher",
        f"Average recall of {word} objects.",
        source=_COCO,
      )
      for size, word in (("s", "small"), ("m", "medium"), ("l", "large"))
    ),
    Metric(
      "mean_ap",
      "AP",
      "higher",
      "The mean of a corruption's performances over its severities.",
      "Σ_s P(c, s) / 5",
      title="Mean AP",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    Metric(
      "p",
      "P",
      "higher",
      "Performance on clean pictures: AP, of Pascal VOC AP50.",
      "P = P(clean)",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    Metric(
      "mpc",
      "mPC",
      "higher",
      "Mean performance under corruption, over the 15 common corruptions and 5"
      " severities.",
      "mPC = Σ_c Σ_s P(c, s) / 75",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    Metric(
      "rpc",
      "rPC",
      "higher",
      "Relative performance under corruption: the share that is left.",
      "rPC = mPC / P",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    Metric(
      "mpc_all",
      "mPC (19)",
      "higher",
      "The same mean over all 19 corruptions.",
      "Σ_c Σ_s P(c, s) / 95",
    ),
    Metric(
      "rpc_all",
      "rPC (19)",
      "higher",
      "mPC (19) / P.",
      "mPC (19) / P",
    ),
    Metric(
      "mpc_validation",
      "mPC (validation 4)",
      "higher",
      "The same mean over the 4 corruptions that are for validation.",
      "Σ_c Σ_s P(c, s) / 20",
    ),
  ),
)
