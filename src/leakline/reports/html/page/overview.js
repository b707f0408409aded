// The first view: what was found in all, the biggest leaks, and what was not seen.

const BIGGEST = 10;
const MOST_HEAPS = 3;

function overviewView() {
  return div(
    "overview",
    element("h1", { class: verdictClass() }, verdict()),
    notSeen(),
    div("columns", kindTotals(), causeTotals()),
    biggest(),
    mostDrag(),
    heaps(),
    processes(),
    runRemarks(),
    suppressed(),
    generated(),
  );
}

// Whether anybody looked, at a running program or at source code.
function isActive() {
  const { coverage, lenses } = report.run;
  return coverage ? coverage.units > 0 : lenses.some(([, state]) => state === "active");
}

function verdict() {
  const leaks = leakTotals();
  if (leaks.blocks || leaks.findings) {
    return `${plural(leaks.findings, "leak")}: ${amount(leaks)}`;
  }
  const unused = unusedTotals();
  if (unused.findings) {
    const places = plural(unused.findings, "place");
    return `Unused memory at ${places}: ${rounded(unused.bytes)}`;
  }
  return isActive() ? "No leaks found" : "Nothing was checked";
}

function verdictClass() {
  const leaks = leakTotals();
  if (leaks.blocks || leaks.findings || !isActive()) {
    return "alarm";
  }
  return unusedTotals().findings ? "doubt" : "calm";
}

function notSeen() {
  const sentences = [...report.run.not_seen];
  const blind = report.run.lenses.filter(([, state]) => state === "unavailable");
  if (blind.length) {
    sentences.unshift(`Could not look through: ${blind.map(([n]) => n).join(", ")}.`);
  }
  if (report.run.coverage) {
    const { incomplete } = report.run.coverage;
    sentences.push(...incomplete.map((name) => `Not fully analysed: ${name}`));
  }
  if (!isActive()) {
    sentences.unshift("Checking was NOT active: nothing was looked at.");
  }
  return sentenceList("warning", "Not seen", sentences);
}

// What the lenses can promise and what they did.
function runRemarks() {
  return sentenceList("remarks", "Remarks", report.run.remarks);
}

function sentenceList(style, heading, sentences) {
  return sentences.length
    ? div(
        style,
        element("h2", {}, heading),
        element(
          "ul",
          {},
          sentences.map((s) => element("li", {}, s)),
        ),
      )
    : null;
}

// What is still held gets no bar: beside it, the leaks would look like nothing.
function totalsTable(name, totals, linkTo) {
  const leaks = Object.entries(totals).filter(([key]) => !isHeld(key));
  const most = Math.max(1, ...leaks.map(([, total]) => total.bytes));
  const rows = Object.entries(totals).map(([key, total]) => [
    linkTo ? linkTo(key) : key,
    withCommas(total.bytes),
    withCommas(total.blocks),
    total.findings ? withCommas(total.findings) : "-",
    isHeld(key) ? "" : bar(total.bytes / most),
  ]);
  return table([name, "bytes", "blocks", "findings", ""], rows);
}

const filterLink = (name) => (value) =>
  findings.some((f) => (name === "kind" ? f.kind : f.loss && f.loss.cause) === value)
    ? element("button", { class: "plain", onclick: () => filterBy(name, value) }, value)
    : `${value} (not listed)`;

function filterBy(name, value) {
  Object.assign(filters, { text: "", kind: "", cause: "", engine: "", [name]: value });
  location.hash = "#/findings";
}

function kindTotals() {
  return Object.keys(report.totals).length
    ? section("By kind", totalsTable("kind", report.totals, filterLink("kind")))
    : null;
}

function causeTotals() {
  return Object.keys(report.causes).length
    ? section(
        "By cause of loss",
        totalsTable("cause", report.causes, filterLink("cause")),
      )
    : null;
}

