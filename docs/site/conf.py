"""How Sphinx renders the pages and the API reference (`./dev docs`), to be read offline.

Every page in docs/ is a page of the site; reference.py derives the API reference.
"""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]

import reference  # noqa: E402  (the line above makes it importable)
import shoal  # noqa: E402

project = "shoal"
author = "The shoal developers"
version = release = shoal.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "site"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
nitpick_ignore_regex = reference.FOREIGN

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = f"shoal {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # a summary is fetched, which a page opened from a file may not do
templates_path = ["templates"]
html_sidebars = {"**": ["sidebar-pages"]}
html_theme_options: dict[str, Any] = {
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
}


def setup(app: Any) -> None:
    """Write the pages of the reference first, and resolve the names in its signatures."""
    app.connect("builder-inited", reference.write_pages)
    app.connect("missing-reference", reference.resolve)
