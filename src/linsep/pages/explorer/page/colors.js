// A class that is called after a color is drawn in it; the others in the colors of the figures, as far as they differ from it.

const THEMES = [
  ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C7A00", "#444444"],
  ["#E69F00", "#56B4E9", "#2FBF94", "#E39CC3", "#F0E442", "#3D8FCF", "#FF7F3F", "#BBBBBB"],
];
const NAMED = { // on light and on dark paper
  red: ["#D62728", "#FF6B6B"], orange: ["#E67E00", "#FFA94D"], yellow: ["#C9A800", "#FFE14D"], green: ["#1E8A3C", "#51CF66"], blue: ["#1F5FD0", "#6EA8FE"],
  purple: ["#7B3FA0", "#C58AF0"], violet: ["#7B3FA0", "#C58AF0"], pink: ["#D6569A", "#FF9FCF"], brown: ["#8B5A2B", "#C99A6B"],
  black: ["#111111", "#A8A8A8"], white: ["#B8B8B8", "#F5F5F5"], gray: ["#7A7A7A", "#9A9A9A"], grey: ["#7A7A7A", "#9A9A9A"],
};
const parts = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
const far = (one, other) => Math.hypot(...parts(one).map((v, j) => v - parts(other)[j]));

// For each class its colors on light and dark paper; null if no class is called after a color.
export function classColors(classes) {
  const names = classes.map((label) => String(label).trim().toLowerCase());
  if (!names.some((name) => Object.hasOwn(NAMED, name))) return null;
  const shades = THEMES.map((theme, shade) => {
    const taken = names.filter((name) => Object.hasOwn(NAMED, name)).map((name) => NAMED[name][shade]);
    const free = theme.filter((color) => taken.every((other) => far(color, other) > 90));
    let next = 0;
    return names.map((name) => (Object.hasOwn(NAMED, name) ? NAMED[name][shade] : free[next++ % free.length] ?? theme[0]));
  });
  return classes.map((_, c) => shades.map((shade) => shade[c]));
}
