// What can be taken away: a link, the page itself, pictures, points, a script, the proof.

import { mapped } from "../engine/features.js";
import { usual } from "../engine/settings.js";
import { proofDocument } from "../engine/proof.js";
import { html, svg } from "./elements.js";

const LOOKS = [ // what a picture takes along of the styles
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "fill-rule", "opacity",
  "font-size", "font-family", "font-weight", "font-style", "paint-order",
];
const MOST_LINKED = 400; // points in an address
const pristine = typeof document === "undefined" ? "" : document.documentElement.outerHTML; // the file as it came, before anything was drawn

// Points, settings and step as text for an address (base64 as addresses like it), and back; null if it is no link of ours.
export function packed({ rows, labels, names, settings, k, at, by, hand, said }) {
  const common = usual(), changed = Object.entries(settings).filter(([key, value]) => value !== null && JSON.stringify(value) !== JSON.stringify(common[key]));
  const content = { points: { rows, labels, ...(names.length ? { names } : {}) }, settings: Object.fromEntries(changed), step: { k, at, by } };
  const bytes = new TextEncoder().encode(JSON.stringify({ ...content, ...(hand ? { hand } : {}), ...(said ? { said } : {}) }));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
export function unpacked(hash) {
  const text = hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
  if (!text) return null;
  try {
    const { points, settings, step, hand, said } = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (c) => c.charCodeAt(0))));
    const whole = (v) => Number.isInteger(v) && v >= 0;
    return {
      points, settings: settings ?? {}, said: typeof said === "string" ? said.slice(0, 400) : "",
      step: step && whole(step.k) && whole(step.at) ? { k: step.k, at: step.at, by: step.by === "visit" ? "visit" : "mistake" } : null,
      hand: Array.isArray(hand) && hand.length === 3 && hand.every(Number.isFinite) ? hand : null,
    };
  } catch { return null; }
}

const python = (value) => (value === null ? "None" : value === true ? "True" : value === false ? "False" : typeof value === "string" ? JSON.stringify(value) : Array.isArray(value) ? `[${value.map(python).join(", ")}]` : String(value));
// A script that makes the same run with the library.
export function pythonScript({ settings, classes, seen, codes, test }) {
  const rows = seen.filter((_, i) => !settings.hold_out || !test[i]), y = codes.filter((_, i) => !settings.hold_out || !test[i]).map((code) => classes[code]);
  const kernel = settings.features.endsWith("kernel"), X = settings.features === "quadratic" ? rows.map((row) => mapped(row, "quadratic")) : rows, given = [];
  const usually = { eta0: 1, keep: "last", multi_class: "argmax", mistake: "violation", on_plane: -1, update_margin: 0, tol: null, target_margin: null, early_stopping: false, random_state: 0, max_iter: 1000 };
  if (kernel) given.push(settings.features === "poly kernel" ? 'kernel="poly", degree=2, gamma=1.0' : `kernel="rbf", gamma=${settings.gamma}`);
  if (!kernel && !settings.fit_intercept) given.push("fit_intercept=False");
  if (kernel && settings.order !== "shuffled") given.push("shuffle=False");
  else if (["cyclic", "first", "worst"].includes(settings.order)) given.push(`order="${settings.order}"`);
  else if (settings.order === "list") given.push(`order=${python(settings.visits.filter((i) => !settings.hold_out || !test[i]).map((i) => (settings.hold_out ? i - test.slice(0, i).reduce((sum, held) => sum + held, 0) : i)))}`);
  for (const [key, value] of Object.entries(usually)) {
    if (settings[key] !== value && !(kernel && !["keep", "multi_class", "on_plane", "random_state", "max_iter"].includes(key)) && !(key === "early_stopping" && settings.hold_out)) given.push(`${key}=${python(settings[key])}`);
  }
  if (!kernel) given.push(`max_updates=${settings.max_updates}`, "prove=False");
  const first = settings.start.slice(0, X[0].length), start = settings.start.length && classes.length === 2 ? `, coef_init=[${python(first)}]${settings.fit_intercept ? `, intercept_init=[${settings.start[X[0].length] ?? 0}]` : ""}` : "";
  const name = kernel ? "KernelPerceptron" : "Perceptron", about = kernel ? "model.dual_coef_" : "model.coef_, model.intercept_";
  return `from linsep import ${name}, separate\n\nX = [\n${X.map((row) => `    ${python(row)},\n`).join("")}]\ny = ${python(y)}\n\nmodel = ${name}(${given.join(", ")})\nmodel.fit(X, y${kernel ? "" : start})\n`
    + `print(${about}, model.mistakes_, model.stop_reason_)\n${kernel ? "" : `print(separate(X, y, fit_intercept=${python(settings.fit_intercept)}))\n`}`;
}

