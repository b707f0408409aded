// The flame graph: callers above, callees below, as wide as what was leaked through them.

const FLAME_ROW_PX = 22;
const NARROWEST_PX = 2;

const flame = { measure: "bytes", zoom: [] };

function newNode(name, place, own) {
  return { name, place, own, value: 0, children: new Map() };
}

// The findings that the filters let through, merged from their outermost frames.
function flameTree(shown) {
  const root = newNode("all", "", true);
  for (const finding of shown) {
    const value = flame.measure === "bytes" ? finding.bytes : finding.blocks;
    let node = root;
    root.value += value;
    for (const number of report.stacks[finding.allocation].frames.toReversed()) {
      const frame = report.frames[number];
      const key = frame.function || framePlace(frame);
      if (!node.children.has(key)) {
        const name = frame.function ? frameName(frame) : framePlace(frame);
        node.children.set(key, newNode(name, framePlace(frame), Boolean(frame.own)));
      }
      node = node.children.get(key);
      node.value += value;
    }
  }
  return root;
}

function flameView() {
  const drawing = element("div", { class: "flame", id: "flame" });
  const trail = element("nav", { class: "trail", "aria-label": "zoom" });
  const redraw = () => drawFlame(drawing, trail, flameTree(flameFindings()));
  const changed = () => {
    flame.zoom = [];
    redraw();
  };
  const measure = choice(
    "wide by",
    "measure",
    [["bytes", "bytes"], ["blocks", "objects"]],
    flame.measure,
    (value) => {
      flame.measure = value;
      redraw();
    },
  );
  drawing.addEventListener("zoom", redraw);
  new ResizeObserver(redraw).observe(drawing);
  return div("flame-view", filterControls(changed, measure), trail, drawing);
}

// Memory that is still reachable is no leak, unless it is asked for or all there is.
function flameFindings() {
  const shown = chosen();
  const leaks = shown.filter(isLeak);
  return leaks.length ? leaks : shown;
}

function drawFlame(drawing, trail, root) {
  const path = [root];
  for (const key of flame.zoom) {
    const next = path.at(-1).children.get(key);
    if (!next) {
      break;
    }
    path.push(next);
  }
  const cells = [];
  const width = drawing.clientWidth;
  path.forEach((node, depth) => {
    cells.push(flameCell(drawing, root, node, flame.zoom.slice(0, depth), 0, width, depth));
  });
  const zoomed = { key: flame.zoom.slice(0, path.length - 1), depth: path.length - 1 };
  addChildren(drawing, root, path.at(-1), zoomed.key, 0, width, zoomed.depth, cells);
  const deepest = Math.max(...cells.map((cell) => cell.depth));
  drawing.style.height = `${(deepest + 1) * FLAME_ROW_PX}px`;
  drawing.replaceChildren(...cells.map((cell) => cell.made));
  drawTrail(drawing, trail, path);
}

function addChildren(drawing, root, node, keys, left, width, depth, cells) {
  let x = left;
  const children = [...node.children].sort(([, a], [, b]) => b.value - a.value);
  for (const [key, child] of children) {
    const childWidth = node.value ? (width * child.value) / node.value : 0;
    if (childWidth >= NARROWEST_PX) {
      const zoom = [...keys, key];
      cells.push(flameCell(drawing, root, child, zoom, x, childWidth, depth + 1));
      addChildren(drawing, root, child, zoom, x, childWidth, depth + 1, cells);
    }
    x += childWidth;
  }
}

function flameCell(drawing, root, node, zoom, left, width, depth) {
  const size = flame.measure === "bytes" ? rounded(node.value) : withCommas(node.value);
  const words = `${node.name}\n${node.place}\n${size}, ${percent(node.value, root.value)}`;
  const made = element(
    "button",
    {
      class: `flame-cell ${node.own ? "own" : "foreign"}`,
      title: words.replace("\n\n", "\n"),
      onclick: () => zoomTo(drawing, zoom),
    },
    width > 30 ? node.name : "",
  );
  made.style.left = `${left}px`;
  made.style.top = `${depth * FLAME_ROW_PX}px`;
  made.style.width = `${Math.max(1, width - 1)}px`;
  return { made, depth };
}

function zoomTo(drawing, zoom) {
  flame.zoom = zoom;
  drawing.dispatchEvent(new Event("zoom"));
}

function drawTrail(drawing, trail, path) {
  const last = path.length - 1;
  trail.replaceChildren(
    ...path.map((node, depth) =>
      element(
        "button",
        {
          class: "crumb",
          disabled: depth === last,
          onclick: () => zoomTo(drawing, flame.zoom.slice(0, depth)),
        },
        node.name,
      ),
    ),
  );
}
