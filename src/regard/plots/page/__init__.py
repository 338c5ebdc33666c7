"""The weights as one HTML file that needs nothing else: `page`, with its script and its style."""

from regard.plots.page.write import check_page_path, page

__all__ = ["check_page_path", "page"]
