"""The report page of a fit: plain data first (collect), then pictures (figures), then one HTML file (page)."""

from tinyude.report.collect import collect
from tinyude.report.page import render

__all__ = ["collect", "render"]
