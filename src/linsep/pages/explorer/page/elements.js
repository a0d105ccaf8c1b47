// Elements, numbers as people write them, and a little geometry.

const CORNERS = [ // of the shapes of the classes, about one unit in size, in the order of the figures: o ^ s D v P X *
  null, "0 -1.15 1.05 .8 -1.05 .8", "-.9 -.9 .9 -.9 .9 .9 -.9 .9", "0 -1.25 1.05 0 0 1.25 -1.05 0", "0 1.15 -1.05 -.8 1.05 -.8",
  "-.35 -1.1 .35 -1.1 .35 -.35 1.1 -.35 1.1 .35 .35 .35 .35 1.1 -.35 1.1 -.35 .35 -1.1 .35 -1.1 -.35 -.35 -.35",
  "0 -.5 .5 -1 1 -.5 .5 0 1 .5 .5 1 0 .5 -.5 1 -1 .5 -.5 0 -1 -.5 -.5 -1",
  "0 -1.2 .3 -.4 1.15 -.37 .48 .15 .7 .97 0 .5 -.7 .97 -.48 .15 -1.15 -.37 -.3 -.4",
].map((text) => text?.split(" ").map(Number));
export function shape(code, x, y, size) { // drawn where it is: a thousand transforms would cost the browser more than the points
  const corners = CORNERS[(code + Math.floor(code / 8)) % 8];
  if (!corners) return `M${(x - size).toFixed(1)},${y.toFixed(1)}a${size},${size},0,1,0,${2 * size},0a${size},${size},0,1,0,${-2 * size},0Z`;
  return `M${corners.map((v, j) => ((j % 2 ? y : x) + size * v).toFixed(1)).join(" ")}Z`;
}

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
// Makes the children of a group what is wanted, [kind, attributes, text] each, and touches only what differs.
export function draw(group, wanted) {
  wanted.forEach(([kind, attributes, text], i) => {
    let node = group.childNodes[i];
    if (node?.localName !== kind) {
      const fresh = svg(kind);
      if (node) node.replaceWith(fresh);
      else group.append(fresh);
      node = fresh;
    }
    for (const { name } of [...node.attributes]) if (!(name in attributes)) node.removeAttribute(name);
    for (const key in attributes) if (node.getAttribute(key) !== String(attributes[key])) node.setAttribute(key, attributes[key]);
    if (text !== undefined) put(node, text);
  });
  while (group.childNodes.length > wanted.length) group.lastChild.remove();
}
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
export function colored(formula) { // "{u:kηγ} ≤ …": in the color of the line that it stands for
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
