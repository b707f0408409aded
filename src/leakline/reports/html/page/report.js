// The embedded data, and what all views ask of it.

const report = JSON.parse(document.getElementById("data").textContent);
const findings = report.findings;
findings.forEach((finding, index) => {
  finding.number = index + 1;
});

// Memory that somebody may still use or free is no leak.
const isHeld = (kind) => ["reachable", "stale", "never-used"].includes(kind);
const isLeak = (finding) => !isHeld(finding.kind);

// A run lost it, and the checker found the path to it.
const isConfirmedByBoth = (finding) =>
  finding.engines.includes("static") && finding.engines.length > 1;

// Bytes that mending this leak would save.
const savedBytes = (finding) => finding.bytes + (finding.indirect_bytes || 0);

// The size is not always known from the source alone.
function sizeInWords(finding, bytes) {
  const isUnknown = !bytes && finding.engines.includes("static");
  return isUnknown ? "size not known" : rounded(bytes);
}

// What all leaks have in common with the totals of the other formats.
const leakTotals = () => totalsOf((kind) => !isHeld(kind));

// What is still held but nobody used for long.
const unusedTotals = () => totalsOf((kind) => isHeld(kind) && kind !== "reachable");

function totalsOf(isWanted) {
  const sums = { findings: 0, blocks: 0, bytes: 0 };
  for (const [kind, total] of Object.entries(report.totals)) {
    if (isWanted(kind)) {
      sums.findings += total.findings;
      sums.blocks += total.blocks;
      sums.bytes += total.bytes;
    }
  }
  return sums;
}

const framesOf = (stackNumber) =>
  report.stacks[stackNumber].frames.map((number) => report.frames[number]);

// The frame nearest to the event that is the user's own code, else the innermost.
function keyFrame(stackNumber) {
  const frames = framesOf(stackNumber);
  return frames.find((frame) => frame.own) || frames[0] || null;
}

const frameName = (frame) => frame.function || "??";

function framePlace(frame) {
  if (frame.file !== undefined) {
    const file = report.files[frame.file];
    return frame.line ? `${file}:${frame.line}` : file;
  }
  if (frame.module !== undefined) {
    return `${fileName(frame.module)}+0x${frame.offset.toString(16)}`;
  }
  return "?";
}

// The name under which a finding is listed: where its memory comes from.
function titleOf(finding) {
  const frame = keyFrame(finding.allocation);
  return frame ? frameName(frame) : "(no call stack)";
}

// The first other function that leads there: it tells findings of one place apart.
function callerOf(finding) {
  const frames = framesOf(finding.allocation);
  const key = keyFrame(finding.allocation);
  const callers = frames.slice(frames.indexOf(key) + 1);
  const caller = callers.find((frame) => frame.function !== key.function);
  return caller ? frameName(caller) : "";
}

function placeOf(finding) {
  const frame = keyFrame(finding.allocation);
  return frame ? framePlace(frame) : "";
}

// The stacks that tell the story, in the order of events, as far as they were seen.
function storyOf(finding) {
  const steps = [{ role: "allocated", title: "allocated", stack: finding.allocation }];
  const add = (role, title, stack) => {
    if (stack !== undefined) {
      steps.push({ role, title, stack });
    }
  };
  add("used", "last used", finding.last_access);
  add("referenced", "last reference created", finding.birth);
  if (finding.loss) {
    const slot = finding.loss.slot ? ` (${finding.loss.slot})` : "";
    add("lost", `lost: ${finding.loss.cause}${slot}`, finding.loss.stack);
  }
  return steps;
}

const textOfLine = new Map();

// The embedded text of a line, or undefined.
function sourceLine(file, number) {
  if (!textOfLine.has(file)) {
    const lines = new Map();
    for (const [first, texts] of report.sources[file] || []) {
      texts.forEach((text, index) => lines.set(first + index, text));
    }
    textOfLine.set(file, lines);
  }
  return textOfLine.get(file).get(number);
}

const hasSource = (file) => report.sources[file] !== undefined;
