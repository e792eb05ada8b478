"""Draws every panel of deploy/grafana from the data of a Prometheus server, with one picture for each dashboard.

    panels.py PROMETHEUS OPENMETRICS DIRECTORY

The OPENMETRICS file determines the time range. Empty panels are listed at the end, and the exit code is then 1: the query does
not match the metrics, or the load did not produce them.
"""

import io
import json
import math
import pathlib
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from PIL import Image  # noqa: E402

STEP = 2
# The window of rates: several exports of the metrics, which arrive every second.
WINDOW = "15s"
COLUMNS = 3
UNITS = {
    "s": "seconds", "ops": "a second", "reqps": "a second", "Bps": "bytes a second", "bytes": "bytes",
    "percentunit": "share", "short": "",
}
# Panels that are empty for a healthy fleet.
MAY_BE_EMPTY = {
    "Calls that failed because of a server fault",
    "Failed operations on files and input",
    "Commands that reached a limit",
}


def ask(prometheus, path, **query):
    address = f"{prometheus}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)["data"]["result"]


def wait_for(prometheus):
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{prometheus}/-/ready", timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    sys.exit("prometheus does not answer")


def times(path):
    first, last = math.inf, -math.inf
    for line in path.open():
        if not line.startswith("#"):
            at = float(line.rsplit(" ", 1)[1])
            first, last = min(first, at), max(last, at)
    return first, last


def legend(target, metric):
    return re.sub(r"\{\{(\w+)\}\}", lambda name: metric.get(name[1], ""), target["legendFormat"])


def lines_of(prometheus, panel, first, last):
    lines = []
    for target in panel["targets"]:
        query = target["expr"].replace("$__rate_interval", WINDOW).replace("$installation", ".*")
        for series in ask(prometheus, "query_range", query=query, start=first, end=last, step=STEP):
            values = [(float(at) - first, float(value)) for at, value in series["values"]]
            values = [(at, value) for at, value in values if math.isfinite(value)]
            if values:
                lines.append((legend(target, series["metric"]), values))
    return sorted(lines)


def draw(axes, panel, lines, long):
    unit = UNITS[panel["fieldConfig"]["defaults"]["unit"]]
    axes.set_title(panel["title"] + (f" ({unit})" if unit else ""), fontsize=8, loc="left")
    axes.tick_params(labelsize=6)
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.set_xlim(0, long)
    for name, values in lines[:10]:
        at, height = zip(*values)
        axes.plot(at, height, linewidth=1, label=name)
    axes.set_ylim(bottom=0)
    if lines:
        axes.legend(fontsize=5, loc="upper left", framealpha=0.6)


def main():
    prometheus, measured, directory = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    wait_for(prometheus)
    first, last = times(measured)
    directory.mkdir(parents=True, exist_ok=True)
    empty = []
    for path in sorted(pathlib.Path("deploy/grafana").glob("*.json")):
        dashboard = json.loads(path.read_text())
        panels = dashboard["panels"]
        rows = math.ceil(len(panels) / COLUMNS)
        figure, all_axes = pyplot.subplots(rows, COLUMNS, figsize=(12, 2.1 * rows), squeeze=False)
        for axes in all_axes.flat[len(panels):]:
            axes.axis("off")
        for axes, panel in zip(all_axes.flat, panels):
            lines = lines_of(prometheus, panel, first, last)
            if not lines and panel["title"] not in MAY_BE_EMPTY:
                empty.append(f"{path.stem}: {panel['title']}")
            draw(axes, panel, lines, last - first)
        figure.suptitle(f"{dashboard['title']} (seconds from the beginning of the work)", fontsize=10)
        figure.tight_layout()
        picture = io.BytesIO()
        figure.savefig(picture, dpi=80)
        pyplot.close(figure)
        # A small palette is sufficient and makes the file small.
        Image.open(picture).convert("RGB").quantize(32).save(directory / f"{path.stem}.png", optimize=True)
    if empty:
        sys.exit("panels that show nothing:\n  " + "\n  ".join(empty))


main()
