"""The inspector for your own program: shows its actors while they run, in the pages of `rawko serve`.

    with rawko.inspect.serve(actor) as inspector:
        print(inspector.link)

Needs the extra "web"; nothing is imported before `serve` is used.
"""

from __future__ import annotations

from rawko.lazy_names import lazy_names

TYPE_CHECKING = False  # as in `typing`, whose import takes time

if TYPE_CHECKING:
    from rawko.inspect.serving import Inspector as Inspector
    from rawko.inspect.serving import serve as serve

__all__ = ["Inspector", "serve"]

__getattr__ = lazy_names(__name__, {"rawko.inspect.serving": ("Inspector", "serve")})
