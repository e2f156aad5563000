"""Robustness of video action recognition: UCF101-P, HMDB51-P, K400-P, SSv2-P."""

CITATION = (
  "Schiappa et al. 2023 (CVPR), A Large-scale Robustness Analysis of Video"
  " Action Recognition Models, arXiv 2207.01398"
)
