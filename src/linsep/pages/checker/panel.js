// The button "Check this proof here" and what it shows.

import { Fails, Malformed } from "./exact.js";
import { checkProof } from "./check.js";
import { open } from "./document.js";
import { csvTable, ownTable } from "./table.js";

function made(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Shows the steps of a check as they come, then what follows from them.
export async function runCheck(list, source, table) {
  const verdict = made("p", { class: "check-verdict", role: "status", "data-holds": "…" }, "Checking …");
  const steps = made("ol", { class: "check-steps" });
  list.replaceChildren(steps, verdict);
  const result = await checkProof(source, table, ({ title, said, rows }) => {
    const item = made("li", {}, made("b", {}, `${title}: `), said);
    if (rows) {
      const [head, ...body] = rows, line = (cells, kind) => made("tr", {}, ...cells.map((cell) => made(kind, {}, cell)));
      item.append(made("div", { class: "wide" }, made("table", {}, made("thead", {}, line(head, "th")), made("tbody", {}, ...body.map((cells) => line(cells, "td"))))));
    }
    steps.append(item);
  });
  verdict.dataset.holds = result.holds;
  verdict.textContent = result.holds
    ? `The proof holds: ${result.meaning}. Checked here, in whole numbers, about exactly these rows and labels.`
    : `${result.malformed ? "This cannot be checked" : "The proof does not hold"}: ${result.reason}.`;
  return result;
}

// Builds the panel. `proof()` returns the document, or a promise of it; `data()` the table that comes with the page, or null:
// then the visitor is asked for the file. What was shown can be cleared.
export function mountChecker(host, { proof, data }) {
  const shown = made("div", { class: "check-shown" }), button = made("button", { type: "button", "data-do": "check" }, "Check this proof here");
  const run = async (find) => {
    button.disabled = true;
    try {
      const source = await proof();
      await runCheck(shown, source, await find(source));
    } catch (error) {
      shown.replaceChildren(made("p", { class: "check-verdict", role: "status", "data-holds": "false" }, `This cannot be checked: ${error.message}.`));
      if (!(error instanceof Malformed) && !(error instanceof Fails)) console.error(error);
    } finally { button.disabled = false; }
  };
  const fromFiles = (files) => run(async (source) => {
    return csvTable(await open(source), await Promise.all([...files].map(async (file) => new Uint8Array(await file.arrayBuffer()))));
  });
  host.append(button);
  if (data()) button.addEventListener("click", () => run(async () => data()));
  else host.append(fileDrop(button, fromFiles));
  host.append(shown);
  return { clear: () => shown.replaceChildren() };
}
function fileDrop(button, take) { // the data are too many to come along: the visitor has them
  const input = made("input", { type: "file", multiple: "", accept: ".csv,.tsv,.txt,text/csv", "aria-label": "Data file" });
  const area = made("label", { class: "check-drop" }, "This page does not contain the data, which are too large. Drop the CSV file here, or choose it: it stays on your computer. ", input);
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => { if (input.files.length) take(input.files); });
  area.addEventListener("dragover", (event) => { event.preventDefault(); area.classList.add("over"); });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (event.dataTransfer.files.length) take(event.dataTransfer.files);
  });
  return area;
}

// The table of the page, in whichever form it is there.
export const tableOf = (given) => given && ownTable(given);
