// The source browser: embedded files, with the lines of each story marked.

const marksOfFile = new Map();

for (const finding of findings) {
  for (const step of storyOf(finding)) {
    const frame = keyFrame(step.stack);
    if (frame) {
      mark(frame, step.role, finding);
    }
  }
  for (const step of finding.path || []) {
    mark(step, "path", finding);
  }
}

function mark({ file, line }, role, finding) {
  if (file === undefined || !hasSource(file)) {
    return;
  }
  if (!marksOfFile.has(file)) {
    marksOfFile.set(file, new Map());
  }
  const lines = marksOfFile.get(file);
  const marks = lines.get(line) || [];
  marks.push({ role, finding });
  lines.set(line, marks);
}

const filesWithSource = () =>
  Object.keys(report.sources)
    .map(Number)
    .sort((a, b) => marksIn(b).length - marksIn(a).length || a - b);

const marksIn = (file) => [...(marksOfFile.get(file) || new Map()).values()].flat();

function sourceView(file, line) {
  const files = filesWithSource();
  if (!files.length) {
    return div("empty", whyNoSource());
  }
  const shown = hasSource(file) ? file : files[0];
  return div(
    "split",
    element(
      "nav",
      { class: "files", "aria-label": "files" },
      files.map(fileEntry(shown)),
    ),
    div("source", fileHeading(shown), fileText(shown, line)),
  );
}

function whyNoSource() {
  return report.with_source
    ? "No source could be read: no debug information, or the files are not here."
    : "Source text was left out of this report.";
}

const fileEntry = (shown) => (file) => {
  const concerned = new Set(marksIn(file).map(({ finding }) => finding)).size;
  return link(
    `#/source/${file}`,
    file === shown ? "file current" : "file",
    span("file-name", report.files[file]),
    span("quiet", concerned ? plural(concerned, "finding") : ""),
  );
};

function fileHeading(file) {
  const remarks = [];
  if ((report.changed || []).includes(file)) {
    remarks.push(
      "This file was changed since the program was built; lines may be off.",
    );
  }
  if (report.sources_left_out) {
    remarks.push(
      `${plural(report.sources_left_out, "file")} did not fit into the report.`,
    );
  }
  return [
    element("h2", {}, report.files[file]),
    ...remarks.map((remark) => element("p", { class: "warning" }, remark)),
  ];
}

function fileText(file, chosenLine) {
  const lines = [];
  for (const [first, texts] of report.sources[file]) {
    if (first > 1) {
      lines.push(span("line gap", "..."));
    }
    texts.forEach((text, index) => {
      lines.push(markedLine(file, first + index, text, chosenLine));
    });
  }
  return element("pre", { class: "code" }, lines);
}

function markedLine(file, number, text, chosenLine) {
  const marks = (marksOfFile.get(file) || new Map()).get(number) || [];
  const classes = [number === chosenLine ? "chosen" : ""];
  if (marks.length) {
    classes.push("here", `here-${marks[0].role}`);
  }
  return codeLine(number, text, classes.join(" "), marks.length ? labels(marks) : null);
}

const MOST_LABELS = 4;

function labels(marks) {
  const shown = marks
    .slice(0, MOST_LABELS)
    .map(({ role, finding }) =>
      link(`#/finding/${finding.number}`, "label", `#${finding.number} ${role}`),
    );
  const more = marks.length - shown.length;
  return span("labels", shown, more > 0 ? span("quiet", ` and ${more} more`) : null);
}
