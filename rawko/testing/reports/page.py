"""Results of contracts as one self-contained HTML file: scenarios, coverage, each chart drawn with its visited parts,
and the elements that no scenario reaches."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rawko.render.draw import draw
from rawko.render.errors import RenderError
from rawko.testing.coverage.counts import Coverage, Share
from rawko.testing.coverage.drawing import coverage_options
from rawko.testing.coverage.table import MEASURES, missing_lines
from rawko.vocabulary.visible import visible_html

if TYPE_CHECKING:
    from rawko.testing.run import ContractResult, ScenarioResult

_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { padding: .25rem 1.5rem .25rem 0; text-align: left; vertical-align: top; }
meter { width: 6rem; } code, pre { font-size: .9em; overflow-wrap: anywhere; white-space: pre-wrap; }
.failed { color: #c0392b; } .passed { color: #2e8b57; } .dim { opacity: .7; } summary { cursor: pointer; }
img { max-width: 100%; background: #fff; border-radius: 6px; } .wide { overflow-x: auto; }
"""
_MARKS: Final = {"passed": "✓", "failed": "✗"}


def page(result: ContractResult) -> str:
    """The page. All texts of charts and scenarios are escaped, and nothing on it runs or loads anything."""
    failed = result.failed + len(result.errors)
    count = len(result.scenarios)
    title = f"{count - result.failed} of {count} scenarios passed" if count else "no scenario was run"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            "<meta http-equiv='Content-Security-Policy' "
            "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">",
            f"<title>{visible_html(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1 class='{'failed' if failed else 'passed'}'>{visible_html(title)}</h1>",
            *(f"<pre class='failed'>{visible_html(error)}</pre>" for error in result.errors),
            _overview(result.coverage),
            *(_chart(number, one, result.scenarios) for number, one in enumerate(result.coverage)),
            "</body></html>\n",
        ]
    )


def _overview(coverage: Sequence[Coverage]) -> str:
    heads = "".join(f"<th>{head}</th>" for head in ("chart", *MEASURES))
    rows = "".join(
        f"<tr><td><a href='#chart{number}'>{visible_html(one.chart.name)}</a></td>"
        + "".join(f"<td>{_meter(share)}</td>" for share in one.shares)
        + "</tr>"
        for number, one in enumerate(coverage)
    )
    return f"<div class='wide'><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"


def _meter(share: Share) -> str:
    return f"<meter max='{max(share.total, 1)}' value='{share.covered if share.total else 1}'></meter> {share}"


def _chart(number: int, one: Coverage, scenarios: Iterable[ScenarioResult]) -> str:
    feature = Path(one.chart.file).with_suffix(".feature").resolve()
    own = [each for each in scenarios if Path(each.feature).resolve() == feature]
    missing = "".join(f"<li><code>{visible_html(line)}</code></li>" for line in missing_lines(one))
    file = f"<span class='dim'>{visible_html(one.chart.file)}</span>"
    return (
        f"<h2 id='chart{number}'>{visible_html(one.chart.name)} {file}</h2>{_drawing(one)}"
        + (f"<h3>Never reached</h3><ul>{missing}</ul>" if missing else "<p class='passed'>All of it is reached.</p>")
        + f"<h3>Scenarios</h3><ul>{''.join(map(_scenario, own))}</ul>"
    )


def _drawing(one: Coverage) -> str:
    """The chart with its visited states and transitions highlighted, as an image, so that charts share no styles."""
    try:
        svg = draw(one.chart, ".svg", coverage_options(one))
    except RenderError as error:
        return f"<p class='dim'>not drawn: {visible_html(str(error))}</p>"
    data = b64encode(str(svg).encode()).decode()
    text = f"{one.chart.name}: visited states and transitions are lit"
    return f"<div class='wide'><img alt='{visible_html(text)}' src='data:image/svg+xml;base64,{data}'></div>"


def _scenario(one: ScenarioResult) -> str:
    mark = _MARKS.get(one.outcome, "–")
    name = f"<span class='{visible_html(one.outcome)}'>{mark}</span> {visible_html(one.scenario)}"
    if not one.text:
        return f"<li>{name}</li>"
    return f"<li><details open><summary>{name}</summary><pre>{visible_html(one.text)}</pre></details></li>"
