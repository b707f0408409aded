// The list of findings. Only the rows in view exist, so its length does not matter.

const ROW_PX = 54; // as .row in the style
const SPARE_ROWS = 6;

class FindingList {
  constructor(opened) {
    this.opened = opened;
    this.rows = [];
    this.current = 0;
    this.whole = leakTotals().bytes;
    this.space = div("space");
    this.count = element("p", { class: "count", role: "status" });
    this.box = element(
      "div",
      {
        class: "rows",
        id: "rows",
        tabindex: "0",
        role: "listbox",
        "aria-label": "findings",
        onscroll: () => this.draw(),
      },
      this.space,
    );
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  show(rows) {
    const before = this.rows[this.current];
    this.rows = rows;
    this.current = Math.max(0, rows.indexOf(before));
    const all = plural(findings.length, "finding");
    this.count.textContent = `${withCommas(rows.length)} of ${all}`;
    this.space.style.height = `${rows.length * ROW_PX}px`;
    this.reveal();
    this.draw();
  }

  select(finding) {
    const index = this.rows.indexOf(finding);
    if (index >= 0) {
      this.current = index;
      this.reveal();
      this.draw();
    }
  }

  move(steps) {
    if (this.rows.length) {
      const last = this.rows.length - 1;
      this.current = Math.min(last, Math.max(0, this.current + steps));
      this.reveal();
      this.draw();
    }
  }

  open() {
    if (this.rows[this.current]) {
      this.opened(this.rows[this.current]);
    }
  }

  reveal() {
    const top = this.current * ROW_PX;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) {
      this.box.scrollTop = top;
    } else if (top + ROW_PX > scrollTop + clientHeight) {
      this.box.scrollTop = top + ROW_PX - clientHeight;
    }
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_PX) - SPARE_ROWS);
    const visible = Math.ceil(this.box.clientHeight / ROW_PX) + 2 * SPARE_ROWS;
    const shown = this.rows.slice(first, first + visible);
    this.space.replaceChildren(...shown.map((f, index) => this.row(f, first + index)));
  }

  row(finding, index) {
    const isCurrent = index === this.current;
    const made = element(
      "div",
      {
        class: `row${isCurrent ? " current" : ""}`,
        role: "option",
        "aria-selected": String(isCurrent),
        "data-number": finding.number,
        onclick: () => {
          this.current = index;
          this.draw();
          this.open();
        },
      },
      div(
        "row-top",
        span("row-number", `#${finding.number}`),
        span("row-title", titleOf(finding), callerLabel(finding)),
        span("row-amount", sizeInWords(finding, finding.bytes)),
      ),
      div(
        "row-bottom",
        span(`kind ${kindClass(finding)}`, finding.kind),
        span("row-place", placeOf(finding)),
        span("row-blocks", plural(finding.blocks, "block")),
      ),
      isLeak(finding) ? bar(savedBytes(finding) / (this.whole || 1)) : null,
    );
    made.style.top = `${index * ROW_PX}px`;
    return made;
  }
}

function callerLabel(finding) {
  const caller = callerOf(finding);
  return caller ? span("quiet", ` from ${caller}`) : null;
}

const kindClass = (finding) => `kind-${finding.kind.replaceAll(" ", "-")}`;
