// What the perceptron sees of the points: their columns, more columns made from them, or a kernel.

export const FEATURES = ["columns", "quadratic", "poly kernel", "rbf kernel"];

// The columns of a row: as they are, or with all squares and products.
export function mapped(row, features) {
  if (features !== "quadratic") return row;
  const more = [];
  for (let i = 0; i < row.length; i++) for (let j = i; j < row.length; j++) more.push(row[i] * row[j]);
  return [...row, ...more];
}
export function mappedNames(names, features) {
  if (features !== "quadratic") return names;
  const more = [];
  for (let i = 0; i < names.length; i++) for (let j = i; j < names.length; j++) more.push(i === j ? `${names[i]}²` : `${names[i]}·${names[j]}`);
  return [...names, ...more];
}

export const isKernel = (features) => features.endsWith("kernel");
export function kernel(features, gamma) { // (x·z + 1)², or exp(−γ‖x − z‖²)
  if (features === "poly kernel") return (x, z) => { let sum = 1; for (let j = 0; j < x.length; j++) sum += x[j] * z[j]; return sum * sum; };
  return (x, z) => { let sum = 0; for (let j = 0; j < x.length; j++) sum += (x[j] - z[j]) ** 2; return Math.exp(-gamma * sum); };
}

// A space in which weights live: `dot(i, w, at)` is their product with row i, `add(i, amount, w, at)` moves them along it;
// they are `width` numbers of w from `at` on. With a kernel the numbers are factors of the rows.
export function space(rows, features, gamma = 1) {
  if (!isKernel(features)) {
    const seen = rows.map((row) => Float64Array.from(mapped(row, features))), width = seen[0]?.length ?? 0;
    return {
      rows: seen, width,
      dot(i, w, at) { const x = seen[i]; let sum = 0; for (let j = 0; j < width; j++) sum += x[j] * w[at + j]; return sum; },
      add(i, amount, w, at) { const x = seen[i]; for (let j = 0; j < width; j++) w[at + j] += amount * x[j]; },
      square(i) { const x = seen[i]; let sum = 0; for (let j = 0; j < width; j++) sum += x[j] * x[j]; return sum; },
      scores(point) { const x = mapped(point, features); return (w, at) => { let sum = 0; for (let j = 0; j < width; j++) sum += x[j] * w[at + j]; return sum; }; },
    };
  }
  const k = kernel(features, gamma), n = rows.length, K = rows.map((x) => Float64Array.from(rows, (z) => k(x, z)));
  return {
    rows, width: n, kernel: true,
    dot(i, w, at) { const x = K[i]; let sum = 0; for (let j = 0; j < n; j++) if (w[at + j]) sum += x[j] * w[at + j]; return sum; },
    add(i, amount, w, at) { w[at + i] += amount; },
    square: (i) => K[i][i],
    scores(point) {
      const values = new Float64Array(n).fill(NaN); // computed when some weight asks for it
      return (w, at) => {
        let sum = 0;
        for (let j = 0; j < n; j++) if (w[at + j]) sum += w[at + j] * (values[j] === values[j] ? values[j] : (values[j] = k(rows[j], point)));
        return sum;
      };
    },
  };
}
