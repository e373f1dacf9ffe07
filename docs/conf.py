"""The documentation site: `make docs`."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "src"))

import tinyude  # noqa: E402

project = "TinyUDE"
author = "TinyUDE contributors"
copyright = "TinyUDE contributors"
version = release = tinyude.__version__

extensions = [
    "breathe",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["images"]
html_theme = "pydata_sphinx_theme"
html_title = "TinyUDE"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
}
html_sidebars = {name: [] for name in ("index", "install", "tutorial", "examples")}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = False

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False

# The scripts run in the tests; here they are shown with the pictures they make.
sphinx_gallery_conf = {
    "examples_dirs": str(DOCS.parent / "examples"),
    "gallery_dirs": "gallery",
    "plot_gallery": False,
    "ignore_pattern": r"(^|[\\/])(_|real_)",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10**6,
    "remove_config_comments": True,
}

breathe_projects = {"tinyude": str(DOCS.parent / "build" / "docs" / "doxygen" / "xml")}
breathe_default_project = "tinyude"
breathe_domain_by_extension = {"h": "c"}
suppress_warnings = [
    "config.cache",
    "duplicate_declaration.c",  # Breathe gives a C struct and its typedef one name, as the header does
]
