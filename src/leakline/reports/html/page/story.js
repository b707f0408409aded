// One finding: how much, and what happened to it along the source.

const LINES_AROUND = 3;

function storyView(finding) {
  return element(
    "article",
    { class: "story", "data-number": finding.number },
    heading(finding),
    suggestionView(finding.suggestion),
    element("ol", { class: "steps" }, storyOf(finding).map(stepView)),
    pathView(finding),
    staleness(finding),
    ...(finding.references || []).map(({ title, stack }) => aside(title, stack)),
    ...(finding.used_before || []).map((stack) =>
      aside("Shortly before its last use, memory was used here", stack),
    ),
    ...(finding.sibling_frees || []).map((stack) =>
      aside("Blocks like these are freed here", stack),
    ),
    finding.leader === undefined
      ? null
      : aside("Only lost blocks lead here, allocated by", finding.leader),
    remarks(finding),
  );
}

function heading(finding) {
  return element(
    "header",
    {},
    element(
      "h2",
      {},
      `#${finding.number} `,
      span(`kind ${kindClass(finding)}`, finding.kind),
      ` ${titleOf(finding)}`,
    ),
    isConfirmedByBoth(finding)
      ? element("p", { class: "calm" }, "confirmed by both: a run and the checker")
      : null,
    element(
      "p",
      { class: "amount", title: plural(finding.bytes, "byte") },
      amountOf(finding),
    ),
    element(
      "p",
      { class: "quiet" },
      `${finding.confidence}; seen by ${finding.engines.join(", ")}; id ${finding.id}`,
    ),
  );
}

// How much it is, what it holds, and what mending it would save of all that leaked.
function amountOf(finding) {
  const size = sizeInWords(finding, finding.bytes);
  let words = `${size} in ${plural(finding.blocks, "block")}`;
  if (finding.indirect_blocks) {
    const held = { bytes: finding.indirect_bytes, blocks: finding.indirect_blocks };
    words += `, and with them ${amount(held)}`;
  }
  const whole = leakTotals().bytes;
  if (isLeak(finding) && whole) {
    const saved = Math.min(savedBytes(finding), whole);
    words += `  (${percent(saved, whole)} of what leaked)`;
  }
  return words;
}

function suggestionView({ action, reasons, checks }) {
  return div(
    "advice",
    element("p", {}, element("b", {}, "What to do: "), report.sentences[action]),
    ...sentencesView("Why there", reasons),
    ...sentencesView("Check first", checks),
  );
}

function sentencesView(title, numbers) {
  if (!numbers) {
    return [];
  }
  const items = numbers.map((number) => element("li", {}, report.sentences[number]));
  return [element("p", {}, `${title}:`), element("ul", {}, items)];
}

function stepView({ role, title, stack }) {
  const frame = keyFrame(stack);
  return element(
    "li",
    { class: `step step-${role}` },
    element("h3", {}, title, frame ? [" in ", frameLink(frame)] : ""),
    frame ? excerpt(frame, role) : null,
    frame || role === "allocated" ? stackView(stack) : null,
  );
}

function aside(title, stack) {
  const frame = keyFrame(stack);
  return div(
    "aside",
    element("h3", {}, `${title}: `, frame ? frameLink(frame) : ""),
    stackView(stack),
  );
}

function pathView(finding) {
  if (!finding.path) {
    return null;
  }
  const steps = finding.path.map((step) => {
    const place = `${report.files[step.file]}:${step.line}`;
    return element(
      "li",
      {},
      sourceLink(step.file, step.line, place),
      ` ${step.event}`,
      excerpt(step, "path"),
    );
  });
  return element(
    "div",
    { class: "aside" },
    element("h3", {}, "The path that leads to it"),
    element("ol", { class: "path" }, steps),
  );
}

// How stale the blocks are: some idle ones among busy ones look unlike a dead list.
function staleness(finding) {
  return finding.stale_curve
    ? div(
        "aside",
        element("h3", {}, "How long its blocks have been unused"),
        staleCurve(finding),
      )
    : null;
}

function remarks(finding) {
  const notes = [...(finding.notes || [])];
  if (finding.staleness) {
    notes.push(`unused for ${stalenessInWords(finding.staleness)}`);
  }
  if (finding.drag_byte_s) {
    notes.push(`drag (bytes x time unused): ${dragInWords(finding.drag_byte_s)}`);
  }
  const watched = report.run.processes.length;
  if (watched > 1 && finding.processes) {
    const concerned = new Set(finding.processes).size;
    notes.push(`in ${withCommas(concerned)} of ${plural(watched, "process")}`);
  }
  return notes.length
    ? element(
        "ul",
        { class: "notes" },
        notes.map((note) => element("li", {}, note)),
      )
    : null;
}

function frameLink(frame) {
  return [
    element("code", {}, frameName(frame)),
    " ",
    frame.file === undefined
      ? element("span", { class: "place", title: frame.module }, framePlace(frame))
      : sourceLink(frame.file, frame.line, framePlace(frame)),
  ];
}

function sourceLink(file, line, text) {
  return hasSource(file)
    ? link(`#/source/${file}/${line}`, "place", text)
    : span("place", text);
}

// A few lines around a place, the line itself marked.
function excerpt({ file, line }, role) {
  if (file === undefined || sourceLine(file, line) === undefined) {
    return null;
  }
  const lines = [];
  for (let n = line - LINES_AROUND; n <= line + LINES_AROUND; n += 1) {
    const text = sourceLine(file, n);
    if (text !== undefined) {
      lines.push(codeLine(n, text, n === line ? `here here-${role}` : ""));
    }
  }
  return element("pre", { class: "code" }, lines);
}

function codeLine(number, text, className, label) {
  return element(
    "span",
    { class: `line ${className}`, "data-line": number },
    span("line-number", String(number)),
    span("line-text", text || " "),
    label || null,
  );
}

function stackView(stackNumber) {
  const stack = report.stacks[stackNumber];
  const items = framesOf(stackNumber).map((frame) =>
    element(
      "li",
      { class: frame.own ? "own" : "foreign" },
      frameLink(frame),
      frame.remark ? span("quiet", `  (${frame.remark})`) : null,
    ),
  );
  const silent = (text) => element("li", { class: "quiet" }, text);
  if (stack.folded_at !== undefined) {
    items.splice(stack.folded_at, 0, silent("... deeper frames are folded ..."));
  }
  if (stack.stopped) {
    items.push(silent(`(the stack ends here: ${stack.stopped})`));
  }
  if (!items.length) {
    items.push(silent("(no call stack)"));
  }
  return element(
    "details",
    { open: items.length <= 8 },
    element("summary", {}, plural(stack.frames.length, "frame")),
    element("ul", { class: "stack" }, items),
  );
}
