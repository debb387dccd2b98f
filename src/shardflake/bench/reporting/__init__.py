"""Draw the report of a benchmark from its raw results: HTML, Markdown, CSV and JSON. Needs no server, and no network.

The one door is :func:`write`. Numbers come from :mod:`.summary`, sections from the modules of their subject, and the page from
``report.html.j2``: a section holds either a chart or table with the sentence that its numbers support, or why there is none.
"""

from __future__ import annotations

from pathlib import Path

from shardflake.errors import ResultsError


def write(results_dir: Path) -> Path:
    """Write report.html, report.md, report.csv and report.json beside the raw results of a run.

    :param results_dir: the directory that holds results.ndjson.
    :returns: the path of the HTML page.
    :raises ResultsError: there are no results, they cannot be read, or the extra ``bench`` is not installed.
    """
    try:
        from shardflake.bench.reporting.page import write_all
    except ImportError as error:
        raise ResultsError(f"reports need {error.name}: pip install 'shardflake[bench]'") from error
    return write_all(results_dir)
