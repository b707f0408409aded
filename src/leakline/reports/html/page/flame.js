// The flame graph: callers above, callees below, as wide as what leaked through them.

const FLAME_ROW_PX = 22; // as .flame-cell in the style, and a pixel between
const NARROWEST_PX = 2;
const NARROWEST_NAMED_PX = 30;

function flameView() {
  const graph = new FlameGraph();
  const measure = choice(
    "wide by",
    "measure",
    [
      ["bytes", "bytes"],
      ["blocks", "objects"],
    ],
    graph.measure,
    (value) => graph.remeasure(value),
  );
  const controls = filterControls(() => graph.refill(), measure);
  return div("flame-view", controls, graph.trail, graph.drawing);
}

// A function on the way from the outermost caller; `value` is what leaked through it.
function flameNode(frame) {
  const name = frame.function || framePlace(frame);
  const own = Boolean(frame.own);
  return { name, place: framePlace(frame), own, value: 0, children: new Map() };
}

// Memory that is still reachable is no leak, unless it is all that the filters leave.
function flameFindings() {
  const shown = chosen();
  const leaks = shown.filter(isLeak);
  return leaks.length ? leaks : shown;
}

function flameTree(measure) {
  const root = { ...flameNode({ function: "all", own: true }), place: "" };
  for (const finding of flameFindings()) {
    let node = root;
    node.value += finding[measure];
    for (const frame of framesOf(finding.allocation).reverse()) {
      const key = frame.function || framePlace(frame);
      if (!node.children.has(key)) {
        node.children.set(key, flameNode(frame));
      }
      node = node.children.get(key);
      node.value += finding[measure];
    }
  }
  return root;
}

class FlameGraph {
  constructor() {
    this.measure = "bytes";
    this.path = [flameTree(this.measure)]; // from the root to the zoomed node
    this.drawing = element("div", { class: "flame", id: "flame" });
    this.trail = element("nav", { class: "trail", "aria-label": "zoom" });
    new ResizeObserver(() => this.draw()).observe(this.drawing);
  }

  refill() {
    this.path = [flameTree(this.measure)];
    this.draw();
  }

  remeasure(measure) {
    this.measure = measure;
    this.refill();
  }

  zoom(path) {
    this.path = path;
    this.draw();
  }

  draw() {
    const cells = [];
    const width = this.drawing.clientWidth;
    this.path.forEach((node, depth) => {
      cells.push(this.cell(this.path.slice(0, depth + 1), 0, width));
    });
    this.addChildren(this.path, 0, width, cells);
    const deepest = Math.max(...cells.map((cell) => parseInt(cell.style.top, 10)));
    this.drawing.style.height = `${deepest + FLAME_ROW_PX}px`;
    this.drawing.replaceChildren(...cells);
    this.drawTrail();
  }

  addChildren(path, left, width, cells) {
    const node = path.at(-1);
    let x = left;
    for (const child of [...node.children.values()].sort((a, b) => b.value - a.value)) {
      const childWidth = node.value ? (width * child.value) / node.value : 0;
      if (childWidth >= NARROWEST_PX) {
        cells.push(this.cell([...path, child], x, childWidth));
        this.addChildren([...path, child], x, childWidth, cells);
      }
      x += childWidth;
    }
  }

  cell(path, left, width) {
    const node = path.at(-1);
    const made = element(
      "button",
      {
        class: `flame-cell ${node.own ? "own" : "foreign"}`,
        title: this.words(node),
        onclick: () => this.zoom(path),
      },
      width > NARROWEST_NAMED_PX ? node.name : "",
    );
    made.style.left = `${left}px`;
    made.style.top = `${(path.length - 1) * FLAME_ROW_PX}px`;
    made.style.width = `${Math.max(1, width - 1)}px`;
    return made;
  }

  words(node) {
    const isBytes = this.measure === "bytes";
    const size = isBytes ? rounded(node.value) : plural(node.value, "block");
    const share = percent(node.value, this.path[0].value);
    return [node.name, node.place, `${size}, ${share}`].filter(Boolean).join("\n");
  }

  drawTrail() {
    const crumbs = this.path.map((node, depth) => {
      const path = this.path.slice(0, depth + 1);
      const isLast = path.length === this.path.length;
      const zoom = () => this.zoom(path);
      return element(
        "button",
        { class: "crumb", disabled: isLast, onclick: zoom },
        node.name,
      );
    });
    this.trail.replaceChildren(...crumbs);
  }
}
