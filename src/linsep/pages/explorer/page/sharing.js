// What can be taken away: pictures, points, a script, the whole page, a link.

import { html, svg } from "./elements.js";

const LOOKS = [ // what a picture takes along of the styles
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "fill-rule", "opacity",
  "font-size", "font-family", "font-weight", "font-style", "paint-order",
];

export function sharing(page) {
  const { state, part, line } = page;

  function save(content, file, type) {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    html("a", { href: address, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
  async function saveText(kind, file, type) {
    const asked = { as: kind, points: { rows: state.rows, labels: state.labels, names: state.names }, settings: state.settings };
    const got = line.replay ? { text: line.replay[kind] } : await page.ask("export", asked);
    if (got) save(got.text, file, type);
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
  async function copyLink() {
    const address = line.address({ rows: state.rows, labels: state.labels, names: state.names }, state.settings);
    try {
      await navigator.clipboard.writeText(address);
      page.complain("The link is copied. It opens on this machine while the server runs; with another server, put what follows # behind its address.");
    } catch {
      page.complain("The link is in the address bar.");
    }
  }

  return { saveText, savePicture, copyLink };
}
