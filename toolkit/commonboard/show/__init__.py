"""What a person sees of a result: tables, HTML, the space-time picture, and a slider to step through a run.

Results reach this package by name, when somebody looks: `to_frame()`, `_repr_html_()`, `spacetime()` and `stepper()` import it.
To teach it another result, register functions, as `results` does for a run:

    @frame.register(MyResult)
    def _(mine: MyResult) -> pd.DataFrame: …

    @html.register(MyResult)
    def _(mine: MyResult) -> str: …
"""

from commonboard.show.charts import ChartError, bars, curve, panels
from commonboard.show.comparisons import comparison_chart
from commonboard.show.frames import NoTableError, frame
from commonboard.show.picture import Picture
from commonboard.show.results import run_picture
from commonboard.show.spacetime import spacetime
from commonboard.show.stepper import render, stepper
from commonboard.show.tables import board_table, history_table, html, text
from commonboard.show.timeline import PictureError

__all__ = [
    "ChartError",
    "NoTableError",
    "Picture",
    "PictureError",
    "bars",
    "board_table",
    "comparison_chart",
    "curve",
    "frame",
    "history_table",
    "html",
    "panels",
    "render",
    "run_picture",
    "spacetime",
    "stepper",
    "text",
]
