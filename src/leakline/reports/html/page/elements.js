// Building the page. Text only ever enters as text nodes, so nothing in a name, path or
// source line can become markup.

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) {
      made.addEventListener(name.slice(2), value);
    } else if (value !== undefined && value !== null && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== ""));
  return made;
}

const div = (className, ...children) =>
  element("div", { class: className }, ...children);

const span = (className, ...children) =>
  element("span", { class: className }, ...children);

function link(address, className, ...children) {
  return element("a", { href: address, class: className }, ...children);
}

function section(title, ...children) {
  return element("section", {}, element("h2", {}, title), ...children);
}

// A table whose first column is text and whose other columns are numbers.
function table(heads, rows) {
  const cell = (tag, value, index) =>
    element(tag, { class: index ? "number" : "" }, value);
  return element(
    "table",
    {},
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        heads.map((h, i) => cell("th", h, i)),
      ),
    ),
    element(
      "tbody",
      {},
      rows.map((row) =>
        element(
          "tr",
          {},
          row.map((v, i) => cell("td", v, i)),
        ),
      ),
    ),
  );
}

function bar(share) {
  const inner = div("bar-inner");
  inner.style.width = `${Math.min(100, 100 * share)}%`;
  return div("bar", inner);
}

function choice(label, id, options, chosen, changed) {
  const box = element(
    "select",
    { id, onchange: () => changed(box.value) },
    options.map(([value, text]) =>
      element("option", { value, selected: value === chosen }, text),
    ),
  );
  return element("label", { for: id }, `${label} `, box);
}
