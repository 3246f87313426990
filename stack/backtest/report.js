// The charts of a backtest: value, expected value and band, and below them the score, with incidents and labels as spans of colour.
// The page's address may say what a chart shows: #chart=0&from=SECONDS&to=SECONDS. The incidents' links do.

const DAY = 86_400;
// Of an axis of times: ticks of years, months, days, hours, minutes; below them what has changed. (See uPlot's axis.values.)
const TIMES = [
  [365 * DAY, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * DAY, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [DAY, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
];

const charts = [];
for (const [index, chart] of JSON.parse(document.getElementById("data").textContent).entries()) {
  const place = document.querySelectorAll(".chart")[index];
  const [times, value, low, high, expected, score] = chart.columns;
  const sync = { key: `chart-${index}` };
  const spans = (plot) => {
    const { ctx, bbox } = plot;
    for (const [list, colour] of [[chart.labels, "rgb(24 121 78 / 20%)"], [chart.incidents, "rgb(209 36 47 / 35%)"]]) {
      ctx.fillStyle = colour;
      for (const [start, end] of list) {
        const from = Math.max(plot.valToPos(start, "x", true), bbox.left);
        const to = Math.min(plot.valToPos(end, "x", true), bbox.left + bbox.width);
        if (to >= from) ctx.fillRect(from, bbox.top, Math.max(to - from, 2), bbox.height);
      }
    }
  };
  const plots = [];
  charts.push({ place, plots });
  const options = (height, series, more) => ({
    width: place.clientWidth || 1100,
    height,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), chart.zone),
    cursor: { sync },
    hooks: { drawClear: [spans] },
    series: [{ value: "{YYYY}-{MM}-{DD} {HH}:{mm}" }, ...series],
    axes: [{ values: TIMES }, { size: 80 }],
    ...more,
  });
  const band = { stroke: "transparent", points: { show: false } };
  plots.push(new uPlot(
    options(
      300,
      [
        { ...band, label: "low" },
        { ...band, label: "high" },
        { label: "expected", stroke: "#6b7686", width: 1, points: { show: false } },
        { label: "value", stroke: "#1f6feb", width: 1, points: { show: false } },
      ],
      { bands: [{ series: [2, 1], fill: "rgb(107 118 134 / 18%)" }] },
    ),
    [times, low, high, expected, value],
    place,
  ));
  plots.push(new uPlot(
    options(130, [{ label: "score", stroke: "#8250df", width: 1, points: { show: false } }], { scales: { y: { range: (_, __, top) => [0, Math.max(top, chart.threshold * 1.2)] } } }),
    [times, score],
    place,
  ));
}

function show() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const [min, max] = [Number(asked.get("from")), Number(asked.get("to"))];
  const chart = charts[Number(asked.get("chart"))];
  if (!chart || !(min < max)) return;
  for (const plot of chart.plots) plot.setScale("x", { min, max });
  chart.place.parentElement.scrollIntoView();
}
addEventListener("hashchange", show);
show();
