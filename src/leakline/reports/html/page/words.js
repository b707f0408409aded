"use strict";
// Numbers and places as people read them.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

const withCommas = (number) => number.toLocaleString("en-US");

function plural(number, noun) {
  if (number === 1) {
    return `1 ${noun}`;
  }
  return `${withCommas(number)} ${noun}${noun.endsWith("s") ? "es" : "s"}`;
}

function rounded(bytes) {
  if (bytes < 1024) {
    return `${bytes} B`;
  }
  let power = 0;
  let value = bytes;
  while (value >= 1024 && power < UNITS.length) {
    value /= 1024;
    power += 1;
  }
  return `${value.toFixed(1)} ${UNITS[power - 1]}`;
}

function percent(part, whole) {
  return whole ? `${((100 * part) / whole).toFixed(1)} %` : "";
}

const amount = (of) => `${rounded(of.bytes)} in ${plural(of.blocks, "block")}`;

const fileName = (path) => path.slice(path.lastIndexOf("/") + 1) || path;

// A command as a shell would read it.
function commandLine(words) {
  const plain = /^[\w@%+=:,./-]+$/;
  return words
    .map((word) => (plain.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`))
    .join(" ");
}

// Bytes times the time for which they were unused.
const dragInWords = (byteSeconds) => `${rounded(Math.round(byteSeconds))}\u00b7s`;

function stalenessInWords([lower, upper]) {
  const seconds = (value) => `${value.toFixed(1)} s`;
  if (lower === null) {
    return upper === null ? "an unknown time" : `at most ${seconds(upper)} of CPU time`;
  }
  if (upper === null) {
    return `at least ${seconds(lower)} of CPU time`;
  }
  return `${lower.toFixed(1)} to ${seconds(upper)} of CPU time`;
}
