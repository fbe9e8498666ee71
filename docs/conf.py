"""The site: ``make docs``. Nothing here needs a network."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path

import matplotlib as mpl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
mpl.use("agg")

from sphinx.application import Sphinx  # noqa: E402

import plurilabel  # noqa: E402

project = "plurilabel"
author = "the plurilabel developers"
project_copyright = "the plurilabel developers, BSD 3-clause licence"
release = version = plurilabel.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "references",
    "learner_pages",
    "api_pages",
    "command_line",
    "generated",
    "optional_pages",
]
exclude_patterns = ["_build", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(numpy|scipy|pandas|matplotlib|torch|keras|river)\..*")]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
add_module_names = False
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
# attributes as a list, like parameters: two names may share a line there
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = "plurilabel"
html_static_path = ["_static"]
html_css_files = ["plurilabel.css"]
html_js_files = ["tables.js"]
html_favicon = "_static/logo-light.svg"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_logo": "logo-light.svg",
    "dark_logo": "logo-dark.svg",
    "light_css_variables": {
        "color-brand-primary": "#1b5e8c",
        "color-brand-content": "#1b5e8c",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7fc0ee",
        "color-brand-content": "#7fc0ee",
    },
    "top_of_page_buttons": [],
}
pygments_style = "friendly"
pygments_dark_style = "monokai"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 0,
    "show_memory": False,
    "abort_on_example_error": True,
    "image_scrapers": ("figures.tight",),
    "thumbnail_size": (720, 500),
}

# an example that warns is an example to repair
warnings.filterwarnings("error", module="plurilabel")


def skip(_app: object, _what: str, name: str, _obj: object, skip: bool, _options: object) -> bool:
    """Leave out what scikit-learn adds to every class, with links into its own pages."""
    return skip or (name.startswith("set_") and name.endswith("_request"))


def initials(
    _app: object, _what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """An author's first letter is not the number of a list."""
    lines[:] = [re.sub(r"^( *)([A-Z])\. (?=[A-Z])", r"\1\\\2. ", line) for line in lines]


def setup(app: Sphinx) -> None:
    """Connect them."""
    app.connect("autodoc-process-docstring", initials)
    app.connect("autodoc-skip-member", skip)
