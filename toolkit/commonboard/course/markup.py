"""Short texts with `code` and **weight**, as HTML that every viewer of notebooks keeps."""

from __future__ import annotations

import html
import re


def inline(text: str) -> str:
    """A sentence as HTML.

    >>> inline("`a < b` is **not** what you wrote")
    '<code>a &lt; b</code> is <strong>not</strong> what you wrote'
    """
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)


def paragraphs(text: str) -> str:
    """Paragraphs, divided by empty lines, as HTML; lines within one that begin with `- ` as a list."""
    return "".join(map(_block, re.split(r"\n\s*\n", text.strip())))


def block_of_code(code: str) -> str:
    """Code as HTML."""
    return f"<pre><code>{html.escape(code, quote=False)}</code></pre>"


def _block(text: str) -> str:
    lines = text.splitlines()
    items = [line[2:] for line in lines if line.startswith("- ")]
    if items and len(items) == len(lines):
        return f"<ul>{''.join(f'<li>{inline(item)}</li>' for item in items)}</ul>"
    return f"<p>{inline(' '.join(lines))}</p>"
