"""Imported by each Python process of a suite, because this folder is on PYTHONPATH."""

import tracking

tracking.install()
