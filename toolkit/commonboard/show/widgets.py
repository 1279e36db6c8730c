"""The slider as an ipywidgets widget. Only this module loads ipywidgets; what it shows is made in `stepper`."""

from __future__ import annotations

from typing import Any

from ipywidgets import HTML, Button, HBox, IntSlider, Layout, VBox  # noqa: TID253

from commonboard.show.measure import escape
from commonboard.show.stepper import Walk


class Stepper(VBox):  # type: ignore[misc]
    """Buttons and a slider over the steps of a history; below them the picture, what happened, and the board.

    Args:
        walk: the history, cut into steps.

    Attributes:
        slider: its `value` is the step, 0 before anything happened.
    """

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.slider = IntSlider(
            value=walk.start,
            min=0,
            max=walk.steps,
            description="step",
            continuous_update=True,
            layout=Layout(width="60%", min_width="260px"),
        )
        self.back = Button(description="◀ back", tooltip="one step back", layout=Layout(width="90px"))
        self.forward = Button(description="next ▶", tooltip="one step on", layout=Layout(width="90px"))
        self.view = HTML()
        self.slider.observe(lambda change: self.show(change["new"]), names="value")
        self.back.on_click(lambda _: self.go(-1))
        self.forward.on_click(lambda _: self.go(1))
        super().__init__([HBox([self.back, self.forward, self.slider]), self.view])
        self.show(walk.start)

    def go(self, steps: int) -> None:
        """Move by so many steps, as far as there are any."""
        self.slider.value = min(max(self.slider.value + steps, 0), self.walk.steps)

    def show(self, step: int) -> None:
        """Show a step. An error is shown too: whoever moves a slider sees no traceback."""
        try:
            self.view.value = live(self.walk, step)
        except Exception as error:
            self.view.value = f'<p role="alert"><b>{escape(type(error).__name__)}</b>: {escape(str(error))}</p>'

    def __repr__(self) -> str:
        return f"Stepper({self.walk.steps} steps of {self.walk.history!r})"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle = dict(super()._repr_mimebundle_(**options) or {})
        picture, boards = self.walk.still()
        bundle["text/plain"] = f"{self!r}\n\n{picture}"
        bundle["text/html"] = f"{picture._repr_html_()}{boards}"
        return bundle


def live(walk: Walk, step: int) -> str:
    """What the widget shows at a step: the drawing itself, not an image of it, so that hovering shows whole values."""
    shown = walk.render(step)
    return f'<p aria-live="polite"><b>{step}/{walk.steps}</b> {escape(shown.sentence)}</p>{shown.picture.svg}{shown.table}'