// What only lost blocks lead to is saved with them, so it has no line of its own here.
function biggest() {
  const ranked = findings
    .filter((finding) => isLeak(finding) && finding.kind !== "indirectly lost")
    .sort((a, b) => savedBytes(b) - savedBytes(a) || a.number - b.number)
    .slice(0, BIGGEST);
  const whole = leakTotals().bytes || 1;
  const entries = ranked.map((finding) =>
    element(
      "li",
      {},
      link(
        `#/finding/${finding.number}`,
        "big",
        span("row-title", titleOf(finding), callerLabel(finding)),
        span("row-place", placeOf(finding)),
        span("row-amount", sizeInWords(finding, savedBytes(finding))),
      ),
      bar(savedBytes(finding) / whole),
    ),
  );
  return ranked.length
    ? section(
        "Biggest leaks",
        element("p", { class: "quiet" }, "Bytes that mending each would save."),
        element("ol", { class: "biggest" }, entries),
      )
    : null;
}

// What was unused for longest counts more, also when it is still referenced.
function mostDrag() {
  const ranked = findings
    .filter((finding) => finding.drag_byte_s)
    .sort((a, b) => b.drag_byte_s - a.drag_byte_s || a.number - b.number)
    .slice(0, BIGGEST);
  const most = ranked.length ? ranked[0].drag_byte_s : 1;
  const rows = ranked.map((finding) => [
    link(`#/finding/${finding.number}`, "", `#${finding.number} ${titleOf(finding)}`),
    dragInWords(finding.drag_byte_s),
    finding.staleness ? stalenessInWords(finding.staleness) : "-",
    bar(finding.drag_byte_s / most),
  ]);
  return rows.length
    ? section("Most drag", table(["finding", "drag", "unused for", ""], rows))
    : null;
}

// Processes that were looked at more than once, the largest first.
function heaps() {
  const seen = report.run.processes
    .filter((process) => process.timeline.length > 1)
    .sort((a, b) => b.live_bytes - a.live_bytes)
    .slice(0, MOST_HEAPS);
  const drawn = seen.map((process) => [
    element("h3", {}, `${process.pid}  ${commandLine(process.command)}`),
    heapOverTime(process),
  ]);
  return seen.length ? section("Heap over time", ...drawn) : null;
}

function processes() {
  const run = report.run;
  const lenses = run.lenses.map(([name, state]) => `${name} ${state}`).join(", ");
  const code = run.exit_code === null ? "" : ` Exit code: ${run.exit_code}.`;
  const rows = run.processes.map((process) => [
    `${process.pid}  ${commandLine(process.command)}`,
    process.ended,
    withCommas(process.allocations),
    `${rounded(process.live_bytes)} in ${plural(process.live_blocks, "block")}`,
    process.peak_bytes ? rounded(process.peak_bytes) : "-",
  ]);
  const heads = ["process", "ended", "allocations", "not freed", "peak"];
  return section(
    "What was looked at",
    lenses ? element("p", {}, `Lenses: ${lenses}.${code}`) : null,
    run.coverage ? element("p", {}, coverageInWords(run.coverage)) : null,
    rows.length ? table(heads, rows) : null,
  );
}

function coverageInWords(coverage) {
  const complete = withCommas(coverage.functions - coverage.incomplete.length);
  const failed = coverage.units_failed ? `, ${coverage.units_failed} not readable` : "";
  return (
    `Checked ${plural(coverage.units, "unit")}${failed}: ${complete} of ` +
    `${plural(coverage.functions, "function")} fully analysed.`
  );
}

function suppressed() {
  const unused = report.unused_suppressions;
  const used = Object.keys(report.suppressed).length > 0;
  if (!used && !unused.length) {
    return null;
  }
  return section(
    "Suppressions",
    used ? totalsTable("hidden by", report.suppressed) : null,
    unused.length
      ? [
          element("p", {}, "These matched nothing:"),
          element(
            "ul",
            {},
            unused.map((name) => element("li", {}, name)),
          ),
        ]
      : null,
  );
}

function generated() {
  return report.generated
    ? section(
        "Suppressions for these findings",
        element("pre", { class: "code generated" }, report.generated),
      )
    : null;
}
