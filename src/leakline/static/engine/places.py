"""Places in the source, as summaries and findings carry them."""

from leakline.static.engine.context import Context
from leakline.static.engine.summary import Place


def place_of(ctx: Context, location: int) -> Place:
    """The place that an instruction's location names."""
    return Place(ctx.function_id, location)
