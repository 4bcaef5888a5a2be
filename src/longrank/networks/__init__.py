"""Hugging Face encoders: find, load, feed and accelerate them."""
