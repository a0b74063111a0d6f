"""How the site is built: `make docs`. Nothing is fetched; what is executed is in docs/gallery."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import spinlearn

sys.path.insert(0, str(Path(__file__).parent))  # constant_texts

project = "spinlearn"
author = "the spinlearn developers"
version = release = spinlearn.__version__
copyright = author

extensions = [
    "constant_texts",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = [
    "_build",
    "_templates",
    "gallery",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
]
templates_path = ["_templates"]
nitpicky = True

# -- guides in Markdown ----------------------------------------------------------------------------
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4  # links such as choosing-a-graph.md#homogeneous-couplings
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

# -- reference from the docstrings -----------------------------------------------------------------
autosummary_generate = True
# Names that differ in capitals only would be one file elsewhere.
autosummary_filename_map = {"spinlearn.answers.profile": "spinlearn.answers.profile-function"}
autodoc_typehints = "none"  # the docstrings say types, with shapes and units
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
default_role = "code"  # what docstrings put between single backquotes
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# -- executed examples -----------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "auto_gallery/backreferences",
    "doc_module": ("spinlearn",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "matplotlib_animations": False,
    "min_reported_time": 10,
}
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

# -- looks -----------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "spinlearn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_root/favicon.ico"
html_extra_path = ["_explorers", "_root"]  # the former is made by explorers.py
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "spinlearn"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "back_to_top_button": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"explorers": [], "glossary": []}


def foreign(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what classes inherit from other packages: scikit-learn's and Python's own docs."""
    described = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
    home = getattr(described, "__module__", None) or "builtins"
    return True if callable(described) and not home.startswith("spinlearn") else None


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("autodoc-skip-member", foreign)
