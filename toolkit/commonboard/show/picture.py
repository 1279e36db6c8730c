"""A picture that a notebook keeps, a terminal prints and a file holds; always the same bytes for the same history."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from commonboard.show.measure import escape
from commonboard.show.timeline import PictureError


class Picture:
    """A space-time picture.

    Attributes:
        svg: the picture itself, as SVG text that stands alone.
        alt: the caption, then the steps, as text: for those who cannot see the picture.
        caption: one sentence: who, what, why.
        text: the picture made of text; `str(picture)` gives it with the caption below.
        width, height: in pixels.
    """

    __slots__ = ("alt", "caption", "height", "svg", "text", "width")

    def __init__(self, svg: str, alt: str, caption: str, text: str, width: int, height: int) -> None:
        self.svg = svg
        self.alt = alt
        self.caption = caption
        self.text = text
        self.width = width
        self.height = height

    def __repr__(self) -> str:
        return f"Picture({self.caption!r}, {self.width} x {self.height})"

    def __str__(self) -> str:
        return f"{self.text}\n\n{self.caption}"

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file: `.svg` alone, or `.html` with its caption, where hovering shows whole values.

        Raises:
            PictureError: the file's name ends in something else.
        """
        target = Path(path)
        if target.suffix == ".svg":
            content = self.svg
        elif target.suffix == ".html":
            content = (
                '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
                f'<meta name="color-scheme" content="light dark"><title>{escape(self.caption)}</title></head>\n'
                f'<body style="font-family:system-ui,sans-serif;margin:2em"><figure style="margin:0">{self.svg}'
                f"<figcaption>{escape(self.caption)}</figcaption></figure></body></html>\n"
            )
        else:
            raise PictureError(f"a picture is saved as .svg or .html, not as {target.name!r}; give the file one of these endings")
        target.write_text(content, encoding="utf-8", newline="\n")
        return target

    def _repr_html_(self) -> str:
        # JupyterLab takes <svg> out of what a reader has not run; an <img> stays, with its alternative text.
        data = base64.b64encode(self.svg.encode()).decode("ascii")
        image = f'<img alt="{escape(self.alt)}" width="{self.width}" src="data:image/svg+xml;base64,{data}">'
        return f'<figure style="margin:0">{image}<figcaption>{escape(self.caption)}</figcaption></figure>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}