export function sharing(page) {
  const { state, part } = page;

  function save(content, file, type) {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    html("a", { href: address, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
  function savePoints() { // as CSV, the label last
    const quote = (cell) => (/[",\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
    const lines = [[...page.columnNames(), "label"], ...state.rows.map((row, i) => [...row, state.labels[i]])];
    save(`${lines.map((line) => line.map(quote).join(",")).join("\n")}\n`, "points.csv", "text/csv");
  }
  function saveScript() {
    if (state.shown?.run) save(pythonScript(state.shown), "run.py", "text/x-python");
    else page.complain("there is no run yet: place points of two classes");
  }
  async function saveProof() {
    const text = state.shown?.theory && (await proofDocument(state.shown, state.shown.theory.verdict));
    if (text) save(text, "proof.json", "application/json");
    else page.complain("there is no verdict to prove yet");
  }
  function savePage() { // this very file, which begins with these points
    const begin = JSON.stringify(unpacked(`#${packed(state)}`)).replaceAll("<", "\\u003c");
    const whole = pristine.replace(/(<script type="application\/json" id="linsep-start">)[^<]*(<\/script>)/, (_, open, close) => `${open}${begin}${close}`);
    save(`<!doctype html>\n${whole}\n`, "explore.html", "text/html");
  }
  function picture() { // a copy that carries its styles with it
    const { width, height } = page.scale;
    const copy = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
    copy.append(svg("rect", { width, height, fill: getComputedStyle(part.back).backgroundColor }));
    for (const layer of [part.back, part.plot, part.front]) {
      const taken = layer.cloneNode(true), originals = layer.querySelectorAll("*");
      taken.querySelectorAll("*").forEach((node, i) => {
        const style = getComputedStyle(originals[i]);
        for (const key of LOOKS) node.setAttribute(key, style.getPropertyValue(key));
      });
      copy.append(...taken.childNodes);
    }
    return new XMLSerializer().serializeToString(copy);
  }
  async function savePicture(kind) {
    const text = picture(), blob = new Blob([text], { type: "image/svg+xml" });
    if (kind === "svg") { save(blob, "plane.svg"); return; }
    const address = URL.createObjectURL(blob), image = new Image();
    image.src = address;
    await image.decode();
    const canvas = html("canvas", { width: 2 * page.scale.width, height: 2 * page.scale.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    canvas.toBlob((png) => save(png, "plane.png"), "image/png");
  }

  const address = () => `${location.href.split("#")[0]}${state.rows.length <= MOST_LINKED ? `#${packed(state)}` : ""}`;
  function keepAddress() { // a copy of the address is a copy of the page
    if (state.playing) return;
    try { history.replaceState(null, "", address()); } catch { /* a page within a page has no address of its own */ }
  }
  async function copyLink() {
    const from = location.protocol === "file:" ? " It opens on this machine; for others, put what follows # behind the address of a page that they can open." : "";
    if (state.rows.length > MOST_LINKED) { page.complain(`A link holds up to ${MOST_LINKED} points: save this page as a file instead.`); return; }
    try {
      await navigator.clipboard.writeText(address());
      page.complain(`The link is copied.${from}`);
    } catch {
      keepAddress();
      page.complain("The link is in the address bar.");
    }
  }

  return { savePoints, saveScript, saveProof, savePage, savePicture, copyLink, keepAddress };
}
