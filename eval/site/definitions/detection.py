"""What is measured of detection under corruption."""

from robust_tfds.eval.site.definitions.base import Definition, Topic

_MICHAELIS = "Michaelis et al. 2019 (arXiv 1907.07484)"
_COCO = "Lin et al. 2014 (arXiv 1405.0312); the rules are pycocotools'"
TOPIC = Topic(
  "Detection under corruption",
  "detection",
  "A detection counts as right where it overlaps an object of its class enough"
  " (IoU). `bbox/` is the overlap of boxes, `segm/` that of masks.",
  (
    Definition(
      "AP",
      "AP",
      "Average precision at 101 recalls, the mean over the IoU thresholds 0.50,"
      " 0.55, ..., 0.95 and over the classes.",
      "mean over classes and thresholds of Σ_r precision(r) / 101",
      "higher",
      source=_COCO,
    ),
    Definition(
      "AP50",
      "AP50",
      "Average precision at IoU 0.50; on Pascal VOC by VOC's rules (the area under"
      " the curve of precision over recall).",
      sense="higher",
      source=_COCO,
    ),
    Definition(
      "AP75",
      "AP75",
      "Average precision at IoU 0.75.",
      sense="higher",
      source=_COCO,
    ),
    *(
      Definition(
        f"AP{size}",
        f"AP {word}",
        f"AP of {word} objects ({area} pixels).",
        sense="higher",
        source=_COCO,
      )
      for size, word, area in (
        ("s", "small", "below 32²"),
        ("m", "medium", "32² to 96²"),
        ("l", "large", "above 96²"),
      )
    ),
    *(
      Definition(
        f"AR{most}",
        f"AR {most}",
        f"Average recall with at most {most} detections a picture.",
        sense="higher",
        source=_COCO,
      )
      for most in ("1", "10", "100")
    ),
    *(
      Definition(
        f"AR{size}",
        f"AR {word}",
        f"Average recall of {word} objects.",
        sense="higher",
        source=_COCO,
      )
      for size, word in (("s", "small"), ("m", "medium"), ("l", "large"))
    ),
    Definition(
      "mean_ap",
      "Mean AP",
      "The mean of a corruption's performances over its severities.",
      "Σ_s P(c, s) / 5",
      "higher",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    Definition(
      "p",
      "P",
      "Performance on clean pictures: AP, of Pascal VOC AP50.",
      "P = P(clean)",
      "higher",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    Definition(
      "mpc",
      "mPC",
      "Mean performance under corruption, over the 15 common corruptions and 5"
      " severities.",
      "mPC = Σ_c Σ_s P(c, s) / 75",
      "higher",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    Definition(
      "rpc",
      "rPC",
      "Relative performance under corruption: the share that is left.",
      "rPC = mPC / P",
      "higher",
      source=f"{_MICHAELIS}, section 2.3",
    ),
    Definition(
      "mpc_all",
      "mPC (19)",
      "The same mean over all 19 corruptions.",
      "Σ_c Σ_s P(c, s) / 95",
      "higher",
    ),
    Definition(
      "rpc_all", "rPC (19)", "mPC (19) / P.", "mPC (19) / P", "higher"
    ),
    Definition(
      "mpc_validation",
      "mPC (validation 4)",
      "The same mean over the 4 corruptions that are for validation.",
      "Σ_c Σ_s P(c, s) / 20",
      "higher",
    ),
  ),
)
