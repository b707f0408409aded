// On paper there is nothing to click: the overview, then the stories one after another.

const MOST_PRINTED = 200;

function paperView() {
  const all = chosen();
  const shown = all.slice(0, MOST_PRINTED);
  const more = all.length - shown.length;
  return [
    element("p", { class: "quiet" }, commandLine(report.run.command)),
    overviewView(),
    ...shown.map(storyView),
    more ? element("p", {}, `${plural(more, "finding")} more in the file.`) : "",
  ];
}

addEventListener("beforeprint", () => {
  const paper = document.getElementById("paper");
  paper.replaceChildren(...paperView());
  paper.querySelectorAll("details").forEach((details) => {
    details.open = true;
  });
});

addEventListener("afterprint", () => {
  document.getElementById("paper").replaceChildren();
});
