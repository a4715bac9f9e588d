"""The chart, the manifests and the image: what they render to, what they refuse, and Muster at work with them."""
