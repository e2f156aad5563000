"""Robustness of video action recognition: UCF101-P, HMDB51-P, K400-P, SSv2-P."""
