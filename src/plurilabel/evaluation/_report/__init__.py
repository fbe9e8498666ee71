"""Reports as offline pages, LaTeX and Markdown."""
