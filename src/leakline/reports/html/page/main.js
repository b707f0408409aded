// The frame of the page: which view the address names, the keys, light and dark.

const VIEWS = [
  ["overview", "Overview"],
  ["findings", "Findings"],
  ["flame", "Flame graph"],
  ["source", "Source"],
];

const KEYS_HELP = [
  "j k: next, previous",
  "enter: open",
  "/: search",
  "1 to 4: views",
  "esc: up",
].join(" \u00b7 ");

const stage = element("main", { id: "stage" });
const tabs = VIEWS.map(([name, title]) => link(`#/${name}`, "tab", title));
const theme = element(
  "button",
  { id: "theme", onclick: () => toggleTheme() },
  "light/dark",
);
const story = div("story-pane");
const list = new FindingList((finding) => {
  location.hash = `#/finding/${finding.number}`;
});

document
  .getElementById("app")
  .append(
    element(
      "header",
      { class: "top" },
      element("strong", {}, "Leakline"),
      element("code", { class: "command" }, commandLine(report.run.command)),
      element("nav", { class: "tabs", "aria-label": "views" }, tabs),
      theme,
    ),
    stage,
    element("footer", { class: "quiet" }, KEYS_HELP),
  );

function findingsView() {
  const changed = () => list.show(chosen());
  const controls = filterControls(changed, sortChoice(changed));
  return div("split", div("list", controls, list.count, list.box), story);
}

// The address after #: a view, and what it shows.
function route() {
  const [view, ...rest] = location.hash.replace(/^#\//, "").split("/");
  switch (view) {
    case "finding":
      return showFinding(Number(rest[0]));
    case "findings":
      return showFindings();
    case "flame":
      return showView("flame", flameView());
    case "source":
      return showSource(Number(rest[0]), Number(rest[1]));
    default:
      return showView("overview", overviewView());
  }
}

function showView(name, content) {
  tabs.forEach((tab, index) => {
    const isShown = VIEWS[index][0] === name;
    tab.setAttribute("aria-current", isShown ? "page" : "false");
  });
  stage.className = `view-${name}`;
  stage.replaceChildren(content);
}

function showFindings() {
  if (!stage.contains(list.box)) {
    showView("findings", findingsView());
    list.show(chosen());
  }
  if (!story.hasChildNodes()) {
    story.append(element("p", { class: "quiet empty" }, "Choose a finding."));
  }
}

function showFinding(number) {
  const finding = findings[number - 1];
  showFindings();
  if (finding) {
    story.replaceChildren(storyView(finding));
    story.scrollTop = 0;
    list.select(finding);
  }
}

function showSource(file, line) {
  showView("source", sourceView(file, line));
  const chosenLine =
    stage.querySelector(".line.chosen") || stage.querySelector(".here");
  if (chosenLine) {
    chosenLine.scrollIntoView({ block: "center" });
  }
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function setTheme(isDark) {
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

function toggleTheme() {
  setTheme(document.documentElement.dataset.theme !== "dark");
}

const inList = (action) => () => {
  showFindingsFirst();
  action();
};

function showFindingsFirst() {
  if (!stage.contains(list.box)) {
    location.hash = "#/findings";
    route();
  }
}

// The flame graph has the same search field as the list.
function focusSearch() {
  if (!stage.querySelector("#search")) {
    showFindingsFirst();
  }
  const search = document.getElementById("search");
  search.focus();
  search.select();
}

const KEYS = {
  j: inList(() => list.move(1)),
  k: inList(() => list.move(-1)),
  ArrowDown: () => stage.contains(list.box) && list.move(1),
  ArrowUp: () => stage.contains(list.box) && list.move(-1),
  Enter: () => stage.contains(list.box) && list.open(),
  "/": focusSearch,
  Escape: () => {
    const isFinding = location.hash.startsWith("#/finding/");
    location.hash = isFinding ? "#/findings" : "#/overview";
  },
};
VIEWS.forEach(([name], index) => {
  KEYS[String(index + 1)] = () => {
    location.hash = `#/${name}`;
  };
});

// Typing in a field is not a command; from the search field, enter leads to the list.
function keyInField(event) {
  const isSearch = event.target.id === "search";
  if (isSearch && (event.key === "Enter" || event.key === "Escape")) {
    event.target.blur();
    list.box.focus();
    event.preventDefault();
  }
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (event.target.matches("input, select")) {
    keyInField(event);
    return;
  }
  const isOnControl = event.target.matches("a, button, summary");
  const action = KEYS[event.key];
  if (action && !(isOnControl && event.key === "Enter")) {
    event.preventDefault();
    action();
  }
});

setTheme(prefersDark.matches);
prefersDark.addEventListener("change", () => setTheme(prefersDark.matches));
addEventListener("hashchange", route);
route();
