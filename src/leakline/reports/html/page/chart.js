// Curves with axes, drawn as SVG: the heap over time, and how stale blocks are.

// The parser knows the namespace; written out it would look like a link to a site.
const SVG = (() => {
  const holder = document.createElement("div");
  holder.innerHTML = "<svg></svg>";
  return holder.firstChild.namespaceURI;
})();
const CHART = { width: 640, height: 220, left: 70, right: 14, top: 10, bottom: 34 };
const TICKS = 5;

function shape(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// A round number of at least `most` / TICKS: 1, 2 or 5 times a power of ten.
function tickStep(most) {
  const rough = most / TICKS || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((digit) => digit * power >= rough) || 10);
}

// The largest unit that a size fills at least once.
const byteUnit = (bytes) =>
  bytes < 1024 ? 1 : 1024 ** Math.floor(Math.log2(bytes) / 10);

// Series are {name, role, points}; a stepped one keeps its height up to the next point.
function chart({ label, xTitle, xText, yText, yUnit, series, stepped }) {
  const xs = series.flatMap((one) => one.points.map(([x]) => x));
  const ys = series.flatMap((one) => one.points.map(([, y]) => y));
  const scale = scales(Math.max(...xs) || 1, Math.max(...ys) || 1);
  const drawing = shape(
    "svg",
    {
      viewBox: `0 0 ${CHART.width} ${CHART.height}`,
      class: "chart",
      role: "img",
      "aria-label": label,
    },
    ...axis(scale, xText, yText, yUnit || 1),
    ...series.map((one) => curve(one, scale, stepped)),
    shape(
      "text",
      { x: CHART.width / 2, y: CHART.height - 5, class: "chart-title" },
      xTitle,
    ),
  );
  const legend = series.map((one) =>
    span("legend", span(`swatch swatch-${one.role}`), ` ${one.name}`),
  );
  const numbers = series[0].points.map(([x], index) => [
    xText(x),
    ...series.map((one) => yText(one.points[index][1])),
  ]);
  return element(
    "figure",
    {},
    drawing,
    element("figcaption", {}, legend),
    element(
      "details",
      {},
      element("summary", {}, "numbers"),
      table([xTitle, ...series.map((one) => one.name)], numbers),
    ),
  );
}

function scales(mostX, mostY) {
  const width = CHART.width - CHART.left - CHART.right;
  const height = CHART.height - CHART.top - CHART.bottom;
  return {
    mostX,
    mostY,
    x: (value) => CHART.left + (width * value) / mostX,
    y: (value) => CHART.top + height - (height * value) / mostY,
  };
}

function axis(scale, xText, yText, yUnit) {
  const parts = [];
  const bottom = scale.y(0);
  const step = yUnit * tickStep(scale.mostY / yUnit);
  for (let value = 0; value <= scale.mostY * 1.0001; value += step) {
    const y = scale.y(value);
    parts.push(
      shape("line", {
        x1: CHART.left,
        x2: CHART.width - CHART.right,
        y1: y,
        y2: y,
        class: "grid",
      }),
      shape("text", { x: CHART.left - 8, y: y + 4, class: "y-tick" }, yText(value)),
    );
  }
  for (let value = 0; value <= scale.mostX * 1.0001; value += tickStep(scale.mostX)) {
    const x = scale.x(value);
    parts.push(shape("text", { x, y: bottom + 16, class: "x-tick" }, xText(value)));
  }
  return parts;
}

function curve({ points, role }, scale, stepped) {
  let path = "";
  points.forEach(([x, y], index) => {
    const place = `${scale.x(x).toFixed(1)}`;
    if (stepped && index) {
      path += `H${place}`;
    }
    path += `${index ? "L" : "M"}${place},${scale.y(y).toFixed(1)}`;
  });
  return shape("path", { d: path, class: `curve curve-${role}` });
}

const secondsText = (value) => `${Number(value.toPrecision(4))} s`;

// How much of the heap was alive and lost at each look at a process.
function heapOverTime(process) {
  const points = (key) => process.timeline.map((moment) => [moment.at_s, moment[key]]);
  return chart({
    label: `Heap of process ${process.pid} over time`,
    xTitle: "since the process began",
    xText: secondsText,
    yText: (value) => rounded(Math.round(value)),
    yUnit: byteUnit(Math.max(...process.timeline.map((one) => one.live_bytes))),
    series: [
      { name: "not freed", role: "live", points: points("live_bytes") },
      { name: "lost", role: "lost", points: points("lost_bytes") },
    ],
  });
}

// The share of a finding's blocks that is at most so stale.
function staleCurve(finding) {
  const { blocks } = finding.stale_curve.at(-1);
  const points = finding.stale_curve.map((one) => [one.stale_s, one.blocks / blocks]);
  return chart({
    label: `Staleness of the blocks of finding ${finding.number}`,
    xTitle: "CPU time since the last use",
    xText: secondsText,
    yText: (value) => `${Math.round(100 * value)} %`,
    series: [{ name: "blocks", role: "stale", points: [[0, 0], ...points] }],
    stepped: true,
  });
}
