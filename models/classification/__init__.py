"""Families of classifiers of pictures, one file per family.

  model = models.get("resnet50")
  logits = model.apply(variables, pictures)  # uint8 [B, H, W, 3] -> [B, 1000]

A file holds, in this order, the table of its models (`VARIANTS`), the names of
public checkpoints (`CHECKPOINTS`), its layers, and the `Family` of them all
(`models.family`).
"""
