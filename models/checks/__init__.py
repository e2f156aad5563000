"""What models are given and answer, refused in words."""
