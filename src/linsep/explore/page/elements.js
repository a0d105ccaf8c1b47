// Elements, numbers as people write them, and a little geometry.

export const SHAPES = [ // of the classes, about one unit in size
  "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z", "M-.9,-.9H.9V.9H-.9Z", "M0,-1.15L1.05,.8H-1.05Z", "M0,-1.25L1.05,0L0,1.25L-1.05,0Z",
  "M-.35,-1.1H.35V-.35H1.1V.35H.35V1.1H-.35V.35H-1.1V-.35H-.35Z", "M0,1.15L-1.05,-.8H1.05Z",
  "M0,-1.2L.3,-.4L1.15,-.37L.48,.15L.7,.97L0,.5L-.7,.97L-.48,.15L-1.15,-.37L-.3,-.4Z", "M-1.1,0L-.55,-.95H.55L1.1,0L.55,.95H-.55Z",
  "M-1,-.5H1V.5H-1Z", "M-.5,-1H.5V1H-.5Z",
];

export function element(space, name, attributes = {}, ...children) {
  const made = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}
export const html = (name, attributes, ...children) => element(null, name, attributes, ...children);
export const svg = (name, attributes, ...children) => element("http://www.w3.org/2000/svg", name, attributes, ...children);
export const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
export const set = (node, attributes) => { for (const key in attributes) node.setAttribute(key, attributes[key]); };
export const quiet = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function number(value, digits = 4) {
  if (value == null) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-4 ? value.toExponential(digits - 2) : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}
export const vector = (values, columns) => `(${values.map((v) => number(v)).join(", ")}${columns > values.length ? ", …" : ""})`;
export const signed = (value) => (value < 0 ? `− ${number(-value)}` : `+ ${number(value)}`);
export function coloured(formula) { // "{u:kηγ} ≤ …": in the colour of the line that it stands for
  const parts = formula.split(/\{(\w+):(.*?)\}/); // plain, kind, text, plain, kind, text, …
  return parts.map((text, i) => (i % 3 === 0 ? text : i % 3 === 2 ? html("span", { class: `ink-${parts[i - 1]}` }, text) : ""));
}
export const tag = (label) => (typeof label === "number" ? String(label).replace("-", "−") : label);
export const name = (row) => `p${row + 1}`;

export function ticks(low, high, about = 4) {
  const raw = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.99);
  const found = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) {
    found.push(Math.abs(t) < step / 1e6 ? 0 : t);
  }
  return found;
}

// The part of a polygon where a·x + b·y + c >= 0 (Sutherland & Hodgman 1974).
export function clip(polygon, [a, b, c]) {
  const side = ([x, y]) => a * x + b * y + c;
  return polygon.flatMap((p, i) => {
    const q = polygon[(i + 1) % polygon.length], s = side(p), t = side(q), out = s >= 0 ? [p] : [];
    if ((s >= 0) !== (t >= 0)) out.push([p[0] + (q[0] - p[0]) * s / (s - t), p[1] + (q[1] - p[1]) * s / (s - t)]);
    return out;
  });
}
