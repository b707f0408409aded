// Which findings are listed, and in which order. The state lives here; the list, the
// flame graph and the printed page all show `chosen()`.

const filters = { text: "", kind: "", cause: "", engine: "", sort: "rank" };

const SORTS = {
  rank: ["rank", (finding) => -finding.number],
  bytes: ["bytes", (finding) => finding.bytes],
  objects: ["objects", (finding) => finding.blocks],
  saved: ["bytes with what they hold", savedBytes],
  drag: ["drag", (finding) => finding.drag_byte_s || 0],
};

const searchTexts = new Map();

// All names and places of a finding, in lower case.
function searchText(finding) {
  let text = searchTexts.get(finding);
  if (text === undefined) {
    const stacks = storyOf(finding).map((step) => step.stack);
    const words = stacks
      .flatMap(framesOf)
      .map((frame) => `${frame.function} ${framePlace(frame)} ${frame.module || ""}`);
    const slot = finding.loss ? finding.loss.slot : "";
    words.push(finding.id, finding.kind, slot || "", ...(finding.notes || []));
    text = words.join("\n").toLowerCase();
    searchTexts.set(finding, text);
  }
  return text;
}

function matches(finding) {
  const { text, kind, cause, engine } = filters;
  return (
    (!kind || finding.kind === kind) &&
    (!cause || (finding.loss && finding.loss.cause === cause)) &&
    (!engine || finding.engines.includes(engine)) &&
    text
      .toLowerCase()
      .split(/\s+/)
      .every((word) => !word || searchText(finding).includes(word))
  );
}

function chosen() {
  const key = SORTS[filters.sort][1];
  return findings
    .filter(matches)
    .sort((a, b) => key(b) - key(a) || a.number - b.number);
}

function present(valuesOf) {
  return [...new Set(findings.flatMap(valuesOf))].sort();
}

function choiceOf(name, valuesOf, changed) {
  const values = present(valuesOf);
  if (values.length < 2 && !filters[name]) {
    return null;
  }
  const options = [["", "all"], ...values.map((value) => [value, value])];
  return choice(name, `filter-${name}`, options, filters[name], (value) => {
    filters[name] = value;
    changed();
  });
}

function sortChoice(changed) {
  const withDrag = findings.some((finding) => finding.drag_byte_s);
  const options = Object.entries(SORTS)
    .filter(([name]) => name !== "drag" || withDrag)
    .map(([name, [label]]) => [name, label]);
  return choice("sort by", "sort", options, filters.sort, (value) => {
    filters.sort = value;
    changed();
  });
}

// The row of controls above a view; `changed` is called after each change. What a view
// adds of its own stands last.
function filterControls(changed, own) {
  const search = element("input", {
    id: "search",
    type: "search",
    placeholder: "search names, files, notes  ( / )",
    "aria-label": "search",
    value: filters.text,
    oninput: () => {
      filters.text = search.value;
      changed();
    },
  });
  return div(
    "filters",
    search,
    choiceOf("kind", (finding) => finding.kind, changed),
    choiceOf("cause", (finding) => (finding.loss ? [finding.loss.cause] : []), changed),
    choiceOf("engine", (finding) => finding.engines, changed),
    own,
  );
}
